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
/* Of the name of what SQLite puts beside a document's file. */
#define BESIDE_BYTES (SCN_STORAGE_FILE_NAME_SIZE + sizeof "-wal")

/* ----------------------------------------------------------------- moving */

/* A file's place: one of our directories and a name there. */
struct place {
        int directory_fd;
        struct scn_storage_file_name file;
};

/* First where the file has its name now: should the power go in between, it has two, and not none. */
static enum scn_error sync_directories(
        const struct scn_storage *storage, int to, int from, struct scn_storage_fault *fault)
{
        if (fsync(to) < 0 || (from != to && fsync(from) < 0))
                return scn_fault_set_errno(fault, errno, "sync the directory", scn_storage_base_name(storage));
        return SCN_OK;
}

static bool exists(int directory_fd, const char *file)
{
        struct stat status;
        return fstatat(directory_fd, file, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

static enum scn_error exists_fault(const struct place *place, int error_number, struct scn_storage_fault *fault)
{
        struct scn_storage_name name;

        if (!scn_storage_name_from_file(place->file.text, SCN_STORAGE_DOCUMENTS, &name))
                return scn_fault_set(
                        fault, SCN_E_DOCUMENT_EXISTS, 0, error_number, "there is a file %s already", place->file.text);
        return scn_fault_set(fault, SCN_E_DOCUMENT_EXISTS, 0, error_number, "there is a document %.*s already",
                (int)name.size, (const char *)name.bytes);
}

static void name_beside(const struct place *place, const char *ending, char name_out[BESIDE_BYTES])
{
        snprintf(name_out, BESIDE_BYTES, "%s%s", place->file.text, ending);
}

/* A write-ahead file without its document belongs to none; but SQLite would take it for that of whatever document
 * comes to stand beside it. */
static enum scn_error remove_stray_wal(
        const struct scn_storage *storage, const struct place *place, struct scn_storage_fault *fault)
{
        char wal[BESIDE_BYTES];

        name_beside(place, "-wal", wal);
        if (!exists(place->directory_fd, wal))
                return SCN_OK;
        if (unlinkat(place->directory_fd, wal, 0) < 0)
                return scn_fault_set_errno(fault, errno, "remove", wal);
        return sync_directories(storage, place->directory_fd, place->directory_fd, fault);
}

/* The write-ahead file of a document that could not be opened goes with it: it may be what saves it. So that there is
 * no moment at which the document is without it, it has both names before the document moves, and loses the old one
 * afterwards. */
static enum scn_error share_wal(const struct scn_storage *storage, const struct place *from, const struct place *to,
        bool *is_shared_out, struct scn_storage_fault *fault)
{
        char from_wal[BESIDE_BYTES], to_wal[BESIDE_BYTES];

        name_beside(from, "-wal", from_wal);
        name_beside(to, "-wal", to_wal);
        *is_shared_out = exists(from->directory_fd, from_wal);
        if (!*is_shared_out)
                return SCN_OK;
        /* Where a file system knows no second names, the file simply moves first. */
        if (linkat(from->directory_fd, from_wal, to->directory_fd, to_wal, 0) < 0 &&
                scn_file_rename(from->directory_fd, from_wal, to->directory_fd, to_wal) < 0)
                return scn_fault_set_errno(fault, errno, "move", from_wal);
        return sync_directories(storage, to->directory_fd, to->directory_fd, fault);
}

static void leave_wal(const struct place *place)
{
        static const char *const endings[] = {"-wal", "-shm"};
        char name[BESIDE_BYTES];

        for (size_t i = 0; i < 2; i++) {
                name_beside(place, endings[i], name);
                unlinkat(place->directory_fd, name, 0);
        }
}

/* Nothing has come of it: the old name is the only one again. */
static void take_wal_back(const struct place *from, const struct place *to)
{
        char from_wal[BESIDE_BYTES], to_wal[BESIDE_BYTES];

        name_beside(from, "-wal", from_wal);
        name_beside(to, "-wal", to_wal);
        if (exists(from->directory_fd, from_wal))
                leave_wal(to);
        else
                (void)!scn_file_rename(to->directory_fd, to_wal, from->directory_fd, from_wal);
}

static enum scn_error move_main(const struct place *from, const struct place *to, struct scn_storage_fault *fault)
{
        if (scn_file_rename(from->directory_fd, from->file.text, to->directory_fd, to->file.text) == 0)
                return SCN_OK;
        if (errno == EEXIST)
                return exists_fault(to, errno, fault);
        if (errno == ENOENT)
                return scn_fault_set(fault, SCN_E_NO_DOCUMENT, 0, errno, "there is no %s", from->file.text);
        return scn_fault_set_errno(fault, errno, "move", from->file.text);
}

static enum scn_error move_file(const struct scn_storage *storage, const struct place *from, const struct place *to,
        struct scn_storage_fault *fault)
{
        bool has_wal = false;

        if (exists(to->directory_fd, to->file.text))
                return exists_fault(to, 0, fault);
        enum scn_error error = remove_stray_wal(storage, to, fault);
        if (error == SCN_OK)
                error = share_wal(storage, from, to, &has_wal, fault);
        if (error == SCN_OK)
                error = move_main(from, to, fault);
        if (error != SCN_OK) {
                if (has_wal)
                        take_wal_back(from, to);
                return error;
        }
        error = sync_directories(storage, to->directory_fd, from->directory_fd, fault);
        if (error != SCN_OK) {
                /* Not durable is not done: whoever is refused finds everything as it was. */
                (void)!scn_file_rename(to->directory_fd, to->file.text, from->directory_fd, from->file.text);
                if (has_wal)
                        take_wal_back(from, to);
                return error;
        }
        if (!has_wal)
                return SCN_OK;
        leave_wal(from);
        return sync_directories(storage, from->directory_fd, from->directory_fd, fault);
}

static bool is_file(const struct scn_storage *storage, const char *file)
{
        struct stat status;

        return fstatat(storage->directory_fd, file, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
}

/* Sees to it that nobody has the document open and that all of it is in one file, and notes its name there, if there
 * is one. A file that is damaged or not ours to open is left as it is; what is no file stays where it is, for whoever
 * has put it there. */
static enum scn_error settle(const struct scn_storage *storage, const char *file, const struct scn_slice *name,
        struct scn_storage_fault *fault)
{
        char path[SCN_STORAGE_PATH_SIZE];
        struct scn_journal *journal;

        if (!scn_storage_path_of(storage, file, path))
                return scn_fault_set_errno(fault, ENAMETOOLONG, "open", file);
        enum scn_error error = scn_journal_open_on(path, SCN_DATABASE_EXCLUSIVE, NULL, &journal, fault);
        if (error == SCN_E_CORRUPT || (error == SCN_E_NOT_A_DOCUMENT && is_file(storage, file)) ||
                error == SCN_E_NEWER_FORMAT)
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
        return scn_fault_set_errno(fault, errno, "make a file in", scn_storage_base_name(storage));
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
                error = exists_fault(&to, 0, fault);
        /* Should we die between the two, the name in the file is wrong until the next rename; the file's name
         * decides. */
        if (error == SCN_OK)
                error = settle(storage, from.file.text, &new_name, fault);
        if (error != SCN_OK || strcmp(from.file.text, to.file.text) == 0)
                return error;
        return move_file(storage, &from, &to, fault);
}

/* ---------------------------------------------------------------- replacing */

static void name_next(const char *file, struct place *next)
{
        snprintf(next->file.text, sizeof next->file.text, SCN_STORAGE_NEXT_PREFIX "%.*s",
                (int)(sizeof next->file.text - sizeof SCN_STORAGE_NEXT_PREFIX), file);
}

enum scn_error scn_storage_finish_replacing(
        const struct scn_storage *storage, const char *file, struct scn_storage_fault *fault)
{
        struct place next = {.directory_fd = storage->directory_fd};
        struct place place = {.directory_fd = storage->directory_fd};

        name_next(file, &next);
        snprintf(place.file.text, sizeof place.file.text, "%s", file);
        if (!exists(place.directory_fd, place.file.text))
                return move_file(storage, &next, &place, fault);
        scn_file_remove_database(next.directory_fd, next.file.text);
        return SCN_OK;
}

/* Brings the old document back if it has left its place; then what was to replace it goes. */
static void take_back(
        const struct scn_storage *storage, struct scn_slice name, const struct place *next, const struct place *place)
{
        if (!exists(place->directory_fd, place->file.text) && scn_storage_undelete(storage, name, NULL) != SCN_OK)
                return; /* the new one stays, and the next opening of the directory gives it its name */
        scn_file_remove_database(next->directory_fd, next->file.text);
}

enum scn_error scn_storage_replace(const struct scn_storage *storage, struct scn_journal *journal,
        struct scn_slice name, int64_t now_us, struct scn_storage_fault *fault)
{
        struct place draft = {.directory_fd = storage->directory_fd};
        struct place next = {.directory_fd = storage->directory_fd};
        struct place place = {.directory_fd = storage->directory_fd};
        enum scn_error error = scn_storage_name_to_file(name, &place.file, fault);

        SCN_ASSERT(journal->draft[0] != '\0');
        memcpy(draft.file.text, journal->draft, sizeof journal->draft);
        if (error == SCN_OK)
                error = scn_journal_note_name(journal, name, fault);
        scn_journal_close(journal);
        if (error != SCN_OK) {
                scn_file_remove_database(storage->directory_fd, draft.file.text);
                return error;
        }
        /* From the trash on there must be no moment at which nothing says what is to have the name. */
        const bool had_old = exists(place.directory_fd, place.file.text);
        name_next(place.file.text, &next);
        error = move_file(storage, &draft, &next, fault);
        if (error == SCN_OK)
                error = scn_storage_delete(storage, name, now_us, fault);
        if (error == SCN_E_NO_DOCUMENT)
                error = SCN_OK;
        if (error == SCN_OK)
                error = move_file(storage, &next, &place, fault);
        if (error != SCN_OK) {
                scn_file_remove_database(storage->directory_fd, draft.file.text);
                if (had_old)
                        take_back(storage, name, &next, &place);
                else
                        scn_file_remove_database(next.directory_fd, next.file.text);
        }
        return error;
}

enum scn_error scn_storage_file_name(
        struct scn_slice name, char text_out[SCN_STORAGE_FILE_NAME_TEXT_BYTES], struct scn_storage_fault *fault)
{
        struct scn_storage_file_name file;
        const enum scn_error error = scn_storage_name_to_file(name, &file, fault);

        if (error == SCN_OK)
                snprintf(text_out, SCN_STORAGE_FILE_NAME_TEXT_BYTES, "%.*s", SCN_STORAGE_FILE_NAME_TEXT_BYTES - 1,
                        file.text);
        return error;
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
        for (size_t i = 0; i < list.count; i++) {
                const struct scn_storage_entry *entry = &list.entries[i];
                if (entry->deleted_us >= now_us - SCN_STORAGE_TRASH_US ||
                        scn_storage_name_to_trash(entry->name, entry->deleted_us, &file, NULL) != SCN_OK)
                        continue;
                scn_file_remove_database(storage->trash_fd, file.text);
                /* What cannot be removed is said, and keeps nothing else from being removed. */
                if (exists(storage->trash_fd, file.text))
                        error = scn_fault_set(fault, SCN_E_STORAGE_FAILED, 0, 0, "cannot remove %s", file.text);
                else
                        removed++;
        }
        scn_storage_list_finish(&list);
        if (removed != 0) {
                const enum scn_error synced = sync_directories(storage, storage->trash_fd, storage->trash_fd, fault);
                error = error == SCN_OK ? synced : error;
        }
        if (removed_out != NULL)
                *removed_out = removed;
        return error;
}
