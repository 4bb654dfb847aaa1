/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_WIRE_MESSAGE_H
#define SCN_WIRE_MESSAGE_H

/* Messages as structs, made of the table in schema.h. A decoded message borrows: its slices point into the payload
 * and die with it. */

#include "protocol/scene/edit.h"
#include "protocol/wire/pack.h"
#include "protocol/wire/schema.h"

#define SCN_PROTOCOL_VERSION 1

/* An integer that is not there. */
#define SCN_ABSENT UINT64_MAX

enum scn_message_kind {
#define SCN_MESSAGE_ENUM(number, name, receiver, since, bytes_max, what) SCN_MESSAGE_##name = (number),
        SCN_MESSAGE_LIST(SCN_MESSAGE_ENUM)
#undef SCN_MESSAGE_ENUM
};

enum scn_message_receiver {
        SCN_RECEIVER_SERVER,
        SCN_RECEIVER_CLIENT,
};

#define SCN_FIELD_TYPE_UINT uint64_t
#define SCN_FIELD_TYPE_BOOL bool
#define SCN_FIELD_TYPE_UID struct scn_uid
#define SCN_FIELD_TYPE_TEXT struct scn_slice
#define SCN_FIELD_TYPE_BIN struct scn_slice
#define SCN_FIELD_TYPE_REF struct scn_node_ref
#define SCN_FIELD_TYPE_AT struct scn_slice
#define SCN_FIELD_TYPE_RAW struct scn_slice
#define SCN_MESSAGE_MEMBER(message, kind, name, presence, what) SCN_FIELD_TYPE_##kind name;
#define SCN_MESSAGE_STRUCT(number, message, receiver, since, bytes_max, what)                                          \
        struct scn_message_##message {                                                                                 \
                SCN_FIELDS_OF_##message(SCN_MESSAGE_MEMBER, message)                                                   \
        };
SCN_MESSAGE_LIST(SCN_MESSAGE_STRUCT)
#undef SCN_MESSAGE_STRUCT
#undef SCN_MESSAGE_MEMBER
#undef SCN_FIELD_TYPE_UINT
#undef SCN_FIELD_TYPE_BOOL
#undef SCN_FIELD_TYPE_UID
#undef SCN_FIELD_TYPE_TEXT
#undef SCN_FIELD_TYPE_BIN
#undef SCN_FIELD_TYPE_REF
#undef SCN_FIELD_TYPE_AT
#undef SCN_FIELD_TYPE_RAW

struct scn_message {
        enum scn_message_kind kind;
        union {
#define SCN_MESSAGE_UNION(number, name, receiver, since, bytes_max, what) struct scn_message_##name name;
                SCN_MESSAGE_LIST(SCN_MESSAGE_UNION)
#undef SCN_MESSAGE_UNION
        } as;
};

/* All fields absent. */
void scn_message_init(struct scn_message *message, enum scn_message_kind kind);

/* The word of the table, for logs; "?" for a number that is not in it. */
const char *scn_message_name(uint64_t number);

/* The number of a message that has not been read; SCN_ABSENT if it does not begin like one. */
uint64_t scn_message_number(struct scn_slice payload);

/* What was wrong, for the answer. */
struct scn_message_fault {
        uint64_t number;    /* of the message, SCN_ABSENT if not even that could be read */
        uint64_t request;   /* its request or number field if it could be read, else SCN_ABSENT */
        const char *field;  /* name of the field, or NULL */
        uint32_t bytes_max; /* of the whole message, if that was too large; else 0 */
        const char *reason; /* for people; NULL: no other than the error's text */
};

/* Reads one message for `receiver`. SCN_E_BAD_MESSAGE (malformed, a field of another kind),
 * SCN_E_UNKNOWN_MESSAGE, SCN_E_MISSING_FIELD, SCN_E_TOO_LARGE (more bytes than the message may have), and the
 * errors of pack.h for single fields. */
SCN_NODISCARD enum scn_error scn_message_decode(struct scn_slice payload, enum scn_message_receiver receiver,
        struct scn_message *message_out, struct scn_message_fault *fault_out);

/* Appends the payload; asserts that mandatory fields are there. SCN_E_TOO_LARGE, SCN_E_NO_MEMORY. */
SCN_NODISCARD enum scn_error scn_message_encode(const struct scn_message *message, struct scn_buffer *buffer);

/* A node reference on its own, as in arrays of them. */
void scn_pack_ref(struct scn_packer *packer, const struct scn_node_ref *ref);
struct scn_node_ref scn_unpack_ref(struct scn_unpacker *unpacker);

#endif
