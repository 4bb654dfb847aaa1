/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_UNDO_HEADS_H
#define SCN_SERVER_UNDO_HEADS_H

/* What an undo skips, and who was in its way: the document says which revisions, the journal whose they are. */

#include "protocol/base/arena.h"
#include "protocol/scene/change.h"
#include "protocol/scene/document.h"
#include "protocol/wire/pack.h"
#include "server/limits.h"
#include "storage/storage.h"

/* So many skips are told one by one, the others counted. */
#define SCN_UNDO_SKIPS_TOLD_MAX SCN_SERVER_undo_skips_max

/* Who made a revision. */
struct scn_undo_head {
        struct scn_stamp_view stamp; /* of a field that it wrote */
        int64_t time_us;
        struct scn_slice author; /* in the arena; data == NULL: not known */
};

/* Init with {0}. */
struct scn_undo_heads {
        struct scn_undo_head heads[SCN_UNDO_SKIPS_TOLD_MAX];
        uint32_t count;
        struct scn_arena arena;
};

void scn_undo_heads_finish(struct scn_undo_heads *heads);
/* Notes whose names the summary is to say. True: there are some that nobody has asked for yet. */
bool scn_undo_heads_note(struct scn_undo_heads *heads, const struct scn_changes *changes);
/* On a worker: looks all of them up. */
SCN_NODISCARD enum scn_error scn_undo_heads_find(struct scn_undo_heads *heads, struct scn_journal *journal);
/* How many members of the summary's map scn_undo_heads_pack() writes, and these: what was skipped. */
uint32_t scn_undo_heads_members(const struct scn_changes *changes);
void scn_undo_heads_pack(
        const struct scn_undo_heads *heads, const struct scn_changes *changes, struct scn_packer *packer);

#endif
