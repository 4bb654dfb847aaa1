/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

#include "protocol/wire/live.h"

#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static struct scn_slice spelled(const struct scn_packer *packer)
{
        cr_assert_eq(packer->error, SCN_OK);
        return (struct scn_slice){packer->buffer->data, (uint32_t)packer->buffer->size};
}

SCN_TEST(wire_live, any_choice_of_fields_reads_back_as_it_was_written)
{
        const struct scn_trs trs = {{1, 2, 3}, {0, 1, 0, 0}, {4, 5, 6}};
        for (uint32_t bits = 0; bits < 8; bits++) {
                struct scn_buffer buffer;
                const uint32_t fields = bits * SCN_FIELDS_TRANSLATION;
                scn_buffer_init(&buffer, 1024);
                struct scn_packer packer = scn_packer_to(&buffer);
                scn_pack_preview_wish(
                        &packer, &(struct scn_preview_wish){.node = scene_id(7), .fields = fields, .trs = trs});
                scn_pack_live_preview(&packer,
                        &(struct scn_live_preview){.session = 9, .node = scene_uid(5), .fields = fields, .trs = trs});
                struct scn_unpacker unpacker = scn_unpacker_from(spelled(&packer));
                const struct scn_preview_wish wish = scn_unpack_preview_wish(&unpacker);
                const struct scn_live_preview preview = scn_unpack_live_preview(&unpacker);
                cr_assert(scn_unpack_is_done(&unpacker));
                cr_assert_eq(wish.node.id, 7);
                cr_assert_eq(wish.fields, fields);
                cr_assert_eq(preview.session, 9);
                cr_assert_eq(preview.fields, fields);
                cr_assert((fields & SCN_FIELDS_SCALE) == 0 || memcmp(preview.trs.s, trs.s, sizeof trs.s) == 0);
                cr_assert((fields & SCN_FIELDS_ROTATION) == 0 || memcmp(wish.trs.r, trs.r, sizeof trs.r) == 0);
                scn_buffer_finish(&buffer);
        }
}

SCN_TEST(wire_live, elements_may_be_longer_than_known_and_nils_at_the_end_mean_gone)
{
        static const uint8_t longer[] = {0x94, 5, 0xa1, 'a', 0x80, 0x99, 1, 2, 3, 4, 5, 6, 7, 8, 9};
        static const uint8_t gone[] = {0x93, 5, 0xa1, 'a', 0xc0};
        struct scn_unpacker unpacker = scn_unpacker_from((struct scn_slice){longer, sizeof longer});
        struct scn_live_presence presence = scn_unpack_live_presence(&unpacker);
        cr_assert(scn_unpack_is_done(&unpacker));
        cr_assert_eq(presence.map.size, 1);
        unpacker = scn_unpacker_from((struct scn_slice){gone, sizeof gone});
        presence = scn_unpack_live_presence(&unpacker);
        cr_assert(scn_unpack_is_done(&unpacker));
        cr_assert_eq(presence.session, 5);
        cr_assert_null(presence.map.data);
}

/* Cut short anywhere, or with any byte another: an error or an element, never more than there is. */
/* Takes so many keys away, of which none is there. */
static enum scn_error merge_removals(uint32_t count)
{
        struct scn_buffer map;
        struct scn_buffer merged;
        scn_buffer_init(&map, 8192);
        scn_buffer_init(&merged, SCN_LIVE_presence_bytes_max);
        struct scn_packer packer = scn_packer_to(&map);
        scn_pack_map(&packer, count);
        for (uint32_t i = 0; i < count; i++) {
                char key[16];
                (void)snprintf(key, sizeof key, "%u", i);
                scn_pack_cstring(&packer, key);
                scn_pack_nil(&packer);
        }
        const struct scn_limits limits = SCN_LIMITS_DEFAULT;
        const enum scn_error error = scn_presence_merge(
                (struct scn_slice){NULL, 0}, (struct scn_slice){map.data, (uint32_t)map.size}, &limits, &merged);
        scn_buffer_finish(&map);
        scn_buffer_finish(&merged);
        return error;
}

SCN_TEST(wire_live, so_many_keys_are_read_of_a_presence_at_the_most)
{
        cr_assert_eq(merge_removals(256), SCN_OK);
        cr_assert_eq(merge_removals(257), SCN_E_TOO_MANY_KEYS);
}

SCN_TEST(wire_live, what_is_cut_short_is_an_error)
{
        struct scn_buffer buffer;
        scn_buffer_init(&buffer, 1024);
        struct scn_packer packer = scn_packer_to(&buffer);
        scn_pack_live_lock(&packer,
                &(struct scn_live_lock){.node = scene_uid(5),
                        .session = 300,
                        .author = scene_text("ann"),
                        .mask = 4,
                        .has_subtree = true,
                        .left_ms = 70000});
        const struct scn_slice whole = spelled(&packer);
        for (uint32_t size = 0; size <= whole.size; size++) {
                struct scn_unpacker unpacker = scn_unpacker_from((struct scn_slice){whole.data, size});
                const struct scn_live_lock lock = scn_unpack_live_lock(&unpacker);
                cr_assert_eq(unpacker.error == SCN_OK, size == whole.size);
                cr_assert(size < whole.size || lock.left_ms == 70000);
        }
        static const uint8_t no_key[] = {0x91, 5};
        struct scn_unpacker unpacker = scn_unpacker_from((struct scn_slice){no_key, sizeof no_key});
        (void)scn_unpack_live_lock(&unpacker);
        cr_assert_eq(unpacker.error, SCN_E_BAD_MESSAGE);
        static const uint8_t twice[] = {0x82, 1, 2, 1, 3};
        unpacker = scn_unpacker_from((struct scn_slice){twice, sizeof twice});
        (void)scn_unpack_preview_wish(&unpacker);
        cr_assert_eq(unpacker.error, SCN_E_BAD_MESSAGE);
        scn_buffer_finish(&buffer);
}
