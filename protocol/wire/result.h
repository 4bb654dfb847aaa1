/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_WIRE_RESULT_H
#define SCN_WIRE_RESULT_H

/* The keys of a result in `applied`: what the server chose or changed of an op (PROTOCOL §5). The bits under
 * SCN_RESULT_FLAGS are the SCN_CHANGE_... of protocol/scene/change.h. */

enum scn_result_key {
        SCN_RESULT_OP = 0,
        SCN_RESULT_ID = 1,
        SCN_RESULT_UID = 2,
        SCN_RESULT_FLAGS = 3,
        SCN_RESULT_TRANSLATION = 4,
        SCN_RESULT_ROTATION = 5,
        SCN_RESULT_SCALE = 6,
        SCN_RESULT_RESIDUAL = 7,
};

#endif
