/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Undo and redo through the server's core against a model of the rules (DESIGN §6): what a step did to a field is a
 * *doing*, which remembers the value and the writer that it found, and finds others when it is done again. A few
 * authors edit, undo and redo the same few fields at any time, remove the nodes, and the server is started anew in
 * between. After each of it values, writers and revisions are the model's, and so is what the summary says was skipped
 * and because of whom. SCN_SEEDS asks for more than the short form. */

#include "server/core.h"
#include "tests/lib/hub.h"
#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

#define AUTHORS 3
#define NODES 3
#define VALUES 3
#define DOINGS_MAX 64
#define STEPS_MAX 256
#define ACTIONS 80
#define REVISIONS_MAX 512
#define AT_ONCE_MAX 3
#define NODE_FIRST 20

/* What is written of a node. */
enum part {
        NAME,
        TRANSLATION,
        SCALE,
        PROPERTY,
        PARTS,
};

struct cell {
        uint32_t value;
        scn_revision writer;
        scn_revision revision;
};

struct node {
        bool is_there;
        scn_revision birth;
        struct cell cells[PARTS];
};

struct doing {
        bool is_removal;
        uint32_t node;
        uint32_t part;
        struct node found;       /* the node as the step found it ... */
        struct node found_again; /* ... and as its last redo did */
        scn_revision redone;     /* by which; 0: none */
};

/* What an undo took. */
struct undone {
        uint32_t doing;
        uint32_t value;    /* to bring back */
        scn_revision left; /* the writer that the field got */
};

struct step {
        scn_revision name;
        uint32_t author;
        struct doing doings[DOINGS_MAX];
        uint32_t doings_count;
        scn_revision redone; /* the last time */
        struct undone undone[DOINGS_MAX];
        uint32_t undone_count;
        scn_revision undone_by;
};

struct world {
        struct hub hub;
        struct peer peers[AUTHORS + 1]; /* the last has made the scene */
        uint64_t groups[AUTHORS];
        struct scn_random random;
        uint64_t seed;
        struct node nodes[NODES];
        struct step steps[STEPS_MAX];
        uint32_t steps_count;
        uint32_t authors_count;
        uint32_t authors[REVISIONS_MAX]; /* of the revisions */
        /* Of what is being taken or brought back: */
        scn_revision revision;
        uint32_t applied;
        char skipped[4096];
        /* What the seeds have come upon. */
        uint32_t newer_count; /* of things found by a redo that were not as the step had found them */
};

static const char *const names[AUTHORS + 1] = {"ann", "ben", "cy", "maker"};
static const char *const words[VALUES] = {"a", "b", "c"};

static struct scn_document *document_of(struct world *world)
{
        return world->hub.server->rooms->document;
}

static void open_peers(struct world *world)
{
        for (uint32_t i = 0; i <= AUTHORS; i++) {
                peer_open(&world->peers[i], &world->hub, 10 + i, names[i], "test");
        }
}

static void close_peers(struct world *world)
{
        for (uint32_t i = 0; i <= AUTHORS; i++) {
                peer_close(&world->peers[i]);
        }
}

/* --- The model --- */

static struct step *find_step(struct world *world, scn_revision name)
{
        for (uint32_t i = 0; i < world->steps_count; i++) {
                if (world->steps[i].name == name) {
                        return &world->steps[i];
                }
        }
        return NULL;
}

static bool is_own(struct world *world, uint32_t author, scn_revision writer)
{
        const struct step *step = find_step(world, writer);
        return step != NULL && step->author == author;
}

/* Once for each field and what is in its way. */
static void skip(struct world *world, uint32_t node, uint32_t part, const struct cell *in_the_way)
{
        static const char *const fields[PARTS + 1] = {"name", "translation", "scale", "property", "place"};
        const size_t at = strlen(world->skipped);
        char text[64];
        if (in_the_way == NULL) {
                (void)snprintf(text, sizeof text, " %u.%s:gone;", node, fields[part]);
        } else {
                /* What is put back by the same undo is in the way as whose it was before. */
                const bool is_put_back = in_the_way->revision == world->revision;
                const scn_revision revision = is_put_back ? in_the_way->writer : in_the_way->revision;
                (void)snprintf(text, sizeof text, " %u.%s:superseded:%s@%llu;", node, fields[part],
                        names[world->authors[revision]], (unsigned long long)revision);
        }
        if (strstr(world->skipped, text) == NULL) {
                (void)snprintf(world->skipped + at, sizeof world->skipped - at, "%s", text);
        }
}

static const struct node *found_of(const struct step *step, const struct doing *doing)
{
        return doing->redone != 0 && doing->redone == step->redone ? &doing->found_again : &doing->found;
}

static void put(struct world *world, struct cell *cell, uint32_t value, scn_revision writer)
{
        world->applied += cell->value != value || cell->writer != writer;
        *cell = (struct cell){value, writer, world->revision};
}

static bool is_same_node(const struct node *a, const struct node *b)
{
        bool is = true;
        for (uint32_t part = 0; part < PARTS; part++) {
                is = is && a->cells[part].value == b->cells[part].value &&
                        a->cells[part].writer == b->cells[part].writer;
        }
        return is;
}

/* False: refused. */
static bool restore_node(struct world *world, const struct step *step, const struct doing *doing)
{
        struct node *node = &world->nodes[doing->node];
        if (node->is_there) {
                return false;
        }
        *node = *found_of(step, doing);
        world->newer_count += !is_same_node(node, &doing->found);
        node->is_there = true;
        node->birth = world->revision;
        for (uint32_t part = 0; part < PARTS; part++) {
                node->cells[part].revision = world->revision;
        }
        world->applied++;
        return true;
}

static bool take_back(struct world *world, struct step *step)
{
        step->undone_count = 0;
        step->undone_by = world->revision;
        for (uint32_t i = step->doings_count; i-- > 0;) {
                const struct doing *doing = &step->doings[i];
                struct cell *cell = &world->nodes[doing->node].cells[doing->part];
                const struct cell *found = &found_of(step, doing)->cells[doing->part];
                if (doing->is_removal) {
                        /* What its redo found gone it has not removed. */
                        if (doing->redone != step->redone) {
                                continue;
                        }
                        if (!restore_node(world, step, doing)) {
                                return false;
                        }
                        step->undone[step->undone_count++] = (struct undone){.doing = i};
                } else if (!world->nodes[doing->node].is_there) {
                        skip(world, doing->node, doing->part, NULL);
                } else if (cell->writer != step->name) {
                        skip(world, doing->node, doing->part, cell);
                } else {
                        world->newer_count += found->value != doing->found.cells[doing->part].value;
                        step->undone[step->undone_count++] = (struct undone){i, cell->value, found->writer};
                        put(world, cell, found->value, found->writer);
                }
        }
        return true;
}

static bool is_by_others(struct world *world, const struct step *step, const struct node *node)
{
        bool is = node->birth > step->undone_by;
        for (uint32_t part = 0; part < PARTS; part++) {
                const struct cell *cell = &node->cells[part];
                is = is || (cell->revision > step->undone_by && !is_own(world, step->author, cell->writer));
        }
        return is;
}

/* False: refused. */
static bool remove_again(struct world *world, struct step *step, struct doing *doing)
{
        struct node *node = &world->nodes[doing->node];
        if (!node->is_there) {
                skip(world, doing->node, PARTS, NULL);
                return true;
        }
        if (is_by_others(world, step, node)) {
                return false;
        }
        doing->found_again = *node;
        doing->redone = world->revision;
        node->is_there = false;
        world->applied++;
        return true;
}

static bool bring_back(struct world *world, struct step *step)
{
        bool is_broken[NODES][PARTS] = {{false}};
        step->redone = world->revision;
        for (uint32_t i = step->undone_count; i-- > 0;) {
                const struct undone *undone = &step->undone[i];
                struct doing *doing = &step->doings[undone->doing];
                struct cell *cell = &world->nodes[doing->node].cells[doing->part];
                bool *is_cut_off = &is_broken[doing->node][doing->part];
                if (doing->is_removal) {
                        if (!remove_again(world, step, doing)) {
                                return false;
                        }
                        continue;
                }
                const bool is_there = world->nodes[doing->node].is_there;
                const bool goes_on = is_there && cell->writer == undone->left && !*is_cut_off;
                *is_cut_off = !goes_on;
                if (goes_on) {
                        doing->found_again = world->nodes[doing->node];
                        doing->redone = world->revision;
                        put(world, cell, undone->value, step->name);
                } else {
                        skip(world, doing->node, doing->part, is_there ? cell : NULL);
                }
        }
        return true;
}

/* --- Comparing --- */

static scn_node_id id_of(struct world *world, uint32_t node)
{
        return scn_document_find_uid(document_of(world), scene_uid(NODE_FIRST + node));
}

static struct cell read_cell(struct world *world, scn_node_id id, uint32_t part)
{
        static const enum scn_field fields[PARTS] = {SCN_FIELD_NAME, SCN_FIELD_TRANSLATION, SCN_FIELD_SCALE};
        const struct scn_document *document = document_of(world);
        const struct scn_node_view node = scn_document_node(document, id);
        struct scn_stamp_view stamp;
        uint32_t value = 0;
        if (part == PROPERTY) {
                cr_assert_eq(node.property_fields_count, 1);
                value = scn_document_property(document, id, 0, &stamp).value.data[0];
        } else {
                stamp = scn_document_stamp(document, id, fields[part]);
                value = part == NAME          ? (uint32_t)(node.name.data[0] - 'a')
                        : part == TRANSLATION ? (uint32_t)node.trs.t[0]
                                              : (uint32_t)node.trs.s[0] - 1;
        }
        return (struct cell){value, stamp.writer, stamp.revision};
}

static void check(struct world *world, const char *what)
{
        const unsigned long long seed = world->seed;
        const unsigned long long revision = scn_document_revision(document_of(world));
        for (uint32_t i = 0; i < NODES; i++) {
                const struct node *node = &world->nodes[i];
                const scn_node_id id = id_of(world, i);
                cr_assert_eq(id != 0, node->is_there, "seed %llu, %s, revision %llu: node %u", seed, what, revision, i);
                for (uint32_t part = 0; part < PARTS && node->is_there; part++) {
                        const struct cell cell = read_cell(world, id, part);
                        const struct cell *wanted = &node->cells[part];
                        cr_assert(cell.value == wanted->value && cell.writer == wanted->writer &&
                                        cell.revision == wanted->revision,
                                "seed %llu, %s, revision %llu: part %u of %u is %u of %llu@%llu, not %u of %llu@%llu",
                                seed, what, revision, part, i, cell.value, (unsigned long long)cell.writer,
                                (unsigned long long)cell.revision, wanted->value, (unsigned long long)wanted->writer,
                                (unsigned long long)wanted->revision);
                }
        }
        scn_document_check(document_of(world));
}

/* --- Edits --- */

static struct scn_op make_op(struct world *world, uint32_t node, uint32_t part, uint32_t value)
{
        const scn_node_id id = id_of(world, node);
        struct scn_op op;
        switch (part) {
        case NAME:
                return scene_rename(id, words[value]);
        case PROPERTY:
                return scene_set(id, "k", scene_integer((uint8_t)value));
        default:
                op = scene_translate(id, (float)value, 0, 0);
                op.fields = part == TRANSLATION ? SCN_FIELDS_TRANSLATION : SCN_FIELDS_SCALE;
                op.trs.s[0] = op.trs.s[1] = op.trs.s[2] = (float)(1 + value);
                return op;
        }
}

static scn_revision send_edit(struct peer *peer, const struct scn_op *ops, uint32_t count, uint64_t group)
{
        peer_edit_in(peer, group, ops, count);
        return peer_expect(peer, SCN_MESSAGE_applied).as.applied.rev;
}

/* The step of an edit: a new one, or that of its gesture, whose last edit has left its writer somewhere. */
static struct step *step_of(struct world *world, uint32_t author, uint64_t group, scn_revision revision)
{
        static const uint64_t none = SCN_ABSENT;
        struct step *last = NULL;
        for (uint32_t i = 0; i < world->steps_count; i++) {
                last = world->steps[i].author == author ? &world->steps[i] : last;
        }
        if (last != NULL && group != none && world->groups[author] == group) {
                return last;
        }
        cr_assert_lt(world->steps_count, STEPS_MAX);
        world->groups[author] = group;
        last = &world->steps[world->steps_count++];
        *last = (struct step){.name = revision, .author = author};
        return last;
}

/* The next edit of this author is of no gesture that has begun. */
static void close_group(struct world *world, uint32_t author)
{
        world->groups[author] = SCN_ABSENT;
}

/* What to do, at random; most is about the same few fields. */
static struct doing any_doing(struct world *world)
{
        const bool is_hot = scn_random_chance(&world->random, 70);
        return (struct doing){
                .node = is_hot ? 0 : scn_random_below(&world->random, NODES),
                .part = is_hot ? TRANSLATION : scn_random_below(&world->random, PARTS),
                .is_removal = scn_random_chance(&world->random, 12),
        };
}

/* One to three ops, the first of them about `wish`. */
static void do_edit(struct world *world, uint32_t author, struct doing wish)
{
        struct scn_op ops[3];
        struct doing doings[3];
        struct node nodes[NODES];
        uint32_t values[3] = {0};
        uint32_t count = 0;
        uint32_t changes = 0;
        memcpy(nodes, world->nodes, sizeof nodes);
        for (uint32_t i = scn_random_chance(&world->random, 30) ? 3 : 1; i > 0; i--) {
                struct doing doing = wish;
                wish = any_doing(world);
                const uint32_t value = scn_random_below(&world->random, VALUES);
                struct node *node = &nodes[doing.node];
                if (!node->is_there) {
                        continue;
                }
                doing.part = doing.is_removal ? 0 : doing.part;
                ops[count++] = doing.is_removal ? scene_remove(id_of(world, doing.node))
                                                : make_op(world, doing.node, doing.part, value);
                if (!doing.is_removal && node->cells[doing.part].value == value) {
                        continue;
                }
                values[changes] = value;
                doings[changes++] = doing;
                node->is_there = !doing.is_removal;
                node->cells[doing.part].value = doing.is_removal ? node->cells[doing.part].value : value;
        }
        if (count == 0) {
                return;
        }
        /* Now and then the author's last gesture goes on, though others may have done anything meanwhile. */
        const bool goes_on = world->groups[author] != SCN_ABSENT && scn_random_chance(&world->random, 60);
        const uint64_t group = goes_on                  ? world->groups[author]
                : scn_random_chance(&world->random, 70) ? 1 + scn_document_revision(document_of(world))
                                                        : SCN_ABSENT;
        const scn_revision revision = send_edit(&world->peers[author], ops, count, group);
        if (changes == 0) {
                return;
        }
        struct step *step = step_of(world, author, group, revision);
        cr_assert_lt(revision, REVISIONS_MAX);
        world->authors[revision] = author;
        for (uint32_t i = 0; i < changes; i++) {
                struct node *node = &world->nodes[doings[i].node];
                doings[i].found = *node;
                cr_assert_lt(step->doings_count, DOINGS_MAX);
                step->doings[step->doings_count++] = doings[i];
                if (doings[i].is_removal) {
                        node->is_there = false;
                } else {
                        node->cells[doings[i].part] = (struct cell){values[i], step->name, revision};
                }
        }
        check(world, "edit");
}

/* --- Undo and redo --- */

static struct scn_message send_undo(struct world *world, uint32_t author, bool is_redo, uint64_t count, bool is_dry)
{
        struct peer *peer = &world->peers[author];
        struct scn_message message;
        if (is_redo) {
                peer_redo(peer, count);
        } else {
                peer_undo(peer, (struct peer_wish){.count = count, .is_dry = is_dry});
        }
        while (peer_receive(peer, &message)) {
                if (message.kind == SCN_MESSAGE_applied || message.kind == SCN_MESSAGE_refused) {
                        return message;
                }
        }
        cr_assert(false, "seed %llu: no answer", (unsigned long long)world->seed);
        return message;
}

/* What a summary says of what was skipped, as skip() spells it. */
static void read_skipped(struct scn_unpacker *unpacker, char *text, size_t size)
{
        size_t at = 0;
        text[0] = '\0';
        for (uint32_t left = scn_unpack_array(unpacker); left > 0; left--) {
                struct scn_slice field = scene_text("");
                struct scn_slice reason = scene_text("");
                struct scn_slice author = scene_text("");
                struct scn_uid uid = {{0}};
                uint64_t revision = 0;
                uint32_t node = 0;
                for (uint32_t members = scn_unpack_map(unpacker); members > 0; members--) {
                        const struct scn_slice key = scn_unpack_text(unpacker, 16);
                        struct scn_slice *word = scn_slice_equal(key, scene_text("field")) ? &field
                                : scn_slice_equal(key, scene_text("reason"))               ? &reason
                                : scn_slice_equal(key, scene_text("author"))               ? &author
                                                                                           : NULL;
                        if (word != NULL) {
                                *word = scn_unpack_text(unpacker, 64);
                        } else if (scn_slice_equal(key, scene_text("rev"))) {
                                revision = scn_unpack_uint(unpacker, SCN_REVISION_MAX);
                        } else if (scn_slice_equal(key, scene_text("node"))) {
                                uid = scn_unpack_uid(unpacker);
                        } else {
                                (void)scn_unpack_raw(unpacker);
                        }
                }
                while (node < NODES && !scn_uid_equal(uid, scene_uid(NODE_FIRST + node))) {
                        node++;
                }
                at += (size_t)snprintf(text + at, size - at, " %u.%.*s:%.*s", node, (int)field.size,
                        (const char *)field.data, (int)reason.size, (const char *)reason.data);
                if (revision != 0) {
                        at += (size_t)snprintf(text + at, size - at, ":%.*s@%llu", (int)author.size,
                                (const char *)author.data, (unsigned long long)revision);
                }
                at += (size_t)snprintf(text + at, size - at, ";");
        }
        cr_assert_eq(unpacker->error, SCN_OK);
}

static void check_summary(struct world *world, const struct scn_message *message, uint32_t steps_count)
{
        char skipped[sizeof world->skipped];
        const unsigned long long seed = world->seed;
        const unsigned long long revision = world->revision;
        struct scn_unpacker unpacker = scn_unpacker_from(message->as.applied.summary);
        (void)scn_unpack_map(&unpacker);
        (void)scn_unpack_text(&unpacker, 16);
        cr_assert_eq(scn_unpack_array(&unpacker), steps_count, "seed %llu, revision %llu", seed, revision);
        for (uint32_t i = 0; i < steps_count; i++) {
                (void)scn_unpack_uint(&unpacker, SCN_REVISION_MAX);
        }
        (void)scn_unpack_text(&unpacker, 16);
        const uint64_t applied = scn_unpack_uint(&unpacker, SCN_REVISION_MAX);
        cr_assert_eq(applied, world->applied, "seed %llu, revision %llu: applied %llu, not %u", seed, revision,
                (unsigned long long)applied, world->applied);
        (void)scn_unpack_text(&unpacker, 16);
        read_skipped(&unpacker, skipped, sizeof skipped);
        cr_assert_str_eq(skipped, world->skipped, "seed %llu, revision %llu: skipped%s, not%s", seed, revision, skipped,
                world->skipped);
}

static const struct scn_steps *steps_of(struct world *world, uint32_t author)
{
        struct scn_room *room = world->hub.server->rooms;
        return &scn_author_get(&room->authors, scene_text(names[author]), room->durable)->steps;
}

/* The steps that will be asked for. */
static uint32_t choose(struct world *world, uint32_t author, bool is_redo, uint32_t count, struct step **chosen)
{
        const struct scn_steps *steps = steps_of(world, author);
        const size_t there = is_redo ? steps->redo_count : steps->undo_count;
        uint32_t chosen_count = 0;
        for (size_t i = there; i-- > 0 && chosen_count < count;) {
                chosen[chosen_count] = find_step(world, is_redo ? steps->redo[i].step : steps->undo[i]);
                cr_assert_not_null(chosen[chosen_count++]);
        }
        return chosen_count;
}

static void do_undo(struct world *world, uint32_t author, bool is_redo, uint32_t asked)
{
        static struct step kept[AT_ONCE_MAX];
        struct node nodes[NODES];
        struct step *chosen[AT_ONCE_MAX];
        const uint32_t count = choose(world, author, is_redo, asked, chosen);
        uint32_t done = 0;
        bool is_refused = count == 0;
        memcpy(nodes, world->nodes, sizeof nodes);
        world->revision = scn_document_revision(document_of(world)) + 1;
        world->applied = 0;
        world->skipped[0] = '\0';
        while (done < count && !is_refused) {
                struct node before[NODES];
                const uint32_t applied = world->applied;
                const size_t skipped = strlen(world->skipped);
                memcpy(before, world->nodes, sizeof before);
                kept[done] = *chosen[done];
                is_refused = !(is_redo ? bring_back(world, chosen[done]) : take_back(world, chosen[done]));
                if (is_refused) {
                        memcpy(world->nodes, before, sizeof before);
                        *chosen[done] = kept[done];
                        world->applied = applied;
                        world->skipped[skipped] = '\0';
                }
                done += !is_refused;
        }
        if (world->applied == 0) {
                memcpy(world->nodes, nodes, sizeof nodes);
                for (uint32_t i = 0; i < done; i++) {
                        *chosen[i] = kept[i];
                }
        }
        cr_assert_lt(world->revision, REVISIONS_MAX);
        world->authors[world->revision] = author;
        close_group(world, author);
        const struct scn_message message = send_undo(world, author, is_redo, asked, false);
        cr_assert_eq(message.kind == SCN_MESSAGE_refused, done == 0, "seed %llu, revision %llu: refused",
                (unsigned long long)world->seed, (unsigned long long)world->revision);
        if (done > 0) {
                cr_assert_eq(message.as.applied.unchanged, world->applied == 0);
                check_summary(world, &message, done);
        }
        check(world, is_redo ? "redo" : "undo");
}

static uint32_t any_count(struct world *world)
{
        return 1 + scn_random_below(&world->random, AT_ONCE_MAX);
}

static void restart(struct world *world)
{
        close_peers(world);
        hub_stop(&world->hub);
        hub_restart(&world->hub);
        open_peers(world);
        for (uint32_t author = 0; author < AUTHORS; author++) {
                close_group(world, author);
                (void)send_undo(world, author, false, 1, true); /* reads the past, changes nothing */
        }
        check(world, "restart");
}

/* What an author does is undone, redone and undone, and another one writes on or undoes between undo and redo. */
static void do_in_between(struct world *world, uint32_t author)
{
        const uint32_t other = (author + 1) % world->authors_count;
        struct doing doing = any_doing(world);
        doing.is_removal = false;
        do_edit(world, other, doing);
        doing.is_removal = scn_random_chance(&world->random, 50);
        do_edit(world, author, doing);
        do_undo(world, author, false, 1);
        if (scn_random_chance(&world->random, 50)) {
                do_undo(world, other, false, 1);
        } else {
                doing.is_removal = false;
                do_edit(world, other, doing);
        }
        do_undo(world, author, true, 1);
        if (scn_random_chance(&world->random, 10)) {
                restart(world);
        }
        do_undo(world, author, false, 1);
}

/* --- All of it --- */

static void begin(struct world *world, uint64_t seed)
{
        memset(world, 0, sizeof *world); /* a literal of this size would stand on the stack */
        world->random = scn_random_from_seed(seed);
        world->seed = seed;
        world->authors_count = 2 + (uint32_t)(seed % (AUTHORS - 1));
        hub_start(&world->hub);
        open_peers(world);
        for (uint32_t i = 0; i < NODES; i++) {
                struct scn_op op = scene_add(1, NODE_FIRST + i, words[0]);
                world->authors[send_edit(&world->peers[AUTHORS], &op, 1, SCN_ABSENT)] = AUTHORS;
                op = make_op(world, i, PROPERTY, 0);
                world->authors[send_edit(&world->peers[AUTHORS], &op, 1, SCN_ABSENT)] = AUTHORS;
                world->nodes[i].is_there = true;
                world->nodes[i].birth =
                        scn_document_stamp(document_of(world), id_of(world, i), SCN_FIELD_PLACE).revision;
                for (uint32_t part = 0; part < PARTS; part++) {
                        world->nodes[i].cells[part] = read_cell(world, id_of(world, i), part);
                }
        }
        for (uint32_t author = 0; author < AUTHORS; author++) {
                close_group(world, author);
        }
}

static uint32_t run(uint64_t seed)
{
        static struct world world;
        begin(&world, seed);
        uint32_t author = 0;
        for (int i = 0; i < ACTIONS; i++) {
                const uint32_t what = scn_random_below(&world.random, 100);
                author = scn_random_chance(&world.random, 20) ? author
                                                              : scn_random_below(&world.random, world.authors_count);
                if (what < 2) {
                        restart(&world);
                } else if (what < 10) {
                        do_in_between(&world, author);
                } else if (what < 35) {
                        do_undo(&world, author, false, any_count(&world));
                } else if (what < 60) {
                        do_undo(&world, author, true, any_count(&world));
                } else {
                        do_edit(&world, author, any_doing(&world));
                }
        }
        close_peers(&world);
        hub_finish(&world.hub);
        return world.newer_count;
}

SCN_TEST_WITH(undo_model, says_what_undo_and_redo_do_among_several_authors, .timeout = 3000)
{
        const uint64_t first = scn_test_seed(1);
        const uint64_t count = scn_test_seeds(30);
        uint64_t newer_count = 0;
        for (uint64_t seed = first; seed < first + count; seed++) {
                newer_count += run(seed);
        }
        cr_assert_geq(newer_count, count / 4, "a redo had found something newer %llu times only",
                (unsigned long long)newer_count);
}
