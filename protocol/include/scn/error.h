/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_ERROR_H
#define SCN_ERROR_H

/* Every way a call can fail, for server and client alike.
 *
 * 0 is success, errors are negative (libuv's convention). The list exists once, here; names, numbers and
 * texts expand from it. A number never changes its meaning; a new error gets a new number.
 * Where the words come from: DESIGN §3 (edits), §4 (order), §7 (world queries). */

#include <scn/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */
/*      name              number  wire code           text */
#define SCN_ERROR_LIST(X)                                                                                        \
        X(NO_MEMORY,        -1, "no_memory",        "out of memory")                                           \
        X(BAD_OP,           -2, "bad_op",           "the op is malformed")                                     \
        X(NO_NODE,          -3, "no_node",          "no such node has ever existed here")                      \
        X(GONE,             -4, "gone",             "the node has been removed")                               \
        X(EXISTS,           -5, "exists",           "a living node already has this uid")                      \
        X(ROOT,             -6, "root",             "the root can be neither moved nor removed")               \
        X(CYCLE,            -7, "cycle",            "a node cannot be moved under itself or a descendant")     \
        X(DEPTH,            -8, "depth",            "the tree would be deeper than the limit")                 \
        X(TOO_MANY_NODES,   -9, "too_many_nodes",   "the document would hold more nodes than the limit")       \
        X(NAME_TOO_LONG,   -10, "name_too_long",    "the name is longer than the limit")                       \
        X(KEY_TOO_LONG,    -11, "key_too_long",     "the property key is empty or longer than the limit")      \
        X(VALUE_TOO_LARGE, -12, "value_too_large",  "the property value is larger than the limit")             \
        X(VALUE_TOO_DEEP,  -13, "value_too_deep",   "the property value is nested deeper than the limit")      \
        X(TOO_MANY_PROPS,  -14, "too_many_props",   "the node would have more properties than the limit")      \
        X(BAD_UTF8,        -15, "bad_utf8",         "the text is not valid UTF-8")                             \
        X(BAD_VALUE,       -16, "bad_value",        "the property value is not one of the permitted kinds")    \
        X(DUPLICATE_KEY,   -17, "duplicate_key",    "a map holds the same key twice")                          \
        X(NOT_FINITE,      -18, "not_finite",       "a number is NaN or infinite")                             \
        X(RANGE,           -19, "range",            "a number is outside the range of its field")              \
        X(ZERO_QUATERNION, -20, "zero_quaternion",  "a rotation has no length")                                \
        X(STALE_PARENT,    -21, "stale_parent",     "the node has another parent than the numbers are meant in") \
        X(CONFLICT,        -22, "conflict",         "the field was changed by another client after the base")  \
        X(SINGULAR,        -23, "singular",         "a parent's world transform cannot be inverted")           \
        X(SHEAR,           -24, "shear",            "the result would shear, which a TRS cannot hold")         \
        X(OVERFLOW,        -25, "overflow",         "the world transform overflows 32-bit floats")             \
        X(TOO_LARGE,       -26, "too_large",        "it is larger than its limit")                             \
        X(TOO_MANY_OPS,    -27, "too_many_ops",     "the edit has more ops than the limit")                    \
        X(TOO_MANY_IDS,    -28, "too_many_ids",     "the document has given out all its node ids")             \
        X(TOO_MANY_CLIENTS, -29, "too_many_clients", "the document remembers as many clients as it can")        \
        X(TOO_MANY_REVISIONS, -30, "too_many_revisions", "the document has given out all its revisions")       \
        X(BAD_PATH,        -31, "bad_path",         "the path is malformed")                                   \
        X(BEFORE_HORIZON,  -32, "before_horizon",   "the revision lies before what the document remembers")    \
        X(FUTURE,          -33, "future",           "the revision has not been reached")                       \
        X(BAD_DELTA,       -34, "bad_delta",        "the delta does not fit the document it is applied to")    \
        X(BAD_SNAPSHOT,    -35, "bad_snapshot",     "the snapshot is not one of a whole document")             \
        X(OBSERVER,        -36, "observer",         "an observer ended the notification")                      \
        X(NOT_INTEGER,     -37, "not_integer",      "the number must be a whole number")                       \
        X(BAD_MESSAGE,     -38, "bad_message",      "the message is malformed")                              \
        X(UNKNOWN_MESSAGE, -39, "unknown_message",  "there is no such message, or not for this side")          \
        X(MISSING_FIELD,   -40, "missing_field",    "a field that must be there is absent")                  \
        X(STORAGE_FULL, -41, "storage_full", "the disk is full, or down to what the server keeps free") \
        X(STORAGE_FAILED, -42, "storage_failed", "the storage could not be read or written") \
        X(STORAGE_BUSY, -43, "storage_busy", "somebody else keeps the document's file locked") \
        X(OUTCOME_UNKNOWN, -44, "outcome_unknown", "the storage did not say whether the edit was stored") \
        X(IN_USE, -45, "in_use", "another process has the data directory") \
        X(NEWER_FORMAT, -46, "newer_format", "the file was written by a newer version") \
        X(OLDER_FORMAT, -47, "older_format", "the file is of an older version and was not opened for writing") \
        X(CORRUPT, -48, "corrupt", "the file is damaged") \
        X(NOT_A_DOCUMENT, -49, "not_a_document", "the file is not a scene document") \
        X(NO_DOCUMENT, -50, "no_document", "no document has this name") \
        X(DOCUMENT_EXISTS, -51, "document_exists", "a document has this name already") \
        X(BAD_NAME, -52, "bad_name", "the document name is empty, longer than 200 bytes, or not UTF-8") \
        X(BAD_BATCH, -53, "bad_batch", "the transactions do not continue the journal") \
        X(NO_CHECKPOINT, -54, "no_checkpoint", "the checkpoint is not there any more") \
        X(NOT_OPEN, -55, "not_open", "no document is open on this connection") \
        X(OUT_OF_TURN, -56, "out_of_turn", "the message does not belong at this point of the conversation") \
        X(GAP, -57, "gap", "the number does not follow the one before") \
        X(NUMBER_REUSED, -58, "number_reused", "the number was used for another edit") \
        X(NOT_APPLIED, -59, "not_applied", "the edit of this number was refused or changed nothing") \
        X(BUSY, -60, "busy", "the server cannot take more at the moment") \
        X(STOPPING, -61, "stopping", "the server is stopping") \
        X(TAKEN_OVER, -62, "taken_over", "another connection of the same client has taken over") \
        X(KICKED, -63, "kicked", "the session was ended by somebody with the right to") \
        X(UNSUPPORTED, -64, "unsupported", "this server cannot do that yet") \
        X(TOO_MANY_VIEWS, -65, "too_many_views", "the connection has as many views as it may have") \
        X(NO_SESSION, -66, "no_session", "there is no such session") \
        X(VERSION, -67, "version", "the protocol version is not spoken here") \
        X(SILENT, -68, "silent", "nothing was heard for too long") \
        X(BAD_AUTHOR, -69, "bad_author", "the client uid belongs to another author") \
        X(NOTHING_TO_UNDO, -70, "nothing_to_undo", "there is nothing of one's own to undo or redo") \
        X(PATH_TOO_LONG, -72, "path_too_long", "the paths look through more siblings than the limit") \
        X(SUPERSEDED, -73, "superseded", "others have written it since") \
        X(LOCKED, -74, "locked", "somebody else has locked it") \
        X(TOO_MANY_LOCKS, -75, "too_many_locks", "the session or the document would have more locks than the limit") \
        X(TOO_MANY_PREVIEWS, -76, "too_many_previews", "the session would preview more nodes than the limit") \
        X(TOO_MANY_KEYS, -77, "too_many_keys", "the presence would have more keys than the limit") \
        X(NO_TAG, -90, "no_tag", "no tag has this name") \
        X(BAD_TAG, -91, "bad_tag", "the tag's name is empty, longer than 256 bytes, or reads as a revision or a time") \
        X(TOO_MANY_TAGS, -92, "too_many_tags", "the document has as many tags as it may have") \
        X(FOLDED, -95, "folded", "that was folded into a later revision of its gesture and is not kept by itself") \
        X(BEFORE_RETENTION, -96, "before_retention", "that lies before what is kept of the document's history") \
        X(REPLACED, -97, "replaced", "the document was replaced by a file") \
        X(BAD_TIME, -71, "bad_time", "the time is not one of the form 2026-01-31T12:00:00Z")
/* clang-format on */

enum scn_error {
        SCN_OK = 0,
#define SCN_ERROR_ENUM(name, number, code, text) SCN_E_##name = (number),
        SCN_ERROR_LIST(SCN_ERROR_ENUM)
#undef SCN_ERROR_ENUM
};

/* The stable lower-case word that travels on the wire and that programs compare ("cycle"). Never NULL. */
SCN_API const char *scn_error_code(enum scn_error error);

/* One English line for a person, without a full stop. Never NULL. */
SCN_API const char *scn_error_text(enum scn_error error);

#ifdef __cplusplus
}
#endif

#endif
