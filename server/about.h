/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_ABOUT_H
#define SCN_SERVER_ABOUT_H

/* What a failure is about, in words for people: "node /Boat: no such node has ever existed here". The thing that the
 * request named and the error belongs to stands before the text, the limit that was met behind it. Every answer that
 * says no passes here; codes, which programs compare, are not touched. */

#include "protocol/scene/document.h"
#include "protocol/wire/frame.h"
#include "protocol/wire/message.h"

#define SCN_SAID_BYTES_MAX 1024u /* of a reason, for people */

struct scn_said {
        char text[SCN_SAID_BYTES_MAX];
        size_t size;
};

/* Why a request failed. `text` NULL: the error list's. Returns a text that lives as long as `said` and `text`. */
const char *scn_about_request(struct scn_said *said, const struct scn_message *message, enum scn_error error,
        const char *text, const struct scn_limits *limits);
/* The same of an edit. `refusal` NULL: nothing more is known. */
const char *scn_about_edit(struct scn_said *said, const struct scn_edit *edit, enum scn_error error,
        const struct scn_refusal *refusal, const struct scn_limits *limits);
/* That a node is another author's for the time being. */
const char *scn_about_lock(struct scn_said *said, struct scn_uid node, struct scn_slice holder, uint64_t session);
/* Whether such an error is about what the request said: a storage's text then tells what there is instead, and is for
 * who asked. What it says of any other error is about the disk, and is for the log. */
bool scn_about_is_of_request(enum scn_error error);
/* Whether it is about a document, or its file. */
bool scn_about_is_of_document(enum scn_error error);
/* The same of one node among several, called `what`. */
const char *scn_about_node(struct scn_said *said, const char *what, const struct scn_node_ref *ref,
        enum scn_error error, const struct scn_limits *limits);
/* Why nothing more can be read of a stream, and so the connection ends. */
const char *scn_about_stream(struct scn_said *said, const struct scn_frame_reader *reader, enum scn_error error);

#endif
