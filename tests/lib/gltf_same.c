/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "tests/lib/gltf_same.h"

#include <string.h>

static bool is_same_slice(struct scn_slice a, struct scn_slice b)
{
        return (a.data == NULL) == (b.data == NULL) && a.size == b.size &&
                (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

bool gltf_is_same(const struct scn_document *a, const struct scn_document *b)
{
        scn_node_id in_a = scn_document_root(a);
        scn_node_id in_b = scn_document_root(b);

        while (in_a != 0 && in_b != 0) {
                const struct scn_node_view x = scn_document_node(a, in_a);
                const struct scn_node_view y = scn_document_node(b, in_b);
                if (!is_same_slice(x.name, y.name) || memcmp(&x.trs, &y.trs, sizeof x.trs) != 0 ||
                        x.children_count != y.children_count || x.property_fields_count != y.property_fields_count)
                        return false;
                for (uint32_t i = 0; i < x.property_fields_count; i++) {
                        const struct scn_property p = scn_document_property(a, in_a, i, NULL);
                        const struct scn_property q = scn_document_property(b, in_b, i, NULL);
                        if (!is_same_slice(p.key, q.key) || !is_same_slice(p.value, q.value))
                                return false;
                }
                in_a = scn_document_walk(a, scn_document_root(a), in_a);
                in_b = scn_document_walk(b, scn_document_root(b), in_b);
        }
        return in_a == in_b;
}
