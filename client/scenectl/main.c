/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The command line: which command, with what. */

#include "client/scenectl/ctl.h"
#include "protocol/base/alloc.h"
#include "protocol/base/assert.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVER_DEFAULT "127.0.0.1:7420"
#define HELP_BYTES 8192
#define HELP_LINE 78
#define HELP_COLUMN 35 /* of what a command does */
#define KEY_HELP 'h'   /* argp's own is '?' */
#define MARK '\1'

/* Keys of options: these need no letter of their own. */
enum {
        KEY_SERVER = 256,
        KEY_AS,
        KEY_JSON,
        KEY_COMMAND_FIRST,
};

static const struct argp_option global_options[] = {
        {"server", KEY_SERVER, "ADDRESS", 0, "HOST:PORT or unix:PATH ($SCENED_SERVER, else " SERVER_DEFAULT ")", 10},
        {"as", KEY_AS, "NAME", 0, "whose edits these are, where no login is configured ($USER)", 10},
        {"json", KEY_JSON, NULL, 0, "one JSON object a line", 10},
        {NULL, KEY_HELP, NULL, OPTION_HIDDEN, NULL, 10},
        {NULL, 0, NULL, 0, NULL, 0},
};

/* --- Numbers below zero --- */

/* No option begins with a digit: -1 is a value. It is marked, so that it is not looked for among the options; whoever
 * takes a value takes the mark off. */
static char *mark_numbers(int argc, char **argv)
{
        size_t size = 1;
        for (int i = 1; i < argc; i++) {
                size += strlen(argv[i]) + 2;
        }
        char *texts = scn_alloc(size);
        char *at = texts;
        for (int i = 1; texts != NULL && i < argc && strcmp(argv[i], "--") != 0; i++) {
                if (argv[i][0] == '-' && argv[i][1] >= '0' && argv[i][1] <= '9') {
                        const int length = snprintf(at, size - (size_t)(at - texts), "%c%s", MARK, argv[i]);
                        argv[i] = at;
                        at += length + 1;
                }
        }
        return texts;
}

/* The value of an argument or option, which may be marked; NULL: it has none. */
static char *unmarked(char *value)
{
        return value != NULL && value[0] == MARK ? value + 1 : value;
}

/* --- What is wrong with the command line --- */

/* To people argp says more, and ends the program. */
static error_t complain(struct scn_ctl *ctl, struct argp_state *state, const char *what, const char *about)
{
        char text[256];
        (void)snprintf(text, sizeof text, "%s%s", what, about);
        if (ctl->is_json) {
                (void)scn_ctl_misuse(ctl, "%s", text);
        } else {
                argp_error(state, "%s", text);
        }
        return EINVAL;
}

/* Before anything is parsed: whether a wrong command line is complained of in JSON. */
static bool wants_json(int argc, char **argv)
{
        for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
                if (strcmp(argv[i], "--json") == 0) {
                        return true;
                }
        }
        return false;
}

/* What argp does not let us say itself, it says to people only. False: it was said, one way or another. */
static bool parse(struct scn_ctl *ctl, const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
        const unsigned silent = ctl->is_json ? ARGP_NO_ERRS : 0;
        const error_t error = argp_parse(argp, argc, argv, flags | silent, NULL, input);
        if (error != 0 && ctl->code == SCN_CTL_OK) {
                (void)scn_ctl_misuse(ctl, "an option is not known, or lacks its value; see %s --help", argv[0]);
        }
        return error == 0;
}

static error_t parse_global(int key, char *value, struct argp_state *state)
{
        struct scn_ctl *ctl = state->input;
        switch (key) {
        case KEY_SERVER:
                ctl->server = unmarked(value);
                ctl->is_server_typed = true;
                return 0;
        case KEY_AS:
                ctl->author = unmarked(value);
                return 0;
        case KEY_JSON:
                ctl->is_json = true;
                return 0;
        case KEY_HELP:
                argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
                return 0;
        default:
                return ARGP_ERR_UNKNOWN;
        }
}

static const struct argp global_argp = {global_options, parse_global, NULL, NULL, NULL, NULL, NULL};

/* --- One command's own arguments --- */

struct parsing {
        struct scn_ctl *ctl;
        const struct scn_ctl_command *command;
        struct scn_ctl_arguments arguments;
        struct argp_option options[SCN_CTL_OPTION_COUNT + 1];
};

static const struct {
        const char *name;
        const char *argument;
        const char *what;
} option_rows[] = {
#define OPTION_ROW(name, argument, what) {#name, argument, what},
        SCN_CTL_OPTION_LIST(OPTION_ROW)
#undef OPTION_ROW
};

/* As it is typed: relative_to is --relative-to. The two that would be named alike are told apart by the command. */
static const char *typed_name(enum scn_ctl_option option)
{
        return option == SCN_CTL_OPTION_relative_to ? "relative-to"
                : option == SCN_CTL_OPTION_dry_run  ? "dry-run"
                : option == SCN_CTL_OPTION_stepwise ? "step"
                                                    : option_rows[option].name;
}

/* What an option means to one command, where it means more, or something else, than to others. */
static const struct {
        const char *command;
        enum scn_ctl_option option;
        const char *what;
} own_meanings[] = {
        {"watch", SCN_CTL_OPTION_mask,
                "only these, with commas: structure (always in), name, transform, properties, presence, locks, "
                "preview; or, with none of the first four, world"},
        {"diff", SCN_CTL_OPTION_node, "only this node, found by its path of now, with all beneath it"},
        {"replay", SCN_CTL_OPTION_node, "only this node, found by its path of now, with all beneath it"},
        {"restore", SCN_CTL_OPTION_node, "only this node with all beneath it, found by its path of now, else of then"},
        {"log", SCN_CTL_OPTION_node,
                "only edits of this node itself, found by its path of now, not of what is beneath it"},
        {"log", SCN_CTL_OPTION_from, "first revision, itself included; a number"},
        {"log", SCN_CTL_OPTION_to, "last revision, itself included; a number"},
        {"log", SCN_CTL_OPTION_since, "only what happened after this revision, time or tag"},
        {"replay", SCN_CTL_OPTION_from, "print what was at this revision, time or tag, and begin after it; without, 0"},
        {"replay", SCN_CTL_OPTION_to, "end with this revision, time or tag"},
};

static const char *meaning_of(const struct scn_ctl_command *command, enum scn_ctl_option option)
{
        for (size_t i = 0; i < sizeof own_meanings / sizeof own_meanings[0]; i++) {
                if (own_meanings[i].option == option && strcmp(own_meanings[i].command, command->name) == 0) {
                        return own_meanings[i].what;
                }
        }
        return option_rows[option].what;
}

static void list_options(struct parsing *parsing)
{
        unsigned count = 0;
        for (unsigned i = 0; i < SCN_CTL_OPTION_COUNT; i++) {
                if ((parsing->command->options >> i & 1) != 0) {
                        parsing->options[count++] = (struct argp_option){typed_name((enum scn_ctl_option)i),
                                KEY_COMMAND_FIRST + (int)i, option_rows[i].argument, 0,
                                meaning_of(parsing->command, (enum scn_ctl_option)i), 1};
                }
        }
        parsing->options[count] = (struct argp_option){NULL, 0, NULL, 0, NULL, 0};
}

static void take_option(struct scn_ctl_arguments *arguments, int key, const char *value)
{
        const enum scn_ctl_option option = (enum scn_ctl_option)(key - KEY_COMMAND_FIRST);
        arguments->options[option] = value != NULL ? value : "";
        if (option == SCN_CTL_OPTION_set) {
                arguments->sets[arguments->sets_count++] = value;
        }
}

static error_t parse_command(int key, char *value, struct argp_state *state)
{
        struct parsing *parsing = state->input;
        struct scn_ctl_arguments *arguments = &parsing->arguments;
        value = unmarked(value);
        switch (key) {
        case ARGP_KEY_INIT:
                state->child_inputs[0] = parsing->ctl;
                return 0;
        case ARGP_KEY_ARG:
                if (arguments->values_count >= parsing->command->values_max) {
                        return complain(parsing->ctl, state, "too many arguments, beginning with ", value);
                }
                arguments->values[arguments->values_count++] = value;
                return 0;
        case ARGP_KEY_END:
                if (arguments->values_count < parsing->command->values_min) {
                        return complain(parsing->ctl, state, "an argument is missing: ", parsing->command->usage);
                }
                return 0;
        default:
                if (key < KEY_COMMAND_FIRST || key >= KEY_COMMAND_FIRST + SCN_CTL_OPTION_COUNT) {
                        return ARGP_ERR_UNKNOWN;
                }
                take_option(arguments, key, value);
                return 0;
        }
}

/* argv[0] is the command's name. `texts`: of marked numbers, which ctl may go on to point into. */
static int run_command(
        struct scn_ctl *ctl, const struct scn_ctl_command *command, int argc, char **argv, const char *texts)
{
        struct parsing parsing = {.ctl = ctl, .command = command};
        char name[64];
        const struct argp_child children[] = {{&global_argp, 0, NULL, 0}, {NULL, 0, NULL, 0}};
        const struct argp argp = {parsing.options, parse_command, command->usage, command->what, children, NULL, NULL};
        list_options(&parsing);
        (void)snprintf(name, sizeof name, "scenectl %s", command->name);
        argv[0] = name;
        parsing.arguments.values = scn_alloc((size_t)argc * sizeof(char *));
        parsing.arguments.sets = scn_alloc((size_t)argc * sizeof(char *));
        int code = SCN_CTL_REFUSED;
        if (parsing.arguments.values == NULL || parsing.arguments.sets == NULL || texts == NULL) {
                (void)scn_ctl_refuse(ctl, SCN_E_NO_MEMORY);
        } else {
                code = parse(ctl, &argp, argc, argv, 0, &parsing) ? command->run(ctl, &parsing.arguments) : ctl->code;
        }
        scn_free(parsing.arguments.values);
        scn_free(parsing.arguments.sets);
        return code;
}

/* --- Which command --- */

struct choice {
        struct scn_ctl *ctl;
        int at; /* where in argv the command stands; 0: nowhere */
};

static error_t parse_main(int key, char *value, struct argp_state *state)
{
        struct choice *choice = state->input;
        (void)value;
        switch (key) {
        case ARGP_KEY_INIT:
                state->child_inputs[0] = choice->ctl;
                return 0;
        case ARGP_KEY_ARG:
                choice->at = state->next - 1;
                state->next = state->argc;
                return 0;
        case ARGP_KEY_NO_ARGS:
                return complain(choice->ctl, state, "which command?", "");
        default:
                return ARGP_ERR_UNKNOWN;
        }
}

/* What a command does, in lines that begin beneath one another; gives the size. */
static size_t describe(char help[HELP_BYTES], size_t size, const char *what)
{
        const int width = HELP_LINE - HELP_COLUMN;
        while (*what != '\0' && size < HELP_BYTES) {
                int length = (int)strlen(what);
                if (length > width) {
                        length = width;
                        while (length > 1 && what[length] != ' ') {
                                length--;
                        }
                }
                const char *next = what + length + (what[length] == ' ');
                size += (size_t)snprintf(
                        help + size, HELP_BYTES - size, "%.*s\n%*s", length, what, *next != '\0' ? HELP_COLUMN : 0, "");
                what = next;
        }
        return size;
}

static void describe_commands(char help[HELP_BYTES])
{
        size_t size = (size_t)snprintf(help, HELP_BYTES, "Commands of the scene daemon.\v");
        for (const struct scn_ctl_command *command = scn_ctl_commands; command->name != NULL; command++) {
                size += (size_t)snprintf(
                        help + size, HELP_BYTES - size, "  %-13s%-19s ", command->name, command->usage);
                size = describe(help, size, command->what);
                SCN_ASSERT(size < HELP_BYTES);
        }
        (void)snprintf(help + size, HELP_BYTES - size,
                "\nscenectl COMMAND --help, or scenectl help COMMAND, says more about each.\n\n"
                "Exit status: 0 done; 1 refused, or not in order; 2 wrong usage;\n"
                "3 no server, or it went away.\n"
                "Environment: SCENED_SERVER, SCENED_TOKEN, USER, TMPDIR.");
}

static const struct scn_ctl_command *find_command(const char *name)
{
        const struct scn_ctl_command *command = scn_ctl_commands;
        while (command->name != NULL && strcmp(command->name, name) != 0) {
                command++;
        }
        return command->name == NULL ? NULL : command;
}

/* *texts_out: memory that ctl may point into. */
static int run(struct scn_ctl *ctl, int argc, char **argv, char **texts_out)
{
        static char help[HELP_BYTES];
        static char help_option[] = "--help";
        struct choice choice = {ctl, 0};
        const struct argp_child children[] = {{&global_argp, 0, NULL, 0}, {NULL, 0, NULL, 0}};
        const struct argp argp = {NULL, parse_main, "COMMAND ...", help, children, NULL, NULL};
        describe_commands(help);
        ctl->is_json = wants_json(argc, argv);
        if (!parse(ctl, &argp, argc, argv, ARGP_IN_ORDER, &choice)) {
                return ctl->code;
        }
        if (strcmp(argv[choice.at], "help") == 0) {
                if (choice.at + 1 == argc) {
                        argv[choice.at] = help_option;
                        (void)parse(ctl, &argp, argc, argv, ARGP_IN_ORDER, &choice); /* which ends here */
                        return ctl->code;
                }
                argv[choice.at] = argv[choice.at + 1];
                argv[choice.at + 1] = help_option;
        }
        const struct scn_ctl_command *command = find_command(argv[choice.at]);
        if (command == NULL) {
                return scn_ctl_misuse(ctl, "there is no command '%s'; see scenectl --help", argv[choice.at]);
        }
        *texts_out = mark_numbers(argc - choice.at, argv + choice.at);
        return run_command(ctl, command, argc - choice.at, argv + choice.at, *texts_out);
}

static void print_version(FILE *stream, struct argp_state *state)
{
        (void)state;
        (void)fprintf(stream, "scenectl %s\n", scn_version());
}

int main(int argc, char **argv)
{
        struct scn_ctl ctl;
        (void)signal(SIGXFSZ, SIG_IGN); /* a limit on files is a full disk */
        argp_err_exit_status = SCN_CTL_USAGE;
        argp_program_version_hook = print_version;
        scn_ctl_init(&ctl);
        char *texts = NULL;
        const int code = run(&ctl, argc, argv, &texts);
        scn_ctl_flush(&ctl);
        const int final = ctl.code != SCN_CTL_OK && code == SCN_CTL_OK ? ctl.code : code;
        scn_ctl_finish(&ctl);
        scn_free(texts);
        return final;
}
