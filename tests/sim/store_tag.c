/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Tags of the storage fake, unsorted until they are told. */

#include "protocol/base/alloc.h"
#include "tests/sim/store_state.h"

#include <stdlib.h>
#include <string.h>

static struct sim_tag *find(struct sim_document *document, struct scn_slice name)
{
        for (size_t i = 0; i < document->tags_count; i++) {
                struct sim_tag *row = &document->tags[i];
                if (row->tag.name.size == name.size && memcmp(row->name, name.data, name.size) == 0) {
                        return row;
                }
        }
        return NULL;
}

enum scn_error scn_journal_set_tag(
        struct scn_journal *journal, const struct scn_journal_tag *tag, struct scn_storage_fault *fault)
{
        bool is_done;
        const enum scn_error error = sim_journal_ask_write(journal, &is_done, fault);
        if (!is_done) {
                return error;
        }
        struct sim_document *document = journal->document;
        if (tag->name.size == 0 || tag->name.size > SCN_JOURNAL_TAG_BYTES_MAX ||
                tag->author.size > SCN_JOURNAL_AUTHOR_BYTES_MAX) {
                return sim_store_fail(fault, SCN_E_BAD_BATCH);
        }
        const enum scn_error has_revision = sim_store_has_revision(document, tag->revision);
        if (has_revision != SCN_OK) {
                return sim_store_fail(fault, has_revision);
        }
        struct sim_tag *row = find(document, tag->name);
        if (row == NULL) {
                document->tags = sim_store_grow(
                        document->tags, &document->tags_capacity, sizeof *document->tags, document->tags_count + 1);
                row = &document->tags[document->tags_count++];
                memcpy(row->name, tag->name.data, tag->name.size);
        }
        memcpy(row->author, tag->author.data, tag->author.size);
        row->tag = *tag;
        return error;
}

enum scn_error scn_journal_remove_tag(
        struct scn_journal *journal, struct scn_slice name, struct scn_storage_fault *fault)
{
        bool is_done;
        const enum scn_error error = sim_journal_ask_write(journal, &is_done, fault);
        if (!is_done) {
                return error;
        }
        struct sim_document *document = journal->document;
        struct sim_tag *row = find(document, name);
        if (row == NULL) {
                return sim_store_fail(fault, SCN_E_NO_TAG);
        }
        *row = document->tags[--document->tags_count];
        return error;
}

enum scn_error scn_journal_find_tag(
        struct scn_journal *journal, struct scn_slice name, scn_revision *revision_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_journal_ask(journal, SIM_READ, fault);
        if (error != SCN_OK) {
                return error;
        }
        const struct sim_tag *row = find(journal->document, name);
        if (row == NULL) {
                return sim_store_fail(fault, SCN_E_NO_TAG);
        }
        *revision_out = row->tag.revision;
        return SCN_OK;
}

/* By revision, equal ones by name. */
static int compare_tags(const void *left, const void *right)
{
        const struct scn_journal_tag *a = left;
        const struct scn_journal_tag *b = right;
        const uint32_t size = a->name.size < b->name.size ? a->name.size : b->name.size;
        const int order = memcmp(a->name.data, b->name.data, size);
        return a->revision != b->revision ? (a->revision > b->revision) - (a->revision < b->revision)
                : order != 0              ? order
                                          : (a->name.size > b->name.size) - (a->name.size < b->name.size);
}

enum scn_error scn_journal_list_tags(
        struct scn_journal *journal, struct scn_journal_tags *tags_out, struct scn_storage_fault *fault)
{
        const enum scn_error error = sim_journal_ask(journal, SIM_READ, fault);
        *tags_out = (struct scn_journal_tags){0};
        for (size_t i = 0; error == SCN_OK && i < journal->document->tags_count; i++) {
                const struct sim_tag *row = &journal->document->tags[i];
                tags_out->entries = sim_store_grow(
                        tags_out->entries, &tags_out->capacity, sizeof *tags_out->entries, tags_out->count + 1);
                struct scn_journal_tag *entry = &tags_out->entries[tags_out->count++];
                *entry = row->tag;
                entry->name.data = sim_store_bytes((struct scn_slice){row->name, row->tag.name.size});
                entry->author.data = sim_store_bytes((struct scn_slice){row->author, row->tag.author.size});
        }
        if (tags_out->count > 1) {
                qsort(tags_out->entries, tags_out->count, sizeof *tags_out->entries, compare_tags);
        }
        return error;
}

void scn_journal_tags_finish(struct scn_journal_tags *tags)
{
        for (size_t i = 0; i < tags->count; i++) {
                scn_free((void *)(uintptr_t)tags->entries[i].name.data);
                scn_free((void *)(uintptr_t)tags->entries[i].author.data);
        }
        scn_free(tags->entries);
        *tags = (struct scn_journal_tags){0};
}
