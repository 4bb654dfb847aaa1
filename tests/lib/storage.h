/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_STORAGE_H
#define SCN_TESTS_LIB_STORAGE_H

/* For tests of the storage: a data directory that goes away, transactions that can be told apart, and a look at
 * the files past the storage. Whatever must succeed here fails the test if it does not. */

#include "storage/storage.h"

struct scn_test_storage {
        char path[256]; /* of the data directory */
        struct scn_storage *storage;
};

/* Text as a slice. */
struct scn_slice scn_test_text(const char *text);

/* A new directory somewhere temporary, opened; the second removes it with all that is in it. */
void scn_test_storage_init(struct scn_test_storage *test);
void scn_test_storage_finish(struct scn_test_storage *test);
/* Removes a directory with all that is in it. */
void scn_test_remove_all(const char *path);

/* Makes the document "island", which has a uid of its own and was created at 1 µs, and opens it for writing. */
struct scn_journal *scn_test_create_island(struct scn_test_storage *test);
struct scn_journal *scn_test_open_island(struct scn_test_storage *test, enum scn_journal_mode mode);
/* The path of a file in the data directory, in memory that the next call takes. */
const char *scn_test_storage_file(const struct scn_test_storage *test, const char *name);

/* A transaction made from its revision: all fields, the digest and the payloads follow from it and from what is given
 * here, so that it can be compared with what a file says. */
struct scn_test_shape {
        uint32_t client; /* which of the clients; 0 = the server */
        uint64_t number; /* 0: the revision (the server: 0) */
        uint32_t records_count;
        uint32_t payload_bytes; /* of each record, half of it before, half after */
        uint32_t answer_bytes;
};

struct scn_test_transaction {
        struct scn_journal_transaction transaction;
        struct scn_journal_record *records; /* owned, with everything that they and the transaction point to */
        uint8_t *bytes;
};

#define SCN_TEST_SHAPE_SMALL                                                                                           \
        ((struct scn_test_shape){.client = 1, .records_count = 1, .payload_bytes = 100, .answer_bytes = 20})

void scn_test_transaction_init(
        struct scn_test_transaction *made, scn_revision revision, const struct scn_test_shape *shape);
void scn_test_transaction_finish(struct scn_test_transaction *made);
/* The µs of the transaction with this revision; between two there is room. */
int64_t scn_test_time_of(scn_revision revision);
struct scn_uid scn_test_client_uid(uint32_t client);

/* Whether a transaction is the one that this shape makes; without_records: but for its records. */
bool scn_test_transaction_is(const struct scn_journal_transaction *transaction, scn_revision revision,
        const struct scn_test_shape *shape, bool without_records);

/* Appends `count` transactions of one shape from `first` on, as one batch. */
enum scn_error scn_test_append(struct scn_journal *journal, scn_revision first, uint32_t count,
        const struct scn_test_shape *shape, struct scn_storage_fault *fault);
/* Reads the journal from 1 on and returns how many transactions of this shape it holds; fails the test if
 * one is not what it must be. */
scn_revision scn_test_count(struct scn_journal *journal, const struct scn_test_shape *shape);

/* Makes a backup at once. */
void scn_test_copy(struct scn_journal *journal, const char *path);

/* Runs SQL on a file, past the storage; the first column of the first row as an integer (0 = none). */
int64_t scn_test_sql(const char *path, const char *sql);

/* Asserts that a call succeeded, and says the fault if it did not. */
#define SCN_TEST_OK(call)                                                                                              \
        do {                                                                                                           \
                const enum scn_error scn_test_error = (call);                                                          \
                cr_assert_eq(scn_test_error, SCN_OK, "%s: %s", #call, scn_error_code(scn_test_error));                 \
        } while (0)

#endif
