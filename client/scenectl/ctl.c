/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Connecting, waiting, and saying what went wrong. */

#include "client/scenectl/ctl.h"

#include "protocol/base/uid.h"
#include "protocol/scene/change.h"
#include "protocol/wire/pack.h"
#include "protocol/wire/result.h"

#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define AGENT_BYTES 64
/* In the results of an edit. */
#define RESULT_OP 0u
#define RESULT_UID 2u
#define MISUSE_BYTES 4096 /* what was typed may be long: cut then */
#define LINE_BYTES_MAX ((size_t)1 << 30)
/* For a document that is just being closed. */
#define BUSY_PATIENCE_MS 3000u
#define BUSY_LOOK_MS 100

void scn_ctl_init(struct scn_ctl *ctl)
{
        *ctl = (struct scn_ctl){.server = getenv("SCENED_SERVER"), .author = getenv("USER")};
        if (ctl->author == NULL || ctl->author[0] == '\0') {
                const struct passwd *user = getpwuid(getuid());
                ctl->author = user == NULL ? NULL : user->pw_name;
        }
        scn_buffer_init(&ctl->line, LINE_BYTES_MAX);
        ctl->json = scn_json_to(&ctl->line);
}

void scn_ctl_finish(struct scn_ctl *ctl)
{
        scn_ctl_close(ctl);
        scn_buffer_finish(&ctl->line);
}

void scn_ctl_close(struct scn_ctl *ctl)
{
        scn_socket_destroy(ctl->socket);
        ctl->socket = NULL;
        scn_client_destroy(ctl->client);
        ctl->client = NULL;
}

uint64_t scn_ctl_now_ms(void)
{
        struct timespec now;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* --- Failures --- */

static bool has_detail(const struct scn_failure *failure)
{
        return failure->detail.data != NULL && failure->detail.size > 1;
}

static void put_detail(struct scn_ctl *ctl, const struct scn_failure *failure)
{
        scn_ctl_open_bracket(ctl, "{");
        scn_ctl_put_members(ctl, failure->detail);
        scn_ctl_close_bracket(ctl, "}");
}

/* What one may do next, where that is always the same. */
static void print_hint(const struct scn_ctl *ctl, const char *code)
{
        static const struct {
                const char *code;
                const char *hint;
        } hints[] = {
                {"no_document", "scenectl ls names the documents; scenectl create makes one"},
                {"no_tag", "scenectl tag DOCUMENT --list names the tags; a time is 2026-11-30T09:02:41Z"},
                {"no_session", "scenectl who names the sessions"},
                {"no_connection", "is scened running there? --server or SCENED_SERVER says where to look"},
                {"nothing_to_undo", "whose steps is said by --as; scenectl log DOCUMENT names them"},
        };
        for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
                const char *hint = ctl->hint != NULL ? ctl->hint : hints[i].hint;
                if (strcmp(hints[i].code, code) == 0 && hint[0] != '\0') {
                        (void)fprintf(stderr, "  %s\n", hint);
                }
        }
}

static void complain_cstring(const char *text)
{
        scn_ctl_complain((struct scn_slice){(const uint8_t *)text, (uint32_t)strlen(text)});
}

/* What; and on a second line, if there is something to say: at which op, about which node, what was in the way. */
static void print_failure_text(struct scn_ctl *ctl, const struct scn_failure *failure)
{
        const char *between = "\n  ";
        scn_ctl_flush(ctl);
        (void)fprintf(stderr, "scenectl: ");
        complain_cstring(failure->code);
        (void)fprintf(stderr, ": ");
        complain_cstring(failure->text);
        if (ctl->input_line > 0) {
                (void)fprintf(stderr, "%sline %llu", between, (unsigned long long)ctl->input_line);
                between = ", ";
        }
        if (failure->has_op) {
                (void)fprintf(stderr, "%sop %u", between, failure->op);
                between = ", ";
        }
        if (!scn_uid_is_none(failure->node)) {
                char uid[SCN_UID_TEXT_LENGTH + 1];
                scn_uid_format(failure->node, uid);
                (void)fprintf(stderr, "%snode %s", between, uid);
                between = ", ";
        }
        if (has_detail(failure)) {
                scn_buffer_reset(&ctl->line);
                ctl->json = scn_json_to(&ctl->line);
                put_detail(ctl, failure);
                (void)fprintf(stderr, "%s", between);
                scn_ctl_complain((struct scn_slice){ctl->line.data, (uint32_t)ctl->line.size});
        }
        (void)fprintf(stderr, "\n");
        print_hint(ctl, failure->code);
}

static void print_failure(struct scn_ctl *ctl, const struct scn_failure *failure)
{
        if (ctl->catches) {
                ctl->caught = *failure;
                ctl->caught.detail = (struct scn_slice){NULL, 0};
                return;
        }
        if (!ctl->is_json) {
                print_failure_text(ctl, failure);
                return;
        }
        scn_ctl_begin_line(ctl);
        scn_ctl_key(ctl, "error");
        scn_json_put_cstring(&ctl->json, failure->code);
        if (failure->has_op) {
                scn_ctl_key(ctl, "op");
                scn_json_put_uint(&ctl->json, failure->op);
        }
        if (!scn_uid_is_none(failure->node)) {
                scn_ctl_key(ctl, "node");
                scn_ctl_put_uid(ctl, failure->node);
        }
        scn_ctl_key(ctl, "message");
        scn_json_put_cstring(&ctl->json, failure->text);
        if (has_detail(failure)) {
                scn_ctl_key(ctl, "detail");
                put_detail(ctl, failure);
        }
        if (ctl->input_line > 0) {
                scn_ctl_key(ctl, "line");
                scn_json_put_uint(&ctl->json, ctl->input_line);
        }
        scn_ctl_end_line(ctl);
        scn_ctl_flush(ctl);
}

static struct scn_failure failure_of(const char *code, const char *text)
{
        struct scn_failure failure = {.has_op = false};
        (void)snprintf(failure.code, sizeof failure.code, "%s", code);
        (void)snprintf(failure.text, sizeof failure.text, "%s", text);
        return failure;
}

void scn_ctl_done(struct scn_ctl *ctl)
{
        ctl->is_done = true;
}

void scn_ctl_fail(struct scn_ctl *ctl, const struct scn_failure *failure)
{
        const bool is_offline = strcmp(failure->code, "disconnected") == 0 || strcmp(failure->code, "timeout") == 0;
        if (strcmp(failure->code, "cancelled") == 0) {
                return; /* we gave up, and have said so */
        }
        /* What ends the connection ends what was asked on it, too: that is one thing to tell. */
        if (ctl->has_ended && strcmp(failure->code, ctl->reason.code) == 0) {
                return;
        }
        ctl->has_tolerated = ctl->tolerates != NULL && strcmp(failure->code, ctl->tolerates) == 0;
        if (!ctl->has_tolerated) {
                print_failure(ctl, failure);
        }
        if (ctl->code != SCN_CTL_NO_CONNECTION) {
                ctl->code = is_offline ? SCN_CTL_NO_CONNECTION : SCN_CTL_REFUSED;
        }
        ctl->is_done = true;
}

void scn_ctl_fail_nameless(struct scn_ctl *ctl, const struct scn_failure *failure)
{
        struct scn_failure nameless = *failure;
        nameless.node = (struct scn_uid){{0}};
        scn_ctl_fail(ctl, &nameless);
}

void scn_ctl_fail_path(struct scn_ctl *ctl, const char *code, const char *path, int error_number)
{
        struct scn_failure failure = {.has_op = false};
        (void)snprintf(failure.code, sizeof failure.code, "%s", code);
        (void)snprintf(failure.text, sizeof failure.text, "%.200s: %.100s", path, strerror(error_number));
        scn_ctl_fail(ctl, &failure);
}

int scn_ctl_refuse(struct scn_ctl *ctl, enum scn_error error)
{
        const struct scn_failure failure = failure_of(scn_error_code(error), scn_error_text(error));
        scn_ctl_fail(ctl, &failure);
        return SCN_CTL_REFUSED;
}

int scn_ctl_misuse(struct scn_ctl *ctl, const char *format, ...)
{
        char text[MISUSE_BYTES];
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        if (ctl->is_json) {
                const struct scn_failure failure = failure_of("usage", text);
                print_failure(ctl, &failure);
        } else {
                (void)fprintf(stderr, "scenectl: ");
                complain_cstring(text);
                (void)fprintf(stderr, "\n");
        }
        ctl->code = SCN_CTL_USAGE;
        return SCN_CTL_USAGE;
}

/* --- The connection --- */

/* A server that says why it does not want us is there. */
static bool is_refusal(const struct scn_failure *reason)
{
        static const char *const gone[] = {"", "disconnected", "timeout", "stopping", "silent"};
        for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++) {
                if (strcmp(reason->code, gone[i]) == 0) {
                        return false;
                }
        }
        return true;
}

static void lose(struct scn_ctl *ctl)
{
        const char *problem = scn_socket_problem(ctl->socket);
        const bool is_refused = problem[0] == '\0' && is_refusal(&ctl->reason);
        struct scn_failure failure = failure_of("no_connection", problem[0] != '\0' ? problem : ctl->reason.text);
        if (is_refused) {
                failure = ctl->reason;
        } else if (failure.text[0] == '\0') {
                failure = failure_of("no_connection", "nothing was heard from there for too long: is it scened?");
        }
        print_failure(ctl, &failure);
        ctl->code = is_refused ? SCN_CTL_REFUSED : SCN_CTL_NO_CONNECTION;
        ctl->is_done = true;
}

/* The server's last word, if it had one, says more than that the connection is gone. */
static void on_state(
        struct scn_client *client, enum scn_client_state state, const struct scn_failure *failure, void *data)
{
        struct scn_ctl *ctl = data;
        (void)client;
        if (failure != NULL) {
                ctl->reason = failure_of(failure->code, failure->text);
        }
        if (state == SCN_CLIENT_ENDED && failure != NULL) {
                scn_ctl_fail(ctl, failure);
                ctl->has_ended = true;
        }
}

static bool make_client(struct scn_ctl *ctl, const char *document)
{
        char agent[AGENT_BYTES];
        struct scn_client_options options = SCN_CLIENT_OPTIONS_INIT;
        (void)snprintf(agent, sizeof agent, "scenectl %s", scn_version());
        options.document = document;
        options.create = ctl->creates;
        options.author = ctl->author;
        options.token = getenv("SCENED_TOKEN");
        options.agent = agent;
        options.on_state = on_state;
        options.data = ctl;
        enum scn_error error = scn_client_create(&options, &ctl->client);
        if (error != SCN_OK) {
                (void)scn_ctl_refuse(ctl, error);
                return false;
        }
        error = scn_socket_create(ctl->client, ctl->server, &ctl->socket);
        if (error == SCN_E_RANGE) {
                (void)scn_ctl_misuse(ctl, "%s: '%s' is no address: HOST:PORT or unix:PATH",
                        ctl->is_server_typed ? "--server" : "SCENED_SERVER", ctl->server);
        } else if (error != SCN_OK) {
                (void)scn_ctl_refuse(ctl, error);
        }
        return error == SCN_OK;
}

/* The document is just being closed, or its file is looked at: that takes a moment. */
static bool is_passing(const struct scn_failure *reason)
{
        return strcmp(reason->code, "busy") == 0 || strcmp(reason->code, "storage_busy") == 0;
}

bool scn_ctl_open(struct scn_ctl *ctl, const char *document)
{
        scn_ctl_close(ctl);
        ctl->has_ended = false;
        ctl->reason = failure_of("", "");
        if (!make_client(ctl, document)) {
                return false;
        }
        uint64_t until_ms = 0;
        bool was_connected = false;
        ctl->is_done = false;
        while (!ctl->is_done && scn_client_state(ctl->client) != SCN_CLIENT_OPEN) {
                scn_socket_wait(ctl->socket, is_passing(&ctl->reason) ? BUSY_LOOK_MS : -1);
                const enum scn_client_state state = scn_client_state(ctl->client);
                was_connected = was_connected || state == SCN_CLIENT_GREETING;
                const bool is_lost =
                        state == SCN_CLIENT_OFFLINE && (was_connected || scn_socket_failures(ctl->socket) > 0);
                if (is_lost && until_ms == 0) {
                        until_ms = scn_ctl_now_ms() + (is_passing(&ctl->reason) ? BUSY_PATIENCE_MS : 0);
                }
                if (is_lost && !ctl->is_done && scn_ctl_now_ms() >= until_ms) {
                        lose(ctl);
                }
        }
        return !ctl->is_done;
}

/* Once a loss, for people: what follows may take a while. A program hears how it ends. */
static void tell_loss(struct scn_ctl *ctl)
{
        if (!ctl->is_json && !ctl->is_done) {
                scn_ctl_flush(ctl);
                (void)fprintf(
                        stderr, "scenectl: connection lost: trying again for %u s\n", SCN_CTL_PATIENCE_MS / 1000u);
        }
}

int scn_ctl_patience_ms(const struct scn_ctl *ctl, int timeout_ms)
{
        if (ctl->offline_since_ms == 0) {
                return timeout_ms;
        }
        const uint64_t end = ctl->offline_since_ms + SCN_CTL_PATIENCE_MS + 1;
        const uint64_t now = scn_ctl_now_ms();
        const int left = end > now ? (int)(end - now) : 0;
        return timeout_ms < 0 || left < timeout_ms ? left : timeout_ms;
}

/* A short break is waited out: what is under way is sent again. */
bool scn_ctl_turn(struct scn_ctl *ctl, int timeout_ms)
{
        scn_socket_wait(ctl->socket, scn_ctl_patience_ms(ctl, timeout_ms));
        if (scn_client_state(ctl->client) == SCN_CLIENT_OPEN) {
                ctl->offline_since_ms = 0;
                return true;
        }
        const uint64_t now = scn_ctl_now_ms();
        if (ctl->offline_since_ms == 0) {
                ctl->offline_since_ms = now;
                tell_loss(ctl);
        }
        if (!ctl->is_done && now - ctl->offline_since_ms > SCN_CTL_PATIENCE_MS) {
                lose(ctl);
        }
        return !ctl->is_done;
}

int scn_ctl_wait(struct scn_ctl *ctl)
{
        while (!ctl->is_done) {
                (void)scn_ctl_turn(ctl, -1);
        }
        scn_ctl_close(ctl);
        return ctl->code;
}

/* --- Callbacks that many commands share --- */

void scn_ctl_on_done(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        (void)client;
        if (answer->failure != NULL) {
                scn_ctl_fail(data, answer->failure);
        } else if (!answer->has_more) {
                scn_ctl_done(data);
        }
}

/* What was done otherwise than it was asked, by flag (PROTOCOL §5). */
static const struct {
        uint64_t flag;
        const char *word;
        const char *text;
} otherwise_rows[] = {
        {SCN_CHANGE_NORMALISED, "normalised", "the rotation was normalised"},
        {SCN_CHANGE_WENT_LAST, "went_last", "there is no such place: it went last"},
        {SCN_CHANGE_LOSSY, "lossy", "shear was given up"},
};
#define OTHERWISE_COUNT (sizeof otherwise_rows / sizeof otherwise_rows[0])

/* Of one op, or all together. */
struct outcome {
        uint64_t op;
        uint64_t flags;
        struct scn_uid uid;
};

static struct outcome read_outcome(struct scn_unpacker *unpacker)
{
        struct outcome outcome = {.op = 0};
        for (uint32_t members = scn_unpack_map(unpacker); members > 0 && unpacker->error == SCN_OK; members--) {
                switch (scn_unpack_uint(unpacker, UINT32_MAX)) {
                case RESULT_OP:
                        outcome.op = scn_unpack_uint(unpacker, UINT32_MAX);
                        break;
                case RESULT_UID:
                        outcome.uid = scn_unpack_uid(unpacker);
                        break;
                case SCN_RESULT_FLAGS:
                        outcome.flags = scn_unpack_uint(unpacker, UINT32_MAX);
                        break;
                default:
                        (void)scn_unpack_raw(unpacker);
                        break;
                }
        }
        return outcome;
}

static uint64_t flags_of(struct scn_slice results)
{
        struct scn_unpacker unpacker = scn_unpacker_from(results);
        uint64_t flags = 0;
        for (uint32_t left = results.data == NULL ? 0 : scn_unpack_array(&unpacker); left > 0; left--) {
                flags |= read_outcome(&unpacker).flags;
                if (unpacker.error != SCN_OK) {
                        return 0;
                }
        }
        return unpacker.error == SCN_OK ? flags : 0;
}

void scn_ctl_print_otherwise(struct scn_slice results)
{
        const uint64_t flags = flags_of(results);
        for (size_t i = 0; i < OTHERWISE_COUNT; i++) {
                if ((flags & otherwise_rows[i].flag) != 0) {
                        scn_ctl_print("note: %s\n", otherwise_rows[i].text);
                }
        }
}

static void put_flags(struct scn_ctl *ctl, uint64_t flags)
{
        if (flags == 0) {
                return;
        }
        scn_ctl_key(ctl, "otherwise");
        scn_ctl_open_bracket(ctl, "[");
        for (size_t i = 0; i < OTHERWISE_COUNT; i++) {
                if ((flags & otherwise_rows[i].flag) != 0) {
                        scn_ctl_next(ctl);
                        scn_json_put_cstring(&ctl->json, otherwise_rows[i].word);
                }
        }
        scn_ctl_close_bracket(ctl, "]");
}

void scn_ctl_put_otherwise(struct scn_ctl *ctl, struct scn_slice results)
{
        put_flags(ctl, flags_of(results));
}

void scn_ctl_put_results(struct scn_ctl *ctl, struct scn_slice results)
{
        struct scn_unpacker unpacker = scn_unpacker_from(results);
        uint32_t left = results.data == NULL ? 0 : scn_unpack_array(&unpacker);
        if (left == 0) {
                return;
        }
        scn_ctl_key(ctl, "results");
        scn_ctl_open_bracket(ctl, "[");
        for (; left > 0 && unpacker.error == SCN_OK; left--) {
                const struct outcome outcome = read_outcome(&unpacker);
                scn_ctl_next(ctl);
                scn_ctl_open_bracket(ctl, "{");
                scn_ctl_key(ctl, "op");
                scn_json_put_uint(&ctl->json, outcome.op);
                scn_ctl_key(ctl, "uid");
                scn_ctl_put_uid(ctl, outcome.uid);
                put_flags(ctl, outcome.flags);
                scn_ctl_close_bracket(ctl, "}");
        }
        scn_ctl_close_bracket(ctl, "]");
}

static void print_result(struct scn_ctl *ctl, const struct scn_result *result)
{
        if (!ctl->is_json) {
                scn_ctl_print(result->is_unchanged ? "nothing changed, revision %llu" : "revision %llu",
                        (unsigned long long)result->rev);
                if (result->summary.data != NULL) {
                        scn_ctl_print("  ");
                        scn_ctl_print_summary(result->summary, NULL);
                } else {
                        scn_ctl_print("\n");
                }
                scn_ctl_print_otherwise(result->results);
                return;
        }
        scn_ctl_begin_line(ctl);
        scn_ctl_key(ctl, "rev");
        scn_json_put_uint(&ctl->json, result->rev);
        if (result->is_unchanged) {
                scn_ctl_key(ctl, "changed");
                scn_json_put(&ctl->json, "false");
        }
        if (result->summary.data != NULL) {
                scn_ctl_put_members(ctl, result->summary);
        }
        scn_ctl_put_otherwise(ctl, result->results);
        scn_ctl_end_line(ctl);
}

void scn_ctl_on_edited(struct scn_client *client, const struct scn_result *result, void *data)
{
        struct scn_ctl *ctl = data;
        (void)client;
        if (result->failure != NULL) {
                scn_ctl_fail(ctl, result->failure);
                return;
        }
        print_result(ctl, result);
        scn_ctl_done(ctl);
}
