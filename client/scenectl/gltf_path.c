/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Where a glTF file's buffers and images say that they are. None of them is ever opened here; but a file that names
 * what is not beside or below it is no scene that can be handed on, and one that should make its reader wary. */

#include "client/scenectl/gltf_file.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* "name:" at the beginning (RFC 3986 §3.1): elsewhere, unless it is "data:". A drive's letter is one, too. */
static bool has_scheme(const char *uri)
{
        size_t size = 0;
        while (isalnum((unsigned char)uri[size]) ||
                (size > 0 && strchr("+-.", uri[size]) != NULL && uri[size] != '\0')) {
                size++;
        }
        return size > 0 && isalpha((unsigned char)uri[0]) && uri[size] == ':';
}

static int digit_of(char character)
{
        const int lower = tolower((unsigned char)character);
        return isdigit((unsigned char)character) ? character - '0'
                : lower >= 'a' && lower <= 'f'   ? lower - 'a' + 10
                                                 : -1;
}

/* The next character with %XX taken for what it stands for, and each slash for the same. */
static char next_character(const char **at)
{
        const char *text = *at;
        const bool is_escape = text[0] == '%' && digit_of(text[1]) >= 0 && digit_of(text[2]) >= 0;
        const char character = is_escape ? (char)(16 * digit_of(text[1]) + digit_of(text[2])) : text[0];
        *at += is_escape ? 3 : 1;
        return character == '\\' ? '/' : character;
}

bool scn_gltf_path_leaves_folder(const char *uri)
{
        size_t depth = 0;
        char segment[3]; /* its first characters: enough to know "." and ".." */
        size_t size = 0;
        uri += strspn(uri, " ");
        if (has_scheme(uri)) {
                return strncmp(uri, "data:", 5) != 0;
        }
        for (const char *at = uri; *at != '\0' && *at != '?' && *at != '#';) {
                const char *const began = at;
                const char character = next_character(&at);
                if (character == '/' && began == uri) {
                        return true;
                }
                if (character != '/' && size < sizeof segment) {
                        segment[size++] = character;
                }
                const bool is_end = character == '/' || *at == '\0' || *at == '?' || *at == '#';
                if (is_end && size == 2 && segment[0] == '.' && segment[1] == '.') {
                        if (depth == 0) {
                                return true;
                        }
                        depth--;
                } else if (is_end && size > 0 && !(size == 1 && segment[0] == '.')) {
                        depth++;
                }
                size = is_end ? 0 : size;
        }
        return false;
}

/* What is no character of any URI, and what some readers pass over at its beginning. */
static bool has_control(const json_t *uri)
{
        for (size_t i = 0; i < json_string_length(uri); i++) {
                if (iscntrl((unsigned char)json_string_value(uri)[i])) {
                        return true;
                }
        }
        return false;
}

static enum scn_gltf_fault check_uri(
        struct scn_gltf_file *file, struct scn_slice text, const char *what, uint32_t index)
{
        static const char embedded[] = "\"data:";
        char detail[96];
        /* What is embedded may be all of a large file. */
        if (text.size >= sizeof embedded - 1 && memcmp(text.data, embedded, sizeof embedded - 1) == 0) {
                return SCN_GLTF_OK;
        }
        json_t *uri = scn_gltf_file_load(file, text, SCN_GLTF_NODE_NONE);
        if (uri == NULL) {
                return file->report->fault;
        }
        enum scn_gltf_fault fault = SCN_GLTF_OK;
        file->piece = text;
        if (!json_is_string(uri)) {
                fault = scn_gltf_file_refuse(file, SCN_GLTF_BAD_KIND, SCN_GLTF_NODE_NONE, "uri");
        } else if (has_control(uri)) {
                (void)snprintf(detail, sizeof detail, "uri of %s %u", what, index);
                fault = scn_gltf_file_refuse(file, SCN_GLTF_BAD_TEXT, SCN_GLTF_NODE_NONE, detail);
        } else if (scn_gltf_path_leaves_folder(json_string_value(uri))) {
                (void)snprintf(detail, sizeof detail, "%s %u: %.60s", what, index, json_string_value(uri));
                fault = scn_gltf_file_refuse(file, SCN_GLTF_PATH_OUTSIDE, SCN_GLTF_NODE_NONE, detail);
        }
        json_decref(uri);
        return fault;
}

/* Each of them, if there are several: which of them counts, readers do not agree on. */
static enum scn_gltf_fault check_object(
        struct scn_gltf_file *file, struct scn_slice object, const char *what, uint32_t index)
{
        struct scn_slice key;
        struct scn_slice value;
        enum scn_gltf_fault fault = SCN_GLTF_OK;
        char name[32];
        (void)snprintf(name, sizeof name, "%.16s %u", what, index);
        if (!scn_gltf_file_is_object(file, object, name)) {
                return file->report->fault;
        }
        struct scn_json_skim skim = scn_json_skim_from(object, '{');
        while (fault == SCN_GLTF_OK && scn_json_skim_next(&skim, &key, &value)) {
                fault = scn_json_is_key(key, "uri") ? check_uri(file, value, what, index) : SCN_GLTF_OK;
        }
        return fault != SCN_GLTF_OK ? fault : scn_gltf_file_check_skim(file, &skim);
}

enum scn_gltf_fault scn_gltf_path_check(struct scn_gltf_file *file, enum scn_gltf_member member, const char *what)
{
        struct scn_slice element;
        uint32_t count;
        enum scn_gltf_fault fault = scn_gltf_file_count(file, file->members[member], &count);
        if (fault != SCN_GLTF_OK || count == 0) {
                return fault;
        }
        struct scn_json_skim skim = scn_json_skim_from(file->members[member], '[');
        for (uint32_t i = 0; fault == SCN_GLTF_OK && scn_json_skim_next(&skim, &element, &element); i++) {
                fault = check_object(file, element, what, i);
        }
        return fault;
}
