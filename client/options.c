/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The initialisers of the structs that a program fills in, as functions. */

#include "client/client.h"

#define DEFINE_INIT(name, initialiser)                                                                                 \
        void scn_##name##_init(struct scn_##name *name)                                                                \
        {                                                                                                              \
                *name = (struct scn_##name)initialiser;                                                                \
        }

DEFINE_INIT(client_options, SCN_CLIENT_OPTIONS_INIT)
DEFINE_INIT(view_options, SCN_VIEW_OPTIONS_INIT)
DEFINE_INIT(replay_options, SCN_REPLAY_OPTIONS_INIT)
DEFINE_INIT(addition, SCN_ADDITION_INIT)
DEFINE_INIT(undo, SCN_UNDO_INIT)
DEFINE_INIT(lock, SCN_LOCK_INIT)
DEFINE_INIT(request, SCN_REQUEST_INIT)
DEFINE_INIT(file, SCN_FILE_INIT)
