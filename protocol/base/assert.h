/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_BASE_ASSERT_H
#define SCN_BASE_ASSERT_H

/* Assertions for our own mistakes only, always on, also in release builds. Nothing that a peer, a file or a
 * configuration can influence may be asserted: that is an error value. */

/* Prints file, line and expression to standard error, then aborts. */
_Noreturn void scn_assert_failed(const char *file, int line, const char *expression);

#define SCN_ASSERT(expression) ((expression) ? (void)0 : scn_assert_failed(__FILE__, __LINE__, #expression))

#define SCN_STATIC_ASSERT(expression, text) _Static_assert(expression, text)

#endif
