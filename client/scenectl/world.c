/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* world: where nodes are. */

#include "client/scenectl/ctl.h"
#include "protocol/base/alloc.h"

#include <stdio.h>

struct world {
        struct scn_ctl *ctl;
        char **names; /* as asked for, in the order of the answer */
        unsigned names_count;
        unsigned at;
};

static void print_json(struct scn_ctl *ctl, const struct scn_answer *answer, const struct scn_world *world)
{
        scn_ctl_begin_line(ctl);
        scn_ctl_key(ctl, "uid");
        scn_ctl_put_uid(ctl, world->uid);
        scn_ctl_key(ctl, "path");
        scn_ctl_put_name(ctl, world->path);
        scn_ctl_key(ctl, "rev");
        scn_json_put_uint(&ctl->json, answer->rev);
        scn_ctl_key(ctl, "durable");
        scn_json_put_uint(&ctl->json, answer->durable);
        scn_ctl_key(ctl, "matrix");
        scn_ctl_put_floats(ctl, world->matrix, 16);
        scn_ctl_key(ctl, "t");
        scn_ctl_put_floats(ctl, world->trs.t, 3);
        scn_ctl_key(ctl, "r");
        scn_ctl_put_floats(ctl, world->trs.r, 4);
        scn_ctl_key(ctl, "s");
        scn_ctl_put_floats(ctl, world->trs.s, 3);
        scn_ctl_end_line(ctl);
}

static void print_error(struct scn_ctl *ctl, const char *name, const struct scn_world *world)
{
        if (ctl->is_json) {
                scn_ctl_begin_line(ctl);
                scn_ctl_key(ctl, "error");
                scn_json_put_text(&ctl->json, world->code);
                scn_ctl_key(ctl, "node");
                scn_json_put_cstring(&ctl->json, name);
                scn_ctl_key(ctl, "message");
                scn_json_put_text(&ctl->json, world->text);
                scn_ctl_end_line(ctl);
        } else {
                scn_ctl_flush(ctl);
                (void)fprintf(stderr, "scenectl: ");
                scn_ctl_complain(world->code);
                (void)fprintf(stderr, ": ");
                scn_ctl_complain(world->text);
                (void)fprintf(stderr, "\n");
        }
        ctl->code = SCN_CTL_REFUSED;
}

static void print_line(const struct scn_world *world)
{
        if (world->path.data != NULL) {
                scn_ctl_print_text(world->path);
        } else {
                scn_ctl_print_uid(world->uid);
        }
        scn_ctl_print_floats("  t", world->trs.t, 3);
        scn_ctl_print_floats("  r", world->trs.r, 4);
        scn_ctl_print_floats("  s", world->trs.s, 3);
        scn_ctl_print("\n");
}

static void on_world(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct world *state = data;
        struct scn_world world;
        size_t at = 0;
        while (answer->failure == NULL && scn_answer_world(answer, &at, &world)) {
                const char *name = state->at < state->names_count ? state->names[state->at] : "?";
                state->at++;
                if (world.code.data != NULL) {
                        print_error(state->ctl, name, &world);
                } else if (state->ctl->is_json) {
                        print_json(state->ctl, answer, &world);
                } else {
                        print_line(&world);
                }
        }
        scn_ctl_on_done(client, answer, state->ctl);
}

static int ask(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments, const struct scn_target *targets,
        const struct scn_request *request)
{
        struct world state = {ctl, arguments->values + 1, arguments->values_count - 1, 0};
        if (!scn_ctl_open(ctl, arguments->values[0])) {
                return ctl->code;
        }
        const enum scn_error error =
                scn_client_world(ctl->client, targets, state.names_count, request, on_world, &state);
        return error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
}

int scn_ctl_run_world(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct scn_request request = SCN_REQUEST_INIT;
        const char *relative = arguments->options[SCN_CTL_OPTION_relative_to];
        request.at = arguments->options[SCN_CTL_OPTION_at];
        request.durable = arguments->options[SCN_CTL_OPTION_durable] != NULL;
        if (relative != NULL && !scn_ctl_read_node(ctl, "--relative-to", relative, &request.node)) {
                return SCN_CTL_USAGE;
        }
        struct scn_target *targets = scn_ctl_read_nodes(ctl, arguments);
        if (targets == NULL) {
                return ctl->code;
        }
        const int code = ask(ctl, arguments, targets, &request);
        scn_free(targets);
        return code;
}
