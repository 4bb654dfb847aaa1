/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "server/net/descriptors.h"

#include "server/problem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* Enough for SCN_CONNECTIONS_MAX connections and as much again for documents. */
#define LIMIT_WANTED 8192u

size_t scn_descriptors_connections_max(size_t limit)
{
        size_t kept = limit / 4;

        if (kept < SCN_DESCRIPTORS_KEPT_MIN)
                kept = SCN_DESCRIPTORS_KEPT_MIN;
        if (limit <= kept)
                return 0;
        return limit - kept < SCN_CONNECTIONS_MAX ? limit - kept : SCN_CONNECTIONS_MAX;
}

/* The limit after it was raised; 0 if it cannot be read. */
static size_t raise_limit(void)
{
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
                return 0;
        if (limit.rlim_cur < LIMIT_WANTED && limit.rlim_cur < limit.rlim_max) {
                struct rlimit raised = limit;
                raised.rlim_cur = limit.rlim_max < LIMIT_WANTED ? limit.rlim_max : LIMIT_WANTED;
                if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
                        limit = raised;
        }
        return limit.rlim_cur < LIMIT_WANTED ? (size_t)limit.rlim_cur : LIMIT_WANTED;
}

bool scn_descriptors_refill(struct scn_descriptors *descriptors)
{
        if (descriptors->reserve < 0)
                descriptors->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return descriptors->reserve >= 0;
}

bool scn_descriptors_init(struct scn_descriptors *descriptors, char problem_out[SCN_PROBLEM_BYTES])
{
        size_t limit = raise_limit();

        *descriptors = (struct scn_descriptors){
                .connections_max = scn_descriptors_connections_max(limit),
                .reserve = -1,
        };
        if (descriptors->connections_max == 0) {
                scn_problem_set(problem_out,
                        "RLIMIT_NOFILE (ulimit -n) %zu: leaves no descriptor for connections, %u "
                        "are kept for documents",
                        limit, SCN_DESCRIPTORS_KEPT_MIN);
                return false;
        }
        if (!scn_descriptors_refill(descriptors)) {
                scn_problem_set(problem_out, "/dev/null: %s", strerror(errno));
                return false;
        }
        return true;
}

void scn_descriptors_finish(struct scn_descriptors *descriptors)
{
        if (descriptors->reserve >= 0)
                (void)close(descriptors->reserve);
        descriptors->reserve = -1;
}

bool scn_descriptors_shed(struct scn_descriptors *descriptors, int listening)
{
        if (descriptors->reserve < 0)
                return false;
        (void)close(descriptors->reserve);
        descriptors->reserve = -1;
        int taken = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
        if (taken >= 0)
                (void)close(taken);
        /* Between closing and opening, a worker thread may have taken the descriptor. */
        return scn_descriptors_refill(descriptors) && taken >= 0;
}
