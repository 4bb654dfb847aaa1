/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What a program asks a view about the state it shows. */

#include "client/client.h"
#include "client/draft.h"
#include "protocol/scene/digest.h"
#include "protocol/scene/transform.h"

#include <string.h>

bool scn_view_is_ready(const struct scn_view *view)
{
        return view->mirror.is_ready;
}

scn_revision scn_view_revision(const struct scn_view *view)
{
        return view->mirror.cursor;
}

uint32_t scn_view_pending_count(const struct scn_view *view)
{
        return scn_mirror_pending_count(&view->mirror);
}

uint32_t scn_view_nodes_count(const struct scn_view *view)
{
        return scn_document_nodes_count(view->mirror.document);
}

static struct scn_uid uid_of(const struct scn_document *document, scn_node_id id)
{
        return id == 0 ? (struct scn_uid){{0}} : scn_document_node(document, id).uid;
}

struct scn_uid scn_view_root(const struct scn_view *view)
{
        return uid_of(view->mirror.document, scn_document_root(view->mirror.document));
}

bool scn_view_node(const struct scn_view *view, struct scn_uid node, struct scn_node_info *info_out)
{
        const struct scn_document *document = view->mirror.document;
        const scn_node_id id = scn_document_find_uid(document, node);
        if (id == 0) {
                return false;
        }
        const struct scn_node_view found = scn_document_node(document, id);
        *info_out = (struct scn_node_info){
                .uid = found.uid,
                .parent = uid_of(document, found.parent),
                .previous = uid_of(document, found.previous),
                .next = uid_of(document, found.next),
                .first_child = uid_of(document, found.first_child),
                .children_count = found.children_count,
                .properties_count = found.properties_count,
                .name = found.name,
                .trs = found.trs,
        };
        return true;
}

struct scn_uid scn_view_find(const struct scn_view *view, const char *path)
{
        const struct scn_document *document = view->mirror.document;
        const struct scn_node_ref ref = scn_ref_of_target((struct scn_target){.path = path});
        scn_node_id id;
        return scn_document_root(document) != 0 && scn_document_find(document, &ref, &id) == SCN_OK
                ? uid_of(document, id)
                : (struct scn_uid){{0}};
}

struct scn_uid scn_view_walk(const struct scn_view *view, struct scn_uid top, struct scn_uid at)
{
        const struct scn_document *document = view->mirror.document;
        const scn_node_id top_id = scn_document_find_uid(document, top);
        const scn_node_id at_id = scn_document_find_uid(document, at);
        return top_id == 0 || at_id == 0 ? (struct scn_uid){{0}}
                                         : uid_of(document, scn_document_walk(document, top_id, at_id));
}

struct scn_slice scn_view_property(const struct scn_view *view, struct scn_uid node, const char *key)
{
        const struct scn_document *document = view->mirror.document;
        const scn_node_id id = scn_document_find_uid(document, node);
        const struct scn_slice slice = {(const uint8_t *)key, (uint32_t)strlen(key)};
        return id == 0 ? (struct scn_slice){NULL, 0} : scn_document_get(document, id, slice);
}

/* Removed keys are fields still, but a program does not count them. */
bool scn_view_property_at(const struct scn_view *view, struct scn_uid node, uint32_t index, struct scn_slice *key_out,
        struct scn_slice *value_out)
{
        const struct scn_document *document = view->mirror.document;
        const scn_node_id id = scn_document_find_uid(document, node);
        const uint32_t count = id == 0 ? 0 : scn_document_node(document, id).property_fields_count;
        for (uint32_t i = 0; i < count; i++) {
                const struct scn_property property = scn_document_property(document, id, i, NULL);
                if (property.value.data != NULL && index-- == 0) {
                        *key_out = property.key;
                        *value_out = property.value;
                        return true;
                }
        }
        return false;
}

enum scn_error scn_view_world(const struct scn_view *view, struct scn_uid node, float matrix_out[16])
{
        const struct scn_document *document = view->mirror.document;
        const scn_node_id id = scn_document_find_uid(document, node);
        struct scn_affine world;
        const enum scn_error error = id == 0 ? SCN_E_NO_NODE : scn_document_world(document, id, &world);
        if (error == SCN_OK) {
                scn_affine_to_mat4(&world, matrix_out);
        }
        return error;
}

void scn_view_digest(const struct scn_view *view, uint8_t digest_out[16])
{
        const struct scn_document *document = view->mirror.document;
        const struct scn_digests digests = scn_document_digests(document);
        const struct scn_digest sum = scn_digests_combine(&digests, view->mirror.mask);
        for (uint32_t i = 0; i < 8; i++) {
                digest_out[i] = (uint8_t)(sum.high >> (56 - 8 * i));
                digest_out[8 + i] = (uint8_t)(sum.low >> (56 - 8 * i));
        }
}
