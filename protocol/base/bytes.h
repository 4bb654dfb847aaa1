/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_BASE_BYTES_H
#define SCN_BASE_BYTES_H

/* A growable byte buffer with a maximum, given at init (every growable thing has one); copies; UTF-8. */

#include <scn/error.h>
#include <scn/types.h>

struct scn_buffer {
        uint8_t *data; /* owned; NULL while nothing was ever reserved */
        size_t size;
        size_t capacity;
        size_t size_max;
};

void scn_buffer_init(struct scn_buffer *buffer, size_t size_max);
void scn_buffer_finish(struct scn_buffer *buffer);
/* Forgets the contents, keeps the memory. */
void scn_buffer_reset(struct scn_buffer *buffer);
/* Room for `extra` more bytes. SCN_E_NO_MEMORY, or SCN_E_TOO_LARGE beyond size_max; unchanged then. */
SCN_NODISCARD enum scn_error scn_buffer_reserve(struct scn_buffer *buffer, size_t extra);
SCN_NODISCARD enum scn_error scn_buffer_append(struct scn_buffer *buffer, const void *data, size_t size);

bool scn_slice_equal(struct scn_slice left, struct scn_slice right);
/* A copy with bytes of its own, to be given to scn_free(), also if there are none. False: out of memory. */
SCN_NODISCARD bool scn_slice_copy(struct scn_slice from, struct scn_slice *copy_out);

/* True if the bytes are well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms, at most U+10FFFF). */
bool scn_utf8_is_valid(const uint8_t *data, size_t size);
/* How many bytes of a control character begin here, of at least one; 0: none does. These are what a terminal or a
 * reader may obey where a text is shown: C0, DEL and C1, the separators of lines, and what turns the direction of
 * reading (Unicode's Bidi_Control). The bytes need not be UTF-8. */
uint32_t scn_utf8_control_bytes(const uint8_t *at, size_t left, uint32_t *character_out);

#endif
