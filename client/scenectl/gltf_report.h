/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_GLTF_REPORT_H
#define SCN_CLIENT_SCENECTL_GLTF_REPORT_H

/* What reading or writing a scene file has to tell: the fault for which it was refused, or notes on what is not quite
 * as the file had it. Bounded, in the caller's memory, without pointers. */

#include <scn/types.h>

/* Every way a file can be refused. The word is the one that programs compare. */
/* clang-format off */
/*      name                 word                    text */
#define SCN_GLTF_FAULT_LIST(X)                                                                                 \
        X(NO_MEMORY,         "no_memory",            "out of memory")                                          \
        X(NOT_READABLE,      "not_readable",         "the file cannot be read")                                \
        X(NOT_WRITABLE,      "not_writable",         "the file cannot be written")                             \
        X(FILE_TOO_LARGE,    "file_too_large",       "the file is larger than the limit")                      \
        X(NOT_JSON,          "not_json",             "the file is not JSON")                                   \
        X(NOT_GLTF,          "not_gltf",             "the file is not glTF 2.0")                               \
        X(BAD_GLB,           "bad_glb",              "the binary container is damaged")                        \
        X(BAD_KIND,          "bad_kind",             "a member is not of the kind that glTF says")             \
        X(BAD_INDEX,         "bad_index",            "an index names nothing in the file")                     \
        X(CYCLE,             "cycle",                "a node is its own ancestor")                             \
        X(TWO_PARENTS,       "two_parents",          "a node is a child of two nodes")                         \
        X(TWICE,             "twice",                "a node is listed twice in one list")                     \
        X(SCENE_CHILD,       "scene_child",          "a scene lists a node that is also a child")              \
        X(NO_SCENE,          "no_scene",             "the file has no scene of this name")                     \
        X(PATH_OUTSIDE,      "path_outside",         "a path leads out of the file's folder")                  \
        X(DEPTH,             "depth",                "the tree would be deeper than the limit")                \
        X(TOO_MANY_NODES,    "too_many_nodes",       "the file has more nodes than the limit")                 \
        X(MATRIX_AND_TRS,    "matrix_and_trs",       "a node has a matrix and translation, rotation or scale") \
        X(BAD_MATRIX,        "bad_matrix",           "a matrix is not one of 16 numbers with the last row 0 0 0 1") \
        X(RANGE,             "range",                "a number is outside the range of floats")                \
        X(NOT_FINITE,        "not_finite",           "a number is NaN or infinite")                            \
        X(ZERO_QUATERNION,   "zero_quaternion",      "a rotation has no length")                               \
        X(BAD_TEXT,          "bad_text",             "a text is not UTF-8, or a key holds a zero byte") \
        X(NAME_TOO_LONG,     "name_too_long",        "the name is longer than the limit")                      \
        X(BAD_VALUE,         "bad_value",            "a property value is not one of the permitted kinds")     \
        X(VALUE_TOO_LARGE,   "value_too_large",      "a property value is larger than the limit")              \
        X(VALUE_TOO_DEEP,    "value_too_deep",       "a property value is nested deeper than the limit")       \
        X(KEY_TOO_LONG,      "key_too_long",         "a property key is empty or longer than the limit")       \
        X(DUPLICATE_KEY,     "duplicate_key",        "a map holds the same key twice")                         \
        X(TOO_MANY_PROPS,    "too_many_props",       "the node would have more properties than the limit")

/* What is worth telling of a file that was taken. */
#define SCN_GLTF_NOTE_LIST(X)                                                                                  \
        X(NORMALISED,        "normalised",           "the rotation was normalised; its length was") \
        X(SHEAR,             "shear",                "the matrix shears, which a node cannot; the relative error is") \
        X(EXTENSION,         "extension",            "an extension was left out")                              \
        X(REQUIRED,          "required",             "the file requires an extension that nodes do without")   \
        X(NULL_EXTRAS,       "null_extras",          "extras that are null were left out")                     \
        X(KEPT_EXTRAS,       "kept_extras",          "extras that scened had kept were left out for the file's own") \
        X(UNREACHED,         "unreached",            "nodes belong to no scene that was chosen and were left out:") \
        X(LEFT_OUT,          "left_out",             "a document has no place for these; left out:") \
        X(KEPT_IN_EXTRAS,    "kept_in_extras",       "the property is not what glTF needs and was written into extras")\
        X(NOT_WITH_IT,       "not_with_it",          "only the imported file has any; nodes that want one:")
/* clang-format on */

enum scn_gltf_fault {
        SCN_GLTF_OK,
#define SCN_GLTF_FAULT_ENUM(name, word, text) SCN_GLTF_##name,
        SCN_GLTF_FAULT_LIST(SCN_GLTF_FAULT_ENUM)
#undef SCN_GLTF_FAULT_ENUM
};

enum scn_gltf_note_kind {
#define SCN_GLTF_NOTE_ENUM(name, word, text) SCN_GLTF_NOTE_##name,
        SCN_GLTF_NOTE_LIST(SCN_GLTF_NOTE_ENUM)
#undef SCN_GLTF_NOTE_ENUM
        SCN_GLTF_NOTE_COUNT,
};

#define SCN_GLTF_NODE_NONE UINT32_MAX
/* Notes kept in full; of the rest only the number is known. */
#define SCN_GLTF_NOTES_MAX 32
/* Bytes of a name or detail, with its zero. */
#define SCN_GLTF_DETAIL_BYTES 128
/* Bytes of a whole message, with its zero. */
#define SCN_GLTF_MESSAGE_BYTES 512

struct scn_gltf_note {
        enum scn_gltf_note_kind kind;
        uint32_t node;                      /* index in the file, or SCN_GLTF_NODE_NONE */
        double amount;                      /* length, error or number; 0 if the kind has none */
        char detail[SCN_GLTF_DETAIL_BYTES]; /* the node's name, an extension, a kind of entry; may be "" */
};

struct scn_gltf_report {
        enum scn_gltf_fault fault;
        uint32_t node;  /* index in the file, or SCN_GLTF_NODE_NONE */
        uint32_t other; /* the other node: the first parent, the node above in a cycle */
        uint32_t line;  /* of the file, from 1; 0: not known */
        char detail[SCN_GLTF_DETAIL_BYTES];
        uint32_t counts[SCN_GLTF_NOTE_COUNT]; /* notes by kind, those not kept included */
        uint32_t notes_count;
        struct scn_gltf_note notes[SCN_GLTF_NOTES_MAX];
};

void scn_gltf_report_init(struct scn_gltf_report *report);

/* Says why, once: the first fault stays. Returns that one. The detail is cut, and made fit for a terminal. */
enum scn_gltf_fault scn_gltf_report_refuse(
        struct scn_gltf_report *report, enum scn_gltf_fault fault, uint32_t node, const char *detail);
void scn_gltf_report_add(struct scn_gltf_report *report, enum scn_gltf_note_kind kind, uint32_t node, double amount,
        struct scn_slice detail);

/* "not_json"; "ok" for SCN_GLTF_OK. */
const char *scn_gltf_fault_word(enum scn_gltf_fault fault);
const char *scn_gltf_note_word(enum scn_gltf_note_kind kind);

/* One English line without a full stop: the fault with all that is known of it; a note. */
void scn_gltf_report_describe(const struct scn_gltf_report *report, char text_out[SCN_GLTF_MESSAGE_BYTES]);
void scn_gltf_note_describe(const struct scn_gltf_note *note, char text_out[SCN_GLTF_MESSAGE_BYTES]);

#endif
