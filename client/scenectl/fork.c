/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* fork: a new document with what is, or was, in another. */

#include "client/scenectl/ctl.h"

static void on_fork(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct scn_ctl *ctl = data;
        if (answer->failure == NULL && ctl->is_json) {
                scn_ctl_begin_line(ctl);
                scn_ctl_put_members(ctl, answer->body);
                scn_ctl_end_line(ctl);
        } else if (answer->failure == NULL) {
                scn_ctl_print_members(answer->body, ", ");
                scn_ctl_print("\n");
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
