/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/assimp_read.h"

#include "client/scenectl/assimp_scene.h"
#include "client/scenectl/gltf_file.h"
#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

bool scn_assimp_is_built_in(void)
{
        return true;
}

/* --- The process that reads --- */

struct reader {
        pid_t pid;
        FILE *stream; /* owned */
};

/* What libassimp, or the C library when it goes down, has to say would only be in the way of our own words. */
_Noreturn static void be_reader(const char *path, int fd)
{
        const struct rlimit no_core = {0, 0};
        const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

        (void)setrlimit(RLIMIT_CORE, &no_core);
        if (nowhere >= 0) {
                (void)dup2(nowhere, STDOUT_FILENO);
                (void)dup2(nowhere, STDERR_FILENO);
        }
        _exit(scn_assimp_tell(path, fd) ? 0 : 1);
}

static int start_reader(struct reader *reader, const char *path)
{
        int ends[2];

        if (pipe(ends) != 0)
                return errno;
        reader->stream = fdopen(ends[0], "rb");
        reader->pid = reader->stream != NULL ? fork() : -1;
        const int error = errno;
        if (reader->pid == 0) {
                (void)close(ends[0]);
                be_reader(path, ends[1]);
        }
        (void)close(ends[1]);
        if (reader->pid > 0)
                return 0;
        if (reader->stream != NULL)
                (void)fclose(reader->stream);
        else
                (void)close(ends[0]);
        return error;
}

/* What it has not told by now nobody wants. True if it ended well. */
static bool end_reader(struct reader *reader, bool is_wanted, int *status_out)
{
        if (!is_wanted)
                (void)kill(reader->pid, SIGKILL);
        (void)fclose(reader->stream);
        pid_t ended;
        do
                ended = waitpid(reader->pid, status_out, 0);
        while (ended < 0 && errno == EINTR);
        return ended == reader->pid && WIFEXITED(*status_out) && WEXITSTATUS(*status_out) == 0;
}

static bool take_bytes(struct reader *reader, void *bytes, size_t size)
{
        return size == 0 || fread(bytes, 1, size, reader->stream) == size;
}

/* --- Nodes --- */

/* Of a node while it is being taken. */
struct taking {
        struct reader *reader;
        struct scn_gltf_file *file;
        const struct scn_assimp_head *head;
        uint32_t index;
};

/* Too little came: why, the end of the process will tell. */
static enum scn_gltf_fault break_off(struct taking *taking)
{
        return scn_gltf_file_refuse(taking->file, SCN_GLTF_NOT_READABLE, SCN_GLTF_NODE_NONE, "its reader failed");
}

static enum scn_gltf_fault take_text(struct taking *taking, uint32_t size, struct scn_slice *text_out)
{
        struct scn_gltf_file *file = taking->file;
        struct scn_buffer *text = &file->packed;
        enum scn_gltf_fault fault = SCN_GLTF_OK;

        *text_out = (struct scn_slice){NULL, 0};
        if (size == 0)
                return SCN_GLTF_OK;
        if (size > file->options->limits.name_bytes_max)
                return scn_gltf_file_refuse(file, SCN_GLTF_NAME_TOO_LONG, taking->index, "");
        scn_buffer_reset(text);
        if (scn_buffer_reserve(text, size) != SCN_OK)
                return scn_gltf_file_refuse(file, SCN_GLTF_NO_MEMORY, taking->index, "");
        if (!take_bytes(taking->reader, text->data, size))
                return break_off(taking);
        if (!scn_utf8_is_valid(text->data, size))
                return scn_gltf_file_refuse(file, SCN_GLTF_BAD_TEXT, taking->index, "");
        *text_out = scn_arena_copy(&file->out->arena, text->data, size);
        if (text_out->data == NULL)
                fault = scn_gltf_file_refuse(file, SCN_GLTF_NO_MEMORY, taking->index, "");
        return fault;
}

static enum scn_gltf_fault take_matrix(struct taking *taking, const float rows[16])
{
        struct scn_gltf_file *file = taking->file;
        struct scn_affine64 affine;

        for (uint32_t i = 0; i < 16; i++) {
                if (!isfinite(rows[i]))
                        return scn_gltf_file_refuse(file, SCN_GLTF_NOT_FINITE, taking->index, "matrix");
        }
        if (rows[12] != 0.0f || rows[13] != 0.0f || rows[14] != 0.0f || rows[15] != 1.0f)
                return scn_gltf_file_refuse(file, SCN_GLTF_BAD_MATRIX, taking->index, "the last row is another");
        for (uint32_t i = 0; i < 12; i++)
                affine.m[i] = rows[i];
        return scn_gltf_node_set_matrix(file, taking->index, &affine);
}

/* A node has one mesh in glTF; the format read may give it several, of which the first is named. */
static enum scn_gltf_fault take_mesh(struct taking *taking, const struct scn_assimp_node *record)
{
        struct scn_slice name;

        if (record->mesh == SCN_ASSIMP_NO_MESH)
                return SCN_GLTF_OK;
        if (record->mesh >= taking->head->counts[SCN_ASSIMP_MESHES])
                return scn_gltf_file_refuse(taking->file, SCN_GLTF_BAD_INDEX, taking->index, "mesh");
        enum scn_gltf_fault fault = take_text(taking, record->mesh_name_bytes, &name);
        if (fault != SCN_GLTF_OK)
                return fault;
        return scn_gltf_node_add_reference(taking->file, taking->index, "gltf.mesh", record->mesh, name);
}

static enum scn_gltf_fault take_node(struct taking *taking)
{
        struct scn_gltf_file *file = taking->file;
        const uint32_t index = taking->index;
        struct scn_gltf_node *node = &file->nodes[index];
        struct scn_assimp_node record;

        if (!take_bytes(taking->reader, &record, sizeof record) ||
                record.children_count > file->nodes_count - 1 - file->children_count)
                return break_off(taking);
        /* The root is the first; behind each node's children stand those of the next. */
        node->children_first = file->children_count + 1;
        node->children_count = record.children_count;
        for (uint32_t k = 0; k < record.children_count; k++)
                file->nodes[node->children_first + k].parent = index;
        file->children_count += record.children_count;
        file->children[index] = index;
        node->properties_first = file->out->properties_count;
        enum scn_gltf_fault fault = take_text(taking, record.name_bytes, &node->name);
        if (fault == SCN_GLTF_OK)
                fault = take_matrix(taking, record.rows);
        return fault != SCN_GLTF_OK ? fault : take_mesh(taking, &record);
}

static void note_left_out(struct scn_gltf_report *report, const struct scn_assimp_head *head)
{
#define WORD(name, word, member) word,
        static const char *const words[] = {SCN_ASSIMP_KIND_LIST(WORD)};
#undef WORD

        for (size_t i = 0; i < SCN_ASSIMP_KIND_COUNT; i++) {
                const struct scn_slice word = {(const uint8_t *)words[i], (uint32_t)strlen(words[i])};
                if (head->counts[i] > 0)
                        scn_gltf_report_add(report, SCN_GLTF_NOTE_LEFT_OUT, SCN_GLTF_NODE_NONE, head->counts[i], word);
        }
}

static enum scn_gltf_fault take_scene(struct scn_gltf_file *file, struct reader *reader)
{
        struct scn_assimp_head head;
        struct taking taking = {.reader = reader, .file = file, .head = &head};

        if (!take_bytes(reader, &head, sizeof head))
                return break_off(&taking);
        head.reason[sizeof head.reason - 1] = '\0';
        if (head.nodes_count == 0)
                return scn_gltf_file_refuse(file, SCN_GLTF_NOT_READABLE, SCN_GLTF_NODE_NONE, head.reason);
        note_left_out(file->report, &head);
        enum scn_gltf_fault fault = scn_gltf_file_reserve(file, head.nodes_count);
        for (; fault == SCN_GLTF_OK && taking.index < head.nodes_count; taking.index++)
                fault = take_node(&taking);
        if (fault != SCN_GLTF_OK)
                return fault;
        /* What stands under none of the others would be no tree. */
        if (file->children_count != head.nodes_count - 1)
                return break_off(&taking);
        file->tops = scn_alloc_zero(1, sizeof *file->tops);
        if (file->tops == NULL)
                return scn_gltf_file_refuse(file, SCN_GLTF_NO_MEMORY, SCN_GLTF_NODE_NONE, "");
        file->tops_count = 1;
        return SCN_GLTF_OK;
}

/* libassimp recurses on what a file says and asserts on some of it: where it goes down, a process of its own does. */
static enum scn_gltf_fault read_in_process(struct scn_gltf_file *file, const char *path)
{
        struct reader reader;
        char reason[SCN_GLTF_DETAIL_BYTES];
        int status = 0;
        const int error = start_reader(&reader, path);

        if (error != 0)
                return scn_gltf_file_refuse(file, SCN_GLTF_NOT_READABLE, SCN_GLTF_NODE_NONE, strerror(error));
        struct scn_gltf_report before = *file->report;
        enum scn_gltf_fault fault = take_scene(file, &reader);
        const bool is_cut = feof(reader.stream) != 0;
        if (end_reader(&reader, fault == SCN_GLTF_OK || is_cut, &status) || !(fault == SCN_GLTF_OK || is_cut))
                return fault;
        if (WIFSIGNALED(status))
                (void)snprintf(reason, sizeof reason, "libassimp went down on it (%s)", strsignal(WTERMSIG(status)));
        else
                (void)snprintf(reason, sizeof reason, "libassimp gave up on it");
        *file->report = before;
        return scn_gltf_file_refuse(file, SCN_GLTF_NOT_READABLE, SCN_GLTF_NODE_NONE, reason);
}

enum scn_gltf_fault scn_assimp_read_file(const char *path, const struct scn_gltf_read_options *options,
        struct scn_gltf_nodes *nodes_out, struct scn_gltf_report *report)
{
        struct scn_gltf_file file;

        scn_gltf_report_init(report);
        scn_gltf_file_init(&file, options, nodes_out, report);
        scn_json_enter_locale();
        enum scn_gltf_fault fault = read_in_process(&file, path);
        if (fault == SCN_GLTF_OK)
                fault = scn_gltf_tree_make_ops(&file);
        scn_json_leave_locale();
        scn_gltf_file_finish(&file);
        if (fault != SCN_GLTF_OK)
                scn_gltf_nodes_finish(nodes_out);
        return fault;
}
