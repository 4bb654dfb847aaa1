/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Reading what stands on the command line. */

#include "client/scenectl/ctl.h"

#include "client/scenectl/json_read.h"
#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/base/uid.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXAMPLE_UID "3f593227-63d3-4ddc-9993-f23025811cb3"

bool scn_ctl_read_uid(struct scn_ctl *ctl, const char *what, const char *text, struct scn_uid *uid_out)
{
        if (!scn_uid_from_text(text, uid_out) || scn_uid_is_none(*uid_out)) {
                (void)scn_ctl_misuse(
                        ctl, "%s: '%s' is no uid: it has 36 characters, as %s, not all zeros", what, text, EXAMPLE_UID);
                return false;
        }
        return true;
}

bool scn_ctl_read_node(struct scn_ctl *ctl, const char *what, const char *text, struct scn_target *target_out)
{
        *target_out = (struct scn_target){.path = text};
        if (text[0] == '/') {
                return true;
        }
        if (!scn_uid_from_text(text, &target_out->uid)) {
                (void)scn_ctl_misuse(
                        ctl, "%s: '%s' is no node: a path begins with /, a uid has 36 characters", what, text);
                return false;
        }
        return true;
}

bool scn_ctl_read_number(struct scn_ctl *ctl, const char *what, const char *text, uint64_t max, uint64_t *number_out)
{
        char *end;
        errno = 0;
        const unsigned long long number = strtoull(text, &end, 10);
        if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || number > max) {
                (void)scn_ctl_misuse(
                        ctl, "%s: '%s' is no whole number from 0 to %llu", what, text, (unsigned long long)max);
                return false;
        }
        *number_out = number;
        return true;
}

bool scn_ctl_read_floats(struct scn_ctl *ctl, const char *what, const char *text, uint32_t count, float *floats_out)
{
        const char *at = text;
        for (uint32_t i = 0; i < count; i++) {
                char *end;
                const double value = strtod(at, &end);
                const char wanted = i + 1 < count ? ',' : '\0';
                floats_out[i] = (float)value;
                if (end == at || *end != wanted || !isfinite(floats_out[i])) {
                        (void)scn_ctl_misuse(
                                ctl, "%s: '%s' is not %u numbers with commas", what, text, (unsigned)count);
                        return false;
                }
                at = end + 1;
        }
        return true;
}

/* By channel. */
static const char *const channel_names[] = {
        [SCN_CHANNEL_STRUCTURE] = "structure",
        [SCN_CHANNEL_NAME] = "name",
        [SCN_CHANNEL_TRANSFORM] = "transform",
        [SCN_CHANNEL_PROPERTIES] = "properties",
        [SCN_CHANNEL_WORLD] = "world",
        [SCN_CHANNEL_PRESENCE] = "presence",
        [SCN_CHANNEL_LOCKS] = "locks",
        [SCN_CHANNEL_PREVIEW] = "preview",
};
#define CHANNELS (sizeof channel_names / sizeof channel_names[0])

static void list_channels(char *text, size_t text_size, uint32_t mask, const char *between)
{
        size_t at = 0;
        text[0] = '\0';
        for (size_t i = 0; i < CHANNELS; i++) {
                if ((mask >> i & 1) != 0) {
                        at += (size_t)snprintf(
                                text + at, text_size - at, "%s%s", at == 0 ? "" : between, channel_names[i]);
                        SCN_ASSERT(at < text_size);
                }
        }
}

void scn_ctl_print_mask(uint32_t mask, const char *between)
{
        char names[128];
        list_channels(names, sizeof names, mask, between);
        scn_ctl_print("%s", names);
}

bool scn_ctl_read_mask(struct scn_ctl *ctl, const char *text, uint32_t among, uint32_t *mask_out)
{
        const char *at = text;
        *mask_out = 0;
        while (*at != '\0') {
                const size_t size = strcspn(at, ",");
                size_t i = 0;
                while (i < CHANNELS && (strlen(channel_names[i]) != size || memcmp(channel_names[i], at, size) != 0)) {
                        i++;
                }
                if (i == CHANNELS || (among >> i & 1) == 0) {
                        char names[128];
                        list_channels(names, sizeof names, among, ", ");
                        (void)scn_ctl_misuse(ctl, "--mask: '%.*s' is no channel: %s", (int)size, at, names);
                        return false;
                }
                *mask_out |= 1u << i;
                at += size + (at[size] == ',');
        }
        return true;
}

struct scn_target *scn_ctl_read_nodes(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        const unsigned count = arguments->values_count - 1;
        struct scn_target *targets = scn_alloc(count * sizeof *targets);
        if (targets == NULL) {
                (void)scn_ctl_refuse(ctl, SCN_E_NO_MEMORY);
                return NULL;
        }
        for (unsigned i = 0; i < count; i++) {
                if (!scn_ctl_read_node(ctl, "NODE", arguments->values[i + 1], &targets[i])) {
                        scn_free(targets);
                        return NULL;
                }
        }
        return targets;
}

bool scn_ctl_read_value(struct scn_ctl *ctl, const char *what, const char *text, struct scn_buffer *buffer)
{
        json_error_t fault;
        bool is_out_of_memory;
        json_t *value = scn_json_load((struct scn_slice){(const uint8_t *)text, (uint32_t)strlen(text)},
                JSON_DECODE_ANY, &fault, &is_out_of_memory);
        if (value == NULL) {
                (void)scn_ctl_misuse(ctl, "%s: '%s' is no JSON: %s; a text stands in \"\"", what, text, fault.text);
                return false;
        }
        enum scn_error error = SCN_OK;
        if (!json_is_null(value)) {
                error = scn_json_pack_value(value, SCN_JSON_TAGGED, NULL, SCN_VALUE_LEVELS_MAX, buffer);
        }
        json_decref(value);
        if (error != SCN_OK) {
                (void)scn_ctl_misuse(ctl, "%s: '%s' is no property value: %s", what, text, scn_error_text(error));
        }
        return error == SCN_OK;
}
