/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Questions about much of a document: a worker answers them, to which the room is lent. */

#include "protocol/base/alloc.h"
#include "server/answers.h"
#include "server/core.h"

struct query_loan {
        struct scn_loan loan;
        struct scn_session *session; /* stays while the room is lent, and so does what the message borrows from */
        struct scn_message message;
        struct scn_answers answers;
};

static uint32_t nodes_asked_for(const struct scn_message_world *message)
{
        struct scn_unpacker nodes = scn_unpacker_from(message->nodes);
        return scn_unpack_array(&nodes);
}

/* Nodes of the subtree that is asked about; what cannot be found is soon refused. */
static uint32_t nodes_below(const struct scn_document *document, const struct scn_node_ref *ref, uint64_t depth)
{
        scn_node_id top = scn_document_root(document);
        if (ref->kind != SCN_REF_NONE && scn_document_find(document, ref, &top) != SCN_OK) {
                return 0;
        }
        return depth == 0    ? 1
                : depth == 1 ? 1 + scn_document_node(document, top).children_count
                             : scn_document_count_below(document, top, SCN_LONG_NODES);
}

bool scn_query_is_long(const struct scn_session *session, const struct scn_message *message)
{
        const struct scn_document *document = scn_room_document(session->room);
        if (message->kind == SCN_MESSAGE_world) {
                return nodes_asked_for(&message->as.world) >= SCN_LONG_NODES;
        }
        if (scn_document_nodes_count(document) < SCN_LONG_NODES) {
                return false;
        }
        if (message->kind == SCN_MESSAGE_tree) {
                return nodes_below(document, &message->as.tree.node, message->as.tree.depth) >= SCN_LONG_NODES;
        }
        /* That of all is at hand. */
        const struct scn_node_ref *node = &message->as.digest.node;
        return node->kind != SCN_REF_NONE && nodes_below(document, node, SCN_ABSENT) >= SCN_LONG_NODES;
}

static void work_query(struct scn_loan *loan)
{
        struct query_loan *query = (struct query_loan *)loan;
        scn_query(loan->room->document, &query->message, &query->answers);
}

static void back_query(struct scn_loan *loan)
{
        struct query_loan *query = (struct query_loan *)loan;
        struct scn_session *session = query->session;
        if (session->state == SCN_SESSION_OPEN) {
                session->asked = &query->message;
                scn_answers_send(&query->answers, session, NULL);
                session->asked = NULL;
                scn_session_pop(session);
        }
        scn_answers_finish(&query->answers);
        scn_free(query);
}

/* Those of the room that have waited longer come before its next question. */
static void put_last(struct scn_session *session)
{
        struct scn_session **at = &session->room->sessions;
        while (*at != session) {
                at = &(*at)->next_in_room;
        }
        *at = session->next_in_room;
        while (*at != NULL) {
                at = &(*at)->next_in_room;
        }
        *at = session;
        session->next_in_room = NULL;
}

bool scn_query_lend(struct scn_session *session, const struct scn_message *message)
{
        struct scn_room *room = session->room;
        if (!scn_room_is_settled(room) || !scn_room_can_lend(room)) {
                return false;
        }
        struct query_loan *query = scn_alloc_zero(1, sizeof *query);
        if (query == NULL) {
                scn_session_fail(session, message->as.ping.request, SCN_E_NO_MEMORY, NULL);
                return true;
        }
        query->loan = (struct scn_loan){.work = work_query, .back = back_query};
        query->session = session;
        query->message = *message;
        query->answers = scn_answers_about(session, message->as.ping.request); /* the first field of all */
        put_last(session);
        scn_room_lend(room, &query->loan);
        return false;
}
