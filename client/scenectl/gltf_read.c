/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "client/scenectl/gltf_read.h"

#include "client/scenectl/gltf_file.h"
#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A .glb: little-endian 32-bit words.
 *
 *      "glTF"  2  length of the whole   | length  "JSON"  bytes, padded to 4 | length  "BIN\0"  bytes | ...
 *
 * The first chunk is the JSON. Of those behind it only the lengths are looked at. */
#define GLB_MAGIC UINT32_C(0x46546c67)
#define GLB_JSON UINT32_C(0x4e4f534a)
#define GLB_HEAD_BYTES 12
#define GLB_CHUNK_HEAD_BYTES 8
/* Of a file that is asked whether it is one; white space before the JSON counts. */
#define BEGIN_BYTES 512

/* Where the bytes come from: memory, or a file, of which no more is read than is needed. */
struct source {
        const uint8_t *bytes; /* NULL: the file */
        int fd;
        uint64_t size;
        struct scn_gltf_report *report;
};

static enum scn_gltf_fault refuse(const struct source *source, enum scn_gltf_fault fault, const char *detail)
{
        return scn_gltf_report_refuse(source->report, fault, SCN_GLTF_NODE_NONE, detail);
}

/* The caller knows that so much is there; a file that was cut since is refused. */
static enum scn_gltf_fault fetch(const struct source *source, uint64_t offset, void *out, size_t size)
{
        SCN_ASSERT(offset <= source->size && size <= source->size - offset);
        if (source->bytes != NULL) {
                memcpy(out, source->bytes + offset, size);
                return SCN_GLTF_OK;
        }
        for (size_t done = 0; done < size;) {
                const ssize_t count =
                        pread(source->fd, (uint8_t *)out + done, size - done, (off_t)(offset + (uint64_t)done));
                if (count == 0)
                        return refuse(source, SCN_GLTF_NOT_READABLE, "it was cut while it was read");
                if (count < 0 && errno != EINTR)
                        return refuse(source, SCN_GLTF_NOT_READABLE, strerror(errno));
                done += count > 0 ? (size_t)count : 0;
        }
        return SCN_GLTF_OK;
}

static uint32_t word_at(const uint8_t *bytes)
{
        return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* Goes from chunk to chunk; each must lie within `length` bytes. */
static enum scn_gltf_fault walk_chunks(
        const struct source *source, uint64_t length, uint64_t *json_begin_out, uint64_t *json_size_out)
{
        uint8_t head[GLB_CHUNK_HEAD_BYTES];
        uint64_t at = GLB_HEAD_BYTES;

        *json_begin_out = 0;
        while (at < length) {
                if (length - at < sizeof head)
                        return refuse(source, SCN_GLTF_BAD_GLB, "a chunk's head is cut short");
                enum scn_gltf_fault fault = fetch(source, at, head, sizeof head);
                if (fault != SCN_GLTF_OK)
                        return fault;
                at += sizeof head;
                const uint32_t size = word_at(head);
                if (size > length - at)
                        return refuse(source, SCN_GLTF_BAD_GLB, "a chunk is larger than the file");
                if (*json_begin_out == 0 && word_at(head + 4) != GLB_JSON)
                        return refuse(source, SCN_GLTF_BAD_GLB, "the first chunk is not the JSON");
                if (*json_begin_out == 0) {
                        *json_begin_out = at;
                        *json_size_out = size;
                }
                at += size;
        }
        return *json_begin_out != 0 ? SCN_GLTF_OK : refuse(source, SCN_GLTF_BAD_GLB, "it has no chunks");
}

static enum scn_gltf_fault find_json(const struct source *source, uint64_t *begin_out, uint64_t *size_out)
{
        uint8_t head[GLB_HEAD_BYTES] = {0};
        const size_t head_size = source->size < sizeof head ? (size_t)source->size : sizeof head;
        enum scn_gltf_fault fault = fetch(source, 0, head, head_size);

        if (fault != SCN_GLTF_OK)
                return fault;
        if (word_at(head) == GLB_MAGIC) {
                if (head_size < sizeof head)
                        return refuse(source, SCN_GLTF_BAD_GLB, "the head is cut short");
                if (word_at(head + 4) != 2)
                        return refuse(source, SCN_GLTF_NOT_GLTF, "the container is of another version");
                if (word_at(head + 8) > source->size)
                        return refuse(source, SCN_GLTF_BAD_GLB, "it says that it is larger than the file");
                return walk_chunks(source, word_at(head + 8), begin_out, size_out);
        }
        /* A byte order mark does not belong there, and does no harm. */
        const bool has_mark = memcmp(head, "\xef\xbb\xbf", 3) == 0;
        *begin_out = has_mark ? 3 : 0;
        *size_out = source->size - *begin_out;
        return SCN_GLTF_OK;
}

static enum scn_gltf_fault load_json(
        const struct source *source, uint32_t bytes_max, uint8_t **text_out, struct scn_slice *json_out)
{
        uint64_t begin = 0;
        uint64_t size = 0;
        enum scn_gltf_fault fault = find_json(source, &begin, &size);

        if (fault != SCN_GLTF_OK)
                return fault;
        if (size > bytes_max)
                return refuse(source, SCN_GLTF_FILE_TOO_LARGE, "");
        if (source->bytes != NULL) {
                *json_out = (struct scn_slice){source->bytes + begin, (uint32_t)size};
                return SCN_GLTF_OK;
        }
        *text_out = scn_alloc((size_t)size);
        if (*text_out == NULL)
                return refuse(source, SCN_GLTF_NO_MEMORY, "");
        *json_out = (struct scn_slice){*text_out, (uint32_t)size};
        return fetch(source, begin, *text_out, (size_t)size);
}

void scn_gltf_file_init(struct scn_gltf_file *file, const struct scn_gltf_read_options *options,
        struct scn_gltf_nodes *nodes_out, struct scn_gltf_report *report)
{
        SCN_ASSERT(options->random != NULL);
        SCN_ASSERT(options->parent.kind != SCN_REF_NONE);
        *file = (struct scn_gltf_file){.options = options, .report = report, .out = nodes_out};
        *nodes_out = (struct scn_gltf_nodes){0};
        scn_buffer_init(&file->packed, options->limits.value_bytes_max);
        scn_buffer_init(&file->canonical, options->limits.value_bytes_max);
}

void scn_gltf_file_finish(struct scn_gltf_file *file)
{
        scn_free(file->cameras.items);
        scn_free(file->lights.items);
        scn_free(file->meshes.items);
        scn_free(file->skins.items);
        scn_free(file->nodes);
        scn_free(file->children);
        scn_free(file->tops);
        scn_buffer_finish(&file->packed);
        scn_buffer_finish(&file->canonical);
}

static enum scn_gltf_fault read_source(
        const struct source *source, const struct scn_gltf_read_options *options, struct scn_gltf_nodes *nodes_out)
{
        struct scn_gltf_file file;
        uint8_t *text = NULL;

        scn_gltf_file_init(&file, options, nodes_out, source->report);
        scn_json_enter_locale();
        enum scn_gltf_fault fault = load_json(source, options->file_bytes_max, &text, &file.text);
        if (fault == SCN_GLTF_OK)
                fault = scn_gltf_file_parse(&file);
        /* The ops of a large file want as much room as its text does. */
        scn_free(text);
        file.text = file.piece = (struct scn_slice){NULL, 0};
        if (fault == SCN_GLTF_OK)
                fault = scn_gltf_tree_make_ops(&file);
        scn_json_leave_locale();
        scn_gltf_file_finish(&file);
        if (fault != SCN_GLTF_OK)
                scn_gltf_nodes_finish(nodes_out);
        return fault;
}

enum scn_gltf_fault scn_gltf_read_bytes(struct scn_slice bytes, const struct scn_gltf_read_options *options,
        struct scn_gltf_nodes *nodes_out, struct scn_gltf_report *report)
{
        const struct source source = {.bytes = bytes.data, .fd = -1, .size = bytes.size, .report = report};

        SCN_ASSERT(bytes.data != NULL);
        scn_gltf_report_init(report);
        *nodes_out = (struct scn_gltf_nodes){0};
        return read_source(&source, options, nodes_out);
}

enum scn_gltf_fault scn_gltf_read_file(const char *path, const struct scn_gltf_read_options *options,
        struct scn_gltf_nodes *nodes_out, struct scn_gltf_report *report)
{
        struct source source = {.report = report};
        struct stat status;
        enum scn_gltf_fault fault;

        scn_gltf_report_init(report);
        *nodes_out = (struct scn_gltf_nodes){0};
        /* Or the open would wait for somebody at the other end of a pipe. */
        source.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (source.fd < 0)
                return refuse(&source, SCN_GLTF_NOT_READABLE, strerror(errno));
        if (fstat(source.fd, &status) != 0) {
                fault = refuse(&source, SCN_GLTF_NOT_READABLE, strerror(errno));
        } else if (!S_ISREG(status.st_mode)) {
                fault = refuse(&source, SCN_GLTF_NOT_READABLE, "it is not a regular file");
        } else {
                source.size = (uint64_t)status.st_size;
                fault = read_source(&source, options, nodes_out);
        }
        (void)close(source.fd);
        return fault;
}

bool scn_gltf_begins(const char *path)
{
        uint8_t begin[BEGIN_BYTES];
        struct stat status;
        const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        ssize_t size = -1;

        if (fd < 0)
                return false;
        if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
                size = pread(fd, begin, sizeof begin, 0);
        (void)close(fd);
        if (size < 4)
                return false;
        ssize_t at = memcmp(begin, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        while (at < size && strchr(" \t\r\n", begin[at]) != NULL && begin[at] != '\0')
                at++;
        return word_at(begin) == GLB_MAGIC || (at < size && begin[at] == '{');
}

void scn_gltf_nodes_finish(struct scn_gltf_nodes *nodes)
{
        scn_free(nodes->ops);
        scn_free(nodes->indices);
        scn_free(nodes->properties);
        scn_arena_finish(&nodes->arena);
        *nodes = (struct scn_gltf_nodes){0};
}
