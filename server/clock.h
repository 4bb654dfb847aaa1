/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_CLOCK_H
#define SCN_SERVER_CLOCK_H

/* The machine's clocks, in the shape in which the core and the log want them. `data` is not used. */

#include <stdint.h>

/* Microseconds since 1970, UTC. May jump. */
uint64_t scn_clock_utc_us(void *data);
/* Milliseconds since some moment; never jumps. */
uint64_t scn_clock_monotonic_ms(void *data);

#endif
