/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#include "server/config.h"

#include "protocol/base/assert.h"
#include "server/problem.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FILE_BYTES_MAX 65536u
/* Of one source; more is not meant. */
#define GIVEN_MAX 64u
/* argp shows options whose key is a printable character as -x too; there are none of these. */
#define KEY_FIRST 0x100

/* --------------------------------------------------------------- the table */

struct setting {
        const char *name;
        const char *value; /* NULL: a flag of the command line alone */
        const char *text;
        bool may_repeat;
        bool is_for_file;
        /* NULL if all is well, else what is wrong with the value. */
        const char *(*set)(struct scn_config *config, const char *value);
};

static const char *set_data(struct scn_config *config, const char *value)
{
        size_t size = strlen(value);

        if (size == 0)
                return "is empty";
        if (size >= sizeof config->data_path)
                return "is longer than a path may be";
        memcpy(config->data_path, value, size + 1);
        return NULL;
}

static const char *set_listen(struct scn_config *config, const char *value)
{
        struct scn_address address;

        if (config->listens_count == SCN_CONFIG_LISTENS_MAX)
                return "is one more than the 16 addresses there may be";
        const char *fault = scn_address_parse(value, &address);
        if (fault != NULL)
                return fault;
        if (!scn_address_is_local(&address))
                return "can be reached from other machines, and there is no login yet; "
                       "use 127.0.0.1, [::1] or unix:PATH";
        config->listens[config->listens_count++] = address;
        return NULL;
}

static const char *set_log_format(struct scn_config *config, const char *value)
{
        if (strcmp(value, "text") == 0)
                config->log_format = SCN_LOG_FORMAT_TEXT;
        else if (strcmp(value, "json") == 0)
                config->log_format = SCN_LOG_FORMAT_JSON;
        else
                return "is neither text nor json";
        return NULL;
}

#define DAY_S 86400u
#define DAYS_MAX 36500u
/* Digits behind the point: finer than a second. */
#define DAYS_DIGITS_MAX 9u

/* Reads digits up to the first that is none, as a number that stays below `max`. NULL: there are none, or too many. */
static const char *read_digits(const char *text, uint64_t max, uint64_t *number_out, unsigned *count_out)
{
        *number_out = 0;
        for (*count_out = 0; *text >= '0' && *text <= '9'; text++, ++*count_out) {
                *number_out = *number_out * 10 + (uint64_t)(*text - '0');
                if (*number_out > max)
                        return NULL;
        }
        return *count_out > 0 ? text : NULL;
}

/* Days, and parts of days behind a point, as seconds. */
static const char *set_days(uint64_t *seconds, const char *value)
{
        static const char fault[] = "is not a number of days from 0 to 36500, such as 7 or 0.5";
        uint64_t days, part = 0, scale = 1;
        unsigned count;

        value = read_digits(value, DAYS_MAX, &days, &count);
        if (value != NULL && *value == '.') {
                value = read_digits(value + 1, INT64_MAX / DAY_S / 10, &part, &count);
                for (unsigned i = 0; value != NULL && i < count; i++)
                        scale *= 10;
        }
        if (value == NULL || *value != '\0' || count > DAYS_DIGITS_MAX)
                return fault;
        *seconds = days * DAY_S + part * DAY_S / scale;
        /* So little that it would mean never. */
        return *seconds == 0 && part != 0 ? "is less than a second" : NULL;
}

static const char *set_mebibytes(uint64_t *bytes, const char *value, uint64_t least)
{
        uint64_t number;
        unsigned count;

        value = read_digits(value, UINT64_C(1) << 30, &number, &count);
        if (value == NULL || *value != '\0' || number < least)
                return least > 0 ? "is not a number of MiB from 1 to 1073741824"
                                 : "is not a number of MiB from 0 to 1073741824";
        *bytes = number << 20;
        return NULL;
}

static const char *set_memory(struct scn_config *config, const char *value)
{
        return set_mebibytes(&config->memory_bytes_max, value, 1);
}

static const char *set_fold_days(struct scn_config *config, const char *value)
{
        return set_days(&config->fold_age_s, value);
}

static const char *set_keep_days(struct scn_config *config, const char *value)
{
        return set_days(&config->keep_age_s, value);
}

static const char *set_reserve(struct scn_config *config, const char *value)
{
        return set_mebibytes(&config->reserve_bytes, value, 0);
}

static const char *set_check(struct scn_config *config, const char *value)
{
        (void)value;
        if (config->action == SCN_CONFIG_RUN)
                config->action = SCN_CONFIG_CHECK;
        return NULL;
}

static const char *set_version(struct scn_config *config, const char *value)
{
        (void)value;
        config->action = SCN_CONFIG_VERSION;
        return NULL;
}

/* Reading the file is no setting's work, but it happens before any is set. */
static const char *set_nothing(struct scn_config *config, const char *value)
{
        (void)config;
        (void)value;
        return NULL;
}

#define CONFIG "config"

static const struct setting settings[] = {
        {"data", "DIR", "Keep the documents in DIR (./scened-data)", false, true, set_data},
        {"listen", "ADDRESS", "Listen there: 127.0.0.1:7420 (the default), [::1]:PORT or unix:PATH; may be repeated",
                true, true, set_listen},
        {CONFIG, "FILE", "Read settings from FILE: lines \"name = value\", with these same names", false, false,
                set_nothing},
        {"log-format", "text|json", "Write the log, on standard error, as text (the default) or JSON", false, true,
                set_log_format},
        {"memory", "MIB", "Open no more documents when those there are take so much memory (4096)", false, true,
                set_memory},
        {"fold-days", "DAYS",
                "Keep of finished gestures that are older only where they began and ended (7); 0: keep all of them",
                false, true, set_fold_days},
        {"keep-days", "DAYS", "Drop history that is older, as far as no tag wants it (0: keep it for ever)", false,
                true, set_keep_days},
        {"reserve", "MIB", "Refuse edits while less of the disk is free (64); 0: until it is full", false, true,
                set_reserve},
        {"check", NULL, "Only check the settings, and that DIR can be made or written to", true, false, set_check},
        {"version", NULL, "Print the version", true, false, set_version},
};

#define SETTINGS_COUNT (sizeof settings / sizeof settings[0])

/* A value as it was found, and where: line 0 is the command line. */
struct given {
        const struct setting *setting;
        const char *value;
        unsigned line;
};

struct source {
        const char *path; /* NULL: the command line */
        struct given given[GIVEN_MAX];
        size_t given_count;
        char *problem; /* SCN_PROBLEM_BYTES; the caller's */
        char text[FILE_BYTES_MAX + 1];
};

static void complain(const struct source *source, const struct given *given, const char *fault)
{
        if (source->path == NULL)
                scn_problem_set(source->problem, "--%s %s: %s", given->setting->name,
                        given->value != NULL ? given->value : "", fault);
        else
                scn_problem_set(source->problem, "%s:%u: %s = %s: %s", source->path, given->line, given->setting->name,
                        given->value, fault);
}

/* Notes a value, to be set when all are known. */
static bool give(struct source *source, const struct setting *setting, const char *value, unsigned line)
{
        struct given given = {.setting = setting, .value = value, .line = line};

        for (size_t i = 0; i < source->given_count; i++) {
                if (source->given[i].setting == setting && !setting->may_repeat) {
                        complain(source, &given, "is given a second time");
                        return false;
                }
        }
        if (source->given_count == GIVEN_MAX) {
                complain(source, &given, "is one setting more than the 64 there may be");
                return false;
        }
        source->given[source->given_count++] = given;
        return true;
}

static const struct given *find_given(const struct source *source, const char *name)
{
        for (size_t i = 0; i < source->given_count; i++)
                if (strcmp(source->given[i].setting->name, name) == 0)
                        return &source->given[i];
        return NULL;
}

static bool apply(const struct source *source, struct scn_config *config)
{
        /* A source that says where to listen says all of it. */
        if (find_given(source, "listen") != NULL)
                config->listens_count = 0;
        for (size_t i = 0; i < source->given_count; i++) {
                const struct given *given = &source->given[i];
                const char *fault = given->setting->set(config, given->value);
                if (fault != NULL) {
                        complain(source, given, fault);
                        return false;
                }
        }
        return true;
}

/* -------------------------------------------------------- the command line */

static error_t on_option(int key, char *value, struct argp_state *state)
{
        struct source *source = state->input;

        if (key == ARGP_KEY_ARG)
                argp_error(state, "%s: is no option, and nothing else is expected", value);
        if (key < KEY_FIRST || (size_t)(key - KEY_FIRST) >= SETTINGS_COUNT)
                return ARGP_ERR_UNKNOWN;
        return give(source, &settings[key - KEY_FIRST], value, 0) ? 0 : EINVAL;
}

static bool read_command_line(struct source *source, int argc, char **argv)
{
        struct argp_option options[SETTINGS_COUNT + 1] = {{0}};
        struct argp argp = {
                .options = options,
                .parser = on_option,
                .doc = "Lets many 3D editors work on one scene.\v"
                       "A setting of the command line counts more than the same one in the file. Listening beyond this "
                       "machine needs a login, which does not exist yet.\n\n"
                       "Exit status: 0 ended by a signal; 1 it cannot start; 2 a setting is wrong.",
        };

        for (size_t i = 0; i < SETTINGS_COUNT; i++)
                options[i] = (struct argp_option){
                        .name = settings[i].name,
                        .key = KEY_FIRST + (int)i,
                        .arg = settings[i].value,
                        .doc = settings[i].text,
                };
        argp_err_exit_status = 2;
        return argp_parse(&argp, argc, argv, 0, NULL, source) == 0;
}

/* ---------------------------------------------------------------- the file */

static bool load(struct source *source)
{
        FILE *file = fopen(source->path, "re");
        if (file == NULL) {
                scn_problem_set(source->problem, "--" CONFIG " %s: %s", source->path, strerror(errno));
                return false;
        }
        size_t size = fread(source->text, 1, FILE_BYTES_MAX + 1, file);
        int error = ferror(file) ? errno : 0;
        (void)fclose(file);
        if (error != 0 || size > FILE_BYTES_MAX) {
                scn_problem_set(source->problem, "--" CONFIG " %s: %s", source->path,
                        error != 0 ? strerror(error) : "is larger than 64 KiB");
                return false;
        }
        source->text[size] = '\0';
        if (strlen(source->text) != size) {
                scn_problem_set(source->problem, "--" CONFIG " %s: is not a text", source->path);
                return false;
        }
        return true;
}

static bool is_blank(char character)
{
        return character == ' ' || character == '\t' || character == '\r';
}

/* Cuts off what is blank at both ends. */
static char *trim(char *text)
{
        size_t size;

        while (is_blank(*text))
                text++;
        size = strlen(text);
        while (size > 0 && is_blank(text[size - 1]))
                size--;
        text[size] = '\0';
        return text;
}

static const struct setting *find_setting(const char *name)
{
        for (size_t i = 0; i < SETTINGS_COUNT; i++)
                if (settings[i].is_for_file && strcmp(settings[i].name, name) == 0)
                        return &settings[i];
        return NULL;
}

static bool read_line(struct source *source, char *line, unsigned number)
{
        line = trim(line);
        if (*line == '\0' || *line == '#')
                return true;
        char *equals = strchr(line, '=');
        if (equals == NULL) {
                scn_problem_set(
                        source->problem, "%s:%u: %s: is not of the form name = value", source->path, number, line);
                return false;
        }
        *equals = '\0';
        const char *name = trim(line);
        const struct setting *setting = find_setting(name);
        if (setting == NULL) {
                scn_problem_set(source->problem, "%s:%u: %s: there is no such setting", source->path, number, name);
                return false;
        }
        return give(source, setting, trim(equals + 1), number);
}

static bool read_file(struct source *source)
{
        if (!load(source))
                return false;
        char *line = source->text;
        for (unsigned number = 1; line != NULL; number++) {
                char *end = strchr(line, '\n');
                if (end != NULL)
                        *end = '\0';
                if (!read_line(source, line, number))
                        return false;
                line = end != NULL ? end + 1 : NULL;
        }
        return true;
}

/* --------------------------------------------------------------------- all */

static bool set_defaults(struct scn_config *config)
{
        *config = (struct scn_config){.action = SCN_CONFIG_RUN};
        return set_data(config, "./scened-data") == NULL && set_listen(config, "127.0.0.1:7420") == NULL &&
                set_log_format(config, "text") == NULL && set_memory(config, "4096") == NULL &&
                set_fold_days(config, "7") == NULL && set_keep_days(config, "0") == NULL &&
                set_reserve(config, "64") == NULL;
}

bool scn_config_read(int argc, char **argv, struct scn_config *config_out, char problem_out[SCN_PROBLEM_BYTES])
{
        struct source line = {.problem = problem_out};
        struct source file = {.problem = problem_out};
        bool is_default = set_defaults(config_out);

        SCN_ASSERT(is_default);
        if (!read_command_line(&line, argc, argv))
                return false;
        const struct given *path = find_given(&line, CONFIG);
        if (path != NULL) {
                file.path = path->value;
                if (!read_file(&file) || !apply(&file, config_out))
                        return false;
        }
        return apply(&line, config_out);
}
