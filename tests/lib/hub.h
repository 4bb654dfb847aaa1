/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_HUB_H
#define SCN_TESTS_LIB_HUB_H

/* A server core without a network: jobs run when asked to, time stands still until told to go on, and peers are
 * sessions whose bytes a test writes and reads. The storage is the real one, in a directory of its own. */

#include "protocol/wire/frame.h"
#include "protocol/wire/message.h"
#include "server/server.h"

#define HUB_JOBS_MAX 64

struct hub {
        struct scn_server *server;
        char path[64]; /* of the data directory; removed at the end */
        uint64_t utc_us;
        uint64_t monotonic_ms;
        uint64_t ms_a_look; /* so much goes by whenever somebody looks at the clock; 0: it stands still */
        uint64_t random;
        struct scn_limits limits; /* from the next start on */
        struct scn_job *jobs[HUB_JOBS_MAX];
        size_t jobs_count;
        size_t errors_logged;
        size_t warnings_logged;
        char warning[256];         /* the last one, or as much of it */
        size_t output_bytes_max;   /* the same */
        size_t input_bytes_max;    /* from the next start on; 0: the usual */
        uint64_t memory_bytes_max; /* the same */
        uint64_t fold_age_s;       /* the same; 0: never */
        uint64_t keep_age_s;       /* the same; 0: never */
        uint64_t reserve_bytes;    /* the same; 0: none */
};

/* Starts on a fresh directory, or again on the one that is there. */
void hub_start(struct hub *hub);
void hub_restart(struct hub *hub);
/* The same where the disk may refuse; false: it has. */
bool hub_try_restart(struct hub *hub);
/* Ends the server in an orderly way and removes the directory. */
void hub_finish(struct hub *hub);
/* A turn and one job; false: there was none. */
bool hub_step(struct hub *hub);
/* Runs jobs and turns until nothing is left to do. */
void hub_run(struct hub *hub);
/* Like a kill: nothing is flushed, sessions are gone. What was submitted and has not run never runs. */
void hub_stop(struct hub *hub);

#define PEER_ASKED_MAX 64

/* A peer: a session, and what it has received and not yet been asked about. Whatever fails is held against the lists in
 * PROTOCOL.md. */
struct peer {
        struct hub *hub;
        struct scn_session *session;
        struct scn_frame_reader reader;
        struct scn_buffer outgoing;
        uint64_t number; /* of the last edit */
        uint64_t last_stored;
        bool does_not_read;
        struct scn_slice payload; /* of the message last received */
        struct peer_asked {
                uint64_t request; /* or number */
                enum scn_message_kind kind;
        } asked[PEER_ASKED_MAX]; /* the latest */
        size_t asked_count;
};

/* Connects, says hello as `client` (a number) by `author`, and opens the document, which is made if need be. */
void peer_open(struct peer *peer, struct hub *hub, uint32_t client, const char *author, const char *document);
/* Only says hello, whatever comes of it. author NULL: a guest. */
void peer_greet(struct peer *peer, struct hub *hub, uint32_t client, const char *author);
/* Asks for a document as request 1, whatever comes of it. */
void peer_ask_open(struct peer *peer, const char *document, bool create);
/* Only connects: no preface, no hello. */
void peer_connect(struct peer *peer, struct hub *hub);
void peer_close(struct peer *peer);
void peer_send_bytes(struct peer *peer, const void *bytes, size_t size);
void peer_send(struct peer *peer, const struct scn_message *message);
/* Sends an edit of these ops under the next number. */
void peer_edit(struct peer *peer, const struct scn_op *ops, uint32_t count);
void peer_edit_as(struct peer *peer, uint64_t number, const struct scn_op *ops, uint32_t count);
/* The same as a part of a gesture; group SCN_ABSENT: of none. */
void peer_edit_in(struct peer *peer, uint64_t group, const struct scn_op *ops, uint32_t count);
/* Sends an undo or redo under the next number. What is 0 is not said. */
struct peer_wish {
        uint64_t count;
        uint64_t step;
        bool is_forced;
        bool is_dry;
};
void peer_undo(struct peer *peer, struct peer_wish wish);
void peer_redo(struct peer *peer, uint64_t count);
/* One part of an edit; has_more: others of this number follow. */
void peer_edit_part(struct peer *peer, uint64_t number, const struct scn_op *ops, uint32_t count, bool has_more);
/* Takes what the server has to send right now, without running jobs. */
void peer_drain(struct peer *peer);
/* The next message of this kind, others before it being passed over; asserts that there is one. Valid until the next
 * call. */
struct scn_message peer_expect(struct peer *peer, enum scn_message_kind kind);
/* The next message, whatever it is; false if there is none. */
bool peer_receive(struct peer *peer, struct scn_message *message_out);
/* Expects a refusal or failure with this code. */
void peer_expect_code(struct peer *peer, enum scn_message_kind kind, const char *code);
/* The same with this text, the whole of it. */
void peer_expect_text(struct peer *peer, enum scn_message_kind kind, const char *text);
bool peer_has_ended(const struct peer *peer);

#endif
