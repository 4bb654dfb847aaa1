/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_AT_H
#define SCN_SERVER_AT_H

/* Which revision is meant where the wire has "at": an integer is a revision; a text is a time if it has a time's form
 * (2026-01-31T...), else a tag. */

#include "protocol/wire/message.h"
#include "storage/storage.h"

/* On a worker. SCN_E_BAD_MESSAGE: neither integer nor text; SCN_E_BAD_UTF8, SCN_E_BAD_TIME, SCN_E_NO_TAG, those of
 * storage.h. Whether the revision has been reached is not looked at. */
SCN_NODISCARD enum scn_error scn_at_find(
        struct scn_journal *journal, struct scn_slice at, scn_revision *revision_out, struct scn_storage_fault *fault);
/* The same, and SCN_E_FUTURE, with the fault's text, if it is beyond the last one. */
SCN_NODISCARD enum scn_error scn_at_find_until(struct scn_journal *journal, struct scn_slice at, scn_revision last,
        scn_revision *revision_out, struct scn_storage_fault *fault);
/* The revision, if it is said as such; else SCN_ABSENT. */
scn_revision scn_at_revision(struct scn_slice at);
/* Whether a text is meant as a time: 2026-01-31T and something. */
bool scn_at_is_time(struct scn_slice text);
/* Whether a text can be found as a tag: it is not empty, not too long, and reads neither as a revision nor as a
 * time. */
bool scn_at_may_be_tag(struct scn_slice name);

#endif
