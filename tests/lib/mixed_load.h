/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_MIXED_LOAD_H
#define SCN_TESTS_LIB_MIXED_LOAD_H

/* A little of all that a server does to its files, step by step, each of which is acknowledged or not: edits alone and
 * in batches, gestures, undo, checkpoints, tags, clients forgotten, old history, backup, adoption, fork, rename, trash,
 * stop and start. What must be there afterwards is kept beside it. For tests that take the disk away. */

#include "protocol/scene/digest.h"
#include "tests/lib/hub.h"

enum mixed_name {
        MIXED_ISLAND,
        MIXED_COPY,
        MIXED_PORT,
        MIXED_HARBOUR,
        MIXED_FORK,
        MIXED_NAMES,
};

struct mixed_document {
        bool is_there;
        scn_revision revision;
        uint32_t tags_count;
        struct scn_digests digests;
};

struct mixed_state {
        struct mixed_document documents[MIXED_NAMES];
        uint32_t trash[MIXED_NAMES]; /* how many of the name */
};

struct mixed_load {
        struct hub hub;
        struct peer ann, bob;
        struct mixed_state state;     /* as last acknowledged */
        struct mixed_document backed; /* as in `backup` */
        struct mixed_document thrown; /* as in the trash */
        uint8_t *backup;              /* owned */
        uint32_t backup_size;
        uint32_t doubt; /* so many revisions more of the island are right, too: a batch without verdict */
};

/* In a folder that is there; the data directory is made in it. */
void mixed_begin(struct mixed_load *load, const char *folder);
/* Up to which revision the island was folded, and with which its history begins; it must be open. */
void mixed_history(struct mixed_load *load, scn_revision *judged_out, scn_revision *base_out);
/* Closes everything; files stay. */
void mixed_end(struct mixed_load *load);

uint32_t mixed_steps_count(void);
const char *mixed_step_name(uint32_t step);
/* True: all of it is acknowledged, and `state` says so. Else it is as before, or as after: stop, look which, and begin
 * again. */
bool mixed_step(struct mixed_load *load, uint32_t step);
/* What was found after a step that was not acknowledged; false: it is neither. Else it is the state from now on. */
bool mixed_resolve(struct mixed_load *load, uint32_t step, const struct mixed_state *found);
void mixed_stop(struct mixed_load *load);
/* Stops the server and starts it again; false: it cannot. */
bool mixed_restart(struct mixed_load *load);

/* Starts a server on what is left in a folder, opens and verifies everything, and stops it. Asserts that all can be
 * opened; `what` says in messages what the folder is. utc_us: now. */
void mixed_look(const char *folder, uint64_t utc_us, struct mixed_state *state_out, const char *what);
/* As far as documents go; the trash may differ. */
bool mixed_is_same(const struct mixed_state *found, const struct mixed_state *state);
/* The differences to a state, for people; until the next call. */
const char *mixed_difference(const struct mixed_state *found, const struct mixed_state *state);
/* Whether a state is this or that. What is on its way to the trash, or out of it, may be seen in both places. */
bool mixed_fits(const struct mixed_state *found, const struct mixed_state *before, const struct mixed_state *after);

#endif
