/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "protocol/wire/ops.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/base/uid.h"
#include "protocol/wire/message.h"

/* Keys of an op's map, in their order, what they are called, and what they take. */
#define OP_KEYS(X)                                                                                                     \
        X(OP, "op", "wants an integer")                                                                                \
        X(NODE, "node", "wants a node: an id, a uid or a path")                                                        \
        X(PARENT, "parent", "wants a node: an id, a uid or a path")                                                    \
        X(INDEX, "index", "wants an integer")                                                                          \
        X(AFTER, "after", "wants a node: an id, a uid or a path")                                                      \
        X(UID, "uid", "wants a uid, a bin of 16 bytes")                                                                \
        X(NAME, "name", "wants text, a str, or nil")                                                                   \
        X(T, "t", "wants an array of 3 numbers")                                                                       \
        X(R, "r", "wants an array of 4 numbers")                                                                       \
        X(S, "s", "wants an array of 3 numbers")                                                                       \
        X(PROPS, "props", "wants a map with keys of text")                                                             \
        X(KEY, "key", "wants text, a str")                                                                             \
        X(VALUE, "value", "wants one object")                                                                          \
        X(KEEP, "keep", "wants an integer")                                                                            \
        X(LOSSY, "lossy", "wants true or false")

enum op_key {
#define X(key, name, wants) KEY_##key,
        OP_KEYS(X)
#undef X
};

static const char *const key_names[] = {
#define X(key, name, wants) [KEY_##key] = name,
        OP_KEYS(X)
#undef X
};

/* For whoever has sent something of another kind. */
static const char *const key_wants[] = {
#define X(key, name, wants) [KEY_##key] = wants,
        OP_KEYS(X)
#undef X
};

#undef OP_KEYS
#define KEY_COUNT (sizeof key_names / sizeof key_names[0])

void scn_ops_reset(struct scn_ops *ops)
{
        ops->count = 0;
        ops->properties_count = 0;
        scn_arena_finish(&ops->arena);
}

void scn_ops_finish(struct scn_ops *ops)
{
        scn_arena_finish(&ops->arena);
        scn_free(ops->ops);
        scn_free(ops->properties);
        *ops = (struct scn_ops){0};
}

/* --- Decoding --- */

static void fail(struct scn_unpacker *unpacker, enum scn_error error)
{
        unpacker->error = unpacker->error == SCN_OK ? error : unpacker->error;
}

/* With words that say more than the error's own. */
static void blame(struct scn_unpacker *unpacker, struct scn_ops_fault *fault, const char *entry, const char *reason)
{
        if (unpacker->error == SCN_OK) {
                unpacker->error = SCN_E_BAD_OP;
                fault->entry = entry;
                fault->reason = reason;
        }
}

static void decode_floats(struct scn_unpacker *unpacker, float *floats, uint32_t count)
{
        if (scn_unpack_array(unpacker) != count) {
                fail(unpacker, SCN_E_BAD_OP);
        }
        for (uint32_t i = 0; i < count && unpacker->error == SCN_OK; i++) {
                floats[i] = scn_unpack_float(unpacker);
        }
}

static void decode_properties(struct scn_unpacker *unpacker, struct scn_ops *ops, struct scn_op *op)
{
        const uint32_t count = scn_unpack_map(unpacker);
        for (uint32_t i = 0; i < count && unpacker->error == SCN_OK; i++) {
                if (!scn_grow((void **)&ops->properties, &ops->properties_capacity, sizeof *ops->properties,
                            ops->properties_count + 1, SIZE_MAX)) {
                        fail(unpacker, SCN_E_NO_MEMORY);
                        return;
                }
                struct scn_property *property = &ops->properties[ops->properties_count];
                property->key = scn_unpack_text(unpacker, UINT32_MAX);
                property->value = scn_unpack_raw(unpacker);
                if (unpacker->error == SCN_OK) {
                        ops->properties_count++;
                        op->properties_count++;
                }
        }
}

static struct scn_slice decode_optional_text(struct scn_unpacker *unpacker)
{
        return scn_unpack_is_nil(unpacker) ? (struct scn_slice){NULL, 0} : scn_unpack_text(unpacker, UINT32_MAX);
}

static void decode_place(struct scn_unpacker *unpacker, struct scn_op *op, uint64_t key, struct scn_ops_fault *fault)
{
        if (op->place != SCN_PLACE_UNSAID) {
                blame(unpacker, fault, key_names[key], "either index or after");
                return;
        }
        op->place = key == KEY_INDEX ? SCN_PLACE_INDEX : SCN_PLACE_AFTER;
        if (key == KEY_INDEX) {
                op->index = (uint32_t)scn_unpack_uint(unpacker, UINT32_MAX);
        } else {
                op->after = scn_unpack_ref(unpacker);
        }
}

static void decode_trs(struct scn_unpacker *unpacker, struct scn_op *op, uint64_t key, enum scn_field *field)
{
        *field = key == KEY_T ? SCN_FIELD_TRANSLATION : key == KEY_R ? SCN_FIELD_ROTATION : SCN_FIELD_SCALE;
        float *floats = key == KEY_T ? op->trs.t : key == KEY_R ? op->trs.r : op->trs.s;
        decode_floats(unpacker, floats, key == KEY_R ? 4 : 3);
        op->fields |= 1u << *field;
        if (unpacker->error == SCN_OK) {
                *field = SCN_FIELD_COUNT;
        }
}

static void decode_entry(struct scn_unpacker *unpacker, struct scn_ops *ops, struct scn_op *op, uint64_t key,
        struct scn_ops_fault *fault)
{
        switch (key) {
        case KEY_OP:
                op->kind = (enum scn_op_kind)scn_unpack_uint(unpacker, SCN_OP_COUNT - 1);
                break;
        case KEY_NODE:
                op->node = scn_unpack_ref(unpacker);
                break;
        case KEY_PARENT:
                op->parent = scn_unpack_ref(unpacker);
                break;
        case KEY_INDEX:
        case KEY_AFTER:
                decode_place(unpacker, op, key, fault);
                break;
        case KEY_UID:
                op->uid = scn_unpack_uid(unpacker);
                break;
        case KEY_NAME:
                op->name = decode_optional_text(unpacker);
                break;
        case KEY_T:
        case KEY_R:
        case KEY_S:
                decode_trs(unpacker, op, key, &fault->field);
                break;
        case KEY_PROPS:
                decode_properties(unpacker, ops, op);
                break;
        case KEY_KEY:
                op->key = scn_unpack_text(unpacker, UINT32_MAX);
                break;
        case KEY_VALUE:
                op->value = scn_unpack_is_nil(unpacker) ? (struct scn_slice){NULL, 0} : scn_unpack_raw(unpacker);
                break;
        case KEY_KEEP:
                op->keep_world = scn_unpack_uint(unpacker, 1) == 1;
                break;
        case KEY_LOSSY:
                op->is_lossy = scn_unpack_bool(unpacker);
                break;
        default:
                (void)scn_unpack_raw(unpacker);
                break;
        }
}

/* Of those whose whole range is smaller than what a number may be. */
static const char *range_of(uint64_t key)
{
        return key == KEY_OP       ? "from 0 to 5"
                : key == KEY_KEEP  ? "from 0 to 1"
                : key == KEY_INDEX ? "from 0 to 4294967295"
                                   : NULL;
}
SCN_STATIC_ASSERT(SCN_OP_COUNT == 6, "as range_of() says");

/* NULL: the error's own text says it. */
static const char *reason_of(const struct scn_unpacker *unpacker, uint64_t key)
{
        const bool is_of_kind = unpacker->error == SCN_E_BAD_OP || unpacker->error == SCN_E_BAD_MESSAGE;
        if (unpacker->error == SCN_E_RANGE) {
                return range_of(key);
        }
        return is_of_kind && !unpacker->is_short && key < KEY_COUNT ? key_wants[key] : NULL;
}

/* What an op cannot do without. */
static void check_needs(struct scn_unpacker *unpacker, const struct scn_op *op, struct scn_ops_fault *fault)
{
        static const struct {
                const char *reason;
                uint32_t keys;
        } needs[] = {
                [SCN_OP_ADD] = {"an add needs one", 1u << KEY_PARENT},
                [SCN_OP_REMOVE] = {"a remove needs one", 1u << KEY_NODE},
                [SCN_OP_MOVE] = {"a move needs one", 1u << KEY_NODE | 1u << KEY_PARENT},
                [SCN_OP_TRANSFORM] = {"a transform needs one", 1u << KEY_NODE},
                [SCN_OP_RENAME] = {"a rename needs one", 1u << KEY_NODE},
                [SCN_OP_SET] = {"a set needs one", 1u << KEY_NODE | 1u << KEY_KEY},
                [SCN_OP_COUNT] = {"each op needs one", 1u << KEY_OP},
        };
        const uint32_t missing = needs[op->kind].keys &
                ((op->kind == SCN_OP_COUNT ? 1u << KEY_OP : 0) | (op->node.kind == SCN_REF_NONE ? 1u << KEY_NODE : 0) |
                        (op->parent.kind == SCN_REF_NONE ? 1u << KEY_PARENT : 0) |
                        (op->key.data == NULL ? 1u << KEY_KEY : 0));
        if (missing != 0) {
                blame(unpacker, fault, key_names[__builtin_ctz(missing)], needs[op->kind].reason);
        }
}

static void decode_op(
        struct scn_unpacker *unpacker, struct scn_ops *ops, struct scn_op *op, struct scn_ops_fault *fault)
{
        uint64_t seen = 0;
        *op = (struct scn_op){.kind = SCN_OP_COUNT};
        fault->entry = "ops";
        fault->reason = "this op is not a map";
        const uint32_t count = scn_unpack_map(unpacker);
        for (uint32_t i = 0; i < count && unpacker->error == SCN_OK; i++) {
                fault->entry = "ops";
                fault->reason = "a key of this op is no integer from 0 to 4294967295";
                const uint64_t key = scn_unpack_uint(unpacker, UINT32_MAX);
                if (unpacker->error != SCN_OK) {
                        return;
                }
                const uint64_t bit = key < 64 ? UINT64_C(1) << key : 0;
                fault->entry = key < KEY_COUNT ? key_names[key] : NULL;
                fault->reason = NULL;
                if ((seen & bit) != 0) {
                        blame(unpacker, fault, fault->entry, "it is there twice");
                        return;
                }
                seen |= bit;
                decode_entry(unpacker, ops, op, key, fault);
                if (unpacker->error != SCN_OK && fault->reason == NULL) {
                        fault->reason = reason_of(unpacker, key);
                }
        }
        if (unpacker->error == SCN_OK) {
                fault->entry = NULL;
                fault->reason = NULL;
                check_needs(unpacker, op, fault);
        }
}

/* The array of properties may have moved while it grew. */
static void point_to_properties(struct scn_ops *ops)
{
        struct scn_property *at = ops->properties;
        for (size_t i = 0; i < ops->count; i++) {
                const uint32_t count = ops->ops[i].properties_count;
                ops->ops[i].properties = count == 0 ? NULL : at;
                at = count == 0 ? at : at + count;
        }
}

enum scn_error scn_ops_decode(
        struct scn_slice array, const struct scn_limits *limits, struct scn_ops *ops, struct scn_ops_fault *fault_out)
{
        struct scn_unpacker unpacker = scn_unpacker_from(array);
        const uint32_t count = scn_unpack_array(&unpacker);
        *fault_out = (struct scn_ops_fault){.op = (uint32_t)ops->count, .field = SCN_FIELD_COUNT};
        if (unpacker.error != SCN_OK) {
                fault_out->entry = "ops";
                fault_out->reason = "not an array";
                return SCN_E_BAD_OP;
        }
        if (count > limits->ops_max - ops->count) {
                return SCN_E_TOO_MANY_OPS;
        }
        for (uint32_t i = 0; i < count; i++) {
                if (!scn_grow((void **)&ops->ops, &ops->capacity, sizeof *ops->ops, ops->count + 1, SIZE_MAX)) {
                        return SCN_E_NO_MEMORY;
                }
                fault_out->op = (uint32_t)ops->count;
                decode_op(&unpacker, ops, &ops->ops[ops->count], fault_out);
                if (unpacker.error != SCN_OK) {
                        return unpacker.error == SCN_E_BAD_MESSAGE ? SCN_E_BAD_OP : unpacker.error;
                }
                ops->count++;
        }
        point_to_properties(ops);
        return scn_unpack_is_done(&unpacker) ? SCN_OK : SCN_E_BAD_OP;
}

/* --- Encoding --- */

static void pack_floats(struct scn_packer *packer, enum op_key key, const float *floats, uint32_t count)
{
        scn_pack_uint(packer, key);
        scn_pack_floats(packer, floats, count);
}

static void pack_keyed_ref(struct scn_packer *packer, enum op_key key, const struct scn_node_ref *ref)
{
        scn_pack_uint(packer, key);
        scn_pack_ref(packer, ref);
}

static void pack_optional_text(struct scn_packer *packer, enum op_key key, struct scn_slice text)
{
        scn_pack_uint(packer, key);
        if (text.data == NULL) {
                scn_pack_nil(packer);
        } else {
                scn_pack_text(packer, text);
        }
}

static void pack_properties(struct scn_packer *packer, const struct scn_op *op)
{
        scn_pack_uint(packer, KEY_PROPS);
        scn_pack_map(packer, op->properties_count);
        for (uint32_t i = 0; i < op->properties_count; i++) {
                scn_pack_text(packer, op->properties[i].key);
                scn_pack_raw(packer, op->properties[i].value);
        }
}

/* Which keys an op has, as bits. */
static uint32_t keys_of(const struct scn_op *op)
{
        const uint32_t trs = ((op->fields & SCN_FIELDS_TRANSLATION) != 0 ? 1u << KEY_T : 0) |
                ((op->fields & SCN_FIELDS_ROTATION) != 0 ? 1u << KEY_R : 0) |
                ((op->fields & SCN_FIELDS_SCALE) != 0 ? 1u << KEY_S : 0);
        const uint32_t place = (op->place == SCN_PLACE_INDEX ? 1u << KEY_INDEX : 0) |
                (op->place == SCN_PLACE_AFTER ? 1u << KEY_AFTER : 0);
        switch (op->kind) {
        case SCN_OP_ADD:
                return 1u << KEY_OP | 1u << KEY_PARENT | place | trs | (scn_uid_is_none(op->uid) ? 0 : 1u << KEY_UID) |
                        (op->name.data != NULL ? 1u << KEY_NAME : 0) | (op->properties_count > 0 ? 1u << KEY_PROPS : 0);
        case SCN_OP_REMOVE:
                return 1u << KEY_OP | 1u << KEY_NODE;
        case SCN_OP_MOVE:
                return 1u << KEY_OP | 1u << KEY_NODE | 1u << KEY_PARENT | place |
                        (op->keep_world ? 1u << KEY_KEEP : 0) | (op->is_lossy ? 1u << KEY_LOSSY : 0);
        case SCN_OP_TRANSFORM:
                return 1u << KEY_OP | 1u << KEY_NODE | trs | (op->parent.kind != SCN_REF_NONE ? 1u << KEY_PARENT : 0);
        case SCN_OP_RENAME:
                return 1u << KEY_OP | 1u << KEY_NODE | 1u << KEY_NAME;
        case SCN_OP_SET:
                return 1u << KEY_OP | 1u << KEY_NODE | (op->key.data != NULL ? 1u << KEY_KEY : 0) | 1u << KEY_VALUE;
        case SCN_OP_COUNT:
                break;
        }
        return 0;
}

static void pack_entry(struct scn_packer *packer, const struct scn_op *op, enum op_key key)
{
        switch (key) {
        case KEY_OP:
                scn_pack_uint(packer, key);
                scn_pack_uint(packer, op->kind);
                break;
        case KEY_NODE:
                pack_keyed_ref(packer, key, &op->node);
                break;
        case KEY_PARENT:
                pack_keyed_ref(packer, key, &op->parent);
                break;
        case KEY_INDEX:
                scn_pack_uint(packer, key);
                scn_pack_uint(packer, op->index);
                break;
        case KEY_AFTER:
                pack_keyed_ref(packer, key, &op->after);
                break;
        case KEY_UID:
                scn_pack_uint(packer, key);
                scn_pack_uid(packer, op->uid);
                break;
        case KEY_NAME:
                pack_optional_text(packer, key, op->name);
                break;
        case KEY_T:
                pack_floats(packer, key, op->trs.t, 3);
                break;
        case KEY_R:
                pack_floats(packer, key, op->trs.r, 4);
                break;
        case KEY_S:
                pack_floats(packer, key, op->trs.s, 3);
                break;
        case KEY_PROPS:
                pack_properties(packer, op);
                break;
        case KEY_KEY:
                pack_optional_text(packer, key, op->key);
                break;
        case KEY_VALUE:
                scn_pack_uint(packer, key);
                if (op->value.data == NULL) {
                        scn_pack_nil(packer);
                } else {
                        scn_pack_raw(packer, op->value);
                }
                break;
        case KEY_KEEP:
                scn_pack_uint(packer, key);
                scn_pack_uint(packer, 1);
                break;
        case KEY_LOSSY:
                scn_pack_uint(packer, key);
                scn_pack_bool(packer, true);
                break;
        }
}

void scn_ops_encode(struct scn_packer *packer, const struct scn_op *ops, uint32_t count)
{
        scn_pack_array(packer, count);
        for (uint32_t i = 0; i < count; i++) {
                const uint32_t keys = keys_of(&ops[i]);
                scn_pack_map(packer, (uint32_t)__builtin_popcount(keys));
                for (uint32_t key = 0; key <= KEY_LOSSY; key++) {
                        if ((keys & 1u << key) != 0) {
                                pack_entry(packer, &ops[i], (enum op_key)key);
                        }
                }
        }
}
