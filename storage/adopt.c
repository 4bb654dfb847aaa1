/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "storage/directory.h"
#include "storage/fault.h"
#include "storage/file.h"
#include "storage/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct scn_adoption {
        const struct scn_storage *storage;
        int fd; /* -1: opened as a journal, or closed for an error */
        uint64_t bytes;
        uint64_t received;
        bool has_promise; /* of what has not been received */
        char draft[32];
        bool has_file; /* the draft is ours to remove */
};

static enum scn_error make_file(struct scn_adoption *adoption, uint64_t number, struct scn_storage_fault *fault)
{
        const int directory_fd = adoption->storage->directory_fd;

        snprintf(adoption->draft, sizeof adoption->draft, SCN_STORAGE_DRAFT_PREFIX "in-%" PRIu64, number);
        if (scn_file_create_private(directory_fd, adoption->draft) < 0)
                return scn_fault_set_errno(fault, errno, "make a file in", scn_storage_base_name(adoption->storage));
        adoption->has_file = true;
        adoption->fd = openat(directory_fd, adoption->draft, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
        return adoption->fd >= 0 ? SCN_OK : scn_fault_set_errno(fault, errno, "open", "the document that is received");
}

enum scn_error scn_adoption_create(const struct scn_storage *storage, uint64_t number, uint64_t bytes,
        struct scn_adoption **adoption_out, struct scn_storage_fault *fault)
{
        struct scn_adoption *adoption = scn_alloc_zero(1, sizeof *adoption);

        if (adoption == NULL)
                return scn_fault_set(fault, SCN_E_NO_MEMORY, 0, 0, "out of memory");
        *adoption = (struct scn_adoption){.storage = storage, .fd = -1, .bytes = bytes};
        enum scn_error error = scn_storage_promise(storage, bytes, fault);
        adoption->has_promise = error == SCN_OK;
        if (error == SCN_OK)
                error = make_file(adoption, number, fault);
        if (error != SCN_OK) {
                scn_adoption_destroy(adoption);
                return error;
        }
        *adoption_out = adoption;
        return SCN_OK;
}

enum scn_error scn_adoption_write(struct scn_adoption *adoption, struct scn_slice part, struct scn_storage_fault *fault)
{
        SCN_ASSERT(adoption->fd >= 0);
        SCN_ASSERT(part.size <= adoption->bytes - adoption->received);
        for (uint32_t at = 0; at < part.size;) {
                const ssize_t count = write(adoption->fd, part.data + at, part.size - at);
                if (count < 0 && errno == EINTR)
                        continue;
                if (count <= 0)
                        return scn_fault_set_errno(
                                fault, count < 0 ? errno : EIO, "write", "the document that is received");
                at += (uint32_t)count;
        }
        adoption->received += part.size;
        scn_storage_take_promise_back(adoption->storage, part.size);
        return SCN_OK;
}

/* What was written is on the disk before anything of it counts: SQLite syncs only what it writes itself. */
static enum scn_error sync_file(struct scn_adoption *adoption, struct scn_storage_fault *fault)
{
        const int result = fsync(adoption->fd);
        const int reason = errno;

        close(adoption->fd);
        adoption->fd = -1;
        return result == 0 ? SCN_OK : scn_fault_set_errno(fault, reason, "sync", "the document that is received");
}

enum scn_error scn_adoption_open(
        struct scn_adoption *adoption, struct scn_journal **journal_out, struct scn_storage_fault *fault)
{
        char path[SCN_STORAGE_PATH_SIZE];

        SCN_ASSERT(adoption->fd >= 0 && adoption->received == adoption->bytes);
        enum scn_error error = sync_file(adoption, fault);
        if (error == SCN_OK && !scn_storage_path_of(adoption->storage, adoption->draft, path))
                error = scn_fault_set_errno(fault, ENAMETOOLONG, "open", "the document that is received");
        if (error == SCN_OK)
                error = scn_journal_open_on(path, SCN_DATABASE_WRITE, NULL, journal_out, fault);
        if (error != SCN_OK)
                return error;
        memcpy((*journal_out)->draft, adoption->draft, sizeof adoption->draft);
        adoption->has_file = false;
        return SCN_OK;
}

void scn_adoption_destroy(struct scn_adoption *adoption)
{
        if (adoption == NULL)
                return;
        if (adoption->fd >= 0)
                close(adoption->fd);
        if (adoption->has_promise)
                scn_storage_take_promise_back(adoption->storage, adoption->bytes - adoption->received);
        if (adoption->has_file)
                scn_file_remove_database(adoption->storage->directory_fd, adoption->draft);
        scn_free(adoption);
}
