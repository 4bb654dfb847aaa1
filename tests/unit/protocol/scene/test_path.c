/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/scene/document.h"

#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <string.h>

static void expect_path(const struct scn_document *document, scn_node_id id, const char *expected)
{
        struct scn_buffer path;
        uint64_t steps = 1000;
        scn_buffer_init(&path, 4096);
        cr_assert_eq(scn_document_path(document, id, &steps, &path), SCN_OK);
        cr_assert(path.size == strlen(expected) && memcmp(path.data, expected, path.size) == 0, "%.*s, not %s",
                (int)path.size, (const char *)path.data, expected);
        scn_buffer_finish(&path);
}

SCN_TEST(path, says_names_and_an_index_where_a_name_is_not_the_first)
{
        struct scn_document *document = scene_create();
        const scn_node_id boat = scene_new(document, 1, 2, "Boat");
        const scn_node_id first = scene_new(document, boat, 3, "Oar");
        const scn_node_id unnamed = scene_new(document, boat, 4, NULL);
        const scn_node_id second = scene_new(document, boat, 5, "Oar");
        const scn_node_id odd = scene_new(document, second, 6, "a/b[c\\");
        const scn_node_id other = scene_new(document, boat, 7, NULL);
        expect_path(document, 1, "/");
        expect_path(document, first, "/Boat/Oar");
        expect_path(document, unnamed, "/Boat/[0]");
        expect_path(document, other, "/Boat/[1]");
        expect_path(document, odd, "/Boat/Oar[1]/a\\/b\\[c\\\\");
        scn_document_destroy(document);
}

SCN_TEST(path, leads_back_to_its_node)
{
        static const char *const names[] = {"a", "b", "a]", "[0]", "/", "\\", "", NULL, "ä"};
        struct scn_random random = scn_random_from_seed(scn_test_seed(1));
        struct scn_document *document = scene_create();
        for (uint32_t i = 0; i < 500; i++) {
                const scn_node_id parent = 1 + scn_random_below(&random, scn_document_nodes_count(document));
                (void)scene_new(document, parent, 10 + i, names[scn_random_below(&random, 9)]);
        }
        for (scn_node_id id = 1; id <= 501; id++) {
                struct scn_buffer path;
                uint64_t steps = 100000;
                scn_node_id found;
                scn_buffer_init(&path, 65536);
                cr_assert_eq(scn_document_path(document, id, &steps, &path), SCN_OK);
                const struct scn_node_ref ref = {.kind = SCN_REF_PATH, .path = {path.data, (uint32_t)path.size}};
                cr_assert_eq(scn_document_find(document, &ref, &found), SCN_OK, "%.*s", (int)path.size,
                        (const char *)path.data);
                cr_assert_eq(found, id, "%.*s", (int)path.size, (const char *)path.data);
                scn_buffer_finish(&path);
        }
        scn_document_destroy(document);
}

SCN_TEST(path, looks_at_no_more_siblings_than_it_may)
{
        struct scn_document *document = scene_create();
        for (uint32_t i = 0; i < 11; i++) {
                (void)scene_new(document, 1, 10 + i, "same");
        }
        struct scn_buffer path;
        uint64_t steps = 9;
        scn_buffer_init(&path, 4096);
        cr_assert_eq(scn_document_path(document, 12, &steps, &path), SCN_E_PATH_TOO_LONG);
        scn_buffer_reset(&path);
        steps = 10;
        cr_assert_eq(scn_document_path(document, 12, &steps, &path), SCN_OK);
        cr_assert_eq(steps, 0);
        scn_buffer_finish(&path);
        scn_document_destroy(document);
}
