/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_CALLER_H
#define SCN_TESTS_LIB_CALLER_H

/* A client of the real daemon over a socket, as plain as can be: blocking, message by message. */

#include "protocol/scene/digest.h"
#include "protocol/wire/frame.h"
#include "protocol/wire/message.h"

struct caller {
        int descriptor;
        uint64_t group; /* of the edits it sends from now on; 0: none */
        struct scn_frame_reader reader;
};

/* Says hello as client number `client`. Takes the descriptor. */
void caller_begin(struct caller *caller, int descriptor, uint32_t client, const char *author);
void caller_end(struct caller *caller);
/* As they are; false if the peer is gone. */
bool caller_send_bytes(int descriptor, const void *bytes, size_t size);
/* Reads what still comes until the peer closes, which it must, and closes. */
void caller_expect_end(int descriptor);
void caller_send(struct caller *caller, const struct scn_message *message);
/* The next message; false if the connection ended, or broke. Valid until the next call. */
bool caller_receive(struct caller *caller, struct scn_message *message_out);
/* The next of this kind; others are passed over. Asserts that it comes. */
struct scn_message caller_expect(struct caller *caller, enum scn_message_kind kind);
/* Opens, making the document if need be; returns the last number stored. */
uint64_t caller_open(struct caller *caller, const char *document);
/* Sends only the question. */
void caller_ask_open(struct caller *caller, const char *document);
void caller_edit(struct caller *caller, uint64_t number, const struct scn_op *ops, uint32_t count);
/* One part of an edit; has_more: others of this number follow. */
void caller_edit_part(struct caller *caller, uint64_t number, const struct scn_op *ops, uint32_t count, bool has_more);
/* Moves the root in so many gestures of so many edits, numbered from 1 on, and waits until all are applied. */
void caller_drag(struct caller *caller, uint32_t gestures, uint32_t edits);
/* Asks what needs no more than a number: ping, info, who ... */
void caller_ask(struct caller *caller, enum scn_message_kind kind, uint64_t request);
/* Asks where the root is. */
void caller_world(struct caller *caller, uint64_t request);
/* Begins view 1 of the whole document; its deltas come from now on. */
void caller_view(struct caller *caller, uint64_t request);
/* Nodes of the document, by its tree. */
uint64_t caller_count_nodes(struct caller *caller);
/* The server's digest of the document. */
struct scn_digest caller_digest(struct caller *caller);
/* Reads answers until this number was applied, which must be. Returns the revision. */
scn_revision caller_await(struct caller *caller, uint64_t number);

#endif
