/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/undo_again.h"

#include "protocol/base/alloc.h"
#include "protocol/base/index_map.h"
#include "protocol/base/uid.h"
#include "protocol/scene/digest.h"
#include "server/record_fold.h"

/* Beside the fields: that a node is there. */
#define FIELD_LIFE (SCN_FIELD_PROPERTY + 1)
#define FIELDS_LIFE (1u << FIELD_LIFE)

/* A field, and all that the redo did to it. */
struct trail {
        struct scn_uid node;
        struct scn_uid parent; /* a transform's: then */
        struct scn_slice key;
        uint32_t field;
        uint32_t first; /* its newest doing that has not been matched; SCN_INDEX_MAP_NONE: none */
        uint32_t last;
};

/* One thing done to a field. */
struct doing {
        uint32_t record;
        uint32_t older; /* of the same field; SCN_INDEX_MAP_NONE: none */
};

struct scn_undo_again {
        const struct scn_journal_record *records;
        uint32_t count;
        const struct scn_record_undo *how;
        bool *is_taken; /* by record */
        bool *is_due;   /* by record: it is to be taken next */
        struct trail *trails;
        size_t trails_count, trails_capacity;
        struct doing *doings;
        size_t doings_count, doings_capacity;
        struct scn_index_map map; /* trails */
};

static uint64_t hash_of(const struct trail *trail)
{
        const struct scn_slice node = {trail->node.bytes, sizeof trail->node.bytes};
        const uint64_t key = trail->key.data == NULL ? 0 : scn_digest_bytes(trail->key).high;
        return scn_digest_bytes(node).low + key + trail->field * UINT64_C(0x9e3779b1);
}

static uint64_t hash_trail(const void *owner, uint32_t ref)
{
        return hash_of(&((const struct scn_undo_again *)owner)->trails[ref]);
}

static bool match_trail(const void *owner, uint32_t ref, const void *key)
{
        const struct trail *a = &((const struct scn_undo_again *)owner)->trails[ref];
        const struct trail *b = key;
        return a->field == b->field && scn_uid_equal(a->node, b->node) && scn_uid_equal(a->parent, b->parent) &&
                scn_slice_equal(a->key, b->key);
}

/* What a record is about, but for the field; FIELDS_LIFE for a removal. Nodes added are left out. */
static enum scn_error read_about(const struct scn_journal_record *record, struct trail *about_out, uint32_t *fields_out)
{
        struct scn_record_about about;
        const enum scn_error error = scn_record_read_about(record, &about);
        if (error == SCN_OK) {
                *about_out = (struct trail){.node = record->node, .parent = about.parent, .key = about.key};
                *fields_out = record->kind == SCN_OP_REMOVE ? FIELDS_LIFE : about.fields;
        }
        return error;
}

static struct trail *find_trail(struct scn_undo_again *again, const struct trail *about)
{
        const uint32_t ref = scn_index_map_find(&again->map, hash_of(about), about);
        return ref == SCN_INDEX_MAP_NONE ? NULL : &again->trails[ref];
}

/* Records come newest first. */
static bool note_doing(struct scn_undo_again *again, const struct trail *about, uint32_t record)
{
        struct trail *trail = find_trail(again, about);
        const uint32_t number = (uint32_t)again->doings_count;
        if (!scn_grow((void **)&again->doings, &again->doings_capacity, sizeof *again->doings, again->doings_count + 1,
                    SCN_INDEX_MAP_NONE)) {
                return false;
        }
        if (trail != NULL) {
                again->doings[trail->last].older = number;
                trail->last = number;
        } else {
                if (!scn_grow((void **)&again->trails, &again->trails_capacity, sizeof *again->trails,
                            again->trails_count + 1, SCN_INDEX_MAP_NONE) ||
                        !scn_index_map_reserve(&again->map, (uint32_t)again->trails_count + 1)) {
                        return false;
                }
                again->trails[again->trails_count] = *about;
                again->trails[again->trails_count].first = number;
                again->trails[again->trails_count].last = number;
                scn_index_map_add(&again->map, hash_of(about), (uint32_t)again->trails_count++);
        }
        again->doings[again->doings_count++] = (struct doing){record, SCN_INDEX_MAP_NONE};
        return true;
}

static enum scn_error note_record(struct scn_undo_again *again, uint32_t index)
{
        struct trail about;
        uint32_t fields;
        enum scn_error error = read_about(&again->records[index], &about, &fields);
        for (about.field = 0; error == SCN_OK && about.field <= FIELD_LIFE; about.field++) {
                if ((fields >> about.field & 1) != 0 && !note_doing(again, &about, index)) {
                        error = SCN_E_NO_MEMORY;
                }
        }
        return error;
}

enum scn_error scn_undo_again_create(const struct scn_journal_record *records, uint32_t count,
        const struct scn_record_undo *how, struct scn_undo_again **again_out)
{
        struct scn_undo_again *again = scn_alloc_zero(1, sizeof *again);
        if (again == NULL) {
                return SCN_E_NO_MEMORY;
        }
        again->records = records;
        again->count = count;
        again->how = how;
        scn_index_map_init(&again->map, again, hash_trail, match_trail);
        again->is_taken = scn_alloc_zero(count + 1, sizeof *again->is_taken);
        again->is_due = scn_alloc_zero(count + 1, sizeof *again->is_due);
        enum scn_error error = again->is_taken == NULL || again->is_due == NULL ? SCN_E_NO_MEMORY : SCN_OK;
        for (uint32_t i = count; i-- > 0 && error == SCN_OK;) {
                error = note_record(again, i);
                again->is_taken[i] = records[i].kind == SCN_OP_ADD;
        }
        if (error != SCN_OK) {
                scn_undo_again_destroy(again);
                return error;
        }
        *again_out = again;
        return SCN_OK;
}

void scn_undo_again_destroy(struct scn_undo_again *again)
{
        if (again != NULL) {
                scn_index_map_finish(&again->map);
                scn_free(again->is_taken);
                scn_free(again->is_due);
                scn_free(again->trails);
                scn_free(again->doings);
                scn_free(again);
        }
}

/* The redo's record that counts for a field; SCN_INDEX_MAP_NONE: there is none. */
static uint32_t match(struct scn_undo_again *again, const struct trail *about)
{
        struct trail *trail = find_trail(again, about);
        if (trail == NULL || trail->first == SCN_INDEX_MAP_NONE) {
                return SCN_INDEX_MAP_NONE;
        }
        const struct doing *doing = &again->doings[trail->first];
        trail->first = doing->older;
        return doing->record;
}

/* `more`: a record of the step's that it stands for; NULL: none. */
static enum scn_error take(
        struct scn_undo_again *again, uint32_t index, const struct scn_record_more *more, struct scn_ops *ops)
{
        again->is_taken[index] = true;
        struct scn_record_undo how = *again->how;
        how.more = more;
        return scn_record_take_back(&again->records[index], &how, ops);
}

/* What the redo has removed of what the step had. */
struct finding {
        struct scn_undo_again *again;
        uint32_t first, end; /* records, those due among them */
};

static void find_removal(void *data, struct scn_uid node)
{
        struct finding *finding = data;
        const struct trail about = {.node = node, .field = FIELD_LIFE};
        const uint32_t index = match(finding->again, &about);
        if (index != SCN_INDEX_MAP_NONE) {
                finding->again->is_due[index] = true;
                finding->first = index < finding->first ? index : finding->first;
                finding->end = index >= finding->end ? index + 1 : finding->end;
        }
}

static enum scn_error take_back_removal(
        struct scn_undo_again *again, const struct scn_journal_record *record, struct scn_ops *ops)
{
        struct finding finding = {again, again->count, 0};
        enum scn_error error = scn_record_removed(record, find_removal, &finding);
        for (uint32_t i = finding.end; i-- > finding.first && error == SCN_OK;) {
                if (again->is_due[i] && !again->is_taken[i]) {
                        error = take(again, i, NULL, ops);
                }
        }
        return error;
}

static enum scn_error take_back_fields(struct scn_undo_again *again, const struct scn_journal_record *record,
        const struct scn_record_undo *how, struct scn_ops *ops)
{
        struct trail about;
        uint32_t matches[FIELD_LIFE];
        uint32_t fields;
        enum scn_error error = read_about(record, &about, &fields);
        uint32_t left = fields;
        for (about.field = 0; about.field < FIELD_LIFE && error == SCN_OK; about.field++) {
                matches[about.field] = (fields >> about.field & 1) != 0 ? match(again, &about) : SCN_INDEX_MAP_NONE;
                left &= matches[about.field] != SCN_INDEX_MAP_NONE ? ~(1u << about.field) : ~0u;
        }
        for (uint32_t field = 0; field < FIELD_LIFE && error == SCN_OK; field++) {
                const uint32_t index = matches[field];
                if (index == SCN_INDEX_MAP_NONE || again->is_taken[index]) {
                        continue;
                }
                /* A move and the transform that came with it go together. */
                const bool takes_left = record->kind == SCN_OP_MOVE && again->records[index].kind == SCN_OP_MOVE;
                const struct scn_record_more more = {record, left};
                error = take(again, index, takes_left ? &more : NULL, ops);
                left = takes_left ? 0 : left;
        }
        if (error == SCN_OK && left != 0) {
                struct scn_record_undo rest = *how;
                rest.left_out = ~left;
                error = scn_record_take_back(record, &rest, ops);
        }
        return error;
}

enum scn_error scn_undo_again_take_back(struct scn_undo_again *again, const struct scn_journal_record *record,
        const struct scn_record_undo *how, struct scn_ops *ops)
{
        switch (record->kind) {
        case SCN_OP_ADD:
                return scn_record_take_back(record, how, ops);
        case SCN_OP_REMOVE:
                return take_back_removal(again, record, ops);
        default:
                return take_back_fields(again, record, how, ops);
        }
}

enum scn_error scn_undo_again_take_rest(struct scn_undo_again *again, struct scn_ops *ops)
{
        enum scn_error error = SCN_OK;
        for (uint32_t i = again->count; i-- > 0 && error == SCN_OK;) {
                if (!again->is_taken[i]) {
                        error = take(again, i, NULL, ops);
                }
        }
        return error;
}
