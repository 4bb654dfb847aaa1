/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/base/alloc.h"
#include "tests/lib/storage.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

static const struct scn_test_shape small = {.client = 1, .records_count = 1, .payload_bytes = 100, .answer_bytes = 20};

static uint8_t part_bytes[SCN_CHECKPOINT_PART_BYTES_MAX];

/* Part `index` of the checkpoint of this revision; the sizes differ. */
static struct scn_slice make_part(scn_revision revision, uint32_t index)
{
        const uint32_t size = index == 0 ? SCN_CHECKPOINT_PART_BYTES_MAX : 1000 + index;

        memset(part_bytes, (int)(revision * 31 + index), size);
        part_bytes[0] = (uint8_t)index;
        return (struct scn_slice){part_bytes, size};
}

/* The digest that the test library gives the revision. */
static enum scn_error finish_with_digest(
        struct scn_checkpoint_writer *writer, scn_revision revision, struct scn_storage_fault *fault)
{
        struct scn_test_transaction made;

        scn_test_transaction_init(&made, revision, &small);
        const enum scn_error error = scn_checkpoint_writer_finish(writer, made.transaction.digest, fault);
        scn_test_transaction_finish(&made);
        return error;
}

static void write_parts(struct scn_checkpoint_writer *writer, scn_revision revision, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                SCN_TEST_OK(scn_checkpoint_writer_append(writer, make_part(revision, i), NULL));
}

static void write_checkpoint(struct scn_journal *journal, scn_revision revision, uint32_t parts)
{
        struct scn_checkpoint_writer *writer;

        SCN_TEST_OK(scn_checkpoint_writer_create(journal, revision, 1000, &writer, NULL));
        write_parts(writer, revision, parts);
        SCN_TEST_OK(finish_with_digest(writer, revision, NULL));
        scn_checkpoint_writer_destroy(writer);
}

/* The revision of the newest checkpoint at or below one, read and compared; SCN_REVISION_MAX: there is none. */
static scn_revision read_checkpoint(struct scn_journal *journal, scn_revision at_most, uint32_t parts)
{
        struct scn_checkpoint_reader *reader;
        struct scn_slice part;

        SCN_TEST_OK(scn_checkpoint_reader_create(journal, at_most, &reader, NULL));
        if (reader == NULL)
                return SCN_REVISION_MAX;
        const struct scn_checkpoint_info info = scn_checkpoint_reader_info(reader);
        cr_assert_eq(info.parts_count, parts);
        cr_assert_eq(info.time_us, 1000);
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < parts; i++) {
                SCN_TEST_OK(scn_checkpoint_reader_next(reader, &part, NULL));
                const struct scn_slice wanted = make_part(info.revision, i);
                cr_assert_eq(part.size, wanted.size);
                cr_assert_eq(memcmp(part.data, wanted.data, part.size), 0);
                bytes += part.size;
        }
        cr_assert_eq(info.bytes, bytes);
        for (int i = 0; i < 2; i++) {
                SCN_TEST_OK(scn_checkpoint_reader_next(reader, &part, NULL));
                cr_assert_null(part.data);
        }
        scn_checkpoint_reader_destroy(reader);
        return info.revision;
}

static struct scn_journal *make_island(struct scn_test_storage *test, uint32_t count)
{
        scn_test_storage_init(test);
        struct scn_journal *journal = scn_test_create_island(test);
        SCN_TEST_OK(scn_test_append(journal, 1, count, &small, NULL));
        return journal;
}

SCN_TEST(checkpoint, comes_back_part_by_part)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 30);
        struct scn_journal_state state;

        cr_assert_eq(read_checkpoint(journal, SCN_REVISION_MAX, 0), SCN_REVISION_MAX);
        write_checkpoint(journal, 10, 5);
        cr_assert_eq(read_checkpoint(journal, SCN_REVISION_MAX, 5), 10);
        SCN_TEST_OK(scn_journal_state(journal, &state, NULL));
        cr_assert(state.has_checkpoint);
        cr_assert_eq(state.checkpoint_revision, 10);
        cr_assert_eq(state.checkpoint_bytes, SCN_CHECKPOINT_PART_BYTES_MAX + 1001 + 1002 + 1003 + 1004);
        cr_assert_eq(state.journal_bytes, 20 * (16 + 64 + 20 + 100 + 64 + 64));
        scn_journal_close(journal);
        journal = scn_test_open_island(&test, SCN_JOURNAL_READ);
        cr_assert_eq(read_checkpoint(journal, 10, 5), 10);
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(checkpoint, of_revision_zero_may_begin_a_document)
{
        struct scn_test_storage test;
        struct scn_checkpoint_writer *writer;

        scn_test_storage_init(&test);
        struct scn_journal *journal = scn_test_create_island(&test);
        SCN_TEST_OK(scn_checkpoint_writer_create(journal, 0, 1000, &writer, NULL));
        write_parts(writer, 0, 1);
        SCN_TEST_OK(scn_checkpoint_writer_finish(writer, scn_test_text("any digest"), NULL));
        scn_checkpoint_writer_destroy(writer);
        cr_assert_eq(read_checkpoint(journal, 0, 1), 0);
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(checkpoint, is_the_newest_at_or_below_the_revision_asked_for)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 30);

        write_checkpoint(journal, 20, 1);
        write_checkpoint(journal, 10, 1);
        cr_assert_eq(read_checkpoint(journal, 9, 1), SCN_REVISION_MAX);
        cr_assert_eq(read_checkpoint(journal, 10, 1), 10);
        cr_assert_eq(read_checkpoint(journal, 19, 1), 10);
        cr_assert_eq(read_checkpoint(journal, 20, 1), 20);
        cr_assert_eq(read_checkpoint(journal, UINT64_MAX, 1), 20);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(checkpoint, must_have_the_digest_of_the_journal)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 30);
        struct scn_checkpoint_writer *writer;
        struct scn_storage_fault fault = {0};

        SCN_TEST_OK(scn_checkpoint_writer_create(journal, 10, 1000, &writer, NULL));
        write_parts(writer, 10, 2);
        cr_assert_eq(finish_with_digest(writer, 11, &fault), SCN_E_CORRUPT);
        cr_assert_eq(fault.revision, 10);
        scn_checkpoint_writer_destroy(writer);
        cr_assert_eq(read_checkpoint(journal, SCN_REVISION_MAX, 0), SCN_REVISION_MAX);
        cr_assert_eq(scn_checkpoint_writer_create(journal, 31, 1000, &writer, &fault), SCN_E_BAD_BATCH);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(checkpoint, is_not_there_before_it_is_finished_and_appends_get_in_between)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 10);
        struct scn_journal *other = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
        struct scn_checkpoint_writer *writer;

        SCN_TEST_OK(scn_checkpoint_writer_create(other, 10, 1000, &writer, NULL));
        for (uint32_t i = 0; i < 5; i++) {
                SCN_TEST_OK(scn_checkpoint_writer_append(writer, make_part(10, i), NULL));
                SCN_TEST_OK(scn_test_append(journal, 11 + i, 1, &small, NULL));
                cr_assert_eq(read_checkpoint(journal, SCN_REVISION_MAX, 5), SCN_REVISION_MAX);
        }
        SCN_TEST_OK(finish_with_digest(writer, 10, NULL));
        scn_checkpoint_writer_destroy(writer);
        cr_assert_eq(read_checkpoint(journal, SCN_REVISION_MAX, 5), 10);
        scn_journal_close(other);
        cr_assert_eq(scn_test_count(journal, &small), 15);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(checkpoint, not_finished_leaves_nothing_when_it_is_given_up_or_begun_again)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 10);
        const char *file = scn_test_storage_file(&test, "island.scene");
        struct scn_checkpoint_writer *writer;

        write_checkpoint(journal, 5, 2);
        SCN_TEST_OK(scn_checkpoint_writer_create(journal, 10, 1000, &writer, NULL));
        write_parts(writer, 10, 40);
        scn_checkpoint_writer_destroy(writer);
        cr_assert_eq(scn_test_sql(file, "SELECT count(*) FROM checkpoint_parts"), 2);
        /* as if the process had died */
        scn_test_sql(file,
                "INSERT INTO checkpoint_parts (checkpoint, position, bytes, checksum)"
                " SELECT 7, position, bytes, 0 FROM checkpoint_parts");
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        cr_assert_eq(read_checkpoint(journal, SCN_REVISION_MAX, 2), 5);
        write_checkpoint(journal, 10, 3);
        cr_assert_eq(scn_test_sql(file, "SELECT count(*) FROM checkpoint_parts"), 5);
        cr_assert_eq(read_checkpoint(journal, SCN_REVISION_MAX, 3), 10);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

static void drop_all(struct scn_journal *journal, scn_revision below)
{
        bool is_done = false;

        for (int i = 0; !is_done; i++) {
                SCN_TEST_OK(scn_checkpoint_drop(journal, below, &is_done, NULL));
                cr_assert_lt(i, 20);
        }
}

SCN_TEST(checkpoint, is_dropped_in_steps_but_never_the_newest)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 30);
        const char *file = scn_test_storage_file(&test, "island.scene");

        write_checkpoint(journal, 5, 40);
        write_checkpoint(journal, 10, 3);
        write_checkpoint(journal, 20, 3);
        drop_all(journal, 5);
        cr_assert_eq(read_checkpoint(journal, 5, 40), 5);
        drop_all(journal, 10);
        cr_assert_eq(read_checkpoint(journal, 9, 0), SCN_REVISION_MAX);
        cr_assert_eq(read_checkpoint(journal, 10, 3), 10);
        cr_assert_eq(scn_test_sql(file, "SELECT count(*) FROM checkpoint_parts"), 6);
        drop_all(journal, UINT64_MAX);
        cr_assert_eq(read_checkpoint(journal, SCN_REVISION_MAX, 3), 20);
        cr_assert_eq(scn_test_sql(file, "SELECT count(*) FROM checkpoint_parts"), 3);
        SCN_TEST_OK(scn_journal_verify(journal, NULL));
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(checkpoint, being_written_is_not_touched_by_dropping_old_ones)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 30);
        struct scn_journal *other = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
        struct scn_checkpoint_writer *writer;

        write_checkpoint(journal, 5, 2);
        write_checkpoint(journal, 10, 2);
        SCN_TEST_OK(scn_checkpoint_writer_create(other, 20, 1000, &writer, NULL));
        write_parts(writer, 20, 3);
        drop_all(journal, UINT64_MAX);
        SCN_TEST_OK(finish_with_digest(writer, 20, NULL));
        scn_checkpoint_writer_destroy(writer);
        cr_assert_eq(read_checkpoint(journal, SCN_REVISION_MAX, 3), 20);
        cr_assert_eq(read_checkpoint(journal, 19, 2), 10);
        scn_journal_close(other);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

SCN_TEST(checkpoint, dropped_while_it_is_read_says_so)
{
        struct scn_test_storage test;
        struct scn_journal *journal = make_island(&test, 30);
        struct scn_journal *other = scn_test_open_island(&test, SCN_JOURNAL_WRITE);
        struct scn_checkpoint_reader *reader;
        struct scn_slice part;

        write_checkpoint(journal, 5, 3);
        SCN_TEST_OK(scn_checkpoint_reader_create(other, 5, &reader, NULL));
        SCN_TEST_OK(scn_checkpoint_reader_next(reader, &part, NULL));
        write_checkpoint(journal, 10, 3);
        drop_all(journal, 10);
        cr_assert_eq(scn_checkpoint_reader_next(reader, &part, NULL), SCN_E_NO_CHECKPOINT);
        cr_assert_null(part.data);
        scn_checkpoint_reader_destroy(reader);
        scn_journal_close(other);
        scn_journal_close(journal);
        scn_test_storage_finish(&test);
}

/* How far a damaged checkpoint can be read before it is found out: never to its end. */
static enum scn_error read_to_the_end(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        struct scn_checkpoint_reader *reader;
        struct scn_slice part;
        enum scn_error error = scn_checkpoint_reader_create(journal, SCN_REVISION_MAX, &reader, fault);

        if (error != SCN_OK)
                return error;
        do
                error = scn_checkpoint_reader_next(reader, &part, fault);
        while (error == SCN_OK && part.data != NULL);
        scn_checkpoint_reader_destroy(reader);
        return error;
}

SCN_TEST(checkpoint, damaged_is_named_and_an_older_one_still_serves)
{
        static const char *const spoils[] = {
                "UPDATE checkpoint_parts SET bytes = zeroblob(1001) WHERE checkpoint = 2 AND position = 1",
                "UPDATE checkpoint_parts SET checksum = checksum + 1 WHERE checkpoint = 2 AND position = 1",
                "UPDATE checkpoint_parts SET position = 9 WHERE checkpoint = 2 AND position = 1",
                "DELETE FROM checkpoint_parts WHERE checkpoint = 2 AND position = 2",
                "UPDATE checkpoint_parts SET bytes = zeroblob(300000) WHERE checkpoint = 2 AND position = 1",
                "UPDATE checkpoints SET rev = 21 WHERE checkpoint = 2",
                "UPDATE checkpoints SET time_us = 0 WHERE checkpoint = 2",
                "UPDATE checkpoints SET part_count = 2 WHERE checkpoint = 2",
                "UPDATE checkpoints SET part_count = -1 WHERE checkpoint = 2",
                "UPDATE checkpoints SET size = 1 WHERE checkpoint = 2",
                "UPDATE checkpoints SET digest = x'00' WHERE checkpoint = 2",
                "UPDATE checkpoints SET checksum = 0 WHERE checkpoint = 2",
        };

        for (size_t i = 0; i < sizeof spoils / sizeof spoils[0]; i++) {
                struct scn_test_storage test;
                struct scn_storage_fault fault = {0};
                struct scn_journal *journal = make_island(&test, 30);
                write_checkpoint(journal, 10, 3);
                write_checkpoint(journal, 20, 3);
                scn_test_sql(scn_test_storage_file(&test, "island.scene"), spoils[i]);
                cr_assert_eq(read_to_the_end(journal, &fault), SCN_E_CORRUPT, "%s", spoils[i]);
                cr_assert(fault.revision == 20 || fault.revision == 21, "%s: %s", spoils[i], fault.text);
                cr_assert_eq(scn_journal_verify(journal, &fault), SCN_E_CORRUPT, "%s", spoils[i]);
                cr_assert_eq(read_checkpoint(journal, 19, 3), 10);
                scn_journal_close(journal);
                scn_test_storage_finish(&test);
        }
}

static enum scn_error write_and_read(void *data)
{
        struct scn_test_storage *test = data;
        struct scn_checkpoint_writer *writer;
        struct scn_journal *journal;
        enum scn_error error = scn_journal_open(test->storage, scn_test_text("island"), NULL, &journal, NULL);

        if (error != SCN_OK)
                return error;
        error = scn_checkpoint_writer_create(journal, 10, 1000, &writer, NULL);
        if (error == SCN_OK) {
                error = scn_checkpoint_writer_append(writer, make_part(10, 1), NULL);
                if (error == SCN_OK)
                        error = finish_with_digest(writer, 10, NULL);
                scn_checkpoint_writer_destroy(writer);
        }
        if (error == SCN_OK)
                error = read_to_the_end(journal, NULL);
        scn_journal_close(journal);
        return error;
}

SCN_TEST(checkpoint, survives_each_allocation_that_fails)
{
        struct scn_test_storage test;

        scn_journal_close(make_island(&test, 10));
        scn_test_fail_each_allocation(write_and_read, &test);
        scn_test_storage_finish(&test);
}
