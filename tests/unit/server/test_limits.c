/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Limits of the server at their edges: at one all works, one more is refused by name and changes nothing. Limits of one
 * thing stand with its own tests. */

#include "protocol/wire/live.h"
#include "server/batch.h"
#include "server/core.h"
#include "tests/lib/asking.h"
#include "tests/lib/hub.h"
#include "tests/lib/live.h"
#include "tests/lib/scene.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static struct scn_room *room_of(const struct hub *hub)
{
        return hub->server->rooms;
}

/* A hub with one peer. */
static void start(struct hub *hub, struct peer *ann)
{
        hub_start(hub);
        peer_open(ann, hub, 1, "ann", "isle");
}

static void finish(struct hub *hub, struct peer *ann)
{
        peer_close(ann);
        hub_finish(hub);
}

static bool has_text(struct scn_slice text, const char *part)
{
        char copy[2048];
        cr_assert_lt(text.size, sizeof copy);
        memcpy(copy, text.data, text.size);
        copy[text.size] = '\0';
        return strstr(copy, part) != NULL;
}

static void expect_failed(struct peer *peer, const char *code, const char *text)
{
        struct scn_message message;
        cr_assert(peer_receive(peer, &message));
        cr_assert_eq(message.kind, SCN_MESSAGE_failed);
        const struct scn_message_failed *failed = &message.as.failed;
        cr_assert(failed->code.size == strlen(code) && memcmp(failed->code.data, code, failed->code.size) == 0,
                "%.*s, not %s", (int)failed->code.size, (const char *)failed->code.data, code);
        cr_assert(has_text(failed->text, text), "%.*s", (int)failed->text.size, (const char *)failed->text.data);
}

static void expect_applied(struct peer *peer, uint32_t count)
{
        while (count-- > 0) {
                (void)peer_expect(peer, SCN_MESSAGE_applied);
        }
}

/* --- The greeting --- */

static void greet(struct peer *peer, struct hub *hub, uint32_t name_size, uint64_t ping)
{
        static uint8_t name[1000];
        struct scn_message message;
        memset(name, 'a', sizeof name);
        peer_connect(peer, hub);
        peer_send_bytes(peer, scn_preface, SCN_PREFACE_BYTES);
        scn_message_init(&message, SCN_MESSAGE_hello);
        message.as.hello.version = SCN_PROTOCOL_VERSION;
        message.as.hello.client = scene_client(9);
        message.as.hello.name = (struct scn_slice){name, name_size};
        message.as.hello.ping = ping;
        peer_send(peer, &message);
}

SCN_TEST(greeting, tells_every_limit_of_the_tables)
{
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        hub.server->options.limits.nodes_max = 77;
        greet(&ann, &hub, 3, SCN_ABSENT);
        const struct scn_slice limits = peer_expect(&ann, SCN_MESSAGE_welcome).as.welcome.limits;
#define EXPECT(name, value, what) cr_assert_eq(asking_member(limits, #name), value, #name);
        SCN_SERVER_LIMIT_LIST(EXPECT)
        SCN_LIVE_LIMIT_LIST(EXPECT)
#undef EXPECT
#define EXPECT(name, value, what) cr_assert_eq(asking_member(limits, #name), hub.server->options.limits.name, #name);
        SCN_LIMIT_LIST(EXPECT)
#undef EXPECT
        cr_assert_eq(asking_member(limits, "nodes_max"), 77, "what is in force");
        cr_assert_eq(asking_member(limits, "file_bytes_max"), SCN_FILE_BYTES_MAX);
        finish(&hub, &ann);
}

SCN_TEST(greeting, takes_an_authors_name_up_to_its_limit)
{
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        greet(&ann, &hub, 256, SCN_ABSENT);
        (void)peer_expect(&ann, SCN_MESSAGE_welcome);
        cr_assert_eq(ann.session->author_size, 256);
        peer_close(&ann);
        greet(&ann, &hub, 257, SCN_ABSENT);
        expect_failed(&ann, "range", "author_bytes_max");
        cr_assert(peer_has_ended(&ann));
        finish(&hub, &ann);
}

/* --- Sessions, documents --- */

SCN_TEST(sessions, are_so_many_at_the_most)
{
        static struct scn_session *sessions[SCN_SESSIONS_MAX];
        struct hub hub;
        hub_start(&hub);
        for (uint32_t i = 0; i < SCN_SESSIONS_MAX; i++) {
                sessions[i] = scn_session_create(hub.server, NULL);
                cr_assert_not_null(sessions[i], "%u", i);
        }
        cr_assert_null(scn_session_create(hub.server, NULL));
        scn_session_destroy(sessions[0]);
        sessions[0] = scn_session_create(hub.server, NULL);
        cr_assert_not_null(sessions[0], "one has gone");
        for (uint32_t i = 0; i < SCN_SESSIONS_MAX; i++) {
                scn_session_destroy(sessions[i]);
        }
        hub_finish(&hub);
}

static void ask_to_open(struct peer *peer, struct scn_slice name)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_open);
        message.as.open.request = 1;
        message.as.open.document = name;
        message.as.open.create = true;
        peer_send(peer, &message);
}

SCN_TEST(documents, are_open_so_many_at_the_same_time_at_the_most)
{
        struct hub hub;
        struct peer ann;
        struct peer bob;
        start(&hub, &ann);
        hub.server->rooms_count += SCN_ROOMS_MAX - 1; /* ten thousand files would take their time */
        greet(&bob, &hub, 3, SCN_ABSENT);
        (void)peer_expect(&bob, SCN_MESSAGE_welcome);
        ask_to_open(&bob, scene_text("reef"));
        expect_failed(&bob, "busy", "as many documents are open");
        cr_assert_null(scn_server_find_room(hub.server, scene_text("reef")));
        hub.server->rooms_count -= 1;
        ask_to_open(&bob, scene_text("reef"));
        (void)peer_expect(&bob, SCN_MESSAGE_opened);
        cr_assert_eq(hub.server->rooms_count, SCN_ROOMS_MAX);
        hub.server->rooms_count -= SCN_ROOMS_MAX - 2;
        peer_close(&bob);
        finish(&hub, &ann);
}

SCN_TEST(documents, have_names_up_to_their_limit)
{
        static uint8_t name[201];
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        memset(name, 'n', sizeof name);
        greet(&ann, &hub, 3, SCN_ABSENT);
        (void)peer_expect(&ann, SCN_MESSAGE_welcome);
        ask_to_open(&ann, (struct scn_slice){name, SCN_SERVER_document_bytes_max + 1});
        expect_failed(&ann, "bad_name", "200 bytes");
        ask_to_open(&ann, (struct scn_slice){name, SCN_SERVER_document_bytes_max});
        (void)peer_expect(&ann, SCN_MESSAGE_opened);
        finish(&hub, &ann);
}

/* --- Views --- */

static void ask_view(struct peer *peer, uint64_t number, uint64_t rate)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = number;
        message.as.view.view = number;
        message.as.view.root = scene_path("/");
        message.as.view.mask = SCN_MASK_ALL;
        message.as.view.rate = rate;
        peer_send(peer, &message);
}

static void expect_view(struct peer *peer, uint64_t number)
{
        ask_view(peer, number, SCN_ABSENT);
        cr_assert_eq(peer_expect(peer, SCN_MESSAGE_viewed).as.viewed.view, number);
        (void)peer_expect(peer, SCN_MESSAGE_delta);
}

SCN_TEST(views, of_a_connection_are_so_many_at_the_most)
{
        struct hub hub;
        struct peer ann;
        struct scn_message message;
        start(&hub, &ann);
        for (uint64_t number = 1; number <= SCN_SERVER_views_max; number++) {
                expect_view(&ann, number);
        }
        ask_view(&ann, 1000, SCN_ABSENT);
        expect_failed(&ann, "too_many_views", "views_max = 64");
        cr_assert_eq(ann.session->views_count, SCN_SERVER_views_max);
        expect_view(&ann, 7); /* is there already */
        scn_message_init(&message, SCN_MESSAGE_unview);
        message.as.unview.view = 7;
        peer_send(&ann, &message);
        expect_view(&ann, 1000);
        finish(&hub, &ann);
}

SCN_TEST(views, have_no_more_deltas_a_second_than_asked_for_nor_than_there_may_be)
{
        static const struct {
                uint64_t rate;
                uint32_t interval_ms;
        } cases[] = {{0, 0}, {1, 1000}, {3, 334}, {500, 2}, {501, 2}, {600, 2}, {999, 2}, {SCN_SERVER_rate_max, 1},
                {SCN_SERVER_rate_max + 1, 1}, {SCN_REVISION_MAX, 1}};
        struct hub hub;
        struct peer ann;
        start(&hub, &ann);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                ask_view(&ann, 1, cases[i].rate);
                (void)peer_expect(&ann, SCN_MESSAGE_viewed);
                cr_assert_eq(ann.session->views->interval_ms, cases[i].interval_ms, "rate %llu: %u ms",
                        (unsigned long long)cases[i].rate, ann.session->views->interval_ms);
        }
        finish(&hub, &ann);
}

/* --- Locks, presence, previews: the limits themselves stand with their tests --- */

SCN_TEST(failure, for_what_is_only_now_names_the_limit)
{
        static scn_node_id ids[SCN_LIVE_locks_max + 1];
        static struct scn_preview_wish wishes[SCN_LIVE_previews_max + 1];
        static uint8_t large[SCN_LIVE_presence_bytes_max + 8] = {0x81, 0xa1, 'x', 0xc5, 0x10, 0x02};
        struct hub hub;
        struct peer ann;
        start(&hub, &ann);
        for (uint32_t i = 0; i < SCN_LIVE_locks_max + 1; i++) {
                const struct scn_op op = scene_add(1, 0, "node");
                peer_edit(&ann, &op, 1);
                ids[i] = 2 + i;
                wishes[i] = (struct scn_preview_wish){.node = scene_id(2 + i), .fields = SCN_FIELDS_SCALE};
        }
        expect_applied(&ann, SCN_LIVE_locks_max + 1);
        live_ask_lock(&ann, (struct live_lock){.ids = ids, .count = SCN_LIVE_locks_max + 1});
        expect_failed(&ann, "too_many_locks", "locks_max = 256, room_locks_max = 16384");
        live_preview_raw(&ann, wishes, SCN_LIVE_previews_max + 1);
        expect_failed(&ann, "too_many_previews", "previews_max = 256");
        live_presence(&ann, (struct scn_slice){large, SCN_LIVE_presence_bytes_max + 8});
        expect_failed(&ann, "too_large", "presence_bytes_max = 4096");
        finish(&hub, &ann);
}

/* --- Edits --- */

static uint32_t size_of_edit(uint64_t number, struct scn_op op)
{
        struct scn_buffer ops;
        struct scn_buffer payload;
        struct scn_message message;
        scn_buffer_init(&ops, 4096);
        scn_buffer_init(&payload, 4096);
        struct scn_packer packer = scn_packer_to(&ops);
        scn_ops_encode(&packer, &op, 1);
        scn_message_init(&message, SCN_MESSAGE_edit);
        message.as.edit.number = number;
        message.as.edit.ops = (struct scn_slice){ops.data, (uint32_t)ops.size};
        cr_assert_eq(scn_message_encode(&message, &payload), SCN_OK);
        const uint32_t size = (uint32_t)payload.size;
        scn_buffer_finish(&ops);
        scn_buffer_finish(&payload);
        return size;
}

/* An edit in two parts. The first counts as if it were so large that the second lacks so many bytes of room. */
static void edit_in_parts(struct peer *peer, uint32_t missing, bool has_more)
{
        const struct scn_op first = scene_rename(1, "first");
        const struct scn_op last = scene_add(1, 0, "last");
        const uint64_t number = ++peer->number;
        peer_edit_part(peer, number, &first, 1, true);
        hub_run(peer->hub);
        cr_assert_not_null(peer->session->staged_first);
        peer->session->staged_bytes = SCN_SERVER_edit_bytes_max - size_of_edit(number, last) + missing;
        if (has_more) {
                peer->session->staged_bytes -= 3; /* strict: absent, more: true */
        }
        peer_edit_part(peer, number, &last, 1, has_more);
        hub_run(peer->hub);
}

SCN_TEST(edit, in_parts_has_so_many_bytes_at_the_most_its_last_part_included)
{
        struct hub hub;
        struct peer ann;
        start(&hub, &ann);
        edit_in_parts(&ann, 0, false);
        cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_applied).as.applied.rev, 1);
        edit_in_parts(&ann, 1, false);
        expect_failed(&ann, "too_large", "edit_bytes_max");
        cr_assert(peer_has_ended(&ann));
        cr_assert_eq(scn_document_revision(room_of(&hub)->document), 1);
        peer_close(&ann);
        peer_open(&ann, &hub, 1, "ann", "isle");
        cr_assert_eq(ann.last_stored, 1);
        edit_in_parts(&ann, 1, true);
        expect_failed(&ann, "too_large", "edit_bytes_max");
        cr_assert(peer_has_ended(&ann));
        finish(&hub, &ann);
}

SCN_TEST(edit, whose_records_are_too_large_hears_which_limit_that_is)
{
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        hub_stop(&hub);
        hub.limits.record_bytes_max = 1000;
        hub_restart(&hub);
        peer_open(&ann, &hub, 1, "ann", "isle");
        static uint8_t value[1000] = {0xc5, 0x03, 0xe5};
        const struct scn_op op = scene_set(1, "large", (struct scn_slice){value, sizeof value});
        peer_edit(&ann, &op, 1);
        const struct scn_message message = peer_expect(&ann, SCN_MESSAGE_refused);
        cr_assert(has_text(message.as.refused.code, "too_large"));
        cr_assert(has_text(message.as.refused.text, ", record_bytes_max = 1000"), "%.*s",
                (int)message.as.refused.text.size, (const char *)message.as.refused.text.data);
        cr_assert_eq(scn_document_revision(room_of(&hub)->document), 0);
        finish(&hub, &ann);
}

#define MANY 150000u

/* So many nodes for which the server, or the client, finds the uids. */
static void add_many(struct peer *peer, bool is_named)
{
        struct scn_op *ops = scn_alloc_zero(MANY, sizeof *ops);
        cr_assert_not_null(ops);
        for (uint32_t i = 0; i < MANY; i++) {
                ops[i] = scene_add(1, is_named ? 100 + i : 0, NULL);
        }
        peer_edit(peer, ops, MANY);
        scn_free(ops);
}

SCN_TEST(edit, of_which_more_would_have_to_be_told_than_a_message_holds_hears_that_and_what_to_do)
{
        struct hub hub;
        struct peer ann;
        start(&hub, &ann);
        add_many(&ann, false);
        const struct scn_message message = peer_expect(&ann, SCN_MESSAGE_refused);
        cr_assert(has_text(message.as.refused.code, "too_large"));
        cr_assert(scn_slice_equal(message.as.refused.text,
                          scene_text("results: the answer would be larger than message_bytes_max = 4194304: name the "
                                     "nodes by uids of your own, or send several edits")),
                "%.*s", (int)message.as.refused.text.size, (const char *)message.as.refused.text.data);
        cr_assert_eq(scn_document_revision(room_of(&hub)->document), 0);
        add_many(&ann, true);
        expect_applied(&ann, 1);
        finish(&hub, &ann);
}

static void send_renames(struct peer *peer, uint32_t count)
{
        char name[16];
        for (uint32_t i = 0; i < count; i++) {
                (void)snprintf(name, sizeof name, "%u", i);
                const struct scn_op op = scene_rename(1, name);
                peer_edit(peer, &op, 1);
        }
}

SCN_TEST(turn, takes_so_many_edits_at_the_most_and_the_next_one_the_rest)
{
        struct hub hub;
        struct peer ann;
        start(&hub, &ann);
        send_renames(&ann, SCN_TURN_EDITS_MAX + 1);
        scn_server_turn(hub.server);
        cr_assert_not_null(room_of(&hub)->batch);
        cr_assert_eq(room_of(&hub)->batch->entries_count, SCN_TURN_EDITS_MAX);
        cr_assert(hub_step(&hub));
        scn_server_turn(hub.server);
        cr_assert_not_null(room_of(&hub)->batch);
        cr_assert_eq(room_of(&hub)->batch->entries_count, 1);
        expect_applied(&ann, SCN_TURN_EDITS_MAX + 1);
        finish(&hub, &ann);
}

static struct scn_op set_large(uint32_t size)
{
        static uint8_t value[65536];
        memset(value, 'v', sizeof value);
        value[0] = 0xda;
        value[1] = (uint8_t)((size - 3) >> 8);
        value[2] = (uint8_t)(size - 3);
        struct scn_op op = scene_set(1, "large", (struct scn_slice){value, size});
        return op;
}

SCN_TEST(turn, ends_with_the_edit_that_fills_it)
{
        struct hub hub;
        struct peer ann;
        start(&hub, &ann);
        const uint32_t count = SCN_TURN_BYTES_MAX / 65000 + 10;
        for (uint32_t i = 0; i < count; i++) {
                const struct scn_op op = set_large(65000);
                peer_edit(&ann, &op, 1);
        }
        scn_server_turn(hub.server);
        const struct scn_batch *batch = room_of(&hub)->batch;
        cr_assert_not_null(batch);
        cr_assert_geq(batch->bytes_taken, SCN_TURN_BYTES_MAX);
        cr_assert_lt(batch->bytes_taken, SCN_TURN_BYTES_MAX + 65100);
        cr_assert_lt(batch->entries_count, count);
        expect_applied(&ann, count);
        finish(&hub, &ann);
}

/* What many edits are answered goes out in pieces; none of it is cut or lost. */
SCN_TEST(answers, of_a_turn_come_in_pieces_of_so_many_bytes_at_the_most)
{
        enum {
                PIECE = 65536
        };
        struct hub hub;
        struct peer ann;
        start(&hub, &ann);
        ann.does_not_read = true;
        const struct scn_op op = scene_rename(77, "nobody");
        for (uint32_t i = 0; i < 4000; i++) {
                peer_edit(&ann, &op, 1);
        }
        hub_run(&hub);
        size_t pieces_count = 0;
        for (const struct scn_segment *at = ann.session->outbox_first; at != NULL; at = at->next) {
                cr_assert_leq(at->bytes->size, PIECE);
                cr_assert(at->next == NULL || at->bytes->size > PIECE - 256, "%u", at->bytes->size);
                pieces_count++;
        }
        cr_assert_geq(pieces_count, 2);
        ann.does_not_read = false;
        for (uint64_t number = 1; number <= 4000; number++) {
                cr_assert_eq(peer_expect(&ann, SCN_MESSAGE_refused).as.refused.number, number);
        }
        finish(&hub, &ann);
}

SCN_TEST(batch, keeps_its_memory_for_the_next_one_unless_it_is_a_lot)
{
        struct hub hub;
        struct peer ann;
        start(&hub, &ann);
        struct scn_op ops[9];
        ops[0] = set_large(60000);
        peer_edit(&ann, ops, 1);
        expect_applied(&ann, 1);
        cr_assert_not_null(room_of(&hub)->spare);
        for (size_t i = 0; i < 9; i++) {
                ops[i] = set_large(65000);
                ops[i].node = i == 0 ? scene_path("/") : ops[0].node;
                ops[i].key = scene_text(&"abcdefghi"[8 - i]);
        }
        peer_edit(&ann, ops, 9);
        expect_applied(&ann, 1);
        cr_assert_null(room_of(&hub)->spare);
        finish(&hub, &ann);
}

/* --- Undo --- */

/* How many elements the array under this key of the summary has. */
static uint32_t expect_summary(struct peer *peer, const char *key, bool *has_more_skipped_out)
{
        const struct scn_message message = peer_expect(peer, SCN_MESSAGE_applied);
        struct scn_unpacker unpacker = scn_unpacker_from(message.as.applied.summary);
        uint32_t count = UINT32_MAX;
        for (uint32_t left = scn_unpack_map(&unpacker); left > 0; left--) {
                const struct scn_slice word = scn_unpack_text(&unpacker, 16);
                const struct scn_slice value = scn_unpack_raw(&unpacker);
                if (word.size == strlen(key) && memcmp(word.data, key, word.size) == 0) {
                        struct scn_unpacker array = scn_unpacker_from(value);
                        count = scn_unpack_array(&array);
                }
        }
        *has_more_skipped_out = asking_has(message.as.applied.summary, "more_skipped");
        cr_assert_eq(unpacker.error, SCN_OK);
        return count;
}

static uint32_t expect_steps(struct peer *peer)
{
        bool has_more_skipped;
        return expect_summary(peer, "steps", &has_more_skipped);
}

SCN_TEST(undo, takes_back_so_many_steps_at_once_at_the_most_and_redo_brings_so_many_back)
{
        struct hub hub;
        struct peer ann;
        start(&hub, &ann);
        send_renames(&ann, SCN_SERVER_undo_count_max + 1);
        expect_applied(&ann, SCN_SERVER_undo_count_max + 1);
        peer_undo(&ann, (struct peer_wish){.count = SCN_SERVER_undo_count_max + 1});
        cr_assert_eq(expect_steps(&ann), SCN_SERVER_undo_count_max);
        peer_undo(&ann, (struct peer_wish){.count = SCN_SERVER_undo_count_max + 1});
        cr_assert_eq(expect_steps(&ann), 1);
        peer_redo(&ann, SCN_SERVER_undo_count_max + 1);
        cr_assert_eq(expect_steps(&ann), SCN_SERVER_undo_count_max);
        peer_redo(&ann, SCN_SERVER_undo_count_max + 1);
        cr_assert_eq(expect_steps(&ann), 1);
        finish(&hub, &ann);
}

/* Ann sets keys; Bob has written the first so many since. */
static uint32_t undo_with_skips(uint32_t skips, bool *has_more_skipped_out)
{
        static char keys[SCN_SERVER_undo_skips_max + 2][16];
        static struct scn_op ops[SCN_SERVER_undo_skips_max + 2];
        struct hub hub;
        struct peer ann;
        struct peer bob;
        start(&hub, &ann);
        peer_open(&bob, &hub, 2, "bob", "isle");
        for (uint32_t i = 0; i < skips + 1; i++) {
                (void)snprintf(keys[i], sizeof keys[i], "%u", i);
                ops[i] = scene_set(1, keys[i], scene_integer(1));
        }
        peer_edit(&ann, ops, skips + 1);
        expect_applied(&ann, 1);
        for (uint32_t i = 0; i < skips; i++) {
                ops[i].value = scene_integer(2);
        }
        peer_edit(&bob, ops, skips);
        expect_applied(&bob, 1);
        peer_undo(&ann, (struct peer_wish){.count = 1});
        const uint32_t told = expect_summary(&ann, "skipped", has_more_skipped_out);
        peer_close(&bob);
        finish(&hub, &ann);
        return told;
}

SCN_TEST(undo, tells_of_so_many_skipped_fields_at_the_most_and_how_many_more_there_are)
{
        bool has_more;
        cr_assert_eq(undo_with_skips(SCN_SERVER_undo_skips_max, &has_more), SCN_SERVER_undo_skips_max);
        cr_assert_not(has_more);
        cr_assert_eq(undo_with_skips(SCN_SERVER_undo_skips_max + 1, &has_more), SCN_SERVER_undo_skips_max);
        cr_assert(has_more);
}

/* What an undo of the revisions from `first` to the fourth reads. */
static uint32_t bytes_from(const struct hub *hub, scn_revision first)
{
        struct scn_journal *journal = room_of(hub)->journal;
        uint64_t bytes = 0;
        for (scn_revision revision = first; revision <= 4; revision++) {
                const struct scn_journal_range range = {.from = revision, .to = revision, .transactions_max = 1};
                struct scn_journal_page *page;
                cr_assert_eq(scn_journal_read(journal, &range, &page, NULL), SCN_OK);
                bytes += scn_journal_page_bytes(page);
                scn_journal_page_destroy(page);
        }
        return (uint32_t)bytes;
}

/* Undoes four where there is room for those from `first` on, less so many bytes. How many it were; 0: refused. */
static uint32_t undo_four(scn_revision first, uint32_t less)
{
        struct hub hub;
        struct peer ann;
        start(&hub, &ann);
        for (uint32_t i = 0; i < 4; i++) {
                const struct scn_op op = set_large(40000 + i);
                peer_edit(&ann, &op, 1);
                expect_applied(&ann, 1);
        }
        hub.limits.record_bytes_max = bytes_from(&hub, first) - less;
        peer_close(&ann);
        hub_stop(&hub);
        hub_restart(&hub);
        peer_open(&ann, &hub, 1, "ann", "isle");
        peer_undo(&ann, (struct peer_wish){.count = 4});
        uint32_t steps = 0;
        if (first == 4 && less > 0) {
                const struct scn_message message = peer_expect(&ann, SCN_MESSAGE_refused);
                cr_assert(has_text(message.as.refused.code, "too_large"));
                cr_assert(has_text(message.as.refused.text, ", record_bytes_max = "));
                cr_assert_eq(scn_document_revision(room_of(&hub)->document), 4);
        } else {
                steps = expect_steps(&ann);
        }
        finish(&hub, &ann);
        return steps;
}

SCN_TEST(undo, takes_back_as_many_steps_as_the_bytes_of_an_edits_records_allow_or_is_refused)
{
        cr_assert_eq(undo_four(2, 0), 3);
        cr_assert_eq(undo_four(2, 1), 2);
        cr_assert_eq(undo_four(4, 0), 1);
        cr_assert_eq(undo_four(4, 1), 0);
}

/* --- The past --- */

struct told {
        uint64_t transactions;
        uint64_t first; /* revision, of the first and the last one */
        uint64_t last;
        uint64_t ops; /* of the last one */
        uint64_t changes;
};

static struct told read_log(struct peer *peer, uint64_t limit, uint64_t last)
{
        struct told told = {0};
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_log);
        message.as.log.request = 7;
        message.as.log.limit = limit;
        message.as.log.last = last;
        peer_send(peer, &message);
        do {
                message = peer_expect(peer, SCN_MESSAGE_answer);
                struct scn_unpacker rows = scn_unpacker_from(message.as.answer.body);
                for (uint32_t left = scn_unpack_array(&rows); left > 0; left--) {
                        const struct scn_slice row = scn_unpack_raw(&rows);
                        struct scn_unpacker members = scn_unpacker_from(row);
                        told.last = asking_member(row, "rev");
                        told.first = told.transactions++ == 0 ? told.last : told.first;
                        told.changes = asking_member(row, "changes");
                        for (uint32_t i = scn_unpack_map(&members); i > 0; i--) {
                                const struct scn_slice key = scn_unpack_text(&members, 16);
                                const struct scn_slice value = scn_unpack_raw(&members);
                                struct scn_unpacker array = scn_unpacker_from(value);
                                if (key.size == 3 && memcmp(key.data, "ops", 3) == 0) {
                                        told.ops = scn_unpack_array(&array);
                                }
                        }
                        cr_assert_eq(members.error, SCN_OK);
                }
                cr_assert_eq(rows.error, SCN_OK);
        } while (message.as.answer.more);
        return told;
}

SCN_TEST(questions, about_the_past_are_worked_on_so_many_at_the_same_time_and_the_others_wait)
{
        struct hub hub;
        struct peer peers[SCN_HISTORY_JOBS_MAX + 1];
        struct scn_message message;
        hub_start(&hub);
        for (uint32_t i = 0; i <= SCN_HISTORY_JOBS_MAX; i++) {
                peer_open(&peers[i], &hub, 1 + i, "ann", "isle");
        }
        scn_message_init(&message, SCN_MESSAGE_log);
        message.as.log.request = 7;
        for (uint32_t i = 0; i <= SCN_HISTORY_JOBS_MAX; i++) {
                peer_send(&peers[i], &message);
        }
        scn_server_turn(hub.server);
        cr_assert_eq(hub.server->history_jobs_count[SCN_HISTORY_QUESTION], SCN_HISTORY_JOBS_MAX);
        cr_assert_eq(hub.jobs_count, SCN_HISTORY_JOBS_MAX);
        for (uint32_t i = 0; i <= SCN_HISTORY_JOBS_MAX; i++) {
                cr_assert_eq(peer_expect(&peers[i], SCN_MESSAGE_answer).as.answer.request, 7);
                peer_close(&peers[i]);
        }
        hub_finish(&hub);
}

SCN_TEST_WITH(log, tells_so_many_transactions_at_the_most, .timeout = 120)
{
        struct hub hub;
        struct peer ann;
        start(&hub, &ann);
        send_renames(&ann, SCN_SERVER_log_max + 1);
        expect_applied(&ann, SCN_SERVER_log_max + 1);
        cr_assert_eq(read_log(&ann, SCN_ABSENT, SCN_ABSENT).transactions, SCN_SERVER_log_max);
        cr_assert_eq(read_log(&ann, SCN_SERVER_log_max + 1, SCN_ABSENT).transactions, SCN_SERVER_log_max);
        cr_assert_eq(read_log(&ann, SCN_SERVER_log_max - 1, SCN_ABSENT).transactions, SCN_SERVER_log_max - 1);
        /* The last ones: of one window in which they are looked for, of two, and more than there may be. */
        static const uint64_t lasts[] = {255, 256, 257, SCN_SERVER_log_max, SCN_SERVER_log_max + 1};
        for (size_t i = 0; i < sizeof lasts / sizeof lasts[0]; i++) {
                const struct told told = read_log(&ann, SCN_ABSENT, lasts[i]);
                const uint64_t count = lasts[i] < SCN_SERVER_log_max ? lasts[i] : SCN_SERVER_log_max;
                cr_expect_eq(told.transactions, count);
                cr_expect_eq(told.last, SCN_SERVER_log_max + 1);
                cr_expect_eq(told.first, SCN_SERVER_log_max + 2 - count);
        }
        cr_expect_eq(read_log(&ann, SCN_ABSENT, 0).transactions, 0);
        cr_expect_eq(read_log(&ann, 10, 300).last, SCN_SERVER_log_max + 1 - 290);
        finish(&hub, &ann);
}

SCN_TEST(log, names_so_many_ops_of_a_transaction_at_the_most_and_how_many_there_are)
{
        static struct scn_op ops[SCN_SERVER_log_ops_max + 1];
        struct hub hub;
        struct peer ann;
        start(&hub, &ann);
        for (uint32_t i = 0; i < SCN_SERVER_log_ops_max + 1; i++) {
                ops[i] = scene_add(1, 0, "node");
        }
        for (uint32_t more = 0; more <= 1; more++) {
                peer_edit(&ann, ops, SCN_SERVER_log_ops_max + more);
                expect_applied(&ann, 1);
                const struct told told = read_log(&ann, SCN_ABSENT, SCN_ABSENT);
                cr_assert_eq(told.ops, SCN_SERVER_log_ops_max);
                cr_assert_eq(told.changes, SCN_SERVER_log_ops_max + more);
        }
        finish(&hub, &ann);
}

/* A node with a megabyte of properties goes in and out of another one, which is all that is replayed: little is stored
 * and much is told. */
static void make_much_to_tell(struct peer *ann, uint32_t moves)
{
        static char keys[16][16];
        struct scn_op ops[18];
        ops[0] = scene_add(1, 50, "much");
        ops[1] = scene_add(1, 51, "top");
        for (uint32_t i = 0; i < 16; i++) {
                (void)snprintf(keys[i], sizeof keys[i], "%u", i);
                ops[2 + i] = set_large(65000);
                ops[2 + i].node = scene_ref(50);
                ops[2 + i].key = scene_text(keys[i]);
        }
        peer_edit(ann, ops, 18);
        for (uint32_t i = 0; i < moves; i++) {
                const struct scn_op op = scene_move(2, i % 2 == 0 ? 3 : 1);
                peer_edit(ann, &op, 1);
        }
        expect_applied(ann, 1 + moves);
}

/* Where it ended; `next` 0: at the end. */
struct replayed {
        uint64_t bytes; /* of all frames */
        uint64_t last_bytes;
        uint64_t rev;
        bool has_next;
};

static struct replayed replay(struct peer *peer, uint64_t from)
{
        char text[24];
        uint8_t begins[ASKING_AT_BYTES];
        struct replayed replayed = {0};
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_replay);
        message.as.replay.request = 31;
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)from);
        message.as.replay.from = asking_at(begins, text);
        message.as.replay.node = scene_ref(51);
        peer_send(peer, &message);
        for (;;) {
                cr_assert(peer_receive(peer, &message));
                const bool is_answer = message.kind == SCN_MESSAGE_answer;
                cr_assert(is_answer || message.kind == SCN_MESSAGE_delta);
                if (is_answer && !message.as.answer.more) {
                        replayed.rev = message.as.answer.rev;
                        replayed.has_next = asking_has(message.as.answer.body, "next");
                        cr_assert(!replayed.has_next || asking_member(message.as.answer.body, "next") == replayed.rev);
                        return replayed;
                }
                const uint32_t size = peer->payload.size;
                replayed.last_bytes = (is_answer ? 0 : replayed.last_bytes) + size;
                replayed.bytes += size + (size < 256 ? 2 : size < 65536 ? 3 : 5);
        }
}

SCN_TEST_WITH(replay, tells_so_many_bytes_about_and_where_to_go_on, .timeout = 120)
{
        struct hub hub;
        struct peer ann;
        start(&hub, &ann);
        hub.server->options.output_bytes_max = SIZE_MAX;
        make_much_to_tell(&ann, 126);
        const struct replayed all = replay(&ann, 1);
        cr_assert_not(all.has_next, "%llu bytes", (unsigned long long)all.bytes);
        cr_assert_eq(all.rev, 127);
        cr_assert_leq(all.bytes, SCN_SERVER_replay_bytes_max);
        for (uint32_t i = 0; i < 4; i++) {
                const struct scn_op op = scene_move(2, i % 2 == 0 ? 3 : 1);
                peer_edit(&ann, &op, 1);
        }
        expect_applied(&ann, 4);
        const struct replayed some = replay(&ann, 1);
        cr_assert(some.has_next);
        cr_assert_gt(some.bytes, SCN_SERVER_replay_bytes_max);
        cr_assert_leq(some.bytes - some.last_bytes - 64, SCN_SERVER_replay_bytes_max);
        const struct replayed rest = replay(&ann, some.rev);
        cr_assert_not(rest.has_next);
        cr_assert_eq(rest.rev, 131);
        finish(&hub, &ann);
}

/* --- Worlds, tags, files --- */

SCN_TEST(failure, for_a_question_or_a_file_names_the_limit)
{
        static uint8_t nodes[5 + SCN_SERVER_world_nodes_max + 1] = {0xdd, 0, 1, 0, 1};
        struct hub hub;
        struct peer ann;
        struct scn_message message;
        start(&hub, &ann);
        memset(nodes + 5, 1, sizeof nodes - 5);
        scn_message_init(&message, SCN_MESSAGE_world);
        message.as.world.request = 6;
        message.as.world.nodes = (struct scn_slice){nodes, sizeof nodes};
        peer_send(&ann, &message);
        expect_failed(&ann, "too_large", "world_nodes_max = 65536");
        scn_message_init(&message, SCN_MESSAGE_adopt);
        message.as.adopt.request = 7;
        message.as.adopt.document = scene_text("reef");
        message.as.adopt.bytes = SCN_FILE_BYTES_MAX + 1;
        message.as.adopt.part = scene_text("SQLite");
        peer_send(&ann, &message);
        expect_failed(&ann, "too_large", "file_bytes_max = 68719476736");
        cr_assert_eq(hub.server->adopts_count, 0);
        finish(&hub, &ann);
}

static void send_tag(struct peer *peer, const char *name)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_tag);
        message.as.tag.request = 9;
        message.as.tag.name = scene_text(name);
        message.as.tag.rev = 0;
        peer_send(peer, &message);
}

SCN_TEST(tags, of_a_document_are_so_many_at_the_most)
{
        static char name[SCN_SERVER_tag_bytes_max + 2];
        char path[128];
        struct hub hub;
        struct peer ann;
        start(&hub, &ann);
        memset(name, 'n', sizeof name - 1);
        send_tag(&ann, name);
        peer_expect_code(&ann, SCN_MESSAGE_failed, "bad_tag");
        name[SCN_SERVER_tag_bytes_max] = '\0';
        (void)asking_tag(&ann, name, 0);
        peer_close(&ann);
        hub_stop(&hub);
        (void)snprintf(path, sizeof path, "%s/isle.scene", hub.path);
        scn_test_sql(path,
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9998)"
                " INSERT INTO tags SELECT 'tag' || i, 0, 1, '' FROM n");
        hub_restart(&hub);
        peer_open(&ann, &hub, 1, "ann", "isle");
        (void)asking_tag(&ann, "last", 0);
        send_tag(&ann, "one more");
        expect_failed(&ann, "too_many_tags", "tags_max = 10000");
        finish(&hub, &ann);
}

/* --- Epochs --- */

static bool is_resumed(struct peer *peer, uint64_t epoch)
{
        uint8_t bytes[8];
        struct scn_message message;
        memcpy(bytes, &epoch, sizeof bytes);
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = 1;
        message.as.view.view = 1;
        message.as.view.root = scene_path("/");
        message.as.view.mask = SCN_MASK_ALL;
        message.as.view.epoch = (struct scn_slice){bytes, sizeof bytes};
        message.as.view.rev = 1;
        peer_send(peer, &message);
        return peer_expect(peer, SCN_MESSAGE_viewed).as.viewed.resumed;
}

SCN_TEST(epochs, of_a_document_are_remembered_so_many_the_newest)
{
        struct hub hub;
        struct peer ann;
        start(&hub, &ann);
        const struct scn_op op = scene_rename(1, "isle");
        peer_edit(&ann, &op, 1);
        expect_applied(&ann, 1);
        for (uint64_t epoch = 1; epoch <= SCN_SERVER_epochs_max + 5; epoch++) {
                cr_assert_eq(scn_journal_begin_epoch(room_of(&hub)->journal, epoch, 100, NULL), SCN_OK);
        }
        peer_close(&ann);
        hub_stop(&hub);
        hub_restart(&hub);
        peer_open(&ann, &hub, 1, "ann", "isle");
        cr_assert_eq(room_of(&hub)->epochs_count, SCN_SERVER_epochs_max);
        /* The one that began with this opening is one of them. */
        cr_assert(is_resumed(&ann, 7));
        cr_assert_not(is_resumed(&ann, 6));
        finish(&hub, &ann);
}

/* --- What is said --- */

SCN_TEST(failure, says_so_many_bytes_at_the_most_and_those_whole)
{
        static char text[SCN_SAID_BYTES_MAX + 2];
        struct hub hub;
        struct peer ann;
        struct scn_message message;
        start(&hub, &ann);
        for (size_t i = 0; i < SCN_SAID_BYTES_MAX; i += 2) {
                memcpy(text + i, "\xc3\xa9", 2);
        }
        scn_session_fail(ann.session, 5, SCN_E_CORRUPT, text);
        cr_assert(peer_receive(&ann, &message));
        cr_assert_eq(message.as.failed.text.size, SCN_SAID_BYTES_MAX);
        cr_assert_eq(memcmp(message.as.failed.text.data, text, SCN_SAID_BYTES_MAX), 0);
        /* Cut off, and still a text. */
        text[SCN_SAID_BYTES_MAX] = 'e';
        scn_session_fail(ann.session, 5, SCN_E_CORRUPT, text);
        cr_assert(peer_receive(&ann, &message));
        cr_assert_eq(message.as.failed.text.size, SCN_SAID_BYTES_MAX);
        finish(&hub, &ann);
}
