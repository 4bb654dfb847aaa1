/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Follows a document in a loop of its own: prints what is there, then what changes, until the name of a node is
 * "stop". How a program with poll(), epoll or a toolkit's main loop takes the library in.
 *
 *   follow ADDRESS DOCUMENT */

#include <poll.h>
#include <scn/client.h>
#include <stdio.h>
#include <string.h>

struct follower {
        bool is_done;
        bool is_alone; /* nobody is there, which was said */
        int code;
};

static void print_node(const struct scn_view *view, const struct scn_view_change *change)
{
        struct scn_node_info node;
        char uid[SCN_UID_TEXT_LENGTH + 1];
        if (!scn_view_node(view, change->uid, &node)) {
                return;
        }
        scn_uid_to_text(change->uid, uid);
        printf("%c %s %.*s  %g %g %g\n", change->is_new ? '+' : '~', uid, (int)node.name.size,
                node.name.data != NULL ? (const char *)node.name.data : "", (double)node.trs.t[0],
                (double)node.trs.t[1], (double)node.trs.t[2]);
}

static bool is_stop(const struct scn_view *view, struct scn_uid uid)
{
        struct scn_node_info node;
        return scn_view_node(view, uid, &node) && node.name.size == 4 && memcmp(node.name.data, "stop", 4) == 0;
}

static void on_change(struct scn_view *view, const struct scn_view_event *event, void *data)
{
        struct follower *follower = data;
        printf("revision %llu\n", (unsigned long long)event->to);
        for (size_t i = 0; i < event->changes_count; i++) {
                print_node(view, &event->changes[i]);
                follower->is_done = follower->is_done || is_stop(view, event->changes[i].uid);
        }
        for (size_t i = 0; i < event->removed_count; i++) {
                char uid[SCN_UID_TEXT_LENGTH + 1];
                const struct scn_slice name = event->removed[i].name;
                scn_uid_to_text(event->removed[i].uid, uid);
                printf("- %s %.*s\n", uid, (int)name.size, name.data != NULL ? (const char *)name.data : "");
        }
        fflush(stdout);
}

static void on_state(
        struct scn_client *client, enum scn_client_state state, const struct scn_failure *failure, void *data)
{
        struct follower *follower = data;
        (void)client;
        if (state == SCN_CLIENT_ENDED) {
                fprintf(stderr, "follow: %s: %s\n", failure->code, failure->text);
                follower->is_done = true;
                follower->code = 1;
        }
}

/* One turn of the loop; a program waits for its other descriptors in the same place. */
static void wait_and_dispatch(struct scn_socket *socket)
{
        const uint32_t events = scn_socket_events(socket);
        struct pollfd fd = {
                .fd = scn_socket_fd(socket),
                .events = (short)((events & SCN_SOCKET_READABLE ? POLLIN : 0) |
                        (events & SCN_SOCKET_WRITABLE ? POLLOUT : 0)),
        };
        (void)poll(&fd, 1, scn_socket_timeout_ms(socket));
        scn_socket_dispatch(socket);
}

/* The library goes on trying; whoever waits should know why. */
static void tell_if_alone(const struct scn_socket *socket, struct follower *follower)
{
        const bool is_alone = scn_socket_failures(socket) > 0;
        if (is_alone && !follower->is_alone) {
                fprintf(stderr, "follow: no connection: %s; trying again\n", scn_socket_problem(socket));
        }
        follower->is_alone = is_alone;
}

static int follow(struct scn_client *client, const char *address, struct follower *follower)
{
        struct scn_view_options options = SCN_VIEW_OPTIONS_INIT;
        struct scn_socket *socket;
        struct scn_view *view;
        options.on_change = on_change;
        options.data = follower;
        if (scn_socket_create(client, address, &socket) != SCN_OK ||
                scn_view_create(client, &options, &view) != SCN_OK) {
                return 2;
        }
        while (!follower->is_done) {
                wait_and_dispatch(socket);
                tell_if_alone(socket, follower);
        }
        scn_socket_destroy(socket);
        return follower->code;
}

int main(int argc, char **argv)
{
        struct follower follower = {.code = 0};
        struct scn_client_options options = SCN_CLIENT_OPTIONS_INIT;
        struct scn_client *client;
        if (argc != 3) {
                fprintf(stderr, "usage: follow ADDRESS DOCUMENT\n");
                return 2;
        }
        options.document = argv[2];
        options.agent = "follow example";
        options.on_state = on_state;
        options.data = &follower;
        if (scn_client_create(&options, &client) != SCN_OK) {
                return 2;
        }
        const int code = follow(client, argv[1], &follower);
        scn_client_destroy(client);
        return code;
}
