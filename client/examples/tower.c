/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Builds a tower as one edit, drags it about as one step of undo, asks where its top is, and says "stop" to those who
 * follow. No loop of its own: scn_socket_wait() is one.
 *
 *   tower ADDRESS DOCUMENT */

#include <math.h>
#include <scn/client.h>
#include <stdio.h>
#include <string.h>

#define FLOORS 5
#define STEPS 60

struct tower {
        struct scn_client *client;
        struct scn_socket *socket;
        struct scn_uid base;
        struct scn_uid top;
        uint32_t answers; /* still to come */
        bool is_alone;    /* nobody is there, which was said */
        int code;
};

static void on_state(
        struct scn_client *client, enum scn_client_state state, const struct scn_failure *failure, void *data)
{
        struct tower *tower = data;
        (void)client;
        if (state == SCN_CLIENT_ENDED) {
                fprintf(stderr, "tower: %s: %s\n", failure->code, failure->text);
                tower->code = 1;
        }
}

static void on_result(struct scn_client *client, const struct scn_result *result, void *data)
{
        struct tower *tower = data;
        (void)client;
        tower->answers--;
        if (result->failure != NULL) {
                fprintf(stderr, "tower: %s: %s\n", result->failure->code, result->failure->text);
                tower->code = 1;
        }
}

static void on_world(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct tower *tower = data;
        struct scn_world world;
        size_t at = 0;
        (void)client;
        tower->answers--;
        while (answer->failure == NULL && scn_answer_world(answer, &at, &world)) {
                printf("the top is at %g %g %g\n", (double)world.matrix[12], (double)world.matrix[13],
                        (double)world.matrix[14]);
        }
}

static void submit(struct tower *tower, struct scn_draft *draft, enum scn_error error)
{
        if (error == SCN_OK) {
                tower->answers++;
                error = scn_draft_submit(draft, on_result, tower, NULL);
        }
        if (error != SCN_OK) {
                fprintf(stderr, "tower: %s\n", scn_error_text(error));
                tower->code = 1;
        }
}

/* Each floor stands on the one before, so the whole tower moves with its base. */
static void build(struct tower *tower)
{
        struct scn_draft *draft = scn_draft_create(tower->client, NULL);
        struct scn_target parent = SCN_BY_PATH("/");
        enum scn_error error = SCN_OK;
        for (int i = 0; i < FLOORS && error == SCN_OK; i++) {
                const float t[3] = {0.0f, i == 0 ? 0.0f : 3.0f, 0.0f};
                struct scn_addition addition = SCN_ADDITION_INIT;
                char name[16];
                (void)snprintf(name, sizeof name, "floor %d", i);
                addition.parent = parent;
                addition.name = name;
                addition.t = t;
                error = scn_draft_add(draft, &addition, &tower->top);
                if (error == SCN_OK) {
                        error = scn_draft_set_int(draft, SCN_BY_UID(tower->top), "floor", i);
                }
                tower->base = i == 0 ? tower->top : tower->base;
                parent = SCN_BY_UID(tower->top);
        }
        submit(tower, draft, error);
}

/* Edits with the same group, one after the other, are taken back by one undo. */
static void drag(struct tower *tower)
{
        for (int i = 1; i <= STEPS && tower->code == 0; i++) {
                struct scn_draft *draft = scn_draft_create(tower->client, NULL);
                const double angle = 3.14159265358979 * i / STEPS;
                const float t[3] = {(float)(10.0 * sin(angle)), 0.0f, (float)(10.0 - 10.0 * cos(angle))};
                scn_draft_set_group(draft, 1);
                submit(tower, draft, scn_draft_transform(draft, SCN_BY_UID(tower->base), t, NULL, NULL));
        }
}

static void finish(struct tower *tower)
{
        struct scn_draft *draft = scn_draft_create(tower->client, NULL);
        const struct scn_target top = SCN_BY_UID(tower->top);
        tower->answers++;
        if (scn_client_world(tower->client, &top, 1, NULL, on_world, tower) != SCN_OK) {
                tower->code = 1;
        }
        submit(tower, draft, scn_draft_rename(draft, top, "stop"));
}

/* The library goes on trying; whoever waits should know why. */
static void tell_if_alone(struct tower *tower)
{
        const bool is_alone = scn_socket_failures(tower->socket) > 0;
        if (is_alone && !tower->is_alone) {
                fprintf(stderr, "tower: no connection: %s; trying again\n", scn_socket_problem(tower->socket));
        }
        tower->is_alone = is_alone;
}

int main(int argc, char **argv)
{
        struct tower tower = {.code = 0};
        struct scn_client_options options = SCN_CLIENT_OPTIONS_INIT;
        if (argc != 3) {
                fprintf(stderr, "usage: tower ADDRESS DOCUMENT\n");
                return 2;
        }
        options.document = argv[2];
        options.create = true;
        options.author = "tower";
        options.on_state = on_state;
        options.data = &tower;
        if (scn_client_create(&options, &tower.client) != SCN_OK ||
                scn_socket_create(tower.client, argv[1], &tower.socket) != SCN_OK) {
                fprintf(stderr, "tower: '%s' is no address\n", argv[1]);
                return 2;
        }
        build(&tower);
        drag(&tower);
        finish(&tower);
        while (tower.answers > 0 && tower.code == 0) {
                scn_socket_wait(tower.socket, -1);
                tell_if_alone(&tower);
        }
        scn_socket_destroy(tower.socket);
        scn_client_destroy(tower.client);
        return tower.code;
}
