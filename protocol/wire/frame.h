/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_WIRE_FRAME_H
#define SCN_WIRE_FRAME_H

/* Frames: how messages stand in a stream of bytes.
 *
 *   stream   preface frame frame ...         both directions
 *   preface  53 43 45 4e 45 44 01 0a         "SCENED", version, line feed: tells native from HTTP and TLS
 *   frame    a msgpack bin: c4 size[1] | c5 size[2] | c6 size[4], big-endian, then the message's bytes
 *
 * Behind the preface the stream is thus a sequence of msgpack objects. Any other byte where a frame should begin
 * loses the framing: an error, and the connection ends. */

#include "protocol/base/bytes.h"

#define SCN_PREFACE_BYTES 8
extern const uint8_t scn_preface[SCN_PREFACE_BYTES];
#define SCN_FRAMING_VERSION 1

/* A message may have as many bytes as this; before login as many as that (DESIGN §9). */
#define SCN_MESSAGE_BYTES_MAX (4u << 20)
#define SCN_MESSAGE_BYTES_BEFORE_LOGIN_MAX 4096u

/* Cuts frames out of what arrives, however it was split on the way. */
struct scn_frame_reader {
        struct scn_buffer buffer; /* what has arrived of the frame under way */
        size_t at;                /* how far it has been read */
        uint32_t message_bytes_max;
        bool has_preface;
        enum scn_error error; /* once set, it stays; and what was met then: */
        uint32_t size_met;    /* SCN_E_TOO_LARGE: the message's */
        uint8_t byte_met;     /* SCN_E_VERSION: the one spoken; SCN_E_BAD_MESSAGE: what stands where a frame should */
};

void scn_frame_reader_init(struct scn_frame_reader *reader);
void scn_frame_reader_finish(struct scn_frame_reader *reader);

/* Takes bytes in. The payloads handed out before are void. SCN_E_NO_MEMORY, or the error that was before.
 * The buffer never grows beyond one message of the greatest size and what arrived with its end. */
SCN_NODISCARD enum scn_error scn_frame_reader_feed(struct scn_frame_reader *reader, const void *bytes, size_t size);

/* True and a payload, valid until the next feed; or false: more must arrive, or *error_out says what is wrong:
 * SCN_E_BAD_MESSAGE (no preface, no frame), SCN_E_VERSION (the preface of another version), SCN_E_TOO_LARGE. */
bool scn_frame_reader_next(struct scn_frame_reader *reader, struct scn_slice *payload_out, enum scn_error *error_out);

/* Gives back the memory if nothing is under way. The payloads handed out before are void. */
void scn_frame_reader_trim(struct scn_frame_reader *reader);

#define SCN_FRAME_HEAD_BYTES_MAX 5

/* Writes the head of a frame of `size` bytes; returns how many bytes it has. */
uint32_t scn_frame_head(uint32_t size, uint8_t head[SCN_FRAME_HEAD_BYTES_MAX]);
/* Appends the head of a frame of `size` bytes. SCN_E_NO_MEMORY, SCN_E_TOO_LARGE. */
SCN_NODISCARD enum scn_error scn_frame_append_head(struct scn_buffer *buffer, size_t size);

#endif
