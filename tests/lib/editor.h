/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_EDITOR_H
#define SCN_TESTS_LIB_EDITOR_H

/* Clients of the real daemon through the library: each has a view of the whole document "shared", and edits at
 * random what it sees. */

#include "protocol/scene/edit.h"
#include "tests/lib/random.h"
#include "tests/lib/serve.h"

#include <scn/client.h>

struct editor {
        struct scn_client *client;
        struct scn_socket *socket;
        struct scn_view *view;
        struct scn_random random;
        uint32_t nodes_wanted; /* with more than that, it rather removes than adds */
        uint32_t submitted;
        uint32_t accepted;
        uint32_t refused;
        uint32_t strange;             /* refusals that no edit of these tests deserves */
        uint32_t kinds[SCN_OP_COUNT]; /* ops drafted */
        bool has_digest;
        uint8_t digest[16];
};

/* `address` as the library wants it. An odd seed is bob, an even one ann. */
void editor_begin(struct editor *editor, const char *address, uint32_t seed);
void editor_end(struct editor *editor);
/* Hands in the draft, and counts what becomes of it. */
void editor_submit(struct editor *editor, struct scn_draft *draft);
/* One to three random ops of all six kinds as one edit. */
void editor_edit(struct editor *editor);

/* All of these take some editors. */
void editors_turn(struct editor *editors, uint32_t count);
bool editors_are_ready(const struct editor *editors, uint32_t count);
/* Until everybody has everything, and the server's digest with it, which is then in the first one's `digest`. */
void editors_settle(struct editor *editors, uint32_t count);

#endif
