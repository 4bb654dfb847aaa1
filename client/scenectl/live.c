/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* lock, unlock; and what watch prints of presence, locks and previews. */

#include "client/scenectl/ctl.h"
#include "protocol/base/alloc.h"
#include "protocol/wire/pack.h"

#include <signal.h>

/* --- What there is --- */

static void print_seconds(uint64_t milliseconds)
{
        scn_ctl_print("%llu s", (unsigned long long)((milliseconds + 999) / 1000));
}

static void print_presences(const struct scn_view *view)
{
        struct scn_presence_info info;
        for (uint32_t i = 0; scn_view_presence(view, i, &info); i++) {
                scn_ctl_print("presence  %llu  ", (unsigned long long)info.session);
                scn_ctl_print_text(info.author);
                scn_ctl_print("  ");
                scn_ctl_print_members(info.map, ", ");
                scn_ctl_print("\n");
        }
        if (scn_view_presences_count(view) == 0) {
                scn_ctl_print("presence  none\n");
        }
}

static void print_locks(const struct scn_view *view)
{
        struct scn_lock_info info;
        for (uint32_t i = 0; scn_view_lock(view, i, &info); i++) {
                scn_ctl_print("lock  ");
                scn_ctl_print_uid(info.node);
                scn_ctl_print("  %llu  ", (unsigned long long)info.session);
                scn_ctl_print_text(info.author);
                scn_ctl_print("  ");
                scn_ctl_print_mask(info.mask, ",");
                scn_ctl_print(info.has_subtree ? "  subtree  " : "  ");
                print_seconds(info.left_ms);
                scn_ctl_print("\n");
        }
        if (scn_view_locks_count(view) == 0) {
                scn_ctl_print("lock  none\n");
        }
}

static void print_previews(const struct scn_view *view)
{
        struct scn_preview_info info;
        for (uint32_t i = 0; scn_view_preview(view, i, &info); i++) {
                scn_ctl_print("preview  ");
                scn_ctl_print_uid(info.node);
                scn_ctl_print("  %llu", (unsigned long long)info.session);
                if ((info.fields & SCN_FIELDS_TRANSLATION) != 0) {
                        scn_ctl_print_floats("  t", info.trs.t, 3);
                }
                if ((info.fields & SCN_FIELDS_ROTATION) != 0) {
                        scn_ctl_print_floats("  r", info.trs.r, 4);
                }
                if ((info.fields & SCN_FIELDS_SCALE) != 0) {
                        scn_ctl_print_floats("  s", info.trs.s, 3);
                }
                scn_ctl_print("\n");
        }
        if (scn_view_previews_count(view) == 0) {
                scn_ctl_print("preview  none\n");
        }
}

static void begin_array(struct scn_ctl *ctl, const char *key)
{
        scn_ctl_key(ctl, key);
        scn_ctl_open_bracket(ctl, "[");
}

static void put_session(struct scn_ctl *ctl, uint64_t session, struct scn_slice author)
{
        scn_ctl_key(ctl, "session");
        scn_json_put_uint(&ctl->json, session);
        if (author.data != NULL) {
                scn_ctl_key(ctl, "author");
                scn_json_put_text(&ctl->json, author);
        }
}

static void put_presences(struct scn_ctl *ctl, const struct scn_view *view)
{
        struct scn_presence_info info;
        begin_array(ctl, "presence");
        for (uint32_t i = 0; scn_view_presence(view, i, &info); i++) {
                scn_ctl_next(ctl);
                scn_ctl_open_bracket(ctl, "{");
                put_session(ctl, info.session, info.author);
                scn_ctl_key(ctl, "presence");
                scn_ctl_put_props(ctl, info.map);
                scn_ctl_close_bracket(ctl, "}");
        }
        scn_ctl_close_bracket(ctl, "]");
}

static void put_locks(struct scn_ctl *ctl, const struct scn_view *view)
{
        struct scn_lock_info info;
        begin_array(ctl, "locks");
        for (uint32_t i = 0; scn_view_lock(view, i, &info); i++) {
                scn_ctl_next(ctl);
                scn_ctl_open_bracket(ctl, "{");
                scn_ctl_key(ctl, "uid");
                scn_ctl_put_uid(ctl, info.node);
                put_session(ctl, info.session, info.author);
                scn_ctl_key(ctl, "mask");
                scn_json_put_uint(&ctl->json, info.mask);
                scn_ctl_key(ctl, "subtree");
                scn_json_put(&ctl->json, info.has_subtree ? "true" : "false");
                scn_ctl_key(ctl, "left_ms");
                scn_json_put_uint(&ctl->json, info.left_ms);
                scn_ctl_close_bracket(ctl, "}");
        }
        scn_ctl_close_bracket(ctl, "]");
}

static void put_floats(struct scn_ctl *ctl, const char *key, const float *floats, uint32_t count)
{
        scn_ctl_key(ctl, key);
        scn_ctl_put_floats(ctl, floats, count);
}

static void put_previews(struct scn_ctl *ctl, const struct scn_view *view)
{
        const struct scn_slice none = {NULL, 0};
        struct scn_preview_info info;
        begin_array(ctl, "previews");
        for (uint32_t i = 0; scn_view_preview(view, i, &info); i++) {
                scn_ctl_next(ctl);
                scn_ctl_open_bracket(ctl, "{");
                scn_ctl_key(ctl, "uid");
                scn_ctl_put_uid(ctl, info.node);
                put_session(ctl, info.session, none);
                if ((info.fields & SCN_FIELDS_TRANSLATION) != 0) {
                        put_floats(ctl, "t", info.trs.t, 3);
                }
                if ((info.fields & SCN_FIELDS_ROTATION) != 0) {
                        put_floats(ctl, "r", info.trs.r, 4);
                }
                if ((info.fields & SCN_FIELDS_SCALE) != 0) {
                        put_floats(ctl, "s", info.trs.s, 3);
                }
                scn_ctl_close_bracket(ctl, "}");
        }
        scn_ctl_close_bracket(ctl, "]");
}

void scn_ctl_print_live(struct scn_ctl *ctl, const struct scn_view *view, uint32_t mask)
{
        static const struct {
                uint32_t mask;
                void (*print)(const struct scn_view *view);
                void (*put)(struct scn_ctl *ctl, const struct scn_view *view);
        } kinds[] = {
                {SCN_MASK_PRESENCE, print_presences, put_presences},
                {SCN_MASK_LOCKS, print_locks, put_locks},
                {SCN_MASK_PREVIEW, print_previews, put_previews},
        };
        if (ctl->is_json) {
                scn_ctl_begin_line(ctl);
        }
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
                if ((mask & kinds[i].mask) == 0) {
                        continue;
                }
                if (ctl->is_json) {
                        kinds[i].put(ctl, view);
                } else {
                        kinds[i].print(view);
                }
        }
        if (ctl->is_json) {
                scn_ctl_end_line(ctl);
        }
        scn_ctl_flush(ctl);
}

/* --- lock --- */

/* Renewed three times in the time it lasts. */
#define HOLD_TTL_S 60u
#define RENEW_MS (HOLD_TTL_S * 1000u / 3)

struct hold {
        struct scn_ctl *ctl;
        const struct scn_target *targets;
        unsigned count;
        struct scn_lock lock;
        bool was_told;
};

static volatile sig_atomic_t is_interrupted;

static void on_signal(int number)
{
        (void)number;
        is_interrupted = 1;
}

static void print_locked(struct scn_ctl *ctl, struct scn_slice body)
{
        struct scn_unpacker unpacker = scn_unpacker_from(body);
        const uint32_t count = scn_unpack_array(&unpacker);
        if (ctl->is_json) {
                scn_ctl_begin_line(ctl);
                begin_array(ctl, "locked");
        }
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                const struct scn_uid uid = scn_unpack_uid(&unpacker);
                if (ctl->is_json) {
                        scn_ctl_next(ctl);
                        scn_ctl_put_uid(ctl, uid);
                } else {
                        scn_ctl_print("locked  ");
                        scn_ctl_print_uid(uid);
                        scn_ctl_print("\n");
                }
        }
        if (ctl->is_json) {
                scn_ctl_close_bracket(ctl, "]");
                scn_ctl_end_line(ctl);
        }
        scn_ctl_flush(ctl);
}

static void on_locked(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct hold *hold = data;
        (void)client;
        if (answer->failure != NULL) {
                scn_ctl_fail(hold->ctl, answer->failure);
        } else if (!hold->was_told) {
                hold->was_told = true;
                print_locked(hold->ctl, answer->body);
        }
}

static bool ask_lock(struct hold *hold)
{
        const enum scn_error error =
                scn_client_lock(hold->ctl->client, hold->targets, hold->count, &hold->lock, on_locked, hold);
        if (error != SCN_OK) {
                (void)scn_ctl_refuse(hold->ctl, error);
        }
        return error == SCN_OK;
}

/* What is left of the time, in seconds. */
static uint32_t left_s(uint64_t end_ms, uint64_t now_ms)
{
        return end_ms == UINT64_MAX ? HOLD_TTL_S : (uint32_t)((end_ms - now_ms + 999) / 1000);
}

/* With a time, until that is over; else renewed until somebody interrupts, who then gives it up at once. A server that
 * was started anew knows of no locks: whenever the connection is back, they are taken and told again. */
static int hold_locks(struct hold *hold, uint64_t ttl)
{
        struct scn_ctl *ctl = hold->ctl;
        const uint64_t end_ms = ttl == 0 ? UINT64_MAX : scn_ctl_now_ms() + ttl * 1000;
        uint64_t renew_ms = 0;
        bool was_open = true;
        (void)signal(SIGINT, on_signal);
        (void)signal(SIGTERM, on_signal);
        while (!ctl->is_done && is_interrupted == 0 && scn_ctl_now_ms() < end_ms) {
                const uint64_t now_ms = scn_ctl_now_ms();
                const bool is_open = scn_client_state(ctl->client) == SCN_CLIENT_OPEN;
                const bool is_back = is_open && !was_open;
                was_open = is_open;
                hold->was_told = hold->was_told && !is_back;
                if (is_open && (is_back || now_ms >= renew_ms)) {
                        renew_ms = ttl == 0 ? now_ms + RENEW_MS : UINT64_MAX;
                        hold->lock.ttl_s = left_s(end_ms, now_ms);
                        (void)ask_lock(hold);
                }
                /* So short that a signal just before the wait is not slept through. */
                (void)scn_ctl_turn(ctl, 200);
        }
        if (ctl->is_done || scn_ctl_now_ms() >= end_ms) {
                scn_ctl_close(ctl);
                return ctl->code;
        }
        const enum scn_error error = scn_client_unlock(ctl->client, NULL, 0, scn_ctl_on_done, ctl);
        return error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
}

int scn_ctl_run_lock(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct hold hold = {.ctl = ctl, .count = arguments->values_count - 1, .lock = SCN_LOCK_INIT};
        const char *ttl_text = arguments->options[SCN_CTL_OPTION_ttl];
        uint64_t ttl = 0;
        if (ttl_text != NULL && !scn_ctl_read_number(ctl, "--ttl", ttl_text, UINT32_MAX, &ttl)) {
                return SCN_CTL_USAGE;
        }
        if (ttl_text != NULL && ttl == 0) {
                return scn_ctl_misuse(ctl, "--ttl: at least a second");
        }
        struct scn_target *targets = scn_ctl_read_nodes(ctl, arguments);
        if (targets == NULL) {
                return ctl->code;
        }
        hold.targets = targets;
        hold.lock.has_subtree = arguments->options[SCN_CTL_OPTION_subtree] != NULL;
        const int code = scn_ctl_open(ctl, arguments->values[0]) ? hold_locks(&hold, ttl) : ctl->code;
        scn_ctl_close(ctl);
        scn_free(targets);
        return code;
}

/* --- unlock --- */

static void on_unlocked(struct scn_client *client, const struct scn_answer *answer, void *data)
{
        struct scn_ctl *ctl = data;
        struct scn_unpacker unpacker = scn_unpacker_from(answer->body);
        const uint64_t count = answer->failure == NULL ? scn_unpack_uint(&unpacker, UINT32_MAX) : 0;
        if (answer->failure == NULL && ctl->is_json) {
                scn_ctl_begin_line(ctl);
                scn_ctl_key(ctl, "unlocked");
                scn_json_put_uint(&ctl->json, count);
                scn_ctl_end_line(ctl);
        } else if (answer->failure == NULL) {
                scn_ctl_print("unlocked  %llu\n", (unsigned long long)count);
        }
        scn_ctl_on_done(client, answer, data);
}

int scn_ctl_run_unlock(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments)
{
        struct scn_target *targets = scn_ctl_read_nodes(ctl, arguments);
        if (targets == NULL) {
                return ctl->code;
        }
        int code = SCN_CTL_OK;
        if (scn_ctl_open(ctl, arguments->values[0])) {
                const enum scn_error error =
                        scn_client_unlock(ctl->client, targets, arguments->values_count - 1, on_unlocked, ctl);
                code = error == SCN_OK ? scn_ctl_wait(ctl) : scn_ctl_refuse(ctl, error);
        } else {
                code = ctl->code;
        }
        scn_free(targets);
        return code;
}
