/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_JSON_TEXT_H
#define SCN_CLIENT_SCENECTL_JSON_TEXT_H

/* JSON written as text, token by token, into a buffer: for what scenectl prints and exports.
 *
 * Not jansson's writer, because a scene of a million nodes must not stand in memory as JSON values first, and
 * because numbers here are as short as they can be and still read back to the same bits. No locale changes what is
 * written. The writer keeps the first error and does nothing afterwards, so that a caller checks once, at the end:
 * SCN_E_NO_MEMORY, SCN_E_TOO_LARGE, SCN_E_NOT_FINITE, SCN_E_BAD_UTF8. */

#include "protocol/base/bytes.h"

struct scn_json {
        struct scn_buffer *buffer; /* borrowed */
        enum scn_error error;
};

static inline struct scn_json scn_json_to(struct scn_buffer *buffer)
{
        return (struct scn_json){buffer, SCN_OK};
}

/* Punctuation, literals, or text that is JSON already. */
void scn_json_put(struct scn_json *json, const char *text);
void scn_json_put_uint(struct scn_json *json, uint64_t value);
void scn_json_put_int(struct scn_json *json, int64_t value);
/* Reads back, through a double, to the same float32; the sign of a zero included. Whole numbers have no point. */
void scn_json_put_float(struct scn_json *json, float value);
/* Reads back to the same double. Has a point or an exponent, so that it is told from an integer. */
void scn_json_put_double(struct scn_json *json, double value);
/* In quotation marks, with what must be escaped escaped, and with it every control (scn_utf8_control_bytes()). */
void scn_json_put_text(struct scn_json *json, struct scn_slice text);
/* The same for our own words, and for paths, which may hold any bytes: what is no UTF-8 shows as U+FFFD. */
void scn_json_put_cstring(struct scn_json *json, const char *text);

#endif
