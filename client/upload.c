/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "client/upload.h"

#include "client/client.h"
#include "protocol/base/alloc.h"
#include "protocol/wire/pack.h"

#include <string.h>

#define PART_BYTES (128u << 10)
/* Sent and not yet answered: enough for a line that is long, little enough for a server that is slow. */
#define WINDOW_BYTES (8u * PART_BYTES)

struct scn_upload {
        scn_read_fn read;
        void *data;
        char *document; /* owned */
        uint64_t bytes;
        uint64_t sent;
        bool replaces;
        bool is_at_end;
        uint8_t part[PART_BYTES];
};

void scn_upload_destroy(struct scn_upload *upload)
{
        if (upload != NULL) {
                scn_free(upload->document);
                scn_free(upload);
        }
}

/* Reads the next part and puts it into a message. A file that ends early, or cannot be read on, is sent as one that
 * does: the server then refuses it. */
static void make_part(struct scn_upload *upload, uint64_t request, struct scn_message *message)
{
        const uint64_t left = upload->bytes - upload->sent;
        const size_t wanted = left < PART_BYTES ? (size_t)left : PART_BYTES;
        size_t size = 0;
        while (size < wanted) {
                const int64_t count = upload->read(upload->data, upload->part + size, wanted - size);
                if (count <= 0) {
                        break;
                }
                size += (size_t)count;
        }
        upload->sent += size;
        upload->is_at_end = size < wanted || upload->sent == upload->bytes;
        scn_message_init(message, SCN_MESSAGE_adopt);
        message->as.adopt.request = request;
        message->as.adopt.document =
                (struct scn_slice){(const uint8_t *)upload->document, (uint32_t)strlen(upload->document)};
        message->as.adopt.bytes = upload->bytes;
        message->as.adopt.part = (struct scn_slice){upload->part, (uint32_t)size};
        message->as.adopt.more = !upload->is_at_end;
        message->as.adopt.replace = upload->replaces;
}

/* Bytes that the server says it has; 0: it does not say. */
static uint64_t received_by(struct scn_slice body)
{
        struct scn_unpacker unpacker = scn_unpacker_from(body);
        const uint32_t count = scn_unpack_kind(&unpacker) == SCN_PACK_MAP ? scn_unpack_map(&unpacker) : 0;
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                const struct scn_slice key = scn_unpack_text(&unpacker, UINT32_MAX);
                if (key.size == 8 && memcmp(key.data, "received", 8) == 0) {
                        const uint64_t received = scn_unpack_uint(&unpacker, SCN_REVISION_MAX);
                        return unpacker.error == SCN_OK ? received : 0;
                }
                (void)scn_unpack_raw(&unpacker);
        }
        return 0;
}

enum scn_error scn_upload_go_on(struct scn_client *client, const struct scn_task *task, const struct scn_answer *answer)
{
        struct scn_upload *upload = task->upload;
        enum scn_error error = SCN_OK;
        if (upload == NULL || answer->failure != NULL || !answer->has_more) {
                return SCN_OK;
        }
        const uint64_t received = received_by(answer->body);
        while (error == SCN_OK && !upload->is_at_end && upload->sent < received + WINDOW_BYTES) {
                struct scn_message message;
                make_part(upload, task->number, &message);
                error = scn_client_send(client, &message);
        }
        return error;
}

static struct scn_upload *create(const struct scn_file *file, scn_read_fn read, void *data)
{
        const size_t size = strlen(file->document) + 1;
        struct scn_upload *upload = scn_alloc_zero(1, sizeof *upload);
        char *document = scn_alloc(size);
        if (upload == NULL || document == NULL) {
                scn_free(upload);
                scn_free(document);
                return NULL;
        }
        memcpy(document, file->document, size);
        *upload = (struct scn_upload){
                .read = read, .data = data, .document = document, .bytes = file->bytes, .replaces = file->replaces};
        return upload;
}

enum scn_error scn_client_restore_file(
        struct scn_client *client, const struct scn_file *file, scn_read_fn read, scn_answer_fn callback, void *data)
{
        struct scn_file full = SCN_FILE_INIT;
        struct scn_message message;
        SCN_ASSERT(file->size >= sizeof file->size && file->size <= sizeof full);
        memcpy(&full, file, file->size);
        if (full.document == NULL || full.bytes > SCN_REVISION_MAX) {
                return SCN_E_RANGE;
        }
        struct scn_task *task = scn_task_create(SCN_TASK_REQUEST);
        struct scn_upload *upload = create(&full, read, data);
        if (task == NULL || upload == NULL) {
                scn_task_destroy(task);
                scn_upload_destroy(upload);
                return SCN_E_NO_MEMORY;
        }
        task->upload = upload;
        task->number = ++client->numbers;
        make_part(upload, task->number, &message);
        const enum scn_error error = scn_message_encode(&message, &task->payload);
        if (error != SCN_OK) {
                scn_task_destroy(task);
                return error;
        }
        task->on_answer = callback;
        task->data = data;
        scn_client_add_task(client, task);
        return SCN_OK;
}
