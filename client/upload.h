/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_UPLOAD_H
#define SCN_CLIENT_UPLOAD_H

/* A file on its way to the server: the first part goes like any request, the others when the server has taken those
 * before, a few at a time. */

#include <scn/client.h>

struct scn_task;
struct scn_upload;

/* NULL is allowed. */
void scn_upload_destroy(struct scn_upload *upload);
/* The server has answered a part: sends what may be sent now. Errors: SCN_E_NO_MEMORY. */
SCN_NODISCARD enum scn_error scn_upload_go_on(
        struct scn_client *client, const struct scn_task *task, const struct scn_answer *answer);

#endif
