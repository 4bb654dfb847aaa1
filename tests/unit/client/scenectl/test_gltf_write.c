/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _XOPEN_SOURCE 700
#include "client/scenectl/gltf_write.h"

#include "protocol/base/uid.h"
#include "protocol/wire/pack.h"
#include "tests/lib/gltf.h"
#include "tests/lib/locale.h"
#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder of the test's own, and a path in it. */
#define FOLDER_TEMPLATE "/tmp/scn_gltf_write_XXXXXX"
static char folder[sizeof FOLDER_TEMPLATE];
static char path[64];

static const char *enter_folder(const char *name)
{
        memcpy(folder, FOLDER_TEMPLATE, sizeof folder);
        cr_assert_not_null(mkdtemp(folder));
        (void)snprintf(path, sizeof path, "%s/%s", folder, name);
        return path;
}

static uint32_t count_files(void)
{
        DIR *stream = opendir(folder);
        uint32_t count = 0;
        for (const struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream))
                count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
        (void)closedir(stream);
        return count;
}

static void leave_folder(void)
{
        cr_expect(count_files() <= 1, "a temporary file is left");
        (void)unlink(path);
        cr_assert_eq(rmdir(folder), 0);
}

static char content[1 << 16];

static const char *read_content(void)
{
        FILE *file = fopen(path, "rb");
        cr_assert_not_null(file);
        const size_t size = fread(content, 1, sizeof content - 1, file);
        (void)fclose(file);
        content[size] = '\0';
        return content;
}

static void write_content(const char *text)
{
        FILE *file = fopen(path, "wb");
        cr_assert_eq(fwrite(text, 1, strlen(text), file), strlen(text));
        (void)fclose(file);
}

static enum scn_gltf_fault write_it(const struct scn_document *document, struct scn_gltf_report *report)
{
        return scn_gltf_write_file(document, scn_document_root(document), path, scn_gltf_format_of(path), report);
}

static const char *written(const struct scn_document *document)
{
        struct scn_gltf_report report;
        cr_assert_eq(write_it(document, &report), SCN_GLTF_OK, "%s", report.detail);
        return read_content();
}

/* What an import of the file at `path` makes of a new document. */
static struct scn_document *read_back(void)
{
        struct scn_gltf_read_options options = gltf_options();
        struct scn_gltf_report report;
        struct scn_gltf_nodes nodes;

        cr_assert_eq(scn_gltf_read_file(path, &options, &nodes, &report), SCN_GLTF_OK, "%s: %s",
                scn_gltf_fault_word(report.fault), report.detail);
        cr_assert_eq(report.notes_count, 0);
        return gltf_document(&nodes);
}

static struct scn_slice slice_of(const struct scn_buffer *buffer)
{
        return (struct scn_slice){buffer->data, (uint32_t)buffer->size};
}

/* Sets a property to a value spelled as JSON. */
static void set(struct scn_document *document, scn_node_id id, const char *key, const char *text)
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

/* --- The text --- */

SCN_TEST(gltf_write, writes_a_scene_level_by_level)
{
        struct scn_document *document = scene_create();
        const scn_node_id boat = scene_new(document, 1, 10, "boat");
        (void)scene_new(document, 1, 11, "quay");
        (void)scene_new(document, boat, 12, NULL);
        (void)scene_do(document, scene_translate(boat, 0.1f, -0.0f, 3.0f));
        (void)scene_do(document, scene_rename(1, "harbour"));

        enter_folder("a.gltf");
        cr_expect_str_eq(written(document),
                "{\n\"asset\":{\"version\":\"2.0\",\"generator\":\"scened\"},\n\"scene\":0,\n"
                "\"scenes\":[{\"name\":\"harbour\",\"nodes\":[0,1]}],\n\"nodes\":[\n"
                "{\"name\":\"boat\",\"translation\":[0.1,-0.0,3],\"children\":[2]},\n{\"name\":\"quay\"},\n{}]\n}\n");
        leave_folder();
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, leaves_empty_lists_out)
{
        struct scn_document *document = scene_create();

        enter_folder("a.gltf");
        cr_expect_str_eq(written(document),
                "{\n\"asset\":{\"version\":\"2.0\",\"generator\":\"scened\"},\n\"scene\":0,\n\"scenes\":[{}]\n}\n");
        leave_folder();
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, writes_the_root_when_it_has_something_of_its_own)
{
        struct scn_document *document = scene_create();
        (void)scene_new(document, 1, 10, "child");
        (void)scene_do(document, scene_translate(1, 1.0f, 0.0f, 0.0f));

        enter_folder("a.gltf");
        cr_expect_not_null(
                strstr(written(document), "{\"translation\":[1,0,0],\"children\":[1]},\n{\"name\":\"child\"}"));
        leave_folder();
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, writes_a_subtree)
{
        struct scn_document *document = scene_create();
        struct scn_gltf_report report;
        const scn_node_id boat = scene_new(document, 1, 10, "boat");
        (void)scene_new(document, 1, 11, "quay");
        (void)scene_new(document, boat, 12, "mast");

        enter_folder("a.gltf");
        cr_assert_eq(scn_gltf_write_file(document, boat, path, SCN_GLTF_TEXT, &report), SCN_GLTF_OK);
        cr_expect_not_null(
                strstr(read_content(), "\"nodes\":[\n{\"name\":\"boat\",\"children\":[1]},\n{\"name\":\"mast\"}]"));
        leave_folder();
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, writes_each_camera_once_and_lights_with_their_extension)
{
        struct scn_document *document = scene_create();
        static const char camera[] = "{\"type\":\"perspective\",\"perspective\":{\"yfov\":0.7,\"znear\":0.25}}";

        for (uint32_t i = 0; i < 3; i++)
                set(document, scene_new(document, 1, 10 + i, NULL), "gltf.camera", camera);
        set(document, scene_new(document, 1, 20, NULL), "gltf.light", "{\"type\":\"point\"}");
        enter_folder("a.gltf");
        const char *text = written(document);
        cr_expect_not_null(strstr(text, "\"nodes\":[\n{\"camera\":0},\n{\"camera\":0},\n{\"camera\":0},\n"));
        cr_expect_not_null(strstr(
                text, "\"cameras\":[\n{\"type\":\"perspective\",\"perspective\":{\"yfov\":0.7,\"znear\":0.25}}]"));
        cr_expect_not_null(strstr(text, "{\"extensions\":{\"KHR_lights_punctual\":{\"light\":0}}}"));
        cr_expect_not_null(strstr(text, "\"extensionsUsed\":[\"KHR_lights_punctual\"]"));
        struct scn_document *copy = read_back();
        cr_expect(gltf_is_same(document, copy));
        leave_folder();
        scn_document_destroy(copy);
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, keeps_in_extras_what_is_no_camera_and_says_so)
{
        struct scn_document *document = scene_create();
        struct scn_gltf_report report;
        set(document, scene_new(document, 1, 10, "odd"), "gltf.camera", "{\"type\":\"fisheye\"}");

        enter_folder("a.gltf");
        cr_assert_eq(write_it(document, &report), SCN_GLTF_OK);
        cr_expect_eq(report.counts[SCN_GLTF_NOTE_KEPT_IN_EXTRAS], 1);
        cr_expect_str_eq(report.notes[0].detail, "odd");
        cr_expect_not_null(strstr(read_content(),
                "{\"name\":\"odd\","
                "\"extras\":{\"scened\":{\"properties\":{\"gltf.camera\":{\"type\":\"fisheye\"}}}}}"));
        struct scn_document *copy = read_back();
        cr_expect(gltf_is_same(document, copy));
        leave_folder();
        scn_document_destroy(copy);
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, names_nodes_of_the_file_by_number_so_that_a_copy_refers_to_itself)
{
        struct scn_document *document = scene_create();
        struct scn_buffer value;
        const scn_node_id from = scene_new(document, 1, 10, "from");
        const struct scn_uid to = scn_document_node(document, scene_new(document, from, 11, "to")).uid;

        scn_buffer_init(&value, 64);
        struct scn_packer packer = scn_packer_to(&value);
        scn_pack_ext(&packer, 1, to.bytes, 16);
        (void)scene_do(document, scene_set(from, "to", slice_of(&value)));
        set(document, from, "gone", "{\"$node\":\"00000000-0000-4000-8000-0000000000ff\"}");
        enter_folder("a.gltf");
        const char *text = written(document);
        cr_expect_not_null(strstr(text, "\"to\":{\"$node\":1}"));
        cr_expect_not_null(strstr(text, "\"gone\":{\"$node\":\"00000000-0000-4000-8000-0000000000ff\"}"));

        struct scn_document *copy = read_back();
        const struct scn_node_ref ref = scene_path("/from/to");
        scn_node_id found;
        cr_assert_eq(scn_document_find(copy, &ref, &found), SCN_OK);
        const struct scn_uid new_uid = scn_document_node(copy, found).uid;
        const struct scn_slice back = scn_document_get(copy, scn_document_node(copy, found).parent, scene_text("to"));
        cr_assert_eq(back.size, 18);
        cr_expect_eq(memcmp(back.data + 2, new_uid.bytes, 16), 0);
        cr_expect(!scn_uid_equal(new_uid, to));
        leave_folder();
        scn_buffer_finish(&value);
        scn_document_destroy(copy);
        scn_document_destroy(document);
}

/* --- There and back --- */

SCN_TEST(gltf_write, gives_back_extras_of_any_kind)
{
        static const char *const texts[] = {"1", "\"text\"", "[]", "{}", "{\"a\":{\"b\":[1,2.5,null,true]}}", "false",
                "{\"scened\":1}", "{\"scened\":{\"properties\":{}}}", "{\"scened\":{\"extras\":{\"$what\":1}}}",
                "{\"$map\":[[\"$node\",5]]}", "{\"$bin\":\"AAEC\"}", "[{\"$bin\":\"AA==\"}]", "{\"a\":\"\\u0000\"}",
                "{\"$map\":[[\"a\\u0000\",5]]}", "0.10000000149011612", "9007199254740993"};

        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                for (uint32_t has_more = 0; has_more < 2; has_more++) {
                        struct scn_document *document = scene_create();
                        const scn_node_id id = scene_new(document, 1, 10, "n");
                        if (strchr(texts[i], '$') != NULL && strstr(texts[i], "what") != NULL)
                                set(document, id, "gltf.extras",
                                        "{\"scened\":{\"extras\":{\"$map\":[[\"$what\",1]]}}}");
                        else
                                set(document, id, "gltf.extras", texts[i]);
                        if (has_more == 1)
                                set(document, id, "speed", "2.5");
                        enter_folder("a.gltf");
                        (void)written(document);
                        struct scn_document *copy = read_back();
                        cr_expect(gltf_is_same(document, copy), "%s became %s", texts[i], content);
                        leave_folder();
                        scn_document_destroy(copy);
                        scn_document_destroy(document);
                }
        }
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

static void grow_randomly(struct scn_document *document, struct scn_random *random, uint32_t nodes_count)
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
                        (void)scene_do(document, scene_set(i + 2, keys[k], slice_of(&value)));
                        scn_buffer_finish(&value);
                }
        }
}

SCN_TEST(gltf_write, gives_back_any_scene_to_the_bit)
{
        struct scn_random random = scn_random_from_seed(scn_test_seed(11));
        struct scn_document *document = scene_create();
        static const char *const names[] = {"a.gltf", "b.GLB"};

        grow_randomly(document, &random, 400);
        for (uint32_t i = 0; i < 2; i++) {
                struct scn_gltf_report report;
                struct scn_gltf_report report_again;
                enter_folder(names[i]);
                cr_assert_eq(write_it(document, &report), SCN_GLTF_OK, "%s", report.detail);
                struct scn_document *copy = read_back();
                cr_expect(gltf_is_same(document, copy), "%s", names[i]);
                /* And the copy's file is the very same. */
                struct stat status;
                cr_assert_eq(stat(path, &status), 0);
                const off_t size = status.st_size;
                cr_assert_eq(write_it(copy, &report_again), SCN_GLTF_OK);
                cr_assert_eq(stat(path, &status), 0);
                cr_expect_eq(status.st_size, size);
                if (i == 1)
                        cr_expect_eq(size % 4, 0);
                leave_folder();
                scn_document_destroy(copy);
        }
        scn_document_destroy(document);
}

/* Equal to what is as by default, and yet not it. */
SCN_TEST(gltf_write, keeps_the_sign_of_zeros_alone)
{
        struct scn_document *document = scene_create();
        struct scn_op op = scene_add(1, 10, "n");
        op.fields = SCN_FIELDS_TRS;
        op.trs = (struct scn_trs){{-0.0f, -0.0f, -0.0f}, {-0.0f, 0.0f, 0.0f, 1.0f}, {1.0f, 1.0f, 1.0f}};
        (void)scene_do(document, op);

        enter_folder("a.gltf");
        cr_expect_not_null(strstr(
                written(document), "{\"name\":\"n\",\"translation\":[-0.0,-0.0,-0.0],\"rotation\":[-0.0,0,0,1]}"));
        struct scn_document *copy = read_back();
        cr_expect(gltf_is_same(document, copy));
        scn_document_destroy(copy);
        leave_folder();
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, pads_a_binary_file_whatever_its_length)
{
        struct scn_document *document = scene_create();
        const scn_node_id id = scene_new(document, 1, 10, "");
        static const char *const names[] = {"a", "ab", "abc", "abcd"};

        enter_folder("a.glb");
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                struct scn_gltf_report report;
                struct stat status;
                (void)scene_do(document, scene_rename(id, names[i]));
                cr_assert_eq(write_it(document, &report), SCN_GLTF_OK);
                cr_assert_eq(stat(path, &status), 0);
                cr_expect_eq(status.st_size % 4, 0);
                struct scn_document *copy = read_back();
                cr_expect(gltf_is_same(document, copy));
                scn_document_destroy(copy);
        }
        leave_folder();
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, keeps_a_rotation_that_gltf_cannot_have)
{
        struct scn_document *document = scene_create();
        struct scn_op op = scene_add(1, 10, "n");
        op.fields = SCN_FIELDS_ROTATION;
        op.trs.r[1] = -1.00000501f;
        op.trs.r[3] = -0.0f;
        (void)scene_do(document, op);
        struct scn_op longer = scene_add(1, 11, "clamped, it is as by default");
        longer.fields = SCN_FIELDS_ROTATION;
        longer.trs.r[3] = 1.00000501f;
        (void)scene_do(document, longer);

        enter_folder("a.gltf");
        cr_expect_not_null(strstr(written(document), "\"rotation\":[0,-1,0,-0.0]"));
        struct scn_document *copy = read_back();
        cr_expect(gltf_is_same(document, copy));
        scn_document_destroy(copy);

        /* Another program turned the node since. */
        char *at = strstr(content, "[0,-1,0,-0.0]");
        memcpy(at, "[1, 0,0,-0.0]", 13);
        write_content(content);
        copy = read_back();
        cr_expect_eq(scn_document_node(copy, 2).trs.r[0], 1.0f);
        cr_expect_eq(scn_document_node(copy, 2).trs.r[1], 0.0f);
        scn_document_destroy(copy);
        leave_folder();
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, is_the_same_under_any_locale)
{
        struct scn_document *document = scene_create();
        const scn_node_id id = scene_new(document, 1, 10, "n");
        (void)scene_do(document, scene_translate(id, 0.5f, 1.5e20f, -1e-20f));
        set(document, id, "speed", "2.5e-300");

        enter_folder("a.gltf");
        char *plain = strdup(written(document));
        locale_enter_odd();
        cr_expect_str_eq(written(document), plain);
        locale_leave_odd();
        free(plain);
        leave_folder();
        scn_document_destroy(document);
}

/* --- Faults (B35) --- */

SCN_TEST(gltf_write, names_the_node_and_property_that_cannot_be_written)
{
        struct scn_document *document = scene_create();
        struct scn_gltf_report report;
        const scn_node_id id = scene_new(document, 1, 10, "n");
        struct scn_op op = scene_set(id, "", scene_integer(1));
        op.key = (struct scn_slice){(const uint8_t *)"a\0b", 3};
        (void)scene_do(document, op);

        enter_folder("a.gltf");
        write_content("old");
        cr_expect_eq(write_it(document, &report), SCN_GLTF_BAD_TEXT);
        char uid[SCN_UID_TEXT_LENGTH + 1];
        scn_uid_format(scn_document_node(document, id).uid, uid);
        cr_expect_not_null(strstr(report.detail, uid), "%s", report.detail);
        cr_expect_not_null(strstr(report.detail, ", a"), "%s", report.detail);
        cr_expect_str_eq(read_content(), "old");
        leave_folder();
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, leaves_the_old_file_alone_when_the_disk_is_full)
{
        struct scn_random random = scn_random_from_seed(1);
        struct scn_document *document = scene_create();
        struct scn_gltf_report report;
        static const char *const names[] = {"a.gltf", "b.glb"};

        grow_randomly(document, &random, 400);
        (void)signal(SIGXFSZ, SIG_IGN);
        for (uint32_t i = 0; i < 4; i++) {
                struct rlimit limit = {i < 2 ? 8192 : 10, RLIM_INFINITY};
                enter_folder(names[i % 2]);
                write_content("old");
                cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
                const enum scn_gltf_fault fault = write_it(document, &report);
                limit.rlim_cur = RLIM_INFINITY;
                cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
                cr_expect_eq(fault, SCN_GLTF_NOT_WRITABLE);
                cr_expect(strlen(report.detail) > 0);
                cr_expect_str_eq(read_content(), "old");
                cr_expect_eq(count_files(), 1);
                leave_folder();
        }
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, replaces_nothing_but_regular_files)
{
        struct scn_document *document = scene_create();
        struct scn_gltf_report report;

        enter_folder("a.gltf");
        cr_assert_eq(mkfifo(path, 0600), 0);
        cr_expect_eq(write_it(document, &report), SCN_GLTF_NOT_WRITABLE);
        cr_assert_eq(unlink(path), 0);
        cr_assert_eq(mkdir(path, 0700), 0);
        cr_expect_eq(write_it(document, &report), SCN_GLTF_NOT_WRITABLE);
        cr_assert_eq(rmdir(path), 0);
        cr_expect_eq(scn_gltf_write_file(document, 1, "/nowhere/at/all.gltf", SCN_GLTF_TEXT, &report),
                SCN_GLTF_NOT_WRITABLE);
        leave_folder();
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, keeps_a_files_mode_and_follows_a_link)
{
        struct scn_document *document = scene_create();
        struct scn_gltf_report report;
        struct stat status;
        char other[96];

        enter_folder("a.gltf");
        (void)umask(0);
        cr_assert_eq(write_it(document, &report), SCN_GLTF_OK);
        cr_assert_eq(stat(path, &status), 0);
        cr_expect_eq(status.st_mode & 0777, 0600);
        cr_assert_eq(chmod(path, 0640), 0);
        (void)snprintf(other, sizeof other, "%s/link.gltf", folder);
        cr_assert_eq(symlink("a.gltf", other), 0);
        (void)scene_new(document, 1, 10, "new");
        cr_assert_eq(scn_gltf_write_file(document, 1, other, SCN_GLTF_TEXT, &report), SCN_GLTF_OK);
        cr_assert_eq(lstat(other, &status), 0);
        cr_expect(S_ISLNK(status.st_mode));
        cr_assert_eq(stat(path, &status), 0);
        cr_expect_eq(status.st_mode & 0777, 0640);
        cr_expect_not_null(strstr(read_content(), "\"new\""));
        cr_assert_eq(unlink(other), 0);
        leave_folder();
        scn_document_destroy(document);
}

static enum scn_error write_under_pressure(void *data)
{
        struct scn_gltf_report report;
        const enum scn_gltf_fault fault = write_it(data, &report);

        cr_assert(fault == SCN_GLTF_OK || fault == SCN_GLTF_NO_MEMORY, "%s", scn_gltf_fault_word(fault));
        cr_assert_str_eq(fault == SCN_GLTF_OK ? "old" : read_content(), "old");
        if (fault == SCN_GLTF_OK)
                write_content("old");
        return fault == SCN_GLTF_OK ? SCN_OK : SCN_E_NO_MEMORY;
}

SCN_TEST(gltf_write, says_so_when_memory_is_out)
{
        struct scn_document *document = scene_create();
        const scn_node_id id = scene_new(document, 1, 10, "n");
        set(document, id, "self", "{\"$node\":0}");
        set(document, id, "gltf.camera", "{\"type\":\"perspective\",\"perspective\":{\"yfov\":0.7,\"znear\":0.25}}");
        set(document, id, "gltf.light", "{\"type\":\"point\"}");
        struct scn_buffer value;
        scn_buffer_init(&value, 64);
        struct scn_packer packer = scn_packer_to(&value);
        scn_pack_ext(&packer, 1, scn_document_node(document, id).uid.bytes, 16);
        (void)scene_do(document, scene_set(id, "self", slice_of(&value)));
        scn_buffer_finish(&value);

        enter_folder("a.gltf");
        write_content("old");
        cr_expect_gt(scn_test_fail_each_allocation(write_under_pressure, document), 5);
        leave_folder();
        scn_document_destroy(document);
}
