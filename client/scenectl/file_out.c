/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/file_out.h"

#include "client/scenectl/leftover.h"
#include "protocol/base/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODE_ALL 0666u
#define MODE_OWNER 0600u
#define NAME_TEMPLATE ".scn-export-XXXXXX"

SCN_STATIC_ASSERT(SCN_FILE_OUT_PATH_BYTES >= PATH_MAX, "realpath() may need as much");

/* Where the folder's part of the target ends: behind the last slash, or 0. */
static size_t folder_length(const struct scn_file_out *out)
{
        const char *slash = strrchr(out->target, '/');
        return slash != NULL ? (size_t)(slash - out->target) + 1 : 0;
}

static int resolve_target(struct scn_file_out *out, const char *path)
{
        struct stat status;

        if (strlen(path) + sizeof NAME_TEMPLATE > sizeof out->target)
                return ENAMETOOLONG;
        if (stat(path, &status) != 0) {
                memcpy(out->target, path, strlen(path) + 1);
                return errno == ENOENT ? 0 : errno;
        }
        if (S_ISDIR(status.st_mode))
                return EISDIR;
        if (!S_ISREG(status.st_mode))
                return ENOTSUP;
        /* A rename asks the folder alone; who may not write the file should not replace it either. */
        if (access(path, W_OK) != 0 || realpath(path, out->target) == NULL)
                return errno;
        out->mode = status.st_mode & 0777;
        return 0;
}

/* Links that the system makes, like /dev/stdout, stay. */
static bool is_system_link(const char *path)
{
        static const char system[] = "/proc/";
        char where[sizeof system - 1];

        return readlink(path, where, sizeof where) == (ssize_t)sizeof where && memcmp(where, system, sizeof where) == 0;
}

static int make_temporary(struct scn_file_out *out)
{
        const size_t length = folder_length(out);
        if (length + sizeof NAME_TEMPLATE > sizeof out->temporary)
                return ENAMETOOLONG;
        memcpy(out->temporary, out->target, length);
        memcpy(out->temporary + length, NAME_TEMPLATE, sizeof NAME_TEMPLATE);
        const int error = scn_leftover_make_file(out->temporary, &out->fd);
        if (error == 0)
                (void)fcntl(out->fd, F_SETFD, FD_CLOEXEC);
        return error;
}

static int begin(struct scn_file_out *out, const char *path, unsigned mode)
{
        out->fd = -1;
        out->mode = mode;
        const int error = resolve_target(out, path);
        return error != 0 ? error : make_temporary(out);
}

int scn_file_out_begin(struct scn_file_out *out, const char *path)
{
        const mode_t mask = umask(0); /* there is no other way to ask for it */
        (void)umask(mask);
        return begin(out, path, MODE_ALL & ~(unsigned)mask);
}

int scn_file_out_begin_over_link(struct scn_file_out *out, const char *path)
{
        struct stat status;

        if (lstat(path, &status) != 0 || !S_ISLNK(status.st_mode))
                return begin(out, path, MODE_OWNER);
        out->fd = -1;
        out->mode = MODE_OWNER;
        if (strlen(path) + sizeof NAME_TEMPLATE > sizeof out->target)
                return ENAMETOOLONG;
        if (is_system_link(path) || (stat(path, &status) == 0 && !S_ISREG(status.st_mode)))
                return ENOTSUP;
        memcpy(out->target, path, strlen(path) + 1);
        return make_temporary(out);
}

int scn_file_out_write(struct scn_file_out *out, const void *bytes, size_t size)
{
        SCN_ASSERT(out->fd >= 0);
        for (size_t done = 0; done < size;) {
                const ssize_t count = write(out->fd, (const uint8_t *)bytes + done, size - done);
                if (count < 0 && errno != EINTR)
                        return errno;
                done += count > 0 ? (size_t)count : 0;
        }
        return 0;
}

int scn_file_out_patch(struct scn_file_out *out, size_t offset, const void *bytes, size_t size)
{
        SCN_ASSERT(out->fd >= 0);
        const ssize_t count = pwrite(out->fd, bytes, size, (off_t)offset);
        if (count < 0)
                return errno;
        return (size_t)count == size ? 0 : EIO;
}

/* Makes the move itself last. A failure leaves a whole file under the name, old or new, so there is nobody to tell. */
static void sync_folder(const struct scn_file_out *out)
{
        char folder[SCN_FILE_OUT_PATH_BYTES];
        const size_t length = folder_length(out);

        (void)snprintf(folder, sizeof folder, "%.*s", (int)length, out->target);
        const int fd = open(length > 0 ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0) {
                (void)fsync(fd);
                (void)close(fd);
        }
}

int scn_file_out_commit(struct scn_file_out *out)
{
        SCN_ASSERT(out->fd >= 0);
        int error = 0;

        if (fchmod(out->fd, (mode_t)out->mode) != 0 || fsync(out->fd) != 0)
                error = errno;
        /* Some file systems tell only now that the disk is full. */
        if (close(out->fd) != 0 && error == 0)
                error = errno;
        out->fd = -1;
        if (error == 0 && rename(out->temporary, out->target) != 0)
                error = errno;
        if (error != 0)
                (void)unlink(out->temporary);
        scn_leftover_forget(out->temporary);
        if (error == 0)
                sync_folder(out);
        return error;
}

void scn_file_out_abandon(struct scn_file_out *out)
{
        if (out->fd < 0)
                return;
        (void)close(out->fd);
        (void)unlink(out->temporary);
        scn_leftover_forget(out->temporary);
        out->fd = -1;
}
