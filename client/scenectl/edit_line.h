/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_EDIT_LINE_H
#define SCN_CLIENT_SCENECTL_EDIT_LINE_H

/* Edits as JSON, one a line (DESIGN §8): {"ops": [...], "group": N, "base": REV, "strict": true}. */

#include "client/scenectl/json_value.h"

#include <scn/client.h>

#define SCN_EDIT_LINE_PROBLEM_BYTES 200

/* Adds what the line says to the draft. On failure `problem_out` says what is wrong, and *op_out with which op
 * (UINT32_MAX: with the line). SCN_E_BAD_OP, SCN_E_NO_MEMORY and those of the draft; an error of a value. */
SCN_NODISCARD enum scn_error scn_edit_line_read(struct scn_draft *draft, struct scn_slice line, uint32_t *op_out,
        char problem_out[SCN_EDIT_LINE_PROBLEM_BYTES]);

#endif
