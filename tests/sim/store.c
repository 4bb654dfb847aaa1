/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The disk: documents, their copies, the catalogue. Journals are in store_journal.c. */

#include "tests/sim/store.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "tests/sim/store_state.h"

#include <stdio.h>
#include <string.h>

static struct sim_disk *mounted;

void sim_disk_mount(struct sim_disk *disk)
{
        SCN_ASSERT(mounted == NULL);
        mounted = disk;
}

struct sim_disk *sim_store_disk(void)
{
        SCN_ASSERT(mounted != NULL);
        return mounted;
}

void sim_disk_unmount(struct sim_disk *disk)
{
        SCN_ASSERT(mounted == disk && disk->storage == NULL && disk->handles == NULL);
        while (disk->documents != NULL) {
                struct sim_document *next = disk->documents->next;
                sim_document_destroy(disk->documents);
                disk->documents = next;
        }
        mounted = NULL;
}

void sim_disk_detach(struct sim_disk *disk)
{
        for (struct scn_journal *journal = disk->handles; journal != NULL; journal = journal->next) {
                journal->is_dead = true;
                if (journal->document != NULL) {
                        journal->document->handles_count--;
                }
                journal->document = NULL;
        }
        if (disk->storage != NULL) {
                disk->storage->is_dead = true;
        }
        disk->storage = NULL;
        for (struct sim_document *document = disk->documents, *next = NULL; document != NULL; document = next) {
                next = document->next;
                sim_store_left(disk, document);
        }
}

enum scn_error sim_store_fail(struct scn_storage_fault *fault, enum scn_error error)
{
        if (fault != NULL) {
                *fault = (struct scn_storage_fault){.revision = 0};
                (void)snprintf(fault->text, sizeof fault->text, "simulated: %s", scn_error_code(error));
        }
        return error;
}

/* --- Bytes and documents --- */

uint8_t *sim_store_bytes(struct scn_slice slice)
{
        uint8_t *bytes = scn_alloc(slice.size);
        SCN_ASSERT(bytes != NULL);
        if (slice.size > 0) {
                memcpy(bytes, slice.data, slice.size);
        }
        return bytes;
}

void *sim_store_grow(void *array, size_t *capacity, size_t element_size, size_t count)
{
        const bool is_good = scn_grow(&array, capacity, element_size, count, SIZE_MAX);
        SCN_ASSERT(is_good);
        return array;
}

void sim_checkpoint_destroy(struct sim_checkpoint *checkpoint)
{
        while (checkpoint->parts != NULL) {
                struct sim_part *next = checkpoint->parts->next;
                scn_free(checkpoint->parts);
                checkpoint->parts = next;
        }
        scn_free(checkpoint);
}

void sim_checkpoint_append(struct sim_checkpoint *checkpoint, struct scn_slice bytes)
{
        struct sim_part *part = scn_alloc(sizeof *part + bytes.size);
        SCN_ASSERT(part != NULL);
        part->next = NULL;
        part->size = bytes.size;
        memcpy(part->bytes, bytes.data, bytes.size);
        *(checkpoint->last != NULL ? &checkpoint->last->next : &checkpoint->parts) = part;
        checkpoint->last = part;
        checkpoint->info.parts_count++;
        checkpoint->info.bytes += bytes.size;
}

static struct sim_checkpoint *copy_checkpoint(const struct sim_checkpoint *from)
{
        struct sim_checkpoint *copy = scn_alloc_zero(1, sizeof *copy);
        SCN_ASSERT(copy != NULL);
        for (const struct sim_part *part = from->parts; part != NULL; part = part->next) {
                sim_checkpoint_append(copy, (struct scn_slice){part->bytes, part->size});
        }
        copy->number = from->number;
        copy->info = from->info;
        memcpy(copy->digest, from->digest, sizeof copy->digest);
        copy->info.digest.data = copy->digest;
        return copy;
}

void sim_document_destroy(struct sim_document *document)
{
        for (size_t i = 0; i < document->transactions_count; i++) {
                if (--document->transactions[i]->references == 0) {
                        scn_free(document->transactions[i]);
                }
        }
        for (size_t i = 0; i < document->checkpoints_count; i++) {
                sim_checkpoint_destroy(document->checkpoints[i]);
        }
        for (size_t i = 0; i < document->fates_count; i++) {
                struct sim_transaction *now = document->fates[i].now;
                if (now != NULL && --now->references == 0) {
                        scn_free(now);
                }
        }
        if (document->next_contents != NULL) {
                sim_document_destroy(document->next_contents);
        }
        scn_free(document->fates);
        scn_free(document->name);
        scn_free(document->origin);
        scn_free(document->transactions);
        scn_free(document->epochs);
        scn_free(document->clients);
        scn_free(document->checkpoints);
        scn_free(document->tags);
        scn_free(document);
}

static void *copy_array(const void *array, size_t count, size_t size)
{
        void *copy = scn_alloc(count * size);
        SCN_ASSERT(copy != NULL);
        if (count > 0) {
                memcpy(copy, array, count * size);
        }
        return copy;
}

struct sim_document *sim_document_copy(const struct sim_document *document)
{
        struct sim_document *copy = scn_alloc(sizeof *copy);
        SCN_ASSERT(copy != NULL);
        *copy = *document;
        copy->next = NULL;
        copy->handles_count = 0;
        copy->next_contents = NULL;
        copy->name = sim_store_bytes((struct scn_slice){document->name, document->name_size});
        copy->origin = sim_store_bytes((struct scn_slice){document->origin, document->origin_size});
        copy->transactions = copy_array(document->transactions, document->transactions_count, sizeof(void *));
        copy->transactions_capacity = document->transactions_count;
        copy->epochs = copy_array(document->epochs, document->epochs_count, sizeof *document->epochs);
        copy->epochs_capacity = document->epochs_count;
        copy->clients = copy_array(document->clients, document->clients_count, sizeof *document->clients);
        copy->clients_capacity = document->clients_count;
        copy->tags = copy_array(document->tags, document->tags_count, sizeof *document->tags);
        copy->tags_capacity = document->tags_count;
        copy->checkpoints = copy_array(document->checkpoints, document->checkpoints_count, sizeof(void *));
        copy->checkpoints_capacity = document->checkpoints_count;
        copy->fates = copy_array(document->fates, document->fates_count, sizeof *document->fates);
        copy->fates_capacity = document->fates_count;
        for (size_t i = 0; i < copy->transactions_count; i++) {
                copy->transactions[i]->references++;
        }
        for (size_t i = 0; i < copy->fates_count; i++) {
                if (copy->fates[i].now != NULL) {
                        copy->fates[i].now->references++;
                }
        }
        for (size_t i = 0; i < copy->checkpoints_count; i++) {
                copy->checkpoints[i] = copy_checkpoint(document->checkpoints[i]);
        }
        return copy;
}

static void unlink_document(struct sim_disk *disk, struct sim_document *document)
{
        struct sim_document **at = &disk->documents;
        while (*at != document) {
                at = &(*at)->next;
        }
        *at = document->next;
}

void sim_store_left(struct sim_disk *disk, struct sim_document *document)
{
        struct sim_document *next = document->next_contents;
        if (next != NULL && document->handles_count == 0) {
                document->next_contents = NULL;
                sim_disk_put_back(disk, next);
        }
}

bool sim_disk_write_over(struct sim_disk *disk, struct sim_document *copy)
{
        struct sim_document *there =
                sim_disk_find(disk, SIM_DOCUMENTS, (struct scn_slice){copy->name, copy->name_size});
        SCN_ASSERT(there != NULL && there->next_contents == NULL);
        for (const struct scn_journal *journal = disk->handles; journal != NULL; journal = journal->next) {
                if (journal->document == there && journal->is_still) {
                        return false;
                }
        }
        there->next_contents = copy;
        sim_store_left(disk, there);
        return true;
}

bool sim_disk_is_written_over(const struct sim_disk *disk)
{
        const struct sim_document *document = disk->documents;
        while (document != NULL && document->next_contents == NULL) {
                document = document->next;
        }
        return document != NULL;
}

void sim_disk_put_back(struct sim_disk *disk, struct sim_document *copy)
{
        const struct scn_slice name = {copy->name, copy->name_size};
        struct sim_document *there = sim_disk_find(disk, SIM_DOCUMENTS, name);
        disk->on_replace(disk->data, there, copy);
        if (there != NULL) {
                SCN_ASSERT(there->handles_count == 0);
                unlink_document(disk, there);
                sim_document_destroy(there);
        }
        copy->place = SIM_DOCUMENTS;
        copy->next = disk->documents;
        disk->documents = copy;
}

/* The newest by this name. */
struct sim_document *sim_disk_find(const struct sim_disk *disk, enum sim_place place, struct scn_slice name)
{
        struct sim_document *document = disk->documents;
        while (document != NULL &&
                !(document->place == place && document->name_size == name.size &&
                        memcmp(document->name, name.data, name.size) == 0)) {
                document = document->next;
        }
        return document;
}

/* --- The catalogue --- */

enum scn_error sim_store_ask_about(const struct scn_storage *storage, enum sim_access access, struct scn_slice name,
        struct scn_storage_fault *fault)
{
        const bool is_good = name.size > 0 && name.size <= SCN_STORAGE_FILE_NAME_BYTES_MAX;
        return is_good ? sim_store_ask(storage->disk, storage->is_dead, access, fault)
                       : sim_store_fail(fault, SCN_E_BAD_NAME);
}

enum scn_error scn_storage_open(const char *path, struct scn_storage **storage_out, struct scn_storage_fault *fault)
{
        struct sim_disk *disk = sim_store_disk();
        (void)path;
        if (disk->storage != NULL) {
                return sim_store_fail(fault, SCN_E_IN_USE);
        }
        struct scn_storage *storage = scn_alloc_zero(1, sizeof *storage);
        if (storage == NULL) {
                return sim_store_fail(fault, SCN_E_NO_MEMORY);
        }
        storage->disk = disk;
        disk->storage = storage;
        struct sim_document *next = NULL;
        for (struct sim_document *document = disk->documents; document != NULL; document = next) {
                next = document->next;
                if (document->place == SIM_DRAFTS) {
                        unlink_document(disk, document);
                        sim_document_destroy(document);
                }
        }
        *storage_out = storage;
        return SCN_OK;
}

void scn_storage_close(struct scn_storage *storage)
{
        if (storage != NULL) {
                if (!storage->is_dead) {
                        SCN_ASSERT(storage->disk->handles == NULL);
                        storage->disk->storage = NULL;
                }
                scn_free(storage);
        }
}

enum scn_error scn_storage_free_bytes(
        const struct scn_storage *storage, uint64_t *bytes_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_store_ask(storage->disk, storage->is_dead, SIM_READ, fault);
        *bytes_out = error == SCN_OK ? UINT64_C(1) << 40 : 0;
        return error;
}

static int compare_entries(const struct scn_storage_entry *a, const struct scn_storage_entry *b)
{
        const uint32_t size = a->name.size < b->name.size ? a->name.size : b->name.size;
        const int order = memcmp(a->name.data, b->name.data, size);
        return order != 0 ? order : (int)(a->name.size > b->name.size) - (int)(a->name.size < b->name.size);
}

enum scn_error scn_storage_list(const struct scn_storage *storage, enum scn_storage_place place,
        struct scn_storage_list *list_out, struct scn_storage_fault *fault)
{
        const enum sim_place wanted = place == SCN_STORAGE_TRASH ? SIM_TRASH : SIM_DOCUMENTS;
        const enum scn_error error = sim_store_ask(storage->disk, storage->is_dead, SIM_READ, fault);
        *list_out = (struct scn_storage_list){0};
        if (error != SCN_OK) {
                return error;
        }
        const struct sim_document *document = storage->disk->documents;
        for (; document != NULL; document = document->next) {
                if (document->place != wanted) {
                        continue;
                }
                list_out->entries = sim_store_grow(
                        list_out->entries, &list_out->capacity, sizeof *list_out->entries, list_out->count + 1);
                const struct scn_slice name = {document->name, document->name_size};
                const struct scn_storage_entry entry = {{sim_store_bytes(name), name.size}, 4096, document->deleted_us};
                size_t at = list_out->count++;
                while (at > 0 && compare_entries(&list_out->entries[at - 1], &entry) > 0) {
                        list_out->entries[at] = list_out->entries[at - 1];
                        at--;
                }
                list_out->entries[at] = entry;
        }
        return SCN_OK;
}

void scn_storage_list_finish(struct scn_storage_list *list)
{
        for (size_t i = 0; i < list->count; i++) {
                scn_free((void *)(uintptr_t)list->entries[i].name.data);
        }
        scn_free(list->entries);
        *list = (struct scn_storage_list){0};
}

enum scn_error scn_storage_find(
        const struct scn_storage *storage, struct scn_slice name, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_store_ask_about(storage, SIM_READ, name, fault);
        if (error == SCN_OK && sim_disk_find(storage->disk, SIM_DOCUMENTS, name) == NULL) {
                return sim_store_fail(fault, SCN_E_NO_DOCUMENT);
        }
        return error;
}

struct sim_document *sim_store_make(
        struct sim_disk *disk, enum sim_place place, struct scn_slice name, const struct scn_storage_birth *birth)
{
        struct sim_document *document = scn_alloc_zero(1, sizeof *document);
        SCN_ASSERT(document != NULL);
        document->place = place;
        document->name = sim_store_bytes(name);
        document->name_size = name.size;
        document->uid = birth->uid;
        document->created_us = birth->created_us;
        document->origin = sim_store_bytes(birth->origin);
        document->origin_size = birth->origin.size;
        document->next = disk->documents;
        disk->documents = document;
        return document;
}

enum scn_error scn_storage_create(const struct scn_storage *storage, struct scn_slice name,
        const struct scn_storage_birth *birth, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_store_ask_about(storage, SIM_WRITE, name, fault);
        if (error != SCN_OK) {
                return error;
        }
        if (sim_disk_find(storage->disk, SIM_DOCUMENTS, name) != NULL) {
                return sim_store_fail(fault, SCN_E_DOCUMENT_EXISTS);
        }
        (void)sim_store_make(storage->disk, SIM_DOCUMENTS, name, birth);
        return SCN_OK;
}

static enum scn_error relocate(const struct scn_storage *storage, enum sim_place from, struct scn_slice name,
        enum sim_place to, struct scn_slice new_name, int64_t deleted_us, struct scn_storage_fault *fault)
{
        struct sim_disk *disk = storage->disk;
        enum scn_error error = sim_store_ask_about(storage, SIM_WRITE, name, fault);
        if (error == SCN_OK) {
                error = sim_store_ask_about(storage, SIM_WRITE, new_name, fault);
        }
        if (error != SCN_OK) {
                return error;
        }
        struct sim_document *document = sim_disk_find(disk, from, name);
        const struct sim_document *there = to == SIM_DOCUMENTS ? sim_disk_find(disk, to, new_name) : NULL;
        if (document == NULL) {
                return sim_store_fail(fault, SCN_E_NO_DOCUMENT);
        }
        if (there != NULL && there != document) {
                return sim_store_fail(fault, SCN_E_DOCUMENT_EXISTS);
        }
        if (document->handles_count > 0) {
                return sim_store_fail(fault, SCN_E_STORAGE_BUSY);
        }
        uint8_t *copy = sim_store_bytes(new_name);
        scn_free(document->name);
        document->name = copy;
        document->name_size = new_name.size;
        document->place = to;
        document->deleted_us = deleted_us;
        unlink_document(disk, document);
        document->next = disk->documents;
        disk->documents = document;
        return SCN_OK;
}

enum scn_error scn_storage_delete(
        const struct scn_storage *storage, struct scn_slice name, int64_t now_us, struct scn_storage_fault *fault)
{
        return relocate(storage, SIM_DOCUMENTS, name, SIM_TRASH, name, now_us, fault);
}

enum scn_error scn_storage_undelete(
        const struct scn_storage *storage, struct scn_slice name, struct scn_storage_fault *fault)
{
        return relocate(storage, SIM_TRASH, name, SIM_DOCUMENTS, name, 0, fault);
}

enum scn_error scn_storage_rename(const struct scn_storage *storage, struct scn_slice name, struct scn_slice new_name,
        struct scn_storage_fault *fault)
{
        return relocate(storage, SIM_DOCUMENTS, name, SIM_DOCUMENTS, new_name, 0, fault);
}

enum scn_error scn_storage_purge(
        const struct scn_storage *storage, int64_t now_us, uint32_t *removed_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_store_ask(storage->disk, storage->is_dead, SIM_WRITE, fault);
        uint32_t removed = 0;
        struct sim_document *next = NULL;
        struct sim_document *document = error == SCN_OK ? storage->disk->documents : NULL;
        for (; document != NULL; document = next) {
                next = document->next;
                if (document->place == SIM_TRASH && now_us - document->deleted_us > SCN_STORAGE_TRASH_US) {
                        unlink_document(storage->disk, document);
                        sim_document_destroy(document);
                        removed++;
                }
        }
        if (removed_out != NULL) {
                *removed_out = removed;
        }
        return error;
}

void sim_store_drop(struct sim_disk *disk, struct sim_document *document)
{
        unlink_document(disk, document);
        sim_document_destroy(document);
}
