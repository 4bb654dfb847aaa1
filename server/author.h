/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_AUTHOR_H
#define SCN_SERVER_AUTHOR_H

/* What an author can take back in a document, and bring back (DESIGN §6). A step is a group or a lone transaction,
 * named by its first revision. The journal says it all; a room keeps what it has published since it has known the
 * author, and reads what was before when somebody asks for an undo. Only published transactions count. */

#include "server/limits.h"
#include "storage/storage.h"

/* Steps kept for an author, at least; older ones cannot be named any more. */
#define SCN_UNDO_STEPS_MAX SCN_SERVER_undo_steps_max

/* Steps that one undo or redo can ask for. */
#define SCN_UNDO_COUNT_MAX SCN_SERVER_undo_count_max

/* Authors without sessions whose steps a room keeps: up to some 500 KiB each. */
#define SCN_AUTHORS_IDLE_MAX 64u

/* Why a transaction was made; `cause` in the journal, its word in log and replay. Numbers are the file's. */
#define SCN_CAUSE_LIST(X)                                                                                              \
        X(EDIT, "edit")                                                                                                \
        X(UNDO, "undo")                                                                                                \
        X(REDO, "redo")                                                                                                \
        X(IMPORT, "import")                                                                                            \
        X(RESTORE, "restore")                                                                                          \
        X(FORK, "fork")

enum scn_cause {
#define SCN_CAUSE_ENUM(name, word) SCN_CAUSE_##name,
        SCN_CAUSE_LIST(SCN_CAUSE_ENUM)
#undef SCN_CAUSE_ENUM
        SCN_CAUSE_COUNT,
};

struct scn_step {
        scn_revision first;  /* its name */
        scn_revision last;   /* its last transaction */
        scn_revision redone; /* the transaction that brought it back, the last one; 0: none has */
};

struct scn_undone {
        scn_revision step;
        scn_revision by; /* the transaction that took it back */
};

/* All arrays are owned. */
struct scn_steps {
        struct scn_step *all; /* by name */
        size_t all_count, all_capacity;
        scn_revision *undo; /* what undo takes back, the next one last */
        size_t undo_count, undo_capacity;
        struct scn_undone *redo; /* what redo brings back, the next one last */
        size_t redo_count, redo_capacity;
};

struct scn_author {
        struct scn_author *next;
        struct scn_slice name; /* owned bytes */
        struct scn_steps steps;
        scn_revision since; /* what the author has done after it has been noted; what was before, the journal says */
        uint32_t sessions_count; /* that are the author's now */
        bool has_past;           /* what was before is in the steps, too */
        bool is_pending;         /* an undo or redo is in the batch in flight */
        uint64_t changes;        /* counts what is noted: a prepared undo may be out of date */
};

/* The authors of a room: those who are there and, first, the last ones that went. The others are forgotten: should one
 * come back, all that it did is before it came. */
struct scn_authors {
        struct scn_author *first;
        size_t idle_count; /* without sessions */
};

/* The author of this name, made if new, of whom nothing is noted up to `since` then; NULL: out of memory. */
struct scn_author *scn_author_get(struct scn_authors *authors, struct scn_slice name, scn_revision since);
/* A session is the author's; no longer. */
void scn_author_enter(struct scn_authors *authors, struct scn_author *author);
void scn_author_leave(struct scn_authors *authors, struct scn_author *author);
/* Forgets those that have no session, but for the last SCN_AUTHORS_IDLE_MAX. No batch may be in flight. */
void scn_authors_trim(struct scn_authors *authors);
void scn_authors_destroy(struct scn_authors *authors);
/* Room to note `extra` more transactions of `steps` steps each: then noting cannot fail. */
SCN_NODISCARD bool scn_author_reserve(struct scn_author *author, size_t extra);
/* Notes a published transaction. A step that grows keeps its place. */
void scn_author_note_edit(struct scn_author *author, scn_revision step, scn_revision revision);
/* Steps that were taken back by transaction `by`, in this order; `by` 0: used up, they cannot be brought back. */
void scn_author_note_undo(struct scn_author *author, const scn_revision *steps, size_t count, scn_revision by);
/* Steps that were brought back by transaction `by`, in this order. */
void scn_author_note_redo(struct scn_author *author, const scn_revision *steps, size_t count, scn_revision by);
/* The step of this name, or NULL. */
const struct scn_step *scn_steps_find(const struct scn_steps *steps, scn_revision first);

/* --- What was before --- */

/* Reads the author's steps from all transactions up to `last`, newest first, on any thread. The steps an undo or
 * redo was about are read from its stored answer by `steps_of`: at most `steps_max`, in order; it returns how many. */
typedef size_t (*scn_steps_of_fn)(struct scn_slice answer, scn_revision *steps, size_t steps_max);
SCN_NODISCARD enum scn_error scn_steps_read(struct scn_journal *journal, struct scn_slice author, scn_revision last,
        scn_steps_of_fn steps_of, struct scn_steps *steps_out, struct scn_storage_fault *fault);
void scn_steps_finish(struct scn_steps *steps);
/* Puts the past beneath what was noted since. False: out of memory, nothing has changed. */
SCN_NODISCARD bool scn_author_set_past(struct scn_author *author, const struct scn_steps *past);

#endif
