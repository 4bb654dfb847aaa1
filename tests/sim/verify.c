/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What must hold: replicas against the server, the journal against what was said of it. */

#include "client/client.h"
#include "protocol/base/assert.h"
#include "protocol/base/uid.h"
#include "protocol/scene/digest.h"
#include "protocol/scene/document.h"
#include "server/record.h"
#include "tests/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_same(struct scn_digest a, struct scn_digest b)
{
        return a.low == b.low && a.high == b.high;
}

/* --- Replicas --- */

static struct scn_digest digest_of(const struct sim_view *view)
{
        const struct scn_mirror *mirror = &view->view->mirror;
        const struct scn_digests digests = scn_document_digests(mirror->document);
        return scn_digests_combine(&digests, mirror->mask);
}

void sim_verify_view(const struct sim_view *view, bool is_thorough)
{
        const struct sim_author *author = view->author;
        struct sim *sim = author->sim;
        const struct scn_mirror *mirror = &view->view->mirror;
        /* What another history said may still be on its way. */
        if (author->link == NULL || author->link->history != sim->history || mirror->shown_count > 0) {
                return;
        }
        const struct sim_document *document = sim_host_document(sim, author->document);
        scn_revision durable;
        if (document == NULL || mirror->cursor > document->transactions_count) {
                sim_fail(sim, "author %u has been told of revision %llu, which is not stored", author->index,
                        (unsigned long long)mirror->cursor);
        }
        if (scn_uid_is_none(view->root) && mirror->cursor > 0) {
                if (!is_same(digest_of(view), sim_past_digest(document, mirror->cursor, mirror->mask))) {
                        sim_fail(sim, "author %u, mask %x: at revision %llu the replica is not what was stored",
                                author->index, mirror->mask, (unsigned long long)mirror->cursor);
                }
        } else if (is_thorough && sim_host_is_settled(sim, author->document, &durable) && mirror->cursor == durable) {
                if (!is_same(digest_of(view), sim_host_digest(sim, author->document, view->root, mirror->mask))) {
                        sim_fail(sim, "author %u, mask %x: at revision %llu the part is not what the server has",
                                author->index, mirror->mask, (unsigned long long)mirror->cursor);
                }
        }
}

static void verify_at_rest(struct sim *sim, const struct sim_view *view)
{
        const struct sim_author *author = view->author;
        if (!sim_host_has_room(sim, author->document)) {
                sim_fail(sim, "no room is open though an author is connected");
        }
        if (scn_view_pending_count(view->view) > 0) {
                const struct scn_task *task = TAILQ_FIRST(&author->client->accepted);
                sim_fail(sim, "author %u, view %llu still shows edits on top: cursor %llu, the first is revision %llu",
                        author->index, (unsigned long long)view->view->number,
                        (unsigned long long)scn_view_revision(view->view),
                        task == NULL ? 0ull : (unsigned long long)task->rev);
        }
        if (!is_same(digest_of(view), sim_host_digest(sim, author->document, view->root, view->view->mirror.mask))) {
                sim_fail(sim, "author %u, view %llu, mask %x: the replica is not what the server has", author->index,
                        (unsigned long long)view->view->number, view->view->mirror.mask);
        }
}

static void ask_digest(struct sim_author *author, const struct scn_view *view)
{
        struct scn_request narrow = SCN_REQUEST_INIT;
        struct sim_wish *wish = sim_wish_create(author);
        narrow.node.uid = scn_view_root(view);
        scn_view_digest(view, wish->expected);
        wish->is_request = true;
        wish->must_match = true;
        author->sim->requests_due++;
        const enum scn_error error = scn_client_digest(author->client, &narrow, sim_on_answer, wish);
        SCN_ASSERT(error == SCN_OK);
}

static bool is_alive(const struct sim_view *view)
{
        return view->view != NULL && !view->is_ended && !view->is_replay;
}

/* And as a client can ask it. */
void sim_verify_replicas(struct sim *sim)
{
        for (uint32_t i = 0; i < sim->climate.authors_count; i++) {
                struct sim_author *author = &sim->authors[i];
                for (size_t k = 0; k < SIM_VIEWS_MAX; k++) {
                        const struct sim_view *view = &author->views[k];
                        if (!is_alive(view)) {
                                continue;
                        }
                        verify_at_rest(sim, view);
                        if (view->view->mask == SCN_MASK_ALL && !scn_uid_is_none(scn_view_root(view->view))) {
                                ask_digest(author, view->view);
                        }
                }
                sim_raws_verify(author);
                sim_author_settle(author);
        }
}

/* --- The journal --- */

static bool ends_number(const char *text, uint32_t *number_out)
{
        char *end;
        const unsigned long number = strtoul(text, &end, 10);
        *number_out = (uint32_t)number;
        return *end == '\0' && end != text;
}

static uint32_t marker_of_op(const struct scn_op *op, uint32_t kind)
{
        uint32_t marker = 0;
        if ((op->kind == SCN_OP_ADD || op->kind == SCN_OP_RENAME) && op->name.size > 1 && op->name.size < 12 &&
                op->name.data[0] == 'm') {
                char text[16] = "";
                memcpy(text, op->name.data + 1, op->name.size - 1);
                return ends_number(text, &marker) ? marker : 0;
        }
        if (op->kind == SCN_OP_SET && op->key.size == 4 && memcmp(op->key.data, "mark", 4) == 0 &&
                op->value.data != NULL) {
                struct scn_unpacker unpacker = scn_unpacker_from(op->value);
                return (uint32_t)scn_unpack_uint(&unpacker, UINT32_MAX);
        }
        if (op->kind == SCN_OP_TRANSFORM && kind == SCN_OP_TRANSFORM && (op->fields & SCN_FIELDS_TRANSLATION) != 0) {
                return (uint32_t)op->trs.t[0];
        }
        return 0;
}

/* 0: none of its ops carries one. */
static uint32_t marker_of(const struct sim *sim, const struct scn_journal_transaction *transaction, struct scn_ops *ops)
{
        uint32_t found = 0;
        for (uint32_t i = 0; i < transaction->records_count; i++) {
                const struct scn_journal_record *record = &transaction->records[i];
                ops->count = 0;
                ops->properties_count = 0;
                if (scn_record_redo(record->kind, record->node, record->after, ops) != SCN_OK || ops->count == 0) {
                        sim_fail(sim, "revision %llu: record %u cannot be read",
                                (unsigned long long)transaction->revision, i);
                }
                const uint32_t marker = marker_of_op(&ops->ops[0], record->kind);
                if (found != 0 && marker != 0 && marker != found) {
                        sim_fail(sim, "revision %llu is made of two edits: %u and %u",
                                (unsigned long long)transaction->revision, found, marker);
                }
                found = marker == 0 ? found : marker;
        }
        return found;
}

static struct sim_wish *find_wish(
        struct sim *sim, uint32_t document, const struct scn_journal_transaction *transaction, uint32_t marker)
{
        struct sim_wish *by_number = NULL;
        for (struct sim_wish *wish = sim->wishes; wish != NULL; wish = wish->next) {
                if (wish->is_request || wish->document != document ||
                        !scn_uid_equal(wish->author->uid, transaction->client)) {
                        continue;
                }
                if (marker != 0 && wish->marker == marker) {
                        return wish;
                }
                if (wish->number == transaction->number && by_number == NULL &&
                        (wish->state != SIM_WISH_ACKED || wish->rev == transaction->revision)) {
                        by_number = wish;
                }
        }
        return marker != 0 ? NULL : by_number;
}

static void verify_wish(const struct sim *sim, const struct sim_wish *wish)
{
        if (wish->stored > 1) {
                sim_fail(sim, "edit %u is stored %u times", wish->marker, wish->stored);
        }
        if (wish->state == SIM_WISH_ACKED && !wish->was_lost && wish->stored != 1) {
                sim_fail(sim, "edit %u was acknowledged as revision %llu and is not stored", wish->marker,
                        (unsigned long long)wish->rev);
        }
        if ((wish->state == SIM_WISH_REFUSED || wish->state == SIM_WISH_UNCHANGED) && wish->stored != 0) {
                sim_fail(sim, "edit %u is stored though it was %s", wish->marker,
                        wish->state == SIM_WISH_REFUSED ? "refused" : "said to have changed nothing");
        }
        if (wish->state == SIM_WISH_FOLDED && !wish->was_lost && wish->stored != 1) {
                sim_fail(sim, "edit %u was said to be folded and is not stored", wish->marker);
        }
        if (wish->state == SIM_WISH_PENDING) {
                sim_fail(sim, "edit %u was never answered", wish->marker);
        }
}

/* Each op of these kinds changes something, so an edit has all of its records or none. */
static void verify_records(
        const struct sim *sim, const struct sim_wish *wish, const struct scn_journal_transaction *transaction)
{
        uint32_t adds = 0;
        uint32_t removes = 0;
        for (uint32_t i = 0; i < transaction->records_count; i++) {
                adds += transaction->records[i].kind == SCN_OP_ADD;
                removes += transaction->records[i].kind == SCN_OP_REMOVE;
        }
        if (wish->is_edit && (adds != wish->adds || removes != wish->removes)) {
                sim_fail(sim, "edit %u adds %u nodes and removes %u, but revision %llu adds %u and removes %u",
                        wish->marker, wish->adds, wish->removes, (unsigned long long)transaction->revision, adds,
                        removes);
        }
}

static void verify_transaction(struct sim *sim, uint32_t number, const struct sim_document *document,
        const struct scn_journal_transaction *transaction, struct scn_ops *ops)
{
        const uint32_t marker = transaction->cause == 0 ? marker_of(sim, transaction, ops) : 0;
        struct sim_wish *wish = find_wish(sim, number, transaction, marker);
        const unsigned long long revision = transaction->revision;
        if (wish == NULL) {
                sim_fail(sim, "revision %llu is nobody's", revision);
        }
        wish->stored++;
        verify_records(sim, wish, transaction);
        sim_past_verify_restore(wish, document, transaction->revision);
        if (wish->number != transaction->number) {
                sim_fail(sim, "revision %llu, edit %u, has the number %llu and not %llu", revision, wish->marker,
                        (unsigned long long)transaction->number, (unsigned long long)wish->number);
        }
        if (wish->state == SIM_WISH_ACKED && !wish->was_lost && wish->rev != transaction->revision) {
                sim_fail(sim, "edit %u was acknowledged as revision %llu and is %llu", wish->marker,
                        (unsigned long long)wish->rev, revision);
        }
}

void sim_verify_journal(struct sim *sim)
{
        struct scn_ops ops = {0};
        for (uint32_t i = 0; i < sim->climate.documents_count; i++) {
                const struct sim_document *document = sim_host_document(sim, i);
                for (size_t k = 0; document != NULL && k < document->transactions_count; k++) {
                        verify_transaction(sim, i, document, &document->transactions[k]->transaction, &ops);
                }
                if (document != NULL) {
                        sim_claim_verify(sim, i, document);
                }
        }
        for (const struct sim_wish *wish = sim->wishes; wish != NULL; wish = wish->next) {
                if (!wish->is_request) {
                        verify_wish(sim, wish);
                }
        }
        scn_ops_finish(&ops);
}
