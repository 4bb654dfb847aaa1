/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_STORAGE_SCHEMA_H
#define SCN_STORAGE_SCHEMA_H

/* The tables of a document's file (FORMAT.md), and the steps that bring a file to this version's format. */

#include "storage/database.h"

#define SCN_SCHEMA_APPLICATION_ID 0x5343454e /* "SCEN" */

/* One step: from the version that is its index to the next. */
struct scn_schema_step {
        const char *sql;
};

/* This version's steps; their count is the format's number. Step 0 makes an empty file a document without
 * contents. */
extern const struct scn_schema_step scn_schema_steps[];
extern const uint32_t scn_schema_version;

/* Takes the steps from the file's version up to `count`, each in a transaction of its own. */
SCN_NODISCARD enum scn_error scn_schema_upgrade(struct scn_database *database, const struct scn_schema_step *steps,
        uint32_t count, struct scn_storage_fault *fault);
/* Whether the file's schema is what these steps make of an empty file, to the letter: SCN_E_CORRUPT names the first
 * object that is missing, other or too many. An index, a CHECK or a trigger of somebody else's would decide what can be
 * stored. The statistics of ANALYZE may be there. */
SCN_NODISCARD enum scn_error scn_schema_verify(struct scn_database *database, struct scn_storage_fault *fault);
/* What `PRAGMA user_version` and `PRAGMA application_id` say. */
SCN_NODISCARD enum scn_error scn_schema_identify(struct scn_database *database, int64_t *application_id_out,
        int64_t *version_out, struct scn_storage_fault *fault);

#endif
