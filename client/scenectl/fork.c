/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* fork: a new document with what is, or was, in another. */

#include "client/scenectl/ctl.h"
#include "protocol/wire/pack.h"

/* The revision that is answered is of the document that it was made of: the new one is at its own first. */
static void print_fork(struct scn_slice body)
{
        struct scn_unpacker unpacker;
        if (scn_ctl_find_member(body, "doc", &unpacker)) {
                scn_ctl_print("doc: ");
                scn_ctl_print_text(scn_unpack_text(&unpacker, UINT32_MAX));
        }
        if (scn_ctl_find_member(body, "rev", &unpacker)) {
                scn_ctl_print(
                        ", made of revision %llu\n", (unsigned long long)scn_unpack_uint(&unpacker, SCN_REVISION_MAX));
        }
}

static void on_fork(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct scn_ctl *ctl = data;
        if (answer->failure == NULL && ctl->is_json) {
                scn_ctl_begin_line(ctl);
                scn_ctl_put_members(ctl, answer->body);
                scn_ctl_end_line(ctl);
        } else if (answer->failure == NULL) {
                print_fork(answer->body);
        }
        scn_ctl_on_done(client, answer, data);
}

int scn_ctl_run_fork(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        if (!scn_ctl_open(ctl, arguments->values[0])) {
                return ctl->code;
        }
        const enum scn_error error =
                scn_client_fork(ctl->client, arguments->options[SCN_CTL_OPTION_at], arguments->values[1], on_fork, ctl);
        return error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
}
