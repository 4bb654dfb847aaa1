/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* Scene files into a document that is in use, and out of it: what a file does not allow leaves no trace. */

#define _XOPEN_SOURCE 700
#include "client/scenectl/assimp_read.h"

#include "tests/lib/daemon.h"
#include "tests/lib/serve.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCENE SCN_TEST_SOURCE_DIR "/deploy/quickstart-scene.gltf"
#define CORPUS SCN_TEST_SOURCE_DIR "/tests/fuzz/corpus/gltf/"
#define ARGUMENTS_MAX 16

struct stage {
        struct scn_daemon daemon;
        struct scn_daemon tool;
        struct scn_daemon watcher;
        char server[SCN_DAEMON_PATH_BYTES + 16];
        char *output;            /* of the last command, owned */
        unsigned file_bytes_max; /* of the files that scenectl writes; 0: any */
};

static void begin(struct stage *stage, struct scn_daemon *process, va_list list)
{
        const char *arguments[ARGUMENTS_MAX] = {"--server", stage->server, "--as", "ann", "--json"};
        size_t count = 5;

        for (const char *argument = va_arg(list, const char *); argument != NULL;
                argument = va_arg(list, const char *)) {
                cr_assert_lt(count, (size_t)ARGUMENTS_MAX - 1);
                arguments[count++] = argument;
        }
        (void)truncate(process->log_path, 0);
        scn_daemon_start(process,
                &(struct scn_daemon_options){
                        .program = "scenectl", .arguments = arguments, .file_bytes_max = stage->file_bytes_max});
}

/* Runs scenectl to its end, which must be this; gives what it printed. */
static const char *run(struct stage *stage, int code, ...)
{
        va_list list;

        va_start(list, code);
        begin(stage, &stage->tool, list);
        va_end(list);
        const int got = scn_daemon_wait(&stage->tool);
        scn_free(stage->output);
        stage->output = scn_daemon_log(&stage->tool);
        cr_assert_eq(got, code, "exit %d, not %d: %s", got, code, stage->output);
        return stage->output;
}

static void watch(struct stage *stage, ...)
{
        va_list list;

        va_start(list, stage);
        begin(stage, &stage->watcher, list);
        va_end(list);
}

static void set_up(struct stage *stage)
{
        const char *arguments[] = {"--listen", "unix:socket", "--data", "data", NULL};

        *stage = (struct stage){.output = NULL};
        scn_daemon_init(&stage->daemon);
        scn_daemon_init(&stage->tool);
        scn_daemon_init(&stage->watcher);
        scn_daemon_start(&stage->daemon, &(struct scn_daemon_options){.program = "scened", .arguments = arguments});
        scn_daemon_wait_for_log(&stage->daemon, "listening on unix:socket");
        (void)snprintf(stage->server, sizeof stage->server, "unix:%s/socket", stage->daemon.folder);
        (void)run(stage, 0, "create", "isle", NULL);
}

static void tear_down(struct stage *stage)
{
        scn_free(stage->output);
        cr_assert_eq(scn_daemon_stop(&stage->daemon), 0);
        scn_daemon_finish(&stage->daemon);
        scn_daemon_finish(&stage->tool);
        scn_daemon_finish(&stage->watcher);
}

static void expect_part(const char *output, const char *part)
{
        cr_expect_not_null(strstr(output, part), "%s: has no %s", output, part);
}

/* B31, with somebody watching. */
SCN_TEST_WITH(import, of_a_refused_file_leaves_no_trace, .timeout = 120)
{
        static const struct {
                const char *path;
                const char *code;
                int index;
        } rows[] = {{CORPUS "self_child.gltf", "cycle", 0}, {CORPUS "ring.gltf", "cycle", 0},
                {CORPUS "two_parents.gltf", "two_parents", 2}, {CORPUS "child_twice.gltf", "twice", 1},
                {CORPUS "bad_child.gltf", "bad_index", 0}, {CORPUS "scene_child.gltf", "scene_child", 1},
                {CORPUS "matrix_and_trs.gltf", "matrix_and_trs", 0}, {CORPUS "matrix_17.gltf", "bad_matrix", 0},
                {CORPUS "nan.gltf", "not_json", 0}, {CORPUS "too_large_number.gltf", "range", 0},
                {CORPUS "chunk_too_long.glb", "bad_glb", -1}};
        struct stage stage;

        set_up(&stage);
        watch(&stage, "watch", "isle", NULL);
        scn_daemon_wait_for_log(&stage.watcher, "\"from\":0");
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                char wanted[64];
                const uint64_t begin_ms = scn_daemon_now_ms();
                (void)snprintf(wanted, sizeof wanted, "{\"error\":\"%s\",", rows[i].code);
                expect_part(run(&stage, 1, "import", "isle", rows[i].path, NULL), wanted);
                (void)snprintf(wanted, sizeof wanted, "node %d: ", rows[i].index);
                if (rows[i].index >= 0)
                        expect_part(stage.output, wanted);
                cr_expect_lt(scn_daemon_now_ms() - begin_ms, 1000 * 5, "a second, and time for a loaded machine");
        }
        expect_part(run(&stage, 0, "info", "isle", NULL), "\"rev\":0,");
        expect_part(run(&stage, 0, "import", "isle", CORPUS "matrix_exact.gltf", NULL), "{\"rev\":1,\"nodes\":2,");
        scn_daemon_wait_for_log(&stage.watcher, "\"to\":1");
        cr_expect_eq(scn_daemon_log_count(&stage.watcher, "\"from\""), 2, "the state, and the good file");
        tear_down(&stage);
}

static void read_file(const char *path, char *text, size_t room)
{
        FILE *file = fopen(path, "rb");
        cr_assert_not_null(file, "%s", path);
        const size_t size = fread(text, 1, room - 1, file);
        (void)fclose(file);
        text[size] = '\0';
}

SCN_TEST_WITH(export, gives_back_what_was_imported_now_and_then, .timeout = 120)
{
        static char first[1 << 18];
        static char again[1 << 18];
        struct stage stage;
        char one[SCN_DAEMON_PATH_BYTES + 16];
        char two[SCN_DAEMON_PATH_BYTES + 16];

        set_up(&stage);
        (void)snprintf(one, sizeof one, "%s/one.gltf", stage.daemon.folder);
        (void)snprintf(two, sizeof two, "%s/two.gltf", stage.daemon.folder);
        (void)run(&stage, 0, "rename-node", "isle", "/", "Harbour", NULL);
        expect_part(run(&stage, 0, "import", "isle", SCENE, NULL), "{\"rev\":2,\"nodes\":406,");
        expect_part(run(&stage, 0, "log", "isle", "--from", "2", NULL), "\"cause\":\"import\"");
        expect_part(run(&stage, 0, "export", "isle", one, NULL),
                "\"rev\":2,\"nodes\":406,\"notes\":[{\"note\":\"not_with_it\",\"amount\":340,");
        read_file(one, first, sizeof first);
        cr_expect_not_null(strstr(first, "\"scenes\":[{\"name\":\"Harbour\",\"nodes\":[0,1,"));

        /* Into a document of its own, and out again. */
        (void)run(&stage, 0, "create", "copy", NULL);
        (void)run(&stage, 0, "rename-node", "copy", "/", "Harbour", NULL);
        (void)run(&stage, 0, "import", "copy", one, NULL);
        (void)run(&stage, 0, "export", "copy", two, NULL);
        read_file(two, again, sizeof again);
        cr_expect_str_eq(again, first);

        /* As it was, after it has changed. */
        (void)run(&stage, 0, "rm", "isle", "/Boat", NULL);
        expect_part(run(&stage, 0, "export", "isle", two, "--at", "2", NULL), "\"rev\":2,\"nodes\":406,");
        read_file(two, again, sizeof again);
        cr_expect_str_eq(again, first);
        tear_down(&stage);
}

SCN_TEST_WITH(import, puts_a_file_under_a_node_or_says_why_not, .timeout = 120)
{
        struct stage stage;

        set_up(&stage);
        (void)run(&stage, 0, "add", "isle", "/", "Shelf", NULL);
        (void)run(&stage, 0, "import", "isle", CORPUS "all.gltf", "--under", "/Shelf", NULL);
        expect_part(stage.output, "\"note\":\"normalised\",\"index\":1,\"amount\":2,");
        expect_part(run(&stage, 0, "get", "isle", "/Shelf/n", NULL), "\"gltf.camera\":{\"type\":\"perspective\"");
        expect_part(run(&stage, 1, "import", "isle", CORPUS "all.gltf", "--under", "/Nowhere", NULL), "no_node");
        expect_part(run(&stage, 1, "import", "isle", CORPUS "all.gltf", "--scene", "other", NULL), "no_scene");
        expect_part(run(&stage, 1, "import", "nowhere", CORPUS "all.gltf", "--under", "/", NULL), "no_document");
        expect_part(run(&stage, 1, "export", "isle", "/nowhere/at/all.gltf", NULL), "not_writable");
        tear_down(&stage);
}

static void put_file(const char *path, const char *text)
{
        FILE *file = fopen(path, "we");
        cr_assert_not_null(file, "%s", path);
        fputs(text, file);
        cr_assert_eq(fclose(file), 0);
}

/* By anybody else's reader it would not be: the only mesh refers to what is not there. */
SCN_TEST_WITH(import, knows_gltf_by_its_content_and_by_the_end_of_its_name_in_any_case, .timeout = 120)
{
        static const char *const names[] = {"scene", "scene.GLTF", "scene.Glb", "scene.txt", "scene.obj"};
        static const char gltf[] = "\xef\xbb\xbf \r\n\t{\"asset\":{\"version\":\"2.0\"},\"nodes\":[{\"name\":\"n\","
                                   "\"mesh\":0}],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":7}}]}]}";
        struct stage stage;
        char path[SCN_DAEMON_PATH_BYTES + 32];

        set_up(&stage);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                (void)snprintf(path, sizeof path, "%s/%s", stage.daemon.folder, names[i]);
                put_file(path, gltf);
                expect_part(run(&stage, 0, "import", "isle", path, NULL), "\"nodes\":1,");
        }
        /* Damaged, and glTF all the same: by its first word, or by its name alone. */
        put_file(path, "glTF\2");
        expect_part(run(&stage, 1, "import", "isle", path, NULL), "\"error\":\"bad_glb\"");
        (void)snprintf(path, sizeof path, "%s/scene.GLTF", stage.daemon.folder);
        put_file(path, "o thing\n");
        expect_part(run(&stage, 1, "import", "isle", path, NULL), "\"error\":\"not_json\"");
        tear_down(&stage);
}

/* Of the file's own numbers: the node that the server refuses stands first in the file, and second among the ops. */
SCN_TEST_WITH(import, says_which_of_the_files_nodes_the_server_refuses, .timeout = 120)
{
        enum {
                LEVELS = 1023
        };
        static char chain[LEVELS * 64];
        static char deepest[LEVELS * 2 + 1];
        struct stage stage;
        char path[SCN_DAEMON_PATH_BYTES + 16];
        size_t size =
                (size_t)snprintf(chain, sizeof chain, "{\"asset\":{\"version\":\"2.0\"},\"nodes\":[{\"name\":\"n\"}");

        for (unsigned i = 1; i < LEVELS; i++)
                size += (size_t)snprintf(
                        chain + size, sizeof chain - size, ",{\"name\":\"n\",\"children\":[%u]}", i - 1);
        (void)snprintf(chain + size, sizeof chain - size, "]}");
        for (unsigned i = 0; i < LEVELS; i++)
                memcpy(deepest + 2 * (size_t)i, "/n", 3);
        set_up(&stage);
        (void)snprintf(path, sizeof path, "%s/a.gltf", stage.daemon.folder);
        put_file(path, chain);
        expect_part(run(&stage, 0, "import", "isle", path, NULL), "\"nodes\":1023,");
        put_file(path,
                "{\"asset\":{\"version\":\"2.0\"},\"nodes\":[{\"name\":\"leaf\"},{\"name\":\"top\",\"children\":[0]}]}");
        expect_part(run(&stage, 1, "import", "isle", path, "--under", deepest, NULL), "{\"error\":\"depth\",\"op\":1,");
        expect_part(stage.output, "/a.gltf: node 0: the tree would be deeper");
        expect_part(run(&stage, 0, "info", "isle", NULL), "\"rev\":1,");
        tear_down(&stage);
}

/* A path is bytes, and what quotes it may cut it within a character. */
SCN_TEST_WITH(import, tells_as_json_of_files_whose_names_are_no_utf8, .timeout = 120)
{
        struct stage stage;
        char path[SCN_DAEMON_PATH_BYTES + 272];
        char wide[256];

        set_up(&stage);
        (void)snprintf(path, sizeof path, "%s/caf\xe9.gltf", stage.daemon.folder);
        put_file(path, "{");
        expect_part(run(&stage, 1, "import", "isle", path, NULL), "{\"error\":\"not_json\",");
        expect_part(stage.output, "caf\xef\xbf\xbd.gltf: ");
        expect_part(run(&stage, 0, "export", "isle", path, NULL), "caf\xef\xbf\xbd.gltf\",\"rev\":0,");
        for (unsigned odd = 0; odd < 2; odd++) {
                memset(wide, 'x', odd);
                for (unsigned i = odd; i + 2 < 240; i += 2)
                        memcpy(wide + i, "\xc3\xa9", 3);
                (void)snprintf(path, sizeof path, "%s/%s.gltf", stage.daemon.folder, wide);
                put_file(path, "{");
                expect_part(run(&stage, 1, "import", "isle", path, NULL), "{\"error\":\"not_json\",");
        }
        tear_down(&stage);
}

/* Only a file that is taken makes one: what is refused leaves not even an empty document. */
SCN_TEST_WITH(import, makes_the_document_if_it_is_not_there, .timeout = 120)
{
        struct stage stage;

        set_up(&stage);
        (void)run(&stage, 1, "import", "new", CORPUS "ring.gltf", NULL);
        cr_expect_str_eq(run(&stage, 0, "ls", NULL), "{\"doc\":\"isle\"}\n");
        expect_part(run(&stage, 0, "import", "new", SCENE, NULL), "{\"rev\":1,\"nodes\":406,");
        expect_part(run(&stage, 0, "info", "new", NULL), "\"nodes\":407,");
        tear_down(&stage);
}

/* Whether `ls` names the document. */
static bool is_listed(const struct serve *serve, const char *document)
{
        char wanted[64];
        char *output;
        cr_assert_eq(serve_scenectl(serve, &output, "ls", NULL), 0);
        (void)snprintf(wanted, sizeof wanted, "{\"doc\":\"%s\"}", document);
        const bool is_listed = strstr(output, wanted) != NULL;
        scn_free(output);
        return is_listed;
}

/* Nor does one that the server can make and not fill: there is room for more and more writes, until it is enough. */
SCN_TEST_WITH(import, that_the_server_refuses_leaves_no_document, .timeout = 120)
{
        struct serve serve;
        unsigned refused = 0;
        int code = 1;
        serve_begin_with(&serve, "scened_faulty");
        for (unsigned writes = 0; code != 0; writes += 3) {
                char fault[32];
                char document[32];
                char *output;
                (void)snprintf(fault, sizeof fault, "after %u", writes);
                (void)snprintf(document, sizeof document, "d%u", writes);
                serve_set_fault(&serve, fault);
                code = serve_scenectl(&serve, &output, "import", document, SCENE, NULL);
                serve_set_fault(&serve, NULL);
                refused += code == 1 && strstr(output, "\"storage_full\"") != NULL;
                cr_assert(code == 0 || code == 1, "%s", output);
                cr_assert_eq(is_listed(&serve, document), code == 0, "%u writes: %s", writes, output);
                scn_free(output);
        }
        cr_expect_gt(refused, 1);
        /* One that was there before stays. */
        serve_set_fault(&serve, NULL);
        cr_assert_eq(serve_scenectl(&serve, NULL, "create", "kept", NULL), 0);
        serve_set_fault(&serve, "full");
        cr_expect_eq(serve_scenectl(&serve, NULL, "import", "kept", SCENE, NULL), 1);
        serve_set_fault(&serve, NULL);
        cr_expect(is_listed(&serve, "kept"));
        serve_finish(&serve);
}

/* --- Matrices (B33), accessors that lie (B67): what stands in the files' place is there --- */

static float told_number(const char *output, const char *key, unsigned index)
{
        const char *at = strstr(output, key);
        cr_assert_not_null(at, "%s: no %s", output, key);
        at = strchr(at, '[');
        for (unsigned i = 0; i < index; i++)
                at = strchr(at + 1, ',');
        return strtof(at + 1, NULL);
}

/* The world matrix of a child, as told. */
static void told_world(struct stage *stage, const char *document, const char *node, float matrix[16])
{
        (void)run(stage, 0, "world", document, node, NULL);
        for (unsigned i = 0; i < 16; i++)
                matrix[i] = told_number(stage->output, "\"matrix\"", i);
}

SCN_TEST_WITH(import, of_a_matrix_leaves_what_is_beneath_where_it_was_however_often_it_goes_round, .timeout = 120)
{
        static const char gltf[] =
                "{\"asset\":{\"version\":\"2.0\"},\"scene\":0,\"scenes\":[{\"nodes\":[0]}],\"nodes\":["
                "{\"name\":\"m\",\"matrix\":[0,2,0,0,-3,0,0,0,0,0,0.5,0,10,20,30,1],\"children\":[1]},"
                "{\"name\":\"child\",\"translation\":[1,1,1]}]}";
        static const float wanted[16] = {0, 2, 0, 0, -3, 0, 0, 0, 0, 0, 0.5f, 0, 7, 22, 30.5f, 1};
        struct stage stage;
        char path[SCN_DAEMON_PATH_BYTES + 16];
        set_up(&stage);
        (void)snprintf(path, sizeof path, "%s/m.gltf", stage.daemon.folder);
        put_file(path, gltf);
        for (int round = 0; round < 3; round++) {
                char document[16];
                float matrix[16];
                (void)snprintf(document, sizeof document, "m%d", round);
                (void)run(&stage, 0, "import", document, path, NULL);
                told_world(&stage, document, "/m/child", matrix);
                for (unsigned i = 0; i < 16; i++)
                        cr_expect_float_eq(matrix[i], wanted[i], 1e-5f, "round %d, number %u", round, i);
                (void)run(&stage, 0, "export", document, path, NULL);
        }
        (void)run(&stage, 0, "import", "sheared", CORPUS "matrix_sheared.gltf", NULL);
        expect_part(stage.output, "\"note\":\"shear\"");
        expect_part(run(&stage, 1, "import", "no", CORPUS "matrix_last_row.gltf", NULL), "\"error\":\"bad_matrix\"");
        tear_down(&stage);
}

SCN_TEST_WITH(import, never_looks_at_accessors, .timeout = 120)
{
        static const char *const paths[] = {
                CORPUS "accessor_count.gltf", CORPUS "accessor_sparse.gltf", CORPUS "view_stride.gltf"};
        struct stage stage;
        set_up(&stage);
        for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
                expect_part(run(&stage, 0, "import", "isle", paths[i], NULL), "\"rev\":");
        expect_part(run(&stage, 1, "import", "isle", CORPUS "bin_too_long.glb", NULL), "\"error\":\"bad_glb\"");
        expect_part(run(&stage, 0, "info", "isle", NULL), "\"rev\":3,");
        tear_down(&stage);
}

/* --- Other formats, through libassimp --- */

static const char obj[] = "o Lantern\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
static const char collada[] =
        "<?xml version=\"1.0\"?><COLLADA xmlns=\"http://www.collada.org/2005/11/COLLADASchema\" version=\"1.4.1\">"
        "<asset><unit meter=\"1\"/><up_axis>Y_UP</up_axis></asset>"
        "<library_visual_scenes><visual_scene id=\"s\" name=\"Scene\">"
        "<node id=\"b\" name=\"Boat\"><translate>1 2 3</translate>"
        "<node id=\"l\" name=\"Lantern\"><translate>0 0.5 0</translate></node></node>"
        "</visual_scene></library_visual_scenes><scene><instance_visual_scene url=\"#s\"/></scene></COLLADA>";
static const char fbx[] = "; FBX 7.4.0 project file\n"
                          "FBXHeaderExtension: {\n FBXVersion: 7400\n}\n"
                          "Objects: {\n"
                          " Model: 1, \"Model::Boat\", \"Null\" {\n  Properties70: {\n"
                          "   P: \"Lcl Translation\", \"Lcl Translation\", \"\", \"A\",1,2,3\n  }\n }\n"
                          " Model: 2, \"Model::Lantern\", \"Null\" {\n  Properties70: {\n"
                          "   P: \"Lcl Translation\", \"Lcl Translation\", \"\", \"A\",0,0.5,0\n  }\n }\n"
                          "}\n"
                          "Connections: {\n C: \"OO\",1,0\n C: \"OO\",2,1\n}\n";

SCN_TEST_WITH(import, takes_other_formats_where_libassimp_is_and_says_so_where_not, .timeout = 120)
{
        static const struct {
                const char *ending;
                const char *text;
                const char *nodes;
                const char *lantern;
                float world[3];
        } rows[] = {{"obj", obj, "\"nodes\":2,", "/scene.obj/Lantern", {0, 0, 0}},
                {"dae", collada, "\"nodes\":3,", "/Scene/Boat/Lantern", {1, 2.5f, 3}},
                {"fbx", fbx, "\"nodes\":3,", "/RootNode/Boat/Lantern", {1, 2.5f, 3}}};
        struct stage stage;
        char path[SCN_DAEMON_PATH_BYTES + 16];

        set_up(&stage);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                float matrix[16];
                (void)snprintf(path, sizeof path, "%s/scene.%s", stage.daemon.folder, rows[i].ending);
                FILE *file = fopen(path, "we");
                cr_assert_not_null(file);
                fputs(rows[i].text, file);
                cr_assert_eq(fclose(file), 0);
                if (!scn_assimp_is_built_in()) {
                        expect_part(run(&stage, 1, "import", rows[i].ending, path, NULL),
                                "this build reads .gltf and .glb alone; others need libassimp");
                        continue;
                }
                expect_part(run(&stage, 0, "import", rows[i].ending, path, NULL), rows[i].nodes);
                told_world(&stage, rows[i].ending, rows[i].lantern, matrix);
                for (unsigned axis = 0; axis < 3; axis++)
                        cr_expect_float_eq(matrix[12 + axis], rows[i].world[axis], 1e-6f, "%s", rows[i].ending);
        }
        if (scn_assimp_is_built_in())
                expect_part(run(&stage, 0, "get", "obj", rows[0].lantern, NULL), "\"gltf.mesh\":{\"index\":0,");
        tear_down(&stage);
}

/* --- Disk full (B35) --- */

static unsigned count_files(const char *path)
{
        unsigned count = 0;
        DIR *stream = opendir(path);
        cr_assert_not_null(stream);
        for (struct dirent *entry; (entry = readdir(stream)) != NULL;)
                count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
        (void)closedir(stream);
        return count;
}

SCN_TEST_WITH(export, that_cannot_be_written_leaves_the_old_file_and_no_part_of_the_new, .timeout = 120)
{
        static char before[1 << 18];
        static char after[1 << 18];
        struct stage stage;
        char path[SCN_DAEMON_PATH_BYTES + 32];
        set_up(&stage);
        (void)run(&stage, 0, "import", "isle", SCENE, NULL);
        (void)snprintf(path, sizeof path, "%s/out", stage.daemon.folder);
        cr_assert_eq(mkdir(path, 0700), 0);
        (void)snprintf(path, sizeof path, "%s/out/isle.gltf", stage.daemon.folder);
        (void)run(&stage, 0, "export", "isle", path, NULL);
        read_file(path, before, sizeof before);
        (void)run(&stage, 0, "rm", "isle", "/Boat", NULL);
        stage.file_bytes_max = 8192;
        expect_part(run(&stage, 1, "export", "isle", path, NULL), "\"error\":\"not_writable\"");
        stage.file_bytes_max = 0;
        read_file(path, after, sizeof after);
        cr_expect_str_eq(after, before);
        (void)snprintf(path, sizeof path, "%s/out", stage.daemon.folder);
        cr_expect_eq(count_files(path), 1, "a part of a file is left");
        tear_down(&stage);
}
