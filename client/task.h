/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_TASK_H
#define SCN_CLIENT_TASK_H

/* What a client wants of the server and has no answer to yet: edits, undos and requests, in the order made.
 *
 *   waiting ──send──▶ sent ──answer──▶ an edit that shows in a view: accepted ──cursor──▶ gone; else gone
 *      ▲               │
 *      └─disconnected──┘   an edit or undo, with its number, byte for byte; a request fails instead
 *
 * A number is given when an edit is first sent: only then is it known what the server has stored. Within one
 * connection numbers rise by one. Where one is missing among those sent again (it was answered), an empty edit
 * takes its place: sent again itself, what was refused could now be accepted. */

#include "protocol/base/bytes.h"
#include "protocol/scene/change.h"
#include "protocol/wire/message.h"

#include <scn/client.h>

#include <sys/queue.h>

enum scn_task_kind {
        SCN_TASK_EDIT,
        SCN_TASK_UNDO, /* or redo, or restore */
        SCN_TASK_REQUEST,
};

/* Ops of an edit, spelled: an array, which begins at bytes.data + start. */
struct scn_draft_part {
        struct scn_buffer bytes;
        uint32_t start;
};

struct scn_task {
        TAILQ_ENTRY(scn_task) link;
        enum scn_task_kind kind;
        bool is_sent;     /* on this connection, wholly or in part */
        bool is_accepted; /* durable at `rev`, still on top in a view */
        bool is_resent;   /* was sent on an earlier connection */
        uint64_t edit;    /* edit: as the program knows it */
        uint64_t number;  /* edit, undo: on the wire, 0 until sent. request: its number */
        scn_revision rev; /* accepted, */
        uint64_t history; /* ... and in which of the client's histories that counts */
        uint32_t on_top;  /* in how many views it shows */
        struct scn_draft_part *parts;
        uint32_t parts_count;
        size_t bytes;                /* of memory, for the bound on what waits */
        struct scn_message message;  /* edit, undo: all of it but ops and number */
        struct scn_buffer payload;   /* request: spelled already; restore: what its message points to */
        struct scn_failure *failure; /* failed here, to be told by the next dispatch; owned */
        struct scn_upload *upload;   /* owned: of a file that goes in parts; NULL: another request */
        scn_result_fn on_result;
        scn_answer_fn on_answer;
        void *data;
};

TAILQ_HEAD(scn_task_queue, scn_task);

/* NULL: no memory. Destroy asserts that it shows nowhere. */
struct scn_task *scn_task_create(enum scn_task_kind kind);
void scn_task_destroy(struct scn_task *task);

#endif
