/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "storage/directory.h"

#include "protocol/base/assert.h"
#include "storage/fault.h"
#include "storage/file.h"
#include "storage/journal.h"
#include "storage/name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Documents come, go and change their names. Each step is one rename, so that a document is always in exactly one
 * place; it counts when the directories have been synced. */

#define DRAFTS_MAX 10000

/* ----------------------------------------------------------------- moving */

/* A file's place: one of our directories and a name there. */
struct place {
        int directory_fd;
        struct scn_storage_file_name file;
};

static enum scn_error sync_directories(const struct scn_storage *storage, int a, int b, struct scn_storage_fault *fault)
{
        if (fsync(a) < 0 || (b != a && fsync(b) < 0))
                return scn_fault_set_errno(fault, errno, "sync the directory", storage->path);
        return SCN_OK;
}

static bool exists(int directory_fd, const char *file)
{
        struct stat status;
        return fstatat(directory_fd, file, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The write-ahead file of a document that could not be opened goes with it: it may be what saves it. */
static enum scn_error move_wal(const struct place *from, const struct place *to, struct scn_storage_fault *fault)
{
        char from_wal[sizeof from->file.text + 8], to_wal[sizeof to->file.text + 8];

        snprintf(from_wal, sizeof from_wal, "%s-wal", from->file.text);
        snprintf(to_wal, sizeof to_wal, "%s-wal", to->file.text);
        if (!exists(from->directory_fd, from_wal))
                return SCN_OK;
        /* What lies there without its document belongs to none. */
        unlinkat(to->directory_fd, to_wal, 0);
        if (scn_file_rename(from->directory_fd, from_wal, to->directory_fd, to_wal) < 0)
                return scn_fault_set_errno(fault, errno, "move", from_wal);
        snprintf(from_wal, sizeof from_wal, "%s-shm", from->file.text);
        unlinkat(from->directory_fd, from_wal, 0);
        return SCN_OK;
}

static enum scn_error move_file(const struct scn_storage *storage, const struct place *from, const struct place *to,
        struct scn_storage_fault *fault)
{
        if (exists(to->directory_fd, to->file.text))
                return scn_fault_set(fault, SCN_E_DOCUMENT_EXISTS, 0, 0, "there is a %s already", to->file.text);
        enum scn_error error = move_wal(from, to, fault);
        if (error != SCN_OK)
                return error;
        if (scn_file_rename(from->directory_fd, from->file.text, to->directory_fd, to->file.text) < 0) {
                const int reason = errno;
                (void)!move_wal(to, from, NULL);
                if (reason == EEXIST)
                        return scn_fault_set(
                                fault, SCN_E_DOCUMENT_EXISTS, 0, reason, "there is a %s already", to->file.text);
                if (reason == ENOENT)
                        return scn_fault_set(fault, SCN_E_NO_DOCUMENT, 0, reason, "there is no %s", from->file.text);
                return scn_fault_set_errno(fault, reason, "move", from->file.text);
        }
        return sync_directories(storage, from->directory_fd, to->directory_fd, fault);
}

/* Sees to it that nobody has the document open and that all of it is in one file, and notes its name there, if there
 * is one. What is damaged or not ours to open is left as it is. */
static enum scn_error settle(const struct scn_storage *storage, const char *file, const struct scn_slice *name,
        struct scn_storage_fault *fault)
{
        char path[SCN_STORAGE_PATH_SIZE];
        struct scn_journal *journal;

        if (!scn_storage_path_of(storage, file, path))
                return scn_fault_set_errno(fault, ENAMETOOLONG, "open", file);
        enum scn_error error = scn_journal_open_on(path, SCN_DATABASE_EXCLUSIVE, NULL, &journal, fault);
        if (error == SCN_E_CORRUPT || error == SCN_E_NOT_A_DOCUMENT || error == SCN_E_NEWER_FORMAT)
                return SCN_OK;
        if (error != SCN_OK)
                return error;
        if (name != NULL)
                error = scn_journal_note_name(journal, *name, fault);
        scn_journal_close(journal);
        return error;
}

/* ----------------------------------------------------------------- making */

/* Makes the draft's empty file. */
static enum scn_error make_draft_file(
        const struct scn_storage *storage, char name_out[32], struct scn_storage_fault *fault)
{
        for (int i = 1; i <= DRAFTS_MAX; i++) {
                snprintf(name_out, 32, SCN_STORAGE_DRAFT_PREFIX "%d", i);
                if (scn_file_create_private(storage->directory_fd, name_out) == 0)
                        return SCN_OK;
                if (errno != EEXIST)
                        break;
        }
        return scn_fault_set_errno(fault, errno, "make a file in", storage->path);
}

enum scn_error scn_storage_draft(const struct scn_storage *storage, const struct scn_storage_birth *birth,
        struct scn_journal **journal_out, struct scn_storage_fault *fault)
{
        char path[SCN_STORAGE_PATH_SIZE];
        char draft[32];
        enum scn_error error = make_draft_file(storage, draft, fault);

        if (error != SCN_OK)
                return error;
        if (!scn_storage_path_of(storage, draft, path))
                error = scn_fault_set_errno(fault, ENAMETOOLONG, "make", draft);
        else
                error = scn_journal_create_on(path, birth, journal_out, fault);
        if (error != SCN_OK) {
                scn_file_remove_database(storage->directory_fd, draft);
                return error;
        }
        memcpy((*journal_out)->draft, draft, sizeof draft);
        return SCN_OK;
}

enum scn_error scn_storage_publish(const struct scn_storage *storage, struct scn_journal *journal,
        struct scn_slice name, struct scn_storage_fault *fault)
{
        struct place from = {.directory_fd = storage->directory_fd};
        struct place to = {.directory_fd = storage->directory_fd};
        enum scn_error error = scn_storage_name_to_file(name, &to.file, fault);

        SCN_ASSERT(journal->draft[0] != '\0');
        memcpy(from.file.text, journal->draft, sizeof journal->draft);
        if (error == SCN_OK)
                error = scn_journal_note_name(journal, name, fault);
        scn_journal_close(journal);
        if (error == SCN_OK)
                error = move_file(storage, &from, &to, fault);
        if (error != SCN_OK)
                scn_file_remove_database(storage->directory_fd, from.file.text);
        return error;
}

void scn_storage_discard(const struct scn_storage *storage, struct scn_journal *journal)
{
        char draft[sizeof journal->draft];

        SCN_ASSERT(journal->draft[0] != '\0');
        memcpy(draft, journal->draft, sizeof draft);
        scn_journal_close(journal);
        scn_file_remove_database(storage->directory_fd, draft);
}

enum scn_error scn_storage_create(const struct scn_storage *storage, struct scn_slice name,
        const struct scn_storage_birth *birth, struct scn_storage_fault *fault)
{
        struct scn_journal *journal;
        enum scn_error error = scn_storage_find(storage, name, fault);

        if (error == SCN_OK)
                return scn_fault_set(fault, SCN_E_DOCUMENT_EXISTS, 0, 0, "a document has this name already");
        if (error != SCN_E_NO_DOCUMENT)
                return error;
        error = scn_storage_draft(storage, birth, &journal, fault);
        return error == SCN_OK ? scn_storage_publish(storage, journal, name, fault) : error;
}

/* ----------------------------------------------------------- other places */

enum scn_error scn_storage_delete(
        const struct scn_storage *storage, struct scn_slice name, int64_t now_us, struct scn_storage_fault *fault)
{
        struct place from = {.directory_fd = storage->directory_fd};
        struct place to = {.directory_fd = storage->trash_fd};
        enum scn_error error = scn_storage_name_to_file(name, &from.file, fault);

        if (error == SCN_OK)
                error = settle(storage, from.file.text, NULL, fault);
        if (error != SCN_OK)
                return error;
        /* Another one of this name may have been deleted in the same microsecond. */
        do {
                error = scn_storage_name_to_trash(name, now_us++, &to.file, fault);
                if (error == SCN_OK)
                        error = move_file(storage, &from, &to, fault);
        } while (error == SCN_E_DOCUMENT_EXISTS);
        return error;
}

/* The time at which the last document of this name was deleted; -1 if there is none. */
static enum scn_error find_in_trash(
        const struct scn_storage *storage, struct scn_slice name, int64_t *time_us_out, struct scn_storage_fault *fault)
{
        struct scn_storage_list list;
        enum scn_error error = scn_storage_list(storage, SCN_STORAGE_TRASH, &list, fault);

        *time_us_out = -1;
        if (error != SCN_OK)
                return error;
        for (size_t i = 0; i < list.count && *time_us_out < 0; i++) {
                if (list.entries[i].name.size == name.size &&
                        memcmp(list.entries[i].name.data, name.data, name.size) == 0)
                        *time_us_out = list.entries[i].deleted_us;
        }
        scn_storage_list_finish(&list);
        return SCN_OK;
}

enum scn_error scn_storage_undelete(
        const struct scn_storage *storage, struct scn_slice name, struct scn_storage_fault *fault)
{
        struct place from = {.directory_fd = storage->trash_fd};
        struct place to = {.directory_fd = storage->directory_fd};
        int64_t time_us;
        enum scn_error error = scn_storage_name_to_file(name, &to.file, fault);

        if (error == SCN_OK)
                error = find_in_trash(storage, name, &time_us, fault);
        if (error != SCN_OK)
                return error;
        if (time_us < 0)
                return scn_fault_set(fault, SCN_E_NO_DOCUMENT, 0, 0, "there is no %s in the trash", to.file.text);
        error = scn_storage_name_to_trash(name, time_us, &from.file, fault);
        return error == SCN_OK ? move_file(storage, &from, &to, fault) : error;
}

enum scn_error scn_storage_rename(const struct scn_storage *storage, struct scn_slice name, struct scn_slice new_name,
        struct scn_storage_fault *fault)
{
        struct place from = {.directory_fd = storage->directory_fd};
        struct place to = {.directory_fd = storage->directory_fd};
        enum scn_error error = scn_storage_name_to_file(name, &from.file, fault);

        if (error == SCN_OK)
                error = scn_storage_name_to_file(new_name, &to.file, fault);
        if (error == SCN_OK)
                error = scn_storage_find(storage, name, fault);
        if (error == SCN_OK && strcmp(from.file.text, to.file.text) != 0 && exists(to.directory_fd, to.file.text))
                error = scn_fault_set(fault, SCN_E_DOCUMENT_EXISTS, 0, 0, "there is a %s already", to.file.text);
        /* Should we die between the two, the name in the file is wrong until the next rename; the file's name
         * decides. */
        if (error == SCN_OK)
                error = settle(storage, from.file.text, &new_name, fault);
        if (error != SCN_OK || strcmp(from.file.text, to.file.text) == 0)
                return error;
        return move_file(storage, &from, &to, fault);
}

enum scn_error scn_storage_purge(
        const struct scn_storage *storage, int64_t now_us, uint32_t *removed_out, struct scn_storage_fault *fault)
{
        struct scn_storage_list list;
        struct scn_storage_file_name file;
        uint32_t removed = 0;
        enum scn_error error = scn_storage_list(storage, SCN_STORAGE_TRASH, &list, fault);

        if (error != SCN_OK)
                return error;
        for (size_t i = 0; i < list.count && error == SCN_OK; i++) {
                const struct scn_storage_entry *entry = &list.entries[i];
                if (entry->deleted_us >= now_us - SCN_STORAGE_TRASH_US)
                        continue;
                error = scn_storage_name_to_trash(entry->name, entry->deleted_us, &file, fault);
                if (error == SCN_OK)
                        scn_file_remove_database(storage->trash_fd, file.text);
                removed++;
        }
        scn_storage_list_finish(&list);
        if (removed_out != NULL)
                *removed_out = removed;
        return error;
}
