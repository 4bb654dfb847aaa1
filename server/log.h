/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_SERVER_LOG_H
#define SCN_SERVER_LOG_H

/* The daemon's log: one line an event, as text or JSON, which no peer can flood or forge.
 *
 *   2026-01-31T12:00:00.000Z info net: listening on 127.0.0.1:7420
 *   {"time":"2026-01-31T12:00:00.000Z","level":"info","kind":"net","text":"listening on 127.0.0.1:7420"}
 *
 * Each kind of line may come SCN_LOG_LINES_MAX times in SCN_LOG_WINDOW_MS; further ones are counted, and the count is
 * told when the time is over ("suppressed 2041 like this"). Control bytes, marks that turn the direction of writing,
 * and what is not UTF-8 are escaped; a line is cut at SCN_LOG_LINE_BYTES. */

#include "server/server.h"

#define SCN_LOG_LINES_MAX 10u
#define SCN_LOG_WINDOW_MS 10000u
#define SCN_LOG_LINE_BYTES 2048u
#define SCN_LOG_KIND_BYTES 24u
/* More kinds than there are in the sources; should there be more, the surplus shares the last. */
#define SCN_LOG_KINDS_MAX 32u

enum scn_log_format {
        SCN_LOG_FORMAT_TEXT,
        SCN_LOG_FORMAT_JSON,
};

struct scn_log_options {
        enum scn_log_format format;
        /* A finished line, its newline included. */
        void (*write)(void *data, const char *line, size_t size);
        uint64_t (*utc_us)(void *data);
        uint64_t (*monotonic_ms)(void *data);
        void *data; /* for these */
};

struct scn_log_kind {
        char name[SCN_LOG_KIND_BYTES];
        enum scn_log_level level;
        uint64_t window_start_ms;
        uint64_t lines_count; /* in this window, suppressed ones included */
};

/* The caller's memory; to be called from one thread. */
struct scn_log {
        struct scn_log_options options;
        struct scn_log_kind kinds[SCN_LOG_KINDS_MAX];
        size_t kinds_count;
};

void scn_log_init(struct scn_log *log, const struct scn_log_options *options);
/* Tells what is still suppressed. */
void scn_log_finish(struct scn_log *log);

/* `kind`: a word that says who speaks and about what ("accept"); lines of one kind and level are limited together.
 * SCN_LOG_DEBUG is dropped. */
void scn_log_write(struct scn_log *log, enum scn_log_level level, const char *kind, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
/* The kind is what stands before the first ": ", if that is one word; else "server". */
void scn_log_text(struct scn_log *log, enum scn_log_level level, const char *text);

/* Ends windows that are over. Call about every second. */
void scn_log_tick(struct scn_log *log);

#endif
