/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/mixed_load.h"

#include "server/core.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_US (UINT64_C(24) * 3600 * 1000000)
#define FOLD_DAYS 7u
#define KEEP_DAYS 60u
#define CHECKPOINT_BYTES ((1u << 20) + 1)
#define LARGE_BYTES 60000u
#define PART_BYTES 30000u
#define BACKUP_BYTES_MAX (16u << 20)
#define REQUEST 9u
#define GESTURE 7u

static const char *const names[MIXED_NAMES] = {"island", "copy", "port", "harbour", "fork"};

/* --- Asking --- */

/* Whether this comes; what says that it will not ends it, and so does silence. */
static bool comes(struct peer *peer, enum scn_message_kind kind, struct scn_message *message_out)
{
        while (peer_receive(peer, message_out)) {
                if (message_out->kind == kind) {
                        return true;
                }
                if (message_out->kind == SCN_MESSAGE_failed || message_out->kind == SCN_MESSAGE_refused) {
                        return false;
                }
        }
        return false;
}

static void leave(struct peer *peer)
{
        if (peer->session != NULL) {
                peer_close(peer);
        }
}

/* Makes the document if need be. */
static bool enter(struct mixed_load *load, struct peer *peer, uint32_t client, enum mixed_name name, bool create)
{
        struct scn_message message;
        peer_greet(peer, &load->hub, client, "ann");
        scn_message_init(&message, SCN_MESSAGE_open);
        message.as.open.request = REQUEST;
        message.as.open.document = scene_text(names[name]);
        message.as.open.create = create;
        peer_send(peer, &message);
        if (!comes(peer, SCN_MESSAGE_opened, &message)) {
                leave(peer);
                return false;
        }
        peer->number = message.as.opened.number;
        return true;
}

static bool is_there(const struct peer *peer)
{
        return peer->session != NULL && !peer_has_ended(peer);
}

/* Ann and Bob are in the island, unless a step says otherwise. */
static bool gather(struct mixed_load *load)
{
        if (!is_there(&load->ann)) {
                leave(&load->ann);
                if (!enter(load, &load->ann, 1, MIXED_ISLAND, true)) {
                        return false;
                }
        }
        if (!is_there(&load->bob)) {
                leave(&load->bob);
                return enter(load, &load->bob, 2, MIXED_ISLAND, true);
        }
        return true;
}

static struct scn_room *find_room(const struct hub *hub, enum mixed_name name)
{
        return scn_server_find_room(hub->server, scene_text(names[name]));
}

/* What an open document is by now. */
static void note(struct mixed_load *load, enum mixed_name name)
{
        const struct scn_room *room = find_room(&load->hub, name);
        struct mixed_document *document = &load->state.documents[name];
        cr_assert_not_null(room);
        document->is_there = true;
        document->revision = room->durable;
        document->digests = scn_document_digests(room->document);
}

static bool ask(struct peer *peer, const struct scn_message *message)
{
        struct scn_message answer;
        peer_send(peer, message);
        return comes(peer, SCN_MESSAGE_answer, &answer);
}

/* --- Steps: edits --- */

static bool open_island(struct mixed_load *load)
{
        if (!gather(load)) {
                return false;
        }
        note(load, MIXED_ISLAND);
        return true;
}

/* Not the same twice: a node without a uid, placed by number among its siblings. */
static void send_growth(struct mixed_load *load, struct peer *peer)
{
        const struct scn_document *document = find_room(&load->hub, MIXED_ISLAND)->document;
        struct scn_op ops[] = {scene_add(1, 0, "node"), scene_move_index(2, 1, 1)};
        peer_edit_in(peer, SCN_ABSENT, ops, scn_document_nodes_count(document) < 2 ? 1 : 2);
        load->doubt++;
}

static bool is_applied(struct mixed_load *load, struct peer *peer)
{
        struct scn_message message;
        if (!comes(peer, SCN_MESSAGE_applied, &message)) {
                return false;
        }
        note(load, MIXED_ISLAND);
        load->doubt--;
        return true;
}

static bool edit(struct mixed_load *load)
{
        if (!gather(load)) {
                return false;
        }
        send_growth(load, &load->ann);
        return is_applied(load, &load->ann);
}

/* Several of two clients, which wait together and become one commit. */
static bool edit_in_a_batch(struct mixed_load *load)
{
        if (!gather(load)) {
                return false;
        }
        for (int i = 0; i < 3; i++) {
                send_growth(load, &load->ann);
                send_growth(load, &load->bob);
        }
        for (int i = 0; i < 3; i++) {
                if (!is_applied(load, &load->ann) || !is_applied(load, &load->bob)) {
                        return false;
                }
        }
        return true;
}

static bool drag(struct mixed_load *load)
{
        if (!gather(load)) {
                return false;
        }
        for (int i = 0; i < 6; i++) {
                const struct scn_op op = scene_translate(2, (float)load->ann.number, (float)i, 0.0f);
                peer_edit_in(&load->bob, GESTURE, &op, 1);
                load->doubt++;
        }
        for (int i = 0; i < 6; i++) {
                if (!is_applied(load, &load->bob)) {
                        return false;
                }
        }
        return true;
}

/* Records of several rows, and pages that do not wait for the commit to be written. */
static bool edit_much(struct mixed_load *load)
{
        static uint8_t value[LARGE_BYTES + 3] = {0xc5, LARGE_BYTES >> 8, LARGE_BYTES & 0xff};
        struct scn_op ops[3];
        if (!gather(load)) {
                return false;
        }
        value[3]++;
        for (int i = 0; i < 3; i++) {
                static const char *const keys[] = {"a", "b", "c"};
                ops[i] = scene_set(2, keys[i], (struct scn_slice){value, sizeof value});
        }
        peer_edit_in(&load->ann, SCN_ABSENT, ops, 3);
        load->doubt++;
        return is_applied(load, &load->ann);
}

static bool undo(struct mixed_load *load)
{
        if (!gather(load)) {
                return false;
        }
        peer_undo(&load->ann, (struct peer_wish){0});
        load->doubt++;
        return is_applied(load, &load->ann);
}

/* --- Steps: upkeep --- */

static bool make_checkpoint(struct mixed_load *load)
{
        if (!gather(load)) {
                return false;
        }
        struct scn_room *room = find_room(&load->hub, MIXED_ISLAND);
        room->checkpoint_retry_ms = 0;
        scn_room_gather(room, CHECKPOINT_BYTES);
        hub_run(&load->hub);
        return true;
}

static bool set_tag(struct mixed_load *load)
{
        struct scn_message message;
        char name[16];
        if (!gather(load)) {
                return false;
        }
        (void)snprintf(name, sizeof name, "tag %u", load->state.documents[MIXED_ISLAND].tags_count);
        scn_message_init(&message, SCN_MESSAGE_tag);
        message.as.tag.request = REQUEST;
        message.as.tag.name = scene_text(name);
        return ask(&load->ann, &message);
}

static void settle_tag(struct mixed_load *load)
{
        load->state.documents[MIXED_ISLAND].tags_count++;
}

static bool pass_days(struct mixed_load *load, uint64_t days)
{
        load->hub.utc_us += days * DAY_US;
        load->hub.monotonic_ms += days * (DAY_US / 1000);
        scn_server_tick(load->hub.server);
        hub_run(&load->hub);
        return true;
}

/* So long that a client which was there once is no longer known. */
static bool forget_clients(struct mixed_load *load)
{
        return gather(load) && pass_days(load, 31) && gather(load);
}

/* So long that gestures are finished and history is old: what the server does to it by itself, folding and dropping,
 * is done here. */
static bool grow_old(struct mixed_load *load)
{
        return gather(load) && pass_days(load, FOLD_DAYS + 1) && pass_days(load, 1) && gather(load) &&
                pass_days(load, KEEP_DAYS) && pass_days(load, 1) && gather(load);
}

/* --- Steps: whole files --- */

static bool back_up(struct mixed_load *load)
{
        struct scn_message message;
        if (!gather(load)) {
                return false;
        }
        load->backup_size = 0;
        scn_message_init(&message, SCN_MESSAGE_backup);
        message.as.backup.request = REQUEST;
        peer_send(&load->ann, &message);
        do {
                if (!comes(&load->ann, SCN_MESSAGE_answer, &message)) {
                        return false;
                }
                struct scn_unpacker unpacker = scn_unpacker_from(message.as.answer.body);
                const struct scn_slice part = scn_unpack_bin(&unpacker, UINT32_MAX);
                cr_assert_leq(load->backup_size + part.size, BACKUP_BYTES_MAX);
                memcpy(load->backup + load->backup_size, part.data, part.size);
                load->backup_size += part.size;
        } while (message.as.answer.more);
        load->backed = load->state.documents[MIXED_ISLAND];
        return true;
}

static void send_file(const struct mixed_load *load, struct peer *peer, enum mixed_name name, bool replaces)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_adopt);
        message.as.adopt.request = REQUEST;
        message.as.adopt.document = scene_text(names[name]);
        message.as.adopt.bytes = load->backup_size;
        message.as.adopt.replace = replaces;
        for (uint32_t at = 0; at < load->backup_size; at += PART_BYTES) {
                const uint32_t left = load->backup_size - at;
                message.as.adopt.part = (struct scn_slice){load->backup + at, left < PART_BYTES ? left : PART_BYTES};
                message.as.adopt.more = left > PART_BYTES;
                peer_send(peer, &message);
        }
}

static bool is_placed(struct peer *peer)
{
        struct scn_message message;
        do {
                if (!comes(peer, SCN_MESSAGE_answer, &message)) {
                        return false;
                }
        } while (message.as.answer.more);
        return true;
}

static bool adopt(struct mixed_load *load)
{
        if (!gather(load)) {
                return false;
        }
        send_file(load, &load->ann, MIXED_COPY, false);
        return is_placed(&load->ann);
}

static void settle_adoption(struct mixed_load *load)
{
        load->state.documents[MIXED_COPY] = load->backed;
}

/* By somebody who is elsewhere: those who are in what is replaced have to go. */
static bool replace(struct mixed_load *load)
{
        struct peer cy;
        struct scn_message message;
        if (!gather(load) || !enter(load, &cy, 3, MIXED_COPY, false)) {
                return false;
        }
        send_file(load, &cy, MIXED_ISLAND, true);
        while (!peer_has_ended(&load->ann) && peer_receive(&load->ann, &message)) {
        }
        leave(&load->ann);
        leave(&load->bob);
        const bool is_done = is_placed(&cy);
        leave(&cy);
        return is_done;
}

static void settle_replacement(struct mixed_load *load)
{
        load->state.documents[MIXED_ISLAND] = load->backed;
        load->state.trash[MIXED_ISLAND]++;
}

static bool fork_island(struct mixed_load *load)
{
        struct scn_message message;
        struct peer cy;
        if (!gather(load)) {
                return false;
        }
        scn_message_init(&message, SCN_MESSAGE_fork);
        message.as.fork.request = REQUEST;
        message.as.fork.to = scene_text(names[MIXED_FORK]);
        if (!ask(&load->ann, &message) || !enter(load, &cy, 3, MIXED_FORK, false)) {
                return false;
        }
        note(load, MIXED_FORK);
        leave(&cy);
        return true;
}

/* --- Steps: names --- */

static bool make_port(struct mixed_load *load)
{
        struct peer cy;
        if (!enter(load, &cy, 3, MIXED_PORT, true)) {
                return false;
        }
        note(load, MIXED_PORT);
        leave(&cy);
        return true;
}

static bool edit_port(struct mixed_load *load)
{
        const struct scn_op op = scene_add(1, 0, "quay");
        struct scn_message message;
        struct peer cy;
        if (!enter(load, &cy, 3, MIXED_PORT, false)) {
                return false;
        }
        peer_edit_in(&cy, SCN_ABSENT, &op, 1);
        const bool is_done = comes(&cy, SCN_MESSAGE_applied, &message);
        if (is_done) {
                note(load, MIXED_PORT);
        }
        leave(&cy);
        return is_done;
}

static bool manage(struct mixed_load *load, const char *action, enum mixed_name name, enum mixed_name to)
{
        struct scn_message message;
        if (!gather(load)) {
                return false;
        }
        scn_message_init(&message, SCN_MESSAGE_manage);
        message.as.manage.request = REQUEST;
        message.as.manage.action = scene_text(action);
        message.as.manage.document = scene_text(names[name]);
        message.as.manage.to = scene_text(names[to]);
        return ask(&load->ann, &message);
}

static bool rename_port(struct mixed_load *load)
{
        return manage(load, "rename", MIXED_PORT, MIXED_HARBOUR);
}

static void settle_name(struct mixed_load *load)
{
        load->state.documents[MIXED_HARBOUR] = load->state.documents[MIXED_PORT];
        load->state.documents[MIXED_PORT] = (struct mixed_document){0};
}

static bool throw_away(struct mixed_load *load)
{
        return manage(load, "delete", MIXED_HARBOUR, MIXED_HARBOUR);
}

static void settle_deletion(struct mixed_load *load)
{
        load->thrown = load->state.documents[MIXED_HARBOUR];
        load->state.documents[MIXED_HARBOUR] = (struct mixed_document){0};
        load->state.trash[MIXED_HARBOUR]++;
}

static bool bring_back(struct mixed_load *load)
{
        return manage(load, "undelete", MIXED_HARBOUR, MIXED_HARBOUR);
}

static void settle_return(struct mixed_load *load)
{
        load->state.documents[MIXED_HARBOUR] = load->thrown;
        load->state.trash[MIXED_HARBOUR]--;
}

static bool empty_trash(struct mixed_load *load)
{
        return gather(load) && pass_days(load, 31) && gather(load);
}

static void settle_trash(struct mixed_load *load)
{
        memset(load->state.trash, 0, sizeof load->state.trash);
}

static bool stop_and_start(struct mixed_load *load)
{
        return mixed_restart(load) && gather(load);
}

/* --- The steps in order --- */

static const struct step {
        const char *name;
        bool (*run)(struct mixed_load *load);
        void (*settle)(struct mixed_load *load); /* notes what it has changed, where `run` does not see it */
        uint32_t makes;                          /* 1 + the name of a document that only looking at it tells of */
} steps[] = {
        {"open", open_island, NULL, 1 + MIXED_ISLAND},
        {"edit", edit, NULL, 0},
        {"edit", edit, NULL, 0},
        {"batch", edit_in_a_batch, NULL, 0},
        {"gesture", drag, NULL, 0},
        {"checkpoint", make_checkpoint, NULL, 0},
        {"tag", set_tag, settle_tag, 0},
        {"large edit", edit_much, NULL, 0},
        {"undo", undo, NULL, 0},
        {"backup", back_up, NULL, 0},
        {"adopt", adopt, settle_adoption, 0},
        {"forget clients", forget_clients, NULL, 0},
        {"batch", edit_in_a_batch, NULL, 0},
        {"checkpoint", make_checkpoint, NULL, 0},
        {"edit", edit, NULL, 0},
        {"checkpoint, thin", make_checkpoint, NULL, 0},
        {"grow old", grow_old, NULL, 0},
        {"edit", edit, NULL, 0},
        {"make", make_port, NULL, 1 + MIXED_PORT},
        {"edit port", edit_port, NULL, 1 + MIXED_PORT},
        {"rename", rename_port, settle_name, 0},
        {"throw away", throw_away, settle_deletion, 0},
        {"bring back", bring_back, settle_return, 0},
        {"replace", replace, settle_replacement, 0},
        {"edit after", edit, NULL, 0},
        {"fork", fork_island, NULL, 1 + MIXED_FORK},
        {"throw away", throw_away, settle_deletion, 0},
        {"empty trash", empty_trash, settle_trash, 0},
        {"stop, start", stop_and_start, NULL, 0},
        {"edit", edit, NULL, 0},
};

static bool is_same_document(const struct mixed_document *a, const struct mixed_document *b)
{
        return a->is_there == b->is_there &&
                (!a->is_there ||
                        (a->revision == b->revision && a->tags_count == b->tags_count &&
                                memcmp(&a->digests, &b->digests, sizeof a->digests) == 0));
}

bool mixed_is_same(const struct mixed_state *found, const struct mixed_state *state)
{
        for (uint32_t i = 0; i < MIXED_NAMES; i++) {
                if (!is_same_document(&found->documents[i], &state->documents[i])) {
                        return false;
                }
        }
        return true;
}

uint32_t mixed_steps_count(void)
{
        return sizeof steps / sizeof steps[0];
}

const char *mixed_step_name(uint32_t step)
{
        return step < mixed_steps_count() ? steps[step].name : "end";
}

bool mixed_step(struct mixed_load *load, uint32_t step)
{
        cr_assert_lt(step, mixed_steps_count());
        load->doubt = 0;
        if (!steps[step].run(load)) {
                return false;
        }
        if (steps[step].settle != NULL) {
                steps[step].settle(load);
        }
        return true;
}

bool mixed_resolve(struct mixed_load *load, uint32_t step, const struct mixed_state *found)
{
        struct mixed_load other = *load; /* only its state is looked at */
        struct mixed_document *island = &other.state.documents[MIXED_ISLAND];
        const struct mixed_document *now = &found->documents[MIXED_ISLAND];
        if (steps[step].settle != NULL) {
                steps[step].settle(&other);
        }
        if (steps[step].makes != 0) {
                const uint32_t name = steps[step].makes - 1;
                other.state.documents[name] = found->documents[name];
                other.state.trash[name] += load->state.documents[name].is_there ? 0 : 1; /* made, and unmade again */
        }
        if (now->revision > island->revision && now->revision <= island->revision + load->doubt) {
                *island = *now;
        }
        if (!mixed_fits(found, &load->state, &other.state)) {
                return false;
        }
        load->thrown = other.thrown;
        load->state = *found;
        load->doubt = 0;
        return true;
}

void mixed_begin(struct mixed_load *load, const char *folder)
{
        *load = (struct mixed_load){.hub = {
                                            .utc_us = UINT64_C(1700000000000000),
                                            .monotonic_ms = 1000,
                                            .random = 42,
                                            .limits = SCN_LIMITS_DEFAULT,
                                            .fold_age_s = FOLD_DAYS * (DAY_US / 1000000),
                                            .keep_age_s = KEEP_DAYS * (DAY_US / 1000000),
                                    }};
        cr_assert_lt(snprintf(load->hub.path, sizeof load->hub.path, "%s/data", folder), (int)sizeof load->hub.path);
        load->backup = malloc(BACKUP_BYTES_MAX);
        cr_assert_not_null(load->backup);
}

void mixed_stop(struct mixed_load *load)
{
        leave(&load->ann);
        leave(&load->bob);
        if (load->hub.server != NULL) {
                hub_stop(&load->hub);
        }
}

void mixed_end(struct mixed_load *load)
{
        mixed_stop(load);
        free(load->backup);
}

bool mixed_restart(struct mixed_load *load)
{
        mixed_stop(load);
        return hub_try_restart(&load->hub);
}

/* --- Looking --- */

static void look_at_trash(struct scn_storage *storage, struct mixed_state *state, const char *what)
{
        struct scn_storage_list list;
        cr_assert_eq(scn_storage_list(storage, SCN_STORAGE_TRASH, &list, NULL), SCN_OK, "%s", what);
        for (size_t i = 0; i < list.count; i++) {
                for (uint32_t k = 0; k < MIXED_NAMES; k++) {
                        const struct scn_slice name = list.entries[i].name;
                        state->trash[k] += name.size == strlen(names[k]) && memcmp(name.data, names[k], name.size) == 0;
                }
        }
        scn_storage_list_finish(&list);
}

void mixed_history(struct mixed_load *load, scn_revision *judged_out, scn_revision *base_out)
{
        struct scn_journal_state state;
        cr_assert_eq(scn_journal_state(find_room(&load->hub, MIXED_ISLAND)->journal, &state, NULL), SCN_OK);
        *judged_out = state.judged;
        *base_out = state.base;
}

static uint32_t count_tags(struct scn_storage *storage, enum mixed_name name)
{
        static const struct scn_journal_options reading = {.mode = SCN_JOURNAL_READ};
        struct scn_journal *journal;
        struct scn_journal_tags tags;
        cr_assert_eq(scn_journal_open(storage, scene_text(names[name]), &reading, &journal, NULL), SCN_OK);
        cr_assert_eq(scn_journal_list_tags(journal, &tags, NULL), SCN_OK);
        const uint32_t count = (uint32_t)tags.count;
        scn_journal_tags_finish(&tags);
        scn_journal_close(journal);
        return count;
}

static void look_at(struct mixed_load *load, enum mixed_name name, const char *what)
{
        struct peer peer;
        struct scn_message message;
        cr_assert(enter(load, &peer, 30, name, false), "%s: %s cannot be opened", what, names[name]);
        note(load, name);
        load->state.documents[name].tags_count = count_tags(load->hub.server->storage, name);
        scn_message_init(&message, SCN_MESSAGE_verify);
        message.as.verify.request = REQUEST;
        cr_assert(ask(&peer, &message), "%s: %s is not right", what, names[name]);
        leave(&peer);
}

void mixed_look(const char *folder, uint64_t utc_us, struct mixed_state *state_out, const char *what)
{
        struct mixed_load load;
        mixed_begin(&load, folder);
        load.hub.utc_us = utc_us;
        load.hub.random = utc_us ^ (uint64_t)(uintptr_t)folder; /* epochs are not to be the same twice */
        cr_assert(hub_try_restart(&load.hub), "%s: the directory cannot be opened", what);
        for (uint32_t i = 0; i < MIXED_NAMES; i++) {
                if (scn_storage_find(load.hub.server->storage, scene_text(names[i]), NULL) == SCN_OK) {
                        look_at(&load, (enum mixed_name)i, what);
                }
        }
        look_at_trash(load.hub.server->storage, &load.state, what);
        *state_out = load.state;
        mixed_end(&load);
}

const char *mixed_difference(const struct mixed_state *found, const struct mixed_state *state)
{
        static char text[512];
        size_t size = 0;
        text[0] = '\0';
        for (uint32_t i = 0; i < MIXED_NAMES; i++) {
                const struct mixed_document *a = &found->documents[i], *b = &state->documents[i];
                if (!is_same_document(a, b) || found->trash[i] != state->trash[i]) {
                        size += (size_t)snprintf(text + size, sizeof text - size,
                                " %s: %d, revision %u, %u tags, %u in the trash, not %d, %u, %u, %u;", names[i],
                                a->is_there, (unsigned)a->revision, a->tags_count, found->trash[i], b->is_there,
                                (unsigned)b->revision, b->tags_count, state->trash[i]);
                }
        }
        return text;
}

bool mixed_fits(const struct mixed_state *found, const struct mixed_state *before, const struct mixed_state *after)
{
        for (uint32_t i = 0; i < MIXED_NAMES; i++) {
                const uint32_t a = before->trash[i], b = after->trash[i];
                if (found->trash[i] < (a < b ? a : b) || found->trash[i] > (a < b ? b : a)) {
                        return false;
                }
                /* Nothing is in neither place. */
                if (!found->documents[i].is_there && before->documents[i].is_there && b > a && found->trash[i] != b) {
                        return false;
                }
        }
        return mixed_is_same(found, before) || mixed_is_same(found, after);
}
