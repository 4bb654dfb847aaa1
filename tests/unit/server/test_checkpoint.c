/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "server/checkpoint.h"
#include "storage/storage.h"
#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <string.h>

/* A document with everything in it: clients, properties, removed keys, moved, removed and reborn nodes, transforms. */
static struct scn_document *create_rich(void)
{
        struct scn_document *document = scene_create();
        scn_node_id id[40];
        for (uint32_t i = 0; i < 40; i++) {
                id[i] = scene_new(document, i < 5 ? 1 : id[i / 5], 100 + i,
                        i % 3 == 0           ? NULL
                                : i % 3 == 1 ? ""
                                             : "name");
                (void)scene_do_as(document, 2 + i % 3, scene_set(id[i], "k", scene_integer((uint8_t)i)));
                (void)scene_do_as(document, 4, scene_translate(id[i], (float)i, 0.5f, -1.0f));
        }
        for (uint32_t i = 10; i < 20; i++) {
                (void)scene_do_as(document, 5, scene_move(id[i], id[i % 5]));
                (void)scene_do_as(document, 6, scene_set(id[i], "k", (struct scn_slice){NULL, 0}));
        }
        for (uint32_t i = 20; i < 26; i++) {
                if (scn_document_has(document, id[i])) {
                        (void)scene_do_as(document, 7, scene_remove(id[i]));
                        (void)scene_new(document, 1, 100 + i, "reborn");
                }
        }
        return document;
}

static void encode(const struct scn_document *document, struct scn_buffer *bytes)
{
        struct scn_checkpoint_encoder *encoder = scn_checkpoint_encoder_create(document);
        struct scn_slice part;
        bool was_last = false;
        cr_assert_not_null(encoder);
        scn_buffer_init(bytes, SIZE_MAX / 2);
        do {
                cr_assert_eq(scn_checkpoint_encoder_next(encoder, &part), SCN_OK);
                cr_assert_leq(part.size, SCN_CHECKPOINT_PART_BYTES_MAX);
                cr_assert(!was_last || part.data == NULL, "a part that is not full is not the last one");
                was_last = part.size < SCN_CHECKPOINT_PART_BYTES_MAX;
                cr_assert_eq(scn_buffer_append(bytes, part.data, part.size), SCN_OK);
        } while (part.data != NULL);
        scn_checkpoint_encoder_destroy(encoder);
}

/* In pieces of `step` bytes. */
static enum scn_error decode(struct scn_slice bytes, uint32_t step, struct scn_document **document_out)
{
        const struct scn_document_options options = scene_options();
        struct scn_checkpoint_decoder *decoder = NULL;
        enum scn_error error = scn_checkpoint_decoder_create(&options, &decoder);
        for (uint32_t at = 0; at < bytes.size && error == SCN_OK; at += step) {
                const uint32_t size = bytes.size - at < step ? bytes.size - at : step;
                error = scn_checkpoint_decoder_feed(decoder, (struct scn_slice){bytes.data + at, size});
        }
        if (error == SCN_OK) {
                error = scn_checkpoint_decoder_take(decoder, document_out);
        }
        scn_checkpoint_decoder_destroy(decoder);
        return error;
}

static struct scn_slice all_of(const struct scn_buffer *bytes)
{
        return (struct scn_slice){bytes->data, (uint32_t)bytes->size};
}

SCN_TEST(checkpoint, comes_back_the_same_however_it_is_cut)
{
        static const uint32_t steps[] = {1, 2, 7, 100, UINT32_MAX / 2};
        struct scn_document *document = create_rich();
        struct scn_buffer bytes;
        encode(document, &bytes);
        for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
                struct scn_document *copy = NULL;
                cr_assert_eq(decode(all_of(&bytes), steps[i], &copy), SCN_OK, "in steps of %u", steps[i]);
                scn_document_check(copy);
                cr_assert(scene_is_same(document, copy));
                scn_document_destroy(copy);
        }
        scn_buffer_finish(&bytes);
        scn_document_destroy(document);
}

SCN_TEST(checkpoint, of_many_nodes_has_full_parts_and_one_last)
{
        struct scn_document *document = scene_create();
        struct scn_document *copy = NULL;
        struct scn_buffer bytes;
        for (uint32_t i = 0; i < 10000; i++) {
                (void)scene_new(document, i < 10 ? 1 : i / 10 + 1, 100 + i, "a node with a name");
        }
        encode(document, &bytes);
        cr_assert_gt(bytes.size, 2 * SCN_CHECKPOINT_PART_BYTES_MAX);
        cr_assert_lt(bytes.size, 10000u * 100u, "%zu bytes", bytes.size);
        cr_assert_eq(decode(all_of(&bytes), SCN_CHECKPOINT_PART_BYTES_MAX, &copy), SCN_OK);
        cr_assert(scene_is_same(document, copy));
        scn_document_destroy(copy);
        scn_buffer_finish(&bytes);
        scn_document_destroy(document);
}

/* The example of storage/FORMAT.md: a root, renamed and moved in one edit. The digests in the middle are left out. */
SCN_TEST(checkpoint, is_spelled_as_its_page_says)
{
        static const uint8_t before[] = {
                0x01,       /* version */
                0x00, 0x54, /* header, 84 bytes */
                0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0d,
                0x0c,                   /* uid */
                0x01, 0x00, 0x02, 0x01, /* revision, horizon, next id, nodes */
        };
        static const uint8_t behind[] = {
                0x01, 0x10, /* client, 16 bytes */
                0xc1, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                0x01,       /* uid */
                0x02, 0x39, /* node, 57 bytes */
                0x03, 0x02, /* name and t; id */
                0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                0x01,                                                                   /* uid */
                0x00, 0x00,                                                             /* parent, birth */
                0x00, 0x02, 0x02, 0x00,                                                 /* marks */
                0x00, 0x00, 0x00,                                                       /* stamps: place */
                0x02, 0x00, 0x01, 0x02, 0x00, 0x01,                                     /* name, t */
                0x00, 0x00, 0x00, 0x00, 0x00, 0x00,                                     /* r, s */
                0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* t */
                0x04, 'r', 'o', 'o', 't', 0x00,                                         /* name; properties */
                0x05, 0x01, 0x02,                                                       /* feed, 1 byte: id */
                0x06, 0x00,                                                             /* end */
        };
        struct scn_document *document = scene_create();
        struct scn_op ops[] = {scene_rename(1, "root"), scene_translate(1, 1.0f, 0.0f, 0.0f)};
        struct scn_buffer bytes;
        (void)scene_do_all(document, ops, 2);
        const struct scn_digests digests = scn_document_digests(document);
        encode(document, &bytes);
        cr_assert_eq(bytes.size, sizeof before + sizeof digests + sizeof behind);
        cr_assert_eq(memcmp(bytes.data, before, sizeof before), 0);
        cr_assert_eq(memcmp(bytes.data + sizeof before, &digests, sizeof digests), 0);
        cr_assert_eq(memcmp(bytes.data + sizeof before + sizeof digests, behind, sizeof behind), 0);
        scn_buffer_finish(&bytes);
        scn_document_destroy(document);
}

/* --- Damage --- */

static struct scn_document *expect_no_crash(struct scn_slice bytes)
{
        struct scn_document *document = NULL;
        return decode(bytes, 64, &document) == SCN_OK ? document : NULL;
}

SCN_TEST(checkpoint, that_is_cut_off_or_goes_on_behind_its_end_is_refused)
{
        struct scn_document *document = create_rich();
        struct scn_document *copy = NULL;
        struct scn_buffer bytes;
        encode(document, &bytes);
        for (uint32_t size = 0; size < bytes.size; size++) {
                cr_assert_eq(decode((struct scn_slice){bytes.data, size}, 1000, &copy), SCN_E_BAD_SNAPSHOT);
        }
        static const uint8_t again[] = {SCN_ROW_END, 0};
        cr_assert_eq(scn_buffer_append(&bytes, again, sizeof again), SCN_OK);
        cr_assert_eq(decode(all_of(&bytes), 1000, &copy), SCN_E_BAD_SNAPSHOT);
        bytes.size -= sizeof again;
        for (uint32_t byte = 0; byte < 256; byte++) {
                const uint8_t more = (uint8_t)byte;
                cr_assert_eq(scn_buffer_append(&bytes, &more, 1), SCN_OK);
                cr_assert_eq(decode(all_of(&bytes), 1000, &copy), SCN_E_BAD_SNAPSHOT);
        }
        scn_buffer_finish(&bytes);
        scn_document_destroy(document);
}

SCN_TEST(checkpoint, of_an_unknown_version_or_kind_of_row_is_refused)
{
        struct scn_document *document = create_rich();
        struct scn_document *copy = NULL;
        struct scn_buffer bytes;
        encode(document, &bytes);
        bytes.data[0] = SCN_CHECKPOINT_VERSION + 1;
        cr_assert_eq(decode(all_of(&bytes), 1000, &copy), SCN_E_BAD_SNAPSHOT);
        bytes.data[0] = SCN_CHECKPOINT_VERSION;
        bytes.data[1] = SCN_ROW_END + 1;
        cr_assert_eq(decode(all_of(&bytes), 1000, &copy), SCN_E_BAD_SNAPSHOT);
        scn_buffer_finish(&bytes);
        scn_document_destroy(document);
}

SCN_TEST(checkpoint, that_claims_a_row_without_end_takes_no_memory_for_it)
{
        static const uint8_t huge[] = {SCN_CHECKPOINT_VERSION, SCN_ROW_HEADER, 0x81, 0x80, 0x40}; /* 1 MiB + 1 */
        static const uint8_t endless[] = {
                SCN_CHECKPOINT_VERSION, SCN_ROW_HEADER, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
        struct scn_document *copy = NULL;
        cr_assert_eq(decode((struct scn_slice){huge, sizeof huge}, 1, &copy), SCN_E_BAD_SNAPSHOT);
        cr_assert_eq(decode((struct scn_slice){endless, sizeof endless}, 1, &copy), SCN_E_BAD_SNAPSHOT);
}

SCN_TEST(checkpoint, with_any_byte_damaged_is_refused_or_a_document_in_itself)
{
        struct scn_document *document = create_rich();
        struct scn_random random = scn_random_from_seed(scn_test_seed(5));
        struct scn_buffer bytes;
        uint32_t refused = 0;
        encode(document, &bytes);
        for (uint32_t at = 0; at < bytes.size; at++) {
                const uint8_t was = bytes.data[at];
                bytes.data[at] ^= (uint8_t)(1 + scn_random_below(&random, 255));
                struct scn_document *copy = expect_no_crash(all_of(&bytes));
                refused += copy == NULL;
                scn_document_destroy(copy);
                bytes.data[at] = was;
        }
        cr_assert_gt(refused, bytes.size / 2);
        scn_buffer_finish(&bytes);
        scn_document_destroy(document);
}

/* --- Memory --- */

static enum scn_error attempt(void *data)
{
        struct scn_checkpoint_encoder *encoder = scn_checkpoint_encoder_create(data);
        const struct scn_document_options options = scene_options();
        struct scn_checkpoint_decoder *decoder = NULL;
        struct scn_document *copy = NULL;
        struct scn_slice part;
        enum scn_error error = encoder == NULL ? SCN_E_NO_MEMORY : scn_checkpoint_encoder_next(encoder, &part);
        error = error == SCN_OK ? scn_checkpoint_decoder_create(&options, &decoder) : error;
        for (uint32_t at = 0; error == SCN_OK && at < part.size; at += 500) {
                const uint32_t size = part.size - at < 500 ? part.size - at : 500;
                error = scn_checkpoint_decoder_feed(decoder, (struct scn_slice){part.data + at, size});
        }
        error = error == SCN_OK ? scn_checkpoint_decoder_take(decoder, &copy) : error;
        scn_checkpoint_decoder_destroy(decoder);
        scn_checkpoint_encoder_destroy(encoder);
        scn_document_destroy(copy);
        return error;
}

SCN_TEST(checkpoint, survives_the_failure_of_any_allocation)
{
        struct scn_document *document = create_rich();
        (void)scn_test_fail_each_allocation(attempt, document);
        scn_document_destroy(document);
}
