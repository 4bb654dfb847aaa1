/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */

/* The table of commands (DESIGN §8). To add one, add a row and its file. */

#include "client/scenectl/ctl.h"

#include <limits.h>

#define BIT(name) SCN_CTL_BIT(name)
#define PLACE (BIT(index) | BIT(after))
#define TRS (BIT(translation) | BIT(rotation) | BIT(scale))

/* clang-format off */
const struct scn_ctl_command scn_ctl_commands[] = {
        {"ls", "", "names of the documents", 0, 0, BIT(trash), scn_ctl_run_ls},
        {"create", "DOC", "make an empty document", 1, 1, 0, scn_ctl_run_create},
        {"delete", "DOC", "put a document into the trash, where it stays for 30 days", 1, 1, 0, scn_ctl_run_delete},
        {"undelete", "DOC", "take it out of the trash", 1, 1, 0, scn_ctl_run_undelete},
        {"rename", "DOC NEW", "give a document another name", 2, 2, 0, scn_ctl_run_rename},
        {"info", "DOC", "revision, nodes, sessions of a document", 1, 1, 0, scn_ctl_run_info},
        {"who", "[DOC]", "who is connected", 0, 1, 0, scn_ctl_run_who},
        {"kick", "SESSION", "end somebody's session", 1, 1, 0, scn_ctl_run_kick},
        {"import", "DOC FILE", "a scene file's nodes, as one edit; makes the document if need be", 2, 2,
                BIT(under) | BIT(scene), scn_ctl_run_import},
        {"export", "DOC FILE", "write it as glTF, .gltf or .glb", 2, 2, BIT(at), scn_ctl_run_export},
        {"tree", "DOC [NODE]", "nodes, parents first", 1, 2, BIT(at) | BIT(depth), scn_ctl_run_tree},
        {"get", "DOC NODE", "one node", 2, 2, BIT(at), scn_ctl_run_get},
        {"add", "DOC PARENT NAME", "make a node", 3, 3, PLACE | TRS | BIT(uid) | BIT(set), scn_ctl_run_add},
        {"move", "DOC NODE PARENT", "put a node elsewhere", 3, 3, PLACE | BIT(keep) | BIT(lossy), scn_ctl_run_move},
        {"rm", "DOC NODE", "remove a node with all beneath it", 2, 2, 0, scn_ctl_run_rm},
        {"transform", "DOC NODE", "set a node's local transform", 2, 2, TRS, scn_ctl_run_transform},
        {"rename-node", "DOC NODE NAME", "give a node another name", 3, 3, 0, scn_ctl_run_rename_node},
        {"set", "DOC NODE KEY JSON", "set a property", 4, 4, 0, scn_ctl_run_set},
        {"unset", "DOC NODE KEY", "remove a property", 3, 3, 0, scn_ctl_run_unset},
        {"apply", "DOC [FILE]", "edits as JSON, one a line, each whole or not at all; FILE -: standard input",
                1, 2, 0, scn_ctl_run_apply},
        {"watch", "DOC [NODE]", "the state, then what changes", 1, 2, BIT(mask) | BIT(since), scn_ctl_run_watch},
        {"world", "DOC NODE...", "where nodes are in the world", 2, UINT_MAX,
                BIT(relative_to) | BIT(at) | BIT(durable), scn_ctl_run_world},
        {"lock", "DOC NODE...", "keep others from editing nodes, for as long as this runs", 2, UINT_MAX,
                BIT(ttl) | BIT(subtree), scn_ctl_run_lock},
        {"unlock", "DOC NODE...", "let them again, whichever session of yours locked them", 2, UINT_MAX, 0,
                scn_ctl_run_unlock},
        {"undo", "DOC [N]", "take back your last steps", 1, 2, BIT(force) | BIT(step) | BIT(dry_run),
                scn_ctl_run_undo},
        {"redo", "DOC [N]", "bring them back", 1, 2, 0, scn_ctl_run_redo},
        {"restore", "DOC REV", "bring back what a revision, time or tag was, as a new revision", 2, 2, BIT(node),
                scn_ctl_run_restore},
        {"fork", "DOC NEW", "a new document with what is in this one", 2, 2, BIT(at), scn_ctl_run_fork},
        {"log", "DOC", "transactions", 1, 1,
                BIT(node) | BIT(author) | BIT(from) | BIT(to) | BIT(limit) | BIT(last) | BIT(group) | BIT(since) |
                        BIT(until),
                scn_ctl_run_log},
        {"blame", "DOC NODE", "who set each field of a node, and when", 2, 2, 0, scn_ctl_run_blame},
        {"diff", "DOC REV1 REV2", "what is otherwise at the second revision, time or tag", 3, 3,
                BIT(node) | BIT(mask), scn_ctl_run_diff},
        {"replay", "DOC", "what happened, a revision at a time", 1, 1,
                BIT(from) | BIT(to) | BIT(speed) | BIT(stepwise) | BIT(node) | BIT(mask) | BIT(author) | BIT(into),
                scn_ctl_run_replay},
        {"tag", "DOC [NAME [REV]]", "give a revision a name, the last one if none is said", 1, 3,
                BIT(list) | BIT(remove), scn_ctl_run_tag},
        {"digest", "DOC [NODE]", "digest of a document or subtree", 1, 2, BIT(at), scn_ctl_run_digest},
        {"verify", "DOC|FILE...", "read and replay all of it, and compare; a file, with / or .scene, without a server",
                1, UINT_MAX, 0, scn_ctl_run_verify},
        {"backup", "DOC FILE|--all DIR",
                "copy a document's file, or all, while in use, and verify the copy; FILE -: standard output", 1, 2,
                BIT(all), scn_ctl_run_backup},
        {"restore-file", "DOC FILE", "make a document of a backup, once the server has verified it", 2, 2, BIT(replace),
                scn_ctl_run_restore_file},
        {"ping", "", "is the server there", 0, 0, 0, scn_ctl_run_ping},
        {.name = NULL},
};
/* clang-format on */
