/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/undo_records.h"

#include "protocol/base/alloc.h"
#include "server/record.h"
#include "server/room_open.h"
#include "server/undo_again.h"
#include "server/undo_chains.h"

#include <stdlib.h>
#include <string.h>

void scn_undo_records_finish(struct scn_undo_records *records)
{
        for (size_t i = 0; i < records->pages_count; i++) {
                scn_journal_page_destroy(records->pages[i]);
        }
        scn_ops_finish(&records->ops);
        scn_free(records->pages);
        scn_free(records->wanted);
}

/* The uids that a step added, sorted. */
struct added {
        struct scn_uid *uids;
        size_t count, capacity;
};

static int compare_uids(const void *a, const void *b)
{
        return memcmp(a, b, sizeof(struct scn_uid));
}

static bool is_added(void *data, struct scn_uid uid)
{
        const struct added *added = data;
        return added->count > 0 && bsearch(&uid, added->uids, added->count, sizeof uid, compare_uids) != NULL;
}

static enum scn_error read_transaction(
        struct scn_journal *journal, struct scn_undo_records *records, scn_revision revision)
{
        const struct scn_journal_range range = {.from = revision, .to = revision, .transactions_max = 1};
        struct scn_journal_page *page = NULL;
        if (!scn_grow((void **)&records->pages, &records->pages_capacity, sizeof *records->pages,
                    records->pages_count + 1, SIZE_MAX)) {
                return SCN_E_NO_MEMORY;
        }
        enum scn_error error = scn_journal_read(journal, &range, &page, NULL);
        if (error == SCN_OK && scn_journal_page_count(page) != 1) {
                scn_journal_page_destroy(page);
                error = scn_journal_has_revision(journal, revision, NULL);
                error = error == SCN_OK ? SCN_E_CORRUPT : error;
        }
        if (error == SCN_OK) {
                records->pages[records->pages_count++] = page;
                records->bytes += scn_journal_page_bytes(page);
        }
        return error;
}

static bool is_of_step(const struct scn_journal_transaction *transaction, struct scn_slice author, scn_revision step)
{
        return transaction->step == step && transaction->cause != SCN_CAUSE_UNDO &&
                transaction->cause != SCN_CAUSE_REDO && transaction->author.size == author.size &&
                memcmp(transaction->author.data, author.data, author.size) == 0;
}

/* The transactions of a group, among those of others: heads first, for only its own are worth their records. */
static enum scn_error read_pages(struct scn_journal *journal, struct scn_undo_records *records, struct scn_slice author,
        const struct scn_undo_wanted *wanted)
{
        enum scn_error error = SCN_OK;
        scn_revision next = wanted->step.first;
        while (error == SCN_OK && next <= wanted->step.last) {
                const struct scn_journal_range range = {.from = next, .to = wanted->step.last, .without_records = true};
                struct scn_journal_page *page = NULL;
                error = scn_journal_read(journal, &range, &page, NULL);
                const uint32_t count = error == SCN_OK ? scn_journal_page_count(page) : 0;
                for (uint32_t i = 0; i < count && error == SCN_OK; i++) {
                        const struct scn_journal_transaction *transaction = scn_journal_page_get(page, i);
                        next = transaction->revision + 1;
                        if (is_of_step(transaction, author, wanted->step.first)) {
                                error = read_transaction(journal, records, transaction->revision);
                                error = error == SCN_OK && records->bytes > records->bytes_max ? SCN_E_TOO_LARGE
                                                                                               : error;
                        }
                }
                scn_journal_page_destroy(page);
                error = error == SCN_OK && count == 0 ? SCN_E_CORRUPT : error;
        }
        return error;
}

static void drop_pages(struct scn_undo_records *records, size_t from)
{
        while (records->pages_count > from) {
                struct scn_journal_page *page = records->pages[--records->pages_count];
                records->bytes -= scn_journal_page_bytes(page);
                scn_journal_page_destroy(page);
        }
}

/* The same, all of it as it was or all of it folded: again if it was folded meanwhile. */
static enum scn_error read_group(struct scn_journal *journal, struct scn_undo_records *records, struct scn_slice author,
        const struct scn_undo_wanted *wanted)
{
        const size_t pages_count = records->pages_count;
        struct scn_journal_state before;
        struct scn_journal_state after;
        enum scn_error error = SCN_E_FOLDED;
        for (int i = 0; i < SCN_FOLDED_TRIES && error == SCN_E_FOLDED; i++) {
                drop_pages(records, pages_count);
                error = scn_journal_state(journal, &before, NULL);
                if (error == SCN_OK && wanted->step.first <= before.base) {
                        return SCN_E_BEFORE_RETENTION;
                }
                if (error != SCN_OK) {
                        return error;
                }
                error = read_pages(journal, records, author, wanted);
                if (scn_journal_state(journal, &after, NULL) == SCN_OK && after.judged != before.judged) {
                        error = SCN_E_FOLDED;
                }
        }
        return error == SCN_E_FOLDED ? SCN_E_BUSY : error;
}

/* Those of a transaction's records that are about a step. */
struct part {
        const struct scn_journal_transaction *transaction; /* NULL: there is none */
        uint32_t first, end;
};

/* What an undo or redo has done to a step. One of several steps has their records one step after the other, the one
 * that is asked for first at the end; it is read once for all of them. `part` is of the step that was asked for before,
 * and becomes this one's. */
static enum scn_error read_part(struct scn_journal *journal, struct scn_undo_records *records, scn_revision revision,
        scn_revision step, struct part *part)
{
        enum scn_error error = SCN_OK;
        if (part->transaction == NULL || part->transaction->revision != revision) {
                error = read_transaction(journal, records, revision);
                if (error != SCN_OK) {
                        return error;
                }
                part->transaction = scn_journal_page_get(records->pages[records->pages_count - 1], 0);
                part->first = part->transaction->records_count;
        }
        const uint32_t limit = part->first;
        scn_revision about = 0;
        uint32_t end = limit;
        while (end > 0 && error == SCN_OK) {
                error = scn_record_step(&part->transaction->records[end - 1], &about);
                if (error == SCN_OK && about == step) {
                        break;
                }
                end--;
        }
        uint32_t first = end;
        while (first > 0 && error == SCN_OK) {
                error = scn_record_step(&part->transaction->records[first - 1], &about);
                if (error == SCN_OK && about != step) {
                        break;
                }
                first--;
        }
        if (error != SCN_OK) {
                return error;
        }
        /* Of a step of which all was skipped there are none. */
        part->first = first < end ? first : limit;
        part->end = first < end ? end : limit;
        return SCN_OK;
}

static enum scn_error collect_added(const struct part *part, struct added *added)
{
        for (uint32_t i = part->first; i < part->end; i++) {
                if (part->transaction->records[i].kind != SCN_OP_ADD) {
                        continue;
                }
                if (!scn_grow(
                            (void **)&added->uids, &added->capacity, sizeof *added->uids, added->count + 1, SIZE_MAX)) {
                        return SCN_E_NO_MEMORY;
                }
                added->uids[added->count++] = part->transaction->records[i].node;
        }
        return SCN_OK;
}

static void sort_added(struct added *added)
{
        if (added->count > 0) {
                qsort(added->uids, added->count, sizeof *added->uids, compare_uids);
        }
}

static struct scn_record_undo how_of(const struct scn_undo_records *records, const struct scn_undo_wanted *wanted,
        const struct scn_journal_transaction *transaction, struct added *added)
{
        return (struct scn_record_undo){
                .step = wanted->step.first,
                .since = transaction->revision,
                .is_redo = records->is_redo,
                .is_forced = records->is_forced,
                .is_added = is_added,
                .data = added,
        };
}

/* --- Bringing back --- */

static enum scn_error bring_back(struct scn_undo_records *records, struct scn_journal *journal,
        const struct scn_undo_wanted *wanted, struct part *part)
{
        struct added added = {0};
        const size_t ops_first = records->ops.count;
        enum scn_error error = read_part(journal, records, wanted->by, wanted->step.first, part);
        if (error == SCN_OK && records->bytes > records->bytes_max) {
                error = SCN_E_TOO_LARGE;
        }
        if (error == SCN_OK) {
                error = collect_added(part, &added);
                sort_added(&added);
        }
        for (uint32_t i = part->end; error == SCN_OK && i-- > part->first;) {
                const struct scn_record_undo how = how_of(records, wanted, part->transaction, &added);
                error = scn_record_take_back(&part->transaction->records[i], &how, &records->ops);
        }
        if (error == SCN_OK) {
                error = scn_undo_chains_link(&records->ops, ops_first);
        }
        scn_free(added.uids);
        return error;
}

/* --- Taking back --- */

/* The step's records as ops, newest first. `again` NULL: it has been done but once. */
static enum scn_error make_ops(struct scn_undo_records *records, const struct scn_undo_wanted *wanted,
        size_t pages_first, size_t pages_end, struct added *added, struct scn_undo_again *again)
{
        enum scn_error error = SCN_OK;
        for (size_t page = pages_end; page-- > pages_first && error == SCN_OK;) {
                const struct scn_journal_transaction *transaction = scn_journal_page_get(records->pages[page], 0);
                const struct scn_record_undo how = how_of(records, wanted, transaction, added);
                for (uint32_t i = transaction->records_count; i-- > 0 && error == SCN_OK;) {
                        const struct scn_journal_record *record = &transaction->records[i];
                        error = again != NULL ? scn_undo_again_take_back(again, record, &how, &records->ops)
                                              : scn_record_take_back(record, &how, &records->ops);
                }
        }
        return error == SCN_OK && again != NULL ? scn_undo_again_take_rest(again, &records->ops) : error;
}

static enum scn_error take_back(struct scn_undo_records *records, struct scn_journal *journal, struct scn_slice author,
        const struct scn_undo_wanted *wanted, struct part *part)
{
        struct added added = {0};
        struct scn_undo_again *again = NULL;
        struct scn_record_undo how;
        const size_t pages_first = records->pages_count;
        enum scn_error error = read_group(journal, records, author, wanted);
        const size_t pages_end = records->pages_count;
        for (size_t page = pages_first; page < pages_end && error == SCN_OK; page++) {
                const struct scn_journal_transaction *transaction = scn_journal_page_get(records->pages[page], 0);
                error = collect_added(&(struct part){transaction, 0, transaction->records_count}, &added);
        }
        sort_added(&added);
        if (error == SCN_OK && wanted->step.redone != 0) {
                error = read_part(journal, records, wanted->step.redone, wanted->step.first, part);
                if (error == SCN_OK) {
                        how = how_of(records, wanted, part->transaction, &added);
                        error = scn_undo_again_create(
                                &part->transaction->records[part->first], part->end - part->first, &how, &again);
                }
        }
        if (error == SCN_OK) {
                error = make_ops(records, wanted, pages_first, pages_end, &added, again);
        }
        scn_undo_again_destroy(again);
        scn_free(added.uids);
        return error;
}

/* --- All of them --- */

enum scn_error scn_undo_records_read(
        struct scn_undo_records *records, struct scn_journal *journal, struct scn_slice author)
{
        enum scn_error error = SCN_OK;
        struct part part = {.transaction = NULL};
        for (size_t i = 0; i < records->wanted_count && error == SCN_OK; i++) {
                struct scn_undo_wanted *wanted = &records->wanted[i];
                const size_t ops_count = records->ops.count;
                const size_t properties_count = records->ops.properties_count;
                error = records->is_redo ? bring_back(records, journal, wanted, &part)
                                         : take_back(records, journal, author, wanted, &part);
                wanted->ops_end = records->ops.count;
                if ((error == SCN_E_TOO_LARGE || error == SCN_E_BEFORE_RETENTION) && i > 0) {
                        records->wanted_count = i;
                        records->ops.count = ops_count;
                        records->ops.properties_count = properties_count;
                        error = SCN_OK;
                }
        }
        if (error == SCN_OK) {
                scn_record_settle(&records->ops);
        }
        return error;
}
