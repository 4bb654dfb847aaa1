/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_SIM_SMALL_H
#define SCN_TESTS_SIM_SMALL_H

/* Sizes for the simulator's build of server and client, so that small scenes come in parts, turns fill up and inboxes
 * run over. */

#define SCN_COLUMNS_PART_BYTES 1200u
#define SCN_DRAFT_PART_BYTES 220u
#define SCN_TURN_EDITS_MAX 7u
#define SCN_INBOX_BYTES_MAX 3000u
#define SCN_INPUT_BYTES_MAX 9000u
#define SCN_OUTPUT_BYTES_MAX 9000u
#define SCN_PACE_BYTES 200u
#define SCN_LONG_NODES 6u
#define SCN_LONG_BYTES 260u
#define SCN_LONG_RECORD_BYTES 900u
#define SCN_PACE_MS 60u
#define SCN_PACE_LOOK_MS 10u
#define DUE_BYTES_MIN 12000u
#define SCN_LIVE_GONE_MAX 8u
#define SCN_LIVE_PART_BYTES 160u

#endif
