/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Listens to a connection: what was asked is answered once, and nothing is told that is not stored. What goes up is
 * heard as the server takes it in, what goes down as the server gives it out. */

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "tests/sim/sim.h"

#include <string.h>

void sim_tap_init(struct sim_link *link)
{
        scn_frame_reader_init(&link->up_reader);
        scn_frame_reader_init(&link->down_reader);
        link->up_reader.message_bytes_max = SCN_MESSAGE_BYTES_MAX;
        link->down_reader.message_bytes_max = SCN_MESSAGE_BYTES_MAX;
}

void sim_tap_finish(struct sim_link *link)
{
        scn_frame_reader_finish(&link->up_reader);
        scn_frame_reader_finish(&link->down_reader);
        scn_free(link->edits.numbers);
        scn_free(link->requests.numbers);
}

static void add(struct sim_due *due, uint64_t number)
{
        const bool is_good =
                scn_grow((void **)&due->numbers, &due->capacity, sizeof *due->numbers, due->count + 1, SIZE_MAX);
        SCN_ASSERT(is_good);
        due->numbers[due->count++] = number;
}

static bool take(struct sim_due *due, uint64_t number)
{
        for (size_t i = 0; i < due->count; i++) {
                if (due->numbers[i] == number) {
                        due->numbers[i] = due->numbers[--due->count];
                        return true;
                }
        }
        return false;
}

static bool has(const struct sim_due *due, uint64_t number)
{
        for (size_t i = 0; i < due->count; i++) {
                if (due->numbers[i] == number) {
                        return true;
                }
        }
        return false;
}

/* --- To the server --- */

static void note(const struct sim_link *link, const struct scn_message *message)
{
        const bool is_numbered = message->kind != SCN_MESSAGE_presence && message->kind != SCN_MESSAGE_preview;
        uint64_t detail = 0;
        if (message->kind == SCN_MESSAGE_delta) {
                detail = message->as.delta.to;
        } else if (message->kind == SCN_MESSAGE_applied) {
                detail = message->as.applied.rev;
        } else if (message->kind == SCN_MESSAGE_viewed) {
                detail = message->as.viewed.view;
        } else if (message->kind == SCN_MESSAGE_view) {
                detail = message->as.view.rev;
        }
        sim_note(link->sim, scn_message_name(message->kind), link->author == NULL ? 99 : link->author->index,
                is_numbered ? message->as.ping.request : 0, detail);
}

static void hear_edit(const struct sim_link *link, uint64_t number)
{
        struct sim_wish *wish = sim_claim_wish(link, number);
        if (wish != NULL && wish->arrived_us == 0) {
                wish->arrived_us = link->sim->now_us;
        }
}

static void hear_up(struct sim_link *link, const struct scn_message *message)
{
        note(link, message);
        switch ((int)message->kind) {
        case SCN_MESSAGE_hello:
                link->promised_us = message->as.hello.ping == SCN_ABSENT ? 0 : message->as.hello.ping * (uint64_t)SIM_S;
                break;
        case SCN_MESSAGE_unview:
        case SCN_MESSAGE_presence:
        case SCN_MESSAGE_preview:
                break;
        case SCN_MESSAGE_edit:
                if (!message->as.edit.more) {
                        add(&link->edits, message->as.edit.number);
                }
                hear_edit(link, message->as.edit.number);
                break;
        case SCN_MESSAGE_undo:
        case SCN_MESSAGE_redo:
        case SCN_MESSAGE_restore:
                add(&link->edits, message->as.undo.number); /* the first field of all three */
                hear_edit(link, message->as.undo.number);
                break;
        case SCN_MESSAGE_lock:
        case SCN_MESSAGE_unlock:
                add(&link->requests, message->as.lock.request); /* of both */
                sim_claim_hear(link, message);
                break;
        default:
                add(&link->requests, message->as.ping.request); /* the first field of all these */
                break;
        }
}

void sim_tap_up(struct sim_link *link, const void *bytes, size_t size)
{
        struct scn_slice payload;
        enum scn_error error = scn_frame_reader_feed(&link->up_reader, bytes, size);
        while (error == SCN_OK && scn_frame_reader_next(&link->up_reader, &payload, &error)) {
                struct scn_message message;
                struct scn_message_fault fault;
                error = scn_message_decode(payload, SCN_RECEIVER_SERVER, &message, &fault);
                if (error == SCN_OK) {
                        hear_up(link, &message);
                }
        }
        if (error != SCN_OK) {
                sim_fail(link->sim, "a client sends what cannot be read: %s", scn_error_code(error));
        }
}

/* --- To the client --- */

static void expect_stored(const struct sim_link *link, const char *what, scn_revision revision)
{
        const struct sim_document *document = sim_host_document(link->sim, link->document);
        if (revision > (document == NULL ? 0 : document->transactions_count)) {
                sim_fail(link->sim, "%s tells of revision %llu, which is not stored", what,
                        (unsigned long long)revision);
        }
}

static void hear_answered(struct sim_link *link, uint64_t number)
{
        if (!take(&link->edits, number)) {
                sim_fail(link->sim, "number %llu is answered though it was not asked, or a second time",
                        (unsigned long long)number);
        }
}

static void hear_request(struct sim_link *link, uint64_t request, bool has_more)
{
        if (has_more ? !has(&link->requests, request) : !take(&link->requests, request)) {
                sim_fail(link->sim, "request %llu is answered though it was not asked, or a second time",
                        (unsigned long long)request);
        }
}

static void hear_applied(struct sim_link *link, const struct scn_message_applied *applied)
{
        struct sim_wish *wish = sim_claim_wish(link, applied->number);
        if (wish != NULL) {
                wish->answered_us = link->sim->now_us;
        }
        hear_answered(link, applied->number);
        expect_stored(link, "an acknowledgement", applied->rev);
        if (!applied->unchanged && applied->number > link->opened_number && applied->rev <= link->shown) {
                sim_fail(link->sim, "revision %llu is acknowledged after a delta to %llu",
                        (unsigned long long)applied->rev, (unsigned long long)link->shown);
        }
}

static bool is_word(struct scn_slice text, const char *word)
{
        return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

static void hear_refused(struct sim_link *link, const struct scn_message_refused *refused)
{
        static const char *const wrong[] = {"gap", "number_reused", "bad_message", "unknown_message", "missing_field",
                "out_of_turn", "too_large", "corrupt", "range"};
        hear_answered(link, refused->number);
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
                if (is_word(refused->code, wrong[i])) {
                        sim_fail(link->sim, "number %llu is refused as %s", (unsigned long long)refused->number,
                                wrong[i]);
                }
        }
        if (is_word(refused->code, "locked")) {
                sim_claim_hear_refusal(link, refused);
        }
}

static bool begins(struct scn_slice text, const char *words)
{
        return text.size >= strlen(words) && memcmp(text.data, words, strlen(words)) == 0;
}

/* Whom the server takes for dead must have been. */
static void check_patience(const struct sim_link *link, struct scn_slice text)
{
        const uint64_t now_us = link->sim->now_us;
        if (begins(text, "nothing came") && now_us - link->heard_us < 2 * link->promised_us) {
                sim_fail(link->sim, "a peer is taken for dead %llu ms after it was heard",
                        (unsigned long long)((now_us - link->heard_us) / SIM_MS));
        }
        if (begins(text, "nothing was read") && now_us - link->taken_us < 29 * (uint64_t)SIM_S) {
                sim_fail(link->sim, "a peer is taken for dead %llu ms after it read something",
                        (unsigned long long)((now_us - link->taken_us) / SIM_MS));
        }
}

static void hear_failed(struct sim_link *link, const struct scn_message_failed *failed)
{
        if (failed->request != SCN_ABSENT) {
                hear_request(link, failed->request, false);
                sim_raw_hear_failed(link, failed->request);
                sim_claim_hear_failure(link, failed->request);
        } else if (!failed->closes) {
                sim_fail(link->sim, "a presence or preview is refused: %.*s", (int)failed->text.size,
                        (const char *)failed->text.data);
        }
        if (is_word(failed->code, "silent")) {
                check_patience(link, failed->text);
        }
        link->was_told_end = failed->closes;
}

static void hear_delta(struct sim_link *link, const struct scn_message_delta *delta)
{
        /* A replay's tell of the past. */
        if (!has(&link->requests, delta->view)) {
                link->shown = delta->to > link->shown ? delta->to : link->shown;
        }
        expect_stored(link, "a delta", delta->to);
        if (delta->back > delta->to) {
                sim_fail(link->sim, "a delta from before the beginning");
        }
        sim_raw_hear_delta(link, delta);
}

static void hear_down(struct sim_link *link, const struct scn_message *message)
{
        note(link, message);
        if (link->was_told_end) {
                sim_fail(link->sim, "something follows what was to be the last");
        }
        switch ((int)message->kind) {
        case SCN_MESSAGE_welcome:
                break;
        case SCN_MESSAGE_opened:
                hear_request(link, message->as.opened.request, false);
                expect_stored(link, "a greeting", message->as.opened.rev);
                link->opened_number = message->as.opened.number;
                memcpy(link->epoch, message->as.opened.epoch.data, sizeof link->epoch);
                break;
        case SCN_MESSAGE_applied:
                hear_applied(link, &message->as.applied);
                break;
        case SCN_MESSAGE_refused:
                hear_refused(link, &message->as.refused);
                break;
        case SCN_MESSAGE_failed:
                hear_failed(link, &message->as.failed);
                break;
        case SCN_MESSAGE_delta:
                hear_delta(link, &message->as.delta);
                break;
        case SCN_MESSAGE_viewed:
                hear_request(link, message->as.viewed.request, false);
                expect_stored(link, "a view", message->as.viewed.rev);
                sim_raw_hear_viewed(link, &message->as.viewed);
                break;
        case SCN_MESSAGE_answer:
                hear_request(link, message->as.answer.request, message->as.answer.more);
                sim_claim_hear_answer(link, &message->as.answer);
                if (message->as.answer.durable != SCN_ABSENT) {
                        expect_stored(link, "what is said to be durable", message->as.answer.durable);
                }
                break;
        default:
                break; /* nothing is asked for that these answer */
        }
}

void sim_tap_down(struct sim_link *link, const void *bytes, size_t size)
{
        struct scn_slice payload;
        enum scn_error error = scn_frame_reader_feed(&link->down_reader, bytes, size);
        while (error == SCN_OK && scn_frame_reader_next(&link->down_reader, &payload, &error)) {
                struct scn_message message;
                struct scn_message_fault fault;
                error = scn_message_decode(payload, SCN_RECEIVER_CLIENT, &message, &fault);
                if (error == SCN_OK) {
                        hear_down(link, &message);
                }
        }
        if (error != SCN_OK) {
                sim_fail(link->sim, "the server sends what cannot be read: %s", scn_error_code(error));
        }
}
