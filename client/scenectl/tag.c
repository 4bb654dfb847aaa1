/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* tag: names for revisions, set, removed and listed. */

#include "client/scenectl/ctl.h"
#include "protocol/wire/message.h"
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

/* --- Setting and removing one --- */

struct tagging {
        struct scn_ctl *ctl;
        const char *name;
        bool removes;
        bool has_revision;
        scn_revision revision;
        scn_revision was; /* where it stood before; SCN_ABSENT: nowhere */
};

/* Of a tag's map; SCN_ABSENT: it says none. */
static scn_revision revision_of(struct scn_slice map)
{
        struct scn_unpacker unpacker;
        const bool has_revision = scn_ctl_find_member(map, "rev", &unpacker);
        const scn_revision revision = has_revision ? scn_unpack_uint(&unpacker, SCN_REVISION_MAX) : SCN_ABSENT;
        return unpacker.error == SCN_OK ? revision : SCN_ABSENT;
}

static bool is_of(struct scn_slice map, const char *name)
{
        struct scn_unpacker unpacker;
        if (!scn_ctl_find_member(map, "name", &unpacker)) {
                return false;
        }
        const struct scn_slice text = scn_unpack_text(&unpacker, UINT32_MAX);
        return unpacker.error == SCN_OK && text.size == strlen(name) && memcmp(text.data, name, text.size) == 0;
}

static void print_tagged(const struct tagging *tagging, struct scn_slice map)
{
        struct scn_ctl *ctl = tagging->ctl;
        const bool has_moved = tagging->was != SCN_ABSENT && tagging->was != revision_of(map);
        if (!ctl->is_json) {
                scn_ctl_print_members(map, ", ");
                if (tagging->removes) {
                        scn_ctl_print(", removed: true");
                } else if (has_moved) {
                        scn_ctl_print(", was: %llu", (unsigned long long)tagging->was);
                }
                scn_ctl_print("\n");
                return;
        }
        scn_ctl_begin_line(ctl);
        scn_ctl_put_members(ctl, map);
        if (tagging->removes) {
                scn_ctl_key(ctl, "removed");
                scn_json_put(&ctl->json, "true");
        } else if (has_moved) {
                scn_ctl_key(ctl, "was");
                scn_json_put_uint(&ctl->json, tagging->was);
        }
        scn_ctl_end_line(ctl);
}

static void on_tag(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        const struct tagging *tagging = data;
        if (answer->failure == NULL) {
                print_tagged(tagging, answer->body);
        }
        scn_ctl_on_done(client, answer, tagging->ctl);
}

static void set_or_remove(struct tagging *tagging)
{
        struct scn_client *client = tagging->ctl->client;
        const scn_revision *revision = tagging->has_revision ? &tagging->revision : NULL;
        const enum scn_error error = tagging->removes
                ? scn_client_untag(client, tagging->name, on_tag, tagging)
                : scn_client_tag(client, tagging->name, revision, on_tag, tagging);
        if (error != SCN_OK) {
                (void)scn_ctl_refuse(tagging->ctl, error);
        }
}

/* Whether the name stands somewhere already: the answer to a tag says only where it stands now. */
static void on_tags_before(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct tagging *tagging = data;
        struct scn_unpacker unpacker = scn_unpacker_from(answer->body);
        (void)client;
        if (answer->failure != NULL) {
                scn_ctl_fail(tagging->ctl, answer->failure);
                return;
        }
        for (uint32_t left = scn_unpack_array(&unpacker); left > 0 && unpacker.error == SCN_OK; left--) {
                const struct scn_slice map = scn_unpack_raw(&unpacker);
                if (unpacker.error == SCN_OK && is_of(map, tagging->name)) {
                        tagging->was = revision_of(map);
                }
        }
        if (!answer->has_more) {
                set_or_remove(tagging);
        }
}

int scn_ctl_run_tag(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        const bool has_list = arguments->options[SCN_CTL_OPTION_list] != NULL;
        const bool removes = arguments->options[SCN_CTL_OPTION_remove] != NULL;
        const char *name = arguments->values_count > 1 ? arguments->values[1] : NULL;
        const bool lists = has_list || name == NULL;
        const bool has_revision = arguments->values_count > 2;
        struct tagging tagging = {ctl, name, removes, has_revision, 0, SCN_ABSENT};
        if (lists ? name != NULL || removes : removes && has_revision) {
                return scn_ctl_misuse(ctl, "tag DOC NAME [REV], tag DOC [--list] or tag DOC NAME --remove");
        }
        if (has_revision &&
                !scn_ctl_read_number(ctl, "REV", arguments->values[2], SCN_REVISION_MAX, &tagging.revision)) {
                return SCN_CTL_USAGE;
        }
        if (!scn_ctl_open(ctl, arguments->values[0])) {
                return ctl->code;
        }
        const enum scn_error error = lists ? scn_client_tags(ctl->client, on_tags, ctl)
                                           : scn_client_tags(ctl->client, on_tags_before, &tagging);
        return error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
}
