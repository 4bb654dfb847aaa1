/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_NET_DESCRIPTORS_H
#define SCN_SERVER_NET_DESCRIPTORS_H

/* How many descriptors connections may take, and what to do when there are none.
 *
 * A part of the process's limit is never given to connections: storage needs it, and it must be able to open a
 * document while peers hold all they can. Should descriptors run out all the same (they are the whole system's too),
 * one that is held in reserve is closed for a moment: a connection that cannot be kept is taken and closed, instead
 * of waking the loop for ever. */

#include "server/server.h"

#define SCN_CONNECTIONS_MAX 4096u
/* Of the process's limit, a quarter is kept from connections, but at least this many. */
#define SCN_DESCRIPTORS_KEPT_MIN 32u

struct scn_descriptors {
        size_t connections_max;
        int reserve; /* -1: somebody else was quicker to take it; see scn_descriptors_refill() */
};

/* Raises the process's limit as far as it is of use and may be. False: problem_out says why. */
SCN_NODISCARD bool scn_descriptors_init(struct scn_descriptors *descriptors, char problem_out[SCN_PROBLEM_BYTES]);
void scn_descriptors_finish(struct scn_descriptors *descriptors);

/* How many connections a limit of so many descriptors leaves room for. */
size_t scn_descriptors_connections_max(size_t limit);

/* None is left: takes one connection from the listening socket and closes it. False: the reserve is gone, or nobody
 * waits; then there is no use in going on. */
bool scn_descriptors_shed(struct scn_descriptors *descriptors, int listening);
/* Takes the reserve again. False: there is still no descriptor for it. */
bool scn_descriptors_refill(struct scn_descriptors *descriptors);

#endif
