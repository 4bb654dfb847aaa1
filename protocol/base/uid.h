/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_BASE_UID_H
#define SCN_BASE_UID_H

/* UUID text form (RFC 4122 §3) and comparison. */

#include <scn/types.h>

#include <string.h>

static inline bool scn_uid_equal(struct scn_uid a, struct scn_uid b)
{
        return memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0;
}

static inline bool scn_uid_is_none(struct scn_uid uid)
{
        return scn_uid_equal(uid, (struct scn_uid){{0}});
}

/* Writes 36 lower-case characters and a zero. */
void scn_uid_format(struct scn_uid uid, char text_out[SCN_UID_TEXT_LENGTH + 1]);

/* Reads exactly `size` characters, upper or lower case; false if they are not a UUID. */
bool scn_uid_parse(const char *text, size_t size, struct scn_uid *uid_out);

/* Sets the version 4 and variant bits (RFC 4122 §4.4) in 16 random bytes. */
struct scn_uid scn_uid_from_random(const uint8_t random[16]);

#endif
