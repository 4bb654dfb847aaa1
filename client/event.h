/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_EVENT_H
#define SCN_CLIENT_EVENT_H

/* A view's event while it is put together, and until it is told. It owns all it points to.
 *
 * If memory is out, it says less and more: is_whole without changes, that is, "look at everything again". */

#include "protocol/scene/delta.h"
#include "protocol/scene/document.h"

#include <scn/client.h>

struct scn_event_block;
struct scn_noted;
struct scn_gone;

struct scn_told {
        struct scn_view_event event; /* its arrays are these: */
        struct scn_view_change *changes;
        size_t changes_capacity;
        struct scn_slice *keys;
        size_t keys_capacity;
        struct scn_view_gone *removed;
        size_t removed_capacity;
        struct scn_noted *noted; /* nodes that what was undone had added or removed, sorted by uid */
        size_t noted_count;
        size_t noted_capacity;
        struct scn_gone *gone; /* what a delta names as removed or left, each with all beneath */
        size_t gone_count;
        size_t gone_capacity;
        struct scn_view_gone *left;
        size_t left_capacity;
        struct scn_event_block *blocks; /* where the bytes of keys and names are */
        struct scn_failure failure;     /* event.failure points here, or is NULL */
        bool is_poor;                   /* memory was out */
        struct scn_told *next;          /* in the view's queue */
};

void scn_told_init(struct scn_told *told, enum scn_view_event_kind kind);
void scn_told_finish(struct scn_told *told);

/* What a delta names: those it removes or that leave, to be called before it is applied, and the others, after. */
void scn_told_add_gone(struct scn_told *told, const struct scn_document *document, const struct scn_delta *delta);
void scn_told_add_delta(struct scn_told *told, const struct scn_document *document, const struct scn_delta *delta);
/* What changes did that are in force. After the notes, if there are any. */
void scn_told_add_changes(
        struct scn_told *told, const struct scn_document *document, const struct scn_changes *changes);
/* Changes are about to be taken back: first all of them are noted, then each tells what it had touched. Once the new
 * state is reached, it is sorted out where all that led. */
void scn_told_note(struct scn_told *told, const struct scn_document *document, const struct scn_changes *changes);
void scn_told_end_notes(struct scn_told *told);
void scn_told_add_undone(struct scn_told *told, const struct scn_changes *changes);
void scn_told_sort_out(struct scn_told *told, const struct scn_document *document);

/* The event as it is to be told. */
const struct scn_view_event *scn_told_event(struct scn_told *told);

#endif
