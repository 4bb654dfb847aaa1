/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SCENE_MUTATION_H
#define SCN_SCENE_MUTATION_H

/* The only functions that change a document's contents, each with what takes it back.
 *
 * Every one first makes sure of the memory it needs, its log entry included, then changes and logs; so it either
 * happens whole or not at all, and a rollback never needs memory. The log is a stack of words, read from its end:
 * payload first, header last. Three things end it: a refused edit rolls it back at once, a take-back later, and
 * settling frees what only a rollback would have needed. */

#include "protocol/scene/state.h"

struct scn_arena_chunk {
        struct scn_arena_chunk *next;
        size_t size;
        size_t used;
        _Alignas(16) uint8_t bytes[];
};

struct scn_changes {
        struct scn_changes *older; /* outstanding list; spare list uses newer */
        struct scn_changes *newer;
        bool is_outstanding;
        scn_revision revision;
        uint32_t mask;

        struct scn_change **records; /* owned array of borrowed arena records */
        size_t records_count;
        size_t records_capacity;
        struct scn_arena_chunk *arena; /* newest chunk first */
        size_t arena_bytes;
        struct scn_skip *skips; /* owned */
        size_t skips_count;
        size_t skips_capacity;
        uint64_t record_bytes; /* of the records as stored, estimated; see SCN_LIMIT record_bytes_max */

        uint64_t *log; /* owned */
        size_t log_count;
        size_t log_capacity;
        bool has_garbage;     /* settling has something to free ... */
        size_t garbage_bytes; /* ... of about this size */

        /* The document before. */
        scn_revision revision_before;
        scn_revision horizon_before;
        scn_node_id next_id_before;
        uint32_t clients_count_before;
        uint32_t past_live_before;
        struct scn_digests digests_before;
};

/* What every change of one edit shares. */
struct scn_mutation {
        struct scn_document *document;
        struct scn_changes *changes;
        scn_revision revision; /* being made */
        scn_revision writer;
        uint32_t client;             /* number */
        const scn_revision *writers; /* of the op; NULL: writer for all its fields */
};

/* Whom a field counts as written by. The fields of a new node's properties follow the fixed ones. */
static inline scn_revision scn_mutation_writer(const struct scn_mutation *mutation, uint32_t field)
{
        return mutation->writers == NULL ? mutation->writer : mutation->writers[field];
}

/* Takes a spare object or a new one and notes the document as it is. SCN_E_NO_MEMORY. */
SCN_NODISCARD enum scn_error scn_changes_begin(struct scn_document *document, struct scn_changes **changes_out);
/* Takes back all that is logged and restores what was noted. */
void scn_changes_roll_back(struct scn_document *document, struct scn_changes *changes);
/* Frees what only a rollback needs. */
void scn_changes_collect(struct scn_document *document, struct scn_changes *changes);
/* Keeps it for reuse, or frees it. */
void scn_changes_release(struct scn_document *document, struct scn_changes *changes);
void scn_changes_destroy(struct scn_changes *changes);
/* Memory that lives as long as the changes; NULL when memory is out. */
void *scn_changes_alloc(struct scn_changes *changes, size_t size);
/* A zeroed record of this kind, appended; `stored_bytes` is counted against the limit. SCN_E_NO_MEMORY,
 * SCN_E_TOO_LARGE, SCN_E_TOO_MANY_REVISIONS. */
SCN_NODISCARD enum scn_error scn_changes_record(
        struct scn_mutation *mutation, enum scn_op_kind kind, uint64_t stored_bytes, struct scn_change **record_out);

/* Stamps a fixed field, moves the node to the end of the feed and marks its ancestors. */
SCN_NODISCARD enum scn_error scn_mutate_stamp(struct scn_mutation *mutation, uint32_t slot, enum scn_field field);
/* subtree_rev of a channel, from a slot upwards, is at least `revision` (stops where it is already). */
SCN_NODISCARD enum scn_error scn_mutate_mark(
        struct scn_mutation *mutation, uint32_t slot, enum scn_channel channel, scn_revision revision);
/* Stores a local transform; digest and marks of the fields given. */
SCN_NODISCARD enum scn_error scn_mutate_trs(
        struct scn_mutation *mutation, uint32_t slot, const struct scn_trs *trs, uint32_t fields);
/* Takes `name` (NULL: absent), also on failure. */
SCN_NODISCARD enum scn_error scn_mutate_name(struct scn_mutation *mutation, uint32_t slot, struct scn_text *name);
/* Takes `text`, also on failure; sets or empties its key. */
SCN_NODISCARD enum scn_error scn_mutate_property(
        struct scn_mutation *mutation, uint32_t slot, struct scn_prop_text *text);
/* What a new node is made of; the texts are taken, also on failure, and set to NULL. */
struct scn_new_node {
        scn_node_id id;
        struct scn_uid uid;
        uint32_t parent; /* SCN_NONE: the root */
        uint32_t previous;
        struct scn_trs trs;
        struct scn_text *name;
        struct scn_props *props; /* stamps are filled in */
};
/* Frees the texts that nobody took. */
void scn_new_node_finish(struct scn_new_node *new);
SCN_NODISCARD enum scn_error scn_mutate_add(
        struct scn_mutation *mutation, struct scn_new_node *node, uint32_t *slot_out);
SCN_NODISCARD enum scn_error scn_mutate_move(
        struct scn_mutation *mutation, uint32_t slot, uint32_t parent, uint32_t previous);
SCN_NODISCARD enum scn_error scn_mutate_remove(struct scn_mutation *mutation, uint32_t slot);

/* Digest contributions of one node. */
void scn_digests_of_node(
        const struct scn_document *document, uint32_t slot, uint32_t mask, bool is_top, struct scn_digests *sums);
/* Ancestors know how high the tree below them may be; an upper bound, so a removal leaves it. To be called for
 * whatever is linked. */
void scn_raise_heights(struct scn_document *document, uint32_t slot);
/* To be called with the parent of whatever is unlinked: heights from there on upwards may be too high now. */
void scn_loosen_heights(struct scn_document *document, uint32_t parent);
/* Levels below a slot, counted exactly; the bounds of the whole subtree are exact afterwards. */
uint32_t scn_exact_height(struct scn_document *document, uint32_t slot);

#endif
