/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_ENCODING_H
#define SCN_SERVER_ENCODING_H

/* What views lack, spelled once for all who lack the same: the parts of a delta from a cursor to the present
 * revision, or of a whole snapshot (DESIGN §5). */

#include "protocol/base/shared_bytes.h"
#include "protocol/scene/delta.h"
#include "protocol/scene/document.h"

struct scn_encoding {
        scn_revision from; /* 0 if whole */
        scn_revision to;
        bool is_whole;
        bool is_empty;                   /* nothing to tell; no parts */
        struct scn_shared_bytes **parts; /* owned references: maps of columns */
        size_t count, capacity;
        size_t bytes; /* of all parts */
        /* A small one as a whole message, as the last view got it: mostly the next one gets the same. */
        struct scn_shared_bytes *framed;
        uint64_t framed_view;
        uint64_t framed_back;
};

/* Of the subtree `root`, as the document is now. SCN_E_NO_MEMORY; SCN_E_BEFORE_HORIZON. */
SCN_NODISCARD enum scn_error scn_encoding_make(
        struct scn_document *document, const struct scn_delta_request *request, struct scn_encoding *encoding_out);
/* Init with {0}. */
void scn_encoding_finish(struct scn_encoding *encoding);

/* Encodings of one moment, kept while several views are served: those who are equally far behind share. */
#define SCN_ENCODINGS_MAX 8u

struct scn_encodings {
        struct scn_encoding items[SCN_ENCODINGS_MAX];
        size_t count;
        size_t next; /* to be replaced when all are taken */
};

/* One to this revision that is there; NULL: none is. Borrowed until the next one is made. */
struct scn_encoding *scn_encodings_find(
        struct scn_encodings *encodings, const struct scn_delta_request *request, scn_revision to);
/* Makes one. NULL: *error_out says why. */
struct scn_encoding *scn_encodings_make(struct scn_encodings *encodings, struct scn_document *document,
        const struct scn_delta_request *request, enum scn_error *error_out);
void scn_encodings_finish(struct scn_encodings *encodings);

#endif
