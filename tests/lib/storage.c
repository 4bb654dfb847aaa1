/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "tests/lib/storage.h"

#include "tests/lib/test.h"

#include <ftw.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HASH_BYTES 16u
#define DIGEST_BYTES 64u
#define TIME_STEP_US 10

struct scn_slice scn_test_text(const char *text)
{
        return (struct scn_slice){(const uint8_t *)text, (uint32_t)strlen(text)};
}

/* ---------------------------------------------------------- the directory */

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
        (void)status;
        (void)type;
        (void)place;
        return remove(path);
}

void scn_test_remove_all(const char *path)
{
        nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void scn_test_storage_init(struct scn_test_storage *test)
{
        const char *base = getenv("TMPDIR");

        snprintf(test->path, sizeof test->path, "%s/scn-test-XXXXXX", base != NULL ? base : "/tmp");
        cr_assert_not_null(mkdtemp(test->path));
        SCN_TEST_OK(scn_storage_open(test->path, &test->storage, NULL));
}

void scn_test_storage_finish(struct scn_test_storage *test)
{
        scn_storage_close(test->storage);
        scn_test_remove_all(test->path);
}

struct scn_journal *scn_test_create_island(struct scn_test_storage *test)
{
        const struct scn_storage_birth birth = {.uid = {{7}}, .created_us = 1, .origin = scn_test_text("somewhere")};

        SCN_TEST_OK(scn_storage_create(test->storage, scn_test_text("island"), &birth, NULL));
        return scn_test_open_island(test, SCN_JOURNAL_WRITE);
}

struct scn_journal *scn_test_open_island(struct scn_test_storage *test, enum scn_journal_mode mode)
{
        const struct scn_journal_options options = {.mode = mode};
        struct scn_storage_fault fault = {0};
        struct scn_journal *journal;
        const enum scn_error error =
                scn_journal_open(test->storage, scn_test_text("island"), &options, &journal, &fault);

        cr_assert_eq(error, SCN_OK, "%s: %s", scn_error_code(error), fault.text);
        return journal;
}

const char *scn_test_storage_file(const struct scn_test_storage *test, const char *name)
{
        static char path[512];

        snprintf(path, sizeof path, "%s/%s", test->path, name);
        return path;
}

/* ------------------------------------------------------------ transactions */

int64_t scn_test_time_of(scn_revision revision)
{
        return INT64_C(1700000000000000) + (int64_t)revision * TIME_STEP_US;
}

struct scn_uid scn_test_client_uid(uint32_t client)
{
        struct scn_uid uid = {{0}};

        if (client != 0) {
                uid.bytes[0] = 0xc1;
                uid.bytes[12] = (uint8_t)(client >> 24);
                uid.bytes[13] = (uint8_t)(client >> 16);
                uid.bytes[14] = (uint8_t)(client >> 8);
                uid.bytes[15] = (uint8_t)client;
        }
        return uid;
}

/* Bytes that differ for each revision and purpose. */
static struct scn_slice fill(uint8_t **at, uint32_t size, scn_revision revision, uint32_t purpose)
{
        uint8_t *start = *at;
        uint64_t state = revision * UINT64_C(0x9e3779b97f4a7c15) + purpose * UINT64_C(0xbf58476d1ce4e5b9) + 1;

        for (uint32_t i = 0; i < size; i++) {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                start[i] = (uint8_t)(state >> 32);
        }
        *at += size;
        return (struct scn_slice){start, size};
}

static const char *author_of(uint32_t client)
{
        static const char *const authors[] = {"the server", "Ада", "bob", "carol"};
        return authors[client < 4 ? client : 1 + client % 3];
}

void scn_test_transaction_init(
        struct scn_test_transaction *made, scn_revision revision, const struct scn_test_shape *shape)
{
        made->bytes = malloc(HASH_BYTES + DIGEST_BYTES + shape->answer_bytes +
                (size_t)shape->records_count * shape->payload_bytes + 1);
        made->records = calloc(shape->records_count + 1, sizeof made->records[0]);
        cr_assert(made->bytes != NULL && made->records != NULL);
        uint8_t *at = made->bytes;
        made->transaction = (struct scn_journal_transaction){
                .revision = revision,
                .time_us = scn_test_time_of(revision),
                .author = scn_test_text(author_of(shape->client)),
                .client = scn_test_client_uid(shape->client),
                .number = shape->client == 0 ? 0 : (shape->number != 0 ? shape->number : revision),
                .content_hash = fill(&at, HASH_BYTES, revision, 1),
                .group = revision / 3,
                .cause = (uint32_t)(revision % 5),
                .step = revision - revision % 3,
                .digest = fill(&at, DIGEST_BYTES, revision, 2),
                .answer = fill(&at, shape->answer_bytes, revision, 3),
                .records = made->records,
                .records_count = shape->records_count,
        };
        for (uint32_t i = 0; i < shape->records_count; i++) {
                const uint32_t half = shape->payload_bytes / 2;
                made->records[i] = (struct scn_journal_record){
                        .kind = i % 7,
                        .node = scn_test_client_uid((uint32_t)revision * 1000 + i),
                        .before = fill(&at, half, revision, 10 + 2 * i),
                        .after = fill(&at, shape->payload_bytes - half, revision, 11 + 2 * i),
                };
        }
}

void scn_test_transaction_finish(struct scn_test_transaction *made)
{
        free(made->bytes);
        free(made->records);
}

static bool equal(struct scn_slice a, struct scn_slice b)
{
        return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static bool same_head(const struct scn_journal_transaction *a, const struct scn_journal_transaction *b)
{
        return a->revision == b->revision && a->time_us == b->time_us && equal(a->author, b->author) &&
                memcmp(&a->client, &b->client, sizeof a->client) == 0 && a->number == b->number &&
                equal(a->content_hash, b->content_hash) && a->group == b->group && a->cause == b->cause &&
                a->step == b->step && equal(a->digest, b->digest) && equal(a->answer, b->answer) &&
                a->records_count == b->records_count;
}

bool scn_test_transaction_is(const struct scn_journal_transaction *transaction, scn_revision revision,
        const struct scn_test_shape *shape, bool without_records)
{
        struct scn_test_transaction made;

        scn_test_transaction_init(&made, revision, shape);
        bool is_same = same_head(transaction, &made.transaction);
        if (without_records)
                is_same = is_same && transaction->records == NULL;
        for (uint32_t i = 0; is_same && !without_records && i < shape->records_count; i++) {
                const struct scn_journal_record *a = &transaction->records[i], *b = &made.records[i];
                is_same = a->kind == b->kind && memcmp(&a->node, &b->node, sizeof a->node) == 0 &&
                        equal(a->before, b->before) && equal(a->after, b->after);
        }
        scn_test_transaction_finish(&made);
        return is_same;
}

enum scn_error scn_test_append(struct scn_journal *journal, scn_revision first, uint32_t count,
        const struct scn_test_shape *shape, struct scn_storage_fault *fault)
{
        struct scn_test_transaction *made = calloc(count + 1, sizeof *made);
        struct scn_journal_transaction *batch = calloc(count + 1, sizeof *batch);

        cr_assert(made != NULL && batch != NULL);
        for (uint32_t i = 0; i < count; i++) {
                scn_test_transaction_init(&made[i], first + i, shape);
                batch[i] = made[i].transaction;
        }
        const enum scn_error error = scn_journal_append(journal, batch, count, fault);
        for (uint32_t i = 0; i < count; i++)
                scn_test_transaction_finish(&made[i]);
        free(made);
        free(batch);
        return error;
}

scn_revision scn_test_count(struct scn_journal *journal, const struct scn_test_shape *shape)
{
        struct scn_journal_range range = {.from = 1};

        while (true) {
                struct scn_storage_fault fault = {0};
                struct scn_journal_page *page;
                const enum scn_error error = scn_journal_read(journal, &range, &page, &fault);
                cr_assert_eq(error, SCN_OK, "%s: %s", scn_error_code(error), fault.text);
                const uint32_t count = scn_journal_page_count(page);
                for (uint32_t i = 0; i < count; i++)
                        cr_assert(scn_test_transaction_is(scn_journal_page_get(page, i), range.from + i, shape, false),
                                "revision %" PRIu64 " is not what was appended", range.from + i);
                scn_journal_page_destroy(page);
                if (count == 0)
                        return range.from - 1;
                range.from += count;
        }
}

/* ------------------------------------------------------- past the storage */

void scn_test_copy(struct scn_journal *journal, const char *path)
{
        struct scn_backup *backup;
        uint64_t left = UINT64_MAX;

        SCN_TEST_OK(scn_backup_create(journal, path, &backup, NULL));
        while (left != 0)
                SCN_TEST_OK(scn_backup_step(backup, UINT32_MAX, &left, NULL));
        SCN_TEST_OK(scn_backup_finish(backup, NULL));
        scn_backup_destroy(backup);
}

int64_t scn_test_sql(const char *path, const char *sql)
{
        sqlite3 *handle;
        sqlite3_stmt *statement = NULL;
        int64_t value = 0;

        cr_assert_eq(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK, "%s", path);
        sqlite3_busy_timeout(handle, 1000);
        while (*sql != '\0') {
                const char *rest;
                cr_assert_eq(sqlite3_prepare_v2(handle, sql, -1, &statement, &rest), SQLITE_OK, "%s: %s", sql,
                        sqlite3_errmsg(handle));
                const int code = sqlite3_step(statement);
                cr_assert(code == SQLITE_ROW || code == SQLITE_DONE, "%s: %s", sql, sqlite3_errmsg(handle));
                value = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
                sqlite3_finalize(statement);
                sql = rest;
        }
        cr_assert_eq(sqlite3_close(handle), SQLITE_OK);
        return value;
}
