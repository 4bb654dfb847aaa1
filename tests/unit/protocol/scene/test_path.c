/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/scene/document.h"

#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <string.h>

static enum scn_error tell(
        const struct scn_document *document, scn_node_id id, uint64_t *steps, struct scn_paths *paths)
{
        const struct scn_node_ref ref = {.kind = SCN_REF_ID, .id = id};
        struct scn_located located;
        cr_assert_eq(scn_document_locate(document, &ref, 0, steps, &located), SCN_OK);
        return scn_document_tell_path(document, located.slot, steps, paths);
}

static void expect_path(const struct scn_document *document, scn_node_id id, const char *expected)
{
        struct scn_paths paths = {.depth = 0};
        const struct scn_buffer *path = &paths.text;
        uint64_t steps = 1000;
        scn_buffer_init(&paths.text, 4096);
        cr_assert_eq(tell(document, id, &steps, &paths), SCN_OK);
        cr_assert(path->size == strlen(expected) && memcmp(path->data, expected, path->size) == 0, "%.*s, not %s",
                (int)path->size, (const char *)path->data, expected);
        scn_buffer_finish(&paths.text);
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

/* A tree of 501 nodes with few names, some deeper than is remembered. */
static struct scn_document *make_thicket(void)
{
        static const char *const names[] = {"a", "b", "a]", "[0]", "/", "\\", "", NULL, "ä"};
        struct scn_random random = scn_random_from_seed(scn_test_seed(1));
        struct scn_document *document = scene_create();
        for (uint32_t i = 0; i < 500; i++) {
                const uint32_t count = scn_document_nodes_count(document);
                const scn_node_id parent = i < 50 ? count : 1 + scn_random_below(&random, count);
                (void)scene_new(document, parent, 10 + i, names[scn_random_below(&random, 9)]);
        }
        return document;
}

SCN_TEST(path, leads_back_to_its_node)
{
        struct scn_document *document = make_thicket();
        for (scn_node_id id = 1; id <= 501; id++) {
                struct scn_paths paths = {.depth = 0};
                uint64_t steps = 100000;
                scn_node_id found;
                scn_buffer_init(&paths.text, 65536);
                cr_assert_eq(tell(document, id, &steps, &paths), SCN_OK);
                const struct scn_slice path = {paths.text.data, (uint32_t)paths.text.size};
                const struct scn_node_ref ref = {.kind = SCN_REF_PATH, .path = path};
                cr_assert_eq(scn_document_find(document, &ref, &found), SCN_OK, "%.*s", (int)path.size,
                        (const char *)path.data);
                cr_assert_eq(found, id, "%.*s", (int)path.size, (const char *)path.data);
                scn_buffer_finish(&paths.text);
        }
        scn_document_destroy(document);
}

SCN_TEST(path, is_and_costs_the_same_behind_another_as_alone)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(2));
        struct scn_document *document = make_thicket();
        struct scn_paths together = {.depth = 0};
        scn_buffer_init(&together.text, 65536);
        for (uint32_t i = 0; i < 2000; i++) {
                const scn_node_id id = 1 + scn_random_below(&random, 501);
                const uint64_t steps = scn_random_below(&random, 100);
                uint64_t left_together = steps;
                uint64_t left_alone = steps;
                struct scn_paths alone = {.depth = 0};
                scn_buffer_init(&alone.text, 65536);
                const enum scn_error error = tell(document, id, &left_alone, &alone);
                cr_assert_eq(tell(document, id, &left_together, &together), error);
                cr_assert_eq(left_together, left_alone);
                cr_assert(error != SCN_OK ||
                        (together.text.size == alone.text.size &&
                                memcmp(together.text.data, alone.text.data, alone.text.size) == 0));
                scn_buffer_finish(&alone.text);
        }
        scn_buffer_finish(&together.text);
        scn_document_destroy(document);
}

SCN_TEST(path, looks_at_no_more_siblings_than_it_may)
{
        struct scn_document *document = scene_create();
        for (uint32_t i = 0; i < 11; i++) {
                (void)scene_new(document, 1, 10 + i, "same");
        }
        struct scn_paths paths = {.depth = 0};
        uint64_t steps = 9;
        scn_buffer_init(&paths.text, 4096);
        cr_assert_eq(tell(document, 12, &steps, &paths), SCN_E_PATH_TOO_LONG);
        steps = 10;
        cr_assert_eq(tell(document, 12, &steps, &paths), SCN_OK);
        cr_assert_eq(steps, 0);
        scn_buffer_finish(&paths.text);
        scn_document_destroy(document);
}
