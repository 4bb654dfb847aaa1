/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "client/scenectl/verify_file.h"

#include "client/scenectl/leftover.h"
#include "protocol/scene/digest.h"
#include "server/verify.h"
#include "storage/storage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".scene"
#define PATH_BYTES 4096
#define COPY_STEP_BYTES (UINT64_C(16) << 20)

bool scn_ctl_is_file(const char *text)
{
        const size_t size = strlen(text);
        const size_t suffix = strlen(SUFFIX);
        return strchr(text, '/') != NULL || (size > suffix && strcmp(text + size - suffix, SUFFIX) == 0);
}

static void put_digest(const struct scn_digests *digests, uint8_t digest[16])
{
        const struct scn_digest all = scn_digests_combine(digests, SCN_MASK_ALL);
        for (int i = 0; i < 8; i++) {
                digest[i] = (uint8_t)(all.high >> (56 - 8 * i));
                digest[8 + i] = (uint8_t)(all.low >> (56 - 8 * i));
        }
}

static void set_failure(struct scn_failure *failure, enum scn_error error, const struct scn_storage_fault *fault)
{
        *failure = (struct scn_failure){.has_op = false};
        (void)snprintf(failure->code, sizeof failure->code, "%s", scn_error_code(error));
        (void)snprintf(failure->text, sizeof failure->text, "%s",
                fault->text[0] != '\0' ? fault->text : scn_error_text(error));
}

bool scn_ctl_check_file(const char *path, struct scn_file_state *state_out, struct scn_failure *failure_out)
{
        const struct scn_document_options options = {.limits = SCN_LIMITS_DEFAULT, .random = scn_document_no_random};
        struct scn_storage_fault fault = {.text = ""};
        struct scn_journal_state state = {.epoch = 0};
        struct scn_verified verified = {.revision = 0};
        struct scn_journal *journal = NULL;
        enum scn_error error = scn_journal_open_file(path, &journal, &fault);
        if (error == SCN_OK) {
                error = scn_journal_state(journal, &state, &fault);
        }
        if (error == SCN_OK) {
                error = scn_document_verify(journal, &options, &verified, &fault);
        }
        scn_journal_close(journal);
        if (error != SCN_OK) {
                set_failure(failure_out, error, &fault);
                return false;
        }
        *state_out = (struct scn_file_state){.uid = state.uid, .revision = verified.revision, .epoch = state.epoch};
        put_digest(&verified.digests, state_out->digest);
        return true;
}

bool scn_ctl_look_into_file(const char *path, struct scn_file_state *state_out)
{
        struct scn_journal_state state = {.epoch = 0};
        struct scn_journal *journal = NULL;
        enum scn_error error = scn_journal_open_file(path, &journal, NULL);
        if (error == SCN_OK) {
                error = scn_journal_state(journal, &state, NULL);
        }
        scn_journal_close(journal);
        *state_out = (struct scn_file_state){.uid = state.uid, .revision = state.last_revision, .epoch = state.epoch};
        return error == SCN_OK;
}

bool scn_ctl_path_in(const char *folder, struct scn_slice name, char *path_out, size_t size)
{
        char file[SCN_STORAGE_FILE_NAME_TEXT_BYTES];
        if (scn_storage_file_name(name, file, NULL) != SCN_OK) {
                return false;
        }
        const int length = snprintf(path_out, size, "%s/%s", folder, file);
        return length > 0 && (size_t)length < size;
}

bool scn_ctl_has_file_beside(const char *path)
{
        static const char *const endings[] = {"-wal", "-journal"};
        char beside[PATH_BYTES + 16];
        struct stat status;
        for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
                (void)snprintf(beside, sizeof beside, "%s%s", path, endings[i]);
                if (stat(beside, &status) == 0 && status.st_size > 0) {
                        return true;
                }
        }
        return false;
}

bool scn_ctl_is_live(struct scn_ctl *ctl, const char *path)
{
        const char *slash = strrchr(path, '/');
        char folder[PATH_BYTES];
        struct scn_failure failure = {.has_op = false};
        (void)snprintf(
                folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1, slash != NULL ? path : ".");
        if (!scn_storage_is_held(folder)) {
                return false;
        }
        (void)snprintf(failure.code, sizeof failure.code, "%s", scn_error_code(SCN_E_IN_USE));
        (void)snprintf(failure.text, sizeof failure.text, "%.200s: the folder belongs to a running scened", path);
        scn_ctl_fail(ctl, &failure);
        return true;
}

static enum scn_error copy_to(const char *path, const char *copy, struct scn_storage_fault *fault)
{
        struct scn_journal *journal = NULL;
        struct scn_backup *backup = NULL;
        uint64_t left = 1;
        enum scn_error error = scn_journal_open_file(path, &journal, fault);
        if (error == SCN_OK) {
                error = scn_backup_create(journal, copy, &backup, fault);
        }
        while (error == SCN_OK && left > 0) {
                error = scn_backup_step(backup, COPY_STEP_BYTES, &left, fault);
        }
        if (error == SCN_OK) {
                error = scn_backup_finish(backup, fault);
        }
        scn_backup_destroy(backup);
        scn_journal_close(journal);
        return error;
}

int scn_ctl_copy_file(const char *path, struct scn_failure *failure_out)
{
        const char *temporary = getenv("TMPDIR");
        char folder[PATH_BYTES];
        char copy[PATH_BYTES + 16];
        struct scn_storage_fault fault = {.text = ""};
        (void)snprintf(folder, sizeof folder, "%s/scenectl-XXXXXX", temporary != NULL ? temporary : "/tmp");
        const int problem = scn_leftover_make_folder(folder);
        if (problem != 0) {
                (void)snprintf(fault.text, sizeof fault.text, "%.100s: %s", folder, strerror(problem));
                set_failure(failure_out, SCN_E_STORAGE_FAILED, &fault);
                return -1;
        }
        (void)snprintf(copy, sizeof copy, "%s/copy", folder);
        scn_leftover_note(copy);
        enum scn_error error = copy_to(path, copy, &fault);
        const int fd = error == SCN_OK ? open(copy, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
        if (fd < 0) {
                error = error == SCN_OK ? SCN_E_STORAGE_FAILED : error;
                set_failure(failure_out, error, &fault);
        }
        (void)unlink(copy);
        (void)rmdir(folder);
        scn_leftover_forget(copy);
        scn_leftover_forget(folder);
        return fd;
}

/* What is said of a file begins with its name, or names it nowhere. */
void scn_ctl_name_file(struct scn_failure *failure, const char *path)
{
        const char *slash = strrchr(path, '/');
        const char *name = slash != NULL ? slash + 1 : path;
        const size_t length = strlen(name);
        const struct scn_failure bare = *failure;
        const bool is_named = strncmp(bare.text, name, length) == 0 && bare.text[length] == ':';
        (void)snprintf(failure->text, sizeof failure->text, "%.200s: %.260s", path,
                is_named ? bare.text + length + strspn(bare.text + length, ": ") : bare.text);
}

void scn_ctl_verify_file(struct scn_ctl *ctl, const char *path)
{
        struct scn_file_state state;
        struct scn_failure failure;
        if (!scn_ctl_check_file(path, &state, &failure)) {
                scn_ctl_name_file(&failure, path);
                scn_ctl_fail(ctl, &failure);
                return;
        }
        if (!ctl->is_json) {
                scn_ctl_print_cstring(path);
                scn_ctl_print(": rev: %llu, digest: ", (unsigned long long)state.revision);
                for (size_t i = 0; i < sizeof state.digest; i++) {
                        scn_ctl_print("%02x", state.digest[i]);
                }
                scn_ctl_print(", ok: true\n");
                return;
        }
        scn_ctl_begin_line(ctl);
        scn_ctl_key(ctl, "file");
        scn_json_put_cstring(&ctl->json, path);
        scn_ctl_key(ctl, "rev");
        scn_json_put_uint(&ctl->json, state.revision);
        scn_ctl_key(ctl, "digest");
        scn_ctl_put_hex(ctl, (struct scn_slice){state.digest, sizeof state.digest});
        scn_ctl_key(ctl, "ok");
        scn_json_put(&ctl->json, "true");
        scn_ctl_end_line(ctl);
}
