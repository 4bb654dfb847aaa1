/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Folding and retention of the storage fake. What was appended stays, to be compared with; what the journal has of it
 * is said by fates. */

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/base/uid.h"
#include "tests/sim/store_state.h"

#include <string.h>

struct sim_transaction *sim_store_present(const struct sim_document *document, scn_revision revision)
{
        if (revision == 0 || revision > document->transactions_count || revision < document->base) {
                return NULL;
        }
        if (revision > document->fates_count) {
                return document->transactions[revision - 1];
        }
        const struct sim_fate *fate = &document->fates[revision - 1];
        if (fate->into != revision) {
                return NULL;
        }
        return fate->now != NULL ? fate->now : document->transactions[revision - 1];
}

enum scn_error sim_store_has_revision(const struct sim_document *document, scn_revision revision)
{
        if (revision > document->transactions_count) {
                return SCN_E_FUTURE;
        }
        if (revision < document->base) {
                return SCN_E_BEFORE_RETENTION;
        }
        /* Within the time of another that was folded: windows are folded alone, so that is near. */
        const scn_revision last = revision < document->fates_count ? revision : document->fates_count;
        for (scn_revision at = revision > SCN_JOURNAL_FOLD_WINDOW ? revision - SCN_JOURNAL_FOLD_WINDOW : 1; at <= last;
                at++) {
                if (document->fates[at - 1].into > revision) {
                        return SCN_E_FOLDED;
                }
        }
        return revision == 0 || sim_store_present(document, revision) != NULL ? SCN_OK : SCN_E_FOLDED;
}

enum scn_error scn_journal_has_revision(
        struct scn_journal *journal, scn_revision revision, struct scn_storage_fault *fault)
{
        enum scn_error error = sim_journal_ask(journal, SIM_READ, fault);
        if (error == SCN_OK) {
                error = sim_store_has_revision(journal->document, revision);
                error = error == SCN_OK ? error : sim_store_fail(fault, error);
        }
        return error;
}

static void next_fold(
        const struct sim_document *document, scn_revision to, scn_revision *first_out, scn_revision *last_out)
{
        const scn_revision first = document->fates_count + 1;
        scn_revision last = (first + SCN_JOURNAL_FOLD_WINDOW - 1) / SCN_JOURNAL_FOLD_WINDOW * SCN_JOURNAL_FOLD_WINDOW;
        for (size_t i = 0; i < document->tags_count; i++) {
                const scn_revision tag = document->tags[i].tag.revision;
                last = tag >= first && tag < last ? tag : last;
        }
        for (size_t i = 0; i < document->checkpoints_count; i++) {
                const scn_revision checkpoint = document->checkpoints[i]->info.revision;
                last = checkpoint >= first && checkpoint < last ? checkpoint : last;
        }
        *first_out = first;
        *last_out = last > to || last > document->transactions_count ? 0 : last;
}

enum scn_error scn_journal_next_fold(struct scn_journal *journal, scn_revision to, scn_revision *first_out,
        scn_revision *last_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_journal_ask(journal, SIM_READ, fault);
        *first_out = *last_out = 0;
        if (error == SCN_OK) {
                next_fold(journal->document, to, first_out, last_out);
        }
        return error;
}

static bool is_same(struct scn_slice a, struct scn_slice b)
{
        return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Whether this is what becomes of the window that is next. */
static bool is_good(const struct sim_document *document, const struct scn_journal_fate *fates, uint32_t count)
{
        scn_revision first;
        scn_revision last;
        next_fold(document, SCN_REVISION_MAX, &first, &last);
        if (count == 0 || last == 0 || count != last - first + 1) {
                return false;
        }
        for (uint32_t i = 0; i < count; i++) {
                const struct scn_journal_fate *fate = &fates[i];
                if (fate->revision != first + i || fate->into < fate->revision || fate->into > last ||
                        fates[fate->into - first].into != fate->into) {
                        return false;
                }
                const struct scn_journal_transaction *from = &document->transactions[fate->revision - 1]->transaction;
                const struct scn_journal_transaction *into = &document->transactions[fate->into - 1]->transaction;
                if (!scn_uid_equal(from->client, into->client) ||
                        (fate->into == fate->revision && fate->records != NULL && fate->records_count == 0)) {
                        return false;
                }
        }
        return is_same(fates[count - 1].digest, document->transactions[last - 1]->transaction.digest);
}

static struct sim_fate make_fate(const struct sim_document *document, const struct scn_journal_fate *fate)
{
        struct sim_fate made = {.into = fate->into};
        struct scn_journal_transaction now = document->transactions[fate->revision - 1]->transaction;
        if (fate->into == fate->revision && (fate->records != NULL || !is_same(fate->digest, now.digest))) {
                now.digest = fate->digest;
                now.records = fate->records != NULL ? fate->records : now.records;
                now.records_count = fate->records != NULL ? fate->records_count : now.records_count;
                made.now = sim_store_transaction(&now);
        }
        return made;
}

static void add_fate(struct sim_document *document, struct sim_fate fate)
{
        document->fates = sim_store_grow(
                document->fates, &document->fates_capacity, sizeof *document->fates, document->fates_count + 1);
        document->fates[document->fates_count++] = fate;
}

/* So far all stay as they are. */
static void judge(struct sim_document *document, scn_revision to)
{
        while (document->fates_count < to) {
                add_fate(document, (struct sim_fate){.into = document->fates_count + 1});
        }
}

enum scn_error scn_journal_fold(struct scn_journal *journal, const struct scn_journal_fate *fates, uint32_t count,
        struct scn_storage_fault *fault)
{
        bool is_done;
        const enum scn_error error = sim_journal_ask_write(journal, &is_done, fault);
        if (!is_done) {
                return error;
        }
        struct sim_document *document = journal->document;
        if (!is_good(document, fates, count)) {
                return sim_store_fail(fault, SCN_E_BAD_BATCH);
        }
        for (uint32_t i = 0; i < count; i++) {
                add_fate(document, make_fate(document, &fates[i]));
        }
        return error;
}

enum scn_error scn_journal_note_judged(
        struct scn_journal *journal, scn_revision revision, struct scn_storage_fault *fault)
{
        bool is_done;
        const enum scn_error error = sim_journal_ask_write(journal, &is_done, fault);
        if (is_done) {
                SCN_ASSERT(revision <= journal->document->transactions_count);
                judge(journal->document, revision);
        }
        return error;
}

static scn_revision find_base(const struct sim_document *document, int64_t from_us)
{
        scn_revision limit = document->transactions_count;
        scn_revision base = document->base;
        while (limit > 0 && document->transactions[limit - 1]->transaction.time_us > from_us) {
                limit--;
        }
        while (limit > 0 && sim_store_present(document, limit) == NULL) {
                limit--;
        }
        for (size_t i = 0; i < document->tags_count; i++) {
                limit = document->tags[i].tag.revision < limit ? document->tags[i].tag.revision : limit;
        }
        for (size_t i = 0; i < document->checkpoints_count; i++) {
                const scn_revision checkpoint = document->checkpoints[i]->info.revision;
                base = checkpoint > base && checkpoint <= limit ? checkpoint : base;
        }
        return base;
}

enum scn_error scn_journal_retain(struct scn_journal *journal, int64_t from_us, uint64_t *removed_out,
        bool *is_done_out, struct scn_storage_fault *fault)
{
        bool is_done;
        const enum scn_error error = sim_journal_ask_write(journal, &is_done, fault);
        *removed_out = 0;
        *is_done_out = false;
        if (!is_done) {
                return error;
        }
        struct sim_document *document = journal->document;
        const scn_revision base = find_base(document, from_us);
        for (scn_revision at = document->base; at < base; at++) {
                *removed_out += error == SCN_OK && sim_store_present(document, at) != NULL;
        }
        document->base = base;
        judge(document, base);
        sim_store_drop_checkpoints(document, base);
        *is_done_out = error == SCN_OK && *removed_out == 0;
        return error;
}
