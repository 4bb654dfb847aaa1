/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/adopt.h"
#include "server/checkpoint.h"
#include "server/core.h"
#include "tests/lib/held.h"
#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PART_BYTES 40000u

/* A server with "island" of five revisions, and a copy of its file as it was at three. */
struct world {
        struct hub hub;
        struct peer ann;
        struct peer bob;
        uint8_t *file;
        uint32_t size;
        struct scn_digest digest;
};

/* Starts the server anew, so that nothing is open, beside a file that is no document. */
static void start_anew(struct world *world)
{
        char path[96];
        if (world->ann.session != NULL) {
                peer_close(&world->ann);
        }
        peer_close(&world->bob);
        hub_stop(&world->hub);
        (void)snprintf(path, sizeof path, "%s/foreign.scene", world->hub.path);
        FILE *file = fopen(path, "wb");
        cr_assert_geq(fputs("this is no document, and never was one", file), 0);
        cr_assert_eq(fclose(file), 0);
        hub_restart(&world->hub);
        peer_open(&world->bob, &world->hub, 2, "bob", "other");
}

static void edit(struct peer *peer, uint32_t uid)
{
        struct scn_op op = scene_add(1, uid, "node");
        peer_edit(peer, &op, 1);
        (void)peer_expect(peer, SCN_MESSAGE_applied);
}

static void take_backup(struct world *world)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_backup);
        message.as.backup.request = 1;
        peer_send(&world->ann, &message);
        world->file = malloc(4u << 20);
        do {
                message = peer_expect(&world->ann, SCN_MESSAGE_answer);
                struct scn_unpacker unpacker = scn_unpacker_from(message.as.answer.body);
                const struct scn_slice part = scn_unpack_bin(&unpacker, UINT32_MAX);
                memcpy(world->file + world->size, part.data, part.size);
                world->size += part.size;
        } while (message.as.answer.more);
}

static void begin(struct world *world)
{
        *world = (struct world){.size = 0};
        hub_start(&world->hub);
        peer_open(&world->ann, &world->hub, 1, "ann", "island");
        for (uint32_t i = 0; i < 3; i++) {
                edit(&world->ann, 50 + i);
        }
        world->digest = ask_digest(&world->ann);
        take_backup(world);
        edit(&world->ann, 60);
        edit(&world->ann, 61);
        peer_open(&world->bob, &world->hub, 2, "bob", "other");
}

static void finish(struct world *world)
{
        if (world->ann.session != NULL) {
                peer_close(&world->ann);
        }
        if (world->bob.session != NULL) {
                peer_close(&world->bob);
        }
        hub_finish(&world->hub);
        free(world->file);
}

static struct scn_message first_part(const struct world *world, const char *name, bool replace)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_adopt);
        message.as.adopt.request = 9;
        message.as.adopt.document = scene_text(name);
        message.as.adopt.bytes = world->size;
        message.as.adopt.replace = replace;
        return message;
}

/* Sends all of it at once, from some byte on, as if the server's answers did not matter. */
static void send_from(struct world *world, uint32_t at, const char *name, bool replace)
{
        struct scn_message message = first_part(world, name, replace);
        for (; at < world->size; at += PART_BYTES) {
                const uint32_t left = world->size - at;
                message.as.adopt.part = (struct scn_slice){world->file + at, left < PART_BYTES ? left : PART_BYTES};
                message.as.adopt.more = left > PART_BYTES;
                peer_send(&world->bob, &message);
        }
}

static uint64_t expect_placed(struct peer *peer)
{
        struct scn_message message;
        do {
                message = peer_expect(peer, SCN_MESSAGE_answer);
                cr_assert_eq(message.as.answer.request, 9);
        } while (message.as.answer.more);
        struct scn_unpacker unpacker = scn_unpacker_from(message.as.answer.body);
        cr_assert_eq(scn_unpack_map(&unpacker), 3);
        (void)scn_unpack_raw(&unpacker);
        (void)scn_unpack_raw(&unpacker);
        (void)scn_unpack_raw(&unpacker);
        return scn_unpack_uint(&unpacker, UINT32_MAX);
}

static uint32_t count_hidden(const struct world *world)
{
        DIR *directory = opendir(world->hub.path);
        struct dirent *entry;
        uint32_t count = 0;
        while ((entry = readdir(directory)) != NULL) {
                count += entry->d_name[0] == '.' && strlen(entry->d_name) > 2;
        }
        (void)closedir(directory);
        return count;
}

/* The state of a document as somebody sees who opens it now. */
static void expect_state(struct world *world, const char *name, struct scn_digest digest)
{
        struct peer peer;
        peer_open(&peer, &world->hub, 30, "cy", name);
        const struct scn_digest now = ask_digest(&peer);
        cr_assert(now.low == digest.low && now.high == digest.high);
        peer_close(&peer);
}

SCN_TEST(adopt, makes_a_document_of_what_is_sent)
{
        struct world world;
        begin(&world);
        send_from(&world, 0, "copy", false);
        cr_assert_eq(expect_placed(&world.bob), 3);
        expect_state(&world, "copy", world.digest);
        cr_assert_eq(count_hidden(&world), 0);
        /* And again, on the same connection. */
        send_from(&world, 0, "another", false);
        cr_assert_eq(expect_placed(&world.bob), 3);
        finish(&world);
}

SCN_TEST(adopt, answers_each_part_with_what_it_has)
{
        struct world world;
        begin(&world);
        struct scn_message message = first_part(&world, "copy", false);
        message.as.adopt.part = (struct scn_slice){world.file, 100};
        message.as.adopt.more = true;
        peer_send(&world.bob, &message);
        message = peer_expect(&world.bob, SCN_MESSAGE_answer);
        cr_assert(message.as.answer.more);
        cr_assert(message.as.answer.body.size == 11 && message.as.answer.body.data[10] == 100);
        finish(&world);
}

SCN_TEST(adopt, refuses_a_name_that_a_document_has_and_changes_nothing)
{
        struct world world;
        begin(&world);
        const struct scn_digest before = ask_digest(&world.ann);
        send_from(&world, 0, "island", false);
        peer_expect_code(&world.bob, SCN_MESSAGE_failed, "document_exists");
        const struct scn_digest after = ask_digest(&world.ann);
        cr_assert(before.low == after.low);
        cr_assert_eq(count_hidden(&world), 0);
        cr_assert_eq(world.hub.server->adopts_count, 0);
        finish(&world);
}

/* One byte in a payload: SQLite sees nothing, the checksums do. */
static void damage(struct world *world)
{
        uint32_t at = world->size - 4; /* the schema, where the word is, too, comes first */
        while (at > 0 && memcmp(world->file + at, "node", 4) != 0) {
                at--;
        }
        cr_assert_gt(at, 0);
        world->file[at] = 'm';
}

/* Of a file of many parts: nobody wants to hear it at the end. */
SCN_TEST(adopt, refuses_a_name_with_the_first_part)
{
        uint8_t slashes[200];
        struct world world;
        memset(slashes, '/', sizeof slashes);
        begin(&world);
        struct scn_message message = first_part(&world, "island", false);
        message.as.adopt.part = (struct scn_slice){world.file, 100};
        message.as.adopt.more = true;
        peer_send(&world.bob, &message);
        peer_expect_code(&world.bob, SCN_MESSAGE_failed, "document_exists");
        message.as.adopt.more = false;
        peer_send(&world.bob, &message);
        peer_expect_code(&world.bob, SCN_MESSAGE_failed, "out_of_turn");
        message.as.adopt.more = true;
        message.as.adopt.replace = true;
        message.as.adopt.document = (struct scn_slice){slashes, sizeof slashes}; /* each is longer in a file's name */
        peer_send(&world.bob, &message);
        peer_expect_code(&world.bob, SCN_MESSAGE_failed, "bad_name");
        cr_assert_eq(count_hidden(&world), 0);
        finish(&world);
}

/* Sends the file but for the last part, which is given back. */
static struct scn_message send_all_but_the_last(struct world *world, const char *name, bool replace)
{
        struct scn_message message = first_part(world, name, replace);
        message.as.adopt.part = (struct scn_slice){world->file, world->size - 100};
        message.as.adopt.more = true;
        peer_send(&world->bob, &message);
        (void)peer_expect(&world->bob, SCN_MESSAGE_answer);
        message.as.adopt.part = (struct scn_slice){world->file + world->size - 100, 100};
        message.as.adopt.more = false;
        return message;
}

SCN_TEST(adopt, that_would_end_its_own_session_ends_nobodys)
{
        struct world world;
        begin(&world);
        peer_close(&world.bob);
        peer_greet(&world.bob, &world.hub, 3, NULL);
        const struct scn_message last = send_all_but_the_last(&world, "island", true);
        peer_ask_open(&world.bob, "island", false);
        (void)peer_expect(&world.bob, SCN_MESSAGE_opened);
        peer_send(&world.bob, &last);
        peer_expect_code(&world.bob, SCN_MESSAGE_failed, "out_of_turn");
        cr_assert_eq(world.hub.warnings_logged, 0, "the file is a good one: %s", world.hub.warning);
        cr_assert_not(peer_has_ended(&world.bob));
        cr_assert_not(peer_has_ended(&world.ann));
        cr_assert_eq(count_hidden(&world), 0);
        finish(&world);
}

static struct scn_message manage(const char *action, const char *name, const char *to)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_manage);
        message.as.manage.request = 40;
        message.as.manage.action = scene_text(action);
        message.as.manage.document = scene_text(name);
        message.as.manage.to = scene_text(to);
        return message;
}

/* While the old one goes to the trash its name is free for a moment. */
SCN_TEST(adopt, lets_nothing_else_take_the_name_of_what_is_being_replaced)
{
        struct world world;
        struct peer cy;
        begin(&world);
        peer_open(&cy, &world.hub, 3, "cy", "third");
        send_from(&world, 0, "island", true);
        peer_expect_code(&world.ann, SCN_MESSAGE_failed, "replaced");
        hub_run(&world.hub);
        cr_assert(scn_adopt_is_replacing(world.hub.server, scene_text("island")));
        struct scn_message message = manage("rename", "unused", "island");
        peer_send(&cy, &message);
        peer_expect_code(&cy, SCN_MESSAGE_failed, "busy");
        message = manage("create", "island", "");
        peer_send(&cy, &message);
        peer_expect_code(&cy, SCN_MESSAGE_failed, "busy");
        scn_message_init(&message, SCN_MESSAGE_fork);
        message.as.fork.request = 41;
        message.as.fork.to = scene_text("island");
        peer_send(&cy, &message);
        peer_expect_code(&cy, SCN_MESSAGE_failed, "busy");
        message = first_part(&world, "island", false);
        message.as.adopt.part = (struct scn_slice){world.file, world.size};
        peer_send(&cy, &message);
        peer_expect_code(&cy, SCN_MESSAGE_failed, "document_exists");
        peer_close(&world.ann);
        cr_assert_eq(expect_placed(&world.bob), 3);
        peer_close(&cy);
        finish(&world);
}

/* A rename is on its way to the name when the file is ready: the file comes after it. */
SCN_TEST(adopt, waits_for_what_is_under_way_with_the_name)
{
        struct world world;
        struct peer cy;
        begin(&world);
        peer_open(&cy, &world.hub, 3, "cy", "third");
        const struct scn_message last = send_all_but_the_last(&world, "new", true);
        peer_send(&world.bob, &last);
        while (!world.hub.server->has_check) {
                cr_assert(hub_step(&world.hub));
        }
        struct scn_message message = manage("create", "new", "");
        peer_send(&cy, &message);
        /* The check, then what the worker of the rename has not begun: the disk is slow today. */
        struct scn_job *slow = world.hub.jobs[world.hub.jobs_count - 1];
        world.hub.jobs_count--;
        hub_run(&world.hub);
        cr_assert(scn_adopt_is_replacing(world.hub.server, scene_text("new")));
        slow->run(slow);
        slow->done(slow);
        (void)peer_expect(&cy, SCN_MESSAGE_answer);
        cr_assert_eq(expect_placed(&world.bob), 3);
        expect_state(&world, "new", world.digest);
        peer_close(&cy);
        finish(&world);
}

SCN_TEST(adopt, may_be_followed_by_another_before_the_first_is_cleared_away)
{
        struct world world;
        begin(&world);
        struct scn_message message = first_part(&world, "copy", false);
        message.as.adopt.part = (struct scn_slice){world.file, 100};
        message.as.adopt.more = true;
        peer_send(&world.bob, &message);
        (void)peer_expect(&world.bob, SCN_MESSAGE_answer);
        /* Too much: that fails at once, and its file is for a worker to remove. */
        message.as.adopt.part.size = world.size;
        message.as.adopt.more = false;
        peer_send(&world.bob, &message);
        cr_assert_eq(world.hub.jobs_count, 1);
        struct scn_job *slow = world.hub.jobs[0];
        world.hub.jobs_count = 0;
        peer_expect_code(&world.bob, SCN_MESSAGE_failed, "range");
        send_from(&world, 0, "copy", false);
        cr_assert_eq(expect_placed(&world.bob), 3);
        slow->run(slow);
        slow->done(slow);
        cr_assert_eq(count_hidden(&world), 0);
        finish(&world);
}

SCN_TEST(adopt, takes_nothing_while_the_disk_is_low)
{
        struct world world;
        begin(&world);
        struct scn_message message = first_part(&world, "copy", false);
        message.as.adopt.part = (struct scn_slice){world.file, 100};
        message.as.adopt.more = true;
        peer_send(&world.bob, &message);
        (void)peer_expect(&world.bob, SCN_MESSAGE_answer);
        world.hub.server->is_low = true;
        message.as.adopt.more = false;
        peer_send(&world.bob, &message);
        peer_expect_code(&world.bob, SCN_MESSAGE_failed, "storage_full");
        cr_assert_eq(count_hidden(&world), 0);
        peer_send(&world.bob, &message);
        peer_expect_code(&world.bob, SCN_MESSAGE_failed, "storage_full");
        world.hub.server->is_low = false;
        send_from(&world, 0, "copy", false);
        cr_assert_eq(expect_placed(&world.bob), 3);
        finish(&world);
}

SCN_TEST(adopt, leaves_the_servers_reserve_free)
{
        struct world world;
        begin(&world);
        peer_close(&world.ann);
        peer_close(&world.bob);
        hub_stop(&world.hub);
        world.hub.reserve_bytes = UINT64_C(1) << 60;
        hub_restart(&world.hub);
        peer_open(&world.bob, &world.hub, 2, "bob", "other");
        send_from(&world, 0, "copy", false);
        peer_expect_code(&world.bob, SCN_MESSAGE_failed, "storage_full");
        finish(&world);
}

/* It is damaged, which would be said. */
SCN_TEST(adopt, that_nobody_waits_for_is_not_checked_to_the_end)
{
        struct world world;
        begin(&world);
        damage(&world);
        for (int is_stopping = 0; is_stopping < 2; is_stopping++) {
                struct peer dee;
                peer_open(&dee, &world.hub, 20, "dee", "other");
                struct scn_message message = first_part(&world, "copy", false);
                message.as.adopt.part = (struct scn_slice){world.file, world.size};
                peer_send(&dee, &message);
                while (!world.hub.server->has_check) {
                        cr_assert(hub_step(&world.hub));
                }
                cr_assert_eq(world.hub.server->history_jobs_count[SCN_HISTORY_QUESTION], 0);
                if (is_stopping) {
                        scn_server_stop(world.hub.server);
                } else {
                        peer_close(&dee);
                }
                const size_t warnings = world.hub.warnings_logged;
                struct scn_job *job = world.hub.jobs[0];
                world.hub.jobs_count--;
                memmove(&world.hub.jobs[0], &world.hub.jobs[1], world.hub.jobs_count * sizeof world.hub.jobs[0]);
                job->run(job);
                job->done(job);
                hub_run(&world.hub);
                cr_assert_eq(world.hub.warnings_logged, warnings);
                cr_assert_not(world.hub.server->has_check);
                cr_assert_eq(count_hidden(&world), 0);
                if (is_stopping) {
                        peer_close(&dee);
                }
        }
        finish(&world);
}

SCN_TEST(adopt, checks_one_file_at_a_time)
{
        struct world world;
        struct peer dee;
        begin(&world);
        peer_open(&dee, &world.hub, 20, "dee", "other");
        struct scn_message message = first_part(&world, "first", false);
        message.as.adopt.part = (struct scn_slice){world.file, world.size};
        peer_send(&dee, &message);
        message.as.adopt.document = scene_text("second");
        peer_send(&world.bob, &message);
        while (!world.hub.server->has_check) {
                cr_assert(hub_step(&world.hub));
        }
        /* While the first check lasts. */
        struct scn_job *slow = world.hub.jobs[world.hub.jobs_count - 1];
        world.hub.jobs_count--;
        hub_run(&world.hub);
        cr_assert_eq(scn_storage_find(world.hub.server->storage, scene_text("second"), NULL), SCN_E_NO_DOCUMENT);
        slow->run(slow);
        slow->done(slow);
        cr_assert_eq(expect_placed(&dee), 3);
        cr_assert_eq(expect_placed(&world.bob), 3);
        peer_close(&dee);
        finish(&world);
}

SCN_TEST(adopt, that_replaces_ends_the_sessions_of_the_old_document_with_the_reason)
{
        struct world world;
        begin(&world);
        uint64_t epoch = world.ann.session->room->epoch;
        send_from(&world, 0, "island", true);
        peer_expect_code(&world.ann, SCN_MESSAGE_failed, "replaced");
        cr_assert(peer_has_ended(&world.ann));
        hub_run(&world.hub);
        /* As long as somebody is still there the old document is, and nobody comes in. */
        cr_assert(scn_adopt_is_replacing(world.hub.server, scene_text("island")));
        peer_close(&world.ann);
        cr_assert_eq(expect_placed(&world.bob), 3);
        peer_open(&world.ann, &world.hub, 1, "ann", "island");
        cr_assert_neq(world.ann.session->room->epoch, epoch);
        cr_assert_eq(world.ann.session->room->durable, 3);
        expect_state(&world, "island", world.digest);
        peer_close(&world.ann);
        finish(&world);
}

/* A checkpoint that was told to stop must not be begun again and again instead. */
SCN_TEST(adopt, replaces_a_document_of_which_a_checkpoint_is_due)
{
        struct world world;
        begin(&world);
        struct scn_room *room = world.ann.session->room;
        send_from(&world, 0, "island", true);
        peer_expect_code(&world.ann, SCN_MESSAGE_failed, "replaced");
        hub_run(&world.hub);
        room->gathered_bytes = 4 * SCN_CHECKPOINT_DUE_BYTES;
        scn_room_tick(room);
        hub_run(&world.hub);
        peer_close(&world.ann);
        cr_assert_eq(expect_placed(&world.bob), 3);
        peer_open(&world.ann, &world.hub, 1, "ann", "island");
        expect_state(&world, "island", world.digest);
        finish(&world);
}

SCN_TEST(adopt, lets_nobody_open_what_is_being_replaced)
{
        struct world world;
        struct peer cy;
        begin(&world);
        send_from(&world, 0, "island", true);
        peer_expect_code(&world.ann, SCN_MESSAGE_failed, "replaced");
        peer_greet(&cy, &world.hub, 3, NULL);
        peer_ask_open(&cy, "island", false);
        peer_expect_code(&cy, SCN_MESSAGE_failed, "busy");
        peer_close(&world.ann);
        (void)expect_placed(&world.bob);
        peer_ask_open(&cy, "island", false);
        (void)peer_expect(&cy, SCN_MESSAGE_opened);
        peer_close(&cy);
        finish(&world);
}

SCN_TEST(adopt, refuses_a_file_with_a_wrong_byte_and_goes_on)
{
        struct world world;
        begin(&world);
        damage(&world);
        send_from(&world, 0, "island", true);
        peer_expect_code(&world.bob, SCN_MESSAGE_failed, "corrupt");
        cr_assert_not(peer_has_ended(&world.ann));
        cr_assert_eq(world.hub.warnings_logged, 1);
        cr_assert_not_null(strstr(world.hub.warning, "document island: a file was refused: "), "%s", world.hub.warning);
        cr_assert_eq(count_hidden(&world), 0);
        finish(&world);
}

/* Parts that somebody sent before he heard, or a file begun anew under the same number too early. */
SCN_TEST(adopt, answers_each_part_of_what_it_has_refused_up_to_the_last)
{
        struct world world;
        begin(&world);
        struct scn_message message = first_part(&world, "", false);
        message.as.adopt.part = (struct scn_slice){world.file, 100};
        message.as.adopt.more = true;
        peer_send(&world.bob, &message);
        peer_expect_code(&world.bob, SCN_MESSAGE_failed, "bad_name");
        send_from(&world, 100, "copy", false);
        for (uint32_t at = 100; at < world.size; at += PART_BYTES) {
                peer_expect_code(&world.bob, SCN_MESSAGE_failed, "out_of_turn");
        }
        cr_assert_not(peer_receive(&world.bob, &message));
        cr_assert_eq(count_hidden(&world), 0);
        /* The last part has come: what follows under this number is another file. */
        send_from(&world, 0, "copy", false);
        cr_assert_eq(expect_placed(&world.bob), 3);
        finish(&world);
}

/* A part of request 8 of which no more can be read than, perhaps, that. */
static void send_unread(struct peer *peer, bool has_request)
{
        peer_send_bytes(peer, has_request ? "\xc4\x03\x92\x1e\x08" : "\xc4\x03\x92\x1e\xc0", 5);
        (void)peer_expect(peer, SCN_MESSAGE_failed);
}

static void expect_passed_over(struct world *world, struct scn_message *message, bool more)
{
        message->as.adopt.more = more;
        peer_send(&world->bob, message);
        peer_expect_code(&world->bob, SCN_MESSAGE_failed, "out_of_turn");
}

static void expect_another(struct world *world, struct scn_message *message)
{
        struct scn_message said;
        cr_assert_not(peer_receive(&world->bob, &said));
        cr_assert_eq(count_hidden(world), 0);
        message->as.adopt.request = 9;
        message->as.adopt.part = (struct scn_slice){world->file, world->size};
        message->as.adopt.more = false;
        peer_send(&world->bob, message);
        cr_assert_eq(expect_placed(&world->bob), 3);
}

/* The first, one in the middle, the last: it is over, and the next file can come. */
SCN_TEST(adopt, is_over_with_a_part_that_cannot_be_read)
{
        for (int at = 0; at < 3; at++) {
                for (int has_request = 0; has_request < 2; has_request++) {
                        struct world world;
                        begin(&world);
                        struct scn_message message = first_part(&world, "copy", false);
                        message.as.adopt.request = 8;
                        message.as.adopt.part = (struct scn_slice){world.file, 100};
                        message.as.adopt.more = true;
                        if (at > 0) {
                                peer_send(&world.bob, &message);
                                (void)peer_expect(&world.bob, SCN_MESSAGE_answer);
                        }
                        send_unread(&world.bob, has_request);
                        if (at < 2) {
                                expect_passed_over(&world, &message, true);
                                expect_passed_over(&world, &message, false);
                        }
                        expect_another(&world, &message);
                        finish(&world);
                }
        }
}

SCN_TEST(adopt, passes_over_all_of_a_file_that_was_begun_before_the_one_before_was_complete)
{
        struct world world;
        begin(&world);
        struct scn_message message = send_all_but_the_last(&world, "copy", false);
        struct scn_message other = first_part(&world, "third", false);
        other.as.adopt.request = 8;
        other.as.adopt.part = (struct scn_slice){world.file, 100};
        expect_passed_over(&world, &other, true);
        peer_send(&world.bob, &message);
        cr_assert_eq(expect_placed(&world.bob), 3);
        expect_passed_over(&world, &other, false);
        expect_another(&world, &other);
        finish(&world);
}

SCN_TEST(adopt, takes_from_the_first_part_what_stands_in_all)
{
        struct world world;
        begin(&world);
        struct scn_message message = send_all_but_the_last(&world, "copy", false);
        message.as.adopt.document = scene_text("island");
        message.as.adopt.bytes = world.size + 1;
        message.as.adopt.replace = true;
        peer_send(&world.bob, &message);
        cr_assert_eq(expect_placed(&world.bob), 3);
        cr_assert_not(peer_has_ended(&world.ann));
        expect_state(&world, "copy", world.digest);
        finish(&world);
}

SCN_TEST(adopt, refuses_more_and_less_than_was_said)
{
        struct world world;
        begin(&world);
        world.size--;
        struct scn_message message = first_part(&world, "copy", false);
        message.as.adopt.part = (struct scn_slice){world.file, world.size + 1};
        peer_send(&world.bob, &message);
        peer_expect_code(&world.bob, SCN_MESSAGE_failed, "range");
        message.as.adopt.part.size = world.size - 1;
        peer_send(&world.bob, &message);
        peer_expect_code(&world.bob, SCN_MESSAGE_failed, "range");
        cr_assert_eq(count_hidden(&world), 0);
        finish(&world);
}

SCN_TEST(adopt, refuses_an_empty_part_that_is_not_the_last)
{
        struct world world;
        begin(&world);
        struct scn_message message = first_part(&world, "copy", false);
        message.as.adopt.part = (struct scn_slice){world.file, 0};
        message.as.adopt.more = true;
        peer_send(&world.bob, &message);
        peer_expect_code(&world.bob, SCN_MESSAGE_failed, "range");
        cr_assert_eq(count_hidden(&world), 0);
        finish(&world);
}

SCN_TEST(adopt, takes_one_file_at_a_time_from_a_session)
{
        struct world world;
        begin(&world);
        struct scn_message message = first_part(&world, "copy", false);
        message.as.adopt.part = (struct scn_slice){world.file, 100};
        message.as.adopt.more = true;
        peer_send(&world.bob, &message);
        message.as.adopt.request = 10;
        message.as.adopt.more = false;
        peer_send(&world.bob, &message);
        peer_expect_code(&world.bob, SCN_MESSAGE_failed, "out_of_turn");
        send_from(&world, 100, "copy", false);
        cr_assert_eq(expect_placed(&world.bob), 3);
        finish(&world);
}

SCN_TEST(adopt, has_a_cap_over_all_and_a_limit_for_each)
{
        struct world world;
        struct peer peers[SCN_ADOPTS_MAX];
        begin(&world);
        struct scn_message message = first_part(&world, "copy", false);
        message.as.adopt.part = (struct scn_slice){world.file, 100};
        message.as.adopt.more = true;
        for (uint32_t i = 0; i < SCN_ADOPTS_MAX; i++) {
                peer_open(&peers[i], &world.hub, 10 + i, "dee", "other");
                peer_send(&peers[i], &message);
                (void)peer_expect(&peers[i], SCN_MESSAGE_answer);
        }
        cr_assert_eq(count_hidden(&world), SCN_ADOPTS_MAX);
        message.as.adopt.more = false;
        peer_send(&world.bob, &message);
        peer_expect_text(&world.bob, SCN_MESSAGE_failed, "document copy: the server receives 4 files at a time");
        for (uint32_t i = 0; i < SCN_ADOPTS_MAX; i++) {
                peer_close(&peers[i]);
        }
        hub_run(&world.hub);
        cr_assert_eq(count_hidden(&world), 0);
        world.hub.server->options.file_bytes_max = world.size;
        send_from(&world, 0, "copy", false);
        cr_assert_eq(expect_placed(&world.bob), 3);
        world.hub.server->options.file_bytes_max = world.size - 1;
        message.as.adopt.document = scene_text("another");
        peer_send(&world.bob, &message);
        peer_expect_code(&world.bob, SCN_MESSAGE_failed, "too_large");
        finish(&world);
}

SCN_TEST(adopt, says_that_the_server_stops_where_it_does)
{
        struct world world;
        begin(&world);
        struct scn_message message = first_part(&world, "copy", false);
        message.as.adopt.part = (struct scn_slice){world.file, 100};
        message.as.adopt.more = true;
        world.hub.server->is_stopping = true;
        peer_send(&world.bob, &message);
        peer_expect_code(&world.bob, SCN_MESSAGE_failed, "stopping");
        world.hub.server->is_stopping = false;
        finish(&world);
}

SCN_TEST(adopt, that_no_more_comes_of_is_given_up)
{
        struct world world;
        begin(&world);
        struct scn_message message = first_part(&world, "copy", false);
        message.as.adopt.part = (struct scn_slice){world.file, 100};
        message.as.adopt.more = true;
        peer_send(&world.bob, &message);
        (void)peer_expect(&world.bob, SCN_MESSAGE_answer);
        world.hub.monotonic_ms += SCN_NO_PROGRESS_MS;
        scn_server_tick(world.hub.server);
        cr_assert_eq(count_hidden(&world), 1);
        world.hub.monotonic_ms += 1;
        scn_server_tick(world.hub.server);
        peer_expect_code(&world.bob, SCN_MESSAGE_failed, "silent");
        cr_assert_eq(count_hidden(&world), 0);
        finish(&world);
}

/* Whoever sends too little for too long holds a place that others want. */
SCN_TEST(adopt, that_comes_too_slowly_is_given_up)
{
        static const uint8_t bytes[SCN_FILE_PROGRESS_BYTES];
        struct world world;
        begin(&world);
        struct scn_message message = first_part(&world, "copy", false);
        message.as.adopt.bytes = 3 * sizeof bytes;
        message.as.adopt.part = (struct scn_slice){bytes, sizeof bytes};
        message.as.adopt.more = true;
        peer_send(&world.bob, &message);
        (void)peer_expect(&world.bob, SCN_MESSAGE_answer);
        /* All that is wanted, in the last moment; then a byte less. */
        for (uint32_t i = 0; i < 3; i++) {
                world.hub.monotonic_ms += i < 2 ? SCN_NO_PROGRESS_MS / 2 : SCN_NO_PROGRESS_MS;
                scn_server_tick(world.hub.server);
                message.as.adopt.part = (struct scn_slice){bytes, i != 1 ? sizeof bytes - 1 : 1};
                peer_send(&world.bob, &message);
                (void)peer_expect(&world.bob, SCN_MESSAGE_answer);
        }
        world.hub.monotonic_ms += 1;
        scn_server_tick(world.hub.server);
        peer_expect_code(&world.bob, SCN_MESSAGE_failed, "silent");
        finish(&world);
}

SCN_TEST(adopt, of_a_connection_that_goes_leaves_nothing_wherever_it_is)
{
        struct world world;
        begin(&world);
        for (int steps = 0; steps < 12; steps++) {
                struct peer dee;
                peer_open(&dee, &world.hub, 20, "dee", "other");
                struct scn_message message = first_part(&world, "copy", true);
                message.as.adopt.part = (struct scn_slice){world.file, world.size};
                peer_send(&dee, &message);
                for (int i = 0; i < steps; i++) {
                        (void)hub_step(&world.hub);
                }
                peer_close(&dee);
                hub_run(&world.hub);
                cr_assert_eq(world.hub.server->adopts_count, 0);
                cr_assert_eq(count_hidden(&world), 0);
        }
        finish(&world);
}

SCN_TEST(documents, are_told_with_their_state_without_being_opened)
{
        struct world world;
        struct scn_message message;
        begin(&world);
        const uint64_t epoch = world.ann.session->room->epoch;
        const struct scn_uid uid = scn_document_uid(world.ann.session->room->document);
        peer_close(&world.ann);
        start_anew(&world);
        scn_message_init(&message, SCN_MESSAGE_documents);
        message.as.documents.request = 5;
        message.as.documents.states = true;
        peer_send(&world.bob, &message);
        message = peer_expect(&world.bob, SCN_MESSAGE_answer);
        struct scn_unpacker unpacker = scn_unpacker_from(message.as.answer.body);
        cr_assert_eq(scn_unpack_array(&unpacker), 3);
        (void)scn_unpack_raw(&unpacker); /* "foreign": see below */
        cr_assert_eq(scn_unpack_map(&unpacker), 4);
        (void)scn_unpack_raw(&unpacker);
        (void)scn_unpack_raw(&unpacker);
        (void)scn_unpack_raw(&unpacker);
        const struct scn_slice told_uid = scn_unpack_bin(&unpacker, 16);
        cr_assert_eq(memcmp(told_uid.data, uid.bytes, 16), 0);
        (void)scn_unpack_raw(&unpacker);
        cr_assert_eq(scn_unpack_uint(&unpacker, UINT32_MAX), 5);
        (void)scn_unpack_raw(&unpacker);
        cr_assert_eq(memcmp(scn_unpack_bin(&unpacker, 8).data, &epoch, 8), 0);
        cr_assert_null(scn_server_find_room(world.hub.server, scene_text("island")));
        finish(&world);
}

SCN_TEST(documents, that_cannot_be_read_are_told_with_the_reason)
{
        struct world world;
        struct scn_message message;
        begin(&world);
        start_anew(&world);
        scn_message_init(&message, SCN_MESSAGE_documents);
        message.as.documents.request = 5;
        message.as.documents.states = true;
        peer_send(&world.bob, &message);
        message = peer_expect(&world.bob, SCN_MESSAGE_answer);
        struct scn_unpacker unpacker = scn_unpacker_from(message.as.answer.body);
        (void)scn_unpack_array(&unpacker);
        cr_assert_eq(scn_unpack_map(&unpacker), 2);
        (void)scn_unpack_raw(&unpacker);
        (void)scn_unpack_raw(&unpacker);
        (void)scn_unpack_raw(&unpacker);
        const struct scn_slice code = scn_unpack_text(&unpacker, UINT32_MAX);
        cr_assert(code.size == 14 && memcmp(code.data, "not_a_document", 14) == 0);
        finish(&world);
}

/* Each opens every file there is: the others' batches need workers, too. */
SCN_TEST(documents, are_looked_into_for_one_at_a_time)
{
        struct world world;
        struct peer peers[3];
        struct scn_message message;
        begin(&world);
        for (uint32_t i = 0; i < 3; i++) {
                peer_open(&peers[i], &world.hub, 10 + i, "dee", "other");
        }
        hub_run(&world.hub);
        scn_message_init(&message, SCN_MESSAGE_documents);
        message.as.documents.request = 5;
        message.as.documents.states = true;
        for (uint32_t i = 0; i < 3; i++) {
                peer_send(&peers[i], &message);
        }
        cr_assert_eq(world.hub.jobs_count, 1);
        message.as.documents.states = false;
        peer_send(&world.bob, &message); /* names alone are told meanwhile */
        cr_assert_eq(world.hub.jobs_count, 2);
        (void)peer_expect(&world.bob, SCN_MESSAGE_answer);
        for (uint32_t i = 0; i < 3; i++) {
                (void)peer_expect(&peers[i], SCN_MESSAGE_answer);
                peer_close(&peers[i]);
        }
        cr_assert_not(world.hub.server->has_listing);
        finish(&world);
}
