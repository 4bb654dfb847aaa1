/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "tests/sim/compare/story.h"
#include "tests/sim/store.h"

static struct sim_disk disk;
static struct scn_random none;

static bool is_running(void *data, uint64_t job)
{
        (void)data;
        (void)job;
        return true;
}

static void on_broken(void *data, const char *what)
{
        /* The simulator wants no server to do so; here the error is what counts. */
        (void)data;
        (void)what;
}

void story_begin(void)
{
        disk = (struct sim_disk){.random = &none, .job = 1, .is_running = is_running, .on_broken = on_broken};
        sim_disk_mount(&disk);
}

const char *story_path(void)
{
        return "";
}

void story_end(void)
{
        sim_disk_unmount(&disk);
}
