/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* backup --all: each document to a file of its own, but for those of which the folder has this very state already. One
 * that fails does not keep the others from being copied. */

#include "client/scenectl/backup.h"
#include "client/scenectl/verify_file.h"
#include "protocol/base/alloc.h"
#include "protocol/base/uid.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES 4096
#define DOCUMENTS_MAX 1000000u

struct entry {
        char *name; /* owned */
        bool is_known;
        struct scn_file_state state;
};

struct list {
        struct scn_ctl *ctl;
        struct entry *entries;
        size_t count;
        size_t capacity;
};

static bool add(struct list *list, const struct scn_document_state *state)
{
        char *name = scn_alloc((size_t)state->name.size + 1);
        if (name == NULL ||
                !scn_grow((void **)&list->entries, &list->capacity, sizeof *list->entries, list->count + 1,
                        DOCUMENTS_MAX)) {
                scn_free(name);
                return false;
        }
        memcpy(name, state->name.data, state->name.size);
        name[state->name.size] = '\0';
        struct entry *entry = &list->entries[list->count++];
        *entry = (struct entry){.name = name, .is_known = state->code.data == NULL};
        entry->state.uid = state->uid;
        entry->state.revision = state->rev;
        memcpy(&entry->state.epoch, state->epoch, sizeof entry->state.epoch);
        return true;
}

static void on_states(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct list *list = data;
        struct scn_document_state state;
        size_t at = 0;
        while (answer->failure == NULL && !list->ctl->is_done && scn_answer_document_state(answer, &at, &state)) {
                if (!add(list, &state)) {
                        (void)scn_ctl_refuse(list->ctl, SCN_E_NO_MEMORY);
                }
        }
        if (!list->ctl->is_done) {
                scn_ctl_on_done(client, answer, list->ctl);
        }
}

static bool list_documents(struct list *list)
{
        struct scn_ctl *ctl = list->ctl;
        if (!scn_ctl_open(ctl, NULL)) {
                return false;
        }
        const enum scn_error error = scn_client_document_states(ctl->client, on_states, list);
        if (error != SCN_OK) {
                (void)scn_ctl_refuse(ctl, error);
                return false;
        }
        return scn_ctl_wait(ctl) == SCN_CTL_OK;
}

/* Whether the file that is there has the same revision of the same document, and nobody has opened that since. */
static bool is_current(const struct entry *entry, const char *path)
{
        struct scn_file_state state;
        struct stat status;
        if (lstat(path, &status) != 0 || !S_ISREG(status.st_mode) || scn_ctl_has_file_beside(path)) {
                return false; /* a link to a copy is none, and what is whole has nothing beside it */
        }
        return entry->is_known && scn_ctl_look_into_file(path, &state) && scn_uid_equal(state.uid, entry->state.uid) &&
                state.revision == entry->state.revision && state.epoch == entry->state.epoch;
}

static void say(struct scn_ctl *ctl, const struct entry *entry, const char *path, const struct scn_ctl_copy *copy)
{
        const uint64_t revision = copy != NULL ? copy->revision : entry->state.revision;
        if (!ctl->is_json) {
                scn_ctl_print_cstring(entry->name);
                scn_ctl_print(": %s, revision %llu%s\n", copy != NULL ? "copied" : "unchanged",
                        (unsigned long long)revision, copy != NULL ? ", verified" : "");
                return;
        }
        scn_ctl_begin_line(ctl);
        scn_ctl_key(ctl, "doc");
        scn_json_put_cstring(&ctl->json, entry->name);
        scn_ctl_key(ctl, "file");
        scn_json_put_cstring(&ctl->json, path);
        scn_ctl_key(ctl, "rev");
        scn_json_put_uint(&ctl->json, revision);
        scn_ctl_key(ctl, "copied");
        scn_json_put(&ctl->json, copy != NULL ? "true" : "false");
        if (copy != NULL) {
                scn_ctl_key(ctl, "bytes");
                scn_json_put_uint(&ctl->json, copy->bytes);
        }
        scn_ctl_end_line(ctl);
}

static void say_failed(struct scn_ctl *ctl, const struct entry *entry, const struct scn_failure *failure)
{
        if (!ctl->is_json) {
                scn_ctl_print_cstring(entry->name);
                scn_ctl_print(": failed: ");
                scn_ctl_print_cstring(failure->code);
                scn_ctl_print(": ");
                scn_ctl_print_cstring(failure->text);
                scn_ctl_print("\n");
                return;
        }
        scn_ctl_begin_line(ctl);
        scn_ctl_key(ctl, "doc");
        scn_json_put_cstring(&ctl->json, entry->name);
        scn_ctl_key(ctl, "error");
        scn_json_put_cstring(&ctl->json, failure->code);
        scn_ctl_key(ctl, "message");
        scn_json_put_cstring(&ctl->json, failure->text);
        scn_ctl_end_line(ctl);
}

/* Whether it went well; ctl->code is as before. */
static bool back_up(struct scn_ctl *ctl, const struct entry *entry, const char *folder)
{
        const struct scn_slice name = {(const uint8_t *)entry->name, (uint32_t)strlen(entry->name)};
        char path[PATH_BYTES];
        struct scn_ctl_copy copy;
        if (!scn_ctl_path_in(folder, name, path, sizeof path)) {
                scn_ctl_fail_path(ctl, "not_writable", folder, ENAMETOOLONG);
                return false;
        }
        if (is_current(entry, path)) {
                say(ctl, entry, path, NULL);
                return true;
        }
        if (!scn_ctl_copy_document(ctl, entry->name, path, &copy)) {
                return false;
        }
        say(ctl, entry, path, &copy);
        return true;
}

/* Said once, not for each document. */
static bool prepare_folder(struct scn_ctl *ctl, const char *folder)
{
        struct stat status;
        char inside[PATH_BYTES];
        if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
                scn_ctl_fail_path(ctl, "not_writable", folder, errno);
                return false;
        }
        if (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode)) {
                scn_ctl_fail_path(ctl, "not_writable", folder, ENOTDIR);
                return false;
        }
        if ((size_t)snprintf(inside, sizeof inside, "%s/", folder) >= sizeof inside) {
                scn_ctl_fail_path(ctl, "not_writable", folder, ENAMETOOLONG);
                return false;
        }
        return !scn_ctl_is_live(ctl, inside);
}

int scn_ctl_back_up_all(struct scn_ctl *ctl, const char *folder)
{
        struct list list = {.ctl = ctl};
        if (!prepare_folder(ctl, folder)) {
                return ctl->code;
        }
        const bool is_listed = list_documents(&list);
        bool has_failed = false;
        ctl->catches = true;
        for (size_t i = 0; i < list.count && is_listed; i++) {
                if (!back_up(ctl, &list.entries[i], folder)) {
                        has_failed = true;
                        say_failed(ctl, &list.entries[i], &ctl->caught);
                }
                ctl->code = SCN_CTL_OK;
                scn_ctl_flush(ctl);
        }
        ctl->catches = false;
        for (size_t i = 0; i < list.count; i++) {
                scn_free(list.entries[i].name);
        }
        scn_free(list.entries);
        ctl->code = has_failed ? SCN_CTL_REFUSED : is_listed ? SCN_CTL_OK : ctl->code;
        return ctl->code;
}
