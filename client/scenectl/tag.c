/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* tag: names for revisions, set, removed and listed. */

#include "client/scenectl/ctl.h"
#include "protocol/wire/pack.h"

#include <string.h>

static void print_map(struct scn_ctl *ctl, struct scn_slice map)
{
        if (ctl->is_json) {
                scn_ctl_begin_line(ctl);
                scn_ctl_put_members(ctl, map);
                scn_ctl_end_line(ctl);
        } else {
                scn_ctl_print_members(map, ", ");
                scn_ctl_print("\n");
        }
}

static void on_tags(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct scn_ctl *ctl = data;
        struct scn_unpacker unpacker = scn_unpacker_from(answer->body);
        const uint32_t count = answer->failure != NULL ? 0 : scn_unpack_array(&unpacker);
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                const struct scn_slice map = scn_unpack_raw(&unpacker);
                if (unpacker.error == SCN_OK) {
                        print_map(ctl, map);
                }
        }
        scn_ctl_on_done(client, answer, data);
}

static void on_tag(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        if (answer->failure == NULL) {
                print_map(data, answer->body);
        }
        scn_ctl_on_done(client, answer, data);
}

int scn_ctl_run_tag(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        const bool has_list = arguments->options[SCN_CTL_OPTION_list] != NULL;
        const bool removes = arguments->options[SCN_CTL_OPTION_remove] != NULL;
        const char *name = arguments->values_count > 1 ? arguments->values[1] : NULL;
        const bool lists = has_list || name == NULL;
        const bool has_revision = arguments->values_count > 2;
        scn_revision revision = 0;
        if (lists ? name != NULL || removes : removes && has_revision) {
                return scn_ctl_misuse(ctl, "tag DOC NAME [REV], tag DOC [--list] or tag DOC NAME --remove");
        }
        if (has_revision && !scn_ctl_read_number(ctl, "REV", arguments->values[2], SCN_REVISION_MAX, &revision)) {
                return SCN_CTL_USAGE;
        }
        if (!scn_ctl_open(ctl, arguments->values[0])) {
                return ctl->code;
        }
        const enum scn_error error = lists ? scn_client_tags(ctl->client, on_tags, ctl)
                : removes                  ? scn_client_untag(ctl->client, name, on_tag, ctl)
                          : scn_client_tag(ctl->client, name, has_revision ? &revision : NULL, on_tag, ctl);
        return error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
}
