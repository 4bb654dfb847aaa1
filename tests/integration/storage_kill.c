/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "storage/storage.h"
#include "tests/lib/random.h"
#include "tests/lib/storage.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Kills a writer at random moments (SIGKILL), again and again on the same document, and looks each time: every
 * revision that it said was stored is there, no batch is there by half, every byte is right, and nobody had to help.
 *
 * usage: storage_kill [ROUNDS [SEED]]
 *
 * The writer appends batches of 1 to 60 transactions, writes a checkpoint now and then and drops the older ones, and
 * prints the last revision of each batch to a pipe when it has been told that the batch is stored. A transaction
 * says in its step which revision is the last of its batch. */

#define BATCH_MAX 60u
#define LIFE_US_MAX 150000u

static uint64_t seed;
static uint32_t round_number;

static void fail(const char *what, const char *why)
{
        fprintf(stderr, "storage_kill: seed %" PRIu64 ", round %" PRIu32 ": %s: %s\n", seed, round_number, what, why);
        exit(1);
}

static void need(bool is_good, const char *what)
{
        if (!is_good)
                fail(what, "does not hold");
}

static void need_ok(enum scn_error error, const char *what, const struct scn_storage_fault *fault)
{
        if (error != SCN_OK)
                fail(what, fault->text[0] != '\0' ? fault->text : scn_error_text(error));
}

/* What a transaction looks like follows from its revision. */
static struct scn_test_shape shape_of(scn_revision revision)
{
        struct scn_random random = scn_random_from_seed(revision);
        const bool is_big = scn_random_chance(&random, 1);

        return (struct scn_test_shape){
                .client = scn_random_below(&random, 5),
                .records_count = scn_random_below(&random, 4),
                .payload_bytes = is_big ? 300000 : scn_random_below(&random, 1500),
                .answer_bytes = scn_random_below(&random, 100),
        };
}

/* ----------------------------------------------------------------- writer */

static void append_batch(struct scn_journal *journal, scn_revision first, uint32_t count)
{
        static struct scn_test_transaction made[BATCH_MAX];
        static struct scn_journal_transaction batch[BATCH_MAX];
        struct scn_storage_fault fault = {0};

        for (uint32_t i = 0; i < count; i++) {
                const struct scn_test_shape shape = shape_of(first + i);
                scn_test_transaction_init(&made[i], first + i, &shape);
                batch[i] = made[i].transaction;
                batch[i].step = first + count - 1;
        }
        need_ok(scn_journal_append(journal, batch, count, &fault), "append", &fault);
        for (uint32_t i = 0; i < count; i++)
                scn_test_transaction_finish(&made[i]);
}

static void write_checkpoint(struct scn_journal *journal, scn_revision revision, uint32_t parts)
{
        static uint8_t bytes[SCN_CHECKPOINT_PART_BYTES_MAX];
        const struct scn_test_shape shape = shape_of(revision);
        struct scn_storage_fault fault = {0};
        struct scn_checkpoint_writer *writer;
        struct scn_test_transaction made;
        bool is_done = false;

        need_ok(scn_checkpoint_writer_create(journal, revision, 1, &writer, &fault), "begin a checkpoint", &fault);
        for (uint32_t i = 0; i < parts; i++) {
                memset(bytes, (int)(revision + i), sizeof bytes);
                const struct scn_slice part = {bytes, 1 + (uint32_t)(revision * 977 + i * 31337) % sizeof bytes};
                need_ok(scn_checkpoint_writer_append(writer, part, &fault), "write a part", &fault);
        }
        scn_test_transaction_init(&made, revision, &shape);
        need_ok(scn_checkpoint_writer_finish(writer, made.transaction.digest, &fault), "finish", &fault);
        scn_test_transaction_finish(&made);
        scn_checkpoint_writer_destroy(writer);
        while (!is_done)
                need_ok(scn_checkpoint_drop(journal, revision, &is_done, &fault), "drop", &fault);
}

_Noreturn static void run_writer(const char *path, int pipe_end)
{
        const struct scn_journal_options options = {.wal_pages = 100};
        struct scn_random random = scn_random_from_seed(seed * 1000 + round_number);
        struct scn_storage_fault fault = {0};
        struct scn_journal_state state;
        struct scn_storage *storage;
        struct scn_journal *journal, *other;

        need_ok(scn_storage_open(path, &storage, &fault), "open the directory", &fault);
        need_ok(scn_journal_open(storage, scn_test_text("island"), &options, &journal, &fault), "open", &fault);
        need_ok(scn_journal_open(storage, scn_test_text("island"), &options, &other, &fault), "open again", &fault);
        need_ok(scn_journal_begin_epoch(journal, seed * 1000 + round_number + 1, 1, &fault), "epoch", &fault);
        need_ok(scn_journal_state(journal, &state, &fault), "state", &fault);
        for (scn_revision last = state.last_revision;;) {
                const uint32_t count = 1 + scn_random_below(&random, BATCH_MAX);
                append_batch(journal, last + 1, count);
                last += count;
                if (write(pipe_end, &last, sizeof last) != sizeof last)
                        _exit(1);
                need_ok(scn_journal_upkeep(journal, &fault), "upkeep", &fault);
                if (scn_random_chance(&random, 10))
                        write_checkpoint(other, last, 1 + scn_random_below(&random, 6));
        }
}

/* ------------------------------------------------------------------- look */

static bool is_as_written(const struct scn_journal_transaction *transaction)
{
        const struct scn_test_shape shape = shape_of(transaction->revision);
        struct scn_journal_transaction as_made = *transaction;

        as_made.step = transaction->revision - transaction->revision % 3; /* what the test library puts there */
        return scn_test_transaction_is(&as_made, transaction->revision, &shape, false);
}

/* Reads from a revision to the end and returns the last. */
static scn_revision look_at_transactions(struct scn_journal *journal, scn_revision from)
{
        struct scn_storage_fault fault = {0};
        struct scn_journal_range range = {.from = from};
        scn_revision batch_end = from - 1;

        while (true) {
                struct scn_journal_page *page;
                need_ok(scn_journal_read(journal, &range, &page, &fault), "read", &fault);
                const uint32_t count = scn_journal_page_count(page);
                for (uint32_t i = 0; i < count; i++) {
                        const struct scn_journal_transaction *transaction = scn_journal_page_get(page, i);
                        need(is_as_written(transaction), "a transaction is as it was written");
                        batch_end = transaction->step;
                }
                scn_journal_page_destroy(page);
                range.from += count;
                if (count == 0)
                        break;
        }
        need(batch_end == range.from - 1, "the last batch is whole");
        return range.from - 1;
}

static void look_at_checkpoint(struct scn_journal *journal)
{
        struct scn_storage_fault fault = {0};
        struct scn_checkpoint_reader *reader;
        struct scn_slice part;

        need_ok(scn_checkpoint_reader_create(journal, SCN_REVISION_MAX, &reader, &fault), "find a checkpoint", &fault);
        if (reader == NULL)
                return;
        const scn_revision revision = scn_checkpoint_reader_info(reader).revision;
        for (uint32_t i = 0;; i++) {
                need_ok(scn_checkpoint_reader_next(reader, &part, &fault), "read a part", &fault);
                if (part.data == NULL)
                        break;
                for (uint32_t k = 0; k < part.size; k++)
                        need(part.data[k] == (uint8_t)(revision + i), "a part is as it was written");
        }
        scn_checkpoint_reader_destroy(reader);
}

/* Before this round the document ended at `before`. */
static scn_revision look(const char *path, scn_revision before, scn_revision acknowledged, bool thoroughly)
{
        struct scn_storage_fault fault = {0};
        struct scn_storage *storage;
        struct scn_journal *journal;

        need_ok(scn_storage_open(path, &storage, &fault), "open the directory after a kill", &fault);
        need_ok(scn_journal_open(storage, scn_test_text("island"), NULL, &journal, &fault), "open after a kill",
                &fault);
        const scn_revision last = look_at_transactions(journal, thoroughly ? 1 : before + 1);
        need(last >= acknowledged, "every acknowledged revision is there");
        need(last <= acknowledged + BATCH_MAX, "no more than one batch was stored without a word");
        look_at_checkpoint(journal);
        if (thoroughly)
                need_ok(scn_journal_verify(journal, &fault), "verify", &fault);
        scn_journal_close(journal);
        scn_storage_close(storage);
        return last;
}

static scn_revision read_acknowledged(int pipe_end, scn_revision before)
{
        scn_revision revision;

        while (read(pipe_end, &revision, sizeof revision) == sizeof revision)
                before = revision;
        return before;
}

static void sleep_us(uint32_t us)
{
        const struct timespec pause = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
        nanosleep(&pause, NULL);
}

static scn_revision run_round(const char *path, scn_revision last, struct scn_random *random)
{
        int ends[2], status;

        need(pipe(ends) == 0, "a pipe");
        const pid_t pid = fork();
        need(pid >= 0, "a process");
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody is left behind when we fail */
                close(ends[0]);
                run_writer(path, ends[1]);
        }
        close(ends[1]);
        scn_revision acknowledged = last;
        /* Every other one lives until it has written something, however slow the machine is, and a while longer. */
        if (round_number % 2 == 1)
                need(read(ends[0], &acknowledged, sizeof acknowledged) == sizeof acknowledged, "the writer writes");
        sleep_us(scn_random_below(random, LIFE_US_MAX));
        kill(pid, SIGKILL);
        acknowledged = read_acknowledged(ends[0], acknowledged);
        close(ends[0]);
        need(waitpid(pid, &status, 0) == pid, "the writer's end");
        need(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "the writer had no trouble before it was killed");
        return look(path, last, acknowledged, round_number % 10 == 9);
}

int main(int argc, char **argv)
{
        const uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 30;
        const struct scn_storage_birth birth = {.uid = {{1}}, .created_us = 1};
        struct scn_storage_fault fault = {0};
        struct scn_storage *storage;
        char path[] = "/tmp/storage-kill-XXXXXX";
        scn_revision last = 0;
        uint32_t written = 0;

        seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL) % 100000;
        need(rounds > 0, "a number of rounds");
        need(mkdtemp(path) != NULL, "a directory");
        need_ok(scn_storage_open(path, &storage, &fault), "open the directory", &fault);
        need_ok(scn_storage_create(storage, scn_test_text("island"), &birth, &fault), "create", &fault);
        scn_storage_close(storage);

        struct scn_random random = scn_random_from_seed(seed);
        for (round_number = 0; round_number < rounds; round_number++) {
                const scn_revision before = last;
                last = run_round(path, last, &random);
                written += last > before;
        }
        printf("storage_kill: seed %" PRIu64 ": %" PRIu32 " kills, %" PRIu32
               " of them after something was written, %" PRIu64 " revisions\n",
                seed, rounds, written, last);
        need(written >= rounds / 2, "every other writer lived long enough to write");
        scn_test_remove_all(path);
        return 0;
}
