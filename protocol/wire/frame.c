/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "protocol/wire/frame.h"

#include <string.h>

const uint8_t scn_preface[SCN_PREFACE_BYTES] = {'S', 'C', 'E', 'N', 'E', 'D', SCN_FRAMING_VERSION, '\n'};

#define VERSION_AT 6 /* in the preface */

/* Room for the greatest message and a read's worth of what follows it. */
#define READ_AHEAD_BYTES (256u << 10)

void scn_frame_reader_init(struct scn_frame_reader *reader)
{
        *reader = (struct scn_frame_reader){.message_bytes_max = SCN_MESSAGE_BYTES_BEFORE_LOGIN_MAX};
        scn_buffer_init(&reader->buffer, SCN_MESSAGE_BYTES_MAX + READ_AHEAD_BYTES);
}

void scn_frame_reader_finish(struct scn_frame_reader *reader)
{
        scn_buffer_finish(&reader->buffer);
}

enum scn_error scn_frame_reader_feed(struct scn_frame_reader *reader, const void *bytes, size_t size)
{
        struct scn_buffer *buffer = &reader->buffer;
        if (reader->error != SCN_OK) {
                return reader->error;
        }
        if (reader->at > 0) {
                memmove(buffer->data, buffer->data + reader->at, buffer->size - reader->at);
                buffer->size -= reader->at;
                reader->at = 0;
        }
        return scn_buffer_append(buffer, bytes, size);
}

static bool take_preface(struct scn_frame_reader *reader)
{
        const size_t arrived = reader->buffer.size < SCN_PREFACE_BYTES ? reader->buffer.size : SCN_PREFACE_BYTES;
        const uint8_t *bytes = reader->buffer.data;
        if (memcmp(bytes, scn_preface, arrived) != 0) {
                const bool is_ours = arrived > VERSION_AT && memcmp(bytes, scn_preface, VERSION_AT) == 0;
                reader->byte_met = is_ours ? bytes[VERSION_AT] : 0;
                reader->error = is_ours && reader->byte_met != SCN_FRAMING_VERSION ? SCN_E_VERSION : SCN_E_BAD_MESSAGE;
                return false;
        }
        if (arrived == SCN_PREFACE_BYTES) {
                reader->has_preface = true;
                reader->at = SCN_PREFACE_BYTES;
        }
        return reader->has_preface;
}

/* Size of a frame's head by its first byte, 0 for what is none. */
static size_t head_bytes(uint8_t first)
{
        return first == 0xc4 ? 2 : first == 0xc5 ? 3 : first == 0xc6 ? 5 : 0;
}

static bool take_frame(struct scn_frame_reader *reader, struct scn_slice *payload_out)
{
        const uint8_t *at = reader->buffer.data + reader->at;
        const size_t left = reader->buffer.size - reader->at;
        const size_t head = head_bytes(at[0]);
        uint32_t size = 0;
        if (head == 0) {
                reader->error = SCN_E_BAD_MESSAGE;
                reader->byte_met = at[0];
                return false;
        }
        if (left < head) {
                return false;
        }
        for (size_t i = 1; i < head; i++) {
                size = size << 8 | at[i];
        }
        if (size > reader->message_bytes_max) {
                reader->error = SCN_E_TOO_LARGE;
                reader->size_met = size;
                return false;
        }
        if (left - head < size) {
                return false;
        }
        *payload_out = (struct scn_slice){at + head, size};
        reader->at += head + size;
        return true;
}

bool scn_frame_reader_next(struct scn_frame_reader *reader, struct scn_slice *payload_out, enum scn_error *error_out)
{
        bool is_there = false;
        if (reader->error == SCN_OK && reader->buffer.size > reader->at) {
                const bool is_open = reader->has_preface || take_preface(reader);
                is_there = is_open && reader->buffer.size > reader->at && take_frame(reader, payload_out);
        }
        *error_out = reader->error;
        return is_there;
}

void scn_frame_reader_trim(struct scn_frame_reader *reader)
{
        if (reader->at == reader->buffer.size) {
                scn_buffer_finish(&reader->buffer);
                scn_buffer_init(&reader->buffer, SCN_MESSAGE_BYTES_MAX + READ_AHEAD_BYTES);
                reader->at = 0;
        }
}

uint32_t scn_frame_head(uint32_t size, uint8_t head[SCN_FRAME_HEAD_BYTES_MAX])
{
        if (size <= UINT8_MAX) {
                head[0] = 0xc4;
                head[1] = (uint8_t)size;
                return 2;
        }
        if (size <= UINT16_MAX) {
                head[0] = 0xc5;
                head[1] = (uint8_t)(size >> 8);
                head[2] = (uint8_t)size;
                return 3;
        }
        head[0] = 0xc6;
        for (int i = 0; i < 4; i++) {
                head[1 + i] = (uint8_t)(size >> (24 - 8 * i));
        }
        return 5;
}

enum scn_error scn_frame_append_head(struct scn_buffer *buffer, size_t size)
{
        uint8_t head[SCN_FRAME_HEAD_BYTES_MAX];
        if (size > UINT32_MAX) {
                return SCN_E_TOO_LARGE;
        }
        return scn_buffer_append(buffer, head, scn_frame_head((uint32_t)size, head));
}
