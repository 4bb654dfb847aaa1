/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* renameat2(), open file description locks */
#include "storage/file.h"

#include "storage/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_NAME "scened.lock"
#define FILE_MODE 0600
#define DIRECTORY_MODE 0700
/* How often, 5 ms apart, a process that holds the lock is waited for to have written its id. */
#define HOLDER_TRIES 60

int scn_file_create_private(int directory_fd, const char *name)
{
        const int fd = openat(directory_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);

        if (fd < 0)
                return -1;
        /* The umask can only have taken bits away, and SQLite gives its files the bits of this one. */
        const int result = fchmod(fd, FILE_MODE);
        const int saved = errno;
        close(fd);
        if (result < 0)
                unlinkat(directory_fd, name, 0);
        errno = saved;
        return result;
}

int scn_file_create_directory(int directory_fd, const char *name)
{
        if (mkdirat(directory_fd, name, DIRECTORY_MODE) == 0)
                return fchmodat(directory_fd, name, DIRECTORY_MODE, 0);
        return errno == EEXIST ? 0 : -1;
}

int scn_file_rename(int from_fd, const char *from, int to_fd, const char *to)
{
        if (renameat2(from_fd, from, to_fd, to, RENAME_NOREPLACE) == 0)
                return 0;
        if (errno != EINVAL && errno != ENOSYS)
                return -1;
        /* The file system cannot; but nobody else writes here, for we hold the directory's lock. */
        if (faccessat(to_fd, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
                errno = EEXIST;
                return -1;
        }
        return renameat(from_fd, from, to_fd, to);
}

void scn_file_remove_database(int directory_fd, const char *name)
{
        static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
        char path[4096 + 64]; /* names are short, but a backup's is a whole path */

        for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
                snprintf(path, sizeof path, "%s%s", name, endings[i]);
                unlinkat(directory_fd, path, 0);
        }
}

/* 0 if the file does not say. */
static pid_t read_holder(int fd)
{
        char text[32] = "";
        const ssize_t size = pread(fd, text, sizeof text - 1, 0);

        if (size <= 0 || text[size - 1] != '\n')
                return 0;
        const long value = strtol(text, NULL, 10);
        return value > 0 ? (pid_t)value : 0;
}

/* Whoever has just taken the lock has not yet written its id, and what stands there may be that of one long dead. */
static pid_t wait_for_holder(int fd)
{
        const struct timespec pause = {.tv_nsec = 5000000};
        pid_t holder = 0;

        for (int i = 0; i < HOLDER_TRIES; i++) {
                holder = read_holder(fd);
                if (holder != 0 && (kill(holder, 0) == 0 || errno == EPERM))
                        break;
                nanosleep(&pause, NULL);
        }
        return holder;
}

/* Only information: a full disk must not keep the daemon from starting, for whoever wants to make room needs it. */
static void write_holder(int fd)
{
        char text[32];
        const int size = snprintf(text, sizeof text, "%" PRIdMAX "\n", (intmax_t)getpid());

        if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)size, 0) != size)
                return;
}

static bool is_taken(int error_number)
{
        return error_number == EAGAIN || error_number == EACCES || error_number == EWOULDBLOCK;
}

/* 0, or -1 with errno. */
static int take_locks(int directory_fd, int fd)
{
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

        /* Not every file system has locks on directories; the file's is the one that counts. */
        if (flock(directory_fd, LOCK_EX | LOCK_NB) < 0 && is_taken(errno))
                return -1;
        return fcntl(fd, F_OFD_SETLK, &whole);
}

enum scn_error scn_file_lock(int directory_fd, const char *path, int *lock_fd_out, struct scn_storage_fault *fault)
{
        const int fd = openat(directory_fd, LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);

        if (fd < 0)
                return scn_fault_set_errno(fault, errno, "open the lock file in", path);
        if (take_locks(directory_fd, fd) < 0) {
                const int reason = errno;
                enum scn_error error;
                if (is_taken(reason)) {
                        const pid_t holder = wait_for_holder(fd);
                        error = holder != 0
                                ? scn_fault_set(fault, SCN_E_IN_USE, 0, 0,
                                          "process %" PRIdMAX " has the data directory %s", (intmax_t)holder, path)
                                : scn_fault_set(
                                          fault, SCN_E_IN_USE, 0, 0, "another process has the data directory %s", path);
                        if (fault != NULL)
                                fault->holder_pid = holder;
                } else {
                        error = scn_fault_set_errno(fault, reason, "lock", path);
                }
                close(fd);
                return error;
        }
        if (fchmod(fd, FILE_MODE) < 0) {
                const enum scn_error error = scn_fault_set_errno(fault, errno, "protect the lock file in", path);
                close(fd);
                return error;
        }
        write_holder(fd);
        *lock_fd_out = fd;
        return SCN_OK;
}

bool scn_file_is_locked(int directory_fd)
{
        /* For reading, as the descriptor is: the lock is for writing, and so is in the way. */
        struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
        const int fd = openat(directory_fd, LOCK_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

        if (fd < 0 && errno != ENOENT)
                return true;
        if (fd < 0) {
                /* Somebody may have removed it. Only then is a lock taken, which one who starts could meet. */
                const bool is_free = flock(directory_fd, LOCK_SH | LOCK_NB) == 0;
                const bool is_held = !is_free && is_taken(errno);
                if (is_free)
                        flock(directory_fd, LOCK_UN);
                return is_held;
        }
        const int result = fcntl(fd, F_OFD_GETLK, &whole);
        close(fd);
        return result < 0 || whole.l_type != F_UNLCK;
}
