/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_BENCH_HISTORY_RATES_H
#define SCN_TESTS_BENCH_HISTORY_RATES_H

/* Durable edits a second, 1, 10, 100 and 1,000 in flight: the journal at its seam and the whole daemon beside raw
 * SQLite (DESIGN §10). Makes and leaves its files in the directory. */
void history_rates(const char *directory);

#endif
