/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Cases of CASES.md that want a server and its files. */

#include "server/core.h"
#include "tests/lib/asking.h"
#include "tests/lib/held.h"
#include "tests/lib/hub.h"
#include "tests/lib/scene.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *file_of(const struct hub *hub, const char *name)
{
        static char path[128];
        (void)snprintf(path, sizeof path, "%s/%s", hub->path, name);
        return path;
}

static const struct scn_document *document_of(const struct peer *peer)
{
        return peer->session->room->document;
}

static scn_node_id id_of(const struct peer *peer, uint32_t uid)
{
        return scn_document_find_uid(document_of(peer), scene_uid(uid));
}

static void undo_or_redo(struct peer *peer, bool is_redo, uint64_t count)
{
        if (is_redo) {
                peer_redo(peer, count);
        } else {
                peer_undo(peer, (struct peer_wish){.count = count});
        }
        cr_assert_not(peer_expect(peer, SCN_MESSAGE_applied).as.applied.unchanged);
}

static void expect_digest(struct peer *peer, struct scn_digest expected)
{
        const struct scn_digest found = asking_digest(peer, NULL);
        cr_assert(found.low == expected.low && found.high == expected.high);
}

/* --- B03: the same child is listed twice --- */

SCN_TEST(b03, undo_of_a_node_its_copy_and_the_end_of_the_copy_comes_back_to_the_start_and_redo_to_the_end)
{
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        (void)asking_edit(&ann, scene_add(1, 10, "P"));
        const struct scn_digest start = asking_digest(&ann, NULL);
        (void)asking_edit(&ann, scene_add(id_of(&ann, 10), 11, "E"));
        (void)asking_edit(&ann, scene_add(id_of(&ann, 10), 12, "E"));
        (void)asking_edit(&ann, scene_remove(id_of(&ann, 12)));
        const struct scn_digest end = asking_digest(&ann, NULL);
        for (int i = 0; i < 3; i++) {
                undo_or_redo(&ann, false, 1);
        }
        expect_digest(&ann, start);
        cr_assert_eq(scn_document_node(document_of(&ann), id_of(&ann, 10)).children_count, 0);
        for (int i = 0; i < 3; i++) {
                undo_or_redo(&ann, true, 1);
        }
        expect_digest(&ann, end);
        cr_assert_eq(scn_document_node(document_of(&ann), id_of(&ann, 10)).children_count, 1);
        peer_close(&ann);
        hub_finish(&hub);
}

/* --- B19: undo of a delete brings back less than was deleted --- */

static struct scn_op full_add(scn_node_id parent, uint32_t uid, float x)
{
        struct scn_op op = scene_add(parent, uid, "part");
        op.fields |= SCN_FIELDS_TRS;
        op.trs = (struct scn_trs){{x, 0.1f, -3}, {0, 0.6f, 0, 0.8f}, {2, 1, 0.5f}};
        return op;
}

/* Uids from `first` on: P with two children and a grandchild, all with something in them. */
static void add_family(struct peer *ann, uint32_t first)
{
        (void)asking_edit(ann, full_add(1, first, 1));
        (void)asking_edit(ann, full_add(id_of(ann, first), first + 1, 2));
        (void)asking_edit(ann, full_add(id_of(ann, first), first + 2, 3));
        (void)asking_edit(ann, full_add(id_of(ann, first + 1), first + 3, 4));
        for (uint32_t i = 0; i < 4; i++) {
                (void)asking_edit(ann, scene_set(id_of(ann, first + i), "k", scene_integer((uint8_t)i)));
        }
}

/* A property that names another node: ext 1. */
static struct scn_slice reference_to(uint32_t uid, uint8_t bytes[18])
{
        const struct scn_uid node = scene_uid(uid);
        bytes[0] = 0xd8;
        bytes[1] = 1;
        memcpy(bytes + 2, node.bytes, 16);
        return (struct scn_slice){bytes, 18};
}

static void watch(struct peer *peer)
{
        struct scn_message message;
        scn_message_init(&message, SCN_MESSAGE_view);
        message.as.view.request = message.as.view.view = 1;
        message.as.view.root = scene_path("/");
        message.as.view.mask = SCN_MASK_DURABLE;
        peer_send(peer, &message);
}

SCN_TEST(b19, undo_of_a_removal_brings_all_of_it_back_here_and_with_a_watcher_and_so_do_long_chains)
{
        struct hub hub;
        struct peer ann;
        struct peer bob;
        struct held held;
        uint8_t bytes[18];
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        peer_open(&bob, &hub, 2, "bob", "island");
        hold(&held);
        watch(&bob);
        const struct scn_digest empty = asking_digest(&ann, NULL);
        (void)asking_edit(&ann, full_add(1, 30, 9));
        add_family(&ann, 10);
        (void)asking_edit(&ann, full_add(1, 31, 9));
        (void)asking_edit(&ann, scene_set(id_of(&ann, 31), "ref", reference_to(13, bytes)));
        add_family(&ann, 20); /* a copy of it */
        (void)asking_edit(&ann, scene_remove(id_of(&ann, 20)));
        const struct scn_digest before = asking_digest(&ann, NULL);
        cr_assert_eq(scn_document_index(hub.server->rooms->document, id_of(&ann, 10)), 1);
        const scn_revision last = asking_edit(&ann, scene_remove(id_of(&ann, 10)));
        const struct scn_digest end = asking_digest(&ann, NULL);
        undo_or_redo(&ann, false, 1);
        expect_digest(&ann, before);
        take_deltas(&bob, &held);
        cr_assert(has_digest(held.replica, before));
        cr_assert_eq(scn_document_index(hub.server->rooms->document, id_of(&ann, 10)), 1);
        for (scn_revision i = 1; i < last; i++) {
                undo_or_redo(&ann, false, 1);
        }
        expect_digest(&ann, empty);
        take_deltas(&bob, &held);
        cr_assert(has_digest(held.replica, empty));
        for (scn_revision i = 0; i < last; i++) {
                undo_or_redo(&ann, true, 1);
        }
        expect_digest(&ann, end);
        take_deltas(&bob, &held);
        cr_assert(has_digest(held.replica, end));
        let_go(&held);
        peer_close(&ann);
        peer_close(&bob);
        hub_finish(&hub);
}

/* --- B21: drags flood the history --- */

SCN_TEST(b21, a_gesture_that_is_cut_off_is_one_step)
{
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        (void)asking_edit(&ann, scene_add(1, 10, "N"));
        const struct scn_digest before = asking_digest(&ann, NULL);
        for (int i = 0; i < 10; i++) {
                const struct scn_op op = scene_translate(id_of(&ann, 10), (float)i + 1, 0, 0);
                peer_edit_in(&ann, 5, &op, 1);
                (void)peer_expect(&ann, SCN_MESSAGE_applied);
        }
        peer_close(&ann);
        hub_stop(&hub); /* the daemon, too */
        hub_restart(&hub);
        peer_open(&ann, &hub, 9, "ann", "island");
        undo_or_redo(&ann, false, 1);
        expect_digest(&ann, before);
        peer_close(&ann);
        hub_finish(&hub);
}

/* --- B25: keeping the world transform is not always possible --- */

SCN_TEST_WITH(b25, undo_of_a_thousand_moves_that_keep_the_world_gives_the_original_bits, .timeout = 120)
{
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        (void)asking_edit(&ann, full_add(1, 10, 1));
        (void)asking_edit(&ann, full_add(1, 11, -7));
        for (uint32_t uid = 10; uid <= 11; uid++) {
                struct scn_op even = {.kind = SCN_OP_TRANSFORM, .node = scene_ref(uid), .fields = SCN_FIELDS_SCALE};
                even.trs.s[0] = even.trs.s[1] = even.trs.s[2] = uid == 10 ? 0.3f : 1.7f;
                (void)asking_edit(&ann, even);
        }
        (void)asking_edit(&ann, full_add(id_of(&ann, 10), 12, 5));
        struct scn_op op = scene_translate(id_of(&ann, 12), 0.1f, 0.2f, 0.3f);
        op.fields = SCN_FIELDS_TRS;
        op.trs.r[1] = 0.6f;
        op.trs.r[3] = 0.8f;
        op.trs.s[0] = op.trs.s[1] = op.trs.s[2] = 1.1f;
        (void)asking_edit(&ann, op);
        const struct scn_trs before = scn_document_node(document_of(&ann), id_of(&ann, 12)).trs;
        const struct scn_digest digest = asking_digest(&ann, NULL);
        for (uint32_t i = 0; i < 1000; i++) {
                struct scn_op move = scene_move(id_of(&ann, 12), id_of(&ann, i % 2 == 0 ? 11 : 10));
                move.keep_world = true;
                (void)asking_edit(&ann, move);
        }
        const struct scn_trs drifted = scn_document_node(document_of(&ann), id_of(&ann, 12)).trs;
        cr_assert_neq(memcmp(&before, &drifted, sizeof before), 0, "they are exact, which proves nothing here");
        undo_or_redo(&ann, false, 1000);
        const struct scn_trs after = scn_document_node(document_of(&ann), id_of(&ann, 12)).trs;
        cr_assert_eq(memcmp(&before, &after, sizeof before), 0);
        expect_digest(&ann, digest);
        peer_close(&ann);
        hub_finish(&hub);
}

/* --- B53: the write-ahead file grows without end --- */

#define VALUE_BYTES 60000u
#define CAP_BYTES ((int64_t)SCN_JOURNAL_WAL_BYTES_MAX)

static int64_t wal_bytes(const struct hub *hub)
{
        struct stat status;
        return stat(file_of(hub, "island.scene-wal"), &status) == 0 ? (int64_t)status.st_size : 0;
}

/* So many edits of 60 kB before and 60 kB after. Returns how long the write-ahead file has been in between. */
static int64_t write_much(struct peer *ann, int edits)
{
        static uint8_t value[VALUE_BYTES + 3] = {0xc5, VALUE_BYTES >> 8, VALUE_BYTES & 0xff};
        int64_t longest = 0;
        for (int i = 0; i < edits; i++) {
                value[3]++;
                (void)asking_edit(ann, scene_set(1, "k", (struct scn_slice){value, sizeof value}));
                const int64_t now = wal_bytes(ann->hub);
                longest = now > longest ? now : longest;
        }
        return longest;
}

SCN_TEST_WITH(b53, the_write_ahead_file_stays_short_while_somebody_reads_history_page_by_page, .timeout = 300)
{
        struct hub hub;
        struct peer ann;
        struct peer slow;
        struct scn_message message;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        (void)write_much(&ann, 300);
        peer_open(&slow, &hub, 2, "slow", "island");
        scn_message_init(&message, SCN_MESSAGE_replay);
        message.as.replay.request = 4;
        peer_send(&slow, &message);
        uint32_t answers = 0;
        for (int i = 0; i < 100; i++) {
                slow.does_not_read = true;
                cr_assert_lt(write_much(&ann, 4), CAP_BYTES);
                slow.does_not_read = false;
                answers += peer_receive(&slow, &message) && message.kind == SCN_MESSAGE_answer;
        }
        cr_assert_gt(answers, 30); /* it has been reading all the time */
        cr_assert_eq(hub.warnings_logged, 0);
        peer_close(&slow);
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST_WITH(b53, a_shell_that_keeps_reading_is_told_of_once_and_the_file_shrinks_when_it_ends, .timeout = 300)
{
        struct hub hub;
        struct peer ann;
        sqlite3 *shell;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        cr_assert_lt(write_much(&ann, 400), CAP_BYTES);
        cr_assert_eq(sqlite3_open(file_of(&hub, "island.scene"), &shell), SQLITE_OK);
        cr_assert_eq(sqlite3_exec(shell, "BEGIN; SELECT count(*) FROM transactions", NULL, NULL, NULL), SQLITE_OK);
        cr_assert_gt(write_much(&ann, 400), CAP_BYTES);
        cr_assert_eq(hub.warnings_logged, 1);
        cr_assert_not_null(strstr(hub.warning, ": another program keeps reading the document"), "%s", hub.warning);
        (void)write_much(&ann, 200);
        cr_assert_eq(hub.warnings_logged, 1, "once is enough");
        cr_assert_eq(sqlite3_close(shell), SQLITE_OK);
        (void)write_much(&ann, 200);
        cr_assert_lt(wal_bytes(&hub), CAP_BYTES);
        cr_assert_lt(write_much(&ann, 100), CAP_BYTES);
        cr_assert_eq(hub.warnings_logged, 1);
        peer_close(&ann);
        hub_finish(&hub);
}

SCN_TEST_WITH(b53, what_an_edit_has_made_large_at_once_is_nobody_elses_reading, .timeout = 300)
{
        enum {
                OPS = 50,
                PARTS = 16 /* 48 MB in all */
        };
        static uint8_t values[OPS][VALUE_BYTES + 3];
        static struct scn_op ops[OPS];
        static char keys[OPS][8];
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        for (uint32_t i = 0; i < OPS; i++) {
                const uint8_t head[3] = {0xc5, VALUE_BYTES >> 8, VALUE_BYTES & 0xff};
                memcpy(values[i], head, sizeof head);
                (void)snprintf(keys[i], sizeof keys[i], "k%u", i);
                ops[i] = scene_set(1, keys[i], (struct scn_slice){values[i], sizeof values[i]});
        }
        for (uint32_t part = 1; part <= PARTS; part++) {
                for (uint32_t i = 0; i < OPS; i++) {
                        values[i][3] = (uint8_t)part;
                }
                peer_edit_part(&ann, 1, ops, OPS, part < PARTS);
        }
        (void)peer_expect(&ann, SCN_MESSAGE_applied);
        ann.number = 1;
        cr_assert_eq(hub.warnings_logged, 0, "%s", hub.warning);
        cr_assert_lt(wal_bytes(&hub), CAP_BYTES);
        (void)write_much(&ann, 10);
        cr_assert_eq(hub.warnings_logged, 0, "%s", hub.warning);
        peer_close(&ann);
        hub_finish(&hub);
}

/* A job that reads what the document was a while ago holds on to it like any other reader. */
SCN_TEST_WITH(b53, what_the_server_reads_itself_is_blamed_on_nobody_else, .timeout = 300)
{
        struct hub hub;
        struct peer ann;
        sqlite3 *reader;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        (void)write_much(&ann, 10);
        scn_server_begin_history_job(ann.session, SCN_HISTORY_QUESTION);
        cr_assert_eq(sqlite3_open(file_of(&hub, "island.scene"), &reader), SQLITE_OK);
        cr_assert_eq(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM transactions", NULL, NULL, NULL), SQLITE_OK);
        cr_assert_gt(write_much(&ann, 400), CAP_BYTES);
        cr_assert_eq(hub.warnings_logged, 0, "%s", hub.warning);
        scn_server_end_history_job(hub.server, SCN_HISTORY_QUESTION);
        (void)write_much(&ann, 100);
        cr_assert_eq(hub.warnings_logged, 1, "nobody else is left");
        cr_assert_not_null(strstr(hub.warning, ": another program keeps reading the document"), "%s", hub.warning);
        cr_assert_eq(sqlite3_close(reader), SQLITE_OK);
        peer_close(&ann);
        hub_finish(&hub);
}

/* --- B23: replay meets a record it cannot read --- */

#define ROWS 1000u
#define BAD_ROW 600u

struct bytes {
        uint8_t *data;
        size_t size;
};

static struct bytes read_bytes(const char *path)
{
        struct stat status;
        struct bytes bytes = {.data = NULL};
        FILE *file = fopen(path, "rb");
        cr_assert(file != NULL && stat(path, &status) == 0, "%s", path);
        bytes.size = (size_t)status.st_size;
        bytes.data = malloc(bytes.size);
        cr_assert(bytes.data != NULL && fread(bytes.data, 1, bytes.size, file) == bytes.size);
        (void)fclose(file);
        return bytes;
}

static void write_bytes(const char *path, struct bytes bytes)
{
        FILE *file = fopen(path, "wb");
        cr_assert(
                file != NULL && fwrite(bytes.data, 1, bytes.size, file) == bytes.size && fclose(file) == 0, "%s", path);
}

/* The same journal, but for a record of a kind that only a later version knows; all sums are right. */
static void write_as_later_version(const struct hub *hub)
{
        struct scn_storage *storage;
        struct scn_journal *journal;
        struct scn_journal *draft;
        struct scn_journal_state state;
        struct scn_journal_page *page;
        char path[128];
        SCN_TEST_OK(scn_storage_open(hub->path, &storage, NULL));
        SCN_TEST_OK(scn_journal_open(storage, scene_text("island"), NULL, &journal, NULL));
        SCN_TEST_OK(scn_journal_state(journal, &state, NULL));
        const struct scn_storage_birth birth = {
                .uid = state.uid, .created_us = state.created_us, .origin = scn_journal_origin(journal)};
        SCN_TEST_OK(scn_storage_draft(storage, &birth, &draft, NULL));
        SCN_TEST_OK(
                scn_journal_read(journal, &(struct scn_journal_range){.from = 1, .bytes_max = 64u << 20}, &page, NULL));
        cr_assert_eq(scn_journal_page_count(page), ROWS);
        for (uint32_t i = 0; i < ROWS; i++) {
                struct scn_journal_transaction transaction = *scn_journal_page_get(page, i);
                struct scn_journal_record record = transaction.records[0];
                record.kind = transaction.revision == BAD_ROW ? 77 : record.kind;
                transaction.records = &record;
                cr_assert_eq(transaction.records_count, 1);
                SCN_TEST_OK(scn_journal_append(draft, &transaction, 1, NULL));
        }
        scn_journal_page_destroy(page);
        scn_journal_close(journal);
        SCN_TEST_OK(scn_storage_publish(storage, draft, scene_text("later"), NULL));
        scn_storage_close(storage);
        (void)snprintf(path, sizeof path, "%s", file_of(hub, "later.scene"));
        cr_assert_eq(rename(path, file_of(hub, "island.scene")), 0);
}

static void flip_a_byte(const struct hub *hub)
{
        (void)scn_test_sql(file_of(hub, "island.scene"),
                "UPDATE transactions SET after = CAST(substr(after, 1, 3) || x'5a' || substr(after, 5) AS BLOB)"
                " WHERE rev = 600");
}

static void delete_row(const struct hub *hub)
{
        (void)scn_test_sql(file_of(hub, "island.scene"), "DELETE FROM transactions WHERE rev = 600");
}

/* Opening is refused, and says where and why. */
static void expect_refusal(struct hub *hub)
{
        struct peer peer;
        struct scn_message message;
        char text[512] = "";
        peer_greet(&peer, hub, 5, NULL);
        peer_ask_open(&peer, "island", false);
        while (peer_receive(&peer, &message)) {
                cr_assert_neq(message.kind, SCN_MESSAGE_opened);
                if (message.kind == SCN_MESSAGE_failed) {
                        cr_assert(message.as.failed.code.size == 7 &&
                                memcmp(message.as.failed.code.data, "corrupt", 7) == 0);
                        (void)snprintf(text, sizeof text, "%.*s", (int)message.as.failed.text.size,
                                (const char *)message.as.failed.text.data);
                }
        }
        cr_assert_not_null(strstr(text, "600"), "'%s' does not name the row", text);
        peer_close(&peer);
}

static void expect_all_is_well(struct hub *hub, const struct scn_digest *digests)
{
        struct peer peer;
        static const char *const at[] = {"1", "599", "600", "601", "1000"};
        static const uint32_t revisions[] = {1, 599, 600, 601, 1000};
        peer_open(&peer, hub, 6, "dee", "island");
        cr_assert_eq(peer.session->room->durable, ROWS);
        for (int i = 0; i < 10; i++) { /* each of them twice */
                const struct scn_digest found = asking_digest(&peer, at[i % 5]), told = digests[revisions[i % 5]];
                cr_assert(found.low == told.low && found.high == told.high, "at %s", at[i % 5]);
        }
        peer_close(&peer);
}

SCN_TEST_WITH(b23, a_row_that_cannot_be_read_refuses_its_document_and_no_other, .timeout = 300)
{
        static void (*const spoils[])(const struct hub *hub) = {write_as_later_version, flip_a_byte, delete_row};
        static struct scn_digest digests[ROWS + 1];
        struct hub hub;
        struct peer ann;
        hub_start(&hub);
        peer_open(&ann, &hub, 1, "ann", "island");
        for (uint32_t i = 1; i <= ROWS; i++) {
                cr_assert_eq(asking_edit(&ann, scene_add(1, 100 + i, "node")), i);
                digests[i] = asking_digest(&ann, NULL);
        }
        peer_close(&ann);
        hub_stop(&hub);
        const struct bytes whole = read_bytes(file_of(&hub, "island.scene"));
        cr_assert_eq(scn_test_sql(file_of(&hub, "island.scene"), "SELECT count(*) FROM checkpoints"), 0);
        for (size_t i = 0; i < sizeof spoils / sizeof spoils[0]; i++) {
                spoils[i](&hub);
                const struct bytes spoiled = read_bytes(file_of(&hub, "island.scene"));
                hub_restart(&hub);
                expect_refusal(&hub);
                peer_open(&ann, &hub, 1, "ann", "reef");
                cr_assert_eq(asking_edit(&ann, scene_add(1, 0, "node")), i + 1);
                expect_refusal(&hub);
                peer_close(&ann);
                hub_stop(&hub);
                const struct bytes after = read_bytes(file_of(&hub, "island.scene"));
                cr_assert(after.size == spoiled.size && memcmp(after.data, spoiled.data, after.size) == 0,
                        "the damaged file has been written to");
                write_bytes(file_of(&hub, "island.scene"), whole);
                hub_restart(&hub);
                expect_all_is_well(&hub, digests);
                hub_stop(&hub);
                write_bytes(file_of(&hub, "island.scene"), whole);
                free(spoiled.data);
                free(after.data);
        }
        free(whole.data);
        hub_finish(&hub);
}
