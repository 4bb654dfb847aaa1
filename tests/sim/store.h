/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_SIM_STORE_H
#define SCN_TESTS_SIM_STORE_H

/* A storage in memory behind the functions of storage/storage.h, linked instead of the real one. It does what that
 * header promises and can do what disks do: be full, refuse, give no verdict, be put back to an older state. What is
 * stored outlives the handles that wrote it, so a server can be cut off from it at any moment (a crash).
 *
 * One disk at a time is mounted; a second one within a process waits for the first to be unmounted. */

#include "storage/storage.h"
#include "tests/lib/random.h"

/* One stored transaction; shared by all copies of the document. */
struct sim_transaction {
        uint32_t references;
        size_t bytes; /* of payload */
        struct scn_journal_transaction transaction;
};

struct sim_checkpoint {
        uint64_t number; /* in the order in which they were finished */
        struct scn_checkpoint_info info;
        uint8_t digest[SCN_JOURNAL_DIGEST_BYTES_MAX];
        struct sim_part *parts; /* list */
        struct sim_part *last;
};

struct sim_client_row {
        struct scn_uid uid;
        struct scn_journal_client client;
        scn_revision since; /* its run of numbers began here */
        bool is_forgotten;
};

struct sim_tag {
        uint8_t name[SCN_JOURNAL_TAG_BYTES_MAX];
        uint8_t author[SCN_JOURNAL_AUTHOR_BYTES_MAX];
        struct scn_journal_tag tag; /* its slices are set when it is told */
};

/* What folding has made of a transaction. */
struct sim_fate {
        scn_revision into;           /* itself: it is there */
        struct sim_transaction *now; /* with other records or another digest; NULL: as it was */
};

enum sim_place {
        SIM_DOCUMENTS,
        SIM_TRASH,
        SIM_DRAFTS, /* nameless */
        SIM_FILES,  /* somewhere else, by path */
};

struct sim_document {
        struct sim_document *next;
        enum sim_place place;
        uint8_t *name;
        uint32_t name_size;
        int64_t deleted_us;
        struct scn_uid uid;
        int64_t created_us;
        uint8_t *origin;
        uint32_t origin_size;
        struct sim_transaction **transactions; /* revision r at r - 1 */
        size_t transactions_count, transactions_capacity;
        struct sim_fate *fates; /* of the first that many: they have been judged */
        size_t fates_count, fates_capacity;
        scn_revision base;
        struct scn_journal_epoch *epochs;
        size_t epochs_count, epochs_capacity;
        struct sim_client_row *clients;
        size_t clients_count, clients_capacity;
        struct sim_checkpoint **checkpoints; /* complete ones, by revision */
        size_t checkpoints_count, checkpoints_capacity;
        uint64_t checkpoints_ever;
        struct sim_tag *tags;
        size_t tags_count, tags_capacity;
        uint32_t handles_count;
        struct sim_document *next_contents; /* what another program has written over it, once all have left it */
};

/* What may go wrong; all in percent of calls, asked by coin. */
struct sim_disk_faults {
        enum scn_error write_error; /* FULL, FAILED, BUSY: surely not stored */
        uint32_t write_percent;
        uint32_t unknown_percent; /* no verdict: stored or not, by coin */
        uint32_t read_percent;    /* STORAGE_FAILED */
};

struct sim_disk {
        struct sim_document *documents;
        struct scn_storage *storage; /* who has it open, or NULL */
        struct scn_journal *handles;
        struct sim_disk_faults faults;
        struct scn_random *random;
        uint64_t job; /* number of the job that runs; 0: none, nobody may wait for the disk */
        bool (*is_running)(void *data, uint64_t job);    /* submitted, and its end not told yet */
        void (*on_broken)(void *data, const char *what); /* the caller broke a rule of storage.h */
        /* Somebody has put other contents in the document's place. */
        void (*on_replace)(void *data, const struct sim_document *before, const struct sim_document *after);
        void *data;
};

void sim_disk_mount(struct sim_disk *disk);
/* Ends all that is stored. Nobody may have it open. */
void sim_disk_unmount(struct sim_disk *disk);
/* From now on all handles there are write and read nothing: their process is dead. */
void sim_disk_detach(struct sim_disk *disk);

struct sim_document *sim_disk_find(const struct sim_disk *disk, enum sim_place place, struct scn_slice name);
/* A copy of a document as it is, not on any disk; and the way back: over what is there by this name. */
struct sim_document *sim_document_copy(const struct sim_document *document);
void sim_document_destroy(struct sim_document *document);
/* Another program copies over the document by this name, which must be there: takes the copy, and returns whether it
 * has. Not over one that is opened still: nobody would notice. */
bool sim_disk_write_over(struct sim_disk *disk, struct sim_document *copy);
/* Whether a document that was written over is still open. */
bool sim_disk_is_written_over(const struct sim_disk *disk);
/* Takes the copy. No handle may be open. */
void sim_disk_put_back(struct sim_disk *disk, struct sim_document *copy);

#endif
