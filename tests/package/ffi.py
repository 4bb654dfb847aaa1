# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the scened authors

"""usage: ffi.py LIBRARY ADDRESS DOCUMENT

Uses the shared library through ctypes, without the header's macros: edits, follows in a view, walks it, reads a
property, undoes, locks, asks, replays. Ends with an AssertionError where something is not as it should be.
"""

import ctypes
import sys
import time
from ctypes import POINTER, byref, c_bool, c_char, c_char_p, c_float, c_int, c_size_t, c_uint8, c_uint32, c_uint64
from ctypes import c_void_p

WAIT_S = 20


class Uid(ctypes.Structure):
    _fields_ = [("bytes", c_uint8 * 16)]

    def __bool__(self):
        return any(self.bytes)


class Slice(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_uint32)]

    def read(self):
        return ctypes.string_at(self.data, self.size) if self.data else None


class Trs(ctypes.Structure):
    _fields_ = [("t", c_float * 3), ("r", c_float * 4), ("s", c_float * 3)]


class Target(ctypes.Structure):
    _fields_ = [("uid", Uid), ("path", c_char_p)]


class Failure(ctypes.Structure):
    _fields_ = [("code", c_char * 40), ("text", c_char * 472), ("has_op", c_bool), ("op", c_uint32), ("node", Uid),
                ("detail", Slice)]


class ClientOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("document", c_char_p), ("create", c_bool), ("author", c_char_p),
                ("token", c_char_p), ("agent", c_char_p), ("uid", Uid), ("random", c_void_p), ("on_state", c_void_p),
                ("data", c_void_p)]


class Position(ctypes.Structure):
    _fields_ = [("kind", c_int), ("after", Target), ("index", c_uint32)]


class Addition(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("parent", Target), ("position", Position), ("uid", Uid), ("name", c_char_p),
                ("t", POINTER(c_float)), ("r", POINTER(c_float)), ("s", POINTER(c_float))]


class Result(ctypes.Structure):
    _fields_ = [("edit", c_uint64), ("failure", POINTER(Failure)), ("rev", c_uint64), ("is_unchanged", c_bool),
                ("results", Slice), ("summary", Slice)]


class Undo(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("count", c_uint32), ("force", c_bool), ("step", c_uint64), ("is_dry", c_bool)]


class ViewOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("root", Target), ("mask", c_uint32), ("rate", c_uint32), ("on_change", c_void_p),
                ("on_end", c_void_p), ("data", c_void_p), ("on_live", c_void_p), ("on_worlds", c_void_p)]


class ReplayOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("from_", c_uint64), ("to", c_uint64), ("root", Target), ("mask", c_uint32),
                ("on_change", c_void_p), ("on_end", c_void_p), ("data", c_void_p), ("from_at", c_char_p),
                ("to_at", c_char_p), ("author", c_char_p), ("is_merged", c_bool)]


class NodeInfo(ctypes.Structure):
    _fields_ = [("uid", Uid), ("parent", Uid), ("previous", Uid), ("next", Uid), ("first_child", Uid),
                ("children_count", c_uint32), ("properties_count", c_uint32), ("name", Slice), ("trs", Trs)]


class Lock(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("ttl_s", c_uint32), ("mask", c_uint32), ("has_subtree", c_bool)]


class Request(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("node", Target), ("at", c_char_p), ("has_depth", c_bool), ("depth", c_uint32),
                ("durable", c_bool), ("author", c_char_p), ("from_", c_uint64), ("to", c_uint64), ("limit", c_uint64),
                ("group", c_uint64), ("since", c_char_p), ("until", c_char_p), ("last", c_uint64)]


class Answer(ctypes.Structure):
    _fields_ = [("failure", POINTER(Failure)), ("body", Slice), ("rev", c_uint64), ("durable", c_uint64),
                ("has_more", c_bool)]


class File(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("document", c_char_p), ("bytes", c_uint64), ("replaces", c_bool)]


RESULT_FN = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Result), c_void_p)
ANSWER_FN = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Answer), c_void_p)
VIEW_FN = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)
END_FN = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Failure), c_void_p)

# What each function gives and takes.
FUNCTIONS = {
    "scn_version": (c_char_p, []),
    "scn_client_create": (c_int, [POINTER(ClientOptions), POINTER(c_void_p)]),
    "scn_client_destroy": (None, [c_void_p]),
    "scn_socket_create": (c_int, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "scn_socket_destroy": (None, [c_void_p]),
    "scn_socket_wait": (None, [c_void_p, c_int]),
    "scn_socket_problem": (c_char_p, [c_void_p]),
    "scn_view_create": (c_int, [c_void_p, POINTER(ViewOptions), POINTER(c_void_p)]),
    "scn_replay_create": (c_int, [c_void_p, POINTER(ReplayOptions), POINTER(c_void_p)]),
    "scn_view_is_ready": (c_bool, [c_void_p]),
    "scn_view_pending_count": (c_uint32, [c_void_p]),
    "scn_view_nodes_count": (c_uint32, [c_void_p]),
    "scn_view_revision": (c_uint64, [c_void_p]),
    "scn_view_root": (Uid, [c_void_p]),
    "scn_view_find": (Uid, [c_void_p, c_char_p]),
    "scn_view_walk": (Uid, [c_void_p, Uid, Uid]),
    "scn_view_node": (c_bool, [c_void_p, Uid, POINTER(NodeInfo)]),
    "scn_view_property": (Slice, [c_void_p, Uid, c_char_p]),
    "scn_view_world": (c_int, [c_void_p, Uid, POINTER(c_float)]),
    "scn_view_digest": (None, [c_void_p, POINTER(c_uint8)]),
    "scn_draft_create": (c_void_p, [c_void_p, c_void_p]),
    "scn_draft_add": (c_int, [c_void_p, POINTER(Addition), POINTER(Uid)]),
    "scn_draft_set_text": (c_int, [c_void_p, Target, c_char_p, c_char_p]),
    "scn_draft_submit": (c_int, [c_void_p, RESULT_FN, c_void_p, POINTER(c_uint64)]),
    "scn_client_undo": (c_int, [c_void_p, POINTER(Undo), RESULT_FN, c_void_p]),
    "scn_client_lock": (c_int, [c_void_p, POINTER(Target), c_size_t, POINTER(Lock), ANSWER_FN, c_void_p]),
    "scn_client_digest": (c_int, [c_void_p, POINTER(Request), ANSWER_FN, c_void_p]),
    "scn_answer_digest": (c_bool, [POINTER(Answer), POINTER(c_uint8)]),
}
INITIALISERS = {
    "scn_client_options_init": ClientOptions,
    "scn_view_options_init": ViewOptions,
    "scn_replay_options_init": ReplayOptions,
    "scn_addition_init": Addition,
    "scn_undo_init": Undo,
    "scn_lock_init": Lock,
    "scn_request_init": Request,
    "scn_file_init": File,
}


def load(path):
    library = ctypes.CDLL(path)
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    for name, kind in INITIALISERS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = None, [POINTER(kind)]
        # It sets what was there before, as far as the struct goes, and no further.
        room = (c_uint8 * (ctypes.sizeof(kind) + 64))(*[0xA5] * (ctypes.sizeof(kind) + 64))
        function(ctypes.cast(room, POINTER(kind)))
        made = kind.from_buffer(room)
        assert made.size == ctypes.sizeof(kind), f"{name}: {made.size}, here {ctypes.sizeof(kind)}"
        for field, _ in kind._fields_[1:]:
            value = getattr(made, field)
            assert not (any(bytes(value)) if isinstance(value, ctypes.Structure) else value), f"{name} leaves {field}"
        assert set(room[ctypes.sizeof(kind):]) == {0xA5}, f"{name} writes beyond the struct"
    return library


class Session:
    """A client, its socket and one view."""

    def __init__(self, library, address, document):
        self.library = library
        self.changes = 0
        self.told = []  # what callbacks were told
        # As long as the library may call them, Python must not let go of them.
        self.on_change = VIEW_FN(self.count_change)
        self.on_result = RESULT_FN(self.note_result)
        self.on_lock = ANSWER_FN(lambda client, answer, data: self.told.append(code_of(answer.contents.failure)))
        self.on_digest = ANSWER_FN(self.note_digest)
        self.on_end = END_FN(lambda view, failure, data: self.told.append(code_of(failure)))
        options = self.init(ClientOptions, "scn_client_options_init")
        options.document, options.author = document.encode(), b"ann"
        self.client, self.socket = c_void_p(), c_void_p()
        self.well(library.scn_client_create(byref(options), byref(self.client)))
        self.well(library.scn_socket_create(self.client, address.encode(), byref(self.socket)))
        options = self.init(ViewOptions, "scn_view_options_init")
        options.on_change = ctypes.cast(self.on_change, c_void_p)
        self.view = c_void_p()
        self.well(library.scn_view_create(self.client, byref(options), byref(self.view)))
        self.wait(lambda: library.scn_view_is_ready(self.view))

    def init(self, kind, name):
        made = kind()
        getattr(self.library, name)(byref(made))
        return made

    @staticmethod
    def well(error):
        assert error == 0, f"error {error}"

    def wait(self, is_done):
        until = time.monotonic() + WAIT_S
        while not is_done():
            assert time.monotonic() < until, self.library.scn_socket_problem(self.socket)
            self.library.scn_socket_wait(self.socket, 100)

    def wait_for_word(self):
        """The next thing that a callback was told."""
        self.wait(lambda: self.told)
        return self.told.pop(0)

    def count_change(self, view, event, data):
        self.changes += 1

    def note_result(self, client, result, data):
        self.told.append((code_of(result.contents.failure), result.contents.rev))

    def note_digest(self, client, answer, data):
        digest = (c_uint8 * 16)()
        assert self.library.scn_answer_digest(answer, digest)
        self.told.append(bytes(digest))

    def digest(self):
        digest = (c_uint8 * 16)()
        self.library.scn_view_digest(self.view, digest)
        return bytes(digest)

    def walk(self):
        """Names of all nodes beneath the root, in order."""
        root = at = self.library.scn_view_root(self.view)
        names = []
        info = NodeInfo()
        while at := self.library.scn_view_walk(self.view, root, at):
            assert self.library.scn_view_node(self.view, at, byref(info))
            names.append(info.name.read().decode())
        return names

    def end(self):
        self.library.scn_socket_destroy(self.socket)
        self.library.scn_client_destroy(self.client)


def code_of(failure):
    return failure.contents.code.decode() if failure else "ok"


def edit(session):
    """A boat with a lantern, as one edit; gives the lantern."""
    library = session.library
    draft = library.scn_draft_create(session.client, session.view)
    parent = Target(path=b"/")
    uid = Uid()
    for name, t in ((b"boat", (1, 2, 3)), (b"lantern", (0, 0.5, 0))):
        addition = session.init(Addition, "scn_addition_init")
        addition.parent, addition.name, addition.t = parent, name, (c_float * 3)(*t)
        session.well(library.scn_draft_add(draft, byref(addition), byref(uid)))
        parent = Target(uid=Uid.from_buffer_copy(uid))
    session.well(library.scn_draft_set_text(draft, parent, b"wick", b"cotton"))
    session.well(library.scn_draft_submit(draft, session.on_result, None, None))
    return parent.uid


def main(path, address, document):
    library = load(path)
    session = Session(library, address, document)
    assert session.walk() == []

    lantern = edit(session)
    assert session.walk() == ["boat", "lantern"], "one's own edit shows at once"
    assert session.wait_for_word() == ("ok", 1)
    session.wait(lambda: library.scn_view_revision(session.view) == 1)
    assert library.scn_view_pending_count(session.view) == 0
    assert session.changes > 0
    assert session.walk() == ["boat", "lantern"]
    assert bytes(library.scn_view_find(session.view, b"/boat/lantern").bytes) == bytes(lantern.bytes)
    assert library.scn_view_property(session.view, lantern, b"wick").read() == b"\xa6cotton"
    assert library.scn_view_property(session.view, lantern, b"oil").read() is None
    matrix = (c_float * 16)()
    session.well(library.scn_view_world(session.view, lantern, matrix))
    assert list(matrix[12:15]) == [1, 2.5, 3]

    request = session.init(Request, "scn_request_init")
    session.well(library.scn_client_digest(session.client, byref(request), session.on_digest, None))
    assert session.wait_for_word() == session.digest()

    lock = session.init(Lock, "scn_lock_init")
    lock.has_subtree = True
    target = Target(path=b"/boat")
    session.well(library.scn_client_lock(session.client, byref(target), 1, byref(lock), session.on_lock, None))
    assert session.wait_for_word() == "ok"

    undo = session.init(Undo, "scn_undo_init")
    session.well(library.scn_client_undo(session.client, byref(undo), session.on_result, None))
    assert session.wait_for_word() == ("ok", 2)
    session.wait(lambda: library.scn_view_revision(session.view) == 2)
    assert session.walk() == []

    options = session.init(ReplayOptions, "scn_replay_options_init")
    options.to = 1
    options.on_end = ctypes.cast(session.on_end, c_void_p)
    replay = c_void_p()
    session.well(library.scn_replay_create(session.client, byref(options), byref(replay)))
    assert session.wait_for_word() == "ok"
    assert library.scn_view_nodes_count(replay) == 3
    session.end()
    print(f"ffi: {len(FUNCTIONS) + len(INITIALISERS)} functions of libscn {library.scn_version().decode()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
