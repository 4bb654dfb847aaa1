/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* What an edit came to, for people: what the server says of it as a whole, and each field that an undo left alone. */

#include "client/scenectl/ctl.h"
#include "protocol/wire/pack.h"

#include <string.h>

/* A field that was left as it is, and what was in the way. */
struct skip {
        struct scn_uid node;
        struct scn_slice field;
        struct scn_slice key; /* of a property */
        struct scn_slice reason;
        struct scn_slice author; /* data == NULL: not known; so, too, the others that are 0 */
        uint64_t rev;
        uint64_t time_us;
};

static bool is_word(struct scn_slice text, const char *word)
{
        return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

static void read_member(struct scn_unpacker *unpacker, struct skip *skip)
{
        const struct scn_slice key = scn_unpack_text(unpacker, UINT32_MAX);
        const struct {
                const char *name;
                struct scn_slice *text;
        } texts[] = {
                {"field", &skip->field}, {"key", &skip->key}, {"reason", &skip->reason}, {"author", &skip->author}};
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
                if (is_word(key, texts[i].name) && scn_unpack_kind(unpacker) == SCN_PACK_TEXT) {
                        *texts[i].text = scn_unpack_text(unpacker, UINT32_MAX);
                        return;
                }
        }
        if (is_word(key, "node")) {
                skip->node = scn_unpack_uid(unpacker);
        } else if (is_word(key, "rev")) {
                skip->rev = scn_unpack_uint(unpacker, SCN_REVISION_MAX);
        } else if (is_word(key, "time")) {
                skip->time_us = scn_unpack_uint(unpacker, UINT64_MAX);
        } else {
                (void)scn_unpack_raw(unpacker);
        }
}

static void print_skip(const struct skip *skip)
{
        scn_ctl_print("  skipped ");
        scn_ctl_print_text(skip->field);
        if (skip->key.data != NULL) {
                scn_ctl_print(" ");
                scn_ctl_print_text(skip->key);
        }
        scn_ctl_print(" of ");
        scn_ctl_print_uid(skip->node);
        scn_ctl_print(": ");
        scn_ctl_print_text(skip->reason);
        if (skip->author.data != NULL) {
                scn_ctl_print(is_word(skip->reason, "superseded") ? " by " : ", ");
                scn_ctl_print_text(skip->author);
        }
        if (skip->rev != 0) {
                scn_ctl_print(", revision %llu", (unsigned long long)skip->rev);
        }
        if (skip->time_us != 0) {
                scn_ctl_print(", ");
                scn_ctl_print_time(skip->time_us);
        }
        scn_ctl_print("\n");
}

static void print_skips(struct scn_unpacker *unpacker, uint32_t count)
{
        for (uint32_t i = 0; i < count && unpacker->error == SCN_OK; i++) {
                struct skip skip = {.rev = 0};
                for (uint32_t left = scn_unpack_map(unpacker); left > 0 && unpacker->error == SCN_OK; left--) {
                        read_member(unpacker, &skip);
                }
                if (unpacker->error == SCN_OK) {
                        print_skip(&skip);
                }
        }
}

void scn_ctl_print_summary(struct scn_slice summary, const char *but)
{
        const char *const left_out[] = {"skipped", "more_skipped", but, NULL};
        struct scn_unpacker skips;
        struct scn_unpacker more;
        const uint32_t count = scn_ctl_find_member(summary, "skipped", &skips) ? scn_unpack_array(&skips) : 0;
        const uint64_t more_count =
                scn_ctl_find_member(summary, "more_skipped", &more) ? scn_unpack_uint(&more, UINT32_MAX) : 0;
        scn_ctl_print_members_but(summary, ", ", count > 0 ? left_out : left_out + 2);
        if (count > 0) {
                scn_ctl_print(", skipped: %llu", (unsigned long long)(count + more_count));
        }
        scn_ctl_print("\n");
        print_skips(&skips, count);
        if (more_count > 0) {
                scn_ctl_print("  and %llu more\n", (unsigned long long)more_count);
        }
}
