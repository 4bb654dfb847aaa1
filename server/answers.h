/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_ANSWERS_H
#define SCN_SERVER_ANSWERS_H

/* Answers to questions, gathered before they are sent: about the live document on the loop, about the past on a
 * worker, by the same functions. The first error stays, and is then the answer. */

#include "protocol/base/shared_bytes.h"
#include "protocol/scene/document.h"
#include "protocol/wire/message.h"

struct scn_session;

struct scn_answers {
        uint64_t request;
        uint64_t rev; /* SCN_ABSENT: not about a revision */
        uint64_t durable;
        struct scn_shared_bytes **frames; /* owned */
        size_t count;
        size_t capacity;
        size_t bytes;
        enum scn_error error;
        const char *limit; /* that was reached, as the greeting names it; NULL: none */
        uint64_t allowed;  /* by it */
        const char *field; /* of the question, that could not be read, with the message's name; NULL: none */
};

/* None yet, about the session's live document. */
struct scn_answers scn_answers_about(const struct scn_session *session, uint64_t request);
void scn_answers_finish(struct scn_answers *answers);
void scn_answers_fail(struct scn_answers *answers, enum scn_error error);
/* Fails for a limit: SCN_E_TOO_LARGE. */
void scn_answers_exceed(struct scn_answers *answers, const char *limit, uint64_t allowed);
/* Fails for what one of the question's fields holds, if that is an error. */
void scn_answers_reject(struct scn_answers *answers, const char *field, enum scn_error error);
/* Adds an `answer` whose body was packed; the packer's error counts. */
void scn_answers_add(struct scn_answers *answers, struct scn_packer *packer, bool more);
void scn_answers_add_message(struct scn_answers *answers, const struct scn_message *message);
/* Sends all, or the failure, with `text` if that says more. */
void scn_answers_send(struct scn_answers *answers, struct scn_session *session, const char *text);

/* By the message's kind, one of the following. */
void scn_query(struct scn_document *document, const struct scn_message *message, struct scn_answers *answers);
void scn_query_world(
        const struct scn_document *document, const struct scn_message_world *message, struct scn_answers *answers);
void scn_query_tree(
        const struct scn_document *document, const struct scn_message_tree *message, struct scn_answers *answers);
void scn_query_digest(
        const struct scn_document *document, const struct scn_message_digest *message, struct scn_answers *answers);
/* The combined digest as the wire has it: 16 bytes, most significant first. */
void scn_pack_digest(struct scn_packer *packer, const struct scn_digests *digests);

#endif
