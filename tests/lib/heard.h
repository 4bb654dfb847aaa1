/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_HEARD_H
#define SCN_TESTS_LIB_HEARD_H

/* What PROTOCOL.md (section 10) says that clients may hear: the tables there are held against every refusal and
 * failure that a test's server sends. */

#include "protocol/base/bytes.h"

/* Whether the code may come so: 'E' in `refused`, 'R' in `failed`, 'C' in one that closes, 'P' in one without request.
 */
bool heard_may_come(struct scn_slice code, char where);
/* Whether a request of this name may hear it. */
bool heard_by(const char *request, struct scn_slice code);

#endif
