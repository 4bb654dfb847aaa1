/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* replay: the state at a revision, then what each later one did, as fast as one likes. While this waits it does not
 * read, and so the server does not send: how much is replayed costs memory on neither side. */

#include "client/scenectl/event.h"
#include "client/scenectl/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The server takes somebody who reads nothing for this long to be gone. */
#define PAUSE_MAX_MS 5000

struct replay {
        struct scn_ctl *ctl;
        struct scn_replay_options options;
        double speed; /* 0: without waiting */
        bool is_stepwise;
        const char *author;    /* only this one's revisions; NULL: everybody's */
        struct scn_play *play; /* into another document; NULL: no */
        uint64_t last_us;
};

static void pause_ms(double ms)
{
        const double bounded = ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS;
        const struct timespec time = {
                .tv_sec = (time_t)(bounded / 1000.0), .tv_nsec = (long)((uint64_t)bounded % 1000) * 1000000};
        (void)nanosleep(&time, NULL);
}

static void wait_for_next(struct replay *replay, uint64_t time_us)
{
        if (replay->is_stepwise) {
                int character;
                do {
                        character = getchar();
                } while (character != '\n' && character != EOF);
        } else if (replay->speed > 0.0 && replay->last_us != 0 && time_us > replay->last_us) {
                pause_ms((double)(time_us - replay->last_us) / 1000.0 / replay->speed);
        }
        replay->last_us = time_us;
}

static void on_change(struct scn_view *view, const struct scn_view_event *event, void *data)
{
        struct replay *replay = data;
        const bool is_wanted = event->is_whole || replay->author == NULL ||
                (event->author.size == strlen(replay->author) &&
                        memcmp(event->author.data, replay->author, event->author.size) == 0);
        if (!is_wanted) {
                return;
        }
        if (!event->is_whole) {
                wait_for_next(replay, event->time_us);
        }
        if (replay->play != NULL) {
                scn_play_event(replay->play, view, event);
        }
        scn_ctl_format_event(replay->ctl, view, event, replay->options.mask);
        scn_ctl_print_line(replay->ctl);
}

static void on_end(struct scn_view *view, const struct scn_failure *failure, void *data)
{
        const struct replay *replay = data;
        (void)view;
        if (failure != NULL) {
                scn_ctl_fail(replay->ctl, failure);
        } else {
                scn_ctl_done(replay->ctl);
        }
}

static bool read_speed(struct scn_ctl *ctl, const char *text, double *speed_out)
{
        char *end;
        *speed_out = strtod(text, &end);
        if (strcmp(text, "max") == 0) {
                *speed_out = 0.0;
        } else if (end == text || *end != '\0' || !(*speed_out > 0.0 && *speed_out < 1e9)) {
                (void)scn_ctl_misuse(ctl, "--speed: '%s' is no speed: a number above 0, or max", text);
                return false;
        }
        return true;
}

int scn_ctl_run_replay(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct replay replay = {.ctl = ctl, .options = SCN_REPLAY_OPTIONS_INIT};
        const char *speed = arguments->options[SCN_CTL_OPTION_speed];
        const char *node = arguments->options[SCN_CTL_OPTION_node];
        const char *mask = arguments->options[SCN_CTL_OPTION_mask];
        const char *into = arguments->options[SCN_CTL_OPTION_into];
        replay.author = arguments->options[SCN_CTL_OPTION_author];
        if (into != NULL && (replay.author != NULL || mask != NULL)) {
                return scn_ctl_misuse(ctl, "--into plays all of it: neither --author nor --mask");
        }
        replay.options.from_at = arguments->options[SCN_CTL_OPTION_from];
        replay.options.to_at = arguments->options[SCN_CTL_OPTION_to];
        replay.options.author = replay.author;
        if ((speed != NULL && !read_speed(ctl, speed, &replay.speed)) ||
                (node != NULL && !scn_ctl_read_node(ctl, "--node", node, &replay.options.root)) ||
                (mask != NULL && !scn_ctl_read_mask(ctl, mask, SCN_MASK_DURABLE, &replay.options.mask))) {
                return SCN_CTL_USAGE;
        }
        replay.is_stepwise = arguments->options[SCN_CTL_OPTION_stepwise] != NULL;
        replay.options.on_change = on_change;
        replay.options.on_end = on_end;
        replay.options.data = &replay;
        if (!scn_ctl_open(ctl, arguments->values[0])) {
                return ctl->code;
        }
        if (into != NULL && (replay.play = scn_play_open(ctl, into)) == NULL) {
                return ctl->code;
        }
        struct scn_view *view;
        const enum scn_error error = scn_replay_create(ctl->client, &replay.options, &view);
        int code = error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
        if (!scn_play_close(replay.play)) {
                code = ctl->code;
        }
        return code;
}
