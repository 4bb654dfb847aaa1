/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_TORN_H
#define SCN_SERVER_TORN_H

/* The edits, or the files, of a session of which a part was refused, dropped or could not be read.
 *
 * Whole or not at all: what comes of such an edit is refused up to its last part, whatever came in between. Those whose
 * number has been used up cannot be done anyway, so they are forgotten when there is no place for another. A file of
 * which parts lack cannot become a document, however much is forgotten. */

#include "protocol/include/scn/types.h"

#include <stdbool.h>
#include <stdint.h>

#define SCN_TORN_EDITS_MAX 8u /* whose number is not used up: a client that tears more is not understood */

struct scn_torn {
        uint64_t numbers[SCN_TORN_EDITS_MAX];
        uint32_t count;
        bool has_unnamed; /* of one the number is not known: the next one is taken for it */
};

/* False: there are too many. Those up to `last_number` are used up. */
SCN_NODISCARD bool scn_torn_add(struct scn_torn *torn, uint64_t number, uint64_t last_number);

/* The oldest is forgotten when there are too many. */
void scn_torn_push(struct scn_torn *torn, uint64_t number);

/* Whether the edit of which a part comes now is one of them; it is one of them until its last part. */
SCN_NODISCARD bool scn_torn_take(struct scn_torn *torn, uint64_t number);

/* Its last part has come. */
void scn_torn_remove(struct scn_torn *torn, uint64_t number);

#endif
