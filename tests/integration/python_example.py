# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the scened authors
"""What PROTOCOL.md promises, asked of a server by a client that knows nothing else. Run by `python_example`."""

import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../client/examples/python"))
from scened_client import (NAME, TRANSFORM, Client, Refused, ScenedError, add, move, node_value, remove, rename,
                           set_property, transform)

ADDRESS = sys.argv[1]


def connect(document, author="ann", uid=None):
    client = Client(ADDRESS, author=author, uid=uid)
    client.open(document, create=True)
    return client


def check(is_so, what):
    if not is_so:
        raise AssertionError(what)


def refused(code, call):
    try:
        call()
    except ScenedError as error:
        check(error.code == code, "%s, not %s" % (error.code, code))
        return error
    raise AssertionError("not refused: %s" % code)


def check_view(client, view):
    """Brings a view up to what the server has, and compares."""
    digest, rev = client.digest(view.root, mask=view.mask)
    client.ping()
    for _ in range(100):
        if view.digest() == digest:
            return
        check(client.receive(5.0), "the view stays at %d, the server is at %d" % (view.revision, rev))
    raise AssertionError("the digests differ")


def random_value(draw):
    return draw.choice([True, -1, 0, 2**40, -2**63, 2**64 - 1, 0.5, 0.1, 1.0, "text", "long " * 60, b"bytes",
                        [1, [2, None]], {"b": 1, "a": [0.25]}, node_value(bytes(range(16)))])


def random_op(draw, view):
    """Of what may well be refused by the time it arrives."""
    nodes = list(view.nodes.values())
    node, other = draw.choice(nodes), draw.choice(nodes)
    kind = draw.randrange(12)
    if kind < 4:
        return add(other, draw.choice([None, "a", "b", "n" * 300]), index=draw.randrange(4), t=(draw.random(), 0, 1),
                   props={"k": random_value(draw)} if draw.random() < 0.3 else None)
    if kind < 6:
        return move(node, other, keep_world=draw.random() < 0.3, lossy=True)
    if kind < 9:
        return transform(node, t=(draw.gauss(0, 9), 2, 3), r=(0, draw.random(), 0, 1), s=(1, draw.random(), -1))
    if kind == 9:
        return rename(node, draw.choice([None, "", "c"]))
    if kind == 10:
        return set_property(node, draw.choice("klm"), random_value(draw) if draw.random() < 0.7 else None)
    return remove(node)


def two_editors_see_the_same():
    draw = random.Random(7)
    ann, bob = connect("two"), connect("two", "bob")
    ann.edit([add("/", "boat"), add("/boat", "mast"), add("/", "quay")])
    watched = {ann: [ann.view("/")],
               bob: [bob.view("/"), bob.view("/boat"), bob.view("/", NAME), bob.view("/quay", TRANSFORM)]}
    accepted = 0
    for _ in range(150):
        numbers = [(client, client.send_edit([random_op(draw, views[0]) for _ in range(draw.randrange(1, 4))]))
                   for client, views in watched.items() for _ in range(3)]
        for client, number in numbers:
            try:
                client.result(number)
                accepted += 1
            except Refused:
                pass
        for client in watched:
            while client.receive(0):
                pass
    check(accepted > 200, "only %d edits were accepted" % accepted)
    for client, views in watched.items():
        for view in views:
            if view.root is not None:
                check_view(client, view)
    ann.close()
    bob.close()


def an_edit_is_done_once():
    ann = connect("once")
    view = ann.view("/")
    for lost in range(3):
        # The answer is lost with the connection, whether the edit has arrived or not.
        number = ann.send_edit([add("/", "node %d" % lost)])
        ann.reconnect()
        check(ann.result(number).changed, "the edit changed nothing")
        ann.wait_for(lambda: len(view.nodes) == lost + 2)
    check_view(ann, view)
    check([node.name for node in view.root.children] == ["node 0", "node 1", "node 2"], "not once each")
    ann.edit([remove("/node 0")])
    ann.next_number += 1
    refused("gap", lambda: ann.edit([add("/", "far")]))
    ann.close()


def refusals_say_what_was_in_the_way():
    ann, bob = connect("refusals"), connect("refusals", "bob")
    applied = ann.edit([add("/", "boat", r=(0, 0, 0, 2))])
    boat = applied.uids[0]
    check(applied.results[0][3] == 1 and applied.results[0][5] == [0, 0, 0, 1], "the rotation was not normalised")
    check(not ann.edit([rename(boat, "boat")]).changed, "a name that is the same has changed something")
    rev = bob.edit([transform(boat, t=(1, 2, 3))]).rev
    error = refused("conflict", lambda: ann.edit([transform(boat, t=(0, 0, 0))], base=applied.rev, strict=True))
    check(error.op == 0 and error.node == boat, "op and node")
    check(error.detail == {"field": "translation", "other": bob.uid, "value": [1, 2, 3], "rev": rev}, error.detail)
    refused("no_node", lambda: ann.edit([add("/", "kept out"), remove("/nowhere")]))
    refused("exists", lambda: ann.edit([add("/", uid=boat)]))
    refused("not_finite", lambda: ann.edit([transform(boat, t=(float("nan"), 0, 0))]))
    refused("bad_value", lambda: ann.edit([add("/", props={"k": None})]))
    refused("no_node", lambda: ann.view("/nowhere"))
    check([node["name"] for node in ann.tree()] == [None, "boat"], "a refused edit left something")
    ann.close()
    bob.close()


def a_large_scene_comes_in_parts():
    ann = connect("large")
    draw = random.Random(3)
    uids = [draw.randbytes(16) for _ in range(20000)]
    ann.edit([add("/" if i < 10 else uids[i // 10], "n%d" % i, uid=uid, t=(i, 0, 0)) for i, uid in enumerate(uids)])
    # More than a message has room for.
    for key in range(80):
        ann.edit([set_property(uids[0], "k%d" % key, b"x" * 64000)])
    view = ann.view("/")
    check(len(view.nodes) == 20001, "%d nodes" % len(view.nodes))
    check_view(ann, view)
    check(len(ann.tree(uids[1])) > 1000, "tree")
    answer = ann.world([uids[15], uids[1]], relative=uids[1])
    check(answer[0]["t"] == [15, 0, 0] and answer[1]["t"] == [0, 0, 0], answer)
    ann.close()


def the_past_can_be_asked():
    ann = connect("past")
    boat = ann.edit([add("/", "boat", t=(1, 0, 0))]).uids[0]
    first = ann.digest()
    ann.edit([transform(boat, t=(2, 0, 0))])
    check(ann.digest(at=1)[0] == first[0] != ann.digest()[0], "digest")
    check(ann.world([boat], at=1)[0]["t"] == [1, 0, 0], "world")
    check([entry["rev"] for entry in ann.log()] == [1, 2], "log")
    refused("future", lambda: ann.tree(at=9))
    ann.close()


def undo_takes_back_ones_own_and_says_what_it_skips():
    ann, bob = connect("undone"), connect("undone", "bob")
    view = bob.view()
    boat = ann.edit([add("/", "boat", t=(1, 0, 0))]).uids[0]
    ann.edit([transform(boat, t=(2, 0, 0)), rename(boat, "ship")])
    bob.edit([rename(boat, "ark")])
    undone = ann.undo()
    check(undone.summary["steps"] == [2] and undone.summary["applied"] == 1, undone.summary)
    skip = undone.summary["skipped"][0]
    check((skip["field"], skip["reason"], skip["author"], skip["rev"]) == ("name", "superseded", "bob", 3), skip)
    check(ann.world([boat])[0]["t"] == [1, 0, 0], "world")
    check_view(bob, view)
    bob.undo()
    redone = ann.redo()
    check(redone.summary["steps"] == [2] and ann.world([boat])[0]["t"] == [2, 0, 0], redone.summary)
    check_view(bob, view)
    refused("nothing_to_undo", connect("undone", "cy").undo)
    ann.close()
    bob.close()


def what_is_locked_stays_and_presence_shows():
    ann, bob = connect("locked"), connect("locked", "bob")
    boat = ann.edit([add("/", "boat")]).uids[0]
    check(ann.lock("/boat", ttl=30, subtree=True) == [boat], "lock")
    error = refused("locked", lambda: bob.edit([add("/boat", "mast")]))
    check(error.detail["holder"] == "ann", error.detail)
    check(bob.unlock("/boat") == 0 and ann.unlock() == 1, "unlock")
    bob.edit([add("/boat", "mast")])
    ann.presence(tool="move", gone=1)
    ann.presence(gone=None)
    ann.ping()
    check([one.get("presence") for one in bob.who() if one["author"] == "ann" and one["document"] == "locked"]
          == [{"tool": "move"}], bob.who())
    ann.close()
    bob.close()


for test in (two_editors_see_the_same, an_edit_is_done_once, refusals_say_what_was_in_the_way,
             a_large_scene_comes_in_parts, the_past_can_be_asked,
             undo_takes_back_ones_own_and_says_what_it_skips, what_is_locked_stays_and_presence_shows):
    test()
    print("%s: yes" % test.__name__.replace("_", " "), flush=True)
