/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What authors do with the past: ask for it, name it, bring it back. */

#include "protocol/base/assert.h"
#include "protocol/base/uid.h"
#include "protocol/scene/digest.h"
#include "tests/sim/sim.h"

#include <stdio.h>
#include <string.h>

/* A moment: mostly a revision that is known to be there, sometimes a tag, which may not be. *revision_out is 0 for
 * tags. */
static void write_moment(struct sim_author *author, char text[24], scn_revision *revision_out)
{
        static const char *const tags[] = {"first", "x", "release one", "none"};
        struct sim *sim = author->sim;
        const struct sim_view *view = sim_any_view(author);
        const scn_revision newest = view == NULL ? 0 : scn_view_revision(view->view);
        *revision_out = 0;
        if (newest == 0 || sim_chance(sim, 20)) {
                (void)snprintf(text, 24, "%s", tags[sim_below(sim, 4)]);
                return;
        }
        *revision_out = 1 + sim_below(sim, (uint32_t)newest);
        (void)snprintf(text, 24, "%llu", (unsigned long long)*revision_out);
}

void sim_do_restore(struct sim_author *author)
{
        struct sim *sim = author->sim;
        struct sim_wish *wish = sim_wish_create(author);
        const bool is_whole = sim_chance(sim, 60);
        struct scn_target node = {.path = NULL};
        char at[24];
        scn_revision revision;
        if (!is_whole) {
                node = sim_any_target(author);
        }
        write_moment(author, at, &revision);
        wish->past = is_whole ? revision : 0;
        sim->wishes_count++;
        const enum scn_error error = scn_client_restore(author->client, at, node, sim_on_result, wish);
        SCN_ASSERT(error == SCN_OK);
        sim_note(sim, "restore", author->index, revision, is_whole);
}

void sim_do_past(struct sim_author *author)
{
        struct sim *sim = author->sim;
        struct scn_client *client = author->client;
        struct sim_wish *wish = sim_request(author);
        struct scn_request narrow = SCN_REQUEST_INIT;
        const struct scn_target node = sim_any_target(author);
        const uint32_t which = sim_below(sim, 9);
        enum scn_error error;
        char at[24];
        scn_revision revision;
        write_moment(author, at, &revision);
        narrow.at = at;
        switch (which) {
        case 0:
                error = scn_client_tree(client, &narrow, sim_on_answer, wish);
                break;
        case 1:
                error = scn_client_world(client, &node, 1, &narrow, sim_on_answer, wish);
                break;
        case 2:
                error = scn_client_blame(client, node, sim_on_answer, wish);
                break;
        case 3:
                narrow = (struct scn_request)SCN_REQUEST_INIT;
                narrow.since = at;
                error = scn_client_log(client, &narrow, sim_on_answer, wish);
                break;
        case 4:
                error = scn_client_tags(client, sim_on_answer, wish);
                break;
        case 5:
                error = scn_client_untag(client, revision == 0 ? at : "x", sim_on_answer, wish);
                break;
        case 6:
                error = scn_client_tag(
                        client, revision == 0 ? at : "first", revision == 0 ? NULL : &revision, sim_on_answer, wish);
                break;
        default:
                wish->past = revision;
                wish->history = sim->history;
                error = scn_client_digest(client, &narrow, sim_on_answer, wish);
                break;
        }
        SCN_ASSERT(error == SCN_OK);
        sim_note(sim, "past", author->index, which, revision);
}

static struct scn_digest digest_in(const struct sim_transaction *stored, uint32_t mask)
{
        struct scn_digests digests;
        SCN_ASSERT(stored->transaction.digest.size == sizeof digests);
        memcpy(&digests, stored->transaction.digest.data, sizeof digests);
        return scn_digests_combine(&digests, mask);
}

struct scn_digest sim_past_digest(const struct sim_document *document, scn_revision revision, uint32_t mask)
{
        return digest_in(document->transactions[revision - 1], mask);
}

static bool is_told(struct scn_digest digest, const uint8_t told[16])
{
        uint8_t bytes[16];
        for (uint32_t i = 0; i < 8; i++) {
                bytes[i] = (uint8_t)(digest.high >> (56 - 8 * i));
                bytes[8 + i] = (uint8_t)(digest.low >> (56 - 8 * i));
        }
        return memcmp(told, bytes, sizeof bytes) == 0;
}

void sim_past_hear_digest(const struct sim_wish *wish, const struct scn_answer *answer)
{
        const struct sim_document *document = sim_host_document(wish->sim, wish->document);
        uint8_t told[16] = {0};
        if (wish->past == 0 || wish->history != wish->sim->history || answer->failure != NULL) {
                return;
        }
        SCN_ASSERT(document != NULL && wish->past <= document->transactions_count);
        if (!scn_answer_digest(answer, told) || answer->rev != wish->past ||
                !is_told(sim_past_digest(document, wish->past, SCN_MASK_ALL), told)) {
                sim_fail(wish->sim, "the digest of revision %llu, told of %llu, is not what was stored",
                        (unsigned long long)wish->past, (unsigned long long)answer->rev);
        }
}

void sim_past_verify_restore(const struct sim_wish *wish, const struct sim_document *document, scn_revision revision)
{
        if (wish->past == 0) {
                return;
        }
        const struct scn_digest then = sim_past_digest(document, wish->past, SCN_MASK_ALL);
        const struct scn_digest now = sim_past_digest(document, revision, SCN_MASK_ALL);
        if (memcmp(&then, &now, sizeof then) != 0) {
                sim_fail(wish->sim, "revision %llu should have restored %llu", (unsigned long long)revision,
                        (unsigned long long)wish->past);
        }
}
