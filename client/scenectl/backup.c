/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* backup: a document's file, streamed here. It gets its name when it is whole and on the disk; until then it is
 * another file beside. */

#include "client/scenectl/ctl.h"
#include "protocol/wire/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096

struct backup {
        struct scn_ctl *ctl;
        const char *path;
        char part[PATH_BYTES]; /* the file under way; "" for standard output */
        int fd;                /* -1: none */
        uint64_t bytes;
        bool is_whole;
};

static void fail(struct backup *backup, const char *what)
{
        struct scn_failure failure = {.has_op = false};
        (void)snprintf(failure.code, sizeof failure.code, "not_writable");
        (void)snprintf(failure.text, sizeof failure.text, "%.200s: %.100s", what, strerror(errno));
        scn_ctl_fail(backup->ctl, &failure);
}

static bool write_all(int fd, const uint8_t *bytes, size_t size)
{
        while (size > 0) {
                const ssize_t count = write(fd, bytes, size);
                if (count < 0 && errno == EINTR) {
                        continue;
                }
                if (count <= 0) {
                        return false;
                }
                bytes += count;
                size -= (size_t)count;
        }
        return true;
}

static void on_part(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct backup *backup = data;
        struct scn_unpacker unpacker = scn_unpacker_from(answer->body);
        if (backup->ctl->is_done || answer->failure != NULL) {
                scn_ctl_on_done(client, answer, backup->ctl);
                return;
        }
        const struct scn_slice part = scn_unpack_bin(&unpacker, UINT32_MAX);
        if (unpacker.error == SCN_OK && !write_all(backup->fd, part.data, part.size)) {
                fail(backup, backup->path);
                return;
        }
        backup->bytes += part.size;
        backup->is_whole = !answer->has_more;
        scn_ctl_on_done(client, answer, backup->ctl);
}

/* Beside the file, so that the move at the end stays on one disk. */
static bool open_part(struct backup *backup)
{
        if (strcmp(backup->path, "-") == 0) {
                backup->fd = STDOUT_FILENO;
                return true;
        }
        const int size = snprintf(backup->part, sizeof backup->part, "%s.part-%ld", backup->path, (long)getpid());
        if (size < 0 || (size_t)size >= sizeof backup->part) {
                backup->part[0] = '\0';
                errno = ENAMETOOLONG;
                fail(backup, "backup");
                return false;
        }
        backup->fd = open(backup->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (backup->fd < 0) {
                fail(backup, backup->part);
                backup->part[0] = '\0';
        }
        return backup->fd >= 0;
}

static void finish(struct backup *backup)
{
        if (backup->part[0] == '\0') {
                return;
        }
        const bool is_good = backup->is_whole && backup->ctl->code == SCN_CTL_OK && fsync(backup->fd) == 0;
        if (is_good && close(backup->fd) == 0 && rename(backup->part, backup->path) == 0) {
                return;
        }
        if (backup->ctl->code == SCN_CTL_OK) {
                fail(backup, backup->path);
        }
        (void)close(backup->fd);
        (void)unlink(backup->part);
}

int scn_ctl_run_backup(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct backup backup = {.ctl = ctl, .path = arguments->values[1], .fd = -1};
        if (!scn_ctl_open(ctl, arguments->values[0]) || !open_part(&backup)) {
                return ctl->code;
        }
        const enum scn_error error = scn_client_backup(ctl->client, on_part, &backup);
        if (error != SCN_OK) {
                (void)scn_ctl_refuse(ctl, error);
        } else {
                (void)scn_ctl_wait(ctl);
        }
        finish(&backup);
        if (ctl->code == SCN_CTL_OK && backup.part[0] != '\0') {
                if (ctl->is_json) {
                        scn_ctl_begin_line(ctl);
                        scn_ctl_key(ctl, "file");
                        scn_json_put_cstring(&ctl->json, backup.path);
                        scn_ctl_key(ctl, "bytes");
                        scn_json_put_uint(&ctl->json, backup.bytes);
                        scn_ctl_end_line(ctl);
                } else {
                        scn_ctl_print("%s: %llu bytes\n", backup.path, (unsigned long long)backup.bytes);
                }
        }
        return ctl->code;
}
