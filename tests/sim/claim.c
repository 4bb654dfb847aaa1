/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Locks, as far as the wire tells of them: from when until when one must surely have held. An edit of another author
 * that came and was answered in between must not have written the node. */

#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"
#include "protocol/base/uid.h"
#include "protocol/wire/ops.h"
#include "server/record.h"
#include "tests/sim/sim.h"

#include <stdio.h>
#include <string.h>

/* How long a lock outlives its session, and the clocks' grain. */
#define GRACE_US (10 * (uint64_t)SIM_S)
#define GRAIN_US (2 * (uint64_t)SIM_MS)
/* So long may a request wait for its turn. */
#define WAIT_US (90 * (uint64_t)SIM_S)

struct sim_wish *sim_claim_wish(const struct sim_link *link, uint64_t number)
{
        for (struct sim_wish *wish = link->sim->wishes; wish != NULL; wish = wish->next) {
                if (wish->author == link->owner && wish->number == number && !wish->is_request) {
                        return wish;
                }
        }
        return NULL;
}

static void end(uint64_t *time_us, uint64_t at_us)
{
        *time_us = at_us < *time_us ? at_us : *time_us;
}

static bool is_of_same(const struct sim_claim *claim, const struct sim_link *link)
{
        return claim->document == link->document && strcmp(claim->author, link->owner->name) == 0;
}

/* --- What is asked --- */

static bool is_about(const struct sim_claim *claim, const struct sim_link *link, struct scn_uid node)
{
        return is_of_same(claim, link) &&
                (scn_uid_is_none(node) || scn_uid_is_none(claim->node) || scn_uid_equal(claim->node, node));
}

/* Whatever comes of it, what the same author had there is not sure any more. */
static void doubt(struct sim_link *link, struct scn_uid node)
{
        for (struct sim_claim *claim = link->sim->claims; claim != NULL; claim = claim->next) {
                if (is_about(claim, link, node)) {
                        end(&claim->sure_us, link->sim->now_us);
                }
        }
}

/* Whether another session of the author has asked for something there that may be done after all that is asked now. */
static bool is_unsettled(const struct sim_link *link, struct scn_uid node)
{
        for (const struct sim_claim *claim = link->sim->claims; claim != NULL; claim = claim->next) {
                if (is_about(claim, link, node) && claim->granted_us == 0 && claim->maybe_us > link->sim->now_us) {
                        return true;
                }
        }
        return false;
}

/* An unlock is one, too, of no channel. */
static void add_claim(struct sim_link *link, const struct scn_message *message, struct scn_uid node)
{
        struct sim *sim = link->sim;
        const struct scn_message_lock *lock = message->kind == SCN_MESSAGE_lock ? &message->as.lock : NULL;
        const bool is_sure = lock != NULL && !is_unsettled(link, node);
        struct sim_claim *claim = scn_alloc_zero(1, sizeof *claim);
        SCN_ASSERT(claim != NULL);
        const uint64_t ttl_us = (lock == NULL || lock->ttl == SCN_ABSENT ? 60 : lock->ttl) * (uint64_t)SIM_S;
        const uint32_t mask = lock == NULL ? 0 : lock->mask == SCN_ABSENT ? SCN_MASK_DURABLE : (uint32_t)lock->mask;
        *claim = (struct sim_claim){
                .next = sim->claims,
                .link = link,
                .request = message->as.ping.request, /* the first field of all */
                .document = link->document,
                .node = node,
                .mask = mask & SCN_MASK_DURABLE,
                .has_subtree = lock != NULL && lock->subtree,
                .asked_us = sim->now_us,
                .sure_us = is_sure ? sim->now_us + ttl_us - GRAIN_US : 0,
                .maybe_us = sim->now_us + ttl_us + WAIT_US,
        };
        (void)snprintf(claim->author, sizeof claim->author, "%s", link->owner->name);
        sim->claims = claim;
}

void sim_claim_hear(struct sim_link *link, const struct scn_message *message)
{
        static const struct scn_uid none = {{0}};
        const struct scn_slice nodes =
                message->kind == SCN_MESSAGE_lock ? message->as.lock.nodes : message->as.unlock.nodes;
        if (nodes.data == NULL) {
                doubt(link, none);
                add_claim(link, message, none);
                return;
        }
        struct scn_unpacker unpacker = scn_unpacker_from(nodes);
        const uint32_t count = scn_unpack_array(&unpacker);
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                const struct scn_node_ref ref = scn_unpack_ref(&unpacker);
                const struct scn_uid node = ref.kind == SCN_REF_UID ? ref.uid : none;
                doubt(link, node);
                add_claim(link, message, node);
        }
}

/* --- What comes of it --- */

void sim_claim_hear_answer(struct sim_link *link, const struct scn_message_answer *answer)
{
        for (struct sim_claim *claim = link->sim->claims; claim != NULL; claim = claim->next) {
                if (claim->link == link && claim->request == answer->request) {
                        claim->granted_us = link->sim->now_us;
                }
        }
}

void sim_claim_hear_failure(struct sim_link *link, uint64_t request)
{
        for (struct sim_claim *claim = link->sim->claims; claim != NULL; claim = claim->next) {
                if (claim->link == link && claim->request == request) {
                        claim->sure_us = claim->maybe_us = 0;
                }
        }
}

/* Where the disk may fail, the room may close, and with it all locks end. */
void sim_claim_let_go(struct sim_link *link, bool is_lost)
{
        struct sim *sim = link->sim;
        if (link->has_let_go) {
                return;
        }
        link->has_let_go = true;
        for (struct sim_claim *claim = sim->claims; claim != NULL; claim = claim->next) {
                if (claim->link == link) {
                        const bool is_sure = !is_lost && !sim->climate.has_bad_disk;
                        end(&claim->sure_us, is_sure ? sim->now_us + GRACE_US - GRAIN_US : sim->now_us);
                        end(&claim->maybe_us, sim->now_us + (is_lost ? 0 : GRACE_US + SIM_S));
                        claim->link = NULL;
                }
        }
}

void sim_claims_lose(struct sim *sim)
{
        for (struct sim_claim *claim = sim->claims; claim != NULL; claim = claim->next) {
                end(&claim->sure_us, sim->now_us);
        }
}

static struct scn_slice holder_of(struct scn_slice detail)
{
        struct scn_unpacker unpacker = scn_unpacker_from(detail);
        const uint32_t count = detail.data == NULL ? 0 : scn_unpack_map(&unpacker);
        for (uint32_t i = 0; i < count && unpacker.error == SCN_OK; i++) {
                const struct scn_slice key = scn_unpack_text(&unpacker, UINT32_MAX);
                if (key.size == 6 && memcmp(key.data, "holder", 6) == 0) {
                        return scn_unpack_text(&unpacker, UINT32_MAX);
                }
                (void)scn_unpack_raw(&unpacker);
        }
        return (struct scn_slice){NULL, 0};
}

static bool is_author(struct scn_slice name, const char *author)
{
        return name.size == strlen(author) && memcmp(name.data, author, name.size) == 0;
}

/* Somebody else must have asked for a lock that may have stood since the edit came. */
void sim_claim_hear_refusal(struct sim_link *link, const struct scn_message_refused *refused)
{
        struct sim *sim = link->sim;
        const struct scn_slice holder = holder_of(refused->detail);
        const struct sim_wish *wish = sim_claim_wish(link, refused->number);
        const uint64_t since_us = wish == NULL ? 0 : wish->arrived_us;
        if (holder.data == NULL || is_author(holder, link->owner->name)) {
                sim_fail(sim, "an edit is refused as locked by %s", holder.data == NULL ? "nobody" : "its own author");
        }
        for (const struct sim_claim *claim = sim->claims; claim != NULL; claim = claim->next) {
                if (claim->mask != 0 && claim->document == link->document && is_author(holder, claim->author) &&
                        claim->maybe_us >= since_us) {
                        return;
                }
        }
        sim_fail(sim, "an edit is refused as locked by %.*s, who has no lock", (int)holder.size,
                (const char *)holder.data);
}

/* --- Whether it held --- */

/* Where nodes were made, of those that were neither moved nor removed since. */
struct place {
        struct scn_uid node;
        struct scn_uid parent;
};

struct places {
        struct place *places;
        size_t count;
        size_t capacity;
        int64_t removed_us; /* when anything last was removed */
};

static struct place *find_place(const struct places *places, struct scn_uid node)
{
        for (size_t i = 0; i < places->count; i++) {
                if (scn_uid_equal(places->places[i].node, node)) {
                        return &places->places[i];
                }
        }
        return NULL;
}

static uint32_t channels_of(uint32_t kind)
{
        return kind == SCN_OP_RENAME       ? SCN_MASK_NAME
                : kind == SCN_OP_SET       ? SCN_MASK_PROPERTIES
                : kind == SCN_OP_MOVE      ? SCN_MASK_STRUCTURE
                : kind == SCN_OP_REMOVE    ? SCN_MASK_DURABLE
                : kind == SCN_OP_TRANSFORM ? SCN_MASK_TRANSFORM
                                           : 0;
}

static bool is_touched(
        const struct sim_claim *claim, const struct places *places, const struct scn_journal_record *record)
{
        const struct place *place = find_place(places, record->node);
        const uint32_t channels = channels_of(record->kind);
        if ((channels & claim->mask) == 0) {
                return false;
        }
        return scn_uid_equal(record->node, claim->node) ||
                (claim->has_subtree && place != NULL && scn_uid_equal(place->parent, claim->node));
}

/* What was removed came back without its lock: nothing is sure where anything was removed meanwhile. */
static int64_t utc_of(uint64_t time_us)
{
        return INT64_C(1700000000000000) + (int64_t)time_us;
}

static void verify_record(const struct sim *sim, const struct places *places, const struct sim_wish *wish,
        const struct scn_journal_transaction *transaction, const struct scn_journal_record *record)
{
        for (const struct sim_claim *claim = sim->claims; claim != NULL; claim = claim->next) {
                if (claim->granted_us == 0 || claim->granted_us > wish->arrived_us ||
                        claim->sure_us < wish->answered_us || claim->document != wish->document ||
                        places->removed_us >= utc_of(claim->asked_us) ||
                        is_author(transaction->author, claim->author)) {
                        continue;
                }
                if (is_touched(claim, places, record)) {
                        sim_fail(sim,
                                "revision %llu, kind %u, asked for at %llu and answered at %llu us, writes what %s had "
                                "locked from %llu to %llu us",
                                (unsigned long long)transaction->revision, record->kind,
                                (unsigned long long)wish->arrived_us, (unsigned long long)wish->answered_us,
                                claim->author, (unsigned long long)claim->granted_us,
                                (unsigned long long)claim->sure_us);
                }
        }
}

static const struct sim_wish *find_wish(
        const struct sim *sim, uint32_t document, const struct scn_journal_transaction *transaction)
{
        const struct sim_wish *found = NULL;
        for (const struct sim_wish *wish = sim->wishes; wish != NULL; wish = wish->next) {
                if (!wish->is_request && wish->document == document && wish->number == transaction->number &&
                        wish->state == SIM_WISH_ACKED && wish->rev == transaction->revision && !wish->was_lost &&
                        scn_uid_equal(wish->author->uid, transaction->client)) {
                        found = wish;
                }
        }
        return found;
}

static void note_place(struct places *places, const struct scn_journal_transaction *transaction,
        const struct scn_journal_record *record, const struct scn_op *op)
{
        struct place *place = find_place(places, record->node);
        if (record->kind == SCN_OP_REMOVE) {
                places->removed_us = transaction->time_us;
        }
        if (place != NULL && (record->kind == SCN_OP_MOVE || record->kind == SCN_OP_REMOVE)) {
                *place = places->places[--places->count];
        } else if (record->kind == SCN_OP_ADD && place != NULL) {
                *place = places->places[--places->count]; /* it had gone with its parent, and comes back elsewhere */
                note_place(places, transaction, record, op);
        } else if (record->kind == SCN_OP_ADD && op->parent.kind == SCN_REF_UID) {
                const bool is_good = scn_grow((void **)&places->places, &places->capacity, sizeof *places->places,
                        places->count + 1, SIZE_MAX);
                SCN_ASSERT(is_good);
                places->places[places->count++] = (struct place){record->node, op->parent.uid};
        }
}

void sim_claim_verify(struct sim *sim, uint32_t document, const struct sim_document *stored)
{
        struct places places = {.removed_us = INT64_MIN};
        struct scn_ops ops = {0};
        for (size_t i = 0; i < stored->transactions_count && sim->claims != NULL; i++) {
                const struct scn_journal_transaction *transaction = &stored->transactions[i]->transaction;
                const struct sim_wish *wish = find_wish(sim, document, transaction);
                for (uint32_t k = 0; k < transaction->records_count; k++) {
                        const struct scn_journal_record *record = &transaction->records[k];
                        if (wish != NULL && wish->arrived_us != 0 && wish->answered_us != 0) {
                                verify_record(sim, &places, wish, transaction, record);
                        }
                        ops.count = 0;
                        ops.properties_count = 0;
                        const enum scn_error error = scn_record_redo(record->kind, record->node, record->after, &ops);
                        SCN_ASSERT(error == SCN_OK);
                        note_place(&places, transaction, record, &ops.ops[0]);
                }
        }
        scn_free(places.places);
        scn_ops_finish(&ops);
}

void sim_claims_free(struct sim *sim)
{
        while (sim->claims != NULL) {
                struct sim_claim *next = sim->claims->next;
                scn_free(sim->claims);
                sim->claims = next;
        }
}
