/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_CLIENT_SCENECTL_CTL_H
#define SCN_CLIENT_SCENECTL_CTL_H

/* What scenectl's commands share: the command table's types, a connection that is waited for, and printing.
 *
 * A command connects, asks, waits until its callbacks have said scn_ctl_done(), and returns the exit code. What it
 * prints goes to standard output: for people, or, with --json, one JSON object a line. An error is a JSON object
 * there too; for people it goes to standard error. */

#include "client/scenectl/json_text.h"
#include "client/scenectl/json_value.h"

#include <scn/client.h>

enum scn_ctl_exit {
        SCN_CTL_OK,
        SCN_CTL_REFUSED,       /* the server said no */
        SCN_CTL_USAGE,         /* the command line is wrong */
        SCN_CTL_NO_CONNECTION, /* there is no server, or it went away */
};

/* A connection that breaks is waited for this long. */
#define SCN_CTL_PATIENCE_MS 10000

/* --- Options --- */

/*      name                  argument      what */
#define SCN_CTL_OPTION_LIST(X)                                                                                         \
        X(at, "REV", "as of this revision, time or tag")                                                               \
        X(depth, "N", "levels below the node")                                                                         \
        X(index, "N", "position among the siblings, from 0")                                                           \
        X(after, "NODE", "behind this sibling")                                                                        \
        X(translation, "X,Y,Z", "metres")                                                                              \
        X(rotation, "X,Y,Z,W", "a quaternion")                                                                         \
        X(scale, "X,Y,Z", "factors")                                                                                   \
        X(uid, "UID", "name it by this UUID")                                                                          \
        X(set, "KEY=JSON", "with this property; may be repeated")                                                      \
        X(keep, "local|world", "what stays as it is: the local transform, or where it is in the world")                \
        X(lossy, NULL, "give up shear that the transform cannot hold")                                                 \
        X(mask, "CHANNELS", "only these, with commas: structure (always in), name, transform, properties")             \
        X(since, "REV", "begin with what changed since this revision")                                                 \
        X(durable, NULL, "only what cannot be lost any more")                                                          \
        X(force, NULL, "also where others have built on it")                                                           \
        X(trash, NULL, "those that were deleted, and when")                                                            \
        X(dry_run, NULL, "only say what it would do")                                                                  \
        X(node, "NODE", "only what concerns this node")                                                                \
        X(author, "NAME", "only what this author did")                                                                 \
        X(from, "REV", "first revision")                                                                               \
        X(to, "REV", "last revision")                                                                                  \
        X(limit, "N", "so many at the most: the oldest")                                                               \
        X(last, "N", "only the last so many")                                                                          \
        X(speed, "X|max", "times as fast as it happened; max: without waiting")                                        \
        X(relative_to, "NODE", "in this node's frame, not the world's")                                                \
        X(step, "STEP", "the step that began with this revision")                                                      \
        X(stepwise, NULL, "wait for the return key after each revision")                                               \
        X(under, "NODE", "put it under this node")                                                                     \
        X(into, "ADDR/DOC", "do it again as edits of this document, here or on another server")                        \
        X(group, "G", "only the edits of this group")                                                                  \
        X(until, "REV", "end with this revision, time or tag")                                                         \
        X(list, NULL, "all that there are")                                                                            \
        X(remove, NULL, "take it away")                                                                                \
        X(scene, "NAME", "this scene of the file, not its default one")                                                \
        X(ttl, "SECONDS", "how long to hold it; without, until interrupted")                                           \
        X(subtree, NULL, "with all that is beneath")                                                                   \
        X(all, NULL, "every document, into a folder; what it has already is not copied again")                         \
        X(replace, NULL, "a document that has the name goes to the trash")

enum scn_ctl_option {
#define SCN_CTL_OPTION_ENUM(name, argument, what) SCN_CTL_OPTION_##name,
        SCN_CTL_OPTION_LIST(SCN_CTL_OPTION_ENUM)
#undef SCN_CTL_OPTION_ENUM
        SCN_CTL_OPTION_COUNT,
};

/* For the table: which options a command takes. */
#define SCN_CTL_BIT(name) (UINT64_C(1) << SCN_CTL_OPTION_##name)

/* What stood on the command line; texts are the program's own. */
struct scn_ctl_arguments {
        char **values; /* positional */
        unsigned values_count;
        const char *options[SCN_CTL_OPTION_COUNT]; /* NULL: not given; without argument: "" */
        const char **sets;                         /* each --set */
        unsigned sets_count;
};

/* --- Commands --- */

struct scn_ctl;

struct scn_ctl_command {
        const char *name;
        const char *usage; /* positional arguments, for people */
        const char *what;
        unsigned values_min;
        unsigned values_max; /* UINT_MAX: any number */
        uint64_t options;    /* SCN_CTL_BIT */
        int (*run)(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
};

/* In the order of the help; ends with a row without a name. */
extern const struct scn_ctl_command scn_ctl_commands[];

/* --- Running --- */

struct scn_ctl {
        const char *server;
        bool is_server_typed; /* else it is the environment's, or the default */
        const char *author;
        bool is_json;
        bool creates;          /* scn_ctl_open() makes the document if it is not there */
        const char *tolerates; /* a failure with this code is not printed, but noted; NULL: none */
        bool has_tolerated;
        bool catches;              /* failures are not printed but kept: */
        struct scn_failure caught; /* the last one; without detail */
        struct scn_client *client;
        struct scn_socket *socket;
        bool is_done;
        int code; /* exit */
        struct scn_buffer line;
        struct scn_json json;
        bool wants_comma;
        uint64_t offline_since_ms;
        struct scn_failure reason; /* why the connection was lost last */
        bool has_ended;            /* ... and for good, which was printed */
        uint64_t input_line;       /* that a failure is about, from 1; 0: none */
        const char *hint;          /* instead of what is always said to a failure's code ("": nothing); NULL: that */
};

void scn_ctl_init(struct scn_ctl *ctl);
void scn_ctl_finish(struct scn_ctl *ctl);

/* Connects and waits until the document is open (NULL: none). False: that failed, was printed, and ctl->code says
 * how to exit. */
bool scn_ctl_open(struct scn_ctl *ctl, const char *document);
/* Ends the connection; callbacks that still wait hear that they are cancelled. */
void scn_ctl_close(struct scn_ctl *ctl);
/* Waits until done, and closes: what callbacks were given as data need not live longer. Returns ctl->code. */
int scn_ctl_wait(struct scn_ctl *ctl);
/* Waits at most so long for something to happen; -1: for ever. False: the connection is lost for good. */
bool scn_ctl_turn(struct scn_ctl *ctl, int timeout_ms);
/* The same timeout, but none that is longer than a broken connection is waited for. */
int scn_ctl_patience_ms(const struct scn_ctl *ctl, int timeout_ms);
/* The command has what it wanted. */
void scn_ctl_done(struct scn_ctl *ctl);
/* The same, with a failure that is printed. */
void scn_ctl_fail(struct scn_ctl *ctl, const struct scn_failure *failure);
/* The same without the node: one whose uid was made up a moment ago, which nobody has seen. */
void scn_ctl_fail_nameless(struct scn_ctl *ctl, const struct scn_failure *failure);
/* The same about a file, with errno's text. */
void scn_ctl_fail_path(struct scn_ctl *ctl, const char *code, const char *path, int error_number);
/* For a call that was refused on the spot: prints, and returns the exit code. */
int scn_ctl_refuse(struct scn_ctl *ctl, enum scn_error error);
/* The command line is wrong; prints why, and returns SCN_CTL_USAGE. */
__attribute__((format(printf, 2, 3))) int scn_ctl_misuse(struct scn_ctl *ctl, const char *format, ...);
/* Milliseconds of a clock that never goes back. */
uint64_t scn_ctl_now_ms(void);

/* The callback of a command whose answer needs no printing but its success; data: the scn_ctl. */
void scn_ctl_on_done(struct scn_client *client, const struct scn_answer *answer, void *data);
/* For people: what was done otherwise than it was asked for. */
void scn_ctl_print_otherwise(struct scn_slice results);
void scn_ctl_put_otherwise(struct scn_ctl *ctl, struct scn_slice results);
/* All that the server says of single ops: the uid of each node added, and what was done otherwise. */
void scn_ctl_put_results(struct scn_ctl *ctl, struct scn_slice results);
/* The callback of an edit; data: the scn_ctl. */
void scn_ctl_on_edited(struct scn_client *client, const struct scn_result *result, void *data);

/* --- Reading arguments: each prints what is wrong with which (`what`, as --help calls it) and says false --- */

/* UUID or path. */
bool scn_ctl_read_node(struct scn_ctl *ctl, const char *what, const char *text, struct scn_target *target_out);
bool scn_ctl_read_uid(struct scn_ctl *ctl, const char *what, const char *text, struct scn_uid *uid_out);
bool scn_ctl_read_number(struct scn_ctl *ctl, const char *what, const char *text, uint64_t max, uint64_t *number_out);
/* Numbers with commas. */
bool scn_ctl_read_floats(struct scn_ctl *ctl, const char *what, const char *text, uint32_t count, float *floats_out);
/* That of --mask: channels that are among these. */
bool scn_ctl_read_mask(struct scn_ctl *ctl, const char *text, uint32_t among, uint32_t *mask_out);
/* Prints the names of a mask's channels, with this between them. */
void scn_ctl_print_mask(uint32_t mask, const char *between);
/* Nodes from a command's second argument on; owned by the caller; NULL: that failed, and was said. */
struct scn_target *scn_ctl_read_nodes(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
/* JSON into a buffer as msgpack; JSON's null gives no bytes at all. */
bool scn_ctl_read_value(struct scn_ctl *ctl, const char *what, const char *text, struct scn_buffer *buffer);

/* --- Printing --- */

/* A JSON line: begin, for each member a key and then a value into ctl->json, end. */
void scn_ctl_begin_line(struct scn_ctl *ctl);
void scn_ctl_key(struct scn_ctl *ctl, const char *key);
void scn_ctl_end_line(struct scn_ctl *ctl);
/* For nested objects and arrays: an opening bracket, a comma where one is wanted, a closing bracket. */
void scn_ctl_open_bracket(struct scn_ctl *ctl, const char *bracket);
void scn_ctl_next(struct scn_ctl *ctl);
void scn_ctl_close_bracket(struct scn_ctl *ctl, const char *bracket);

void scn_ctl_put_uid(struct scn_ctl *ctl, struct scn_uid uid); /* none: null */
void scn_ctl_put_name(struct scn_ctl *ctl, struct scn_slice name);
void scn_ctl_put_floats(struct scn_ctl *ctl, const float *floats, uint32_t count);
/* A msgpack map of properties as an object. */
void scn_ctl_put_props(struct scn_ctl *ctl, struct scn_slice map);
/* Members of a msgpack map that is no property (an answer's body): 16 bytes are a uid, under "digest" they are
 * hexadecimal, as are all others. */
void scn_ctl_put_members(struct scn_ctl *ctl, struct scn_slice map);
void scn_ctl_put_hex(struct scn_ctl *ctl, struct scn_slice bytes);

/* For people. A name may hold what would steer a terminal: that is shown as dots. */
__attribute__((format(printf, 1, 2))) void scn_ctl_print(const char *format, ...);
void scn_ctl_print_text(struct scn_slice text);
void scn_ctl_print_cstring(const char *text);
/* The same on standard error. */
void scn_ctl_complain(struct scn_slice text);
/* The same into ctl->json, for a line that is printed as a whole. */
void scn_ctl_put_plain(struct scn_ctl *ctl, struct scn_slice text);
void scn_ctl_print_uid(struct scn_uid uid);
void scn_ctl_print_floats(const char *name, const float *floats, uint32_t count);
/* The same map, a member a line, or, with a separator, in one. */
void scn_ctl_print_members(struct scn_slice map, const char *separator);
struct scn_unpacker;
/* The unpacker at the member of this name. False: the map has none, or is none. */
bool scn_ctl_find_member(struct scn_slice map, const char *name, struct scn_unpacker *unpacker_out);
/* ... without the members of these names, up to NULL, which are told otherwise. */
void scn_ctl_print_members_but(struct scn_slice map, const char *separator, const char *const *but);
/* What an edit came to, without this member (NULL: all): the rest of a line, and one for each field skipped. */
void scn_ctl_print_summary(struct scn_slice summary, const char *but);
/* Seconds since 1970 in microseconds, as a date. */
void scn_ctl_print_time(uint64_t time_us);
/* So that whoever reads from us does not wait. */
void scn_ctl_flush(struct scn_ctl *ctl);

/* The channels of presence, locks and previews in `mask`, as the view has them now. */
void scn_ctl_print_live(struct scn_ctl *ctl, const struct scn_view *view, uint32_t mask);

/* What reading or writing a scene file had to tell: the failure; notes for people; notes as a member of a line. */
struct scn_gltf_report;
void scn_ctl_fail_gltf(struct scn_ctl *ctl, const char *path, const struct scn_gltf_report *report);
void scn_ctl_print_notes(const struct scn_gltf_report *report);
void scn_ctl_put_notes(struct scn_ctl *ctl, const struct scn_gltf_report *report);

/* --- The commands --- */

int scn_ctl_run_ls(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_create(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_delete(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_undelete(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_rename(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_info(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_who(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_kick(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_tree(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_get(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_add(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_move(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_rm(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_transform(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_rename_node(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_set(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_unset(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_apply(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_watch(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_lock(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_unlock(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_world(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_undo(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_redo(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_log(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_replay(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_digest(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_verify(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_import(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_export(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_backup(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_restore_file(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_tag(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_blame(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_diff(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_restore(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_fork(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);
int scn_ctl_run_ping(struct scn_ctl *ctl, const struct scn_ctl_arguments *arguments);

#endif
