/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_GOLDEN_H
#define SCN_TESTS_LIB_GOLDEN_H

/* The worked bytes of PROTOCOL.md, kept in tests/golden/wire.hex: what was once written must be read for ever.
 *
 *   # a comment
 *   name: 92 14 0f
 *    and so on in lines that begin with a space
 *
 * The part of a name before the first slash is the message's, if it is one. */

#include <scn/types.h>

/* Asserts that there is such an example. */
struct scn_slice golden_get(const char *name);
uint32_t golden_count(void);
const char *golden_name(uint32_t index);
/* Asserts that the bytes are the example's, and else prints what they are, in the file's own form. */
void golden_expect(const char *name, struct scn_slice bytes);

#endif
