/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "storage/client_cache.h"

#include "protocol/base/alloc.h"
#include "protocol/base/uid.h"
#include "storage/fault.h"
#include "storage/journal.h"

#include <string.h>

/* Beyond this everything is forgotten at the next end of a window. */
#define KEPT_MAX 4096u
/* More than a window and a batch can bring. */
#define ENTRIES_MAX ((size_t)1 << 24)

struct client_key {
        struct scn_uid uid;
        struct scn_slice author;
};

/* Uids are random but for those that somebody makes to collide, who gains nothing: the table is small. The server
 * is a client for each author that it writes for. */
static uint64_t hash_client(struct scn_uid uid, struct scn_slice author)
{
        uint64_t words[2], hash;

        memcpy(words, uid.bytes, sizeof words);
        hash = words[0] ^ (words[1] << 29 | words[1] >> 35);
        for (uint32_t i = 0; scn_uid_is_none(uid) && i < author.size; i++)
                hash = hash * 31 + author.data[i];
        hash *= UINT64_C(0x9e3779b97f4a7c15);
        return hash ^ hash >> 32;
}

static uint64_t hash_ref(const void *owner, uint32_t ref)
{
        const struct scn_client_cache *cache = owner;
        return hash_client(cache->entries[ref].uid, cache->entries[ref].author);
}

static bool slices_equal(struct scn_slice a, struct scn_slice b)
{
        return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static bool match_ref(const void *owner, uint32_t ref, const void *key)
{
        const struct scn_client_entry *entry = &((const struct scn_client_cache *)owner)->entries[ref];
        const struct client_key *wanted = key;
        return scn_uid_equal(entry->uid, wanted->uid) && slices_equal(entry->author, wanted->author);
}

void scn_client_cache_init(struct scn_client_cache *cache)
{
        *cache = (struct scn_client_cache){.latest = SCN_INDEX_MAP_NONE};
        scn_index_map_init(&cache->map, cache, hash_ref, match_ref);
}

void scn_client_cache_finish(struct scn_client_cache *cache)
{
        for (size_t i = 0; i < cache->count; i++)
                scn_free((void *)(uintptr_t)cache->entries[i].author.data);
        scn_free(cache->entries);
        scn_index_map_finish(&cache->map);
}

void scn_client_cache_clear(struct scn_client_cache *cache)
{
        scn_client_cache_finish(cache);
        scn_client_cache_init(cache);
}

static enum scn_error memory_fault(struct scn_storage_fault *fault)
{
        return scn_fault_set(fault, SCN_E_NO_MEMORY, 0, 0, "out of memory");
}

/* Copies the author, and puts the client in. */
static enum scn_error add_entry(
        struct scn_client_cache *cache, const struct scn_client_entry *entry, struct scn_storage_fault *fault)
{
        uint8_t *author = scn_alloc(entry->author.size);

        if (author == NULL)
                return memory_fault(fault);
        if (!scn_grow((void **)&cache->entries, &cache->capacity, sizeof *entry, cache->count + 1, ENTRIES_MAX) ||
                !scn_index_map_reserve(&cache->map, (uint32_t)cache->count + 1)) {
                scn_free(author);
                return memory_fault(fault);
        }
        if (entry->author.size != 0)
                memcpy(author, entry->author.data, entry->author.size);
        cache->latest = (uint32_t)cache->count++;
        cache->entries[cache->latest] = *entry;
        cache->entries[cache->latest].author.data = author;
        scn_index_map_add(&cache->map, hash_client(entry->uid, entry->author), cache->latest);
        return SCN_OK;
}

/* ---------------------------------------------------------------- loading */

static enum scn_error load_window(
        struct scn_journal *journal, scn_revision last_revision, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        bool has_row = false;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_CLIENT_WINDOW, &statement, fault);

        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, (int64_t)scn_client_window_start(last_revision));
        while (true) {
                struct scn_client_entry entry;
                error = scn_database_step(&journal->database, statement, &has_row, fault);
                if (error != SCN_OK || !has_row)
                        break;
                entry = (struct scn_client_entry){
                        .author = scn_database_column(statement, 2),
                        .id = sqlite3_column_int64(statement, 0),
                        .last_number = (uint64_t)sqlite3_column_int64(statement, 3),
                        .first_revision = (scn_revision)sqlite3_column_int64(statement, 4),
                        .last_revision = (scn_revision)sqlite3_column_int64(statement, 5),
                        .last_time_us = sqlite3_column_int64(statement, 6),
                };
                if (!scn_database_column_uid(statement, 1, &entry.uid))
                        error = scn_journal_damage(journal, entry.last_revision, "its client is missing", fault);
                else
                        error = add_entry(&journal->clients, &entry, fault);
                if (error != SCN_OK)
                        break;
        }
        sqlite3_reset(statement);
        return error;
}

static enum scn_error find_next_record(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_RECORD_LAST, &statement, fault);

        if (error == SCN_OK)
                error = scn_database_step(&journal->database, statement, &has_row, fault);
        if (error != SCN_OK)
                return error;
        journal->clients.next_record = has_row ? sqlite3_column_int64(statement, 0) + 1 : 1;
        if (journal->clients.next_record < 1)
                journal->clients.next_record = 1; /* folding counts its rows downwards from 0 */
        sqlite3_reset(statement);
        return SCN_OK;
}

enum scn_error scn_client_cache_load(
        struct scn_journal *journal, scn_revision last_revision, struct scn_storage_fault *fault)
{
        scn_client_cache_clear(&journal->clients);
        enum scn_error error = load_window(journal, last_revision, fault);
        if (error == SCN_OK)
                error = find_next_record(journal, fault);
        if (error != SCN_OK)
                return error;
        journal->clients.is_loaded = true;
        journal->clients.last_revision = last_revision;
        return SCN_OK;
}

/* -------------------------------------------------------------- resolving */

/* Gives a client that the file does not know its row. */
static enum scn_error add_client(
        struct scn_journal *journal, struct scn_client_entry *entry, struct scn_storage_fault *fault)
{
        struct scn_database *database = &journal->database;
        sqlite3_stmt *statement;
        enum scn_error error = scn_database_prepare(database, SCN_STATEMENT_CLIENT_ADD, &statement, fault);

        if (error != SCN_OK)
                return error;
        scn_database_bind_blob(statement, 1, (struct scn_slice){entry->uid.bytes, sizeof entry->uid.bytes});
        scn_database_bind_text(statement, 2, entry->author);
        error = scn_database_run(database, statement, fault);
        entry->id = sqlite3_last_insert_rowid(database->handle);
        return error;
}

/* The file's row for the client; id 0 if there is none. */
static enum scn_error look_up_client(struct scn_journal *journal, struct scn_client_entry *entry, scn_revision revision,
        struct scn_storage_fault *fault)
{
        struct scn_database *database = &journal->database;
        const bool is_server = scn_uid_is_none(entry->uid);
        sqlite3_stmt *statement;
        bool has_row;
        enum scn_error error = scn_database_prepare(
                database, is_server ? SCN_STATEMENT_CLIENT_FIND_AUTHOR : SCN_STATEMENT_CLIENT_FIND, &statement, fault);

        if (error != SCN_OK)
                return error;
        scn_database_bind_blob(statement, 1, (struct scn_slice){entry->uid.bytes, sizeof entry->uid.bytes});
        if (is_server)
                scn_database_bind_text(statement, 2, entry->author);
        error = scn_database_step(database, statement, &has_row, fault);
        if (error != SCN_OK || !has_row)
                return error;
        entry->id = sqlite3_column_int64(statement, 0);
        if (!is_server && !slices_equal(scn_database_column(statement, 1), entry->author))
                error = scn_fault_set(fault, SCN_E_BAD_BATCH, revision, 0,
                        "transaction %llu: the client belongs to another author", (unsigned long long)revision);
        sqlite3_reset(statement);
        return error;
}

/* From the file: a client that has done nothing in this window. */
static enum scn_error fetch_client(
        struct scn_journal *journal, const struct scn_journal_transaction *transaction, struct scn_storage_fault *fault)
{
        struct scn_client_entry entry = {.uid = transaction->client, .author = transaction->author};
        struct scn_journal_client_run run = {0};
        enum scn_error error = look_up_client(journal, &entry, transaction->revision, fault);

        if (error == SCN_OK && entry.id == 0)
                error = add_client(journal, &entry, fault);
        else if (error == SCN_OK && !scn_uid_is_none(entry.uid))
                error = scn_journal_last_run(journal, entry.id, &run, fault);
        entry.last_number = run.last_number;
        return error == SCN_OK ? add_entry(&journal->clients, &entry, fault) : error;
}

enum scn_error scn_client_cache_resolve(struct scn_journal *journal, const struct scn_journal_transaction *transaction,
        struct scn_client_entry **entry_out, struct scn_storage_fault *fault)
{
        struct scn_client_cache *cache = &journal->clients;
        const struct client_key key = {transaction->client, transaction->author};

        if (cache->latest == SCN_INDEX_MAP_NONE || !match_ref(cache, cache->latest, &key)) {
                cache->latest = scn_index_map_find(&cache->map, hash_client(key.uid, key.author), &key);
                if (cache->latest == SCN_INDEX_MAP_NONE) {
                        const enum scn_error error = fetch_client(journal, transaction, fault);
                        if (error != SCN_OK)
                                return error;
                }
        }
        *entry_out = &cache->entries[cache->latest];
        return SCN_OK;
}

/* --------------------------------------------------------- end of a window */

/* There may be one already: what was dropped of the window has got it. */
static enum scn_error add_run(
        struct scn_journal *journal, const struct scn_client_entry *entry, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        enum scn_error error = scn_database_prepare(&journal->database, SCN_STATEMENT_RUN_ADD, &statement, fault);

        if (error != SCN_OK)
                return error;
        sqlite3_bind_int64(statement, 1, entry->id);
        sqlite3_bind_int64(statement, 2, (int64_t)entry->last_number);
        sqlite3_bind_int64(statement, 3, (int64_t)entry->first_revision);
        sqlite3_bind_int64(statement, 4, (int64_t)entry->last_revision);
        sqlite3_bind_int64(statement, 5, entry->last_time_us);
        return scn_database_run(&journal->database, statement, fault);
}

enum scn_error scn_client_cache_end_window(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        struct scn_client_cache *cache = &journal->clients;

        for (size_t i = 0; i < cache->count; i++) {
                struct scn_client_entry *entry = &cache->entries[i];
                if (entry->first_revision == 0)
                        continue;
                /* The server has no numbers that anybody could ask for. */
                const enum scn_error error = scn_uid_is_none(entry->uid) ? SCN_OK : add_run(journal, entry, fault);
                if (error != SCN_OK)
                        return error;
                entry->first_revision = entry->last_revision = 0;
        }
        if (cache->count > KEPT_MAX) {
                const struct scn_client_cache kept = *cache;
                scn_client_cache_clear(cache);
                cache->is_loaded = kept.is_loaded;
                cache->last_revision = kept.last_revision;
                cache->next_record = kept.next_record;
        }
        return SCN_OK;
}
