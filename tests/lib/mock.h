/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_MOCK_H
#define SCN_TESTS_LIB_MOCK_H

/* A server in memory for tests of the client, which does one step at a time and only what the test says: it reads a
 * message, answers it or not, publishes or not, breaks the connection. Its document is a real one. Everything asserts
 * that it works. */

#include "protocol/base/bytes.h"
#include "protocol/scene/delta.h"
#include "protocol/scene/document.h"
#include "protocol/wire/frame.h"
#include "protocol/wire/message.h"
#include "protocol/wire/ops.h"

#include <scn/client.h>

struct mock {
        struct scn_client *client;
        struct scn_document *document;
        uint64_t now_ms;
        uint64_t number; /* last stored of the client */
        uint8_t epoch[8];
        uint64_t session;
        struct scn_frame_reader reader;
        struct scn_buffer inbox; /* the message read last, which `message` borrows from */
        struct scn_message message;
        struct scn_buffer outbox;
        struct scn_buffer *record; /* NULL, or where all that is delivered is kept */
};

/* A client of the document "test", and a mock whose document has a root (uid 1). Nothing is connected. */
void mock_init(struct mock *mock, const struct scn_client_options *options);
/* Ends both. */
void mock_finish(struct mock *mock);
struct scn_client_options mock_options(void);

/* Connects and greets: the client is open afterwards. */
void mock_open(struct mock *mock);
/* Connects; hello and open are there to be read. */
void mock_connect(struct mock *mock);
void mock_disconnect(struct mock *mock);

/* Reads the client's next message, whatever it is; false: there is none. */
bool mock_read(struct mock *mock);
/* The client's next message, of this kind; it stays in mock->message until the next. */
struct scn_message *mock_expect(struct mock *mock, enum scn_message_kind kind);
/* The client has nothing to say. */
void mock_expect_nothing(struct mock *mock);

void mock_send(struct mock *mock, const struct scn_message *message);
/* What was sent arrives, and is dispatched. */
enum scn_error mock_deliver(struct mock *mock);

void mock_send_welcome(struct mock *mock);
void mock_send_opened(struct mock *mock);

/* The edit read last: applies it, and answers. The answer's kind is returned. */
enum scn_message_kind mock_answer_edit(struct mock *mock);
/* Applies it, and does not say so. */
void mock_swallow_edit(struct mock *mock);
void mock_refuse_edit(struct mock *mock, const char *code);
/* Somebody else's edit. */
scn_revision mock_do(struct mock *mock, struct scn_op op);

/* A view as the mock knows it. */
struct mock_view {
        uint64_t number;
        struct scn_uid root;
        uint32_t mask;
        scn_revision cursor; /* up to here there is nothing to tell */
        scn_revision told;   /* the client has this revision */
};
/* Reads a request for a view and answers it with the whole, or, if `resumes`, with what is new. */
struct mock_view mock_answer_view(struct mock *mock, bool resumes);
/* The same for a request that was read already. */
struct mock_view mock_accept_view(struct mock *mock, bool resumes);
/* Sends what the view lacks. */
void mock_publish(struct mock *mock, struct mock_view *view);

/* What the client shows is what the document has. */
void mock_expect_same(const struct mock *mock, const struct scn_view *view);

#endif
