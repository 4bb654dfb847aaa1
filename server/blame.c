/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/blame.h"

#include "protocol/base/alloc.h"
#include "server/answer.h"
#include "server/history_job.h"
#include "server/writer.h"

#include <stdlib.h>
#include <string.h>

struct entry {
        enum scn_field field;
        struct scn_slice key; /* in the blame's arena */
        struct scn_stamp_view stamp;
};

struct scn_blame {
        struct scn_arena arena;
        uint32_t count;
        struct entry entries[];
};

void scn_blame_destroy(struct scn_blame *blame)
{
        if (blame != NULL) {
                scn_arena_finish(&blame->arena);
                scn_free(blame);
        }
}

static bool add_property(struct scn_blame *blame, const struct scn_document *document, scn_node_id id, uint32_t index)
{
        struct entry *entry = &blame->entries[blame->count];
        const struct scn_property property = scn_document_property(document, id, index, &entry->stamp);
        if (property.value.data == NULL) {
                return true;
        }
        entry->field = SCN_FIELD_PROPERTY;
        entry->key = scn_arena_copy(&blame->arena, property.key.data, property.key.size);
        blame->count++;
        return entry->key.data != NULL;
}

struct scn_blame *scn_blame_create(const struct scn_document *document, scn_node_id id)
{
        const uint32_t keys_count = scn_document_node(document, id).property_fields_count;
        struct scn_blame *blame =
                scn_alloc_zero(1, sizeof *blame + (SCN_FIELD_COUNT + (size_t)keys_count) * sizeof blame->entries[0]);
        if (blame == NULL) {
                return NULL;
        }
        for (uint32_t field = 0; field < SCN_FIELD_PROPERTY; field++) {
                blame->entries[blame->count++] = (struct entry){.field = (enum scn_field)field,
                        .stamp = scn_document_stamp(document, id, (enum scn_field)field)};
        }
        for (uint32_t i = 0; i < keys_count; i++) {
                if (!add_property(blame, document, id, i)) {
                        scn_blame_destroy(blame);
                        return NULL;
                }
        }
        return blame;
}

static void pack_entry(
        struct scn_packer *packer, const struct entry *entry, const struct scn_journal_transaction *transaction)
{
        const bool is_property = entry->field == SCN_FIELD_PROPERTY;
        scn_pack_map(packer, 3u + is_property + (transaction != NULL ? 4u : 0u));
        scn_pack_cstring(packer, "field");
        scn_pack_cstring(packer, scn_answer_field_word(entry->field));
        if (is_property) {
                scn_pack_cstring(packer, "key");
                scn_pack_text(packer, entry->key);
        }
        scn_history_pack(packer, "rev", transaction != NULL ? transaction->revision : entry->stamp.revision);
        scn_history_pack(packer, "step", entry->stamp.writer);
        if (transaction != NULL) {
                scn_history_pack(packer, "time", (uint64_t)transaction->time_us);
                scn_pack_cstring(packer, "author");
                scn_pack_text(packer, transaction->author);
                scn_pack_cstring(packer, "client");
                scn_pack_uid(packer, transaction->client);
                scn_pack_cstring(packer, "cause");
                scn_pack_cstring(packer, scn_history_cause(transaction->cause));
        }
}

void scn_history_blame(struct scn_history_job *job, struct scn_journal *journal)
{
        const struct scn_blame *blame = job->blame;
        struct scn_writer_search search = {.page = NULL};
        struct scn_buffer body;
        enum scn_error error = SCN_OK;
        scn_buffer_init(&body, SCN_MESSAGE_BYTES_MAX - 64);
        struct scn_packer packer = scn_packer_to(&body);
        scn_pack_array(&packer, blame->count);
        for (uint32_t i = 0; i < blame->count && error == SCN_OK; i++) {
                const struct scn_journal_transaction *transaction;
                error = scn_writer_find(&search, journal, blame->entries[i].stamp, &transaction, &job->fault);
                if (error == SCN_OK) {
                        pack_entry(&packer, &blame->entries[i], transaction);
                }
        }
        scn_answers_fail(&job->answers, error);
        scn_answers_add(&job->answers, &packer, false);
        scn_writer_finish(&search);
        scn_buffer_finish(&body);
}
