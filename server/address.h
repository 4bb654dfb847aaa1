/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_ADDRESS_H
#define SCN_SERVER_ADDRESS_H

/* Where to listen: 127.0.0.1:7420, [::1]:7420, localhost:7420 (that is 127.0.0.1) or unix:PATH. Names are not looked
 * up, so that what a setting means does not depend on the network. */

#include "server/server.h"

/* What a Unix socket's address holds (sockaddr_un), with the final zero. */
#define SCN_ADDRESS_PATH_BYTES 108
/* The longest text: "unix:" and a path. */
#define SCN_ADDRESS_TEXT_BYTES (5 + SCN_ADDRESS_PATH_BYTES)

enum scn_address_kind {
        SCN_ADDRESS_IP4,
        SCN_ADDRESS_IP6,
        SCN_ADDRESS_UNIX,
};

struct scn_address {
        enum scn_address_kind kind;
        uint8_t ip[16]; /* network order; the first four of IP4 */
        uint16_t port;  /* 0: any that is free */
        char path[SCN_ADDRESS_PATH_BYTES];
        char text[SCN_ADDRESS_TEXT_BYTES]; /* as it was given */
};

/* NULL if the text is an address, which is then in *address_out; else what is wrong with it. */
SCN_NODISCARD const char *scn_address_parse(const char *text, struct scn_address *address_out);

/* True if only this machine can reach it. */
bool scn_address_is_local(const struct scn_address *address);

#endif
