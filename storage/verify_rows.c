/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "protocol/base/assert.h"
#include "protocol/base/bytes.h"
#include "storage/fault.h"
#include "storage/journal.h"

/* The checksums are no secret: whoever makes a file makes them too. So here is looked whether each row is one that this
 * storage could have written; and keys must leave room for those that follow. */

/* The year 9999; 2^53, for all that is counted. */
#define TIME_IS(column) column " NOT BETWEEN 0 AND 253402300799999999"
#define COUNT_IS(column, least) column " NOT BETWEEN " least " AND 9007199254740991"

/* A query that gives the key of a row that cannot be. */
struct rule {
        const char *table;
        const char *sql;
        const char *meaning;
};

static const struct rule rules[] = {
        {"document", "SELECT id FROM document WHERE " TIME_IS("created_us"), "it was made at no such time"},
        {"epochs", "SELECT position FROM epochs WHERE " COUNT_IS("position", "1") " OR epoch = 0 OR rev < 0",
                "there is no such epoch"},
        {"epochs", "SELECT position FROM epochs WHERE " TIME_IS("time_us"), "it began at no such time"},
        {"clients", "SELECT client FROM clients WHERE " COUNT_IS("client", "1"), "there is no such client"},
        {"clients", "SELECT client FROM clients WHERE length(uid) <> 16 OR forgotten NOT IN (0, 1)",
                "no client is like that"},
        /* Of the server there is one for each author. */
        {"clients",
                "SELECT max(client) FROM clients WHERE forgotten = 0"
                " GROUP BY uid, CASE WHEN uid = zeroblob(16) THEN author END HAVING count(*) > 1",
                "another row is of the same client"},
        {"runs",
                "SELECT client FROM runs WHERE " COUNT_IS(
                        "last_number", "1") " OR first_rev NOT BETWEEN 1 AND last_rev",
                "no transactions have such numbers"},
        {"folded_numbers",
                "SELECT client FROM folded_numbers WHERE first_number NOT BETWEEN 1 AND last_number OR rev < 1",
                "no transactions have such numbers"},
        {"records", "SELECT id FROM records WHERE " COUNT_IS("id", "-9007199254740991"), "no row can have this number"},
        {"checkpoints",
                "SELECT checkpoint FROM checkpoints WHERE " COUNT_IS("checkpoint",
                        "1") " OR rev < 0 OR rev > ifnull((SELECT max(rev) FROM transactions), 0) OR size < 0 OR part_count < 0",
                "there is no such checkpoint"},
        {"checkpoints", "SELECT checkpoint FROM checkpoints WHERE " TIME_IS("time_us"), "it was made at no such time"},
        {"checkpoint_parts",
                "SELECT part FROM checkpoint_parts WHERE " COUNT_IS("part", "1") " OR " COUNT_IS("checkpoint", "1"),
                "there is no such part"},
        {"tags", "SELECT name FROM tags WHERE " TIME_IS("time_us"), "it was set at no such time"},
        {"tags", "SELECT name FROM tags ORDER BY name LIMIT 1 OFFSET 10000", "there are more tags than there may be"},
};
SCN_STATIC_ASSERT(SCN_JOURNAL_TAGS_MAX == 10000, "the last rule counts them");

/* The key of a row and a text in it. */
static const struct text {
        const char *table;
        const char *sql;
        int bytes_min, bytes_max;
} texts[] = {
        {"clients", "SELECT client, author FROM clients", 0, SCN_JOURNAL_AUTHOR_BYTES_MAX},
        {"tags", "SELECT name, name FROM tags", 1, SCN_JOURNAL_TAG_BYTES_MAX},
        {"tags", "SELECT name, author FROM tags", 0, SCN_JOURNAL_AUTHOR_BYTES_MAX},
};

static enum scn_error row_fault(const struct scn_journal *journal, const char *table, struct scn_slice key,
        const char *meaning, struct scn_storage_fault *fault)
{
        const char *name = scn_database_name(&journal->database);

        if (!scn_utf8_is_valid(key.data, key.size) || key.size > SCN_JOURNAL_TAG_BYTES_MAX)
                return scn_fault_set(fault, SCN_E_CORRUPT, 0, 0, "%s: %s, a row of %u bytes: %s", name, table,
                        (unsigned)key.size, meaning);
        return scn_fault_set(fault, SCN_E_CORRUPT, 0, 0, "%s: %s, row %.*s: %s", name, table, (int)key.size,
                (const char *)key.data, meaning);
}

/* Steps through a query until a row is wrong: `text` NULL: there is one at all. */
static enum scn_error check(
        struct scn_journal *journal, const struct rule *rule, const struct text *text, struct scn_storage_fault *fault)
{
        sqlite3_stmt *statement;
        enum scn_error error = SCN_OK;
        int code = sqlite3_prepare_v2(journal->database.handle, rule->sql, -1, &statement, NULL);

        if (code != SQLITE_OK)
                return scn_database_map(&journal->database, code, fault);
        while (error == SCN_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
                const struct scn_slice value = text != NULL ? scn_database_column(statement, 1) : (struct scn_slice){0};
                const bool is_right = text != NULL && (int64_t)value.size >= text->bytes_min &&
                        (int64_t)value.size <= text->bytes_max && scn_utf8_is_valid(value.data, value.size);
                if (!is_right)
                        error = row_fault(
                                journal, rule->table, scn_database_column(statement, 0), rule->meaning, fault);
        }
        if (error == SCN_OK && code != SQLITE_DONE)
                error = scn_database_map(&journal->database, code, fault);
        sqlite3_finalize(statement);
        return error;
}

enum scn_error scn_journal_verify_rows(struct scn_journal *journal, struct scn_storage_fault *fault)
{
        enum scn_error error = SCN_OK;

        for (size_t i = 0; i < sizeof rules / sizeof rules[0] && error == SCN_OK; i++)
                error = check(journal, &rules[i], NULL, fault);
        for (size_t i = 0; i < sizeof texts / sizeof texts[0] && error == SCN_OK; i++) {
                const struct rule rule = {texts[i].table, texts[i].sql, "a text is too long, too short or no UTF-8"};
                error = check(journal, &rule, &texts[i], fault);
        }
        return error;
}
