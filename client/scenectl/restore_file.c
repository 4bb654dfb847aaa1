/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* restore-file: a backup becomes a document of the server. */

#include "client/scenectl/ctl.h"
#include "client/scenectl/verify_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What realpath() needs. */
#define PATH_BYTES 4096

struct restoring {
        struct scn_ctl *ctl;
        int fd;
        const char *path;
        bool replaces;
        int error; /* errno of a read that failed */
};

static int64_t read_part(void *data, uint8_t *bytes_out, size_t size)
{
        struct restoring *restoring = data;
        while (true) {
                const ssize_t count = read(restoring->fd, bytes_out, size);
                if (count >= 0 || errno != EINTR) {
                        restoring->error = count < 0 ? errno : restoring->error;
                        return count;
                }
        }
}

/* The server has never heard of the file's name. */
static bool is_about_file(const char *code)
{
        static const enum scn_error errors[] = {SCN_E_NOT_A_DOCUMENT, SCN_E_CORRUPT, SCN_E_NEWER_FORMAT,
                SCN_E_OLDER_FORMAT, SCN_E_TOO_LARGE, SCN_E_RANGE};
        for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
                if (strcmp(scn_error_code(errors[i]), code) == 0) {
                        return true;
                }
        }
        return false;
}

static void on_answer(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct restoring *restoring = data;
        struct scn_ctl *ctl = restoring->ctl;
        if (answer->failure == NULL && !answer->has_more && ctl->is_json) {
                scn_ctl_begin_line(ctl);
                scn_ctl_put_members(ctl, answer->body);
                scn_ctl_end_line(ctl);
        } else if (answer->failure == NULL && !answer->has_more) {
                scn_ctl_print_members(answer->body, ", ");
                scn_ctl_print("\n");
        }
        if (answer->failure != NULL && !restoring->replaces && strcmp(answer->failure->code, "document_exists") == 0) {
                struct scn_failure failure = *answer->failure;
                (void)snprintf(failure.text, sizeof failure.text, "%.200s; --replace sends it to the trash",
                        answer->failure->text);
                scn_ctl_fail(ctl, &failure);
                return;
        }
        if (answer->failure != NULL && is_about_file(answer->failure->code)) {
                struct scn_failure failure = *answer->failure;
                scn_ctl_name_file(&failure, restoring->path);
                scn_ctl_fail(ctl, &failure);
                return;
        }
        scn_ctl_on_done(client, answer, ctl);
}

static void restore(struct restoring *restoring, const struct scn_file *file, const char *path)
{
        struct scn_ctl *ctl = restoring->ctl;
        if (!scn_ctl_open(ctl, NULL)) {
                return;
        }
        const enum scn_error error = scn_client_restore_file(ctl->client, file, read_part, on_answer, restoring);
        if (error != SCN_OK) {
                (void)scn_ctl_refuse(ctl, error);
                return;
        }
        (void)scn_ctl_wait(ctl);
        if (restoring->error != 0) {
                scn_ctl_fail_path(ctl, "not_readable", path, restoring->error);
        }
}

/* What stands beside the file belongs to it: then both are sent, as one. -1: that failed, and was said. */
static int open_file(struct scn_ctl *ctl, const char *path)
{
        struct scn_failure failure;
        char real[PATH_BYTES]; /* beside which SQLite looks */
        const bool is_alone = realpath(path, real) == NULL || !scn_ctl_has_file_beside(real);
        const int fd = is_alone ? open(path, O_RDONLY | O_CLOEXEC) : scn_ctl_copy_file(real, &failure);
        if (fd < 0 && is_alone) {
                scn_ctl_fail_path(ctl, "not_readable", path, errno);
        } else if (fd < 0) {
                scn_ctl_name_file(&failure, path);
                scn_ctl_fail(ctl, &failure);
        }
        return fd;
}

int scn_ctl_run_restore_file(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        const char *path = arguments->values[1];
        struct restoring restoring = {.ctl = ctl, .path = path};
        struct scn_file file = SCN_FILE_INIT;
        struct stat status;
        restoring.fd = open_file(ctl, path);
        if (restoring.fd < 0) {
                return ctl->code;
        }
        if (fstat(restoring.fd, &status) != 0) {
                scn_ctl_fail_path(ctl, "not_readable", path, errno);
        } else if (!S_ISREG(status.st_mode)) {
                scn_ctl_fail_path(ctl, "not_readable", path, S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
        } else {
                file.document = arguments->values[0];
                file.bytes = (uint64_t)status.st_size;
                file.replaces = arguments->options[SCN_CTL_OPTION_replace] != NULL;
                restoring.replaces = file.replaces;
                restore(&restoring, &file, path);
        }
        (void)close(restoring.fd);
        return ctl->code;
}
