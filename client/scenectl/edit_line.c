/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "client/scenectl/edit_line.h"

#include "client/draft.h"
#include "client/scenectl/json_read.h"
#include "protocol/base/alloc.h"
#include "protocol/base/uid.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

/* Values of one op; a message holds no more. */
#define VALUES_BYTES_MAX (4u << 20)

struct reading {
        struct scn_draft *draft;
        char *problem;
        struct scn_op op;
        struct scn_property *properties;
        uint32_t properties_count;
        struct scn_buffer values; /* what op.value and the properties point to, once all are there */
        enum scn_error error;
};

static void fail(struct reading *reading, enum scn_error error, const char *member, const char *what)
{
        if (reading->error == SCN_OK) {
                reading->error = error;
                (void)snprintf(reading->problem, SCN_EDIT_LINE_PROBLEM_BYTES, "%.64s: %.100s", member, what);
        }
}

static struct scn_slice text_of(const json_t *text)
{
        return (struct scn_slice){(const uint8_t *)json_string_value(text), (uint32_t)json_string_length(text)};
}

/* --- Members --- */

/* Uid, path or number. */
static struct scn_node_ref read_ref(struct reading *reading, const char *member, const json_t *value)
{
        struct scn_node_ref ref = {.kind = SCN_REF_NONE};
        if (json_is_integer(value) && json_integer_value(value) > 0 && json_integer_value(value) <= UINT32_MAX) {
                ref.kind = SCN_REF_ID;
                ref.id = (scn_node_id)json_integer_value(value);
        } else if (json_is_string(value) && json_string_value(value)[0] == '/') {
                ref.kind = SCN_REF_PATH;
                ref.path = text_of(value);
        } else if (json_is_string(value) && scn_uid_from_text(json_string_value(value), &ref.uid)) {
                ref.kind = SCN_REF_UID;
        } else {
                fail(reading, SCN_E_BAD_OP, member, "must be a uid or a path");
        }
        return ref;
}

static void read_floats(struct reading *reading, const char *member, const json_t *value, float *floats, uint32_t count)
{
        if (!json_is_array(value) || json_array_size(value) != count) {
                fail(reading, SCN_E_BAD_OP, member, count == 3 ? "must be 3 numbers" : "must be 4 numbers");
                return;
        }
        for (uint32_t i = 0; i < count; i++) {
                const json_t *number = json_array_get(value, i);
                const double wide = json_number_value(number);
                floats[i] = (float)wide;
                if (!json_is_number(number)) {
                        fail(reading, SCN_E_BAD_OP, member, "must be numbers");
                } else if (floats[i] > FLT_MAX || floats[i] < -FLT_MAX) {
                        fail(reading, SCN_E_RANGE, member, "is outside the range of 32-bit floats");
                }
        }
}

static void read_trs(struct reading *reading, const char *member, const json_t *value)
{
        struct scn_op *op = &reading->op;
        if (member[0] == 't') {
                op->fields |= SCN_FIELDS_TRANSLATION;
                read_floats(reading, member, value, op->trs.t, 3);
        } else if (member[0] == 'r') {
                op->fields |= SCN_FIELDS_ROTATION;
                read_floats(reading, member, value, op->trs.r, 4);
        } else {
                op->fields |= SCN_FIELDS_SCALE;
                read_floats(reading, member, value, op->trs.s, 3);
        }
}

/* Spells a value at the end of the buffer; an offset for now, for the buffer may still move. */
static struct scn_slice read_value(struct reading *reading, const char *member, const json_t *value)
{
        const size_t at = reading->values.size;
        const enum scn_error error =
                scn_json_pack_value(value, SCN_JSON_TAGGED, NULL, SCN_VALUE_LEVELS_MAX, &reading->values);
        if (error != SCN_OK) {
                fail(reading, error, member, scn_error_text(error));
        }
        return (struct scn_slice){(const uint8_t *)(uintptr_t)(at + 1), (uint32_t)(reading->values.size - at)};
}

static void read_properties(struct reading *reading, json_t *object)
{
        const char *key;
        json_t *value;
        if (!json_is_object(object)) {
                fail(reading, SCN_E_BAD_OP, "props", "must be an object");
                return;
        }
        reading->properties = scn_alloc(json_object_size(object) * sizeof *reading->properties);
        if (reading->properties == NULL) {
                fail(reading, SCN_E_NO_MEMORY, "props", scn_error_text(SCN_E_NO_MEMORY));
                return;
        }
        json_object_foreach(object, key, value)
        {
                reading->properties[reading->properties_count++] = (struct scn_property){
                        {(const uint8_t *)key, (uint32_t)strlen(key)}, read_value(reading, key, value)};
        }
}

static void read_uid(struct reading *reading, const json_t *value)
{
        if (!json_is_string(value) || !scn_uid_from_text(json_string_value(value), &reading->op.uid) ||
                scn_uid_is_none(reading->op.uid)) {
                fail(reading, SCN_E_BAD_OP, "uid", "must be a uid, and not all zeros");
        }
}

/* A place is said once. */
static void read_place(struct reading *reading, enum scn_place_kind kind)
{
        if (reading->op.place != SCN_PLACE_UNSAID) {
                fail(reading, SCN_E_BAD_OP, "index, after", "both say where: give one of them");
        }
        reading->op.place = kind;
}

static void read_index(struct reading *reading, const json_t *value)
{
        read_place(reading, SCN_PLACE_INDEX);
        reading->op.index = (uint32_t)json_integer_value(value);
        if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > UINT32_MAX) {
                fail(reading, SCN_E_BAD_OP, "index", "must be a whole number");
        }
}

static void read_text(struct reading *reading, const char *member, const json_t *value, struct scn_slice *text_out)
{
        if (json_is_string(value)) {
                *text_out = text_of(value);
        } else if (!json_is_null(value)) {
                fail(reading, SCN_E_BAD_OP, member, "must be a text");
        }
}

static void read_keep(struct reading *reading, const json_t *value)
{
        const char *word = json_is_string(value) ? json_string_value(value) : "";
        reading->op.keep_world = strcmp(word, "world") == 0;
        if (!reading->op.keep_world && strcmp(word, "local") != 0) {
                fail(reading, SCN_E_BAD_OP, "keep", "must be \"local\" or \"world\"");
        }
}

static void read_member(struct reading *reading, const char *member, json_t *value)
{
        struct scn_op *op = &reading->op;
        if (strcmp(member, "node") == 0) {
                op->node = read_ref(reading, member, value);
        } else if (strcmp(member, "parent") == 0) {
                op->parent = read_ref(reading, member, value);
        } else if (strcmp(member, "index") == 0) {
                read_index(reading, value);
        } else if (strcmp(member, "after") == 0) {
                read_place(reading, SCN_PLACE_AFTER);
                op->after = json_is_null(value) ? (struct scn_node_ref){.kind = SCN_REF_NONE}
                                                : read_ref(reading, member, value);
        } else if (strcmp(member, "uid") == 0) {
                read_uid(reading, value);
        } else if (strcmp(member, "name") == 0) {
                read_text(reading, member, value, &op->name);
        } else if (strcmp(member, "t") == 0 || strcmp(member, "r") == 0 || strcmp(member, "s") == 0) {
                read_trs(reading, member, value);
        } else if (strcmp(member, "props") == 0) {
                read_properties(reading, value);
        } else if (strcmp(member, "key") == 0) {
                read_text(reading, member, value, &op->key);
        } else if (strcmp(member, "value") == 0) {
                op->value = json_is_null(value) ? (struct scn_slice){NULL, 0} : read_value(reading, member, value);
        } else if (strcmp(member, "keep") == 0) {
                read_keep(reading, value);
        } else if (strcmp(member, "lossy") == 0) {
                op->is_lossy = json_is_true(value);
        } else if (strcmp(member, "op") != 0) {
                fail(reading, SCN_E_BAD_OP, member, "is not known");
        }
}

/* --- Ops --- */

static bool read_kind(const json_t *value, enum scn_op_kind *kind_out)
{
        static const char *const words[] = {
#define OP_WORD(name, word) word,
                SCN_OP_LIST(OP_WORD)
#undef OP_WORD
        };
        const char *word = json_is_string(value) ? json_string_value(value) : "";
        for (uint32_t i = 0; i < SCN_OP_COUNT; i++) {
                if (strcmp(words[i], word) == 0) {
                        *kind_out = (enum scn_op_kind)i;
                        return true;
                }
        }
        return false;
}

static struct scn_slice value_at(const struct reading *reading, struct scn_slice offset)
{
        return offset.data == NULL ? offset
                                   : (struct scn_slice){reading->values.data + (uintptr_t)offset.data - 1, offset.size};
}

static void append(struct reading *reading)
{
        struct scn_op *op = &reading->op;
        op->value = value_at(reading, op->value);
        for (uint32_t i = 0; i < reading->properties_count; i++) {
                reading->properties[i].value = value_at(reading, reading->properties[i].value);
        }
        op->properties = reading->properties;
        op->properties_count = reading->properties_count;
        if (op->kind == SCN_OP_SET && op->key.data == NULL) {
                fail(reading, SCN_E_BAD_OP, "key", "is missing");
        }
        if (reading->error == SCN_OK) {
                const enum scn_error error = scn_draft_append(reading->draft, op);
                if (error == SCN_E_BAD_OP) {
                        fail(reading, error, op->kind == SCN_OP_ADD ? "parent" : "node", "is missing");
                } else if (error != SCN_OK) {
                        fail(reading, error, "op", scn_error_text(error));
                }
        }
}

static void read_op(struct reading *reading, json_t *object)
{
        const char *member;
        json_t *value;
        reading->op = (struct scn_op){.trs = SCN_TRS_IDENTITY};
        reading->properties = NULL;
        reading->properties_count = 0;
        scn_buffer_reset(&reading->values);
        if (!json_is_object(object) || !read_kind(json_object_get(object, "op"), &reading->op.kind)) {
                fail(reading, SCN_E_BAD_OP, "op", "must be add, remove, move, transform, rename or set");
                return;
        }
        json_object_foreach(object, member, value)
        {
                read_member(reading, member, value);
        }
        /* To remove is said, not left to a member that was forgotten. */
        if (reading->op.kind == SCN_OP_SET && json_object_get(object, "value") == NULL) {
                fail(reading, SCN_E_BAD_OP, "value", "is missing; null removes the property");
        }
        if (reading->error == SCN_OK) {
                append(reading);
        }
        scn_free(reading->properties);
}

/* --- The line --- */

/* A misspelt option must not pass for none. */
static void refuse_unknown(struct reading *reading, json_t *line)
{
        static const char *const known[] = {"ops", "group", "base", "strict"};
        const char *member;
        json_t *value;
        json_object_foreach(line, member, value)
        {
                size_t i = 0;
                while (i < sizeof known / sizeof known[0] && strcmp(known[i], member) != 0) {
                        i++;
                }
                if (i == sizeof known / sizeof known[0]) {
                        fail(reading, SCN_E_BAD_OP, member, "is not known");
                }
        }
}

static void read_options(struct reading *reading, json_t *line)
{
        const json_t *group = json_object_get(line, "group");
        const json_t *base = json_object_get(line, "base");
        const json_t *strict = json_object_get(line, "strict");
        const bool is_group_bad = group != NULL && (!json_is_integer(group) || json_integer_value(group) < 0);
        if (is_group_bad || (base != NULL && (!json_is_integer(base) || json_integer_value(base) < 0))) {
                fail(reading, SCN_E_BAD_OP, is_group_bad ? "group" : "base",
                        "must be a whole number, and not negative");
                return;
        }
        if (group != NULL) {
                scn_draft_set_group(reading->draft, (uint64_t)json_integer_value(group));
        }
        if (base != NULL) {
                scn_draft_set_base(reading->draft, (scn_revision)json_integer_value(base), json_is_true(strict));
        } else if (json_is_true(strict)) {
                fail(reading, SCN_E_BAD_OP, "strict", "needs a base");
        }
}

static void read_line(struct reading *reading, json_t *line, uint32_t *op_out)
{
        const json_t *ops = json_object_get(line, "ops");
        if (!json_is_array(ops)) {
                fail(reading, SCN_E_BAD_OP, "ops", "must be an array");
                return;
        }
        refuse_unknown(reading, line);
        read_options(reading, line);
        for (size_t i = 0; i < json_array_size(ops) && reading->error == SCN_OK; i++) {
                read_op(reading, json_array_get(ops, i));
                *op_out = reading->error != SCN_OK ? (uint32_t)i : UINT32_MAX;
        }
}

enum scn_error scn_edit_line_read(
        struct scn_draft *draft, struct scn_slice line, uint32_t *op_out, char problem_out[SCN_EDIT_LINE_PROBLEM_BYTES])
{
        struct reading reading = {.draft = draft, .problem = problem_out};
        json_error_t fault;
        bool is_out_of_memory;
        *op_out = UINT32_MAX;
        problem_out[0] = '\0';
        json_t *root = scn_json_load(line, 0, &fault, &is_out_of_memory);
        if (root == NULL) {
                fail(&reading, is_out_of_memory ? SCN_E_NO_MEMORY : SCN_E_BAD_OP, "the line is no JSON", fault.text);
                return reading.error;
        }
        scn_buffer_init(&reading.values, VALUES_BYTES_MAX);
        read_line(&reading, root, op_out);
        scn_buffer_finish(&reading.values);
        json_decref(root);
        return reading.error;
}
