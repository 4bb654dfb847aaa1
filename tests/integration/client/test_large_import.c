/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* A scene of many nodes goes through the daemon and comes out as it went in. SCN_NODES says how many
 * (tests/long/run: a million). */

#include "tests/lib/serve.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHILDREN 8u

static unsigned nodes_count(void)
{
        const char *text = getenv("SCN_NODES");
        return text == NULL ? 20000 : (unsigned)strtoul(text, NULL, 10);
}

/* A tree whose nodes stand in the file level by level, spelled as an export spells it. */
static void write_scene(const char *path, unsigned count)
{
        FILE *file = fopen(path, "we");
        cr_assert_not_null(file);
        fputs("{\n\"asset\":{\"version\":\"2.0\",\"generator\":\"scened\"},\n\"scene\":0,\n"
              "\"scenes\":[{\"nodes\":[0]}],\n\"nodes\":[\n",
                file);
        for (unsigned i = 0; i < count; i++) {
                fprintf(file, "%s{\"name\":\"node %u\",\"translation\":[%u,%g,-2.5]", i == 0 ? "" : ",\n", i, i % 1000,
                        (double)(i % 64) / 64.0);
                for (unsigned child = CHILDREN * i + 1; child <= CHILDREN * (i + 1) && child < count; child++) {
                        fprintf(file, "%s%u", child == CHILDREN * i + 1 ? ",\"children\":[" : ",", child);
                }
                fputs(CHILDREN * i + 1 < count ? "]}" : "}", file);
        }
        fputs("]\n}\n", file);
        cr_assert_eq(fclose(file), 0);
}

static void expect_same_file(const char *path, const char *other_path)
{
        static char bytes[1 << 16];
        static char other_bytes[1 << 16];
        FILE *file = fopen(path, "re");
        FILE *other = fopen(other_path, "re");
        size_t at = 0;
        size_t size;
        cr_assert(file != NULL && other != NULL);
        do {
                size = fread(bytes, 1, sizeof bytes, file);
                cr_assert_eq(fread(other_bytes, 1, sizeof other_bytes, other), size, "the lengths differ");
                cr_assert_eq(memcmp(bytes, other_bytes, size), 0, "they differ behind byte %zu", at);
                at += size;
        } while (size > 0);
        cr_assert_gt(at, 0);
        (void)fclose(file);
        (void)fclose(other);
}

SCN_TEST_WITH(import, of_many_nodes_is_one_edit_and_an_export_gives_the_same_file, .timeout = 600)
{
        struct serve serve;
        char in[SERVE_ADDRESS_BYTES];
        char out[SERVE_ADDRESS_BYTES];
        char wanted[64];
        char *output;
        serve_begin(&serve);
        (void)snprintf(in, sizeof in, "%s/in.gltf", serve.daemon.folder);
        (void)snprintf(out, sizeof out, "%s/out.gltf", serve.daemon.folder);
        write_scene(in, nodes_count());
        (void)snprintf(wanted, sizeof wanted, "{\"rev\":1,\"nodes\":%u,", nodes_count());
        cr_expect_eq(serve_scenectl(&serve, &output, "import", "large", in, NULL), 0);
        cr_expect_not_null(strstr(output, wanted), "%s", output);
        scn_free(output);
        cr_expect_eq(serve_scenectl(&serve, NULL, "export", "large", out, NULL), 0);
        expect_same_file(in, out);

        /* What the journal gives back is the same, too. */
        cr_assert_eq(scn_daemon_stop(&serve.daemon), 0);
        serve_start(&serve);
        (void)remove(out);
        cr_expect_eq(serve_scenectl(&serve, NULL, "export", "large", out, NULL), 0);
        expect_same_file(in, out);
        serve_finish(&serve);
}
