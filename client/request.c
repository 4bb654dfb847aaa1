/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Questions to the server, undo and redo. */

#include "client/client.h"
#include "client/draft.h"
#include "protocol/base/alloc.h"

#include <string.h>

/* "at" is spelled in so many bytes at the most. */
#define AT_BYTES_MAX 512u

static struct scn_slice slice_of(const char *text)
{
        return text == NULL ? (struct scn_slice){NULL, 0}
                            : (struct scn_slice){(const uint8_t *)text, (uint32_t)strlen(text)};
}

/* Hands a request in; what `message` points to is spelled at once. Every request's first field is its number. */
static enum scn_error ask(
        struct scn_client *client, const struct scn_message *message, scn_answer_fn callback, void *data)
{
        struct scn_task *task = scn_task_create(SCN_TASK_REQUEST);
        if (task == NULL) {
                return SCN_E_NO_MEMORY;
        }
        const enum scn_error error = scn_message_encode(message, &task->payload);
        if (error != SCN_OK) {
                scn_task_destroy(task);
                return error;
        }
        task->number = client->numbers;
        task->on_answer = callback;
        task->data = data;
        scn_client_add_task(client, task);
        return SCN_OK;
}

enum scn_error scn_client_spell_at(const char *at, struct scn_buffer *buffer, struct scn_slice *slice_out)
{
        scn_buffer_init(buffer, AT_BYTES_MAX);
        *slice_out = (struct scn_slice){NULL, 0};
        if (at == NULL) {
                return SCN_OK;
        }
        struct scn_packer packer = scn_packer_to(buffer);
        uint64_t rev = 0;
        size_t digits = 0;
        while (at[digits] >= '0' && at[digits] <= '9' && digits < 17) {
                rev = rev * 10 + (uint64_t)(at[digits++] - '0');
        }
        if (digits > 0 && at[digits] == '\0') {
                scn_pack_uint(&packer, rev);
        } else {
                scn_pack_cstring(&packer, at);
        }
        *slice_out = (struct scn_slice){buffer->data, (uint32_t)buffer->size};
        return packer.error;
}

static struct scn_request full_request(const struct scn_request *request)
{
        struct scn_request full = SCN_REQUEST_INIT;
        if (request != NULL) {
                SCN_ASSERT(request->size >= sizeof request->size && request->size <= sizeof full);
                memcpy(&full, request, request->size);
        }
        return full;
}

static uint64_t or_absent(uint64_t number)
{
        return number == 0 ? SCN_ABSENT : number;
}

enum scn_error scn_client_world(struct scn_client *client, const struct scn_target *nodes, size_t nodes_count,
        const struct scn_request *request, scn_answer_fn callback, void *data)
{
        const struct scn_request full = full_request(request);
        struct scn_message message;
        struct scn_buffer refs;
        struct scn_buffer at;
        scn_message_init(&message, SCN_MESSAGE_world);
        scn_buffer_init(&refs, SCN_MESSAGE_BYTES_MAX);
        struct scn_packer packer = scn_packer_to(&refs);
        scn_pack_array(&packer, (uint32_t)nodes_count);
        for (size_t i = 0; i < nodes_count; i++) {
                const struct scn_node_ref ref = scn_ref_of_target(nodes[i]);
                scn_pack_ref(&packer, &ref);
        }
        enum scn_error error = scn_client_spell_at(full.at, &at, &message.as.world.at);
        error = packer.error != SCN_OK ? packer.error : error;
        if (error == SCN_OK) {
                message.as.world.request = ++client->numbers;
                message.as.world.nodes = (struct scn_slice){refs.data, (uint32_t)refs.size};
                message.as.world.relative = scn_ref_of_target(full.node);
                message.as.world.durable = full.durable;
                error = ask(client, &message, callback, data);
        }
        scn_buffer_finish(&refs);
        scn_buffer_finish(&at);
        return error;
}

enum scn_error scn_client_tree(
        struct scn_client *client, const struct scn_request *request, scn_answer_fn callback, void *data)
{
        const struct scn_request full = full_request(request);
        struct scn_message message;
        struct scn_buffer at;
        scn_message_init(&message, SCN_MESSAGE_tree);
        enum scn_error error = scn_client_spell_at(full.at, &at, &message.as.tree.at);
        if (error == SCN_OK) {
                message.as.tree.request = ++client->numbers;
                message.as.tree.node = scn_ref_of_target(full.node);
                message.as.tree.depth = full.has_depth ? full.depth : SCN_ABSENT;
                error = ask(client, &message, callback, data);
        }
        scn_buffer_finish(&at);
        return error;
}

enum scn_error scn_client_digest(
        struct scn_client *client, const struct scn_request *request, scn_answer_fn callback, void *data)
{
        const struct scn_request full = full_request(request);
        struct scn_message message;
        struct scn_buffer at;
        scn_message_init(&message, SCN_MESSAGE_digest);
        enum scn_error error = scn_client_spell_at(full.at, &at, &message.as.digest.at);
        if (error == SCN_OK) {
                message.as.digest.request = ++client->numbers;
                message.as.digest.node = scn_ref_of_target(full.node);
                error = ask(client, &message, callback, data);
        }
        scn_buffer_finish(&at);
        return error;
}

enum scn_error scn_client_log(
        struct scn_client *client, const struct scn_request *request, scn_answer_fn callback, void *data)
{
        const struct scn_request full = full_request(request);
        struct scn_message message;
        struct scn_buffer since;
        struct scn_buffer until;
        scn_message_init(&message, SCN_MESSAGE_log);
        enum scn_error error = scn_client_spell_at(full.since, &since, &message.as.log.since);
        const enum scn_error other = scn_client_spell_at(full.until, &until, &message.as.log.until);
        error = error == SCN_OK ? other : error;
        message.as.log.node = scn_ref_of_target(full.node);
        message.as.log.author = slice_of(full.author);
        message.as.log.from = or_absent(full.from);
        message.as.log.to = or_absent(full.to);
        message.as.log.limit = or_absent(full.limit);
        message.as.log.group = or_absent(full.group);
        message.as.log.last = or_absent(full.last);
        if (error == SCN_OK) {
                message.as.log.request = ++client->numbers;
                error = ask(client, &message, callback, data);
        }
        scn_buffer_finish(&since);
        scn_buffer_finish(&until);
        return error;
}

enum scn_error scn_client_fork(
        struct scn_client *client, const char *at, const char *to, scn_answer_fn callback, void *data)
{
        struct scn_message message;
        struct scn_buffer spelled;
        scn_message_init(&message, SCN_MESSAGE_fork);
        enum scn_error error = scn_client_spell_at(at, &spelled, &message.as.fork.at);
        if (error == SCN_OK) {
                message.as.fork.request = ++client->numbers;
                message.as.fork.to = slice_of(to);
                error = ask(client, &message, callback, data);
        }
        scn_buffer_finish(&spelled);
        return error;
}

enum scn_error scn_client_blame(struct scn_client *client, struct scn_target node, scn_answer_fn callback, void *data)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_blame);
        message.as.blame.request = ++client->numbers;
        message.as.blame.node = scn_ref_of_target(node);
        return ask(client, &message, callback, data);
}

enum scn_error scn_client_manage(struct scn_client *client, const char *action, const char *document, const char *to,
        scn_answer_fn callback, void *data)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_manage);
        message.as.manage.request = ++client->numbers;
        message.as.manage.action = slice_of(action);
        message.as.manage.document = slice_of(document);
        message.as.manage.to = slice_of(to);
        return ask(client, &message, callback, data);
}

enum scn_error scn_client_kick(struct scn_client *client, uint64_t session, scn_answer_fn callback, void *data)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_kick);
        message.as.kick.request = ++client->numbers;
        message.as.kick.session = session;
        return ask(client, &message, callback, data);
}

/* --- Locks --- */

static struct scn_slice spell_nodes(struct scn_buffer *refs, const struct scn_target *nodes, size_t nodes_count)
{
        struct scn_packer packer = scn_packer_to(refs);
        scn_pack_array(&packer, (uint32_t)nodes_count);
        for (size_t i = 0; i < nodes_count; i++) {
                const struct scn_node_ref ref = scn_ref_of_target(nodes[i]);
                scn_pack_ref(&packer, &ref);
        }
        return packer.error == SCN_OK ? (struct scn_slice){refs->data, (uint32_t)refs->size}
                                      : (struct scn_slice){NULL, 0};
}

enum scn_error scn_client_lock(struct scn_client *client, const struct scn_target *nodes, size_t nodes_count,
        const struct scn_lock *lock, scn_answer_fn callback, void *data)
{
        struct scn_lock full = SCN_LOCK_INIT;
        struct scn_message message;
        struct scn_buffer refs;
        if (lock != NULL) {
                SCN_ASSERT(lock->size >= sizeof lock->size && lock->size <= sizeof full);
                memcpy(&full, lock, lock->size);
        }
        scn_buffer_init(&refs, SCN_MESSAGE_BYTES_MAX);
        scn_message_init(&message, SCN_MESSAGE_lock);
        message.as.lock.nodes = spell_nodes(&refs, nodes, nodes_count);
        message.as.lock.request = ++client->numbers;
        message.as.lock.ttl = or_absent(full.ttl_s);
        message.as.lock.mask = or_absent(full.mask);
        message.as.lock.subtree = full.has_subtree;
        const enum scn_error error =
                message.as.lock.nodes.data == NULL ? SCN_E_NO_MEMORY : ask(client, &message, callback, data);
        scn_buffer_finish(&refs);
        return error;
}

enum scn_error scn_client_unlock(struct scn_client *client, const struct scn_target *nodes, size_t nodes_count,
        scn_answer_fn callback, void *data)
{
        struct scn_message message;
        struct scn_buffer refs;
        scn_buffer_init(&refs, SCN_MESSAGE_BYTES_MAX);
        scn_message_init(&message, SCN_MESSAGE_unlock);
        message.as.unlock.request = ++client->numbers;
        if (nodes_count > 0) {
                message.as.unlock.nodes = spell_nodes(&refs, nodes, nodes_count);
        }
        const enum scn_error error = nodes_count > 0 && message.as.unlock.nodes.data == NULL
                ? SCN_E_NO_MEMORY
                : ask(client, &message, callback, data);
        scn_buffer_finish(&refs);
        return error;
}

/* --- Plain questions --- */

/* For questions that are no more than their number; their messages are all of one shape. */
static enum scn_error ask_plainly(
        struct scn_client *client, enum scn_message_kind kind, scn_answer_fn callback, void *data)
{
        struct scn_message message;
        scn_message_init(&message, kind);
        message.as.ping.request = ++client->numbers;
        return ask(client, &message, callback, data);
}

enum scn_error scn_client_documents(struct scn_client *client, scn_answer_fn callback, void *data)
{
        return ask_plainly(client, SCN_MESSAGE_documents, callback, data);
}

static enum scn_error ask_documents(
        struct scn_client *client, bool wants_states, bool is_of_trash, scn_answer_fn callback, void *data)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_documents);
        message.as.documents.request = ++client->numbers;
        message.as.documents.states = wants_states;
        message.as.documents.trash = is_of_trash;
        return ask(client, &message, callback, data);
}

enum scn_error scn_client_document_states(struct scn_client *client, scn_answer_fn callback, void *data)
{
        return ask_documents(client, true, false, callback, data);
}

enum scn_error scn_client_trash(struct scn_client *client, scn_answer_fn callback, void *data)
{
        return ask_documents(client, false, true, callback, data);
}

enum scn_error scn_client_info(struct scn_client *client, scn_answer_fn callback, void *data)
{
        return ask_plainly(client, SCN_MESSAGE_info, callback, data);
}

enum scn_error scn_client_who(struct scn_client *client, scn_answer_fn callback, void *data)
{
        return ask_plainly(client, SCN_MESSAGE_who, callback, data);
}

enum scn_error scn_client_verify(struct scn_client *client, scn_answer_fn callback, void *data)
{
        return ask_plainly(client, SCN_MESSAGE_verify, callback, data);
}

enum scn_error scn_client_backup(struct scn_client *client, scn_answer_fn callback, void *data)
{
        return ask_plainly(client, SCN_MESSAGE_backup, callback, data);
}

enum scn_error scn_client_ping(struct scn_client *client, scn_answer_fn callback, void *data)
{
        return ask_plainly(client, SCN_MESSAGE_ping, callback, data);
}

static enum scn_error ask_tag(
        struct scn_client *client, const char *name, uint64_t rev, bool is_removal, scn_answer_fn callback, void *data)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_tag);
        message.as.tag.request = ++client->numbers;
        message.as.tag.name = slice_of(name);
        message.as.tag.rev = rev;
        message.as.tag.remove = is_removal;
        return ask(client, &message, callback, data);
}

enum scn_error scn_client_tag(
        struct scn_client *client, const char *name, const scn_revision *rev, scn_answer_fn callback, void *data)
{
        return ask_tag(client, name, rev != NULL ? *rev : SCN_ABSENT, false, callback, data);
}

enum scn_error scn_client_untag(struct scn_client *client, const char *name, scn_answer_fn callback, void *data)
{
        return ask_tag(client, name, SCN_ABSENT, true, callback, data);
}

enum scn_error scn_client_tags(struct scn_client *client, scn_answer_fn callback, void *data)
{
        return ask_plainly(client, SCN_MESSAGE_tags, callback, data);
}

/* --- Undo --- */

static enum scn_error submit_undo(
        struct scn_client *client, const struct scn_message *message, scn_result_fn callback, void *data)
{
        struct scn_task *task = scn_task_create(SCN_TASK_UNDO);
        if (task == NULL) {
                return SCN_E_NO_MEMORY;
        }
        task->message = *message;
        task->edit = ++client->edits;
        task->bytes = sizeof *task;
        task->on_result = callback;
        task->data = data;
        scn_client_add_task(client, task);
        return SCN_OK;
}

/* What `at` and a path point to must last as long as the task. */
static enum scn_error keep_texts(struct scn_task *task, const char *at, struct scn_target node)
{
        struct scn_message_restore *restore = &task->message.as.restore;
        struct scn_buffer spelled;
        enum scn_error error = scn_client_spell_at(at, &spelled, &restore->at);
        restore->node = scn_ref_of_target(node);
        const uint32_t path_size = restore->node.kind == SCN_REF_PATH ? restore->node.path.size : 0;
        if (error == SCN_OK) {
                error = scn_buffer_append(&task->payload, spelled.data, spelled.size);
        }
        if (error == SCN_OK && path_size > 0) {
                error = scn_buffer_append(&task->payload, restore->node.path.data, path_size);
        }
        if (error == SCN_OK) {
                restore->at = (struct scn_slice){task->payload.data, (uint32_t)spelled.size};
                restore->node.path = (struct scn_slice){task->payload.data + spelled.size, path_size};
        }
        scn_buffer_finish(&spelled);
        return error;
}

enum scn_error scn_client_restore(
        struct scn_client *client, const char *at, struct scn_target node, scn_result_fn callback, void *data)
{
        struct scn_task *task = scn_task_create(SCN_TASK_UNDO);
        if (task == NULL) {
                return SCN_E_NO_MEMORY;
        }
        scn_message_init(&task->message, SCN_MESSAGE_restore);
        const enum scn_error error = keep_texts(task, at, node);
        if (error != SCN_OK) {
                scn_task_destroy(task);
                return error;
        }
        task->edit = ++client->edits;
        task->bytes = sizeof *task + task->payload.size;
        task->on_result = callback;
        task->data = data;
        scn_client_add_task(client, task);
        return SCN_OK;
}

static struct scn_undo full_undo(const struct scn_undo *undo)
{
        struct scn_undo full = SCN_UNDO_INIT;
        if (undo != NULL) {
                SCN_ASSERT(undo->size >= sizeof undo->size && undo->size <= sizeof full);
                memcpy(&full, undo, undo->size);
        }
        return full;
}

enum scn_error scn_client_undo(
        struct scn_client *client, const struct scn_undo *undo, scn_result_fn callback, void *data)
{
        const struct scn_undo full = full_undo(undo);
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_undo);
        message.as.undo.count = or_absent(full.count);
        message.as.undo.force = full.force;
        message.as.undo.step = or_absent(full.step);
        message.as.undo.dry = full.is_dry;
        return submit_undo(client, &message, callback, data);
}

enum scn_error scn_client_redo(
        struct scn_client *client, const struct scn_undo *undo, scn_result_fn callback, void *data)
{
        const struct scn_undo full = full_undo(undo);
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_redo);
        message.as.redo.count = or_absent(full.count);
        return submit_undo(client, &message, callback, data);
}
