/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/base/alloc.h"
#include "storage/fault.h"
#include "storage/journal.h"

#include <string.h>

static bool is_in(struct scn_slice text, uint32_t bytes_min, uint32_t bytes_max)
{
        return text.size >= bytes_min && text.size <= bytes_max;
}

/* A revision whose state the file has, and room for one more name. */
static enum scn_error check_set(
        struct scn_journal *journal, const struct scn_journal_tag *tag, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_journal_check_revision(journal, tag->revision, fault);

        if (error == SCN_OK)
                error = scn_database_prepare(&journal->database, SCN_STATEMENT_TAG_COUNT, &statement, fault);
        if (error != SCN_OK)
                return error;
        scn_database_bind_text(statement, 1, tag->name);
        error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK)
                return error;
        const int64_t count = has_row ? sqlite3_column_int64(statement, 0) : 0;
        sqlite3_reset(statement);
        return count < SCN_JOURNAL_TAGS_MAX
                ? SCN_OK
                : scn_fault_set(fault, SCN_E_TOO_MANY_TAGS, 0, 0, "the document has as many tags as it may have");
}

static enum scn_error set(
        struct scn_journal *journal, const struct scn_journal_tag *tag, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        enum scn_error error = check_set(journal, tag, fault);

        if (error == SCN_OK)
                error = scn_database_prepare(&journal->database, SCN_STATEMENT_TAG_SET, &statement, fault);
        if (error != SCN_OK)
                return error;
        scn_database_bind_text(statement, 1, tag->name);
        sqlite3_bind_int64(statement, 2, (int64_t)tag->revision);
        sqlite3_bind_int64(statement, 3, tag->time_us);
        scn_database_bind_text(statement, 4, tag->author);
        return scn_database_run(&journal->database, statement, fault);
}

enum scn_error scn_journal_set_tag(
        struct scn_journal *journal, const struct scn_journal_tag *tag, struct scn_storage_fault *fault)
{
        if (!is_in(tag->name, 1, SCN_JOURNAL_TAG_BYTES_MAX) || !is_in(tag->author, 0, SCN_JOURNAL_AUTHOR_BYTES_MAX))
                return scn_fault_set(fault, SCN_E_BAD_BATCH, 0, 0, "the tag's name or author has no such size");
        enum scn_error error = scn_database_begin_write(&journal->database, fault);
        if (error != SCN_OK)
                return error;
        error = set(journal, tag, fault);
        if (error == SCN_OK)
                return scn_database_commit(&journal->database, fault);
        scn_database_rollback(&journal->database);
        return error;
}

static enum scn_error find(
        struct scn_journal *journal, struct scn_slice name, scn_revision *revision_out, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_TAG_FIND, &statement, fault);

        if (error != SCN_OK)
                return error;
        scn_database_bind_text(statement, 1, name);
        error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK)
                return error;
        if (!has_row)
                return scn_fault_set(fault, SCN_E_NO_TAG, 0, 0, "no tag has this name");
        *revision_out = (scn_revision)sqlite3_column_int64(statement, 0);
        sqlite3_reset(statement);
        return SCN_OK;
}

enum scn_error scn_journal_find_tag(
        struct scn_journal *journal, struct scn_slice name, scn_revision *revision_out, struct scn_storage_fault *fault)
{
        return find(journal, name, revision_out, fault);
}

enum scn_error scn_journal_remove_tag(
        struct scn_journal *journal, struct scn_slice name, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        scn_revision revision;
        enum scn_error error = scn_database_begin_write(&journal->database, fault);

        if (error != SCN_OK)
                return error;
        error = find(journal, name, &revision, fault);
        if (error == SCN_OK)
                error = scn_database_prepare(&journal->database, SCN_STATEMENT_TAG_REMOVE, &statement, fault);
        if (error == SCN_OK) {
                scn_database_bind_text(statement, 1, name);
                error = scn_database_run(&journal->database, statement, fault);
        }
        if (error == SCN_OK)
                return scn_database_commit(&journal->database, fault);
        scn_database_rollback(&journal->database);
        return error;
}

/* Name and author of an entry stand in one block, which its name points to. */
static enum scn_error add_row(struct scn_journal_tags *tags, sqlite3_stmt *statement)
{
        const struct scn_slice name = scn_database_column(statement, 0);
        const struct scn_slice author = scn_database_column(statement, 3);
        uint8_t *bytes = scn_alloc((size_t)name.size + author.size);

        if (bytes == NULL ||
                !scn_grow((void **)&tags->entries, &tags->capacity, sizeof *tags->entries, tags->count + 1,
                        SCN_JOURNAL_TAGS_MAX)) {
                scn_free(bytes);
                return SCN_E_NO_MEMORY;
        }
        if (name.size > 0)
                memcpy(bytes, name.data, name.size);
        if (author.size > 0)
                memcpy(bytes + name.size, author.data, author.size);
        tags->entries[tags->count++] = (struct scn_journal_tag){
                .name = {bytes, name.size},
                .revision = (scn_revision)sqlite3_column_int64(statement, 1),
                .time_us = sqlite3_column_int64(statement, 2),
                .author = {bytes + name.size, author.size},
        };
        return SCN_OK;
}

enum scn_error scn_journal_list_tags(
        struct scn_journal *journal, struct scn_journal_tags *tags_out, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        bool has_row = true;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_TAG_LIST, &statement, fault);

        *tags_out = (struct scn_journal_tags){0};
        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, SCN_JOURNAL_TAGS_MAX);
        while (error == SCN_OK && has_row) {
                error = scn_database_step(&journal->database, statement, &has_row, fault);
                if (error == SCN_OK && has_row)
                        error = add_row(tags_out, statement);
        }
        sqlite3_reset(statement);
        if (error != SCN_OK)
                scn_journal_tags_finish(tags_out);
        return error;
}

void scn_journal_tags_finish(struct scn_journal_tags *tags)
{
        for (size_t i = 0; i < tags->count; i++)
                scn_free((void *)(uintptr_t)tags->entries[i].name.data);
        scn_free(tags->entries);
        *tags = (struct scn_journal_tags){0};
}
