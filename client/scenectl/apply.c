/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* apply: edits from a file or standard input, one a line, each whole or not at all. Each is answered as soon as it is
 * durable, in the order of the lines, while more are read; so many are under way at a time that the server always
 * has something to do, and no more. */

#include "client/scenectl/ctl.h"
#include "client/scenectl/edit_line.h"
#include "protocol/base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define UNDER_WAY_MAX 1024u
#define LINE_BYTES_MAX ((size_t)256 << 20)
#define READ_BYTES ((size_t)64 << 10)

/* A line's answer, kept until those before it are printed. */
struct slot {
        bool is_ready;
        bool is_refused;
        struct scn_failure failure;
        uint8_t *kept;            /* owned: the failure's detail, or the results */
        struct scn_slice results; /* in it; data == NULL: none */
        scn_revision rev;
        bool is_unchanged;
        uint64_t number; /* of the line in the input, from 1 */
};

struct apply;

/* What a callback gets. */
struct ticket {
        struct apply *apply;
        uint64_t line;
};

struct apply {
        struct scn_ctl *ctl;
        int fd;
        const char *path; /* for people */
        bool is_ended;    /* the input */
        struct scn_buffer input;
        size_t at;       /* what of it is done */
        size_t searched; /* up to here there is no line's end */
        uint64_t number; /* lines of the input read, also empty ones */
        uint64_t lines;  /* read */
        uint64_t printed;
        struct slot *slots; /* line n in slot n % UNDER_WAY_MAX */
        struct ticket *tickets;
};

/* --- Answers --- */

static void print_slot(struct apply *apply, const struct slot *slot)
{
        struct scn_ctl *ctl = apply->ctl;
        if (slot->is_refused) {
                ctl->input_line = slot->number;
                scn_ctl_fail(ctl, &slot->failure);
                ctl->input_line = 0;
                ctl->is_done = false; /* the others go on */
        } else if (ctl->is_json) {
                scn_ctl_begin_line(ctl);
                scn_ctl_key(ctl, "rev");
                scn_json_put_uint(&ctl->json, slot->rev);
                if (slot->is_unchanged) {
                        scn_ctl_key(ctl, "changed");
                        scn_json_put(&ctl->json, "false");
                }
                scn_ctl_put_results(ctl, slot->results);
                scn_ctl_end_line(ctl);
        } else {
                scn_ctl_print(slot->is_unchanged ? "nothing changed, revision %llu\n" : "revision %llu\n",
                        (unsigned long long)slot->rev);
                scn_ctl_print_otherwise(slot->results);
        }
}

static void print_ready(struct apply *apply)
{
        const uint64_t before = apply->printed;
        while (apply->printed < apply->lines && apply->slots[apply->printed % UNDER_WAY_MAX].is_ready) {
                struct slot *slot = &apply->slots[apply->printed % UNDER_WAY_MAX];
                print_slot(apply, slot);
                scn_free(slot->kept);
                slot->kept = NULL;
                apply->printed++;
        }
        if (apply->printed != before) {
                scn_ctl_flush(apply->ctl);
        }
}

/* What it points to is the client's, and this waits for its turn to be printed. */
static struct scn_slice keep(struct slot *slot, struct scn_slice bytes)
{
        slot->kept = bytes.data != NULL ? scn_alloc(bytes.size) : NULL;
        if (slot->kept != NULL) {
                memcpy(slot->kept, bytes.data, bytes.size);
        }
        return (struct scn_slice){slot->kept, slot->kept != NULL ? bytes.size : 0};
}

static void on_result(struct scn_client *client, const struct scn_result *result, void *data)
{
        const struct ticket *ticket = data;
        struct slot *slot = &ticket->apply->slots[ticket->line % UNDER_WAY_MAX];
        (void)client;
        *slot = (struct slot){
                .is_ready = true, .rev = result->rev, .is_unchanged = result->is_unchanged, .number = slot->number};
        if (result->failure != NULL) {
                slot->is_refused = true;
                slot->failure = *result->failure;
                slot->failure.detail = keep(slot, slot->failure.detail);
        } else {
                slot->results = keep(slot, result->results);
        }
        print_ready(ticket->apply);
}

/* --- Lines --- */

static void refuse_line(struct slot *slot, enum scn_error error, uint32_t op, const char *problem)
{
        *slot = (struct slot){.is_ready = true, .is_refused = true, .number = slot->number};
        (void)snprintf(slot->failure.code, sizeof slot->failure.code, "%s", scn_error_code(error));
        (void)snprintf(slot->failure.text, sizeof slot->failure.text, "%s", problem);
        slot->failure.has_op = op != UINT32_MAX;
        slot->failure.op = op;
}

static void take_line(struct apply *apply, struct scn_slice line)
{
        char problem[SCN_EDIT_LINE_PROBLEM_BYTES];
        uint32_t op = UINT32_MAX;
        struct ticket *ticket = &apply->tickets[apply->lines % UNDER_WAY_MAX];
        struct slot *slot = &apply->slots[apply->lines % UNDER_WAY_MAX];
        *ticket = (struct ticket){apply, apply->lines};
        *slot = (struct slot){.is_ready = false, .number = apply->number};
        apply->lines++;
        struct scn_draft *draft = scn_draft_create(apply->ctl->client, NULL);
        if (draft == NULL) {
                refuse_line(slot, SCN_E_NO_MEMORY, op, scn_error_text(SCN_E_NO_MEMORY));
                return;
        }
        enum scn_error error = scn_edit_line_read(draft, line, &op, problem);
        if (error != SCN_OK) {
                scn_draft_destroy(draft);
                refuse_line(slot, error, op, problem);
                return;
        }
        error = scn_draft_submit(draft, on_result, ticket, NULL);
        if (error != SCN_OK) {
                refuse_line(slot, error, op, scn_error_text(error));
        }
}

static bool is_blank(struct scn_slice line)
{
        for (uint32_t i = 0; i < line.size; i++) {
                if (line.data[i] != ' ' && line.data[i] != '\t' && line.data[i] != '\r') {
                        return false;
                }
        }
        return true;
}

static bool has_room(const struct apply *apply)
{
        return apply->lines - apply->printed < UNDER_WAY_MAX;
}

/* The last line may lack its end. */
static void take_lines(struct apply *apply)
{
        while (has_room(apply) && apply->at < apply->input.size) {
                const uint8_t *begin = apply->input.data + apply->at;
                const size_t from = apply->searched > apply->at ? apply->searched : apply->at;
                const uint8_t *end = memchr(apply->input.data + from, '\n', apply->input.size - from);
                if (end == NULL && !apply->is_ended) {
                        apply->searched = apply->input.size;
                        return;
                }
                end = end != NULL ? end : apply->input.data + apply->input.size;
                const struct scn_slice line = {begin, (uint32_t)(end - begin)};
                apply->at = (size_t)(end - apply->input.data) + 1;
                apply->number++;
                if (!is_blank(line)) {
                        take_line(apply, line);
                }
        }
        print_ready(apply);
}

/* --- Input --- */

static void fail_input(struct apply *apply, const char *why)
{
        struct scn_failure failure = {.has_op = false};
        (void)snprintf(failure.code, sizeof failure.code, "not_readable");
        (void)snprintf(failure.text, sizeof failure.text, "%.200s: cannot be read: %s", apply->path, why);
        scn_ctl_fail(apply->ctl, &failure);
        apply->is_ended = true;
}

static void read_input(struct apply *apply)
{
        struct scn_buffer *input = &apply->input;
        if (apply->at > 0) {
                const size_t at = apply->at < input->size ? apply->at : input->size;
                memmove(input->data, input->data + at, input->size - at);
                input->size -= at;
                apply->searched -= apply->searched < at ? apply->searched : at;
                apply->at = 0;
        }
        if (scn_buffer_reserve(input, READ_BYTES) != SCN_OK) {
                fail_input(apply, "a line is too long");
                return;
        }
        const ssize_t count = read(apply->fd, input->data + input->size, READ_BYTES);
        if (count > 0) {
                input->size += (size_t)count;
        } else if (count == 0) {
                apply->is_ended = true;
        } else if (errno != EINTR && errno != EAGAIN) {
                fail_input(apply, strerror(errno));
        }
}

/* Waits for the input, if there is room for what it brings, and for the server. */
static void wait_for_both(struct apply *apply)
{
        struct scn_socket *socket = apply->ctl->socket;
        const uint32_t events = scn_socket_events(socket);
        const bool wants_input = !apply->is_ended && has_room(apply);
        struct pollfd fds[2] = {
                {.fd = scn_socket_fd(socket),
                        .events = (short)(((events & SCN_SOCKET_READABLE) != 0 ? POLLIN : 0) |
                                ((events & SCN_SOCKET_WRITABLE) != 0 ? POLLOUT : 0))},
                {.fd = wants_input ? apply->fd : -1, .events = POLLIN},
        };
        (void)poll(fds, 2, scn_ctl_patience_ms(apply->ctl, scn_socket_timeout_ms(socket)));
        if (wants_input && fds[1].revents != 0) {
                read_input(apply);
                take_lines(apply);
        }
        (void)scn_ctl_turn(apply->ctl, 0);
        take_lines(apply);
}

static int run(struct apply *apply, const char *document)
{
        struct scn_ctl *ctl = apply->ctl;
        if (!scn_ctl_open(ctl, document)) {
                return ctl->code;
        }
        while (!ctl->is_done && (!apply->is_ended || apply->at < apply->input.size || apply->printed < apply->lines)) {
                wait_for_both(apply);
        }
        scn_ctl_close(ctl);
        return ctl->code;
}

int scn_ctl_run_apply(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct apply apply = {.ctl = ctl, .fd = STDIN_FILENO};
        const char *path = arguments->values_count > 1 ? arguments->values[1] : "-";
        int code = SCN_CTL_REFUSED;
        apply.path = strcmp(path, "-") == 0 ? "standard input" : path;
        if (strcmp(path, "-") != 0) {
                apply.fd = open(path, O_RDONLY | O_CLOEXEC);
        }
        apply.slots = scn_alloc_zero(UNDER_WAY_MAX, sizeof *apply.slots);
        apply.tickets = scn_alloc_zero(UNDER_WAY_MAX, sizeof *apply.tickets);
        scn_buffer_init(&apply.input, LINE_BYTES_MAX);
        if (apply.fd < 0) {
                fail_input(&apply, strerror(errno));
        } else if (apply.slots == NULL || apply.tickets == NULL) {
                (void)scn_ctl_refuse(ctl, SCN_E_NO_MEMORY);
        } else {
                code = run(&apply, arguments->values[0]);
        }
        if (apply.fd > STDIN_FILENO) {
                (void)close(apply.fd);
        }
        scn_buffer_finish(&apply.input);
        for (uint32_t i = 0; apply.slots != NULL && i < UNDER_WAY_MAX; i++) {
                scn_free(apply.slots[i].kept);
        }
        scn_free(apply.slots);
        scn_free(apply.tickets);
        return code;
}
