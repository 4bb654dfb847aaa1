/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_STORAGE_STORAGE_H
#define SCN_STORAGE_STORAGE_H

/* The seam of the storage: a data directory with one SQLite file per document (storage/FORMAT.md), and in each file
 * a journal of transactions by revision, the epochs, the clients with their answers, and checkpoints.
 *
 * It stands between "document" and "delta" on the path: a room hands over a turn's transactions as one batch, and
 * when scn_journal_append() returns SCN_OK the batch is on the disk and may be acknowledged. It knows nothing of
 * scenes and messages: digests, answers and payloads are bytes that come back as they were given.
 *
 * Everything here is synchronous, may wait for the disk, and belongs on a worker thread. There are no threads in it
 * and no clock: the caller gives the time. A handle is used by one thread at a time, but may wander between
 * threads. Several journal handles of one document may be in use at once, in several threads. Calls on a
 * struct scn_storage may overlap unless they name the same document; create, delete, undelete and rename need the
 * names involved to be otherwise idle in this process.
 *
 * Errors are those of the world (disk, memory, damage); each function names its own. What is beside it in every
 * function that touches the disk:
 *   SCN_E_NO_MEMORY      memory is out
 *   SCN_E_STORAGE_FULL   the disk (or the quota) is full; nothing was changed
 *   SCN_E_STORAGE_FAILED the system refused to read or write; nothing was changed
 *   SCN_E_STORAGE_BUSY   another program kept the file locked for longer than the timeout; nothing was changed
 *   SCN_E_CORRUPT        the file is damaged; the fault says where
 * Only functions that write a journal may also answer SCN_E_OUTCOME_UNKNOWN, see scn_journal_append(). */

#include <scn/error.h>
#include <scn/types.h>

#include <stdatomic.h>

/* ---------------------------------------------------------------- faults */

/* What stands behind an error, for a log line and for the operator. Every function that takes one fills it when it
 * fails and leaves it alone otherwise; NULL is allowed. */
struct scn_storage_fault {
        scn_revision revision; /* CORRUPT: the transaction or checkpoint that is damaged or missing; 0 = none */
        int64_t holder_pid;    /* IN_USE: the process that has the data directory; 0 = not known */
        int system_code;       /* SQLite's extended code, or errno; 0 = neither. For people only */
        char text[224];        /* one English line, cut if it is longer; names the file and the cause */
};

/* ------------------------------------------------------- data directory */

struct scn_storage;

/* Opens the data directory and locks it for this process: nobody else can open it until the handle is closed or the
 * process ends, however it ends. The directory is made (mode 0700) if it is missing, its parents are not. What an
 * interrupted scn_storage_create() left is removed.
 *
 * `path` is zero-terminated and borrowed. The caller owns the handle and ends it with scn_storage_close().
 * Errors: SCN_E_IN_USE, also for a second handle within this process, with fault->holder_pid. */
SCN_NODISCARD enum scn_error scn_storage_open(
        const char *path, struct scn_storage **storage_out, struct scn_storage_fault *fault);
/* How many write-ahead files it found then that a process had left and that need longer files than the documents
 * beside them, because somebody has put older copies there: each is kept as NAME.scene-left. Returns the file name of
 * the first of these documents, borrowed. */
const char *scn_storage_strange_wals(const struct scn_storage *storage, uint32_t *count_out);
/* All journals must be closed before. NULL is allowed. */
void scn_storage_close(struct scn_storage *storage);

/* So many bytes, and SCN_COPY_RESERVE_BYTES at least, are to stay free beside copies and files that come (below), of
 * which each counts with all that it will take. Before the first of these is made. */
#define SCN_COPY_RESERVE_BYTES (UINT64_C(16) << 20)
void scn_storage_keep_free(struct scn_storage *storage, uint64_t bytes);

/* Whether a process has this directory open as its data directory, without taking anything from one that is about to.
 * Where that cannot be found out: yes. `path` is zero-terminated. */
SCN_NODISCARD bool scn_storage_is_held(const char *path);

/* Bytes that may still be written to the file system under the directory. */
SCN_NODISCARD enum scn_error scn_storage_free_bytes(
        const struct scn_storage *storage, uint64_t *bytes_out, struct scn_storage_fault *fault);

/* A document's name is UTF-8 without NUL, at least one byte, and at most this many bytes when written as a file
 * name, where some characters take three bytes (FORMAT.md, File names). Else: SCN_E_BAD_NAME. */
#define SCN_STORAGE_FILE_NAME_BYTES_MAX 200

struct scn_storage_entry {
        struct scn_slice name; /* in the list's memory */
        uint64_t file_bytes;   /* without what still stands in the write-ahead file */
        int64_t deleted_us;    /* in the trash: when it was deleted, µs since 1970 UTC; else 0 */
};

struct scn_storage_list {
        struct scn_storage_entry *entries; /* owned; by name, bytewise; equal names (trash): newest first */
        size_t count;
        size_t capacity;
};

enum scn_storage_place {
        SCN_STORAGE_DOCUMENTS,
        SCN_STORAGE_TRASH,
};

/* All documents, or all in the trash. The caller ends the list with scn_storage_list_finish(). Files whose names
 * are not those of documents are passed over. */
SCN_NODISCARD enum scn_error scn_storage_list(const struct scn_storage *storage, enum scn_storage_place place,
        struct scn_storage_list *list_out, struct scn_storage_fault *fault);
void scn_storage_list_finish(struct scn_storage_list *list);

/* Fills the fault, which may be NULL, and returns SCN_E_FUTURE: the revision is beyond the last one there is. */
enum scn_error scn_storage_fail_future(struct scn_storage_fault *fault, scn_revision revision, scn_revision last);

/* SCN_OK if the document exists. Errors: SCN_E_NO_DOCUMENT, SCN_E_BAD_NAME. */
SCN_NODISCARD enum scn_error scn_storage_find(
        const struct scn_storage *storage, struct scn_slice name, struct scn_storage_fault *fault);

struct scn_storage_birth {
        struct scn_uid uid;      /* the document's, not none (asserts) */
        int64_t created_us;      /* µs since 1970 UTC */
        struct scn_slice origin; /* the caller's own note about where it came from; bytes, may be absent; ≤ 64 KiB */
};

/* Makes a document of revision 0 without checkpoint. It is there whole, or, after an error or a crash, not at all.
 * Errors: SCN_E_DOCUMENT_EXISTS, SCN_E_BAD_NAME. */
SCN_NODISCARD enum scn_error scn_storage_create(const struct scn_storage *storage, struct scn_slice name,
        const struct scn_storage_birth *birth, struct scn_storage_fault *fault);

/* The same in two steps, for a document that shall not be seen before it has been filled: a journal on a nameless
 * file, to which checkpoints and transactions may be written; then it gets its name. Whoever closes the journal
 * instead leaves a file that the next scn_storage_open() removes. */
struct scn_journal;
SCN_NODISCARD enum scn_error scn_storage_draft(const struct scn_storage *storage, const struct scn_storage_birth *birth,
        struct scn_journal **journal_out, struct scn_storage_fault *fault);
/* Takes the journal (also on error) and closes it: the document is opened by its name from now on.
 * Errors: SCN_E_DOCUMENT_EXISTS, SCN_E_BAD_NAME; the draft is then gone. */
SCN_NODISCARD enum scn_error scn_storage_publish(const struct scn_storage *storage, struct scn_journal *journal,
        struct scn_slice name, struct scn_storage_fault *fault);

/* The same, without a name: nothing stays of the draft. */
void scn_storage_discard(const struct scn_storage *storage, struct scn_journal *journal);

/* The same as publishing, also where a document has the name already: that one goes to the trash. Should we die on the
 * way, the next scn_storage_open() ends it: either the old one is there as if nothing had been, or the new one is, and
 * the old one is in the trash. Wants the old document closed, else SCN_E_STORAGE_BUSY. */
SCN_NODISCARD enum scn_error scn_storage_replace(const struct scn_storage *storage, struct scn_journal *journal,
        struct scn_slice name, int64_t now_us, struct scn_storage_fault *fault);

/* The file name of a document (FORMAT.md, File names), zero-terminated. SCN_E_BAD_NAME. */
#define SCN_STORAGE_FILE_NAME_TEXT_BYTES (SCN_STORAGE_FILE_NAME_BYTES_MAX + 7)
SCN_NODISCARD enum scn_error scn_storage_file_name(
        struct scn_slice name, char text_out[SCN_STORAGE_FILE_NAME_TEXT_BYTES], struct scn_storage_fault *fault);

/* These three want the document closed, else SCN_E_STORAGE_BUSY; a damaged document can be deleted, undeleted and
 * renamed like any. Errors: SCN_E_NO_DOCUMENT, SCN_E_DOCUMENT_EXISTS, SCN_E_BAD_NAME. */

/* Moves the document to the trash. */
SCN_NODISCARD enum scn_error scn_storage_delete(
        const struct scn_storage *storage, struct scn_slice name, int64_t now_us, struct scn_storage_fault *fault);
/* Brings back the one deleted last, under its name. */
SCN_NODISCARD enum scn_error scn_storage_undelete(
        const struct scn_storage *storage, struct scn_slice name, struct scn_storage_fault *fault);
SCN_NODISCARD enum scn_error scn_storage_rename(const struct scn_storage *storage, struct scn_slice name,
        struct scn_slice new_name, struct scn_storage_fault *fault);

#define SCN_STORAGE_TRASH_US (INT64_C(30) * 24 * 3600 * 1000000)

/* Removes for good what was deleted longer than SCN_STORAGE_TRASH_US before now. *removed_out may be NULL. */
SCN_NODISCARD enum scn_error scn_storage_purge(
        const struct scn_storage *storage, int64_t now_us, uint32_t *removed_out, struct scn_storage_fault *fault);

/* --------------------------------------------------------------- journal */

enum scn_journal_mode {
        SCN_JOURNAL_WRITE, /* the room's handle, and a checkpoint's */
        SCN_JOURNAL_READ,  /* history, a document made from the file alone, backup, verification */
};

struct scn_journal_options {
        enum scn_journal_mode mode;
        uint32_t busy_timeout_ms; /* how long to wait for another writer; 0 = 5000 */
        uint32_t wal_pages;       /* pages of 4 KiB in the write-ahead file from which upkeep empties it; 0 = 1000 */
};

/* Opens a document. With SCN_JOURNAL_WRITE an older file is first brought to this version, step by step, and what
 * an earlier process left in the write-ahead file is put in its place, durably (on a full disk: before the first
 * write, which is refused as SCN_E_STORAGE_FULL until then; reading works).
 *
 * The caller owns the handle and ends it with scn_journal_close(). `options` NULL: for writing, with defaults.
 * Errors: SCN_E_NO_DOCUMENT, SCN_E_BAD_NAME, SCN_E_NOT_A_DOCUMENT, SCN_E_NEWER_FORMAT, SCN_E_CORRUPT,
 * SCN_E_OLDER_FORMAT (reading only). The file is then as it was. */
SCN_NODISCARD enum scn_error scn_journal_open(const struct scn_storage *storage, struct scn_slice name,
        const struct scn_journal_options *options, struct scn_journal **journal_out, struct scn_storage_fault *fault);
/* The same for a file anywhere, for reading only and without a data directory (`scenectl verify`). `path` is
 * zero-terminated. */
SCN_NODISCARD enum scn_error scn_journal_open_file(
        const char *path, struct scn_journal **journal_out, struct scn_storage_fault *fault);
/* The same, for reading, where the disk is so full that SCN_E_STORAGE_FULL is all that scn_journal_open() answers: the
 * file is read as it stands, and nothing is made beside it. Nobody may write to it meanwhile. SCN_E_STORAGE_FULL: what
 * a killed process has left beside the file would be needed. */
SCN_NODISCARD enum scn_error scn_journal_open_still(const struct scn_storage *storage, struct scn_slice name,
        struct scn_journal **journal_out, struct scn_storage_fault *fault);
/* NULL is allowed. The last handle of a document leaves one clean file behind. Readers, writers and backups made
 * from the handle must have ended (asserts). */
void scn_journal_close(struct scn_journal *journal);

/* What a transaction and a record count for in journal_bytes beside their payloads. */
#define SCN_JOURNAL_ROW_COST 64u

struct scn_journal_state {
        struct scn_uid uid;
        int64_t created_us;
        scn_revision last_revision;       /* 0: no transaction yet */
        int64_t last_time_us;             /* of the last transaction; 0: none yet */
        uint64_t epoch;                   /* the last one begun; 0: none yet */
        bool has_checkpoint;              /* a complete one */
        scn_revision checkpoint_revision; /* the newest complete one's */
        uint64_t checkpoint_bytes;        /* its size */
        uint64_t journal_bytes;           /* payload of all transactions behind that checkpoint (or behind 0) */
        uint64_t wal_bytes;               /* the write-ahead file, as far as it is in use */
        scn_revision base;                /* the first state there is: a checkpoint of it is kept; 0: from the start */
        scn_revision judged;              /* up to here it has been looked at what can be folded */
};

SCN_NODISCARD enum scn_error scn_journal_state(
        struct scn_journal *journal, struct scn_journal_state *state_out, struct scn_storage_fault *fault);
/* What the birth said; borrowed until the journal is closed. */
struct scn_slice scn_journal_origin(const struct scn_journal *journal);

/* ---------------------------------------------------------------- epochs */

struct scn_journal_epoch {
        uint64_t id;        /* random, from the caller; never 0 */
        scn_revision began; /* the last revision there was when it began */
        scn_revision ended; /* the last revision when the next one began; SCN_REVISION_MAX for the present one */
        int64_t time_us;
};

/* Notes a new epoch, durably; to be called after each opening for service, before anyone is served. It begins at the
 * file's last revision. Errors as scn_journal_append(); SCN_E_BAD_BATCH: the id is 0 or has been used before. */
SCN_NODISCARD enum scn_error scn_journal_begin_epoch(
        struct scn_journal *journal, uint64_t id, int64_t time_us, struct scn_storage_fault *fault);
/* *found_out says whether the file lists this epoch. */
SCN_NODISCARD enum scn_error scn_journal_find_epoch(struct scn_journal *journal, uint64_t id,
        struct scn_journal_epoch *epoch_out, bool *found_out, struct scn_storage_fault *fault);

/* The newest epochs, newest first, at most so many. */
SCN_NODISCARD enum scn_error scn_journal_list_epochs(struct scn_journal *journal, struct scn_journal_epoch *epochs_out,
        uint32_t epochs_max, uint32_t *count_out, struct scn_storage_fault *fault);

/* ---------------------------------------------------------- transactions */

/* What one op changed. Absent and empty payloads are the same: both come back with size 0. */
struct scn_journal_record {
        uint32_t kind; /* the caller's numbering */
        struct scn_uid node;
        struct scn_slice before; /* of any size that a slice can have */
        struct scn_slice after;
};

/* Limits of the small things in a transaction; what exceeds them is SCN_E_BAD_BATCH. */
#define SCN_JOURNAL_AUTHOR_BYTES_MAX 1024
#define SCN_JOURNAL_HASH_BYTES_MAX 64
#define SCN_JOURNAL_DIGEST_BYTES_MAX 1024
/* Integers are kept in 63 bits: number, group and step beyond are SCN_E_BAD_BATCH too. */

/* The end of the year 9999: no transaction is later, so that times can be added to and written down. */
#define SCN_JOURNAL_TIME_US_MAX 253402300799999999

struct scn_journal_transaction {
        scn_revision revision;
        int64_t time_us;               /* µs since 1970 UTC; above the one before, up to SCN_JOURNAL_TIME_US_MAX */
        struct scn_slice author;       /* UTF-8 */
        struct scn_uid client;         /* none: made by the server itself; `number` is then 0 */
        uint64_t number;               /* the client's; above its last one */
        struct scn_slice content_hash; /* of the request */
        uint64_t group;
        uint32_t cause; /* the caller's numbering */
        uint64_t step;
        struct scn_slice digest; /* of the document after this transaction */
        struct scn_slice answer; /* what the client was told; of any size that a slice can have */
        const struct scn_journal_record *records;
        uint32_t records_count;
};

/* Appends all transactions or none, durably, as one commit. They are borrowed for the call. The first revision must
 * follow the file's last one, and each the one before.
 *
 * SCN_E_STORAGE_FULL, STORAGE_FAILED, STORAGE_BUSY, NO_MEMORY: none is stored, surely; the journal can go on.
 * SCN_E_OUTCOME_UNKNOWN: the disk gave no verdict, or another program has replaced or removed the file (then nothing is
 * stored). From now on the handle refuses to write with the same error; close all handles of the document and open it
 * again, the file then decides.
 * SCN_E_BAD_BATCH: the batch does not continue the journal (revision, time, a client's number), or breaks a limit
 * above; none is stored. */
SCN_NODISCARD enum scn_error scn_journal_append(struct scn_journal *journal,
        const struct scn_journal_transaction *transactions, uint32_t count, struct scn_storage_fault *fault);

/* Keeps the write-ahead file small; to be called now and then when nobody waits for the journal (an append does it by
 * itself only at four times the pages). Does nothing while there is little to do. An error is only worth a line in
 * the log: nothing is lost by it, and the next call tries again. */
SCN_NODISCARD enum scn_error scn_journal_upkeep(struct scn_journal *journal, struct scn_storage_fault *fault);

/* The write-ahead file after the last append and upkeep: longer than this only if somebody keeps reading an old state,
 * for then it cannot be emptied. For the default of wal_pages. */
#define SCN_JOURNAL_WAL_BYTES_MAX (UINT64_C(32) << 20)
struct scn_journal_wal {
        uint64_t bytes;      /* in use */
        uint32_t held_count; /* so often in a row it was to be emptied and somebody kept it from that */
};
/* Costs nothing. */
struct scn_journal_wal scn_journal_wal(const struct scn_journal *journal);

/* Some transactions in a row, with the memory they stand in. */
struct scn_journal_page;

struct scn_journal_range {
        scn_revision from;         /* the first wanted; below the journal's first there is nothing */
        scn_revision to;           /* the last wanted; 0 = up to the last there is */
        uint32_t transactions_max; /* of a page; 0 = 1000 */
        size_t bytes_max;          /* of a page, roughly; 0 = 1 MiB. One transaction always fits */
        bool without_records;      /* heads only: records_count is told, records is NULL */
};

/* Reads a page. It is empty if the file ends before `from` (or `to` lies before it). Revisions that were folded away
 * are passed over, so it may also be empty because all wanted were. No lock outlives the call, so a reader may take its
 * time between pages. The caller ends the page with scn_journal_page_destroy().
 * Errors: SCN_E_CORRUPT: a transaction is damaged or missing; fault->revision names it. The transactions before it
 * can be read by asking for less. */
SCN_NODISCARD enum scn_error scn_journal_read(struct scn_journal *journal, const struct scn_journal_range *range,
        struct scn_journal_page **page_out, struct scn_storage_fault *fault);
/* NULL is allowed in all of these: an empty page. */
uint32_t scn_journal_page_count(const struct scn_journal_page *page);
/* index < count (asserts); borrowed until the page is destroyed. */
const struct scn_journal_transaction *scn_journal_page_get(const struct scn_journal_page *page, uint32_t index);
/* Bytes of payload in it: records and answers. */
size_t scn_journal_page_bytes(const struct scn_journal_page *page);
void scn_journal_page_destroy(struct scn_journal_page *page);

/* Whether the journal has a state of this revision: SCN_OK. SCN_E_FUTURE, SCN_E_FOLDED, SCN_E_BEFORE_RETENTION: no, and
 * the fault's text names the nearest there are. */
SCN_NODISCARD enum scn_error scn_journal_has_revision(
        struct scn_journal *journal, scn_revision revision, struct scn_storage_fault *fault);

/* The last revision whose time is at or before the one given, of those that are kept; 0 if there is none. */
SCN_NODISCARD enum scn_error scn_journal_find_time(
        struct scn_journal *journal, int64_t time_us, scn_revision *revision_out, struct scn_storage_fault *fault);

/* ------------------------------------------------------------------ tags */

/* Names for revisions. A tag names one revision at a time and can be set anew. */
#define SCN_JOURNAL_TAG_BYTES_MAX 256
#define SCN_JOURNAL_TAGS_MAX 10000

struct scn_journal_tag {
        struct scn_slice name; /* UTF-8, 1 to SCN_JOURNAL_TAG_BYTES_MAX bytes */
        scn_revision revision;
        int64_t time_us;         /* when it was set */
        struct scn_slice author; /* who set it */
};

struct scn_journal_tags {
        struct scn_journal_tag *entries; /* owned; by revision, equal ones by name, bytewise */
        size_t count;
        size_t capacity;
};

/* Sets or moves a tag, durably, on any handle for writing: it may be another than the one that appends. Errors as
 * scn_journal_append(); SCN_E_BAD_BATCH: the name or the author is no such text; SCN_E_TOO_MANY_TAGS; those of
 * scn_journal_has_revision(). */
SCN_NODISCARD enum scn_error scn_journal_set_tag(
        struct scn_journal *journal, const struct scn_journal_tag *tag, struct scn_storage_fault *fault);
/* The same the other way. SCN_E_NO_TAG: there is none of this name. */
SCN_NODISCARD enum scn_error scn_journal_remove_tag(
        struct scn_journal *journal, struct scn_slice name, struct scn_storage_fault *fault);
/* SCN_E_NO_TAG. */
SCN_NODISCARD enum scn_error scn_journal_find_tag(struct scn_journal *journal, struct scn_slice name,
        scn_revision *revision_out, struct scn_storage_fault *fault);
/* All of them. The caller ends the list with scn_journal_tags_finish(). */
SCN_NODISCARD enum scn_error scn_journal_list_tags(
        struct scn_journal *journal, struct scn_journal_tags *tags_out, struct scn_storage_fault *fault);
void scn_journal_tags_finish(struct scn_journal_tags *tags);

/* --------------------------------------------------------------- clients */

struct scn_journal_client {
        uint8_t author[SCN_JOURNAL_AUTHOR_BYTES_MAX];
        uint32_t author_bytes;
        uint64_t last_number;
        scn_revision last_revision;
        int64_t last_time_us;
};

/* A client that has stored a transaction and is not forgotten. */
SCN_NODISCARD enum scn_error scn_journal_find_client(struct scn_journal *journal, struct scn_uid uid,
        struct scn_journal_client *client_out, bool *found_out, struct scn_storage_fault *fault);
/* The transaction that this client sent under this number, without its records, as a page of one; an empty page if
 * there is none, or if the client is forgotten. SCN_E_FOLDED: it was stored, and folded into that of fault->revision;
 * SCN_E_BEFORE_RETENTION: if it was stored, it is not kept. */
SCN_NODISCARD enum scn_error scn_journal_find_answer(struct scn_journal *journal, struct scn_uid client,
        uint64_t number, struct scn_journal_page **page_out, struct scn_storage_fault *fault);

/* Whether what is appended will be found by whoever opens the document next: SCN_E_OUTCOME_UNKNOWN if another program
 * has written to, replaced or removed the file or its write-ahead file; then nothing is written any more, and the
 * document must be closed by all who have it open. When that is done, the file is what the other program has made of
 * it, or the document as it was acknowledged if it still is that together with its write-ahead file. */
SCN_NODISCARD enum scn_error scn_journal_look(struct scn_journal *journal, struct scn_storage_fault *fault);

#define SCN_JOURNAL_CLIENT_UNUSED_US (INT64_C(30) * 24 * 3600 * 1000000)

/* Forgets clients last heard of more than SCN_JOURNAL_CLIENT_UNUSED_US before now: their numbers begin anew. Their
 * transactions keep author and client. Who has one among the last 1024 revisions stays for now. Must be called on the
 * handle that appends. A bounded piece of work; *is_done_out says whether nothing is left to do. Errors as
 * scn_journal_append(). */
SCN_NODISCARD enum scn_error scn_journal_forget_clients(
        struct scn_journal *journal, int64_t now_us, bool *is_done_out, struct scn_storage_fault *fault);

/* ------------------------------------------------------ folding, retention */

/* Old history is folded in windows of revisions in a row: what a window's last transaction leads to stays, and which
 * of the others stay, with which records, says the caller, who knows what they mean and has proven that it is so. A
 * window ends at a multiple of SCN_JOURNAL_FOLD_WINDOW, at a tag's revision or at a checkpoint's. */
#define SCN_JOURNAL_FOLD_WINDOW 1024u
/* A transaction whose answer is longer keeps its records. */
#define SCN_JOURNAL_FOLD_ANSWER_BYTES_MAX 65536u

/* The first window that has not been judged and ends at or below `to`; *last_out is 0 if there is none. */
SCN_NODISCARD enum scn_error scn_journal_next_fold(struct scn_journal *journal, scn_revision to,
        scn_revision *first_out, scn_revision *last_out, struct scn_storage_fault *fault);

/* What becomes of a transaction of the window. */
struct scn_journal_fate {
        scn_revision revision;
        scn_revision into;       /* itself: it stays; else the later one of its client that it goes up in */
        struct scn_slice digest; /* it stays: of the document after it */
        const struct scn_journal_record *records; /* NULL: as they are */
        uint32_t records_count;
};

/* Gives all transactions of a window their fates, in one short commit, which need not be durable: the next that is
 * takes it along. There must be one for each, in order; the last stays, with its digest, else SCN_E_BAD_BATCH, as where
 * a tag or a checkpoint names a revision before the last. On a handle for writing which is not the room's. Errors as
 * scn_journal_append(). */
SCN_NODISCARD enum scn_error scn_journal_fold(struct scn_journal *journal, const struct scn_journal_fate *fates,
        uint32_t count, struct scn_storage_fault *fault);
/* Drops history from before a time, a piece of it: all that lies before the newest complete checkpoint of a revision
 * that is no younger and no tag is below. That is the first state there is from then on (scn_journal_state.base).
 * *removed_out counts transactions; *is_done_out says whether nothing is left to do. As scn_journal_fold(): in short
 * commits that need not be durable, on a handle which is not the room's. */
SCN_NODISCARD enum scn_error scn_journal_retain(struct scn_journal *journal, int64_t from_us, uint64_t *removed_out,
        bool *is_done_out, struct scn_storage_fault *fault);

/* Notes that nothing up to this revision, a window's last, is to be looked at again. */
SCN_NODISCARD enum scn_error scn_journal_note_judged(
        struct scn_journal *journal, scn_revision revision, struct scn_storage_fault *fault);

/* ----------------------------------------------------------- checkpoints */

/* Bytes of a checkpoint's part, at most. */
#define SCN_CHECKPOINT_PART_BYTES_MAX (256u * 1024u)

struct scn_checkpoint_writer;
struct scn_checkpoint_reader;

struct scn_checkpoint_info {
        scn_revision revision;
        int64_t time_us;
        uint64_t bytes;
        uint32_t parts_count;
        struct scn_slice digest; /* borrowed from the reader */
};

/* Begins a checkpoint of the state at `revision`, which must be in the file (or 0), else SCN_E_BAD_BATCH. Each part
 * is a short commit of its own, so that the room's appends get in between; nobody sees the checkpoint before it is
 * finished. One writer at a time for a document; what an earlier one left unfinished is removed.
 * The journal, a handle for writing and not the room's, must outlive the writer. */
SCN_NODISCARD enum scn_error scn_checkpoint_writer_create(struct scn_journal *journal, scn_revision revision,
        int64_t time_us, struct scn_checkpoint_writer **writer_out, struct scn_storage_fault *fault);
/* Not finished: the parts written so far are removed, now or by the next writer. NULL is allowed. */
void scn_checkpoint_writer_destroy(struct scn_checkpoint_writer *writer);
/* 1 to SCN_CHECKPOINT_PART_BYTES_MAX bytes (asserts), borrowed for the call. */
SCN_NODISCARD enum scn_error scn_checkpoint_writer_append(
        struct scn_checkpoint_writer *writer, struct scn_slice part, struct scn_storage_fault *fault);
/* Makes it valid, durably. The digest must be, byte for byte, the one that the journal has for the revision, else
 * SCN_E_CORRUPT: one of both is wrong. (At revision 0 there is nothing to compare.) */
SCN_NODISCARD enum scn_error scn_checkpoint_writer_finish(
        struct scn_checkpoint_writer *writer, struct scn_slice digest, struct scn_storage_fault *fault);

/* The newest complete checkpoint at or below the revision; *reader_out is NULL if there is none. */
SCN_NODISCARD enum scn_error scn_checkpoint_reader_create(struct scn_journal *journal, scn_revision at_most,
        struct scn_checkpoint_reader **reader_out, struct scn_storage_fault *fault);
void scn_checkpoint_reader_destroy(struct scn_checkpoint_reader *reader);
struct scn_checkpoint_info scn_checkpoint_reader_info(const struct scn_checkpoint_reader *reader);
/* The next part, as it was given, borrowed until the next call; data == NULL after the last. No lock outlives the
 * call. Errors: SCN_E_CORRUPT, with the checkpoint's revision; SCN_E_NO_CHECKPOINT: it was dropped meanwhile. */
SCN_NODISCARD enum scn_error scn_checkpoint_reader_next(
        struct scn_checkpoint_reader *reader, struct scn_slice *part_out, struct scn_storage_fault *fault);

/* Drops complete checkpoints below the revision, never the newest one nor the one that was made last nor that with
 * which the history begins. A bounded piece of work; *is_done_out says whether nothing is left to do. Errors as
 * scn_journal_append(). */
SCN_NODISCARD enum scn_error scn_checkpoint_drop(
        struct scn_journal *journal, scn_revision below, bool *is_done_out, struct scn_storage_fault *fault);

/* Drops one complete checkpoint that is not needed for going back quickly, if there is one, or some of what is left of
 * those dropped before. Kept are the newest two, and of the older ones so many that the way from one to the next is no
 * longer than the way from there to the newest, in bytes of the journal (FORMAT.md, Checkpoints). A bounded piece of
 * work; *is_done_out says whether nothing is left to do. Errors as scn_journal_append(). */
SCN_NODISCARD enum scn_error scn_checkpoint_thin(
        struct scn_journal *journal, bool *is_done_out, struct scn_storage_fault *fault);

/* -------------------------------------------------- backup, verification */

struct scn_backup;

/* Copies the document, as it is at the first step, to a new file (mode 0600), step by step, while others read and
 * write. Nothing is under the final path before scn_backup_finish(). While it lasts the write-ahead file cannot be
 * emptied. `path` is zero-terminated and borrowed for the call; the journal must outlive the backup and is used for
 * nothing else meanwhile (asserts).
 * Errors: SCN_E_DOCUMENT_EXISTS: there is something under the path. */
SCN_NODISCARD enum scn_error scn_backup_create(
        struct scn_journal *journal, const char *path, struct scn_backup **backup_out, struct scn_storage_fault *fault);
/* Copies about so many bytes more. *left_out is how many are left, 0 = ready to finish. */
SCN_NODISCARD enum scn_error scn_backup_step(
        struct scn_backup *backup, uint64_t bytes, uint64_t *left_out, struct scn_storage_fault *fault);
/* Makes the copy durable and gives it its name. Only when nothing is left (asserts). */
SCN_NODISCARD enum scn_error scn_backup_finish(struct scn_backup *backup, struct scn_storage_fault *fault);
/* Not finished: the copy is removed. NULL is allowed. */
void scn_backup_destroy(struct scn_backup *backup);

/* A copy that is only read, once, from front to back, to be sent somewhere: made like a backup, in the data directory,
 * under a name that the next scn_storage_open() removes; as soon as it is whole it has none. */
struct scn_copy;

/* `number`: another one for each copy that is there at a time. */
SCN_NODISCARD enum scn_error scn_copy_create(const struct scn_storage *storage, struct scn_slice name, uint64_t number,
        struct scn_copy **copy_out, struct scn_storage_fault *fault);
/* Copies about so many bytes more. *left_out is how many are left, 0 = ready to be read. SCN_E_STORAGE_FULL also if
 * less would stay free beside it than scn_storage_keep_free() says. */
SCN_NODISCARD enum scn_error scn_copy_step(
        struct scn_copy *copy, uint64_t bytes, uint64_t *left_out, struct scn_storage_fault *fault);
/* How many bytes it has. Only when nothing is left to copy, like reading (both assert). */
uint64_t scn_copy_bytes(const struct scn_copy *copy);
/* The next bytes; *size_out is less than asked for only at the end. */
SCN_NODISCARD enum scn_error scn_copy_read(
        struct scn_copy *copy, uint8_t *bytes_out, size_t size, size_t *size_out, struct scn_storage_fault *fault);
/* Nothing stays of it. NULL is allowed. */
void scn_copy_destroy(struct scn_copy *copy);

/* A document's file that comes from somewhere else, in parts, and shall become a document here: received under a name
 * that the next scn_storage_open() removes, then a draft like that of scn_storage_draft(), which the caller verifies
 * and publishes, or discards. */
struct scn_adoption;

/* `number`: another one for each that is there at a time. `bytes`: of the whole file. SCN_E_STORAGE_FULL also if less
 * would stay free beside it than scn_storage_keep_free() says. The storage must outlive the adoption. */
SCN_NODISCARD enum scn_error scn_adoption_create(const struct scn_storage *storage, uint64_t number, uint64_t bytes,
        struct scn_adoption **adoption_out, struct scn_storage_fault *fault);
/* The next part, borrowed for the call; in sum no more than was said (asserts). */
SCN_NODISCARD enum scn_error scn_adoption_write(
        struct scn_adoption *adoption, struct scn_slice part, struct scn_storage_fault *fault);
/* All is there (asserts): makes it durable and opens it, for writing, as the draft of a document. Once only, also after
 * an error. Errors as scn_journal_open(); whether what is in it is right is for the caller to verify. */
SCN_NODISCARD enum scn_error scn_adoption_open(
        struct scn_adoption *adoption, struct scn_journal **journal_out, struct scn_storage_fault *fault);
/* What has not become a draft is removed. NULL is allowed. */
void scn_adoption_destroy(struct scn_adoption *adoption);

/* From here on reading is given up, as SCN_E_STOPPING, as soon as *is_given_up is true, which another thread may make
 * it. Borrowed until the journal is closed. */
void scn_journal_let_give_up(struct scn_journal *journal, atomic_bool *is_given_up);
/* From another thread, when it has become true: ends also what looks at nothing, SQLite's own check, if that is under
 * way just now. The journal must not be closed meanwhile. */
void scn_journal_interrupt(struct scn_journal *journal);

/* Reads everything: that the schema and the file's length are those of the format, SQLite's own structure, that no row
 * says what this storage could not have written, each transaction's checksum and place in the row of revisions, each
 * checkpoint part, the clients' runs. SCN_OK: all is well. SCN_E_CORRUPT: the first fault found. Takes as long as
 * the file is large, in short reads but for SQLite's own check. What the payloads mean is the caller's to verify. */
SCN_NODISCARD enum scn_error scn_journal_verify(struct scn_journal *journal, struct scn_storage_fault *fault);

#endif
