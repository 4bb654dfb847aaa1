/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "storage/directory.h"
#include "storage/fault.h"
#include "storage/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct scn_copy {
        const struct scn_storage *storage;
        struct scn_journal *journal; /* owned until it is complete, like backup */
        struct scn_backup *backup;
        bool has_room;     /* asked */
        uint64_t promised; /* bytes that are still to be written */
        bool has_name;     /* the file under path is ours */
        int fd;            /* -1: not complete */
        uint64_t bytes;
        char path[SCN_STORAGE_PATH_SIZE];
        char document[SCN_STORAGE_FILE_NAME_TEXT_BYTES]; /* its file, for the faults */
};

enum scn_error scn_copy_create(const struct scn_storage *storage, struct scn_slice name, uint64_t number,
        struct scn_copy **copy_out, struct scn_storage_fault *fault)
{
        static const struct scn_journal_options reading = {.mode = SCN_JOURNAL_READ};
        struct scn_copy *copy = scn_alloc_zero(1, sizeof *copy);
        char file[64];

        if (copy == NULL)
                return scn_fault_set(fault, SCN_E_NO_MEMORY, 0, 0, "out of memory");
        copy->storage = storage;
        copy->fd = -1;
        snprintf(file, sizeof file, SCN_STORAGE_DRAFT_PREFIX "copy-%" PRIu64, number);
        enum scn_error error = scn_storage_file_name(name, copy->document, fault);
        if (error == SCN_OK && !scn_storage_path_of(storage, file, copy->path))
                error = scn_fault_set_errno(fault, ENAMETOOLONG, "make a copy of", copy->document);
        if (error == SCN_OK)
                error = scn_journal_open(storage, name, &reading, &copy->journal, fault);
        if (error == SCN_OK)
                error = scn_backup_create(copy->journal, copy->path, &copy->backup, fault);
        if (error != SCN_OK) {
                scn_copy_destroy(copy);
                return error;
        }
        *copy_out = copy;
        return SCN_OK;
}

/* How large it gets is known once it has begun. */
static enum scn_error check_room(struct scn_copy *copy, uint64_t left, struct scn_storage_fault *fault)
{
        enum scn_error error = SCN_OK;

        if (!copy->has_room) {
                error = scn_storage_promise(copy->storage, left, fault);
                copy->has_room = error == SCN_OK;
                copy->promised = copy->has_room ? left : 0;
        } else if (left < copy->promised) {
                scn_storage_take_promise_back(copy->storage, copy->promised - left);
                copy->promised = left;
        }
        return error;
}

/* It is read by its descriptor; nothing is left of it when we are killed. */
static enum scn_error complete(struct scn_copy *copy, struct scn_storage_fault *fault)
{
        struct stat status;
        enum scn_error error = scn_backup_finish(copy->backup, fault);

        if (error != SCN_OK)
                return error;
        scn_backup_destroy(copy->backup);
        scn_journal_close(copy->journal);
        copy->backup = NULL;
        copy->journal = NULL;
        copy->has_name = true;
        copy->fd = open(copy->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (copy->fd < 0 || unlink(copy->path) < 0 || fstat(copy->fd, &status) < 0)
                return scn_fault_set_errno(fault, errno, "read the copy of", copy->document);
        copy->has_name = false;
        copy->bytes = (uint64_t)status.st_size;
        return SCN_OK;
}

enum scn_error scn_copy_step(struct scn_copy *copy, uint64_t bytes, uint64_t *left_out, struct scn_storage_fault *fault)
{
        SCN_ASSERT(copy->backup != NULL);
        enum scn_error error = scn_backup_step(copy->backup, bytes, left_out, fault);

        if (error == SCN_OK)
                error = check_room(copy, *left_out, fault);
        if (error == SCN_OK && *left_out == 0)
                error = complete(copy, fault);
        return error;
}

uint64_t scn_copy_bytes(const struct scn_copy *copy)
{
        SCN_ASSERT(copy->fd >= 0);
        return copy->bytes;
}

enum scn_error scn_copy_read(
        struct scn_copy *copy, uint8_t *bytes_out, size_t size, size_t *size_out, struct scn_storage_fault *fault)
{
        SCN_ASSERT(copy->fd >= 0);
        *size_out = 0;
        while (*size_out < size) {
                const ssize_t count = read(copy->fd, bytes_out + *size_out, size - *size_out);
                if (count < 0 && errno == EINTR)
                        continue;
                if (count < 0)
                        return scn_fault_set_errno(fault, errno, "read the copy of", copy->document);
                if (count == 0)
                        break;
                *size_out += (size_t)count;
        }
        return SCN_OK;
}

void scn_copy_destroy(struct scn_copy *copy)
{
        if (copy == NULL)
                return;
        if (copy->has_name)
                unlink(copy->path);
        scn_storage_take_promise_back(copy->storage, copy->promised);
        scn_backup_destroy(copy->backup);
        scn_journal_close(copy->journal);
        if (copy->fd >= 0)
                close(copy->fd);
        scn_free(copy);
}
