/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SCENE_VALUE_H
#define SCN_SCENE_VALUE_H

/* Property values and numbers: what a peer may say, and the one spelling that we keep.
 *
 * A value is one msgpack object (msgpack spec, 2013). Kinds (DESIGN §3): nil (inside only), bool, integer,
 * float, UTF-8 string, binary, array, map with distinct string keys, ext 1 = node uid (16 bytes), ext 2 = blob
 * hash (32 bytes). The canonical spelling: shortest form of every header and integer (a non-negative integer as
 * unsigned); a float as float32 where that is exact, else float64, never turned into an integer; map order kept.
 * Equal values thus have equal bytes, but for map order. Mirrors keep these bytes and never encode again.
 *
 * The walker checks before it trusts: a declared count never makes it allocate or loop beyond the bytes that
 * are there. It does not recurse: nesting is bounded by SCN_VALUE_LEVELS_MAX. */

#include "protocol/base/bytes.h"

#include <scn/limits.h>

#define SCN_EXT_NODE 1
#define SCN_EXT_NODE_BYTES 16
#define SCN_EXT_BLOB 2
#define SCN_EXT_BLOB_BYTES 32

/* The deepest nesting the walker itself can follow, whatever the limits say. A scalar has level 0; an array or
 * map of scalars level 1. */
#define SCN_VALUE_LEVELS_MAX 32

/* Appends the canonical spelling of the one object in `input` to `canonical` (never longer than the input).
 * SCN_E_BAD_VALUE: malformed, cut short, bytes left over, a kind not permitted, or nil on top;
 * SCN_E_VALUE_TOO_LARGE, SCN_E_VALUE_TOO_DEEP, SCN_E_BAD_UTF8, SCN_E_NOT_FINITE, SCN_E_DUPLICATE_KEY,
 * SCN_E_NO_MEMORY, SCN_E_TOO_LARGE (the buffer's own maximum). The buffer is then as before.
 * The limit of bytes is one of the canonical spelling. */
SCN_NODISCARD enum scn_error scn_value_canonicalise(
        struct scn_slice input, const struct scn_limits *limits, struct scn_buffer *canonical);

/* SCN_OK if the bytes are one value in canonical spelling and within the limits. SCN_E_BAD_VALUE also if it is
 * another spelling; else as above. Allocates only for maps of many keys. */
SCN_NODISCARD enum scn_error scn_value_check(struct scn_slice input, const struct scn_limits *limits);

/* Whether scn_value_check() finds nothing; thus false too if memory is out. */
bool scn_value_is_canonical(struct scn_slice input, const struct scn_limits *limits);

/* A number as a peer spelled it: msgpack and JSON know four families, and all must mean the same (CASES B39). */
enum scn_number_kind {
        SCN_NUMBER_INT,   /* negative integers */
        SCN_NUMBER_UINT,  /* all others */
        SCN_NUMBER_FLOAT, /* float32 or float64 */
};

struct scn_number {
        enum scn_number_kind kind;
        union {
                int64_t i;
                uint64_t u;
                double f;
        } value;
};

/* For float fields: integers count as numbers; the result is rounded to float32 (ties to even).
 * SCN_E_NOT_FINITE: NaN or infinity; SCN_E_RANGE: rounds to infinity. */
SCN_NODISCARD enum scn_error scn_number_to_float(const struct scn_number *number, float *float_out);

/* For integer fields (index, id, revision): never wraps, never rounds. A float is taken when it is a whole number
 * (browsers send 1.0 for 1). SCN_E_NOT_INTEGER: it has a fraction; SCN_E_NOT_FINITE; SCN_E_RANGE: negative or
 * above `max`. */
SCN_NODISCARD enum scn_error scn_number_to_integer(
        const struct scn_number *number, uint64_t max, uint64_t *integer_out);

#endif
