/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Reading the bodies of answers. What comes may be anything: a body that is not as it should be has no elements. */

#include "client/client.h"

#include <string.h>

static bool is_word(struct scn_slice text, const char *word)
{
        return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

/* *at is where in the body the next element begins; 0, where the array's head stands: the first. */
static bool next_element(const struct scn_answer *answer, size_t *at, struct scn_slice *element_out)
{
        if (answer->body.data == NULL || *at >= answer->body.size) {
                return false;
        }
        struct scn_unpacker unpacker =
                scn_unpacker_from((struct scn_slice){answer->body.data + *at, answer->body.size - (uint32_t)*at});
        if (*at == 0 && (scn_unpack_kind(&unpacker) != SCN_PACK_ARRAY || scn_unpack_array(&unpacker) == 0)) {
                return false;
        }
        *element_out = scn_unpack_raw(&unpacker);
        *at = (size_t)(unpacker.at - answer->body.data);
        return unpacker.error == SCN_OK;
}

/* Takes the value of `key`, whatever it is, into what is being read. */
typedef void (*take_field_fn)(struct scn_unpacker *unpacker, uint64_t key, void *out);

/* The next element, a map. False: there is none, or it is not as it should be. */
static bool take_next(const struct scn_answer *answer, size_t *at, take_field_fn take_field, void *out)
{
        struct scn_slice element;
        if (!next_element(answer, at, &element)) {
                return false;
        }
        struct scn_unpacker unpacker = scn_unpacker_from(element);
        const uint32_t count = scn_unpack_map(&unpacker);
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                take_field(&unpacker, scn_unpack_uint(&unpacker, UINT32_MAX), out);
        }
        return unpacker.error == SCN_OK;
}

static void take_floats(struct scn_unpacker *unpacker, float *floats, uint32_t count)
{
        if (scn_unpack_array(unpacker) != count && unpacker->error == SCN_OK) {
                unpacker->error = SCN_E_BAD_MESSAGE;
        }
        for (uint32_t i = 0; i < count && unpacker->error == SCN_OK; i++) {
                floats[i] = scn_unpack_float(unpacker);
        }
}

/* An optional uid or text: nil is none. */
static struct scn_uid take_uid(struct scn_unpacker *unpacker)
{
        return scn_unpack_is_nil(unpacker) ? (struct scn_uid){{0}} : scn_unpack_uid(unpacker);
}

static struct scn_slice take_text(struct scn_unpacker *unpacker)
{
        return scn_unpack_is_nil(unpacker) ? (struct scn_slice){NULL, 0} : scn_unpack_text(unpacker, UINT32_MAX);
}

enum tree_key {
        TREE_ID,
        TREE_UID,
        TREE_PARENT,
        TREE_NAME,
        TREE_T,
        TREE_R,
        TREE_S,
        TREE_PROPS,
        TREE_CONTINUES,
};

static void take_tree_field(struct scn_unpacker *unpacker, uint64_t key, void *out)
{
        struct scn_tree_node *node = out;

        if (key == TREE_ID) {
                node->id = (scn_node_id)scn_unpack_uint(unpacker, UINT32_MAX);
        } else if (key == TREE_UID) {
                node->uid = scn_unpack_uid(unpacker);
        } else if (key == TREE_PARENT) {
                node->parent = take_uid(unpacker);
        } else if (key == TREE_NAME) {
                node->name = take_text(unpacker);
        } else if (key == TREE_T) {
                take_floats(unpacker, node->trs.t, 3);
        } else if (key == TREE_R) {
                take_floats(unpacker, node->trs.r, 4);
        } else if (key == TREE_S) {
                take_floats(unpacker, node->trs.s, 3);
        } else if (key == TREE_PROPS) {
                node->props = scn_unpack_raw(unpacker);
        } else if (key == TREE_CONTINUES) {
                node->continues = scn_unpack_bool(unpacker);
        } else {
                (void)scn_unpack_raw(unpacker);
        }
}

bool scn_answer_tree(const struct scn_answer *answer, size_t *at, struct scn_tree_node *node_out)
{
        *node_out = (struct scn_tree_node){.trs = SCN_TRS_IDENTITY};
        return take_next(answer, at, take_tree_field, node_out);
}

enum world_key {
        WORLD_UID,
        WORLD_PATH,
        WORLD_MATRIX,
        WORLD_T,
        WORLD_R,
        WORLD_S,
        WORLD_CODE = 9,
        WORLD_TEXT,
};

static void take_world_field(struct scn_unpacker *unpacker, uint64_t key, void *out)
{
        struct scn_world *world = out;

        if (key == WORLD_UID) {
                world->uid = take_uid(unpacker);
        } else if (key == WORLD_PATH) {
                world->path = take_text(unpacker);
        } else if (key == WORLD_MATRIX) {
                take_floats(unpacker, world->matrix, 16);
        } else if (key == WORLD_T) {
                take_floats(unpacker, world->trs.t, 3);
        } else if (key == WORLD_R) {
                take_floats(unpacker, world->trs.r, 4);
        } else if (key == WORLD_S) {
                take_floats(unpacker, world->trs.s, 3);
        } else if (key == WORLD_CODE) {
                world->code = take_text(unpacker);
        } else if (key == WORLD_TEXT) {
                world->text = take_text(unpacker);
        } else {
                (void)scn_unpack_raw(unpacker);
        }
}

bool scn_answer_world(const struct scn_answer *answer, size_t *at, struct scn_world *world_out)
{
        *world_out = (struct scn_world){.trs = SCN_TRS_IDENTITY};
        return take_next(answer, at, take_world_field, world_out);
}

bool scn_answer_document(const struct scn_answer *answer, size_t *at, struct scn_slice *name_out)
{
        struct scn_slice element;
        if (!next_element(answer, at, &element)) {
                return false;
        }
        struct scn_unpacker unpacker = scn_unpacker_from(element);
        *name_out = scn_unpack_text(&unpacker, UINT32_MAX);
        return unpacker.error == SCN_OK;
}

/* Bytes of another length, or none where a server sends something else, say nothing. */
static void take_bytes(struct scn_slice bytes, uint8_t *bytes_out, size_t size)
{
        if (bytes.size == size) {
                memcpy(bytes_out, bytes.data, size);
        }
}

static void take_state_member(struct scn_document_state *state, struct scn_slice key, struct scn_unpacker *value)
{
        struct scn_slice bytes = {NULL, 0};
        if (is_word(key, "doc")) {
                state->name = scn_unpack_text(value, UINT32_MAX);
        } else if (is_word(key, "error")) {
                state->code = scn_unpack_text(value, UINT32_MAX);
        } else if (is_word(key, "rev")) {
                state->rev = scn_unpack_uint(value, SCN_REVISION_MAX);
        } else if (is_word(key, "deleted")) {
                state->deleted_us = scn_unpack_uint(value, UINT64_MAX);
        } else if (is_word(key, "uid")) {
                bytes = scn_unpack_bin(value, UINT32_MAX);
                take_bytes(bytes, state->uid.bytes, sizeof state->uid.bytes);
        } else if (is_word(key, "epoch")) {
                bytes = scn_unpack_bin(value, UINT32_MAX);
                take_bytes(bytes, state->epoch, sizeof state->epoch);
        }
}

bool scn_answer_document_state(const struct scn_answer *answer, size_t *at, struct scn_document_state *state_out)
{
        struct scn_slice element;
        if (!next_element(answer, at, &element)) {
                return false;
        }
        struct scn_unpacker unpacker = scn_unpacker_from(element);
        const uint32_t count = scn_unpack_kind(&unpacker) == SCN_PACK_MAP ? scn_unpack_map(&unpacker) : 0;
        *state_out = (struct scn_document_state){.rev = 0};
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                const struct scn_slice key = scn_unpack_text(&unpacker, UINT32_MAX);
                struct scn_unpacker value = unpacker;
                (void)scn_unpack_raw(&unpacker);
                if (unpacker.error == SCN_OK) {
                        take_state_member(state_out, key, &value);
                        unpacker.error = value.error;
                }
        }
        return unpacker.error == SCN_OK && state_out->name.data != NULL;
}

bool scn_answer_digest(const struct scn_answer *answer, uint8_t digest_out[16])
{
        struct scn_unpacker unpacker = scn_unpacker_from(answer->body);
        const struct scn_slice digest = scn_unpack_bin(&unpacker, 16);
        if (unpacker.error != SCN_OK || digest.size != 16) {
                return false;
        }
        memcpy(digest_out, digest.data, 16);
        return true;
}
