/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 the scened authors */
#ifndef SCN_WIRE_SCHEMA_H
#define SCN_WIRE_SCHEMA_H

/* The one table of messages: numbers, names, fields. Structs, codec, names, dispatch and PROTOCOL.md expand from
 * it or are compared with it in a test.
 *
 * A message is a msgpack array: its number, then its fields in this order. An absent field is nil; absent fields
 * at the end may be left out; fields beyond those known are skipped, so a later version can add some at the end.
 * A number never changes its meaning; a changed shape gets a new number.
 *
 *   kind   msgpack                           in the struct            absent
 *   UINT   integer 0 .. 2^53 - 1             uint64_t                 SCN_ABSENT
 *   BOOL   bool                              bool                     false
 *   UID    bin of 16 bytes                   struct scn_uid           all zero
 *   TEXT   str, UTF-8                        struct scn_slice         data == NULL
 *   BIN    bin                               struct scn_slice         data == NULL
 *   REF    integer (id), bin (uid), str (path)  struct scn_node_ref   kind NONE
 *   AT     integer (revision), str (time, tag)  struct scn_slice      data == NULL
 *   RAW    any one object                    struct scn_slice         data == NULL
 *
 * M: must be there, O: may be absent. */

#define SCN_FIELDS_OF_hello(F, m)                                                                                      \
        F(m, UINT, version, M, "highest protocol version the client speaks")                                           \
        F(m, UID, client, M, "the client's uid: belongs to one author and one session")                                \
        F(m, TEXT, name, O, "the author's name where no login is configured")                                          \
        F(m, TEXT, token, O, "the secret where a login is configured")                                                 \
        F(m, TEXT, agent, O, "program and version, for people")                                                        \
        F(m, UINT, ping, O, "seconds: the client promises to send something at least that often")

#define SCN_FIELDS_OF_open(F, m)                                                                                       \
        F(m, UINT, request, M, "comes back in the answer")                                                             \
        F(m, TEXT, document, M, "name of the document this connection is to be bound to")                              \
        F(m, BOOL, create, O, "make it if it is not there")

#define SCN_FIELDS_OF_edit(F, m)                                                                                       \
        F(m, UINT, number, M, "the client's number of this edit, one higher than the last")                            \
        F(m, RAW, ops, M, "array of ops")                                                                              \
        F(m, UINT, group, O, "gesture the edit belongs to")                                                            \
        F(m, UINT, base, O, "revision the client had seen")                                                            \
        F(m, BOOL, strict, O, "refuse if a field written was changed after base by another client")                    \
        F(m, BOOL, more, O, "further parts of this edit follow, under the same number")                                \
        F(m, BOOL, import, O, "it brings in what was made elsewhere: its cause in the history")

#define SCN_FIELDS_OF_view(F, m)                                                                                       \
        F(m, UINT, request, M, "comes back in the answer")                                                             \
        F(m, UINT, view, M, "the client's number for the view")                                                        \
        F(m, REF, root, M, "root of the subtree")                                                                      \
        F(m, UINT, mask, M, "channels")                                                                                \
        F(m, UINT, rate, O, "deltas a second at the most")                                                             \
        F(m, BIN, epoch, O, "resume: epoch and revision the client has")                                               \
        F(m, UINT, rev, O, "resume")

#define SCN_FIELDS_OF_unview(F, m) F(m, UINT, view, M, "the view to end")

#define SCN_FIELDS_OF_undo(F, m)                                                                                       \
        F(m, UINT, number, M, "the client's number, as for an edit")                                                   \
        F(m, UINT, count, O, "steps, 1 if absent")                                                                     \
        F(m, BOOL, force, O, "also where others have built on it")                                                     \
        F(m, UINT, step, O, "the step to undo, named by its first revision")                                           \
        F(m, BOOL, dry, O, "only say what it would do")

#define SCN_FIELDS_OF_redo(F, m)                                                                                       \
        F(m, UINT, number, M, "the client's number, as for an edit")                                                   \
        F(m, UINT, count, O, "steps, 1 if absent")

#define SCN_FIELDS_OF_world(F, m)                                                                                      \
        F(m, UINT, request, M, "comes back in the answer")                                                             \
        F(m, RAW, nodes, M, "array of node references")                                                                \
        F(m, REF, relative, O, "node whose frame the answer is in; absent: the world")                                 \
        F(m, AT, at, O, "revision (integer), time or tag (text)")                                                      \
        F(m, BOOL, durable, O, "answer from what cannot be lost any more")

#define SCN_FIELDS_OF_tree(F, m)                                                                                       \
        F(m, UINT, request, M, "comes back in the answer")                                                             \
        F(m, REF, node, O, "top of the subtree; absent: the root")                                                     \
        F(m, UINT, depth, O, "levels below the top; absent: all")                                                      \
        F(m, AT, at, O, "revision or time")

#define SCN_FIELDS_OF_digest(F, m)                                                                                     \
        F(m, UINT, request, M, "comes back in the answer")                                                             \
        F(m, REF, node, O, "top of the subtree; absent: the document")                                                 \
        F(m, AT, at, O, "revision, time or tag")                                                                       \
        F(m, UINT, mask, O, "channels; absent: all")

#define SCN_FIELDS_OF_log(F, m)                                                                                        \
        F(m, UINT, request, M, "comes back in the answer")                                                             \
        F(m, REF, node, O, "only transactions that touched it")                                                        \
        F(m, TEXT, author, O, "only this author's")                                                                    \
        F(m, UINT, from, O, "first revision")                                                                          \
        F(m, UINT, to, O, "last revision")                                                                             \
        F(m, UINT, limit, O, "transactions at the most")                                                               \
        F(m, UINT, group, O, "only of this group")                                                                     \
        F(m, AT, since, O, "revision, time or tag to begin after")                                                     \
        F(m, AT, until, O, "revision, time or tag to end with")                                                        \
        F(m, UINT, last, O, "of all these only the last so many")

#define SCN_FIELDS_OF_replay(F, m)                                                                                     \
        F(m, UINT, request, M, "comes back in the answers")                                                            \
        F(m, AT, from, O, "revision, time or tag to begin after")                                                      \
        F(m, AT, to, O, "last revision, time or tag")                                                                  \
        F(m, REF, node, O, "only this subtree")                                                                        \
        F(m, UINT, mask, O, "channels")                                                                                \
        F(m, BOOL, merged, O, "all that changed as one delta")                                                         \
        F(m, TEXT, author, O, "only what this author did")

#define SCN_FIELDS_OF_documents(F, m)                                                                                  \
        F(m, UINT, request, M, "comes back in the answer")                                                             \
        F(m, BOOL, states, O, "not the names alone, but what state each is in")                                        \
        F(m, BOOL, trash, O, "those that were deleted, and when")

#define SCN_FIELDS_OF_manage(F, m)                                                                                     \
        F(m, UINT, request, M, "comes back in the answer")                                                             \
        F(m, TEXT, action, M, "create, delete, undelete or rename")                                                    \
        F(m, TEXT, document, M, "name")                                                                                \
        F(m, TEXT, to, O, "rename: the new name")

#define SCN_FIELDS_OF_info(F, m) F(m, UINT, request, M, "comes back in the answer")
#define SCN_FIELDS_OF_who(F, m) F(m, UINT, request, M, "comes back in the answer")

#define SCN_FIELDS_OF_kick(F, m)                                                                                       \
        F(m, UINT, request, M, "comes back in the answer")                                                             \
        F(m, UINT, session, M, "the session to end")

#define SCN_FIELDS_OF_verify(F, m) F(m, UINT, request, M, "comes back in the answer")
#define SCN_FIELDS_OF_backup(F, m) F(m, UINT, request, M, "comes back in the answers")
#define SCN_FIELDS_OF_ping(F, m) F(m, UINT, request, M, "comes back in the answer")

#define SCN_FIELDS_OF_presence(F, m) F(m, RAW, map, M, "keys to set in the session's presence; a nil removes one")
#define SCN_FIELDS_OF_preview(F, m)                                                                                    \
        F(m, RAW, nodes, M, "array of maps of node, t, r, s; empty: all of the session's end")

#define SCN_FIELDS_OF_lock(F, m)                                                                                       \
        F(m, UINT, request, M, "comes back in the answer")                                                             \
        F(m, RAW, nodes, M, "array of node references")                                                                \
        F(m, UINT, ttl, O, "seconds until it ends by itself; absent: 60")                                              \
        F(m, UINT, mask, O, "channels; absent: all")                                                                   \
        F(m, BOOL, subtree, O, "with all that is beneath")

#define SCN_FIELDS_OF_unlock(F, m)                                                                                     \
        F(m, UINT, request, M, "comes back in the answer")                                                             \
        F(m, RAW, nodes, O, "array of node references; absent: all that the session has locked")

#define SCN_FIELDS_OF_tag(F, m)                                                                                        \
        F(m, UINT, request, M, "comes back in the answer")                                                             \
        F(m, TEXT, name, M, "the tag")                                                                                 \
        F(m, UINT, rev, O, "the revision it is to name; absent: the durable one")                                      \
        F(m, BOOL, remove, O, "remove it")

#define SCN_FIELDS_OF_tags(F, m) F(m, UINT, request, M, "comes back in the answers")

#define SCN_FIELDS_OF_blame(F, m)                                                                                      \
        F(m, UINT, request, M, "comes back in the answer")                                                             \
        F(m, REF, node, M, "the node")

#define SCN_FIELDS_OF_restore(F, m)                                                                                    \
        F(m, UINT, number, M, "the client's number, as for an edit")                                                   \
        F(m, AT, at, M, "revision, time or tag")                                                                       \
        F(m, REF, node, O, "only this subtree; absent: the document")

#define SCN_FIELDS_OF_fork(F, m)                                                                                       \
        F(m, UINT, request, M, "comes back in the answer")                                                             \
        F(m, AT, at, O, "revision, time or tag; absent: the durable revision")                                         \
        F(m, TEXT, to, M, "name of the new document")

#define SCN_FIELDS_OF_adopt(F, m)                                                                                      \
        F(m, UINT, request, M, "comes back in the answers; the same in all parts of a file")                           \
        F(m, TEXT, document, M, "name that the document is to have; what the first part says counts")                  \
        F(m, UINT, bytes, M, "of the whole file")                                                                      \
        F(m, BIN, part, M, "the next bytes of it")                                                                     \
        F(m, BOOL, more, O, "further parts follow")                                                                    \
        F(m, BOOL, replace, O, "a document that has the name goes to the trash")

#define SCN_FIELDS_OF_welcome(F, m)                                                                                    \
        F(m, UINT, version, M, "protocol version spoken from now on")                                                  \
        F(m, UINT, session, M, "number of the session")                                                                \
        F(m, RAW, limits, M, "map: name of the limit to its value")                                                    \
        F(m, TEXT, agent, O, "program and version, for people")

#define SCN_FIELDS_OF_opened(F, m)                                                                                     \
        F(m, UINT, request, M, "of the open")                                                                          \
        F(m, UID, document, M, "the document's own uid")                                                               \
        F(m, UID, root, M, "its root")                                                                                 \
        F(m, BIN, epoch, M, "8 bytes: the history that revisions count in")                                            \
        F(m, UINT, rev, M, "durable revision")                                                                         \
        F(m, UINT, number, M, "last number stored of this client, 0: none")                                            \
        F(m, TEXT, author, M, "whom edits and undo belong to")

#define SCN_FIELDS_OF_applied(F, m)                                                                                    \
        F(m, UINT, number, M, "of the edit, undo, redo or restore")                                                    \
        F(m, UINT, rev, M, "revision made, or judged at if nothing changed")                                           \
        F(m, BOOL, unchanged, O, "nothing changed: no revision was made")                                              \
        F(m, RAW, results, O, "array: what the server chose or changed, by op")                                        \
        F(m, RAW, summary, O, "undo, redo: map of steps, applied, skipped")

#define SCN_FIELDS_OF_refused(F, m)                                                                                    \
        F(m, UINT, number, M, "of the edit, undo, redo or restore")                                                    \
        F(m, TEXT, code, M, "why, as a word")                                                                          \
        F(m, TEXT, text, M, "why, for people")                                                                         \
        F(m, UINT, op, O, "index of the op")                                                                           \
        F(m, UID, node, O, "the node it is about")                                                                     \
        F(m, RAW, detail, O, "map: what was in the way")

#define SCN_FIELDS_OF_failed(F, m)                                                                                     \
        F(m, UINT, request, O, "which request; absent: none, or none that could be read")                              \
        F(m, TEXT, code, M, "why, as a word")                                                                          \
        F(m, TEXT, text, M, "why, for people")                                                                         \
        F(m, BOOL, closes, O, "it ends the connection: nothing follows")

#define SCN_FIELDS_OF_delta(F, m)                                                                                      \
        F(m, UINT, view, M, "the client's number of the view")                                                         \
        F(m, UINT, to, M, "revision the view is at after this")                                                        \
        F(m, UINT, back, M, "to - from: it takes any state of the view from that revision on to this one")             \
        F(m, RAW, columns, M, "map of columns")                                                                        \
        F(m, BOOL, more, O, "further parts follow; apply them together")

#define SCN_FIELDS_OF_viewed(F, m)                                                                                     \
        F(m, UINT, request, M, "of the view")                                                                          \
        F(m, UINT, view, M, "its number")                                                                              \
        F(m, BOOL, resumed, M, "true: a delta follows; false: the whole view follows")                                 \
        F(m, UINT, rev, M, "durable revision")

#define SCN_FIELDS_OF_answer(F, m)                                                                                     \
        F(m, UINT, request, M, "which request")                                                                        \
        F(m, RAW, body, M, "as the request's page says")                                                               \
        F(m, UINT, rev, O, "revision it is true for")                                                                  \
        F(m, UINT, durable, O, "revision that cannot be lost any more")                                                \
        F(m, BOOL, more, O, "further answers to this request follow")

#define SCN_FIELDS_OF_live(F, m)                                                                                       \
        F(m, UINT, view, M, "the client's number of the view")                                                         \
        F(m, UINT, count, M, "the document's count of such changes, up to which it is told")                           \
        F(m, BOOL, whole, O, "replaces all the client had of the view's volatile channels")                            \
        F(m, RAW, presence, O, "array of [session, author, map]")                                                      \
        F(m, RAW, locks, O, "array of [node, session, author, mask, subtree, milliseconds left]")                      \
        F(m, RAW, previews, O, "array of [session, node, t, r, s]")

/* number, name, receiver, since version, bytes at the most (0: the message limit), what */
#define SCN_MESSAGE_LIST(X)                                                                                            \
        X(1, hello, SERVER, 1, 4096, "who the client is; the first message of a connection")                           \
        X(2, open, SERVER, 1, 4096, "binds the connection to a document")                                              \
        X(3, edit, SERVER, 1, 0, "ops to apply as one revision, or not at all")                                        \
        X(4, view, SERVER, 1, 4096, "begins, changes or resumes a view")                                               \
        X(5, unview, SERVER, 1, 64, "ends a view; not answered")                                                       \
        X(6, undo, SERVER, 1, 64, "takes back the author's own steps")                                                 \
        X(7, redo, SERVER, 1, 64, "brings them back")                                                                  \
        X(8, world, SERVER, 1, 0, "where nodes are in the world")                                                      \
        X(9, tree, SERVER, 1, 4096, "nodes as they are")                                                               \
        X(10, digest, SERVER, 1, 4096, "digest of a document or subtree")                                              \
        X(11, log, SERVER, 1, 4096, "transactions")                                                                    \
        X(12, replay, SERVER, 1, 4096, "deltas of the past, one a revision")                                           \
        X(13, documents, SERVER, 1, 64, "names of all documents")                                                      \
        X(14, manage, SERVER, 1, 4096, "creates, deletes, undeletes, renames a document")                              \
        X(15, info, SERVER, 1, 64, "about the open document")                                                          \
        X(16, who, SERVER, 1, 64, "sessions")                                                                          \
        X(17, kick, SERVER, 1, 64, "ends another session")                                                             \
        X(18, verify, SERVER, 1, 64, "replays the journal and compares")                                               \
        X(19, backup, SERVER, 1, 64, "the document's file, in parts")                                                  \
        X(20, ping, SERVER, 1, 64, "are you there")                                                                    \
        X(21, presence, SERVER, 1, 8192, "tells others of the session; not answered")                                  \
        X(22, preview, SERVER, 1, 65536, "shows transforms that are not edits; not answered")                          \
        X(23, lock, SERVER, 1, 65536, "keeps others from editing nodes")                                               \
        X(24, unlock, SERVER, 1, 65536, "lets them again")                                                             \
        X(25, tag, SERVER, 1, 512, "gives a revision a name, or takes it away")                                        \
        X(26, tags, SERVER, 1, 64, "all tags")                                                                         \
        X(27, blame, SERVER, 1, 4096, "who set each field of a node")                                                  \
        X(28, restore, SERVER, 1, 4096, "brings back what a revision was, as a new one")                               \
        X(29, fork, SERVER, 1, 4096, "a new document out of this one")                                                 \
        X(30, adopt, SERVER, 1, 0, "a document's file that is to become a document here, in parts")                    \
        X(64, welcome, CLIENT, 1, 4096, "answers hello")                                                               \
        X(65, opened, CLIENT, 1, 4096, "answers open")                                                                 \
        X(66, applied, CLIENT, 1, 0, "an edit, undo, redo or restore is durable")                                      \
        X(67, refused, CLIENT, 1, 0, "an edit, undo, redo or restore changed nothing")                                 \
        X(68, failed, CLIENT, 1, 4096, "a request failed, or the connection ends")                                     \
        X(69, delta, CLIENT, 1, 0, "what a view lacks")                                                                \
        X(70, viewed, CLIENT, 1, 64, "answers view")                                                                   \
        X(71, answer, CLIENT, 1, 0, "answers all other requests")                                                      \
        X(72, live, CLIENT, 1, 0, "presence, locks and previews that a view lacks")

#endif
