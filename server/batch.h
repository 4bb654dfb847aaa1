/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_BATCH_H
#define SCN_SERVER_BATCH_H

/* The edits of one turn (DESIGN §4): each is tried (attempt.h) and added to those before; then all go to the journal in
 * one job, and when that is done they are published, or taken back. One batch of a room is in flight. */

#include "server/core.h"

/* What an edit, or an undo or redo, is made of. */
struct scn_taken {
        struct scn_session *session;
        uint64_t number;
        uint64_t group;
        struct scn_digest hash;
        struct scn_edit edit;
        enum scn_cause cause;
        const scn_revision *op_steps; /* undo, redo: the step that each op is about */
        const scn_revision *steps;    /* ... and all of them */
        size_t steps_count;
        /* Its records in the batch, and their bytes, begin here, once they have been put there. */
        size_t records_first, bytes_first;
};

/* An edit of the turn, until its batch is published. */
struct scn_entry {
        struct scn_session *session; /* NULL: gone meanwhile */
        struct scn_changes *changes; /* NULL: refused, or nothing changed */
        size_t answer;               /* the frame to send, in the batch's answers ... */
        size_t answer_size;          /* ... with its head */
        bool is_accepted;            /* it changed something, or there was nothing to change */
        uint64_t number;
        /* What its author can take back once it is published. */
        struct scn_author *author; /* NULL: nothing changed */
        enum scn_cause cause;
        scn_revision step;
        scn_revision *steps; /* owned; undo, redo: what it was about */
        size_t steps_count;
};

struct scn_draft;        /* batch.c: a transaction while its bytes may still move */
struct scn_draft_record; /* ... and a record of one */

struct scn_batch {
        struct scn_job job;
        struct scn_room *room;
        struct scn_server *server; /* when it is done with, for the room may be gone before its memory is */
        struct scn_buffer bytes;   /* of the transactions */
        struct scn_buffer answers; /* frames, in the order of the entries */
        struct scn_draft *drafts;
        size_t drafts_count, drafts_capacity;
        struct scn_draft_record *records;
        size_t records_count, records_capacity;
        struct scn_entry *entries; /* all edits of the turn, in order */
        size_t entries_count, entries_capacity;
        size_t steps_count; /* that its undos and redos are about */
        uint32_t mask;
        int64_t now_us;                               /* when it began, by the clock; 0: not looked at yet */
        struct scn_journal_transaction *transactions; /* made when the bytes have come to rest */
        size_t transactions_capacity;
        struct scn_journal_record *journal_records;
        size_t journal_records_capacity;
        enum scn_error error;
        enum scn_error upkeep_error; /* nothing is lost by it */
        struct scn_journal_wal wal;
        bool had_readers; /* when it was submitted, of our own; and: */
        uint64_t readers_ever;
        struct scn_storage_fault fault;
        /* The turn's own. */
        struct scn_ops ops;       /* of the edit that is being taken: memory is reused from one to the next ... */
        struct scn_buffer answer; /* ... and so is that of its answer */
        size_t undos_count;       /* the first so many entries */
        size_t bytes_taken;       /* of edits */
};

/* The room's spare one, or a new one; NULL: out of memory. */
struct scn_batch *scn_batch_create(struct scn_room *room);

/* Puts the records of what was applied into the batch, where scn_batch_add() expects them. On the worker that the room
 * is lent to, too. SCN_E_NO_MEMORY: nothing was put. */
SCN_NODISCARD enum scn_error scn_batch_put_records(
        struct scn_batch *batch, struct scn_taken *taken, const struct scn_changes *changes);

/* What became of an edit. If it cannot even be answered, its session ends. `answer`, the message that says so, is
 * stored with the edit and is what a repeat gets; it is borrowed.
 *
 * Applied: takes the changes. False: there is no memory for it; it was taken back and refused. */
bool scn_batch_add(
        struct scn_batch *batch, const struct scn_taken *taken, struct scn_changes *changes, struct scn_slice answer);
/* Nothing was left to change. */
void scn_batch_add_unchanged(struct scn_batch *batch, const struct scn_taken *taken, struct scn_slice answer);
/* `refusal` NULL: there is nothing to say but the error. */
void scn_batch_add_refused(struct scn_batch *batch, const struct scn_taken *taken, enum scn_error error,
        const struct scn_refusal *refusal);
/* The same with a text that says already what it is about. */
void scn_batch_add_refused_said(struct scn_batch *batch, const struct scn_taken *taken, enum scn_error error,
        const struct scn_refusal *refusal, const char *text);

/* Takes the batch, which is the room's own: to the journal if there is something to store, else to the publish point
 * at once. */
void scn_batch_submit(struct scn_batch *batch);
/* The journal has it, or `error` says why not: its sessions are told, and the batch ends. False: a worker settles it
 * first, to which the room is lent. */
bool scn_batch_publish(struct scn_batch *batch);
/* Its memory stays for the next turn, unless it is a lot. */
void scn_batch_end(struct scn_batch *batch);

#endif
