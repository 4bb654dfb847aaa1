/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_RECORD_FOLD_H
#define SCN_SERVER_RECORD_FOLD_H

/* Records of fields (transform, rename, set) read apart, joined with later ones of the same step, and written again:
 * what folding a gesture is made of (server/fold_plan.h). */

#include "protocol/scene/hierarchy.h"
#include "protocol/wire/pack.h"
#include "storage/storage.h"

#include <scn/types.h>

/* A record's two sides. Slices borrow from the record. */
struct scn_record_field {
        uint32_t kind; /* enum scn_op_kind */
        struct scn_uid node;
        /* transform */
        uint32_t fields; /* that it sets */
        struct scn_trs before_trs, after_trs;
        scn_revision writers[3]; /* before it, of t, r, s */
        struct scn_uid parent;
        /* rename, set; spelled, nil where there is none */
        struct scn_slice key; /* set */
        struct scn_slice before, after;
        scn_revision writer; /* before it */
};

/* SCN_E_CORRUPT: it is no such record. *is_field_out false: it is of another kind, or takes something back. */
SCN_NODISCARD enum scn_error scn_record_read_field(
        const struct scn_journal_record *record, struct scn_record_field *field_out, bool *is_field_out);
/* Whether `next`, of the same node and field and of step `step`, continues `field` without a break. Then `field` has
 * become both. */
bool scn_record_join(struct scn_record_field *field, const struct scn_record_field *next, scn_revision step);
/* Whether one of the fields ends as it began. */
bool scn_record_is_idle(const struct scn_record_field *field);
/* Appends the record's payloads; *before_size_out says where the first ends. */
SCN_NODISCARD enum scn_error scn_record_write_field(
        const struct scn_record_field *field, struct scn_buffer *buffer, size_t *before_size_out);

/* Calls `found` for each node that a record of a removal took along. SCN_E_CORRUPT. */
SCN_NODISCARD enum scn_error scn_record_removed(
        const struct scn_journal_record *record, void (*found)(void *data, struct scn_uid node), void *data);

#endif
