/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* undo, redo, restore, log. */

#include "client/scenectl/ctl.h"
#include "protocol/base/uid.h"
#include "protocol/wire/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 1000u /* PROTOCOL: undo */

/* --- undo, redo --- */

static bool read_steps(struct scn_ctl *ctl, const char *text, unsigned long *count_out)
{
        char *end;
        *count_out = strtoul(text, &end, 10);
        if (text[0] < '0' || text[0] > '9' || *end != '\0' || *count_out == 0 || *count_out > STEPS_MAX) {
                (void)scn_ctl_misuse(ctl, "N: '%s' is no whole number from 1 to %u", text, STEPS_MAX);
                return false;
        }
        return true;
}

static bool read_undo(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments, struct scn_undo *undo)
{
        const char *step = arguments->options[SCN_CTL_OPTION_step];
        unsigned long count = 1;
        if (arguments->values_count > 1 && !read_steps(ctl, arguments->values[1], &count)) {
                return false;
        }
        undo->count = (uint32_t)count;
        undo->force = arguments->options[SCN_CTL_OPTION_force] != NULL;
        undo->is_dry = arguments->options[SCN_CTL_OPTION_dry_run] != NULL;
        return step == NULL || scn_ctl_read_number(ctl, "--step", step, SCN_REVISION_MAX, &undo->step);
}

static bool is_key(struct scn_slice key, const char *word)
{
        return key.size == strlen(word) && memcmp(key.data, word, key.size) == 0;
}

/* How many steps an undo or redo took. */
static uint32_t count_steps(struct scn_slice summary)
{
        struct scn_unpacker unpacker;
        return scn_ctl_find_member(summary, "steps", &unpacker) ? scn_unpack_array(&unpacker) : 0;
}

/* What the server would do, and at which revision it has looked. */
static void print_dry(const struct scn_result *result)
{
        struct scn_unpacker unpacker;
        const uint64_t count = scn_ctl_find_member(result->summary, "applied", &unpacker)
                ? scn_unpack_uint(&unpacker, SCN_REVISION_MAX)
                : 0;
        if (count == 0) {
                scn_ctl_print("would change nothing");
        } else {
                scn_ctl_print("would change %llu", (unsigned long long)count);
        }
        scn_ctl_print(", revision %llu  ", (unsigned long long)result->rev);
        scn_ctl_print_summary(result->summary, "applied");
}

struct taking {
        struct scn_ctl *ctl;
        const char *command;
        uint32_t count; /* steps that were asked for */
        bool is_dry;
};

/* Fewer steps than asked for: the server says why when the next one is asked for. */
static void print_shortfall(const struct taking *taking, const struct scn_result *result)
{
        const uint32_t taken = count_steps(result->summary);
        if (result->failure == NULL && taken < taking->count && !taking->ctl->is_json) {
                scn_ctl_print("note: %u of %u steps: the next one is not there, or cannot be taken; "
                              "another %s says why\n",
                        taken, taking->count, taking->command);
        }
}

/* The step that cannot be taken back is used up: how to have it all the same. */
static void on_taken(struct scn_client *client, const struct scn_result *result, void *data)
{
        const struct taking *taking = data;
        struct scn_ctl *ctl = taking->ctl;
        if (taking->is_dry && result->failure == NULL && !ctl->is_json) {
                print_dry(result);
                scn_ctl_done(ctl);
        } else {
                scn_ctl_on_edited(client, result, ctl);
        }
        print_shortfall(taking, result);
        if (result->failure != NULL && strcmp(result->failure->code, "superseded") == 0 && !ctl->is_json &&
                !taking->is_dry) {
                (void)fprintf(stderr,
                        "  that step is used up; --step with its number, and --force, undoes it all the same\n");
        }
}

int scn_ctl_run_undo(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct scn_undo undo = SCN_UNDO_INIT;
        if (!read_undo(ctl, arguments, &undo) || !scn_ctl_open(ctl, arguments->values[0])) {
                return ctl->code;
        }
        struct taking taking = {ctl, "undo", undo.count, undo.is_dry};
        const enum scn_error error = scn_client_undo(ctl->client, &undo, on_taken, &taking);
        return error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
}

int scn_ctl_run_redo(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct scn_undo undo = SCN_UNDO_INIT;
        if (!read_undo(ctl, arguments, &undo) || !scn_ctl_open(ctl, arguments->values[0])) {
                return ctl->code;
        }
        struct taking taking = {ctl, "redo", undo.count, undo.is_dry};
        const enum scn_error error = scn_client_redo(ctl->client, &undo, on_taken, &taking);
        return error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
}

int scn_ctl_run_restore(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct scn_target node = {.path = NULL};
        const char *text = arguments->options[SCN_CTL_OPTION_node];
        if ((text != NULL && !scn_ctl_read_node(ctl, "--node", text, &node)) ||
                !scn_ctl_open(ctl, arguments->values[0])) {
                return ctl->code;
        }
        const enum scn_error error =
                scn_client_restore(ctl->client, arguments->values[1], node, scn_ctl_on_edited, ctl);
        return error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
}

/* --- log --- */

/* A transaction, as far as a line for people shows it. */
struct transaction {
        uint64_t rev;
        uint64_t time_us;
        struct scn_slice author;
        struct scn_slice cause;
        struct scn_slice ops;
};

static struct transaction read_transaction(struct scn_slice map)
{
        struct transaction transaction = {.rev = 0};
        struct scn_unpacker unpacker = scn_unpacker_from(map);
        const uint32_t count = scn_unpack_map(&unpacker);
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                const struct scn_slice key = scn_unpack_text(&unpacker, UINT32_MAX);
                const enum scn_pack_kind kind = scn_unpack_kind(&unpacker);
                if (is_key(key, "rev")) {
                        transaction.rev = scn_unpack_uint(&unpacker, SCN_REVISION_MAX);
                } else if (is_key(key, "time")) {
                        transaction.time_us = scn_unpack_uint(&unpacker, SCN_REVISION_MAX);
                } else if (is_key(key, "author") && kind == SCN_PACK_TEXT) {
                        transaction.author = scn_unpack_text(&unpacker, UINT32_MAX);
                } else if (is_key(key, "cause") && kind == SCN_PACK_TEXT) {
                        transaction.cause = scn_unpack_text(&unpacker, UINT32_MAX);
                } else if (is_key(key, "ops")) {
                        transaction.ops = scn_unpack_raw(&unpacker);
                } else {
                        (void)scn_unpack_raw(&unpacker);
                }
        }
        return transaction;
}

/* What an op of a transaction was, and to which node. */
struct logged_op {
        struct scn_slice word;
        struct scn_uid uid;
};

static struct logged_op read_op(struct scn_slice map)
{
        struct scn_unpacker unpacker = scn_unpacker_from(map);
        const uint32_t count = scn_unpack_map(&unpacker);
        struct logged_op op = {.word = {NULL, 0}};
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                const struct scn_slice key = scn_unpack_text(&unpacker, UINT32_MAX);
                const enum scn_pack_kind kind = scn_unpack_kind(&unpacker);
                if (is_key(key, "op") && kind == SCN_PACK_TEXT) {
                        op.word = scn_unpack_text(&unpacker, UINT32_MAX);
                } else if (is_key(key, "uid") && kind == SCN_PACK_BIN) {
                        op.uid = scn_unpack_uid(&unpacker);
                } else {
                        (void)scn_unpack_raw(&unpacker);
                }
        }
        return op;
}

#define NODES_SHOWN 2u

/* "rename+set 4eb3338f-...": what one node after the other was done to. */
static void print_ops(struct scn_slice ops)
{
        struct scn_unpacker unpacker = scn_unpacker_from(ops);
        const uint32_t count = ops.data == NULL ? 0 : scn_unpack_array(&unpacker);
        struct logged_op before = {.word = {NULL, 0}};
        char uid[SCN_UID_TEXT_LENGTH + 1] = "";
        uint32_t nodes = 0;
        for (uint32_t i = 0; i < count; i++) {
                const struct logged_op op = read_op(scn_unpack_raw(&unpacker));
                if (unpacker.error != SCN_OK) {
                        return;
                }
                const bool is_same = i > 0 && scn_uid_equal(op.uid, before.uid);
                if (!is_same && i > 0) {
                        scn_ctl_print(" %s", uid);
                }
                if (!is_same && nodes == NODES_SHOWN) {
                        scn_ctl_print(" and %u more", (unsigned)(count - i));
                        return;
                }
                scn_ctl_print(i == 0 ? "  " : is_same ? "+" : ", ");
                scn_ctl_print_text(op.word);
                scn_uid_to_text(op.uid, uid);
                before = op;
                nodes += !is_same;
        }
        if (count > 0) {
                scn_ctl_print(" %s", uid);
        }
}

static void print_line(struct scn_slice map)
{
        const struct transaction transaction = read_transaction(map);
        scn_ctl_print("%llu  ", (unsigned long long)transaction.rev);
        scn_ctl_print_time(transaction.time_us);
        scn_ctl_print("  ");
        scn_ctl_print_text(transaction.author);
        scn_ctl_print("  ");
        scn_ctl_print_text(transaction.cause);
        print_ops(transaction.ops);
        scn_ctl_print("\n");
}

/* A log of any length is asked for page by page: one answer has a limit (log_max, PROTOCOL §11). */
#define LOG_PAGE 1000u
#define LOG_LAST_MAX 10000u

struct log {
        struct scn_ctl *ctl;
        struct scn_request request;
        uint64_t left;  /* that are still wanted */
        uint64_t count; /* of the page, so far */
};

static enum scn_error ask_log(struct log *log);

static void on_log(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct log *log = data;
        struct scn_ctl *ctl = log->ctl;
        struct scn_unpacker unpacker = scn_unpacker_from(answer->body);
        const uint32_t count = answer->failure != NULL ? 0 : scn_unpack_array(&unpacker);
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                const struct scn_slice map = scn_unpack_raw(&unpacker);
                if (unpacker.error == SCN_OK && ctl->is_json) {
                        scn_ctl_begin_line(ctl);
                        scn_ctl_put_members(ctl, map);
                        scn_ctl_end_line(ctl);
                } else if (unpacker.error == SCN_OK) {
                        print_line(map);
                }
                log->request.from = unpacker.error == SCN_OK ? read_transaction(map).rev + 1 : log->request.from;
                log->count++;
        }
        const bool has_next = log->count == log->request.limit && log->count < log->left;
        if (answer->failure != NULL || answer->has_more || !has_next) {
                scn_ctl_on_done(client, answer, ctl);
                return;
        }
        log->left -= log->count;
        const enum scn_error error = ask_log(log);
        if (error != SCN_OK) {
                (void)scn_ctl_refuse(ctl, error);
        }
}

static enum scn_error ask_log(struct log *log)
{
        log->count = 0;
        log->request.limit = log->left < LOG_PAGE ? log->left : LOG_PAGE;
        return scn_client_log(log->ctl->client, &log->request, on_log, log);
}

/* Of --limit and --last, how many. */
static bool read_count(struct scn_ctl *ctl, const char *what, const char *text, uint64_t max, uint64_t *count_out)
{
        if (text == NULL) {
                return true;
        }
        if (!scn_ctl_read_number(ctl, what, text, max, count_out)) {
                return false;
        }
        if (*count_out == 0) {
                (void)scn_ctl_misuse(ctl, "%s: of 0 there is nothing to tell", what);
        }
        return *count_out > 0;
}

int scn_ctl_run_log(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct log log = {.ctl = ctl, .request = SCN_REQUEST_INIT, .left = UINT64_MAX};
        struct scn_request *request = &log.request;
        const char *node = arguments->options[SCN_CTL_OPTION_node];
        const char *from = arguments->options[SCN_CTL_OPTION_from];
        const char *to = arguments->options[SCN_CTL_OPTION_to];
        const char *limit = arguments->options[SCN_CTL_OPTION_limit];
        const char *last = arguments->options[SCN_CTL_OPTION_last];
        const char *group = arguments->options[SCN_CTL_OPTION_group];
        if (limit != NULL && last != NULL) {
                return scn_ctl_misuse(ctl, "--limit means the oldest and --last the newest: give one of them");
        }
        if ((node != NULL && !scn_ctl_read_node(ctl, "--node", node, &request->node)) ||
                (from != NULL && !scn_ctl_read_number(ctl, "--from", from, SCN_REVISION_MAX, &request->from)) ||
                (to != NULL && !scn_ctl_read_number(ctl, "--to", to, SCN_REVISION_MAX, &request->to)) ||
                !read_count(ctl, "--limit", limit, SCN_REVISION_MAX, &log.left) ||
                !read_count(ctl, "--last", last, LOG_LAST_MAX, &request->last) ||
                (group != NULL && !scn_ctl_read_number(ctl, "--group", group, SCN_REVISION_MAX, &request->group))) {
                return SCN_CTL_USAGE;
        }
        log.left = last != NULL ? request->last : log.left;
        request->author = arguments->options[SCN_CTL_OPTION_author];
        request->since = arguments->options[SCN_CTL_OPTION_since];
        request->until = arguments->options[SCN_CTL_OPTION_until];
        if (!scn_ctl_open(ctl, arguments->values[0])) {
                return ctl->code;
        }
        const enum scn_error error = ask_log(&log);
        return error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
}
