/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/undo_heads.h"

#include "server/answer.h"
#include "server/writer.h"

void scn_undo_heads_finish(struct scn_undo_heads *heads)
{
        scn_arena_finish(&heads->arena);
        heads->count = 0;
}

static const struct scn_undo_head *find_head(const struct scn_undo_heads *heads, scn_revision revision)
{
        const struct scn_undo_head *head = heads->heads;
        while (head < heads->heads + heads->count && head->stamp.revision != revision) {
                head++;
        }
        return head < heads->heads + heads->count ? head : NULL;
}

static uint32_t count_told(const struct scn_changes *changes)
{
        const uint32_t count = scn_changes_skips_count(changes);
        return count < SCN_UNDO_SKIPS_TOLD_MAX ? count : SCN_UNDO_SKIPS_TOLD_MAX;
}

bool scn_undo_heads_note(struct scn_undo_heads *heads, const struct scn_changes *changes)
{
        const uint32_t told_count = count_told(changes);
        if (heads->count > 0) {
                return false;
        }
        for (uint32_t i = 0; i < told_count; i++) {
                const struct scn_skip *skip = scn_changes_skip(changes, i);
                if (skip->revision != 0 && find_head(heads, skip->revision) == NULL) {
                        heads->heads[heads->count++] = (struct scn_undo_head){
                                .stamp = {skip->revision, skip->writer, skip->client},
                        };
                }
        }
        return heads->count > 0;
}

enum scn_error scn_undo_heads_find(struct scn_undo_heads *heads, struct scn_journal *journal)
{
        struct scn_writer_search search = {.page = NULL};
        enum scn_error error = SCN_OK;
        for (uint32_t i = 0; i < heads->count && error == SCN_OK; i++) {
                const struct scn_journal_transaction *transaction;
                struct scn_undo_head *head = &heads->heads[i];
                error = scn_writer_find(&search, journal, head->stamp, &transaction, NULL);
                if (error == SCN_OK && transaction != NULL) {
                        head->time_us = transaction->time_us;
                        head->author =
                                scn_arena_copy(&heads->arena, transaction->author.data, transaction->author.size);
                        error = head->author.data == NULL ? SCN_E_NO_MEMORY : SCN_OK;
                }
        }
        scn_writer_finish(&search);
        return error;
}

static void pack_skip(struct scn_packer *packer, const struct scn_undo_heads *heads, const struct scn_skip *skip)
{
        const struct scn_undo_head *head = find_head(heads, skip->revision);
        const bool has_head = head != NULL && head->author.data != NULL;
        scn_pack_map(packer, 3u + (skip->key.data != NULL) + (skip->revision != 0) + (has_head ? 2u : 0u));
        scn_pack_cstring(packer, "node");
        scn_pack_uid(packer, skip->node);
        scn_pack_cstring(packer, "field");
        scn_pack_cstring(packer, scn_answer_field_word(skip->field));
        scn_pack_cstring(packer, "reason");
        scn_pack_cstring(packer, scn_error_code(skip->reason));
        if (skip->key.data != NULL) {
                scn_pack_cstring(packer, "key");
                scn_pack_text(packer, skip->key);
        }
        if (skip->revision != 0) {
                scn_pack_cstring(packer, "rev");
                scn_pack_uint(packer, skip->revision);
        }
        if (has_head) {
                scn_pack_cstring(packer, "author");
                scn_pack_text(packer, head->author);
                scn_pack_cstring(packer, "time");
                scn_pack_uint(packer, (uint64_t)head->time_us);
        }
}

uint32_t scn_undo_heads_members(const struct scn_changes *changes)
{
        return scn_changes_skips_count(changes) > SCN_UNDO_SKIPS_TOLD_MAX ? 2 : 1;
}

void scn_undo_heads_pack(
        const struct scn_undo_heads *heads, const struct scn_changes *changes, struct scn_packer *packer)
{
        const uint32_t told_count = count_told(changes);
        scn_pack_cstring(packer, "skipped");
        scn_pack_array(packer, told_count);
        for (uint32_t i = 0; i < told_count; i++) {
                pack_skip(packer, heads, scn_changes_skip(changes, i));
        }
        if (scn_undo_heads_members(changes) > 1) {
                scn_pack_cstring(packer, "more_skipped");
                scn_pack_uint(packer, scn_changes_skips_count(changes) - told_count);
        }
}
