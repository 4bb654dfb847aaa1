/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_EVENT_H
#define SCN_CLIENT_SCENECTL_EVENT_H

/* What changed in a view, as watch and replay print it. */

#include "client/scenectl/ctl.h"

/* Into ctl->line, ended, but not printed: JSON, or a text for people of which each line is ended. `mask`: the view's
 * channels, 0: all; of a new node only their fields are told, for the view knows no others. */
void scn_ctl_format_event(
        struct scn_ctl *ctl, const struct scn_view *view, const struct scn_view_event *event, uint32_t mask);
/* Prints what was formatted. */
void scn_ctl_print_line(struct scn_ctl *ctl);

#endif
