/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Folding at random: what several authors did, folded in a copy of the file, is to every undo, redo and look at the
 * past what it was before (DESIGN §6, CASES B21). SCN_SEEDS asks for more than the short form. */

#include "protocol/base/uid.h"
#include "server/core.h"
#include "server/fold.h"
#include "server/room_open.h"
#include "server/verify.h"
#include "tests/lib/hub.h"
#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PEERS_MAX 4
#define NODES 12
#define TAGS_MAX 4

enum copy {
        WHOLE,
        FOLDED,
        COPIES,
};

static const char *const documents[COPIES] = {"whole", "folded"};
static const char *const names[PEERS_MAX] = {"ann", "ben", "cy", "dot"};

struct world {
        struct hub hub;
        struct peer peers[COPIES][PEERS_MAX];
        uint32_t peers_count;
        uint64_t groups[PEERS_MAX];
        struct scn_random random;
        uint64_t seed;
};

static void no_random(void *data, uint8_t *bytes, size_t size)
{
        (void)data;
        memset(bytes, 0, size);
}

static struct scn_document_options options_of(void)
{
        return (struct scn_document_options){.limits = SCN_LIMITS_DEFAULT, .random = no_random};
}

static struct scn_document *document_of(struct world *world, enum copy copy)
{
        return scn_server_find_room(world->hub.server, scene_text(documents[copy]))->document;
}

/* --- What a document says, writers included --- */

static void dump_bytes(struct scn_buffer *dump, const void *bytes, size_t size)
{
        cr_assert_eq(scn_buffer_append(dump, bytes, size), SCN_OK);
}

static void dump_node(struct scn_buffer *dump, const struct scn_document *document, scn_node_id id)
{
        const struct scn_node_view node = scn_document_node(document, id);
        dump_bytes(dump, &node.uid, sizeof node.uid);
        for (uint32_t field = 0; field < SCN_FIELD_PROPERTY; field++) {
                const scn_revision writer = scn_document_stamp(document, id, (enum scn_field)field).writer;
                dump_bytes(dump, &writer, sizeof writer);
        }
        for (uint32_t i = 0; i < node.property_fields_count; i++) {
                struct scn_stamp_view stamp;
                const struct scn_property property = scn_document_property(document, id, i, &stamp);
                if (property.value.data != NULL) {
                        dump_bytes(dump, property.key.data, property.key.size);
                        dump_bytes(dump, &stamp.writer, sizeof stamp.writer);
                }
        }
}

static struct scn_digest dump(const struct scn_document *document)
{
        const scn_node_id root = scn_document_root(document);
        const struct scn_digests digests = scn_document_digests(document);
        struct scn_buffer bytes;
        scn_buffer_init(&bytes, 1u << 24);
        dump_bytes(&bytes, &digests, sizeof digests);
        for (scn_node_id at = root; at != 0; at = scn_document_walk(document, root, at)) {
                dump_node(&bytes, document, at);
        }
        const struct scn_digest digest = scn_digest_bytes((struct scn_slice){bytes.data, (uint32_t)bytes.size});
        scn_buffer_finish(&bytes);
        return digest;
}

static void check_same(struct world *world, const char *when)
{
        const struct scn_digest whole = dump(document_of(world, WHOLE));
        const struct scn_digest folded = dump(document_of(world, FOLDED));
        cr_assert(whole.low == folded.low && whole.high == folded.high, "seed %llu: not the same %s",
                (unsigned long long)world->seed, when);
}

/* --- Sessions --- */

static void open_peers(struct world *world, enum copy copy)
{
        for (uint32_t i = 0; i < world->peers_count; i++) {
                peer_open(&world->peers[copy][i], &world->hub, 10 + i, names[i], documents[copy]);
        }
}

static void close_peers(struct world *world, enum copy copy)
{
        for (uint32_t i = 0; i < world->peers_count; i++) {
                peer_close(&world->peers[copy][i]);
        }
}

static scn_node_id any_node(struct world *world)
{
        const struct scn_document *document = document_of(world, WHOLE);
        const scn_node_id root = scn_document_root(document);
        scn_node_id at = root;
        for (uint32_t left = scn_random_below(&world->random, scn_document_nodes_count(document)); left > 0; left--) {
                at = scn_document_walk(document, root, at);
        }
        return at;
}

static struct scn_op any_value(struct world *world, scn_node_id node)
{
        static const char *const words[] = {"a", "b"};
        struct scn_random *random = &world->random;
        const uint32_t kind = scn_random_below(random, 10);
        if (kind == 0) {
                return scene_rename(node, words[scn_random_below(random, 2)]);
        }
        if (kind <= 2) {
                return scene_set(node, words[scn_random_below(random, 2)],
                        scn_random_chance(random, 20) ? (struct scn_slice){NULL, 0}
                                                      : scene_integer((uint8_t)scn_random_below(random, 90)));
        }
        struct scn_op op = scene_translate(node, scn_random_float(random, -9, 9), 1, 2);
        if (scn_random_chance(random, 30)) {
                op.fields |= SCN_FIELDS_SCALE;
                op.trs.s[0] = op.trs.s[1] = op.trs.s[2] = (float)(1 + scn_random_below(random, 5));
        }
        return op;
}

static struct scn_op any_structure(struct world *world)
{
        struct scn_random *random = &world->random;
        const uint32_t count = scn_document_nodes_count(document_of(world, WHOLE));
        const uint32_t kind = scn_random_below(random, 3);
        if (kind == 0 || count < NODES / 2) {
                struct scn_op op = scene_add(any_node(world), 0, "n");
                op.uid = scn_random_uid(random);
                return op;
        }
        struct scn_op move = scene_move_index(any_node(world), any_node(world), 0);
        move.keep_world = scn_random_chance(random, 50);
        move.is_lossy = true;
        return kind == 1 ? scene_remove(any_node(world)) : move;
}

static void send_edit(struct world *world, uint32_t who, const struct scn_op *ops, uint32_t count, uint64_t group)
{
        struct scn_message message;
        struct peer *peer = &world->peers[WHOLE][who];
        peer_edit_in(peer, group, ops, count);
        while (peer_receive(peer, &message)) {
        }
}

/* Takes back or brings back on one of the documents; what was answered, as a code: "" = done. */
static const char *take_back(
        struct world *world, enum copy copy, uint32_t who, bool is_redo, uint64_t count, scn_revision step)
{
        static char code[32];
        struct scn_message message;
        struct peer *peer = &world->peers[copy][who];
        if (is_redo) {
                peer_redo(peer, count);
        } else {
                peer_undo(peer, (struct peer_wish){.count = count, .step = step == SCN_ABSENT ? 0 : step});
        }
        code[0] = '?';
        code[1] = '\0';
        while (peer_receive(peer, &message)) {
                if (message.kind == SCN_MESSAGE_applied) {
                        code[0] = '\0';
                } else if (message.kind == SCN_MESSAGE_refused) {
                        (void)snprintf(code, sizeof code, "%.*s", (int)message.as.refused.code.size,
                                (const char *)message.as.refused.code.data);
                }
        }
        return code;
}

/* Everybody drags something, mostly something of their own; in between other things happen. */
static void do_something(struct world *world, scn_node_id *held)
{
        struct scn_random *random = &world->random;
        const uint32_t who = scn_random_below(random, world->peers_count);
        const uint32_t what = scn_random_below(random, 100);
        if (what < 6) {
                (void)take_back(world, WHOLE, who, scn_random_chance(random, 40), 1 + what % 2, SCN_ABSENT);
        } else if (what < 12) {
                const struct scn_op op = any_structure(world);
                send_edit(world, who, &op, 1, scn_random_chance(random, 30) ? world->groups[who] : SCN_ABSENT);
        } else {
                struct scn_op ops[2];
                const uint32_t count = 1 + scn_random_below(random, 2);
                if (what < 20) {
                        world->groups[who]++;
                        held[who] = any_node(world);
                }
                for (uint32_t i = 0; i < count; i++) {
                        ops[i] = any_value(world, scn_random_chance(random, 90) ? held[who] : any_node(world));
                }
                send_edit(world, who, ops, count, world->groups[who]);
        }
}

static void set_tag(struct world *world, scn_revision revision)
{
        struct scn_storage *storage;
        struct scn_journal *journal;
        char name[32];
        (void)snprintf(name, sizeof name, "t%llu", (unsigned long long)revision);
        const struct scn_journal_tag tag = {
                .name = scene_text(name), .revision = revision, .author = scene_text("ann")};
        SCN_TEST_OK(scn_storage_open(world->hub.path, &storage, NULL));
        SCN_TEST_OK(scn_journal_open(storage, scene_text(documents[WHOLE]), NULL, &journal, NULL));
        SCN_TEST_OK(scn_journal_set_tag(journal, &tag, NULL));
        scn_journal_close(journal);
        scn_storage_close(storage);
}

/* A session of so many edits, its file with a checkpoint at the end and a few tags, and a copy of it. */
static void make_session(struct world *world, uint32_t edits)
{
        scn_node_id held[PEERS_MAX];
        char command[256];
        hub_start(&world->hub);
        open_peers(world, WHOLE);
        for (uint32_t i = 0; i < world->peers_count; i++) {
                held[i] = scn_document_root(document_of(world, WHOLE));
        }
        for (uint32_t i = 0; i < edits; i++) {
                do_something(world, held);
        }
        struct scn_room *room = world->hub.server->rooms;
        const scn_revision last = scn_document_revision(room->document);
        scn_room_gather(room, (UINT64_C(1) << 20) + 1);
        hub_run(&world->hub);
        close_peers(world, WHOLE);
        hub_stop(&world->hub);
        for (uint32_t i = scn_random_below(&world->random, TAGS_MAX + 1); i > 0; i--) {
                set_tag(world, 1 + scn_random_below(&world->random, (uint32_t)last));
        }
        (void)snprintf(command, sizeof command, "cp %s/whole.scene %s/folded.scene", world->hub.path, world->hub.path);
        cr_assert_eq(system(command), 0);
}

/* --- Folding, and what is left --- */

static uint32_t fold_all(struct scn_journal *journal)
{
        const struct scn_document_options options = options_of();
        struct scn_storage_fault fault = {.text = ""};
        struct scn_folder *folder;
        struct scn_folded folded;
        scn_revision to;
        uint32_t removed = 0;
        SCN_TEST_OK(scn_fold_limit(journal, INT64_MAX, &to, NULL));
        folder = scn_folder_create(&options);
        cr_assert_not_null(folder);
        do {
                const enum scn_error error = scn_folder_step(folder, journal, to, &folded, &fault);
                cr_assert_eq(error, SCN_OK, "%s: %s", scn_error_code(error), fault.text);
                cr_assert_not(folded.is_refuted);
                removed += folded.transactions;
        } while (folded.last != 0);
        scn_folder_destroy(folder);
        return removed;
}

static void verify(struct scn_journal *journal, struct scn_verified *verified_out)
{
        const struct scn_document_options options = options_of();
        struct scn_storage_fault fault = {.text = ""};
        const enum scn_error error = scn_document_verify(journal, &options, verified_out, &fault);
        cr_assert_eq(error, SCN_OK, "%s: %s", scn_error_code(error), fault.text);
}

/* Whatever there is a state of is what it was; of the tags, and of the end of all, there is one. */
static void compare_past(struct world *world, struct scn_journal *whole, struct scn_journal *folded)
{
        const struct scn_document_options options = options_of();
        struct scn_storage_fault damaged = {.text = ""};
        struct scn_journal_tags tags;
        struct scn_journal_state state;
        SCN_TEST_OK(scn_journal_list_tags(folded, &tags, NULL));
        SCN_TEST_OK(scn_journal_state(folded, &state, NULL));
        uint32_t kept = 0;
        for (scn_revision at = 0; at <= state.last_revision; at++) {
                struct scn_storage_fault fault = {.text = ""};
                struct scn_document *documents_at[COPIES];
                bool is_exact = at == 0 || at == state.last_revision;
                for (size_t i = 0; i < tags.count; i++) {
                        is_exact = is_exact || tags.entries[i].revision == at;
                }
                const enum scn_error error =
                        scn_document_at(folded, &options, at, &documents_at[FOLDED], &damaged, &fault);
                cr_assert(error == SCN_OK || (error == SCN_E_FOLDED && !is_exact), "seed %llu: at %llu: %s",
                        (unsigned long long)world->seed, (unsigned long long)at, fault.text);
                if (error != SCN_OK) {
                        cr_assert_not_null(strstr(fault.text, "nearest"));
                        continue;
                }
                kept++;
                SCN_TEST_OK(scn_document_at(whole, &options, at, &documents_at[WHOLE], &damaged, &fault));
                const struct scn_digest a = dump(documents_at[WHOLE]);
                const struct scn_digest b = dump(documents_at[FOLDED]);
                cr_assert(a.low == b.low && a.high == b.high, "seed %llu: another state at %llu",
                        (unsigned long long)world->seed, (unsigned long long)at);
                scn_document_destroy(documents_at[WHOLE]);
                scn_document_destroy(documents_at[FOLDED]);
        }
        cr_assert_gt(kept, 0);
        scn_journal_tags_finish(&tags);
}

static uint32_t fold_and_compare(struct world *world)
{
        struct scn_storage *storage;
        struct scn_journal *journals[COPIES];
        struct scn_verified verified[COPIES];
        SCN_TEST_OK(scn_storage_open(world->hub.path, &storage, NULL));
        for (int copy = 0; copy < COPIES; copy++) {
                SCN_TEST_OK(scn_journal_open(storage, scene_text(documents[copy]), NULL, &journals[copy], NULL));
        }
        const uint32_t removed = fold_all(journals[FOLDED]);
        for (int copy = 0; copy < COPIES; copy++) {
                verify(journals[copy], &verified[copy]);
        }
        cr_assert_eq(verified[WHOLE].revision, verified[FOLDED].revision);
        cr_assert_eq(memcmp(&verified[WHOLE].digests, &verified[FOLDED].digests, sizeof verified[0].digests), 0);
        compare_past(world, journals[WHOLE], journals[FOLDED]);
        for (int copy = 0; copy < COPIES; copy++) {
                scn_journal_close(journals[copy]);
        }
        scn_storage_close(storage);
        return removed;
}

/* --- Undo and redo --- */

static bool take_back_both(struct world *world, uint32_t who, bool is_redo, uint64_t count, scn_revision step)
{
        char whole[32];
        (void)snprintf(whole, sizeof whole, "%s", take_back(world, WHOLE, who, is_redo, count, step));
        const char *folded = take_back(world, FOLDED, who, is_redo, count, step);
        cr_assert_str_eq(folded, whole, "seed %llu: %s of step %llu", (unsigned long long)world->seed,
                is_redo ? "redo" : "undo", (unsigned long long)step);
        check_same(world, is_redo ? "after a redo" : "after an undo");
        return whole[0] == '\0';
}

/* A new step, of both. Often it writes what is there already, or what a gesture began or ended with. */
static void edit_both(struct world *world, uint32_t who)
{
        struct scn_op op = any_value(world, scn_document_root(document_of(world, WHOLE)));
        for (int copy = 0; copy < COPIES; copy++) {
                struct peer *peer = &world->peers[copy][who];
                peer_edit(peer, &op, 1);
                (void)peer_expect(peer, SCN_MESSAGE_applied);
        }
        check_same(world, "after an edit");
}

static bool has_more(struct world *world, uint32_t who)
{
        struct scn_room *room = scn_server_find_room(world->hub.server, scene_text(documents[WHOLE]));
        return scn_author_get(&room->authors, scene_text(names[who]), room->durable)->steps.undo_count > 0;
}

static void compare_undo(struct world *world)
{
        struct scn_random *random = &world->random;
        hub_restart(&world->hub);
        for (int copy = 0; copy < COPIES; copy++) {
                open_peers(world, (enum copy)copy);
                for (uint32_t i = 0; i < world->peers_count; i++) {
                        world->peers[copy][i].number += 1000; /* refused ones have used some up */
                }
        }
        check_same(world, "when opened");
        const scn_revision last = scn_document_revision(document_of(world, WHOLE));
        for (int i = 0; i < 20; i++) {
                const uint32_t who = scn_random_below(random, world->peers_count);
                (void)take_back_both(world, who, false, 1, 1 + scn_random_below(random, (uint32_t)last));
        }
        for (int i = 0; i < 30; i++) {
                const uint32_t who = scn_random_below(random, world->peers_count);
                const uint64_t count = 1 + scn_random_below(random, 3);
                if (scn_random_chance(random, 10)) {
                        edit_both(world, who);
                } else {
                        (void)take_back_both(world, who, scn_random_chance(random, 40), count, SCN_ABSENT);
                }
        }
        for (uint32_t who = 0; who < world->peers_count; who++) {
                for (int i = 0; i < 400 && has_more(world, who); i++) {
                        (void)take_back_both(world, who, false, 1, SCN_ABSENT);
                }
                while (take_back_both(world, who, true, 1, SCN_ABSENT)) {
                }
        }
        for (int copy = 0; copy < COPIES; copy++) {
                close_peers(world, (enum copy)copy);
        }
}

static uint32_t run(uint64_t seed)
{
        static struct world world;
        world = (struct world){
                .random = scn_random_from_seed(seed), .seed = seed, .peers_count = 1 + (uint32_t)(seed % 4)};
        make_session(&world, 150);
        const uint32_t removed = fold_and_compare(&world);
        compare_undo(&world);
        hub_finish(&world.hub);
        return removed;
}

SCN_TEST_WITH(fold, leaves_every_undo_every_redo_and_every_tag_what_they_were, .timeout = 3000)
{
        const char *text = getenv("SCN_SEEDS");
        const uint64_t count = text == NULL ? 12 : strtoull(text, NULL, 10);
        const uint64_t first = scn_test_seed(1);
        uint32_t removed = 0;
        for (uint64_t seed = first; seed < first + count; seed++) {
                removed += run(seed);
        }
        cr_assert_gt(removed, count * 10, "%u", removed);
}
