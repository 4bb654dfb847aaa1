/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Documents as a whole: listed, made, renamed, put into the trash and taken out of it. Workers do it. */

#include "protocol/base/alloc.h"
#include "server/adopt.h"
#include "server/core.h"

#include <string.h>

enum manage_action {
        MANAGE_LIST,
        MANAGE_LIST_TRASH,
        MANAGE_CREATE,
        MANAGE_DELETE,
        MANAGE_UNDELETE,
        MANAGE_RENAME,
};

/* Of a document in the list: what its file says, which need not be open for it. */
struct manage_state {
        enum scn_error error;
        struct scn_journal_state journal;
};

struct manage_job {
        struct scn_job job;
        struct scn_server *server;
        uint64_t session; /* number: it may be gone when the job is done */
        uint64_t request;
        struct scn_claim claims[2]; /* of name and to */
        enum manage_action action;
        struct scn_uid uids[2];
        int64_t now_us;
        struct scn_slice name; /* owned bytes, like to */
        struct scn_slice to;
        struct scn_room *room;       /* that is closed for it, or NULL */
        struct scn_journal *journal; /* of that room */
        bool wants_states;
        struct scn_storage_list list;
        struct manage_state *states; /* owned: one for each in the list; NULL: not asked for */
        enum scn_error error;
        bool is_of_old; /* ... renaming: the error, not of the new name */
        struct scn_storage_fault fault;
};

static void destroy_manage(struct manage_job *manage)
{
        scn_storage_list_finish(&manage->list);
        scn_free(manage->states);
        scn_free((void *)manage->name.data);
        scn_free((void *)manage->to.data);
        scn_free(manage);
}

static void look_into(const struct scn_storage *storage, struct scn_slice name, struct manage_state *state)
{
        static const struct scn_journal_options reading = {.mode = SCN_JOURNAL_READ};
        struct scn_journal *journal = NULL;
        state->error = scn_journal_open(storage, name, &reading, &journal, NULL);
        if (state->error == SCN_OK) {
                state->error = scn_journal_state(journal, &state->journal, NULL);
        }
        scn_journal_close(journal);
}

static enum scn_error list_documents(struct manage_job *manage)
{
        struct scn_storage *storage = manage->server->storage;
        const enum scn_storage_place place =
                manage->action == MANAGE_LIST_TRASH ? SCN_STORAGE_TRASH : SCN_STORAGE_DOCUMENTS;
        const enum scn_error error = scn_storage_list(storage, place, &manage->list, NULL);
        if (error != SCN_OK || !manage->wants_states) {
                return error;
        }
        manage->states = scn_alloc_zero(manage->list.count + 1, sizeof *manage->states);
        if (manage->states == NULL) {
                return SCN_E_NO_MEMORY;
        }
        for (size_t i = 0; i < manage->list.count; i++) {
                if (atomic_load(&manage->server->is_giving_up)) {
                        return SCN_E_STOPPING;
                }
                look_into(storage, manage->list.entries[i].name, &manage->states[i]);
        }
        return SCN_OK;
}

static void run_manage(struct scn_job *job)
{
        struct manage_job *manage = (struct manage_job *)job;
        struct scn_storage *storage = manage->server->storage;
        const struct scn_storage_birth birth = {
                .uid = manage->uids[0],
                .created_us = manage->now_us,
                .origin = {manage->uids[1].bytes, sizeof manage->uids[1].bytes},
        };
        scn_journal_close(manage->journal);
        switch (manage->action) {
        case MANAGE_LIST:
        case MANAGE_LIST_TRASH:
                manage->error = list_documents(manage);
                break;
        case MANAGE_CREATE:
                manage->error = scn_storage_create(storage, manage->name, &birth, &manage->fault);
                break;
        case MANAGE_DELETE:
                manage->error = scn_storage_delete(storage, manage->name, manage->now_us, &manage->fault);
                break;
        case MANAGE_UNDELETE:
                manage->error = scn_storage_undelete(storage, manage->name, &manage->fault);
                break;
        case MANAGE_RENAME:
                manage->error = scn_storage_rename(storage, manage->name, manage->to, &manage->fault);
                manage->is_of_old = manage->error == SCN_E_BAD_NAME &&
                        scn_storage_find(storage, manage->name, NULL) == SCN_E_BAD_NAME;
                break;
        }
}

static void pack_document(struct scn_packer *packer, const struct manage_job *manage, size_t index)
{
        const struct scn_slice name = manage->list.entries[index].name;
        const struct manage_state *state = manage->states != NULL ? &manage->states[index] : NULL;
        if (manage->action == MANAGE_LIST_TRASH) {
                scn_pack_map(packer, 2);
                scn_pack_cstring(packer, "doc");
                scn_pack_text(packer, name);
                scn_pack_cstring(packer, "deleted");
                scn_pack_uint(packer, (uint64_t)manage->list.entries[index].deleted_us);
                return;
        }
        if (state == NULL) {
                scn_pack_text(packer, name);
                return;
        }
        scn_pack_map(packer, state->error == SCN_OK ? 4 : 2);
        scn_pack_cstring(packer, "doc");
        scn_pack_text(packer, name);
        if (state->error != SCN_OK) {
                scn_pack_cstring(packer, "error");
                scn_pack_cstring(packer, scn_error_code(state->error));
                return;
        }
        scn_pack_cstring(packer, "uid");
        scn_pack_uid(packer, state->journal.uid);
        scn_pack_cstring(packer, "rev");
        scn_pack_uint(packer, state->journal.last_revision);
        scn_pack_cstring(packer, "epoch");
        scn_pack_bin(packer, (const uint8_t *)&state->journal.epoch, sizeof state->journal.epoch);
}

/* What the storage says of names is said in its files' names; of all else it knows more. */
static const char *manage_text(const struct manage_job *manage)
{
        if (manage->error == SCN_E_NO_DOCUMENT && manage->action == MANAGE_UNDELETE) {
                return "there is none of this name in the trash";
        }
        const bool is_of_name = manage->error == SCN_E_NO_DOCUMENT || manage->error == SCN_E_DOCUMENT_EXISTS ||
                manage->error == SCN_E_BAD_NAME;
        return is_of_name || manage->fault.text[0] == '\0' ? NULL : manage->fault.text;
}

static void answer_manage(struct scn_session *session, struct manage_job *manage)
{
        static const struct scn_slice none = {NULL, 0};
        if (manage->error != SCN_OK) {
                const bool is_rename = manage->action == MANAGE_RENAME;
                const struct scn_message asked = {.kind = SCN_MESSAGE_manage,
                        .as.manage = {
                                .document = manage->name, .to = is_rename && !manage->is_of_old ? manage->to : none}};
                scn_session_fail_about(session, &asked, manage->request, manage->error, manage_text(manage));
                return;
        }
        struct scn_buffer body;
        scn_buffer_init(&body, SCN_MESSAGE_BYTES_MAX - 64);
        struct scn_packer packer = scn_packer_to(&body);
        if (manage->action == MANAGE_LIST || manage->action == MANAGE_LIST_TRASH) {
                scn_pack_array(&packer, (uint32_t)manage->list.count);
                for (size_t i = 0; i < manage->list.count; i++) {
                        pack_document(&packer, manage, i);
                }
        } else {
                scn_pack_bool(&packer, true);
        }
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_answer);
        message.as.answer.request = manage->request;
        message.as.answer.body = (struct scn_slice){body.data, (uint32_t)body.size};
        if (packer.error == SCN_OK) {
                scn_session_send(session, &message);
        } else {
                scn_session_fail(session, manage->request, packer.error, NULL);
        }
        scn_buffer_finish(&body);
}

static void done_manage(struct scn_job *job)
{
        struct manage_job *manage = (struct manage_job *)job;
        struct scn_server *server = manage->server;
        struct scn_session *session = scn_server_find_session(server, manage->session);
        const bool is_listing = manage->wants_states;
        server->jobs_count--;
        server->has_listing = server->has_listing && !is_listing;
        for (int i = 0; i < 2; i++) {
                scn_server_give_name_back(server, &manage->claims[i]);
        }
        if (manage->room != NULL) {
                manage->room->jobs_count--;
                scn_room_tick(manage->room);
        }
        if (session != NULL) {
                answer_manage(session, manage);
                session->is_asking = false;
                scn_session_pump(session);
        }
        destroy_manage(manage);
        if (is_listing) {
                scn_server_pump(server); /* somebody may have waited for it to end */
        }
}

/* A document that is open, or is about to have its place taken, stays where it is: then that is said. */
static bool is_in_use(struct scn_session *session, uint64_t request, const struct scn_room *room, struct scn_slice name,
        struct scn_slice to)
{
        const bool is_open = room != NULL && !scn_room_is_unused(room);
        const bool is_of_new = !is_open && !scn_adopt_is_replacing(session->server, name);
        const struct scn_message asked = {.kind = SCN_MESSAGE_manage, .as.manage = {.document = is_of_new ? to : name}};
        if (is_of_new && !scn_adopt_is_replacing(session->server, to)) {
                return false;
        }
        scn_session_fail_about(session, &asked, request, SCN_E_BUSY,
                is_open ? "the document is open" : "a document of that name is being replaced");
        return true;
}

static void submit_manage(struct scn_session *session, uint64_t request, enum manage_action action,
        struct scn_slice name, struct scn_slice to, bool wants_states)
{
        struct scn_server *server = session->server;
        const struct scn_server_options *options = &server->options;
        struct scn_room *room =
                action == MANAGE_DELETE || action == MANAGE_RENAME ? scn_server_find_room(server, name) : NULL;
        if (is_in_use(session, request, room, name, action == MANAGE_RENAME ? to : name)) {
                return;
        }
        struct manage_job *manage = scn_alloc_zero(1, sizeof *manage);
        if (manage == NULL || !scn_slice_copy(name, &manage->name) || !scn_slice_copy(to, &manage->to)) {
                if (manage != NULL) {
                        destroy_manage(manage);
                }
                scn_session_fail(session, request, SCN_E_NO_MEMORY, NULL);
                return;
        }
        manage->job = (struct scn_job){.run = run_manage, .done = done_manage};
        manage->server = server;
        manage->session = session->number;
        manage->request = request;
        manage->action = action;
        manage->wants_states = wants_states;
        manage->now_us = (int64_t)options->utc_us(options->data);
        for (int i = 0; i < 2; i++) {
                uint8_t random[16];
                options->random(options->data, random, sizeof random);
                manage->uids[i] = scn_uid_from_random(random);
        }
        if (room != NULL) {
                manage->room = room;
                manage->journal = scn_room_retire(room);
        }
        if (action != MANAGE_LIST) {
                scn_server_claim_name(server, &manage->claims[0], manage->name);
                scn_server_claim_name(server, &manage->claims[1], manage->to);
        }
        server->has_listing = server->has_listing || wants_states;
        scn_server_note_reader(server);
        server->jobs_count++;
        session->is_asking = true;
        options->submit(options->data, &manage->job);
}

void scn_handle_manage(struct scn_session *session, const struct scn_message_manage *message)
{
        static const char *const actions[] = {"create", "delete", "undelete", "rename"};
        for (uint32_t i = 0; i < 4; i++) {
                if (strlen(actions[i]) == message->action.size &&
                        memcmp(actions[i], message->action.data, message->action.size) == 0) {
                        struct scn_storage_fault fault;
                        if (i == 3 && message->to.data == NULL) {
                                scn_session_fail_field(session, message->request, SCN_E_MISSING_FIELD, "manage.to");
                                return;
                        }
                        const enum scn_error error =
                                i == 0 ? scn_server_check_reserve(session->server, &fault) : SCN_OK;
                        if (error != SCN_OK) {
                                scn_session_fail(session, message->request, error, fault.text);
                                return;
                        }
                        scn_server_spend(session->server, 0);
                        submit_manage(session, message->request, (enum manage_action)(MANAGE_CREATE + i),
                                message->document, message->to, false);
                        return;
                }
        }
        scn_session_fail(session, message->request, SCN_E_BAD_MESSAGE, "manage.action: none of those there are");
}

/* One that opens every file is enough at a time: batches need workers, too. */
bool scn_handle_documents(struct scn_session *session, const struct scn_message_documents *message)
{
        const struct scn_slice none = {NULL, 0};
        const bool wants_states = message->states && !message->trash;
        if ((wants_states && session->server->has_listing) || !scn_output_claim(session->server)) {
                return false;
        }
        submit_manage(
                session, message->request, message->trash ? MANAGE_LIST_TRASH : MANAGE_LIST, none, none, wants_states);
        return true;
}
