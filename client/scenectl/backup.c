/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* backup: a document's file, streamed here. It gets its name when it is whole, has been verified, and is on the disk;
 * until then it is another file beside. */

#include "client/scenectl/backup.h"

#include "client/scenectl/file_out.h"
#include "client/scenectl/verify_file.h"
#include "protocol/base/uid.h"
#include "protocol/wire/pack.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct backup {
        struct scn_ctl *ctl;
        const char *path;
        bool is_to_output; /* standard output: no name, nothing to verify */
        struct scn_file_out out;
        struct scn_ctl_copy copy;
        struct scn_file_state state; /* what was verified */
        bool is_whole;
};

/* 0 or errno. */
static int write_output(const uint8_t *bytes, size_t size)
{
        while (size > 0) {
                const ssize_t count = write(STDOUT_FILENO, bytes, size);
                if (count < 0 && errno != EINTR) {
                        return errno;
                }
                bytes += count > 0 ? count : 0;
                size -= count > 0 ? (size_t)count : 0;
        }
        return 0;
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
        const int error = unpacker.error != SCN_OK ? EPROTO
                : backup->is_to_output             ? write_output(part.data, part.size)
                                                   : scn_file_out_write(&backup->out, part.data, part.size);
        if (error != 0) {
                scn_ctl_fail_path(backup->ctl, "not_writable", backup->path, error);
                return;
        }
        backup->copy.bytes += part.size;
        backup->is_whole = !answer->has_more;
        scn_ctl_on_done(client, answer, backup->ctl);
}

/* The very file that gets the name is read and replayed. */
static bool verify(struct backup *backup)
{
        struct scn_failure failure;
        if (!scn_ctl_check_file(backup->out.temporary, &backup->state, &failure)) {
                scn_ctl_fail(backup->ctl, &failure);
                return false;
        }
        backup->copy.revision = backup->state.revision;
        return true;
}

/* What SQLite has left beside an older file of the name it would take for that of the new one. */
static bool clear_beside(struct backup *backup)
{
        static const char *const endings[] = {"-wal", "-shm", "-journal"};
        char beside[SCN_FILE_OUT_PATH_BYTES + 16];
        for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
                (void)snprintf(beside, sizeof beside, "%s%s", backup->out.target, endings[i]);
                if (unlink(beside) != 0 && errno != ENOENT) {
                        scn_ctl_fail_path(backup->ctl, "not_writable", beside, errno);
                        return false;
                }
        }
        return true;
}

/* It was verified under another name: another program may have put something beside this one. */
static bool is_under_its_name(struct backup *backup)
{
        struct scn_file_state state;
        struct scn_failure failure = {.has_op = false};
        backup->copy.is_verified = scn_ctl_look_into_file(backup->out.target, &state) &&
                scn_uid_equal(state.uid, backup->state.uid) && state.revision == backup->state.revision &&
                state.epoch == backup->state.epoch;
        if (!backup->copy.is_verified) {
                (void)snprintf(failure.code, sizeof failure.code, "corrupt");
                (void)snprintf(failure.text, sizeof failure.text, "%.150s: another program has changed the copy",
                        backup->path);
                scn_ctl_fail(backup->ctl, &failure);
        }
        return backup->copy.is_verified;
}

static bool finish(struct backup *backup)
{
        struct scn_ctl *ctl = backup->ctl;
        if (backup->is_to_output) {
                return ctl->code == SCN_CTL_OK;
        }
        if (!backup->is_whole || ctl->code != SCN_CTL_OK || !verify(backup) || scn_ctl_is_live(ctl, backup->path) ||
                !clear_beside(backup)) {
                scn_file_out_abandon(&backup->out);
                return false;
        }
        const int error = scn_file_out_commit(&backup->out);
        if (error != 0) {
                scn_ctl_fail_path(ctl, "not_writable", backup->path, error);
        }
        return error == 0 && is_under_its_name(backup);
}

bool scn_ctl_copy_document(struct scn_ctl *ctl, const char *document, const char *path, struct scn_ctl_copy *copy_out)
{
        struct backup backup = {.ctl = ctl, .path = path, .is_to_output = strcmp(path, "-") == 0};
        if ((!backup.is_to_output && scn_ctl_is_live(ctl, path)) || !scn_ctl_open(ctl, document)) {
                return false;
        }
        const int problem = backup.is_to_output ? 0 : scn_file_out_begin_over_link(&backup.out, path);
        if (problem != 0) {
                scn_ctl_fail_path(ctl, "not_writable", path, problem);
                return false;
        }
        const enum scn_error error = scn_client_backup(ctl->client, on_part, &backup);
        if (error != SCN_OK) {
                (void)scn_ctl_refuse(ctl, error);
        } else {
                (void)scn_ctl_wait(ctl);
        }
        const bool is_good = finish(&backup);
        *copy_out = backup.copy;
        return is_good;
}

static int back_up_one(struct scn_ctl *ctl, const char *document, const char *path)
{
        struct scn_ctl_copy copy;
        if (!scn_ctl_copy_document(ctl, document, path, &copy) || !copy.is_verified) {
                return ctl->code;
        }
        if (!ctl->is_json) {
                scn_ctl_print_cstring(path);
                scn_ctl_print(": %llu bytes, revision %llu, verified\n", (unsigned long long)copy.bytes,
                        (unsigned long long)copy.revision);
                return ctl->code;
        }
        scn_ctl_begin_line(ctl);
        scn_ctl_key(ctl, "file");
        scn_json_put_cstring(&ctl->json, path);
        scn_ctl_key(ctl, "bytes");
        scn_json_put_uint(&ctl->json, copy.bytes);
        scn_ctl_key(ctl, "rev");
        scn_json_put_uint(&ctl->json, copy.revision);
        scn_ctl_end_line(ctl);
        return ctl->code;
}

int scn_ctl_run_backup(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        const bool is_all = arguments->options[SCN_CTL_OPTION_all] != NULL;
        if (is_all != (arguments->values_count == 1)) {
                return scn_ctl_misuse(ctl, "backup: DOC FILE, or --all DIR");
        }
        return is_all ? scn_ctl_back_up_all(ctl, arguments->values[0])
                      : back_up_one(ctl, arguments->values[0], arguments->values[1]);
}
