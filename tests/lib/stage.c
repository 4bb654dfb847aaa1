/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE /* setenv, truncate under -std=c11 */

#include "tests/lib/stage.h"

#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#define ARGUMENTS_MAX 28

void stage_set_up(struct stage *stage)
{
        *stage = (struct stage){.author = "ann"};
        serve_begin(&stage->serve);
        scn_daemon_init(&stage->tool);
        serve_address(&stage->serve, SERVE_UNIX, stage->server);
        cr_assert_eq(setenv("SCENED_SERVER", stage->server, 1), 0);
}

void stage_tear_down(struct stage *stage)
{
        stage_leave(stage);
        serve_finish(&stage->serve);
}

void stage_join(struct stage *stage, const struct stage *other)
{
        *stage = *other;
        stage->output = NULL;
        scn_daemon_init(&stage->tool);
}

void stage_leave(struct stage *stage)
{
        scn_free(stage->output);
        scn_daemon_finish(&stage->tool);
}

static void begin(struct stage *stage, va_list list)
{
        const char *arguments[ARGUMENTS_MAX] = {NULL};
        size_t count = 0;
        if (stage->author != NULL) {
                arguments[count++] = "--as";
                arguments[count++] = stage->author;
        }
        const char *argument;
        while ((argument = va_arg(list, const char *)) != NULL) {
                cr_assert_lt(count, (size_t)ARGUMENTS_MAX - 1);
                arguments[count++] = argument;
        }
        (void)truncate(stage->tool.log_path, 0);
        scn_daemon_start(&stage->tool,
                &(struct scn_daemon_options){.program = "scenectl", .arguments = arguments, .input = stage->input});
}

void stage_start(struct stage *stage, ...)
{
        va_list list;
        va_start(list, stage);
        begin(stage, list);
        va_end(list);
}

const char *stage_end(struct stage *stage, int code)
{
        const int got = scn_daemon_wait(&stage->tool);
        scn_free(stage->output);
        stage->output = scn_daemon_log(&stage->tool);
        cr_assert_eq(got, code, "exit %d, not %d: %s", got, code, stage->output);
        return stage->output;
}

const char *stage_run(struct stage *stage, int code, ...)
{
        va_list list;
        va_start(list, code);
        begin(stage, list);
        va_end(list);
        return stage_end(stage, code);
}

void stage_make_scene(struct stage *stage)
{
        (void)stage_run(stage, 0, "create", "isle", NULL);
        expect(stage_run(stage, 0, "--json", "add", "isle", "/", "Boat", "--uid", BOAT, "--translation", "1,2,3", NULL),
                "{\"rev\":1,\"uid\":\"" BOAT "\"}\n");
        (void)stage_run(stage, 0, "add", "isle", "/Boat", "Lamp", "--uid", LAMP, "--translation=0,0.1,0", "--set",
                "lit=true", "--set", "hue=[1.0,{\"$bin\":\"AA==\"}]", NULL);
}
