/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "client/scenectl/verify_file.h"

#include "protocol/scene/digest.h"
#include "server/verify.h"
#include "storage/storage.h"

#include <stdio.h>
#include <string.h>

#define SUFFIX ".scene"

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
                *failure_out = (struct scn_failure){.has_op = false};
                (void)snprintf(failure_out->code, sizeof failure_out->code, "%s", scn_error_code(error));
                (void)snprintf(failure_out->text, sizeof failure_out->text, "%s",
                        fault.text[0] != '\0' ? fault.text : scn_error_text(error));
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

void scn_ctl_verify_file(struct scn_ctl *ctl, const char *path)
{
        struct scn_file_state state;
        struct scn_failure failure;
        if (!scn_ctl_check_file(path, &state, &failure)) {
                scn_ctl_fail(ctl, &failure);
                return;
        }
        if (!ctl->is_json) {
                scn_ctl_print("%s: rev: %llu, digest: ", path, (unsigned long long)state.revision);
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
