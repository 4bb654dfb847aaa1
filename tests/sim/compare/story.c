/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* usage: store_real SEED COUNT | store_fake SEED COUNT
 *
 * What a storage answers to COUNT random stories, a line for each call: linked once with the storage and once with the
 * simulator's fake of it, and whatever the two answer differently is a fault of the fake (or of storage.h).
 *
 * Not told of: forgetting clients, for the storage keeps those of its last window of revisions until it is full, and
 * the fake has no windows; and what faults of the disk do, for which there are tests of their own. */

#include "tests/sim/compare/story.h"

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "tests/lib/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS 120u
#define NAMES 3u
#define CLIENTS 4u
#define BATCH_MAX 5u

struct story {
        struct scn_random random;
        struct scn_storage *storage;
        struct scn_journal *writer; /* of `open`; NULL: none */
        uint32_t open;
        int64_t now_us;
        /* What the teller believes of the open document, to say what can be right; it is often wrong on purpose. */
        scn_revision revision;
        uint64_t numbers[CLIENTS + 1];
        uint64_t births;
};

static uint32_t below(struct story *story, uint32_t count)
{
        return scn_random_below(&story->random, count);
}

static bool chance(struct story *story, uint32_t percent)
{
        return scn_random_chance(&story->random, percent);
}

static struct scn_slice text(const char *of)
{
        return (struct scn_slice){(const uint8_t *)of, (uint32_t)strlen(of)};
}

static struct scn_slice name_of(uint32_t number)
{
        static const char *const names[] = {"isle", "a/b", "..", ""};
        return text(names[number]);
}

static struct scn_slice any_name(struct story *story)
{
        return name_of(chance(story, 3) ? NAMES : below(story, NAMES));
}

static void say(const char *call, enum scn_error error)
{
        printf("%s %s\n", call, scn_error_code(error));
}

static void say_number(const char *what, uint64_t number)
{
        printf("  %s %llu\n", what, (unsigned long long)number);
}

static void say_slice(const char *what, struct scn_slice slice)
{
        uint64_t hash = 14695981039346656037u;
        for (uint32_t i = 0; i < slice.size; i++) {
                hash = (hash ^ slice.data[i]) * 1099511628211u;
        }
        printf("  %s %u %llx\n", what, slice.size, (unsigned long long)hash);
}

/* --- The catalogue --- */

static struct scn_storage_birth any_birth(struct story *story)
{
        return (struct scn_storage_birth){
                .uid = scn_random_uid(&story->random), .created_us = story->now_us, .origin = text("made up")};
}

static void list(struct story *story, enum scn_storage_place place)
{
        struct scn_storage_list found;
        const enum scn_error error = scn_storage_list(story->storage, place, &found, NULL);
        say("list", error);
        for (size_t i = 0; error == SCN_OK && i < found.count; i++) {
                say_slice("entry", found.entries[i].name);
                say_number("deleted", (uint64_t)found.entries[i].deleted_us);
        }
        if (error == SCN_OK) {
                scn_storage_list_finish(&found);
        }
}

static void close_writer(struct story *story)
{
        scn_journal_close(story->writer);
        story->writer = NULL;
}

static void say_state(struct story *story, struct scn_journal *journal)
{
        struct scn_journal_state state;
        const enum scn_error error = scn_journal_state(journal, &state, NULL);
        say("state", error);
        if (error == SCN_OK) {
                say_slice("uid", (struct scn_slice){state.uid.bytes, sizeof state.uid.bytes});
                say_number("created", (uint64_t)state.created_us);
                say_number("last", state.last_revision);
                say_number("time", (uint64_t)state.last_time_us);
                say_number("epoch", state.epoch);
                say_number("checkpoint", state.has_checkpoint ? state.checkpoint_revision : UINT64_MAX);
                say_number("bytes", state.has_checkpoint ? state.checkpoint_bytes : 0);
                say_number("behind", state.journal_bytes);
                say_number("base", state.base);
                say_number("judged", state.judged);
                story->revision = state.last_revision;
        }
        say_slice("origin", scn_journal_origin(journal));
}

static void open_writer(struct story *story)
{
        if (story->writer != NULL) {
                close_writer(story);
                return;
        }
        story->open = below(story, NAMES);
        const enum scn_error error = scn_journal_open(story->storage, name_of(story->open), NULL, &story->writer, NULL);
        say("open", error);
        if (error == SCN_OK) {
                say_state(story, story->writer);
                memset(story->numbers, 0, sizeof story->numbers);
        } else {
                story->writer = NULL;
        }
}

static void keep_house(struct story *story)
{
        const struct scn_slice name = any_name(story);
        const struct scn_storage_birth birth = any_birth(story);
        uint32_t removed = 0;
        switch (below(story, 8)) {
        case 0:
        case 1:
                say("create", scn_storage_create(story->storage, name, &birth, NULL));
                break;
        case 2:
                say("find", scn_storage_find(story->storage, name, NULL));
                break;
        case 3:
                say("delete", scn_storage_delete(story->storage, name, story->now_us, NULL));
                break;
        case 4:
                say("undelete", scn_storage_undelete(story->storage, name, NULL));
                break;
        case 5:
                say("rename", scn_storage_rename(story->storage, name, any_name(story), NULL));
                break;
        case 6:
                say("purge", scn_storage_purge(story->storage, story->now_us, &removed, NULL));
                say_number("removed", removed);
                break;
        default:
                list(story, chance(story, 50) ? SCN_STORAGE_DOCUMENTS : SCN_STORAGE_TRASH);
                break;
        }
}

/* --- The journal --- */

static struct scn_uid client_of(uint32_t number)
{
        return (struct scn_uid){{(uint8_t)number}}; /* 0: none, the server itself */
}

static const char *author_of(uint32_t number)
{
        static const char *const authors[] = {"", "ann", "bob", "ann", "cy"};
        return authors[number];
}

/* A transaction that continues what the teller believes, or, now and then, does not. */
static void make(struct story *story, struct scn_journal_transaction *transaction, struct scn_journal_record *records,
        uint8_t *bytes, scn_revision revision, uint64_t *numbers)
{
        const uint32_t client = below(story, CLIENTS + 1);
        const uint32_t size = chance(story, 10) ? 3000 : 20;
        for (uint32_t i = 0; i < size; i++) {
                bytes[i] = (uint8_t)scn_random_next(&story->random);
        }
        for (uint32_t i = 0; i < 2; i++) {
                records[i] = (struct scn_journal_record){.kind = below(story, 6),
                        .node = scn_random_uid(&story->random),
                        .before = {bytes, below(story, size)},
                        .after = {bytes, below(story, size)}};
        }
        numbers[client] += client == 0 ? 0 : 1 + below(story, 2);
        story->now_us += 1 + below(story, 1000);
        *transaction = (struct scn_journal_transaction){
                .revision = revision + (chance(story, 1) ? 1 : 0),
                .time_us = story->now_us - (chance(story, 1) ? 5000 : 0),
                .author = text(author_of(client)),
                .client = client_of(client),
                .number = numbers[client] - (client != 0 && chance(story, 1) ? 1 : 0),
                .content_hash = {bytes, 16},
                .group = below(story, 3),
                .cause = below(story, 5),
                .step = revision,
                .digest = {bytes + 1, 16},
                .answer = {bytes, below(story, size)},
                .records = records,
                .records_count = below(story, 3),
        };
}

static void append(struct story *story)
{
        static uint8_t bytes[BATCH_MAX][4096];
        struct scn_journal_transaction transactions[BATCH_MAX];
        struct scn_journal_record records[BATCH_MAX][2];
        uint64_t numbers[CLIENTS + 1];
        const uint32_t count = 1 + below(story, BATCH_MAX);
        memcpy(numbers, story->numbers, sizeof numbers);
        for (uint32_t i = 0; i < count; i++) {
                make(story, &transactions[i], records[i], bytes[i], story->revision + i + 1, numbers);
        }
        const enum scn_error error = scn_journal_append(story->writer, transactions, count, NULL);
        say("append", error);
        if (error == SCN_OK) {
                story->revision += count;
                memcpy(story->numbers, numbers, sizeof numbers);
        }
}

static void say_transaction(const struct scn_journal_transaction *transaction, bool has_records)
{
        say_number("rev", transaction->revision);
        say_number("at", (uint64_t)transaction->time_us);
        say_slice("author", transaction->author);
        say_slice("client", (struct scn_slice){transaction->client.bytes, 16});
        say_number("number", transaction->number);
        say_slice("hash", transaction->content_hash);
        say_number("group", transaction->group);
        say_number("cause", transaction->cause);
        say_number("step", transaction->step);
        say_slice("digest", transaction->digest);
        say_slice("answer", transaction->answer);
        say_number("records", transaction->records_count);
        for (uint32_t i = 0; has_records && i < transaction->records_count; i++) {
                say_number("kind", transaction->records[i].kind);
                say_slice("node", (struct scn_slice){transaction->records[i].node.bytes, 16});
                say_slice("before", transaction->records[i].before);
                say_slice("after", transaction->records[i].after);
        }
}

static void say_page(enum scn_error error, struct scn_journal_page *page, bool has_records)
{
        for (uint32_t i = 0; error == SCN_OK && i < scn_journal_page_count(page); i++) {
                say_transaction(scn_journal_page_get(page, i), has_records);
        }
        if (error == SCN_OK) {
                scn_journal_page_destroy(page);
        }
}

static void read_journal(struct story *story)
{
        struct scn_journal_page *page = NULL;
        const struct scn_journal_range range = {
                .from = below(story, (uint32_t)story->revision + 3),
                .to = below(story, (uint32_t)story->revision + 3),
                .transactions_max = below(story, 6),
                .without_records = chance(story, 40),
        };
        const enum scn_error error = scn_journal_read(story->writer, &range, &page, NULL);
        say("read", error);
        say_page(error, page, !range.without_records);
}

static void find_things(struct story *story)
{
        struct scn_journal_client client = {.author_bytes = 0};
        struct scn_journal_page *page = NULL;
        scn_revision revision = 0;
        bool is_found = false;
        const uint32_t number = 1 + below(story, CLIENTS);
        enum scn_error error =
                scn_journal_find_time(story->writer, story->now_us - below(story, 20000), &revision, NULL);
        say("find_time", error);
        say_number("rev", revision);
        error = scn_journal_find_client(story->writer, client_of(number), &client, &is_found, NULL);
        say("find_client", error);
        if (is_found) {
                say_slice("author", (struct scn_slice){client.author, client.author_bytes});
                say_number("number", client.last_number);
                say_number("rev", client.last_revision);
                say_number("time", (uint64_t)client.last_time_us);
        }
        error = scn_journal_find_answer(
                story->writer, client_of(number), below(story, (uint32_t)story->numbers[number] + 3), &page, NULL);
        say("find_answer", error);
        say_page(error, page, false);
}

static void epochs(struct story *story)
{
        struct scn_journal_epoch told[4];
        uint32_t count = 0;
        bool is_found = false;
        const uint64_t id = 1 + below(story, 6);
        say("begin_epoch", scn_journal_begin_epoch(story->writer, id, story->now_us, NULL));
        enum scn_error error = scn_journal_find_epoch(story->writer, 1 + below(story, 6), &told[0], &is_found, NULL);
        say("find_epoch", error);
        if (is_found) {
                say_number("began", told[0].began);
                say_number("ended", told[0].ended);
        }
        error = scn_journal_list_epochs(story->writer, told, 4, &count, NULL);
        say("list_epochs", error);
        for (uint32_t i = 0; i < count; i++) {
                say_number("id", told[i].id);
                say_number("began", told[i].began);
                say_number("ended", told[i].ended);
        }
}

static void tags(struct story *story)
{
        static const char *const names[] = {"calm", "storm", "dawn", ""};
        struct scn_journal_tags told;
        scn_revision revision = 0;
        const struct scn_journal_tag tag = {
                .name = text(names[chance(story, 3) ? 3 : below(story, 3)]),
                .revision = below(story, (uint32_t)story->revision + 2),
                .time_us = story->now_us,
                .author = text("ann"),
        };
        say("set_tag", scn_journal_set_tag(story->writer, &tag, NULL));
        if (chance(story, 40)) {
                say("remove_tag", scn_journal_remove_tag(story->writer, text(names[below(story, 3)]), NULL));
        }
        say("find_tag", scn_journal_find_tag(story->writer, text(names[below(story, 3)]), &revision, NULL));
        say_number("rev", revision);
        const enum scn_error error = scn_journal_list_tags(story->writer, &told, NULL);
        say("list_tags", error);
        for (size_t i = 0; error == SCN_OK && i < told.count; i++) {
                say_slice("name", told.entries[i].name);
                say_number("rev", told.entries[i].revision);
                say_number("time", (uint64_t)told.entries[i].time_us);
                say_slice("author", told.entries[i].author);
        }
        if (error == SCN_OK) {
                scn_journal_tags_finish(&told);
        }
}

/* --- Checkpoints --- */

/* The journal's digest of a revision; empty if it cannot be had. */
static struct scn_slice digest_at(struct story *story, scn_revision revision, uint8_t room[16])
{
        const struct scn_journal_range range = {.from = revision, .to = revision, .without_records = true};
        struct scn_journal_page *page = NULL;
        struct scn_slice digest = {NULL, 0};
        if (revision > 0 && scn_journal_read(story->writer, &range, &page, NULL) == SCN_OK) {
                if (scn_journal_page_count(page) == 1) {
                        memcpy(room, scn_journal_page_get(page, 0)->digest.data, 16);
                        digest = (struct scn_slice){room, 16};
                }
                scn_journal_page_destroy(page);
        }
        return digest;
}

static void write_checkpoint(struct story *story)
{
        static uint8_t bytes[5000];
        uint8_t room[16];
        struct scn_checkpoint_writer *writer = NULL;
        const scn_revision revision = below(story, (uint32_t)story->revision + 2);
        enum scn_error error = scn_checkpoint_writer_create(story->writer, revision, story->now_us, &writer, NULL);
        say("checkpoint", error);
        for (uint32_t i = 0; error == SCN_OK && i < 3; i++) {
                const uint32_t size = 1 + below(story, sizeof bytes);
                memset(bytes, (int)(1 + i), size);
                error = scn_checkpoint_writer_append(writer, (struct scn_slice){bytes, size}, NULL);
                say("part", error);
        }
        if (error == SCN_OK && chance(story, 85)) {
                struct scn_slice digest = digest_at(story, revision, room);
                if (digest.data != NULL && chance(story, 10)) {
                        room[0] ^= 1;
                }
                say("finish", scn_checkpoint_writer_finish(writer, digest, NULL));
        }
        scn_checkpoint_writer_destroy(writer);
}

static void read_checkpoint(struct story *story)
{
        struct scn_checkpoint_reader *reader = NULL;
        struct scn_slice part = {NULL, 0};
        const scn_revision at_most = below(story, (uint32_t)story->revision + 2);
        enum scn_error error = scn_checkpoint_reader_create(story->writer, at_most, &reader, NULL);
        say("reader", error);
        if (error != SCN_OK || reader == NULL) {
                return;
        }
        const struct scn_checkpoint_info info = scn_checkpoint_reader_info(reader);
        say_number("rev", info.revision);
        say_number("time", (uint64_t)info.time_us);
        say_number("bytes", info.bytes);
        say_number("parts", info.parts_count);
        say_slice("digest", info.digest);
        do {
                error = scn_checkpoint_reader_next(reader, &part, NULL);
                say("next", error);
                say_slice("part", part);
        } while (error == SCN_OK && part.data != NULL);
        scn_checkpoint_reader_destroy(reader);
}

/* One call does a bounded piece, however large: how many it takes is nobody's business. */
static void drop_checkpoints(struct story *story)
{
        const bool thins = chance(story, 60);
        const scn_revision below_this = below(story, (uint32_t)story->revision + 2);
        bool is_done = false;
        enum scn_error error = SCN_OK;
        for (uint32_t i = 0; i < 1000 && error == SCN_OK && !is_done; i++) {
                error = thins ? scn_checkpoint_thin(story->writer, &is_done, NULL)
                              : scn_checkpoint_drop(story->writer, below_this, &is_done, NULL);
        }
        say(thins ? "thin" : "drop", error);
        say_number("done", is_done);
}

/* --- Folding, retention --- */

/* Where the transaction at `index` goes up in: itself, one of its client that stays, or, now and then, any. */
static uint32_t any_fate(struct story *story, const struct scn_journal_page *page, uint32_t index)
{
        const uint32_t count = scn_journal_page_count(page);
        const struct scn_uid client = scn_journal_page_get(page, index)->client;
        const uint32_t any = chance(story, 1) ? below(story, count) : index;
        for (uint32_t i = index + 1; i < count && chance(story, 70); i++) {
                const struct scn_uid other = scn_journal_page_get(page, i)->client;
                if (memcmp(&client, &other, sizeof client) == 0 && chance(story, 60)) {
                        return i;
                }
        }
        return any;
}

static void fold_window(struct story *story, const struct scn_journal_page *page)
{
        static struct scn_journal_fate fates[SCN_JOURNAL_FOLD_WINDOW];
        static uint32_t into[SCN_JOURNAL_FOLD_WINDOW];
        static const struct scn_journal_record records[] = {
                {.kind = 3, .before = {(const uint8_t *)"before", 6}, .after = {(const uint8_t *)"after", 5}},
                {.kind = 4, .after = {(const uint8_t *)"it", 2}},
        };
        const uint32_t count = scn_journal_page_count(page);
        for (uint32_t i = count; i-- > 0;) {
                const struct scn_journal_transaction *transaction = scn_journal_page_get(page, i);
                into[i] = any_fate(story, page, i);
                into[i] = into[i] > i ? into[into[i]] : into[i];
                const bool is_changed = into[i] == i && i + 1 < count && chance(story, 50);
                fates[i] = (struct scn_journal_fate){
                        .revision = transaction->revision,
                        .into = scn_journal_page_get(page, into[i])->revision,
                        .digest = is_changed ? text("another digest") : transaction->digest,
                        .records = is_changed ? records : NULL,
                        .records_count = is_changed ? 1 + below(story, 2) : 0,
                };
        }
        say("fold", scn_journal_fold(story->writer, fates, count - chance(story, 2), NULL));
}

static void fold(struct story *story)
{
        struct scn_journal_page *page = NULL;
        scn_revision first = 0;
        scn_revision last = 0;
        enum scn_error error =
                scn_journal_next_fold(story->writer, below(story, (uint32_t)story->revision + 3), &first, &last, NULL);
        say("next_fold", error);
        say_number("last", last);
        if (error != SCN_OK || last == 0) {
                return;
        }
        say_number("first", first);
        const struct scn_journal_range range = {.from = first, .to = last};
        error = scn_journal_read(story->writer, &range, &page, NULL);
        say("read", error);
        if (error == SCN_OK && chance(story, 90)) {
                fold_window(story, page);
        } else if (error == SCN_OK) {
                say("note_judged", scn_journal_note_judged(story->writer, last, NULL));
        }
        scn_journal_page_destroy(page);
}

static void retain(struct story *story)
{
        const int64_t from_us = story->now_us - below(story, 100000000);
        uint64_t removed = 0;
        bool is_done = false;
        enum scn_error error = SCN_OK;
        for (uint32_t i = 0; i < 1000 && error == SCN_OK && !is_done; i++) {
                uint64_t count = 0;
                error = scn_journal_retain(story->writer, from_us, &count, &is_done, NULL);
                removed += count;
        }
        say("retain", error);
        say_number("removed", removed);
        say_number("done", is_done);
}

static void fold_or_ask(struct story *story)
{
        const uint32_t what = below(story, 10);
        if (what < 5) {
                fold(story);
        } else if (what < 6) {
                retain(story);
        } else {
                const scn_revision revision = below(story, (uint32_t)story->revision + 2);
                say("has_revision", scn_journal_has_revision(story->writer, revision, NULL));
                say("verify", scn_journal_verify(story->writer, NULL));
        }
}

static void draft(struct story *story)
{
        const struct scn_storage_birth birth = any_birth(story);
        struct scn_journal *journal = NULL;
        const enum scn_error error = scn_storage_draft(story->storage, &birth, &journal, NULL);
        say("draft", error);
        if (error == SCN_OK && chance(story, 30)) {
                scn_storage_discard(story->storage, journal);
        } else if (error == SCN_OK) {
                say_state(story, journal);
                say("publish", scn_storage_publish(story->storage, journal, any_name(story), NULL));
        }
}

static void tell_of_open(struct story *story)
{
        switch (below(story, 14)) {
        case 0:
                epochs(story);
                break;
        case 1:
                tags(story);
                break;
        case 2:
                write_checkpoint(story);
                break;
        case 3:
                read_checkpoint(story);
                break;
        case 4:
                drop_checkpoints(story);
                break;
        case 5:
        case 6:
                say("upkeep", scn_journal_upkeep(story->writer, NULL));
                say_state(story, story->writer);
                break;
        case 7:
                find_things(story);
                break;
        case 8:
        case 9:
                read_journal(story);
                break;
        case 10:
        case 11:
                fold_or_ask(story);
                break;
        default:
                append(story);
                break;
        }
}

static void tell(uint64_t seed)
{
        struct story story = {.random = scn_random_from_seed(seed), .now_us = INT64_C(1700000000000000)};
        story_begin();
        enum scn_error error = scn_storage_open(story_path(), &story.storage, NULL);
        say("storage", error);
        SCN_ASSERT(error == SCN_OK);
        for (uint32_t i = 0; i < CALLS; i++) {
                story.now_us += below(&story, 1000000);
                if (chance(&story, story.writer == NULL ? 30 : 3)) {
                        open_writer(&story);
                } else if (story.writer == NULL || chance(&story, 5)) {
                        chance(&story, 8) ? draft(&story) : keep_house(&story);
                } else {
                        tell_of_open(&story);
                }
        }
        close_writer(&story);
        list(&story, SCN_STORAGE_DOCUMENTS);
        scn_storage_close(story.storage);
        story_end();
}

int main(int argc, char **argv)
{
        const uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
        const uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
        for (uint64_t seed = first; seed < first + count; seed++) {
                printf("seed %llu\n", (unsigned long long)seed);
                tell(seed);
        }
        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
