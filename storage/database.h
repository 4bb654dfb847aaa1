/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_STORAGE_DATABASE_H
#define SCN_STORAGE_DATABASE_H

/* One SQLite connection to one document's file: opening it with all settings, its prepared statements, transactions,
 * the write-ahead file, and the border at which SQLite's codes become ours. No SQLite code passes further up. */

#include "storage/guard.h"
#include "storage/storage.h"

#include <sqlite3.h>

/* A row of transactions. Eight at once cost a fifth less than one by one; OR ROLLBACK spares SQLite the notes it would
 * need to take back a part of them, for we take back all. rev is not said: SQLite gives the one that follows the last
 * (and looks for no other row that might have it), which is the one that is meant; append.c checks that. */
#define SCN_STATEMENT_COLUMNS 18
#define SCN_STATEMENT_ADD                                                                                              \
        "INSERT OR ROLLBACK INTO transactions (time_us, client, number, group_number, cause, step, record_count,"      \
        " journal_bytes, content_hash, digest, answer, kind, node, before, after, first_record, records_checksum,"     \
        " checksum) VALUES "
#define SCN_STATEMENT_ROW "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
#define SCN_STATEMENT_ROWS 8

/* Every statement is written once, here, prepared on first use, and reset after each use. */
#define SCN_STATEMENT_LIST(X)                                                                                          \
        X(BEGIN_READ, "BEGIN")                                                                                         \
        X(BEGIN_WRITE, "BEGIN IMMEDIATE")                                                                              \
        X(COMMIT, "COMMIT")                                                                                            \
        X(ROLLBACK, "ROLLBACK")                                                                                        \
        X(DOCUMENT_ADD, "INSERT INTO document VALUES (1, ?, ?, ?, ?)")                                                 \
        X(DOCUMENT_GET, "SELECT uid, created_us, origin FROM document WHERE id = 1")                                   \
        X(DOCUMENT_NAME, "UPDATE document SET name = ?1 WHERE id = 1 AND name <> ?1")                                  \
        X(EPOCH_ADD, "INSERT INTO epochs (epoch, rev, time_us) VALUES (?, ?, ?)")                                      \
        X(EPOCH_LAST, "SELECT epoch, rev FROM epochs ORDER BY position DESC LIMIT 1")                                  \
        X(EPOCH_FIND, "SELECT position, rev, time_us FROM epochs WHERE epoch = ?")                                     \
        X(EPOCH_LIST, "SELECT epoch, rev, time_us FROM epochs ORDER BY position DESC LIMIT ?")                         \
        X(EPOCH_NEXT, "SELECT rev FROM epochs WHERE position > ? ORDER BY position LIMIT 1")                           \
        X(JOURNAL_LAST, "SELECT rev, time_us, journal_bytes FROM transactions ORDER BY rev DESC LIMIT 1")              \
        X(HISTORY_GET, "SELECT base, judged FROM history WHERE id = 1")                                                \
        X(HISTORY_JUDGED, "UPDATE history SET judged = ?1 WHERE id = 1 AND judged < ?1")                               \
        X(HISTORY_BASE, "UPDATE history SET base = ?1, judged = max(judged, ?1) WHERE id = 1 AND base < ?1")           \
        X(FOLD_AT, "SELECT first_rev, last_rev, states FROM folds WHERE last_rev >= ? ORDER BY last_rev LIMIT 1")      \
        X(FOLD_ADD, "INSERT INTO folds (first_rev, last_rev, kept, states, checksum) VALUES (?, ?, ?, ?, ?)")          \
        X(FOLD_DROP, "DELETE FROM folds WHERE last_rev <= ?")                                                          \
        X(NUMBERS_ADD, "INSERT INTO folded_numbers VALUES (?, ?, ?, ?)")                                               \
        X(NUMBERS_FIND,                                                                                                \
                "SELECT first_number, rev FROM folded_numbers WHERE client = ? AND last_number >= ?"                   \
                " ORDER BY last_number LIMIT 1")                                                                       \
        X(NUMBERS_REMOVE,                                                                                              \
                "DELETE FROM folded_numbers WHERE client = ?1 AND last_number IN (SELECT last_number FROM"             \
                " folded_numbers WHERE client = ?1 ORDER BY last_number LIMIT ?2)")                                    \
        X(WINDOW_READ,                                                                                                 \
                "SELECT rev, client, number, first_record FROM transactions WHERE rev BETWEEN ? AND ?"                 \
                " ORDER BY rev")                                                                                       \
        X(WINDOW_SUMS, "SELECT rev, checksum FROM transactions WHERE rev BETWEEN ? AND ? ORDER BY rev")                \
        X(TRANSACTION_REMOVE, "DELETE FROM transactions WHERE rev = ?")                                                \
        X(TRANSACTION_SET,                                                                                             \
                "UPDATE transactions SET record_count = ?, digest = ?, kind = ?, node = ?, before = ?, after = ?,"     \
                " first_record = ?, records_checksum = ?, checksum = ? WHERE rev = ?")                                 \
        X(RECORD_FIRST, "SELECT min(id) FROM records")                                                                 \
        X(RECORD_END, "SELECT id FROM records WHERE id > ? AND rev <> ? ORDER BY id LIMIT 1")                          \
        X(RECORD_REMOVE, "DELETE FROM records WHERE id >= ? AND id < ? AND rev = ?")                                   \
        X(JOURNAL_ABOVE, "SELECT rev, time_us FROM transactions WHERE rev >= ? ORDER BY rev LIMIT 1")                  \
        X(RUN_BEFORE, "SELECT 1 FROM transactions WHERE rev BETWEEN ? AND ? AND client = ? AND number < ? LIMIT 1")    \
        X(TAG_FIRST, "SELECT min(rev) FROM tags")                                                                      \
        X(CHECKPOINT_BELOW, "SELECT max(rev) FROM checkpoints WHERE rev <= ?")                                         \
        X(JOURNAL_FIRST, "SELECT rev, first_record FROM transactions ORDER BY rev LIMIT 1")                            \
        X(TAG_NEXT, "SELECT min(rev) FROM tags WHERE rev > ?")                                                         \
        X(CHECKPOINT_NEXT, "SELECT min(rev) FROM checkpoints WHERE rev > ?")                                           \
        X(JOURNAL_AT, "SELECT time_us, journal_bytes, digest, client, number FROM transactions WHERE rev = ?")         \
        X(RECORD_LAST, "SELECT id, rev FROM records ORDER BY id DESC LIMIT 1")                                         \
        X(TRANSACTION_ADD, SCN_STATEMENT_ADD SCN_STATEMENT_ROW)                                                        \
        X(TRANSACTION_ADD_EIGHT,                                                                                       \
                SCN_STATEMENT_ADD SCN_STATEMENT_ROW "," SCN_STATEMENT_ROW "," SCN_STATEMENT_ROW "," SCN_STATEMENT_ROW  \
                                                    "," SCN_STATEMENT_ROW "," SCN_STATEMENT_ROW "," SCN_STATEMENT_ROW  \
                                                    "," SCN_STATEMENT_ROW)                                             \
        X(RECORD_ADD, "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?)")                                           \
        X(TRANSACTION_READ,                                                                                            \
                "SELECT rev, time_us, number, group_number, cause, step, record_count, journal_bytes, kind,"           \
                " first_record, records_checksum, uid, author, content_hash, digest, answer, node, before, after,"     \
                " checksum FROM transactions LEFT JOIN clients USING (client)"                                         \
                " WHERE rev BETWEEN ? AND ? ORDER BY rev")                                                             \
        X(RECORD_READ, "SELECT rev, position, part, kind, node, before, after FROM records WHERE id >= ? ORDER BY id") \
        X(CLIENT_ADD, "INSERT INTO clients (uid, author, forgotten) VALUES (?, ?, 0)")                                 \
        X(CLIENT_FIND, "SELECT client, author FROM clients WHERE uid = ? AND forgotten = 0")                           \
        X(CLIENT_FIND_AUTHOR, "SELECT client FROM clients WHERE uid = ? AND author = ? AND forgotten = 0")             \
        X(CLIENT_IDLE,                                                                                                 \
                "SELECT client FROM clients AS c WHERE forgotten = 0 AND uid <> zeroblob(16)"                          \
                " AND client NOT IN (SELECT client FROM transactions WHERE rev > ?)"                                   \
                " AND ifnull((SELECT time_us FROM runs WHERE client = c.client"                                        \
                " ORDER BY last_number DESC LIMIT 1), 0) < ? LIMIT ?")                                                 \
        X(CLIENT_WINDOW,                                                                                               \
                "SELECT client, uid, author, max(number), min(rev), max(rev), max(time_us) FROM transactions"          \
                " LEFT JOIN clients USING (client) WHERE rev > ? GROUP BY client")                                     \
        X(WINDOW_LAST,                                                                                                 \
                "SELECT number, rev, time_us FROM transactions WHERE rev > ? AND client = ?"                           \
                " ORDER BY rev DESC LIMIT 1")                                                                          \
        X(CLIENT_FORGET, "UPDATE clients SET forgotten = 1 WHERE client = ?")                                          \
        X(RUN_ADD, "INSERT INTO runs VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING")                                   \
        X(RUN_ADD_BETWEEN,                                                                                             \
                "INSERT INTO runs SELECT client, max(number), min(rev), max(rev), max(time_us) FROM transactions"      \
                " JOIN clients USING (client) WHERE rev > ? AND rev < ? AND uid <> zeroblob(16) GROUP BY client"       \
                " ON CONFLICT DO NOTHING")                                                                             \
        X(RUN_LAST,                                                                                                    \
                "SELECT last_number, last_rev, time_us FROM runs WHERE client = ?"                                     \
                " ORDER BY last_number DESC LIMIT 1")                                                                  \
        X(RUN_FIND,                                                                                                    \
                "SELECT first_rev, last_rev FROM runs WHERE client = ? AND last_number >= ?"                           \
                " ORDER BY last_number LIMIT 1")                                                                       \
        X(RUN_SEARCH, "SELECT rev FROM transactions WHERE rev BETWEEN ? AND ? AND client = ? AND number = ?")          \
        X(RUN_REMOVE,                                                                                                  \
                "DELETE FROM runs WHERE client = ?1 AND last_number IN (SELECT last_number FROM runs"                  \
                " WHERE client = ?1 ORDER BY last_number LIMIT ?2)")                                                   \
        X(TAG_COUNT, "SELECT count(*) FROM tags WHERE name <> ?")                                                      \
        X(TAG_SET, "INSERT OR REPLACE INTO tags VALUES (?, ?, ?, ?)")                                                  \
        X(TAG_REMOVE, "DELETE FROM tags WHERE name = ?")                                                               \
        X(TAG_FIND, "SELECT rev FROM tags WHERE name = ?")                                                             \
        X(TAG_LIST, "SELECT name, rev, time_us, author FROM tags ORDER BY rev, name LIMIT ?")                          \
        X(CHECKPOINT_NEWEST,                                                                                           \
                "SELECT checkpoint, rev, time_us, part_count, size, digest, checksum FROM checkpoints"                 \
                " WHERE rev <= ? ORDER BY rev DESC, checkpoint DESC LIMIT 1")                                          \
        X(CHECKPOINT_ADD, "INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)")                                      \
        X(CHECKPOINT_LIST,                                                                                             \
                "SELECT checkpoint, rev, ifnull((SELECT journal_bytes FROM transactions AS t WHERE t.rev = c.rev), 0)" \
                " FROM checkpoints AS c ORDER BY rev DESC, checkpoint DESC LIMIT ?")                                   \
        X(CHECKPOINT_REMOVE,                                                                                           \
                "DELETE FROM checkpoints WHERE checkpoint = ? AND checkpoint <> (SELECT max(checkpoint) FROM"          \
                " checkpoints)")                                                                                       \
        X(CHECKPOINT_NEXT_ID,                                                                                          \
                "SELECT max(ifnull((SELECT max(checkpoint) FROM checkpoints), 0),"                                     \
                " ifnull((SELECT max(checkpoint) FROM checkpoint_parts), 0)) + 1")                                     \
        X(CHECKPOINT_IS, "SELECT 1 FROM checkpoints WHERE checkpoint = ?")                                             \
        X(CHECKPOINT_DROP,                                                                                             \
                "DELETE FROM checkpoints WHERE rev < ? AND checkpoint <> (SELECT checkpoint FROM checkpoints"          \
                " ORDER BY rev DESC, checkpoint DESC LIMIT 1) AND checkpoint <> (SELECT max(checkpoint) FROM"          \
                " checkpoints) AND rev IS NOT (SELECT nullif(base, 0) FROM history)")                                  \
        X(PART_ADD, "INSERT INTO checkpoint_parts (checkpoint, position, bytes, checksum) VALUES (?, ?, ?, ?)")        \
        X(PART_READ, "SELECT bytes, checksum FROM checkpoint_parts WHERE checkpoint = ? AND position = ?")             \
        X(PART_SUMS, "SELECT checksum FROM checkpoint_parts WHERE checkpoint = ? ORDER BY position")                   \
        X(PART_DROP_STALE,                                                                                             \
                "DELETE FROM checkpoint_parts WHERE part IN (SELECT part FROM checkpoint_parts WHERE checkpoint"       \
                " < (SELECT max(checkpoint) FROM checkpoints) AND checkpoint NOT IN (SELECT checkpoint FROM"           \
                " checkpoints) LIMIT ?)")                                                                              \
        X(PART_DROP_UNFINISHED,                                                                                        \
                "DELETE FROM checkpoint_parts WHERE part IN (SELECT part FROM checkpoint_parts WHERE checkpoint"       \
                " NOT IN (SELECT checkpoint FROM checkpoints) LIMIT ?)")

enum scn_statement {
#define SCN_STATEMENT_ENUM(name, sql) SCN_STATEMENT_##name,
        SCN_STATEMENT_LIST(SCN_STATEMENT_ENUM)
#undef SCN_STATEMENT_ENUM
        SCN_STATEMENT_COUNT,
};

/* Of a path, with an ending. */
#define SCN_DATABASE_PATH_BYTES (4096 + 256 + 16)

struct scn_database {
        sqlite3 *handle;
        char path[SCN_DATABASE_PATH_BYTES - 16]; /* for the faults, and for what lies beside it */
        sqlite3_stmt *statements[SCN_STATEMENT_COUNT];
        struct scn_guard_file main; /* when it was opened */
        struct scn_guard_file wal;  /* the same, or at the first commit */
        struct scn_guard *guard;    /* NULL: a file that is not ours to touch */
        uint64_t moves;             /* of the guard, when this handle's commit began */
        bool is_writer;
        bool has_no_verdict;      /* a commit failed without verdict, or none can be durable: nothing more is written */
        bool is_unsettled;        /* the disk was too full for what stood in the write-ahead file at opening */
        bool is_impatient;        /* locks are not waited for */
        bool had_wrong_size;      /* when it was opened; the upgrade that followed may have cut it */
        atomic_bool *is_given_up; /* borrowed; NULL: nobody asks */
        uint32_t busy_timeout_ms;
        uint64_t busy_waited_us; /* for the lock that is waited for now */
        uint32_t wal_pages;      /* wanted */
        uint32_t wal_frames;     /* in the write-ahead file, after the last commit of this handle */
        uint32_t wal_due;        /* at which the next upkeep is worth its while */
        uint32_t wal_held_count; /* upkeeps in a row that somebody who reads has kept from emptying it */
};

/* SQLite's, with the sizes that FORMAT.md gives. */
#define SCN_DATABASE_PAGE_BYTES 4096
#define SCN_DATABASE_WAL_HEAD_BYTES 32u
#define SCN_DATABASE_WAL_FRAME_BYTES (SCN_DATABASE_PAGE_BYTES + 24) /* a page with its head */

enum scn_database_kind {
        SCN_DATABASE_WRITE,
        SCN_DATABASE_READ,
        SCN_DATABASE_READ_FOREIGN, /* a file that is not ours to touch */
        SCN_DATABASE_READ_STILL,   /* nothing is made beside it: SCN_E_STORAGE_FULL if a write-ahead file is there */
        SCN_DATABASE_EXCLUSIVE,    /* for writing, and only if nobody else has it open: SCN_E_STORAGE_BUSY */
};

/* Opens the file with all settings and checks that it is a document of our format; a writer brings an older one to
 * it. An empty file becomes a document without contents if may_create. On failure the file is as it was, and
 * *database wants to be finished all the same. Errors as scn_journal_open(). */
SCN_NODISCARD enum scn_error scn_database_open(struct scn_database *database, const char *path,
        enum scn_database_kind kind, const struct scn_journal_options *options, bool may_create,
        struct scn_storage_fault *fault);
/* Not NULL: another program has written to the file, this was the last to leave it, and what stands in the write-ahead
 * file is there still; the caller settles it, as scn_guard_leave() says. */
SCN_NODISCARD struct scn_guard *scn_database_finish(struct scn_database *database);
/* scn_journal_let_give_up(). */
void scn_database_let_give_up(struct scn_database *database, atomic_bool *is_given_up);

/* The file's name without the directories before it, which are nobody's business who asks from afar. */
const char *scn_database_name(const struct scn_database *database);

/* SCN_E_CORRUPT: the file is longer or shorter than its pages, or these, or its texts, are not as the format says.
 * While something stands in the write-ahead file, the length says nothing. */
SCN_NODISCARD enum scn_error scn_database_check_size(struct scn_database *database, struct scn_storage_fault *fault);

/* What a fault's text calls a file: its name without the folder; a draft's name is nothing that anybody knows. */
const char *scn_database_label(const char *path);
/* SQLite's code as ours, with the fault. For everything but a commit. */
enum scn_error scn_database_map(struct scn_database *database, int code, struct scn_storage_fault *fault);

/* The statement, reset and without bindings. */
SCN_NODISCARD enum scn_error scn_database_prepare(struct scn_database *database, enum scn_statement which,
        sqlite3_stmt **statement_out, struct scn_storage_fault *fault);
/* Steps to the next row; *has_row_out false: there is none, and the statement has been reset. Also reset on error. */
SCN_NODISCARD enum scn_error scn_database_step(
        struct scn_database *database, sqlite3_stmt *statement, bool *has_row_out, struct scn_storage_fault *fault);
/* Runs a statement that gives no row, and resets it. */
SCN_NODISCARD enum scn_error scn_database_run(
        struct scn_database *database, sqlite3_stmt *statement, struct scn_storage_fault *fault);
/* Runs one of those without parameters. */
SCN_NODISCARD enum scn_error scn_database_execute(
        struct scn_database *database, enum scn_statement which, struct scn_storage_fault *fault);

/* Begins a transaction that sees one state (read) or is the only writer (write). */
SCN_NODISCARD enum scn_error scn_database_begin_read(struct scn_database *database, struct scn_storage_fault *fault);
void scn_database_end_read(struct scn_database *database);
SCN_NODISCARD enum scn_error scn_database_begin_write(struct scn_database *database, struct scn_storage_fault *fault);
/* Whether what is committed will be found by whoever opens the document next. SCN_E_OUTCOME_UNKNOWN: another program
 * has written to, replaced or removed the file or its write-ahead file; the transaction, if any, is taken back. */
SCN_NODISCARD enum scn_error scn_database_look(struct scn_database *database, struct scn_storage_fault *fault);
/* Commits durably, and rolls back if that fails. Errors as scn_journal_append(), and those of scn_database_look(). */
SCN_NODISCARD enum scn_error scn_database_commit(struct scn_database *database, struct scn_storage_fault *fault);
void scn_database_rollback(struct scn_database *database);
/* Whether commits are durable from now on; at first they are. Outside a transaction. If they cannot be made so again
 * nothing more is written here: SCN_E_OUTCOME_UNKNOWN. */
SCN_NODISCARD enum scn_error scn_database_set_durable(
        struct scn_database *database, bool is_durable, struct scn_storage_fault *fault);

/* Moves what is in the write-ahead file to its place if it is time. */
SCN_NODISCARD enum scn_error scn_database_upkeep(struct scn_database *database, struct scn_storage_fault *fault);

/* The same after a commit whose author waits: only if upkeep has been forgotten for long. */
void scn_database_upkeep_if_late(struct scn_database *database);
/* The size of the write-ahead file as far as it is in use after this handle's last commit. */
uint64_t scn_database_wal_bytes(const struct scn_database *database);

/* --- Between database.c, database_open.c and database_files.c --- */

bool scn_database_is_given_up(const struct scn_database *database);
/* Moves what stands in the write-ahead file to its place.
 *
 * What is there when the file is opened came from a process that died. If that happened because of a failed fsync,
 * some of it may be in the system's cache only, and no later fsync would write it. Moving it writes it again. */
SCN_NODISCARD enum scn_error scn_database_settle_wal(struct scn_database *database, struct scn_storage_fault *fault);
/* Before the file is opened: from then on it is guarded. */
SCN_NODISCARD enum scn_error scn_database_enter(struct scn_database *database, struct scn_storage_fault *fault);
/* Around what may write to the file itself. `error`, without an end to follow: another program has. */
SCN_NODISCARD enum scn_error scn_database_begin_move(
        struct scn_database *database, enum scn_error error, struct scn_storage_fault *fault);
void scn_database_end_move(struct scn_database *database);
/* The path with an ending. */
void scn_database_name_beside(const char *path, const char *ending, char path_out[SCN_DATABASE_PATH_BYTES]);
/* Before it is closed: where the file has lost its name, SQLite would leave behind what stands in the write-ahead file,
 * for whatever comes to stand there. */
void scn_database_leave_moved(struct scn_database *database);
/* When nobody has it open: what stands in the write-ahead file does not belong to what is in the file now. It is kept
 * as NAME.scene-left. False: it is there still. */
SCN_NODISCARD bool scn_database_set_wal_aside(const char *path);
/* Notes which write-ahead file is there, if there is one. */
void scn_database_note_wal(struct scn_database *database);
/* Whether no other program has written to the files. If one has, nothing more is written here, and of what it has put
 * there SQLite may say anything. */
bool scn_database_is_as_left(struct scn_database *database);
/* `error`, with a fault that says that another program has. */
enum scn_error scn_database_fail_overwritten(
        const struct scn_database *database, enum scn_error error, struct scn_storage_fault *fault);

/* Bind a slice: nothing is bound as an empty value, not as NULL. It must live until the statement is run. */
void scn_database_bind_blob(sqlite3_stmt *statement, int parameter, struct scn_slice bytes);
void scn_database_bind_text(sqlite3_stmt *statement, int parameter, struct scn_slice text);
/* A column's bytes, borrowed until the statement steps on; data == NULL for NULL only. */
struct scn_slice scn_database_column(sqlite3_stmt *statement, int column);
/* False if the column is not a blob of 16 bytes. */
SCN_NODISCARD bool scn_database_column_uid(sqlite3_stmt *statement, int column, struct scn_uid *uid_out);

#endif
