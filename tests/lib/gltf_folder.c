/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _XOPEN_SOURCE 700
#include "tests/lib/gltf_folder.h"

#include "protocol/wire/pack.h"
#include "tests/lib/gltf.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER_TEMPLATE "/tmp/scn_gltf_write_XXXXXX"

/* A folder of the test's own, and a gltf_path in it. */

char gltf_folder[GLTF_FOLDER_BYTES];
char gltf_path[64];

const char *gltf_enter_folder(const char *name)
{
        memcpy(gltf_folder, FOLDER_TEMPLATE, sizeof gltf_folder);
        cr_assert_not_null(mkdtemp(gltf_folder));
        (void)snprintf(gltf_path, sizeof gltf_path, "%s/%s", gltf_folder, name);
        return gltf_path;
}

uint32_t gltf_count_files(void)
{
        DIR *stream = opendir(gltf_folder);
        uint32_t count = 0;
        for (const struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream))
                count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
        (void)closedir(stream);
        return count;
}

void gltf_leave_folder(void)
{
        cr_expect(gltf_count_files() <= 1, "a temporary file is left");
        (void)unlink(gltf_path);
        cr_assert_eq(rmdir(gltf_folder), 0);
}

char gltf_content[1 << 16];

const char *gltf_read_content(void)
{
        FILE *file = fopen(gltf_path, "rb");
        cr_assert_not_null(file);
        const size_t size = fread(gltf_content, 1, sizeof gltf_content - 1, file);
        (void)fclose(file);
        gltf_content[size] = '\0';
        return gltf_content;
}

void gltf_write_content(const char *text)
{
        FILE *file = fopen(gltf_path, "wb");
        cr_assert_eq(fwrite(text, 1, strlen(text), file), strlen(text));
        (void)fclose(file);
}

enum scn_gltf_fault gltf_write_it(const struct scn_document *document, struct scn_gltf_report *report)
{
        return scn_gltf_write_file(
                document, scn_document_root(document), gltf_path, scn_gltf_format_of(gltf_path), report);
}

const char *gltf_written(const struct scn_document *document)
{
        struct scn_gltf_report report;
        cr_assert_eq(gltf_write_it(document, &report), SCN_GLTF_OK, "%s", report.detail);
        return gltf_read_content();
}

/* What an import of the file at `path` makes of a new document. */
struct scn_document *gltf_read_back(void)
{
        struct scn_gltf_read_options options = gltf_options();
        struct scn_gltf_report report;
        struct scn_gltf_nodes nodes;

        cr_assert_eq(scn_gltf_read_file(gltf_path, &options, &nodes, &report), SCN_GLTF_OK, "%s: %s",
                scn_gltf_fault_word(report.fault), report.detail);
        cr_assert_eq(report.notes_count, 0);
        return gltf_document(&nodes);
}

struct scn_slice gltf_slice_of(const struct scn_buffer *buffer)
{
        return (struct scn_slice){buffer->data, (uint32_t)buffer->size};
}

/* Sets a property to a value spelled as JSON. */
void gltf_set(struct scn_document *document, scn_node_id id, const char *key, const char *text)
{
        struct scn_gltf_report report;
        char file[1024];

        (void)snprintf(file, sizeof file,
                "{\"asset\":{\"version\":\"2.0\"},\"nodes\":[{\"extras\":{\"scened\":{\"properties\":{\"v\":%s}}}}]}",
                text);
        struct scn_gltf_nodes nodes = gltf_read(file, &report);
        (void)scene_do(document, scene_set(id, key, nodes.ops[0].properties[0].value));
        scn_gltf_nodes_finish(&nodes);
}

static float random_float(struct scn_random *random)
{
        static const float odd[] = {-0.0f, 1e-45f, 3.4e38f, -3.4028235e38f, 1.17549435e-38f, 0.0f, 1.0f};
        float value;

        if (scn_random_chance(random, 20))
                return odd[scn_random_below(random, sizeof odd / sizeof *odd)];
        do {
                const uint32_t bits = (uint32_t)scn_random_next(random);
                memcpy(&value, &bits, sizeof value);
        } while (!isfinite(value));
        return value;
}

static struct scn_trs random_trs(struct scn_random *random)
{
        struct scn_trs trs;
        const float angle = scn_random_float(random, 0.0f, 3.0f);

        for (uint32_t i = 0; i < 3; i++) {
                trs.t[i] = random_float(random);
                trs.s[i] = random_float(random);
        }
        memcpy(trs.r, (float[4]){sinf(angle), 0.0f, -0.0f, cosf(angle)}, sizeof trs.r);
        return trs;
}

static void pack_random(struct scn_random *random, struct scn_packer *packer, uint32_t levels)
{
        const uint8_t hash[32] = {1, 2, 3};
        const uint32_t count = scn_random_below(random, 4);

        switch (scn_random_below(random, levels > 0 ? 10 : 8)) {
        case 0:
                scn_pack_uint(packer, scn_random_next(random) >> scn_random_below(random, 64));
                break;
        case 1:
                scn_pack_int(packer, -(int64_t)(scn_random_next(random) >> (1 + scn_random_below(random, 63))));
                break;
        case 2:
                scn_pack_float(packer, random_float(random));
                break;
        case 3:
                scn_pack_double(packer, (double)random_float(random) / 3.0);
                break;
        case 4:
                scn_pack_text(packer, (struct scn_slice){(const uint8_t *)"$a\"\\\n\0\xc3\xa9", count * 2});
                break;
        case 5:
                scn_pack_bin(packer, hash, count);
                break;
        case 6:
                scn_pack_ext(packer, 2, hash, 32);
                break;
        case 7:
                scn_pack_bool(packer, count % 2 == 0);
                break;
        case 8:
                scn_pack_array(packer, count);
                for (uint32_t i = 0; i < count; i++)
                        pack_random(random, packer, levels - 1);
                break;
        default:
                scn_pack_map(packer, count);
                for (uint32_t i = 0; i < count; i++) {
                        static const char *const keys[] = {"a", "$node", "scened"};
                        scn_pack_cstring(packer, keys[i]);
                        pack_random(random, packer, levels - 1);
                }
        }
}

void gltf_grow_randomly(struct scn_document *document, struct scn_random *random, uint32_t nodes_count)
{
        static const char *const names[] = {NULL, "", "a", "with \"quotes\"", "\xe7\x81\xaf\xe5\x8f\xb0", "\x01\n"};
        static const char *const keys[] = {
                "k", "$k", "gltf.extras", "gltf.camera", "gltf.light", "gltf.mesh", "scened"};

        for (uint32_t i = 0; i < nodes_count; i++) {
                struct scn_op op = scene_add(1 + scn_random_below(random, i + 1), 100 + i,
                        names[scn_random_below(random, sizeof names / sizeof *names)]);
                op.fields = scn_random_below(random, 2) * SCN_FIELDS_TRS;
                op.trs = random_trs(random);
                (void)scene_do(document, op);
                for (uint32_t k = 0; k < sizeof keys / sizeof *keys; k++) {
                        struct scn_buffer value;
                        if (scn_random_chance(random, 70))
                                continue;
                        scn_buffer_init(&value, 65536);
                        struct scn_packer packer = scn_packer_to(&value);
                        pack_random(random, &packer, 3);
                        (void)scene_do(document, scene_set(i + 2, keys[k], gltf_slice_of(&value)));
                        scn_buffer_finish(&value);
                }
        }
}
