/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_JSON_READ_H
#define SCN_CLIENT_SCENECTL_JSON_READ_H

/* JSON read in pieces, so that a file of a million nodes never stands in memory as JSON values.
 *
 * A skim walks one level of a text, an array's elements or an object's members, and gives each as a slice of that
 * text; a piece that is wanted goes to jansson, which is strict. A piece that nobody wants is passed over: only its
 * brackets and quotation marks are looked at. Nothing recurses on what the text says: a skim counts brackets, and
 * refuses more than SCN_JSON_NESTING_MAX before jansson, which does recurse, sees them. */

#include "protocol/base/bytes.h"

#include <jansson.h>

/* Brackets within brackets: what glTF needs is about ten, and jansson's own stack can take this. */
#define SCN_JSON_NESTING_MAX 256

/* One level. Begin with scn_json_skim_from(); then next, until it says false. */
struct scn_json_skim {
        const uint8_t *at;
        const uint8_t *end;
        uint8_t closing;   /* the bracket that ends the level */
        bool has_begun;    /* an element was taken */
        const char *fault; /* NULL, or what is wrong at `at` */
};

/* Of a text that should be one array ('[') or object ('{'). */
struct scn_json_skim scn_json_skim_from(struct scn_slice text, char opening);
/* The next element, or member with its key as a JSON string. False at the end and on a fault. */
bool scn_json_skim_next(struct scn_json_skim *skim, struct scn_slice *key_out, struct scn_slice *value_out);

/* Whether a key, with its quotation marks, is this word, which is ASCII; a key may be spelled with escapes. */
bool scn_json_is_key(struct scn_slice key, const char *word);

/* Whether it may hold integers that jansson does not keep: -0, and those that no int64 holds. */
bool scn_json_has_odd_integer(struct scn_slice text);
/* Appends the text with such integers, and no others, spelled as floats. SCN_E_NO_MEMORY, SCN_E_TOO_LARGE. */
SCN_NODISCARD enum scn_error scn_json_mend_integers(struct scn_slice text, struct scn_buffer *mended);

/* What jansson makes of a piece, or NULL; the caller owns the reference. Duplicate keys in an object are refused.
 * `flags` are added to that, e.g. JSON_DECODE_INT_AS_REAL. *is_out_of_memory_out tells a lack of memory from a
 * fault in the text, which jansson alone does not. All its memory comes through protocol/base/alloc.h from the first
 * call on, so no JSON value may have been made by other means before. Not for several threads at once. */
json_t *scn_json_load(struct scn_slice text, size_t flags, json_error_t *error_out, bool *is_out_of_memory_out);

/* jansson heeds the first byte of the locale's decimal point only. Between these two calls this thread has the C
 * locale. */
void scn_json_enter_locale(void);
void scn_json_leave_locale(void);

#endif
