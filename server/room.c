/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* A room is one open document and its only writer: opening, entering and leaving, closing. Its turns are in turn.c. */

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/scene/digest.h"
#include "server/adopt.h"
#include "server/answer.h"
#include "server/core.h"
#include "server/live.h"
#include "server/memory.h"
#include "server/restore.h"
#include "server/room_open.h"
#include "server/undo.h"

#include <stdio.h>
#include <string.h>

/* --- Entering and leaving --- */

static void answer_open(struct scn_session *session)
{
        const struct scn_room *room = session->room;
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_opened);
        message.as.opened.request = session->open_request;
        message.as.opened.document = room->document_uid;
        message.as.opened.root = room->root_uid;
        message.as.opened.epoch = (struct scn_slice){(const uint8_t *)&room->epoch, sizeof room->epoch};
        message.as.opened.rev = room->durable;
        message.as.opened.number = session->last_number;
        message.as.opened.author = (struct scn_slice){session->author, session->author_size};
        session->state = SCN_SESSION_OPEN;
        scn_session_send(session, &message);
}

/* What the journal knows of a client: asked on a worker, for it reads the disk. */
struct client_job {
        struct scn_job job;
        struct scn_room *room;
        uint64_t session;
        struct scn_uid client;
        bool is_number; /* look up the answer to `number`, too */
        uint64_t number;
        struct scn_digest hash;
        struct scn_journal_client known;
        bool is_known;
        struct scn_journal_page *page;
        enum scn_error error;
        struct scn_storage_fault fault;
};

static void run_client(struct scn_job *job)
{
        struct client_job *asked = (struct client_job *)job;
        asked->error =
                scn_journal_find_client(asked->room->journal, asked->client, &asked->known, &asked->is_known, NULL);
        if (asked->error == SCN_OK && asked->is_number) {
                asked->error = scn_journal_find_answer(
                        asked->room->journal, asked->client, asked->number, &asked->page, &asked->fault);
        }
}

static struct scn_session *find_session(struct scn_room *room, uint64_t number)
{
        struct scn_session *session = room->sessions;
        while (session != NULL && session->number != number) {
                session = session->next_in_room;
        }
        return session;
}

/* A client uid belongs to one author and one session: a later one takes over (DESIGN §3). */
static void take_over(struct scn_session *session)
{
        struct scn_session *next = NULL;
        for (struct scn_session *other = session->room->sessions; other != NULL; other = next) {
                next = other->next_in_room;
                if (other != session && other->state == SCN_SESSION_OPEN &&
                        scn_uid_equal(other->client, session->client)) {
                        scn_session_end(other, SCN_E_TAKEN_OVER, NULL);
                }
        }
}

static void settle_open(struct scn_session *session, const struct client_job *asked)
{
        const struct scn_journal_client *known = &asked->known;
        if (asked->error != SCN_OK) {
                scn_session_end(session, asked->error, NULL);
                return;
        }
        if (asked->is_known &&
                (known->author_bytes != session->author_size ||
                        memcmp(known->author, session->author, session->author_size) != 0)) {
                scn_session_end(session, SCN_E_BAD_AUTHOR, NULL);
                return;
        }
        session->last_number = asked->is_known ? known->last_number : 0;
        take_over(session);
        answer_open(session);
}

/* A repeat: stored with the same contents, it gets its first answer again. */
static void settle_repeat(struct scn_session *session, const struct client_job *asked)
{
        const struct scn_journal_transaction *stored =
                scn_journal_page_count(asked->page) == 1 ? scn_journal_page_get(asked->page, 0) : NULL;
        if (asked->error == SCN_E_FOLDED || asked->error == SCN_E_BEFORE_RETENTION) {
                const char *text = asked->fault.text[0] != '\0' ? asked->fault.text : NULL;
                scn_answer_refused(session, asked->number, asked->error, text);
        } else if (asked->error != SCN_OK) {
                /* It may be stored, so it cannot be called refused. */
                scn_session_end(session, asked->error, NULL);
        } else if (stored == NULL) {
                scn_answer_refused(session, asked->number, SCN_E_NOT_APPLIED, NULL);
        } else if (stored->content_hash.size != sizeof asked->hash ||
                memcmp(stored->content_hash.data, &asked->hash, sizeof asked->hash) != 0) {
                scn_answer_refused(session, asked->number, SCN_E_NUMBER_REUSED, NULL);
        } else {
                scn_answer_stored(session, stored->answer);
        }
        if (session->state == SCN_SESSION_OPEN) {
                scn_session_drop_staged(session);
                scn_session_pop(session);
        }
}

static void done_client(struct scn_job *job)
{
        struct client_job *asked = (struct client_job *)job;
        struct scn_room *room = asked->room;
        struct scn_session *session = find_session(room, asked->session);
        room->jobs_count--;
        if (session != NULL && session->state != SCN_SESSION_ENDED) {
                session->is_asking = false;
                if (asked->is_number) {
                        settle_repeat(session, asked);
                } else {
                        settle_open(session, asked);
                }
                scn_session_pump(session);
        }
        scn_journal_page_destroy(asked->page);
        scn_free(asked);
        scn_room_turn(room); /* edits do not wait for all of a crowd that comes in */
        scn_room_greet(room);
        scn_room_ask_repeats(room);
}

/* SQLite handles are used by one thread at a time: nothing is asked while a batch is in flight. */
static bool ask_client(struct scn_session *session, bool is_number, uint64_t number, struct scn_digest hash)
{
        struct scn_room *room = session->room;
        const struct scn_server_options *options = &room->server->options;
        if (room->batch != NULL || room->jobs_count > 0) {
                return false;
        }
        struct client_job *asked = scn_alloc_zero(1, sizeof *asked);
        if (asked == NULL) {
                scn_session_end(session, SCN_E_NO_MEMORY, NULL);
                return false;
        }
        asked->job = (struct scn_job){.run = run_client, .done = done_client};
        asked->room = room;
        asked->session = session->number;
        asked->client = session->client;
        asked->is_number = is_number;
        asked->number = number;
        asked->hash = hash;
        session->is_asking = true;
        room->jobs_count++;
        options->submit(options->data, &asked->job);
        return true;
}

void scn_room_greet(struct scn_room *room)
{
        for (struct scn_session *session = room->sessions; session != NULL; session = session->next_in_room) {
                if (session->state == SCN_SESSION_OPENING && !session->is_asking &&
                        ask_client(session, false, 0, (struct scn_digest){0, 0})) {
                        return;
                }
        }
}

void scn_room_ask_repeats(struct scn_room *room)
{
        for (struct scn_session *session = room->sessions; session != NULL; session = session->next_in_room) {
                if (session->state == SCN_SESSION_OPEN && session->has_repeat && !session->is_asking &&
                        ask_client(session, true, session->repeat_number, session->repeat_hash)) {
                        session->has_repeat = false;
                        return;
                }
        }
}

struct open_job {
        struct scn_job job;
        struct scn_room *room;
        struct scn_open_wish wish;
        struct scn_opened_document opened;
        uint64_t memory_bytes;
        bool is_held_back; /* it would be made, but for the reserve of the disk */
        enum scn_error error;
        struct scn_storage_fault fault;
};

static void run_open(struct scn_job *job)
{
        struct open_job *open = (struct open_job *)job;
        open->error = scn_open_document(&open->wish, &open->opened, &open->fault);
        open->memory_bytes = open->error == SCN_OK ? scn_document_bytes(open->opened.document) : 0;
}

static void refuse_waiting(struct scn_room *room, enum scn_error error, const char *text)
{
        struct scn_session *next = NULL;
        for (struct scn_session *session = room->sessions; session != NULL; session = next) {
                next = session->next_in_room;
                const uint64_t request = session->open_request;
                scn_room_leave(session);
                if (session->state == SCN_SESSION_ENDED) {
                        continue; /* it has been told its last */
                }
                session->state = SCN_SESSION_KNOWN;
                struct scn_message asked;
                scn_message_init(&asked, SCN_MESSAGE_open);
                asked.as.open.document = room->name;
                scn_session_fail_about(session, &asked, request, error, text);
                scn_session_pump(session);
        }
}

static const char no_memory_left[] = "the documents that are open fill the memory";

/* False: others that were being opened at the same time have filled the memory. */
static bool take_opened(struct scn_room *room, const struct open_job *open)
{
        room->document = open->opened.document;
        room->document_uid = scn_document_uid(room->document);
        room->root_uid = scn_document_node(room->document, scn_document_root(room->document)).uid;
        room->journal = open->opened.journal;
        room->is_still = open->opened.is_still;
        room->has_epoch = open->opened.has_epoch;
        room->epochs = open->opened.epochs;
        room->epochs_count = open->opened.epochs_count;
        room->base = open->opened.state.base;
        room->folded_to = open->opened.state.judged;
        room->last_time_us = open->opened.state.last_time_us;
        room->checkpoint_bytes = open->opened.state.checkpoint_bytes;
        room->gathered_bytes = open->opened.state.journal_bytes;
        room->has_damaged_checkpoint = open->opened.damaged.text[0] != '\0';
        room->durable = scn_document_revision(scn_room_document(room));
        /* One that was just made takes next to nothing, and a refusal would leave it behind. */
        if (room->durable > 0 && !scn_memory_claim(room->server)) {
                return false;
        }
        room->memory_bytes = open->memory_bytes;
        room->state = SCN_ROOM_OPEN;
        return true;
}

static void done_open(struct scn_job *job)
{
        struct open_job *open = (struct open_job *)job;
        struct scn_room *room = open->room;
        room->jobs_count--;
        if (open->error == SCN_E_NO_DOCUMENT && open->is_held_back) {
                open->error = SCN_E_STORAGE_FULL;
                (void)!scn_server_check_reserve(room->server, &open->fault);
        }
        if (open->opened.damaged.text[0] != '\0') {
                scn_server_log(room->server, SCN_LOG_WARNING, "document %.*s: passed over: %s", (int)room->name.size,
                        (const char *)room->name.data, open->opened.damaged.text);
        }
        if (open->error == SCN_OK && !open->opened.has_epoch) {
                scn_server_log(room->server, SCN_LOG_ERROR, "document %.*s: can only be read for now: %s",
                        (int)room->name.size, (const char *)room->name.data, open->opened.full.text);
        }
        if (open->error != SCN_OK) {
                if (open->error != SCN_E_NO_DOCUMENT) {
                        scn_server_log(room->server, SCN_LOG_ERROR, "document %.*s: %s: %s", (int)room->name.size,
                                (const char *)room->name.data, scn_error_text(open->error), open->fault.text);
                }
                room->state = SCN_ROOM_CLOSING;
                const bool is_said = open->error != SCN_E_NO_DOCUMENT && open->fault.text[0] != '\0';
                refuse_waiting(room, open->error, is_said ? open->fault.text : NULL);
        } else if (take_opened(room, open)) {
                scn_room_greet(room);
        } else {
                room->state = SCN_ROOM_CLOSING;
                refuse_waiting(room, SCN_E_BUSY, no_memory_left);
        }
        scn_free(open);
        scn_room_tick(room);
}

static void fill_random(void *data, uint8_t *bytes, size_t size)
{
        const struct scn_server *server = data;
        server->options.random(server->options.data, bytes, size);
}

static struct scn_uid random_uid(struct scn_server *server)
{
        uint8_t bytes[16];
        server->options.random(server->options.data, bytes, sizeof bytes);
        return scn_uid_from_random(bytes);
}

static struct scn_room *create_room(struct scn_server *server, struct scn_slice name)
{
        struct scn_room *room = scn_alloc_zero(1, sizeof *room);
        struct scn_observable *published = scn_observable_create();
        if (room == NULL || published == NULL || !scn_slice_copy(name, &room->name)) {
                scn_free(room);
                scn_observable_destroy(published);
                return NULL;
        }
        room->server = server;
        room->published = published;
        server->options.random(server->options.data, (uint8_t *)&room->epoch, sizeof room->epoch);
        /* 63 bits, not 0: SQLite's integers are signed. */
        room->epoch = (room->epoch & INT64_MAX) | 1;
        room->next = server->rooms;
        server->rooms = room;
        server->rooms_count++;
        return room;
}

static bool submit_open(struct scn_room *room, bool create)
{
        struct scn_server *server = room->server;
        const struct scn_server_options *options = &server->options;
        struct open_job *open = scn_alloc_zero(1, sizeof *open);
        if (open == NULL) {
                return false;
        }
        open->job = (struct scn_job){.run = run_open, .done = done_open};
        open->room = room;
        scn_server_spend(server, 0);
        open->is_held_back = create && server->is_low;
        open->wish = (struct scn_open_wish){
                .storage = server->storage,
                .name = room->name,
                .create = create && !server->is_low,
                .birth_uid = random_uid(server),
                .birth_root = random_uid(server),
                .epoch = room->epoch,
                .now_us = (int64_t)options->utc_us(options->data),
                .options = {.limits = options->limits, .random = fill_random, .random_data = server},
        };
        options->random(options->data, (uint8_t *)&open->wish.options.hash_seed, sizeof open->wish.options.hash_seed);
        room->jobs_count++;
        options->submit(options->data, &open->job);
        return true;
}

void scn_room_enter(struct scn_session *session, struct scn_slice name, bool create, uint64_t request)
{
        struct scn_server *server = session->server;
        struct scn_room *room = scn_server_find_room(server, name);
        session->open_request = request;
        if ((room != NULL && (room->state == SCN_ROOM_CLOSING || room->is_broken)) ||
                scn_adopt_is_replacing(server, name)) {
                session->state = SCN_SESSION_KNOWN;
                scn_session_fail(session, request, SCN_E_BUSY, "the document is just being closed");
                return;
        }
        if (name.size == 0) {
                session->state = SCN_SESSION_KNOWN;
                scn_session_fail(session, request, SCN_E_BAD_NAME, NULL);
                return;
        }
        const bool is_new = room == NULL;
        if (is_new) {
                if (!scn_memory_claim(server)) {
                        session->state = SCN_SESSION_KNOWN;
                        scn_session_fail(session, request, SCN_E_BUSY, no_memory_left);
                        return;
                }
                if (server->rooms_count >= SCN_ROOMS_MAX) {
                        session->state = SCN_SESSION_KNOWN;
                        scn_session_fail(session, request, SCN_E_BUSY, "as many documents are open as there may be");
                        return;
                }
                room = create_room(server, name);
        }
        if (room == NULL || (is_new && !submit_open(room, create))) {
                session->state = SCN_SESSION_KNOWN;
                scn_session_fail(session, request, SCN_E_BUSY, NULL);
                return;
        }
        session->room = room;
        session->next_in_room = room->sessions;
        session->moment = room->moment - 1;
        room->sessions = session;
        scn_session_set_ready(session, session->inbox_first != NULL);
        if (room->state == SCN_ROOM_OPEN) {
                scn_room_greet(room);
        }
}

void scn_room_leave(struct scn_session *session)
{
        struct scn_room *room = session->room;
        if (room == NULL) {
                return;
        }
        scn_view_stop_all(session);
        scn_live_leave(session);
        struct scn_session **at = &room->sessions;
        while (*at != session) {
                at = &(*at)->next_in_room;
        }
        *at = session->next_in_room;
        scn_batch_forget(room->batch, session);
        scn_undo_destroy(session->undo);
        session->undo = NULL;
        scn_restore_destroy(session->restore);
        session->restore = NULL;
        if (session->own != NULL) {
                scn_author_leave(&room->authors, session->own);
                session->own = NULL;
        }
        scn_session_set_ready(session, false);
        session->answers_bytes = 0;
        session->room = NULL;
        session->next_in_room = NULL;
        room->idle_since_ms = scn_server_now_ms(room->server);
}

/* --- Closing --- */

struct close_job {
        struct scn_job job;
        struct scn_server *server;
        struct scn_journal *journal;
};

static void run_close(struct scn_job *job)
{
        scn_journal_close(((struct close_job *)job)->journal);
}

static void done_close(struct scn_job *job)
{
        ((struct close_job *)job)->server->jobs_count--;
        scn_free(job);
}

static void destroy_room(struct scn_room *room)
{
        struct scn_server *server = room->server;
        struct scn_room **at = &server->rooms;
        while (*at != room) {
                at = &(*at)->next;
        }
        *at = room->next;
        server->rooms_count--;
        SCN_ASSERT(room->groups == NULL && room->batch == NULL && room->jobs_count == 0 && room->checkpoint == NULL &&
                room->history_upkeep == NULL);
        scn_past_drop(room);
        scn_memory_discard(server, scn_room_document(room));
        scn_observable_destroy(room->published);
        scn_batch_drop_spare(room);
        scn_live_destroy(room->live);
        scn_authors_destroy(&room->authors);
        scn_free((void *)room->name.data);
        scn_free(room->epochs);
        scn_free(room);
}

bool scn_room_close(struct scn_room *room)
{
        struct scn_server *server = room->server;
        if (!scn_room_cancel_history_upkeep(room)) {
                return false;
        }
        if (room->journal != NULL) {
                struct close_job *close = scn_alloc_zero(1, sizeof *close);
                if (close == NULL) {
                        return false;
                }
                close->job = (struct scn_job){.run = run_close, .done = done_close};
                close->server = server;
                close->journal = room->journal;
                server->jobs_count++;
                server->options.submit(server->options.data, &close->job);
        }
        destroy_room(room);
        return true;
}

bool scn_room_is_unused(const struct scn_room *room)
{
        return room->sessions == NULL && room->batch == NULL && room->jobs_count == 0 && room->checkpoint == NULL &&
                !scn_room_has_history_piece(room);
}

struct scn_journal *scn_room_retire(struct scn_room *room)
{
        struct scn_journal *journal = room->journal;
        const bool is_cancelled = scn_room_cancel_history_upkeep(room);
        SCN_ASSERT(is_cancelled); /* it is unused */
        room->state = SCN_ROOM_CLOSING;
        room->journal = NULL;
        room->jobs_count++;
        return journal;
}

void scn_room_tick(struct scn_room *room)
{
        const bool must_close = room->state == SCN_ROOM_CLOSING || room->is_broken || room->server->is_stopping;
        scn_view_drop_snapshots(room, false);
        scn_past_tick(room);
        if (must_close) {
                scn_room_cancel_checkpoint(room);
        } else {
                (void)scn_room_checkpoint(room, false);
        }
        if (room->sessions != NULL || room->batch != NULL || room->jobs_count > 0) {
                return;
        }
        const bool is_idle = scn_server_now_ms(room->server) - room->idle_since_ms >= SCN_ROOM_IDLE_MS;
        if (is_idle && !must_close && (scn_room_checkpoint(room, true) || room->history_upkeep != NULL)) {
                return;
        }
        if (room->checkpoint == NULL && (must_close || is_idle)) {
                (void)scn_room_close(room); /* if not now, at the next tick */
        }
}

bool scn_room_is_settled(const struct scn_room *room)
{
        return room->batch == NULL && room->loan == NULL && room->state == SCN_ROOM_OPEN && !room->is_broken;
}
