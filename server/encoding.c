/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/encoding.h"

#include "protocol/base/alloc.h"
#include "protocol/wire/columns.h"
#include "protocol/wire/frame.h"

void scn_encoding_finish(struct scn_encoding *encoding)
{
        for (size_t i = 0; i < encoding->count; i++) {
                scn_shared_bytes_unref(encoding->parts[i]);
        }
        scn_shared_bytes_unref(encoding->framed);
        scn_free(encoding->parts);
        *encoding = (struct scn_encoding){0};
}

static enum scn_error add_part(struct scn_encoding *encoding, const struct scn_buffer *bytes)
{
        if (!scn_grow((void **)&encoding->parts, &encoding->capacity, sizeof *encoding->parts, encoding->count + 1,
                    SIZE_MAX)) {
                return SCN_E_NO_MEMORY;
        }
        struct scn_shared_bytes *part = scn_shared_bytes_create(bytes->data, (uint32_t)bytes->size);
        if (part == NULL) {
                return SCN_E_NO_MEMORY;
        }
        encoding->parts[encoding->count++] = part;
        encoding->bytes += part->size;
        return SCN_OK;
}

static enum scn_error encode_part(struct scn_encoding *encoding, const struct scn_delta *delta,
        struct scn_columns_cursor *cursor, bool *has_more_out)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, SCN_MESSAGE_BYTES_MAX - 64);
        struct scn_packer packer = scn_packer_to(&buffer);
        *has_more_out = scn_columns_encode(&packer, delta, cursor);
        const enum scn_error error = packer.error != SCN_OK ? packer.error : add_part(encoding, &buffer);
        scn_buffer_finish(&buffer);
        return error;
}

enum scn_error scn_encoding_make(
        struct scn_document *document, const struct scn_delta_request *request, struct scn_encoding *encoding_out)
{
        struct scn_delta delta = {0};
        struct scn_columns_cursor cursor = {0};
        *encoding_out = (struct scn_encoding){
                .from = request->is_fresh ? 0 : request->from,
                .to = scn_document_revision(document),
                .is_whole = request->is_fresh,
        };
        enum scn_error error = scn_delta_compute(document, request, &delta);
        encoding_out->is_empty = error == SCN_OK && !delta.is_whole && scn_delta_is_empty(&delta);
        bool has_more = !encoding_out->is_empty;
        while (error == SCN_OK && has_more) {
                error = encode_part(encoding_out, &delta, &cursor, &has_more);
        }
        scn_delta_finish(&delta);
        if (error != SCN_OK) {
                scn_encoding_finish(encoding_out);
        }
        return error;
}

struct scn_encoding *scn_encodings_find(
        struct scn_encodings *encodings, const struct scn_delta_request *request, scn_revision to)
{
        for (size_t i = 0; i < encodings->count; i++) {
                struct scn_encoding *known = &encodings->items[i];
                if (known->to == to && known->is_whole == request->is_fresh &&
                        (known->is_whole || known->from == request->from)) {
                        return known;
                }
        }
        return NULL;
}

struct scn_encoding *scn_encodings_make(struct scn_encodings *encodings, struct scn_document *document,
        const struct scn_delta_request *request, enum scn_error *error_out)
{
        struct scn_encoding made;
        *error_out = scn_encoding_make(document, request, &made);
        if (*error_out != SCN_OK) {
                return NULL;
        }
        struct scn_encoding *place = &encodings->items[encodings->next];
        encodings->next = (encodings->next + 1) % SCN_ENCODINGS_MAX;
        encodings->count += encodings->count < SCN_ENCODINGS_MAX;
        scn_encoding_finish(place);
        *place = made;
        return place;
}

void scn_encodings_finish(struct scn_encodings *encodings)
{
        for (size_t i = 0; i < encodings->count; i++) {
                scn_encoding_finish(&encodings->items[i]);
        }
        *encodings = (struct scn_encodings){0};
}
