/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_MEMORY_H
#define SCN_SERVER_MEMORY_H

/* What documents take in memory: open ones, and those of the past that were just looked at (DESIGN §4, §6).
 *
 * A document of the past is made by a worker for one question and then kept for the next: it never changes, so any
 * number of questions share it. One that lies a little before what is asked for, and that nobody reads, is led on to
 * it, so that going forward through the past costs what happened in between. They stay with their room, for a while
 * and under a limit of bytes.
 *
 * All of them count against one budget; at it, the past goes first, then rooms without sessions are closed, and then
 * no document is opened any more. Only what is to be opened is refused: what is open may grow to its own limits. */

#include "server/core.h"

#define SCN_PAST_PER_ROOM_MAX 8u
#define SCN_PAST_SHARE 16u /* of the budget, at most, for all rooms together: 256 MiB of the usual one */
#define SCN_PAST_IDLE_MS 60000u
/* A document is led on over at most so many revisions; farther away, the next checkpoint may be nearer. */
#define SCN_PAST_LEAD_MAX 4096u
#define SCN_DISCARD_NODES 2000u                  /* freed on the loop, at most: some 0.2 ms */
#define SCN_MEMORY_BYTES_MAX ((uint64_t)4 << 30) /* of all documents, if the host says nothing else */

struct scn_past;

/* What a question about the past is lent, and what it has made. */
struct scn_past_loan {
        struct scn_past *lent[SCN_PAST_PER_ROOM_MAX];
        size_t lent_count;
        uint64_t epoch;            /* of the room's opening */
        uint64_t drops_count;      /* the room's: what was made before a drop is not kept after it */
        struct scn_document *base; /* the question's own now; NULL: there was none */
        struct scn_document *made; /* by the worker; kept for the next, if it may be */
        scn_revision revision;     /* of `made` */
        size_t made_bytes;
};

/* On the loop. `wanted`: the revision asked for; SCN_ABSENT: only the worker will know. */
void scn_past_lend(struct scn_room *room, scn_revision wanted, struct scn_past_loan *loan);
/* On the worker: the document at exactly this revision; NULL: it is not among them. */
const struct scn_document *scn_past_find(const struct scn_past_loan *loan, scn_revision revision);
/* On the worker: `document` was made for the question, and is the loan's from now on. */
void scn_past_keep(struct scn_past_loan *loan, struct scn_document *document);
/* On the loop: the question is answered. `room`: the one it was lent from, by name; NULL: it is gone. */
void scn_past_return(struct scn_server *server, struct scn_room *room, struct scn_past_loan *loan);
/* The room's documents of the past go; those that are being read, as soon as they are not. */
void scn_past_drop(struct scn_room *room);
/* Those that nobody has asked for in a while. */
void scn_past_tick(struct scn_room *room);

/* On the loop: a document that nobody needs any more. A large one is freed by a worker, for it takes a while. */
void scn_memory_discard(struct scn_server *server, struct scn_document *document);
/* Whether one more document may be opened; makes room for it if that can be done. */
bool scn_memory_claim(struct scn_server *server);

#endif
