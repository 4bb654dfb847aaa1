/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _GNU_SOURCE
#include "protocol/base/alloc.h"
#include "server/core.h"
#include "server/fold.h"
#include "server/verify.h"
#include "tests/lib/hub.h"
#include "tests/lib/random.h"
#include "tests/lib/scene.h"
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

/* Kills whoever folds and drops a document's history at random moments (SIGKILL), again and again, and looks each
 * time: the file is whole, ends with the same state, and each window is as it was or as it is to be; who goes on with
 * it comes to the same end.
 *
 * usage: fold_kill [ROUNDS [SEED]] */

#define GESTURES 40u
#define EDITS 64u           /* of a gesture */
#define LIFE_US_MAX 60000u  /* at first */
#define LIFE_US_STEP 10000u /* longer until somebody was killed at work */

static uint64_t seed;
static uint32_t round_number;

static void need(bool is_good, const char *what)
{
        if (!is_good) {
                (void)fprintf(stderr, "fold_kill: seed %" PRIu64 ", round %" PRIu32 ": %s: does not hold\n", seed,
                        round_number, what);
                exit(1);
        }
}

static void need_ok(enum scn_error error, const char *what, const struct scn_storage_fault *fault)
{
        if (error != SCN_OK) {
                (void)fprintf(stderr, "fold_kill: seed %" PRIu64 ", round %" PRIu32 ": %s: %s: %s\n", seed,
                        round_number, what, scn_error_text(error), fault->text);
                exit(1);
        }
}

/* --- The document --- */

static void send_in_group(struct peer *peer, const struct scn_op *op, uint64_t group)
{
        struct scn_buffer buffer;
        struct scn_message message;
        scn_buffer_init(&buffer, SCN_MESSAGE_BYTES_MAX);
        struct scn_packer packer = scn_packer_to(&buffer);
        scn_ops_encode(&packer, op, 1);
        scn_message_init(&message, SCN_MESSAGE_edit);
        message.as.edit.number = ++peer->number;
        message.as.edit.ops = (struct scn_slice){buffer.data, (uint32_t)buffer.size};
        message.as.edit.group = group;
        peer_send(peer, &message);
        scn_buffer_finish(&buffer);
}

static void run(const char *command)
{
        need(system(command) == 0, command);
}

/* Gestures of two authors in turn, with a tag at each one's end: as many windows. A checkpoint in the middle and one
 * at the end. The file is copied to one that stays as it is. */
static void make_document(struct hub *hub)
{
        struct peer peers[2];
        char command[256];
        hub_start(hub);
        peer_open(&peers[0], hub, 1, "ann", "island");
        peer_open(&peers[1], hub, 2, "ben", "island");
        for (uint32_t gesture = 0; gesture < GESTURES; gesture++) {
                struct peer *peer = &peers[gesture % 2];
                for (uint32_t i = 0; i < EDITS; i++) {
                        const struct scn_op op = scene_translate(1, (float)gesture, (float)i, 1);
                        send_in_group(peer, &op, gesture + 1);
                }
                hub_run(hub);
                peer_drain(peer);
                if (gesture + 1 == GESTURES / 2 || gesture + 1 == GESTURES) {
                        scn_room_gather(hub->server->rooms, (UINT64_C(1) << 20) + 1);
                        hub_run(hub);
                }
        }
        need(hub->server->rooms->durable == GESTURES * EDITS, "the document is made");
        peer_close(&peers[0]);
        peer_close(&peers[1]);
        hub_stop(hub);
        (void)snprintf(command, sizeof command, "mv %s/island.scene %s/whole", hub->path, hub->path);
        run(command);
}

static struct scn_document_options options_of(void)
{
        return (struct scn_document_options){.limits = SCN_LIMITS_DEFAULT};
}

static struct scn_journal *open_island(const char *path, struct scn_storage **storage_out)
{
        struct scn_storage_fault fault = {.text = ""};
        struct scn_journal *journal = NULL;
        need_ok(scn_storage_open(path, storage_out, &fault), "open the directory", &fault);
        need_ok(scn_journal_open(*storage_out, scn_test_text("island"), NULL, &journal, &fault), "open", &fault);
        return journal;
}

/* As it was before anything was folded. */
static void begin_anew(const char *path)
{
        struct scn_storage *storage;
        char command[256];
        (void)snprintf(
                command, sizeof command, "rm -f %s/island.scene* && cp %s/whole %s/island.scene", path, path, path);
        run(command);
        struct scn_journal *journal = open_island(path, &storage);
        for (uint32_t gesture = 1; gesture <= GESTURES; gesture++) {
                char name[32];
                struct scn_storage_fault fault = {.text = ""};
                (void)snprintf(name, sizeof name, "gesture %u", gesture);
                const struct scn_journal_tag tag = {
                        .name = scn_test_text(name), .revision = (scn_revision)gesture * EDITS, .time_us = 1};
                need_ok(scn_journal_set_tag(journal, &tag, &fault), "set a tag", &fault);
        }
        scn_journal_close(journal);
        scn_storage_close(storage);
}

/* --- Who is killed --- */

static void fold_all(struct scn_journal *journal)
{
        const struct scn_document_options options = options_of();
        struct scn_storage_fault fault = {.text = ""};
        struct scn_folder *folder = scn_folder_create(&options);
        struct scn_folded folded;
        need(folder != NULL, "memory");
        do {
                need_ok(scn_folder_step(folder, journal, GESTURES * EDITS, &folded, &fault), "fold", &fault);
                need(!folded.is_refuted, "what is folded is the same");
        } while (folded.last != 0);
        scn_folder_destroy(folder);
}

/* All but what the tags in the second half name. */
static void drop_old(struct scn_journal *journal)
{
        struct scn_storage_fault fault = {.text = ""};
        for (uint32_t gesture = 1; gesture < GESTURES / 2; gesture++) {
                char name[32];
                (void)snprintf(name, sizeof name, "gesture %u", gesture);
                const enum scn_error error = scn_journal_remove_tag(journal, scn_test_text(name), &fault);
                need(error == SCN_OK || error == SCN_E_NO_TAG, "remove a tag");
        }
        bool is_done = false;
        while (!is_done) {
                uint64_t removed;
                need_ok(scn_journal_retain(journal, INT64_MAX, &removed, &is_done, &fault), "drop", &fault);
        }
}

_Noreturn static void be_killed(const char *path)
{
        struct scn_storage *storage;
        struct scn_journal *journal = open_island(path, &storage);
        fold_all(journal);
        drop_old(journal);
        pause();
        _exit(1);
}

/* --- Who looks --- */

/* Returns how many transactions there are. */
static uint32_t look(const char *path, const struct scn_verified *wanted)
{
        const struct scn_document_options options = options_of();
        struct scn_storage_fault fault = {.text = ""};
        struct scn_journal_range range = {.from = 1, .without_records = true};
        struct scn_verified verified;
        struct scn_journal_page *page;
        struct scn_storage *storage;
        uint32_t kept = 0;
        struct scn_journal *journal = open_island(path, &storage);
        need_ok(scn_document_verify(journal, &options, &verified, &fault), "verify", &fault);
        need(verified.revision == GESTURES * EDITS, "the last revision");
        if (wanted != NULL) {
                need(memcmp(&verified.digests, &wanted->digests, sizeof verified.digests) == 0, "the last state");
        }
        /* A gesture is there as a whole, or as its last transaction. */
        uint32_t counts[GESTURES] = {0};
        for (uint32_t count = 1; count > 0; scn_journal_page_destroy(page)) {
                need_ok(scn_journal_read(journal, &range, &page, &fault), "read", &fault);
                count = scn_journal_page_count(page);
                for (uint32_t i = 0; i < count; i++) {
                        const struct scn_journal_transaction *transaction = scn_journal_page_get(page, i);
                        counts[(transaction->revision - 1) / EDITS]++;
                        range.from = transaction->revision + 1;
                        kept++;
                }
        }
        for (uint32_t i = 0; i < GESTURES; i++) {
                const bool is_dropped = (scn_revision)(i + 1) * EDITS < verified.base;
                const bool is_base = (scn_revision)(i + 1) * EDITS == verified.base;
                need(is_dropped ? counts[i] == 0 : counts[i] == 1 || (counts[i] == EDITS && !is_base),
                        "each window is as it was or as it is to be");
        }
        scn_journal_close(journal);
        scn_storage_close(storage);
        return kept;
}

static void sleep_us(uint32_t us)
{
        const struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
        (void)nanosleep(&time, NULL);
}

static uint32_t run_round(
        const char *path, const struct scn_verified *wanted, struct scn_random *random, uint32_t life_us_max)
{
        int status = 0;
        const pid_t pid = fork();
        need(pid >= 0, "a process");
        if (pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody is left behind when we fail */
                be_killed(path);
        }
        sleep_us(scn_random_below(random, life_us_max));
        (void)kill(pid, SIGKILL);
        need(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
                "it had no trouble before it was killed");
        return look(path, wanted);
}

int main(int argc, char **argv)
{
        static struct hub hub;
        const uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 30;
        seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
        struct scn_random random = scn_random_from_seed(seed);
        struct scn_document_options options = options_of();
        struct scn_storage_fault fault = {.text = ""};
        struct scn_verified wanted;
        struct scn_storage *storage;
        uint32_t life_us_max = LIFE_US_MAX;
        uint32_t before = 0;
        uint32_t between = 0;
        make_document(&hub);
        begin_anew(hub.path);
        struct scn_journal *journal = open_island(hub.path, &storage);
        need_ok(scn_document_verify(journal, &options, &wanted, &fault), "verify", &fault);
        scn_journal_close(journal);
        scn_storage_close(storage);
        for (round_number = 0; round_number < rounds; round_number++) {
                const uint32_t kept = run_round(hub.path, &wanted, &random, life_us_max);
                need(before == 0 || kept <= before, "what was done stays done");
                before = kept;
                between += kept > 1 + GESTURES / 2 && kept < GESTURES * EDITS;
                /* On a slow machine it takes longer until something is done. */
                life_us_max += between == 0 ? LIFE_US_STEP : 0;
                if (kept <= 1 + GESTURES / 2) {
                        begin_anew(hub.path);
                        before = 0;
                }
        }
        (void)printf("fold_kill: %" PRIu32 " kills, %" PRIu32 " of them between beginning and end\n", rounds, between);
        need(between > 0 || rounds < 10, "somebody was killed at work");
        scn_test_remove_all(hub.path);
        return 0;
}
