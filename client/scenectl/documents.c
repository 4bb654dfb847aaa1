/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* ls, create, delete, undelete, rename, info, who, kick: documents and sessions. */

#include "client/scenectl/ctl.h"
#include "protocol/wire/pack.h"

#include <stdio.h>
#include <string.h>

/* --- ls --- */

static void on_documents(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct scn_ctl *ctl = data;
        struct scn_slice name;
        size_t at = 0;
        while (answer->failure == NULL && scn_answer_document(answer, &at, &name)) {
                if (ctl->is_json) {
                        scn_ctl_begin_line(ctl);
                        scn_ctl_key(ctl, "doc");
                        scn_json_put_text(&ctl->json, name);
                        scn_ctl_end_line(ctl);
                } else {
                        scn_ctl_print_text(name);
                        scn_ctl_print("\n");
                }
        }
        scn_ctl_on_done(client, answer, data);
}

static void on_trash(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct scn_ctl *ctl = data;
        struct scn_document_state state;
        size_t at = 0;
        while (answer->failure == NULL && scn_answer_document_state(answer, &at, &state)) {
                if (ctl->is_json) {
                        scn_ctl_begin_line(ctl);
                        scn_ctl_key(ctl, "doc");
                        scn_json_put_text(&ctl->json, state.name);
                        scn_ctl_key(ctl, "deleted_us");
                        scn_json_put_uint(&ctl->json, state.deleted_us);
                        scn_ctl_end_line(ctl);
                } else {
                        scn_ctl_print_text(state.name);
                        scn_ctl_print("  deleted ");
                        scn_ctl_print_time(state.deleted_us);
                        scn_ctl_print("\n");
                }
        }
        scn_ctl_on_done(client, answer, data);
}

int scn_ctl_run_ls(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        const bool is_of_trash = arguments->options[SCN_CTL_OPTION_trash] != NULL;
        if (!scn_ctl_open(ctl, NULL)) {
                return ctl->code;
        }
        const enum scn_error error = is_of_trash ? scn_client_trash(ctl->client, on_trash, ctl)
                                                 : scn_client_documents(ctl->client, on_documents, ctl);
        return error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
}

/* --- create, delete, undelete, rename --- */

static int manage(struct scn_ctl *ctl, const char *action, const char *document, const char *to)
{
        if (!scn_ctl_open(ctl, NULL)) {
                return ctl->code;
        }
        const enum scn_error error = scn_client_manage(ctl->client, action, document, to, scn_ctl_on_done, ctl);
        if (error != SCN_OK) {
                return scn_ctl_refuse(ctl, error);
        }
        if (scn_ctl_wait(ctl) == SCN_CTL_OK && ctl->is_json) {
                scn_ctl_begin_line(ctl);
                scn_ctl_key(ctl, "doc");
                scn_json_put_cstring(&ctl->json, to != NULL ? to : document);
                scn_ctl_end_line(ctl);
        }
        return ctl->code;
}

int scn_ctl_run_create(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        return manage(ctl, "create", arguments->values[0], NULL);
}

int scn_ctl_run_delete(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        return manage(ctl, "delete", arguments->values[0], NULL);
}

int scn_ctl_run_undelete(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        ctl->hint = "a document that was deleted stays there for 30 days";
        return manage(ctl, "undelete", arguments->values[0], NULL);
}

int scn_ctl_run_rename(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        return manage(ctl, "rename", arguments->values[0], arguments->values[1]);
}

/* --- info --- */

static void on_info(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct scn_ctl *ctl = data;
        if (answer->failure == NULL && ctl->is_json) {
                scn_ctl_begin_line(ctl);
                scn_ctl_put_members(ctl, answer->body);
                scn_ctl_end_line(ctl);
        } else if (answer->failure == NULL) {
                scn_ctl_print_members(answer->body, "\n");
                scn_ctl_print("\n");
        }
        scn_ctl_on_done(client, answer, data);
}

int scn_ctl_run_info(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        if (!scn_ctl_open(ctl, arguments->values[0])) {
                return ctl->code;
        }
        const enum scn_error error = scn_client_info(ctl->client, on_info, ctl);
        return error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
}

/* --- who, kick --- */

struct who {
        struct scn_ctl *ctl;
        const char *document; /* NULL: all */
        bool is_there;        /* somebody has it open, or it is listed */
};

/* Whether a session's map says that it has this document open. */
static bool has_document(struct scn_slice map, const char *document)
{
        struct scn_unpacker unpacker = scn_unpacker_from(map);
        const uint32_t count = scn_unpack_map(&unpacker);
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                const struct scn_slice key = scn_unpack_text(&unpacker, UINT32_MAX);
                const bool is_it = key.size == 8 && memcmp(key.data, "document", 8) == 0 &&
                        scn_unpack_kind(&unpacker) == SCN_PACK_TEXT;
                if (is_it) {
                        const struct scn_slice name = scn_unpack_text(&unpacker, UINT32_MAX);
                        return name.size == strlen(document) && memcmp(name.data, document, name.size) == 0;
                }
                (void)scn_unpack_raw(&unpacker);
        }
        return false;
}

static void print_session(struct scn_ctl *ctl, struct scn_slice map)
{
        if (ctl->is_json) {
                scn_ctl_begin_line(ctl);
                scn_ctl_put_members(ctl, map);
                scn_ctl_end_line(ctl);
        } else {
                scn_ctl_print_members(map, "  ");
                scn_ctl_print("\n");
        }
}

/* Nobody has it open: that is no answer about a document that is not there. */
static void on_listed(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct who *who = data;
        struct scn_slice name;
        size_t at = 0;
        while (answer->failure == NULL && scn_answer_document(answer, &at, &name)) {
                who->is_there = who->is_there ||
                        (name.size == strlen(who->document) && memcmp(name.data, who->document, name.size) == 0);
        }
        if (answer->failure == NULL && !answer->has_more && !who->is_there) {
                struct scn_failure failure = {.code = "no_document"};
                (void)snprintf(
                        failure.text, sizeof failure.text, "document %.200s: no document has this name", who->document);
                scn_ctl_fail(who->ctl, &failure);
                return;
        }
        scn_ctl_on_done(client, answer, who->ctl);
}

static void on_who(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct who *who = data;
        struct scn_unpacker unpacker = scn_unpacker_from(answer->body);
        const uint32_t count = answer->failure != NULL ? 0 : scn_unpack_array(&unpacker);
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                const struct scn_slice session = scn_unpack_raw(&unpacker);
                if (unpacker.error == SCN_OK && (who->document == NULL || has_document(session, who->document))) {
                        print_session(who->ctl, session);
                        who->is_there = true;
                }
        }
        const bool is_last = answer->failure == NULL && !answer->has_more;
        if (is_last && who->document != NULL && !who->is_there) {
                const enum scn_error error = scn_client_documents(client, on_listed, who);
                if (error != SCN_OK) {
                        (void)scn_ctl_refuse(who->ctl, error);
                }
                return;
        }
        scn_ctl_on_done(client, answer, who->ctl);
}

int scn_ctl_run_who(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct who who = {.ctl = ctl, .document = arguments->values_count > 0 ? arguments->values[0] : NULL};
        if (!scn_ctl_open(ctl, NULL)) {
                return ctl->code;
        }
        const enum scn_error error = scn_client_who(ctl->client, on_who, &who);
        return error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
}

int scn_ctl_run_kick(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        uint64_t session;
        if (!scn_ctl_read_number(ctl, "SESSION", arguments->values[0], SCN_REVISION_MAX, &session) ||
                !scn_ctl_open(ctl, NULL)) {
                return ctl->code;
        }
        const enum scn_error error = scn_client_kick(ctl->client, session, scn_ctl_on_done, ctl);
        if (error != SCN_OK) {
                return scn_ctl_refuse(ctl, error);
        }
        if (scn_ctl_wait(ctl) == SCN_CTL_OK && ctl->is_json) {
                scn_ctl_begin_line(ctl);
                scn_ctl_key(ctl, "session");
                scn_json_put_uint(&ctl->json, session);
                scn_ctl_end_line(ctl);
        }
        return ctl->code;
}
