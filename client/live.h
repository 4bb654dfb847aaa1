/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_LIVE_H
#define SCN_CLIENT_LIVE_H

/* What is only now: the client's own presence and previews, to be sent, and what a view is told of everybody's. Held by
 * client.h, worked by live.c. */

#include "protocol/base/bytes.h"
#include "protocol/wire/live.h"

/* A presence, lock or preview of a view. */
struct scn_live_row {
        uint64_t session;
        struct scn_uid node; /* none: a presence */
        uint8_t *bytes;      /* owned: author, then map */
        uint32_t author_size;
        uint32_t map_size;
        uint32_t mask;
        bool has_subtree;
        uint64_t until_ms;
        uint32_t fields;
        struct scn_trs trs;
};

struct scn_live_table {
        struct scn_live_row **rows; /* owned; by session and node */
        size_t count;
        size_t capacity;
};

struct scn_live_tables {
        struct scn_live_table presences;
        struct scn_live_table locks;
        struct scn_live_table previews;
};

struct scn_own_preview {
        struct scn_uid node;
        uint32_t fields; /* 0: it has ended, which is still to be said */
        struct scn_trs trs;
        bool is_due;
        bool is_sent;  /* the server knows of it */
        uint64_t edit; /* that will end it if it is accepted; 0: none */
};

struct scn_live_own {
        struct scn_buffer presence; /* a map, or empty */
        struct scn_buffer sent;     /* what the server has of it on this connection */
        bool has_spoken;            /* something of all this was sent on this connection */
        struct scn_own_preview *previews;
        size_t previews_count;
        size_t previews_capacity;
};

#endif
