/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#define _XOPEN_SOURCE 700
#include "client/scenectl/gltf_write.h"

#include "protocol/base/uid.h"
#include "protocol/wire/pack.h"
#include "tests/lib/gltf.h"
#include "tests/lib/gltf_folder.h"
#include "tests/lib/random.h"
#include "tests/lib/scene.h"
#include "tests/lib/test.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- The text --- */

SCN_TEST(gltf_write, writes_a_scene_level_by_level)
{
        struct scn_document *document = scene_create();
        const scn_node_id boat = scene_new(document, 1, 10, "boat");
        (void)scene_new(document, 1, 11, "quay");
        (void)scene_new(document, boat, 12, NULL);
        (void)scene_do(document, scene_translate(boat, 0.1f, -0.0f, 3.0f));
        (void)scene_do(document, scene_rename(1, "harbour"));

        gltf_enter_folder("a.gltf");
        cr_expect_str_eq(gltf_written(document),
                "{\n\"asset\":{\"version\":\"2.0\",\"generator\":\"scened\"},\n\"scene\":0,\n"
                "\"scenes\":[{\"name\":\"harbour\",\"nodes\":[0,1]}],\n\"nodes\":[\n"
                "{\"name\":\"boat\",\"translation\":[0.1,-0.0,3],\"children\":[2]},\n{\"name\":\"quay\"},\n{}]\n}\n");
        gltf_leave_folder();
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, leaves_empty_lists_out)
{
        struct scn_document *document = scene_create();

        gltf_enter_folder("a.gltf");
        cr_expect_str_eq(gltf_written(document),
                "{\n\"asset\":{\"version\":\"2.0\",\"generator\":\"scened\"},\n\"scene\":0,\n\"scenes\":[{}]\n}\n");
        gltf_leave_folder();
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, writes_the_root_when_it_has_something_of_its_own)
{
        struct scn_document *document = scene_create();
        (void)scene_new(document, 1, 10, "child");
        (void)scene_do(document, scene_translate(1, 1.0f, 0.0f, 0.0f));

        gltf_enter_folder("a.gltf");
        cr_expect_not_null(
                strstr(gltf_written(document), "{\"translation\":[1,0,0],\"children\":[1]},\n{\"name\":\"child\"}"));
        gltf_leave_folder();
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, writes_a_subtree)
{
        struct scn_document *document = scene_create();
        struct scn_gltf_report report;
        const scn_node_id boat = scene_new(document, 1, 10, "boat");
        (void)scene_new(document, 1, 11, "quay");
        (void)scene_new(document, boat, 12, "mast");

        gltf_enter_folder("a.gltf");
        cr_assert_eq(scn_gltf_write_file(document, boat, gltf_path, SCN_GLTF_TEXT, &report), SCN_GLTF_OK);
        cr_expect_not_null(strstr(
                gltf_read_content(), "\"nodes\":[\n{\"name\":\"boat\",\"children\":[1]},\n{\"name\":\"mast\"}]"));
        gltf_leave_folder();
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, writes_each_camera_once_and_lights_with_their_extension)
{
        struct scn_document *document = scene_create();
        static const char camera[] = "{\"type\":\"perspective\",\"perspective\":{\"yfov\":0.7,\"znear\":0.25}}";

        for (uint32_t i = 0; i < 3; i++)
                gltf_set(document, scene_new(document, 1, 10 + i, NULL), "gltf.camera", camera);
        gltf_set(document, scene_new(document, 1, 20, NULL), "gltf.light", "{\"type\":\"point\"}");
        gltf_enter_folder("a.gltf");
        const char *text = gltf_written(document);
        cr_expect_not_null(strstr(text, "\"nodes\":[\n{\"camera\":0},\n{\"camera\":0},\n{\"camera\":0},\n"));
        cr_expect_not_null(strstr(
                text, "\"cameras\":[\n{\"type\":\"perspective\",\"perspective\":{\"yfov\":0.7,\"znear\":0.25}}]"));
        cr_expect_not_null(strstr(text, "{\"extensions\":{\"KHR_lights_punctual\":{\"light\":0}}}"));
        cr_expect_not_null(strstr(text, "\"extensionsUsed\":[\"KHR_lights_punctual\"]"));
        struct scn_document *copy = gltf_read_back();
        cr_expect(gltf_is_same(document, copy));
        gltf_leave_folder();
        scn_document_destroy(copy);
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, keeps_in_extras_what_is_no_camera_and_says_so)
{
        struct scn_document *document = scene_create();
        struct scn_gltf_report report;
        gltf_set(document, scene_new(document, 1, 10, "odd"), "gltf.camera", "{\"type\":\"fisheye\"}");

        gltf_enter_folder("a.gltf");
        cr_assert_eq(gltf_write_it(document, &report), SCN_GLTF_OK);
        cr_expect_eq(report.counts[SCN_GLTF_NOTE_KEPT_IN_EXTRAS], 1);
        cr_expect_str_eq(report.notes[0].detail, "odd");
        cr_expect_not_null(strstr(gltf_read_content(),
                "{\"name\":\"odd\","
                "\"extras\":{\"scened\":{\"properties\":{\"gltf.camera\":{\"type\":\"fisheye\"}}}}}"));
        struct scn_document *copy = gltf_read_back();
        cr_expect(gltf_is_same(document, copy));
        gltf_leave_folder();
        scn_document_destroy(copy);
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, says_of_how_many_nodes_the_shape_is_only_in_the_file_that_was_imported)
{
        struct scn_document *document = scene_create();
        struct scn_gltf_report report;
        char text[SCN_GLTF_MESSAGE_BYTES];
        const scn_node_id boat = scene_new(document, 1, 10, "boat");

        gltf_enter_folder("a.gltf");
        gltf_set(document, boat, "mesh", "3");
        cr_assert_eq(gltf_write_it(document, &report), SCN_GLTF_OK);
        cr_expect_eq(report.notes_count, 0);
        gltf_set(document, boat, "gltf.mesh", "{\"index\":3}");
        gltf_set(document, boat, "gltf.skin", "{\"index\":0}");
        gltf_set(document, scene_new(document, boat, 11, "mast"), "gltf.mesh", "{\"index\":4}");
        cr_assert_eq(gltf_write_it(document, &report), SCN_GLTF_OK);
        gltf_leave_folder();
        cr_expect_eq(report.counts[SCN_GLTF_NOTE_NOT_WITH_IT], 2);
        cr_assert_eq(report.notes_count, 2);
        scn_gltf_note_describe(&report.notes[0], text);
        cr_expect_str_eq(text, "meshes: only the imported file has any; nodes that want one: 2");
        scn_gltf_note_describe(&report.notes[1], text);
        cr_expect_str_eq(text, "skins: only the imported file has any; nodes that want one: 1");
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
        (void)scene_do(document, scene_set(from, "to", gltf_slice_of(&value)));
        gltf_set(document, from, "gone", "{\"$node\":\"00000000-0000-4000-8000-0000000000ff\"}");
        gltf_enter_folder("a.gltf");
        const char *text = gltf_written(document);
        cr_expect_not_null(strstr(text, "\"to\":{\"$node\":1}"));
        cr_expect_not_null(strstr(text, "\"gone\":{\"$node\":\"00000000-0000-4000-8000-0000000000ff\"}"));

        struct scn_document *copy = gltf_read_back();
        const struct scn_node_ref ref = scene_path("/from/to");
        scn_node_id found;
        cr_assert_eq(scn_document_find(copy, &ref, &found), SCN_OK);
        const struct scn_uid new_uid = scn_document_node(copy, found).uid;
        const struct scn_slice back = scn_document_get(copy, scn_document_node(copy, found).parent, scene_text("to"));
        cr_assert_eq(back.size, 18);
        cr_expect_eq(memcmp(back.data + 2, new_uid.bytes, 16), 0);
        cr_expect(!scn_uid_equal(new_uid, to));
        gltf_leave_folder();
        scn_buffer_finish(&value);
        scn_document_destroy(copy);
        scn_document_destroy(document);
}

/* --- Faults (B35) --- */

/* A server that permits values so large that one of them, escaped, is beyond what the writer holds at once. */
SCN_TEST(gltf_write, names_the_node_and_property_that_cannot_be_written)
{
        const uint32_t size = 12582912;
        struct scn_limits limits = SCN_LIMITS_DEFAULT;
        limits.value_bytes_max = size + 5;
        struct scn_document *document = scene_create_limited(&limits);
        struct scn_gltf_report report;
        const scn_node_id id = scene_new(document, 1, 10, "n");
        uint8_t *value = calloc(size + 5, 1);
        memcpy(value, (const uint8_t[]){0xdb, 0x00, 0xc0, 0x00, 0x00}, 5);
        (void)scene_do(document, scene_set(id, "a", (struct scn_slice){value, size + 5}));
        free(value);

        gltf_enter_folder("a.gltf");
        gltf_write_content("old");
        cr_expect_eq(gltf_write_it(document, &report), SCN_GLTF_BAD_VALUE);
        char uid[SCN_UID_TEXT_LENGTH + 1];
        scn_uid_format(scn_document_node(document, id).uid, uid);
        cr_expect_not_null(strstr(report.detail, uid), "%s", report.detail);
        cr_expect_not_null(strstr(report.detail, ", a"), "%s", report.detail);
        cr_expect_str_eq(gltf_read_content(), "old");
        gltf_leave_folder();
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, leaves_the_old_file_alone_when_the_disk_is_full)
{
        struct scn_random random = scn_random_from_seed(1);
        struct scn_document *document = scene_create();
        struct scn_gltf_report report;
        static const char *const names[] = {"a.gltf", "b.glb"};

        gltf_grow_randomly(document, &random, 400);
        (void)signal(SIGXFSZ, SIG_IGN);
        for (uint32_t i = 0; i < 4; i++) {
                struct rlimit limit = {i < 2 ? 8192 : 10, RLIM_INFINITY};
                gltf_enter_folder(names[i % 2]);
                gltf_write_content("old");
                cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
                const enum scn_gltf_fault fault = gltf_write_it(document, &report);
                limit.rlim_cur = RLIM_INFINITY;
                cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
                cr_expect_eq(fault, SCN_GLTF_NOT_WRITABLE);
                cr_expect(strlen(report.detail) > 0);
                cr_expect_str_eq(gltf_read_content(), "old");
                cr_expect_eq(gltf_count_files(), 1);
                gltf_leave_folder();
        }
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, replaces_nothing_but_regular_files)
{
        struct scn_document *document = scene_create();
        struct scn_gltf_report report;

        gltf_enter_folder("a.gltf");
        cr_assert_eq(mkfifo(gltf_path, 0600), 0);
        cr_expect_eq(gltf_write_it(document, &report), SCN_GLTF_NOT_WRITABLE);
        cr_assert_eq(unlink(gltf_path), 0);
        cr_assert_eq(mkdir(gltf_path, 0700), 0);
        cr_expect_eq(gltf_write_it(document, &report), SCN_GLTF_NOT_WRITABLE);
        cr_assert_eq(rmdir(gltf_path), 0);
        cr_expect_eq(scn_gltf_write_file(document, 1, "/nowhere/at/all.gltf", SCN_GLTF_TEXT, &report),
                SCN_GLTF_NOT_WRITABLE);
        gltf_leave_folder();
        scn_document_destroy(document);
}

SCN_TEST(gltf_write, keeps_a_files_mode_and_follows_a_link)
{
        struct scn_document *document = scene_create();
        struct scn_gltf_report report;
        struct stat status;
        char other[96];

        gltf_enter_folder("a.gltf");
        (void)umask(0027);
        cr_assert_eq(gltf_write_it(document, &report), SCN_GLTF_OK);
        cr_assert_eq(stat(gltf_path, &status), 0);
        cr_expect_eq(status.st_mode & 0777, 0640);
        cr_expect_eq(umask(0), 0027, "it stays as it was");
        cr_assert_eq(chmod(gltf_path, 0604), 0);
        (void)snprintf(other, sizeof other, "%s/link.gltf", gltf_folder);
        cr_assert_eq(symlink("a.gltf", other), 0);
        (void)scene_new(document, 1, 10, "new");
        cr_assert_eq(scn_gltf_write_file(document, 1, other, SCN_GLTF_TEXT, &report), SCN_GLTF_OK);
        cr_assert_eq(lstat(other, &status), 0);
        cr_expect(S_ISLNK(status.st_mode));
        cr_assert_eq(stat(gltf_path, &status), 0);
        cr_expect_eq(status.st_mode & 0777, 0604);
        cr_expect_not_null(strstr(gltf_read_content(), "\"new\""));
        cr_assert_eq(unlink(other), 0);
        gltf_leave_folder();
        scn_document_destroy(document);
}
