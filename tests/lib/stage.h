/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_TESTS_LIB_STAGE_H
#define SCN_TESTS_LIB_STAGE_H

/* The real daemon, and scenectl typed at it one command after the other, with what it printed.
 *
 * Who else is to type at the same daemon is a copy of the stage with a tool and an output of their own:
 * stage_join(), stage_leave(). */

#include "tests/lib/serve.h"
#include "tests/lib/test.h"

#include <string.h>

struct stage {
        struct serve serve;
        struct scn_daemon tool;
        char server[SERVE_ADDRESS_BYTES]; /* the daemon's address; scenectl has it from SCENED_SERVER */
        const char *author;               /* --as; NULL: nothing is said */
        int input;                        /* what the next command reads; 0: what the test does */
        char *output;                     /* of the last command, owned */
};

/* The author is ann. */
void stage_set_up(struct stage *stage);
void stage_tear_down(struct stage *stage);
void stage_join(struct stage *stage, const struct stage *other);
void stage_leave(struct stage *stage);

/* Starts scenectl with these arguments, up to NULL. */
void stage_start(struct stage *stage, ...) __attribute__((sentinel));
/* The same, once what runs is at its end, which must be this; gives what it printed. */
const char *stage_end(struct stage *stage, int code);
const char *stage_run(struct stage *stage, int code, ...) __attribute__((sentinel));

static inline void expect(const char *output, const char *wanted)
{
        cr_assert_str_eq(output, wanted);
}

static inline void expect_part(const char *output, const char *part)
{
        cr_assert_not_null(strstr(output, part), "%s: has no %s", output, part);
}

static inline void expect_no_part(const char *output, const char *part)
{
        cr_assert_null(strstr(output, part), "%s: has %s", output, part);
}

#define BOAT "11111111-1111-4111-8111-111111111111"
#define LAMP "22222222-2222-4222-8222-222222222222"
#define NEW "33333333-3333-4333-8333-333333333333"

/* The document isle: a boat at (1, 2, 3) that carries a lamp. Revision 2. */
void stage_make_scene(struct stage *stage);

#endif
