/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SOCKET_H
#define SCN_CLIENT_SOCKET_H

/* The client's only way to the system: socket.c. The rest of the library gets bytes and time as arguments. */

#include <scn/client.h>

void scn_system_random(void *data, uint8_t *bytes, size_t size);

#endif
