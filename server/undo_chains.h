/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_UNDO_CHAINS_H
#define SCN_SERVER_UNDO_CHAINS_H

/* A step that has written a field several times is brought back there whole or not at all. Each of its ops knows only
 * whom the field must count as written by, which from the second on is the step itself: what others did meanwhile can
 * make that true where the first has been skipped, and a folded gesture has the first alone. */

#include "protocol/wire/ops.h"

/* Gives the ops from `first` on, which bring back one step, their chains (edit.h). A node that is added in between
 * begins new ones. SCN_E_NO_MEMORY. */
SCN_NODISCARD enum scn_error scn_undo_chains_link(struct scn_ops *ops, size_t first);

#endif
