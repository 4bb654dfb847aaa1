/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_MIRROR_H
#define SCN_CLIENT_MIRROR_H

/* What a view shows: the confirmed state, a replica that only deltas change, and this client's own pending edits on
 * top of it, in the order they were made.
 *
 *   delta arrives   take back what is on top · apply the delta · put on top again what is still pending
 *   edit accepted   it stays on top until the cursor has reached the revision it made: only then is it beneath too
 *   edit refused    take back down to it · leave it out · put the later ones on top again
 *
 * Where the server has begun another history (an older state was put back, say), what was accepted before is in the
 * state that arrives, or lost: in neither case it stays on top.
 *
 * An edit of which an op does not fit here (it is about nodes outside the view, or the state has moved on) shows
 * with the ops that do. */

#include "client/event.h"
#include "protocol/wire/ops.h"

struct scn_task;
struct scn_shown;

struct scn_mirror {
        struct scn_document *document;
        uint32_t mask;
        scn_revision cursor;
        uint64_t history;        /* the client's, in which the cursor counts */
        bool is_ready;           /* the state has come */
        struct scn_shown *shown; /* what is on top, lowest first */
        size_t shown_count;
        size_t shown_capacity;
        struct scn_delta delta; /* the one that is arriving, maybe in parts */
        uint8_t **parts;        /* the bytes that it borrows from */
        size_t parts_count;
        size_t parts_capacity;
        size_t parts_bytes;
        struct scn_ops ops; /* memory for reading an edit */
};

/* SCN_E_NO_MEMORY. */
SCN_NODISCARD enum scn_error scn_mirror_init(
        struct scn_mirror *mirror, const struct scn_document_options *options, uint32_t mask);
void scn_mirror_finish(struct scn_mirror *mirror);

/* Edits on top. */
uint32_t scn_mirror_pending_count(const struct scn_mirror *mirror);
/* Puts an edit on top and tells of it; no memory: it does not show. */
void scn_mirror_show(struct scn_mirror *mirror, struct scn_task *task, struct scn_told *told);
/* Takes an edit out from wherever it is among those on top. False: it was not there. */
bool scn_mirror_drop(struct scn_mirror *mirror, struct scn_task *task, struct scn_told *told);
/* The same, if the cursor has reached what it made. */
bool scn_mirror_settle(struct scn_mirror *mirror, struct scn_task *task, struct scn_told *told);

/* Leaves the confirmed state alone; nobody is told. */
void scn_mirror_bare(struct scn_mirror *mirror);

struct scn_mirror_part {
        struct scn_slice columns;
        scn_revision from;
        scn_revision to;
        uint64_t history;
        bool has_more;
};

/* All edits that may have to show, in order: those of `accepted` first. */
struct scn_task_queue;
struct scn_mirror_tasks {
        const struct scn_task_queue *accepted;
        const struct scn_task_queue *pending;
};

/* Takes a part of a delta in; the last one applies it. Errors leave the confirmed state as it was:
 * SCN_E_BAD_DELTA, SCN_E_TOO_LARGE, SCN_E_NO_MEMORY and the limits'. */
SCN_NODISCARD enum scn_error scn_mirror_take(struct scn_mirror *mirror, const struct scn_mirror_part *part,
        const struct scn_mirror_tasks *tasks, struct scn_told *told);
/* Forgets the parts of a delta that will not be completed. */
void scn_mirror_forget_parts(struct scn_mirror *mirror);

#endif
