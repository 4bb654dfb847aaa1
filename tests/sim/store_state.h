/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_SIM_STORE_STATE_H
#define SCN_TESTS_SIM_STORE_STATE_H

/* What the files of the storage fake share. */

#include "tests/sim/store.h"

struct scn_storage {
        struct sim_disk *disk;
        bool is_dead;
};

struct scn_journal {
        struct scn_journal *next; /* of the disk */
        struct sim_disk *disk;
        struct sim_document *document; /* NULL: dead */
        bool is_writer;
        bool is_still; /* open_still */
        bool is_dead;
        bool is_poisoned;
        uint64_t user;             /* the job that used it last */
        uint32_t dependents_count; /* readers, writers, backups */
        uint8_t *origin;
        uint32_t origin_size;
};

struct sim_part {
        struct sim_part *next;
        uint32_t size;
        uint8_t bytes[];
};

enum sim_access {
        SIM_READ,
        SIM_WRITE,
};

struct sim_disk *sim_store_disk(void);
/* By coin, or because its process is dead: does this call fail? Notes who calls. */
enum scn_error sim_store_ask(
        struct sim_disk *disk, bool is_dead, enum sim_access access, struct scn_storage_fault *fault);
/* The same for a document of this name: SCN_E_BAD_NAME. */
enum scn_error sim_store_ask_about(const struct scn_storage *storage, enum sim_access access, struct scn_slice name,
        struct scn_storage_fault *fault);
enum scn_error sim_store_fail(struct scn_storage_fault *fault, enum scn_error error);
/* The same for a journal; SCN_E_OUTCOME_UNKNOWN among its answers: the caller then decides whether it is done. */
enum scn_error sim_journal_ask(struct scn_journal *journal, enum sim_access access, struct scn_storage_fault *fault);
/* The same for what is written. SCN_OK: do it and say so. Else *is_done says whether to do it all the same. */
enum scn_error sim_journal_ask_write(struct scn_journal *journal, bool *is_done, struct scn_storage_fault *fault);

/* A handle has been closed. */
void sim_store_left(struct sim_disk *disk, struct sim_document *document);
uint8_t *sim_store_bytes(struct scn_slice slice);
void *sim_store_grow(void *array, size_t *capacity, size_t element_size, size_t count);
struct sim_document *sim_store_make(
        struct sim_disk *disk, enum sim_place place, struct scn_slice name, const struct scn_storage_birth *birth);
/* The transaction of a revision as the journal has it now; NULL: it has been folded or dropped, or never was. */
struct sim_transaction *sim_store_present(const struct sim_document *document, scn_revision revision);
/* Whether there is a state of the revision, as scn_journal_has_revision() says it. */
enum scn_error sim_store_has_revision(const struct sim_document *document, scn_revision revision);
struct sim_transaction *sim_store_transaction(const struct scn_journal_transaction *from);
/* As scn_checkpoint_drop(). */
void sim_store_drop_checkpoints(struct sim_document *document, scn_revision below);
void sim_store_drop(struct sim_disk *disk, struct sim_document *document);
void sim_checkpoint_destroy(struct sim_checkpoint *checkpoint);
void sim_checkpoint_append(struct sim_checkpoint *checkpoint, struct scn_slice bytes);

#endif
