/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_STORAGE_JOURNAL_H
#define SCN_STORAGE_JOURNAL_H

/* What the parts of the storage know of an open journal (storage.h). */

#include "storage/checksum.h"
#include "storage/client_cache.h"
#include "storage/database.h"

/* Record 0 stands in the transaction's row if its payloads have at most so many bytes, */
#define SCN_JOURNAL_INLINE_BYTES_MAX 1024u
/* an answer if it has at most so many; */
#define SCN_JOURNAL_ANSWER_BYTES_MAX 65536u
/* a row in records has at most so many bytes of payload. */
#define SCN_JOURNAL_ROW_BYTES_MAX 1000000u
/* In records: the answer. */
#define SCN_JOURNAL_POSITION_ANSWER INT64_C(-1)
#define SCN_JOURNAL_ORIGIN_BYTES_MAX 65536u

struct scn_journal {
        struct scn_database database;
        struct scn_checksum checksum;
        struct scn_client_cache clients; /* of the handle that appends */
        struct scn_uid uid;
        int64_t created_us;
        uint8_t *origin; /* owned */
        uint32_t origin_bytes;
        uint32_t children; /* checkpoint writers and readers, backups */
        char draft[32];    /* its file's name in the data directory, while it has no other */
};

/* The journal on a file; a new one gets its document row. */
SCN_NODISCARD enum scn_error scn_journal_create_on(const char *path, const struct scn_storage_birth *birth,
        struct scn_journal **journal_out, struct scn_storage_fault *fault);
SCN_NODISCARD enum scn_error scn_journal_open_on(const char *path, enum scn_database_kind kind,
        const struct scn_journal_options *options, struct scn_journal **journal_out, struct scn_storage_fault *fault);
/* What becomes of a file that another program has written over, when all have left it. Puts the guard back while
 * somebody may still be writing. */
void scn_journal_settle(struct scn_guard *guard);
/* At the end: all that could not be settled before. */
void scn_journal_settle_all(void);
/* Notes the document's name in its file. */
SCN_NODISCARD enum scn_error scn_journal_note_name(
        struct scn_journal *journal, struct scn_slice name, struct scn_storage_fault *fault);

/* The end of the journal; all 0 if there is no transaction. */
struct scn_journal_tail {
        scn_revision revision;
        int64_t time_us;
        uint64_t journal_bytes;
};

SCN_NODISCARD enum scn_error scn_journal_tail(
        struct scn_journal *journal, struct scn_journal_tail *tail_out, struct scn_storage_fault *fault);

/* The last thing that a client has stored; all 0 if there is none. */
struct scn_journal_client_run {
        uint64_t last_number;
        scn_revision last_revision;
        int64_t last_time_us;
};

/* From the runs of full windows; meets the run with the transaction that it speaks of. */
SCN_NODISCARD enum scn_error scn_journal_last_run(struct scn_journal *journal, int64_t client,
        struct scn_journal_client_run *run_out, struct scn_storage_fault *fault);

/* In a file there is no absent payload: data is not NULL. */
static inline struct scn_slice scn_journal_present(struct scn_slice bytes)
{
        return bytes.size != 0 ? bytes : (struct scn_slice){(const uint8_t *)"", 0};
}

/* Inside a write transaction: removes some parts of checkpoints that are complete no longer. */
SCN_NODISCARD enum scn_error scn_checkpoint_drop_stale_parts(
        struct scn_journal *journal, bool *is_done_out, struct scn_storage_fault *fault);

/* What a row of transactions says beside what is in struct scn_journal_transaction. */
struct scn_journal_row {
        int64_t journal_bytes;
        bool has_inline;
        bool has_records;
        int64_t first_record;
        int64_t records_checksum;
        struct scn_journal_record record; /* has_inline: record 0 */
};

/* The sum over a row, and a row's share in the sum over a transaction's rows in records. `answer` is what stands
 * in the row: data == NULL if it is elsewhere. */
int64_t scn_journal_row_sum(struct scn_checksum *checksum, const struct scn_journal_transaction *transaction,
        const struct scn_journal_row *row, struct scn_slice answer);
void scn_journal_sum_record(
        struct scn_checksum *checksum, int64_t position, int64_t part, const struct scn_journal_record *record);

/* Where the journal begins, and how far it has been judged; 0 for both in a file that does not say so. */
struct scn_journal_history {
        scn_revision base;
        scn_revision judged;
};
SCN_NODISCARD enum scn_error scn_journal_history(
        struct scn_journal *journal, struct scn_journal_history *history_out, struct scn_storage_fault *fault);

/* scn_journal_has_revision() inside a transaction. */
SCN_NODISCARD enum scn_error scn_journal_check_revision(
        struct scn_journal *journal, scn_revision revision, struct scn_storage_fault *fault);

/* A window of which something went. */
struct scn_journal_fold {
        scn_revision first, last;
        struct scn_slice states; /* a bit for each revision, the lowest of each byte first: whether it has a state */
};

#define SCN_JOURNAL_FOLD_STATES_BYTES ((SCN_JOURNAL_WINDOW + 7) / 8)

static inline bool scn_journal_fold_has_state(const struct scn_journal_fold *fold, scn_revision revision)
{
        const uint64_t bit = revision - fold->first;
        return bit / 8 < fold->states.size && (fold->states.data[bit / 8] >> bit % 8 & 1) != 0;
}

/* How many transactions of a fold there are, and the sum that its row has of them. */
SCN_NODISCARD enum scn_error scn_journal_sum_fold(struct scn_journal *journal, const struct scn_journal_fold *fold,
        int64_t *kept_out, int64_t *sum_out, struct scn_storage_fault *fault);

/* The columns of TRANSACTION_READ on which the statement stands, as SQLite's slices. False if one cannot be, or if the
 * row's checksum is another. */
bool scn_journal_read_row(struct scn_journal *journal, sqlite3_stmt *statement,
        struct scn_journal_transaction *transaction_out, struct scn_journal_row *row_out);

/* Adds the rows of a record to `records`, from *next_record on. Inside a write transaction; the rows are added to the
 * journal's checksum. */
SCN_NODISCARD enum scn_error scn_journal_add_record(struct scn_journal *journal, scn_revision revision,
        int64_t position, const struct scn_journal_record *record, int64_t *next_record,
        struct scn_storage_fault *fault);

/* Removes a transaction's rows in `records`, of which there is one at least. `removed_out` may be NULL. */
SCN_NODISCARD enum scn_error scn_journal_remove_records(struct scn_journal *journal, scn_revision revision,
        int64_t first_record, int *removed_out, struct scn_storage_fault *fault);

/* A write transaction that a loss of power may take away again, whole, for nothing is lost with it: the next durable
 * commit takes it along. The end commits, or, given an error, takes back and returns it. */
SCN_NODISCARD enum scn_error scn_journal_begin_lazily(struct scn_journal *journal, struct scn_storage_fault *fault);
SCN_NODISCARD enum scn_error scn_journal_end_lazily(
        struct scn_journal *journal, enum scn_error error, struct scn_storage_fault *fault);

/* scn_journal_find_time() inside a transaction. */
SCN_NODISCARD enum scn_error scn_journal_find_time_inside(
        struct scn_journal *journal, int64_t time_us, scn_revision *revision_out, struct scn_storage_fault *fault);

/* A part of scn_journal_verify(): rows that no revision leads to say what can be. SCN_E_CORRUPT names table and row. */
SCN_NODISCARD enum scn_error scn_journal_verify_rows(struct scn_journal *journal, struct scn_storage_fault *fault);

/* CORRUPT, naming a revision. */
enum scn_error scn_journal_damage(
        const struct scn_journal *journal, scn_revision revision, const char *what, struct scn_storage_fault *fault);

#endif
