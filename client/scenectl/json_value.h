/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_JSON_VALUE_H
#define SCN_CLIENT_SCENECTL_JSON_VALUE_H

/* Property values between msgpack, as the document keeps them, and JSON, as people and files spell them.
 *
 * Two styles. Plain: JSON as it stands; what JSON has no word for cannot be said. Tagged (DESIGN §8): such things are
 * objects with one member that begins with a dollar sign, so that every value has a spelling that reads back to the
 * same bytes:
 *
 *      {"$node": "uuid"}     a node's uid            {"$node": 12}  the node with that number in the same file
 *      {"$blob": "64 hex"}   a blob's hash           {"$bin": "base64"}
 *      {"$int": "digits"}    an integer beyond 2^53  {"$map": [[key, value], ...]}  a map with a key that begins
 *                                                    with a dollar sign or holds a zero byte
 *
 * A float has a point or an exponent and an integer has none; a float32 is written out in full, so that its bits come
 * back. Nothing here recurses. */

#include "client/scenectl/json_text.h"
#include "protocol/scene/value.h"

#include <jansson.h>

enum scn_json_style {
        SCN_JSON_PLAIN,
        SCN_JSON_TAGGED,
};

/* References to nodes of the same file, by number. Either function may be NULL: then uids stand for themselves, and
 * a number is SCN_E_BAD_VALUE. */
struct scn_json_nodes {
        bool (*find_index)(void *data, struct scn_uid uid, uint32_t *index_out);
        bool (*find_uid)(void *data, uint32_t index, struct scn_uid *uid_out);
        void *data;
};

/* Whether the plain style can say it. False too for what is no msgpack at all. */
bool scn_json_value_is_plain(struct scn_slice value);

/* Writes one msgpack object. Plain: the caller knows that it is. `nodes` may be NULL.
 * SCN_E_BAD_VALUE if it is no msgpack object, or nested deeper than SCN_VALUE_LEVELS_MAX; SCN_E_NOT_FINITE. */
void scn_json_put_value(
        struct scn_json *json, struct scn_slice value, enum scn_json_style style, const struct scn_json_nodes *nodes);

/* Appends the msgpack spelling of a JSON value. `nodes` may be NULL. SCN_E_BAD_VALUE (an unknown or malformed tag),
 * SCN_E_VALUE_TOO_DEEP (more than levels_max), SCN_E_NO_MEMORY, SCN_E_TOO_LARGE (the buffer's maximum). The buffer
 * may then hold a part. Keys and sizes are not judged: scn_value_canonicalise() does that. */
SCN_NODISCARD enum scn_error scn_json_pack_value(const json_t *value, enum scn_json_style style,
        const struct scn_json_nodes *nodes, uint32_t levels_max, struct scn_buffer *packed);

#endif
