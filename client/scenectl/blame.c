/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* blame: who set each field of a node. */

#include "client/scenectl/ctl.h"
#include "protocol/wire/pack.h"

#include <string.h>

/* A field, as far as a line for people shows it. */
struct field {
        struct scn_slice word;
        struct scn_slice key; /* data == NULL: no property */
        struct scn_slice author;
        struct scn_slice cause;
        uint64_t rev;
        uint64_t time_us;
};

static bool is_key(struct scn_slice key, const char *word)
{
        return key.size == strlen(word) && memcmp(key.data, word, key.size) == 0;
}

static struct field read_field(struct scn_slice map)
{
        struct field field = {.rev = 0};
        struct scn_unpacker unpacker = scn_unpacker_from(map);
        const uint32_t count = scn_unpack_map(&unpacker);
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                const struct scn_slice key = scn_unpack_text(&unpacker, UINT32_MAX);
                const bool is_text = scn_unpack_kind(&unpacker) == SCN_PACK_TEXT;
                struct scn_slice *text = !is_text ? NULL
                        : is_key(key, "field")    ? &field.word
                        : is_key(key, "key")      ? &field.key
                        : is_key(key, "author")   ? &field.author
                        : is_key(key, "cause")    ? &field.cause
                                                  : NULL;
                if (text != NULL) {
                        *text = scn_unpack_text(&unpacker, UINT32_MAX);
                } else if (is_key(key, "rev")) {
                        field.rev = scn_unpack_uint(&unpacker, SCN_REVISION_MAX);
                } else if (is_key(key, "time")) {
                        field.time_us = scn_unpack_uint(&unpacker, SCN_REVISION_MAX);
                } else {
                        (void)scn_unpack_raw(&unpacker);
                }
        }
        return field;
}

static void print_field(struct scn_slice map)
{
        const struct field field = read_field(map);
        scn_ctl_print_text(field.key.data != NULL ? field.key : field.word);
        if (field.rev == 0) {
                scn_ctl_print(": as the document was made\n");
                return;
        }
        scn_ctl_print(": revision %llu  ", (unsigned long long)field.rev);
        scn_ctl_print_time(field.time_us);
        scn_ctl_print("  ");
        scn_ctl_print_text(field.author);
        scn_ctl_print("  ");
        scn_ctl_print_text(field.cause);
        scn_ctl_print("\n");
}

static void on_blame(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct scn_ctl *ctl = data;
        struct scn_unpacker unpacker = scn_unpacker_from(answer->body);
        const uint32_t count = answer->failure != NULL ? 0 : scn_unpack_array(&unpacker);
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                const struct scn_slice map = scn_unpack_raw(&unpacker);
                if (unpacker.error == SCN_OK && ctl->is_json) {
                        scn_ctl_begin_line(ctl);
                        scn_ctl_put_members(ctl, map);
                        scn_ctl_end_line(ctl);
                } else if (unpacker.error == SCN_OK) {
                        print_field(map);
                }
        }
        scn_ctl_on_done(client, answer, data);
}

int scn_ctl_run_blame(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct scn_target node;
        if (!scn_ctl_read_node(ctl, "NODE", arguments->values[1], &node)) {
                return SCN_CTL_USAGE;
        }
        if (!scn_ctl_open(ctl, arguments->values[0])) {
                return ctl->code;
        }
        const enum scn_error error = scn_client_blame(ctl->client, node, on_blame, ctl);
        return error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
}
