#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the scened authors
"""A client of scened in one file, written from protocol/PROTOCOL.md alone.

Needs nothing but Python 3.9 and msgpack (Debian: python3-msgpack). As a library:

    client = Client("127.0.0.1:7420", author="ann")
    client.open("island", create=True)
    boat = client.edit([add("/", "boat", t=(10, 0, 0))]).uids[0]
    view = client.view("/", on_delta=lambda view: print(view.revision))
    print(client.world([boat])[0]["matrix"])
    client.wait_for(lambda: view.revision >= 1)

As a program: scened_client.py --help
"""

import argparse
import os
import select
import socket
import struct
import sys
import uuid

import msgpack

PREFACE = b"SCENED\x01\n"
STRUCTURE, NAME, TRANSFORM, PROPERTIES = 1, 2, 4, 8
ALL = 15

# Numbers of messages (PROTOCOL.md, 3 and 4).
HELLO, OPEN, EDIT, VIEW, UNVIEW, UNDO, REDO, WORLD, TREE, DIGEST, LOG = range(1, 12)
DOCUMENTS, MANAGE, INFO, WHO, KICK = range(13, 18)
PING, PRESENCE = 20, 21
LOCK, UNLOCK = 23, 24
WELCOME, OPENED, APPLIED, REFUSED, FAILED, DELTA, VIEWED, ANSWER = range(64, 72)

FIELDS = {
    WELCOME: ("version", "session", "limits", "agent"),
    OPENED: ("request", "document", "root", "epoch", "rev", "number", "author"),
    APPLIED: ("number", "rev", "unchanged", "results", "summary"),
    REFUSED: ("number", "code", "text", "op", "node", "detail"),
    FAILED: ("request", "code", "text", "closes"),
    DELTA: ("view", "to", "back", "columns", "more"),
    VIEWED: ("request", "view", "resumed", "rev"),
    ANSWER: ("request", "body", "rev", "durable", "more"),
}


class ScenedError(Exception):
    """A request failed, or the connection ended. `code` is the word to compare."""

    def __init__(self, message):
        super().__init__("%s: %s" % (message["code"], message["text"]))
        self.code = message["code"]


class Refused(ScenedError):
    """An edit changed nothing. `op` is the index of the op, `detail` what was in the way."""

    def __init__(self, message):
        super().__init__(message)
        self.op, self.node, self.detail = message["op"], message["node"], message["detail"] or {}


class Message(dict):
    """Fields by name; what was left out at the end is None."""

    def __init__(self, number, values):
        names = FIELDS.get(number, ())
        super().__init__(zip(names, list(values) + [None] * len(names)))
        self.number = number


# ---------------------------------------------------------------- ops (PROTOCOL.md, 5)

OP_KEYS = ("op", "node", "parent", "index", "after", "uid", "name", "t", "r", "s", "props", "key", "value", "keep",
           "lossy")


def _op(kind, **values):
    values["op"] = kind
    return {key: values[name] for key, name in enumerate(OP_KEYS) if name in values}


def _given(**values):
    return {name: value for name, value in values.items() if value is not None}


def ref(node):
    """A node as the wire names it: id, uid (uuid.UUID or bytes), path, or a node of a view."""
    if isinstance(node, Node):
        return node.uid
    return node.bytes if isinstance(node, uuid.UUID) else node


def add(parent, name=None, uid=None, index=None, t=None, r=None, s=None, props=None):
    uid = None if uid is None else ref(uid)
    return _op(0, parent=ref(parent), **_given(name=name, uid=uid, index=index, t=t, r=r, s=s, props=props))


def remove(node):
    return _op(1, node=ref(node))


def move(node, parent, index=None, keep_world=False, lossy=False, **place):
    """after=NODE puts it behind a sibling, after=None first."""
    if "after" in place:
        place["after"] = ref(place["after"])
    flags = dict(keep=1) if keep_world else {}
    flags.update(dict(lossy=True) if lossy else {})
    return _op(2, node=ref(node), parent=ref(parent), **_given(index=index), **place, **flags)


def transform(node, t=None, r=None, s=None, parent=None):
    return _op(3, node=ref(node), **_given(t=t, r=r, s=s, parent=None if parent is None else ref(parent)))


def rename(node, name):
    return _op(4, node=ref(node), name=name)


def set_property(node, key, value):
    """None removes the key."""
    return _op(5, node=ref(node), key=key, value=value)


def node_value(uid):
    """A reference to a node, as a property value."""
    return msgpack.ExtType(1, ref(uid))


# ---------------------------------------------------------------- digest (PROTOCOL.md, 9)

_M64 = (1 << 64) - 1
_M128 = (1 << 128) - 1
_P32_1, _P32_2, _P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_P64_1, _P64_2, _P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P64_4, _P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
# The default secret of XXH3.
_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")


def _read(data, at):
    return int.from_bytes(data[at:at + 8], "little")


def _fold(a, b):
    product = a * b
    return (product ^ product >> 64) & _M64


def _avalanche(x):
    x ^= x >> 37
    x = x * 0x165667919E3779F9 & _M64
    return x ^ x >> 32


def _mix(data, at, secret):
    return _fold(_read(data, at) ^ _read(_SECRET, secret), _read(data, at + 8) ^ _read(_SECRET, secret + 8))


def _mix_two(low, high, data, first, second, secret):
    low = (low + _mix(data, first, secret)) & _M64
    low ^= _read(data, second) + _read(data, second + 8) & _M64
    high = (high + _mix(data, second, secret + 16)) & _M64
    high ^= _read(data, first) + _read(data, first + 8) & _M64
    return low, high


def _finish(low, high, size):
    both = low * _P64_1 + high * _P64_4 + size * _P64_2 & _M64
    return (-_avalanche(both) & _M64) << 64 | _avalanche(low + high & _M64)


def _hash_long(data):
    size = len(data)
    acc = [_P32_3, _P64_1, _P64_2, _P64_3, _P64_4, _P32_2, _P64_5, _P32_1]

    def accumulate(at, secret):
        for i in range(8):
            value = _read(data, at + 8 * i)
            key = value ^ _read(_SECRET, secret + 8 * i)
            acc[i ^ 1] = acc[i ^ 1] + value & _M64
            acc[i] = acc[i] + (key & 0xFFFFFFFF) * (key >> 32) & _M64

    for stripe in range((size - 1) // 64):
        accumulate(64 * stripe, 8 * (stripe % 16))
        if stripe % 16 == 15:
            for i in range(8):
                acc[i] = (acc[i] ^ acc[i] >> 47 ^ _read(_SECRET, 128 + 8 * i)) * _P32_1 & _M64
    accumulate(size - 64, 121)

    def merge(secret, start):
        for i in range(4):
            start += _fold(acc[2 * i] ^ _read(_SECRET, secret + 16 * i),
                           acc[2 * i + 1] ^ _read(_SECRET, secret + 16 * i + 8))
        return _avalanche(start & _M64)

    return merge(117, ~(size * _P64_2) & _M64) << 64 | merge(11, size * _P64_1 & _M64)


def xxh3_128(data):
    """XXH3-128 with seed 0, of at least 17 bytes: what is hashed here begins with a uid and a byte."""
    size = len(data)
    if size > 240:
        return _hash_long(data)
    low, high = size * _P64_1 & _M64, 0
    if size <= 128:
        for i in range((size - 1) // 32, -1, -1):
            low, high = _mix_two(low, high, data, 16 * i, size - 16 * (i + 1), 32 * i)
        return _finish(low, high, size)
    for i in range(size // 32):
        if i == 4:
            low, high = _avalanche(low), _avalanche(high)
        low, high = _mix_two(low, high, data, 32 * i, 32 * i + 16, 32 * i if i < 4 else 3 + 32 * (i - 4))
    if size // 32 == 4:
        low, high = _avalanche(low), _avalanche(high)
    # The last one goes backwards, with the seed's sign turned, which for 0 is the same.
    low, high = _mix_two(low, high, data, size - 16, size - 32, 103)
    return _finish(low, high, size)


# ---------------------------------------------------------------- views (PROTOCOL.md, 7)

_ZEROS = bytes(16)
_IDENTITY = (struct.pack("<3f", 0, 0, 0), struct.pack("<4f", 0, 0, 0, 1), struct.pack("<3f", 1, 1, 1))


class Node:
    """Of a view. Numbers and values are kept as the bytes they came in: the digest is over these."""

    def __init__(self, ident, uid):
        self.id, self.uid = ident, uid
        self.parent, self.children = None, []
        self.name = None
        self.raw_t, self.raw_r, self.raw_s = _IDENTITY
        self.raw_props = {}

    t = property(lambda self: struct.unpack("<3f", self.raw_t))
    r = property(lambda self: struct.unpack("<4f", self.raw_r))
    s = property(lambda self: struct.unpack("<3f", self.raw_s))

    @property
    def props(self):
        return {key.decode(): msgpack.unpackb(value, strict_map_key=False)
                for key, value in sorted(self.raw_props.items())}

    def walk(self):
        """This node and all beneath it, parents first, siblings in order."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def path(self):
        names = []
        node = self
        while node.parent is not None:
            names.append(node.name or "[…]")
            node = node.parent
        return "/" + "/".join(reversed(names))


class _Column:
    """Reads one column."""

    def __init__(self, data):
        self.data, self.at, self.id = data, 0, 0

    def __bool__(self):
        return self.at < len(self.data)

    def varint(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def take(self, size):
        if size > len(self.data) - self.at:
            raise ValueError("a column is cut short")
        self.at += size
        return bytes(self.data[self.at - size:self.at])

    def ident(self):
        self.id += _unzigzag(self.varint())
        return self.id


def _unzigzag(value):
    return value >> 1 ^ -(value & 1)


class View:
    """A copy of a part of the scene, kept by deltas. `root` is its top node, or None."""

    def __init__(self, number, mask, on_delta=None):
        self.number, self.mask, self.on_delta = number, mask | STRUCTURE, on_delta
        self.nodes = {}
        self.root = None
        self.root_ref = None
        self.epoch = None
        self.revision = None
        self.parts = []

    def take(self, message):
        """Keeps a part; applies the delta when it is whole."""
        self.parts.append(message["columns"])
        if message["more"]:
            return
        parts, self.parts = self.parts, []
        is_whole = any(9 in part for part in parts)
        if not is_whole and (self.revision is None or message["to"] - message["back"] > self.revision):
            raise ValueError("a delta begins after this view's revision")
        self._apply(parts)
        self.revision = message["to"]
        if self.on_delta:
            self.on_delta(self)

    def _apply(self, parts):
        def columns(number):
            return [_Column(part[number]) for part in parts if number in part]

        root = None
        for column in columns(9):
            self.nodes.clear()
            self.root = None
            root = column.ident()
        for column in columns(0):
            while column:
                ident, uid = column.ident(), column.take(16)
                self.nodes.setdefault(ident, Node(ident, uid))
        if root:
            self.root = self.nodes[root]
        for column in columns(1):
            while column:
                self._place(column)
        for number, name, size in ((3, "raw_t", 12), (4, "raw_r", 16), (5, "raw_s", 12)):
            for column in columns(number):
                while column:
                    setattr(self.nodes[column.ident()], name, column.take(size))
        for column in columns(2):
            while column:
                node, size = self.nodes[column.ident()], column.varint()
                node.name = column.take(size - 1).decode() if size else None
        for column in columns(6):
            while column:
                self._set_property(column)
        for column in columns(7) + columns(8):
            while column:
                self._remove(column.ident())

    def _place(self, column):
        node = self.nodes[column.ident()]
        parent = self.nodes[node.id + _unzigzag(column.varint())]
        previous = column.varint()
        if node.parent is not None:
            node.parent.children.remove(node)
        at = 0 if previous == 0 else 1 + parent.children.index(self.nodes[node.id + _unzigzag(previous - 1)])
        parent.children.insert(at, node)
        node.parent = parent

    def _set_property(self, column):
        node, key = self.nodes[column.ident()], column.take(column.varint())
        size = column.varint()
        if size:
            node.raw_props[key] = column.take(size)
        else:
            node.raw_props.pop(key, None)

    def _remove(self, ident):
        node = self.nodes.get(ident)
        if node is None:
            return
        if node.parent is not None:
            node.parent.children.remove(node)
        for gone in list(node.walk()):
            del self.nodes[gone.id]
        if node is self.root:
            self.root = None

    def digest(self):
        """What the server answers for this root and mask at this revision."""
        if self.root is None:
            return _ZEROS
        total = xxh3_128(self.root.uid + b"\0" + _ZEROS + _ZEROS)  # the top's own place is left out
        for node in self.root.walk():
            previous = _ZEROS
            for child in node.children:
                total += xxh3_128(child.uid + b"\0" + node.uid + previous)
                previous = child.uid
            if self.mask & NAME and node.name is not None:
                total += xxh3_128(node.uid + b"\1" + node.name.encode())
            if self.mask & TRANSFORM:
                total += xxh3_128(node.uid + b"\2" + node.raw_t)
                total += xxh3_128(node.uid + b"\3" + node.raw_r)
                total += xxh3_128(node.uid + b"\4" + node.raw_s)
            if self.mask & PROPERTIES:
                for key, value in node.raw_props.items():
                    total += xxh3_128(node.uid + b"\5" + bytes([len(key)]) + key + value)
        return (total & _M128).to_bytes(16, "big")


# ---------------------------------------------------------------- the connection (PROTOCOL.md, 1, 2 and 6)

class Applied:
    """The answer to an edit. `uids` are those of the nodes it added, in order, as far as the server tells them."""

    def __init__(self, message):
        self.rev, self.changed = message["rev"], not message["unchanged"]
        self.results = message["results"] or []
        self.uids = [result[2] for result in self.results]
        self.summary = message["summary"]  # of an undo or redo


class Client:
    def __init__(self, address="127.0.0.1:7420", author=None, uid=None):
        self.address, self.author = address, author
        # Kept over reconnects: together with a number it names an edit for ever.
        self.uid = uid or uuid.uuid4().bytes
        self.views = {}
        self.pending = {}  # number -> the bytes sent, until answered
        self.next_number = 1
        self.document = None
        self.requests = 0
        self.answers = {}  # request -> messages so far
        self.results = {}  # number -> applied or refused
        self._connect()

    # --- Bytes ---

    def _connect(self):
        if self.address.startswith("unix:"):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(self.address[5:])
        else:
            host, _, port = self.address.rpartition(":")
            if not host or not port.isdigit():
                raise OSError("is no address: HOST:PORT or unix:PATH")
            self.socket = socket.create_connection((host.strip("[]"), int(port)))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Behind the preface the stream is a sequence of msgpack objects: bins with a message each.
        self.unpacker = msgpack.Unpacker(max_buffer_size=8 << 20)
        self.greeting = b""
        self.welcome = None
        self.socket.sendall(PREFACE)
        self._send(HELLO, 1, self.uid, self.author, None, "scened_client.py")
        self._wait(lambda: self.welcome)

    def close(self):
        self.socket.close()

    def _send_bytes(self, payload):
        self.socket.sendall(msgpack.packb(payload))

    def _send(self, number, *fields):
        fields = list(fields)
        while fields and fields[-1] is None:
            fields.pop()
        payload = msgpack.packb([number] + fields)
        self._send_bytes(payload)
        return payload

    def fileno(self):
        """For select(): when it is readable, call receive()."""
        return self.socket.fileno()

    def receive(self, timeout=None):
        """Takes in what has arrived, waiting at most so long for something. False: nothing came."""
        if not select.select([self.socket], [], [], timeout)[0]:
            return False
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError("the server has closed the connection")
        if len(self.greeting) < len(PREFACE):
            data = self.greeting + data
            self.greeting, data = data[:len(PREFACE)], data[len(PREFACE):]
            if not PREFACE.startswith(self.greeting):
                raise ConnectionError("this is no scened")
        self.unpacker.feed(data)
        for payload in self.unpacker:
            self._handle(msgpack.unpackb(payload, strict_map_key=False))
        return True

    def _wait(self, question):
        while not question():
            self.receive()

    def wait_for(self, question, timeout=10.0):
        """Receives until the question is answered with something true."""
        while not question():
            if not self.receive(timeout):
                raise TimeoutError("nothing came for %g s" % timeout)

    def _handle(self, values):
        message = Message(values[0], values[1:])
        if message.number == WELCOME:
            self.welcome = message
        elif message.number in (APPLIED, REFUSED):
            self.results[message["number"]] = message
            self.pending.pop(message["number"], None)
        elif message.number == DELTA:
            view = self.views.get(message["view"])
            if view is not None:
                view.take(message)
        elif message.number == FAILED and (message["closes"] or message["request"] is None):
            raise ScenedError(message)
        elif "request" in message:
            self.answers.setdefault(message["request"], []).append(message)
        # Anything else is of a later version.

    def _ask(self, number, *fields):
        """Sends a request and waits for all that answers it."""
        self.requests += 1
        request = self.requests
        self._send(number, request, *fields)
        answers = self.answers.setdefault(request, [])
        self._wait(lambda: answers and not answers[-1].get("more"))
        del self.answers[request]
        if answers[-1].number == FAILED:
            raise ScenedError(answers[-1])
        return answers

    # --- Documents ---

    def open(self, document, create=False):
        opened = self._ask(OPEN, document, create or None)[0]
        self.document, self.epoch, self.root = document, opened["epoch"], opened["root"]
        self.next_number = max(self.next_number, opened["number"] + 1)
        return opened

    def reconnect(self):
        """Connects again after the connection was lost: nothing is done twice, nothing is forgotten."""
        self.close()
        self.answers.clear()
        self._connect()
        if self.document is None:
            return
        self.open(self.document)
        for number in sorted(self.pending):
            self._send_bytes(self.pending[number])
        for view in self.views.values():
            view.parts = []
            self._start(view)

    def documents(self):
        return self._ask(DOCUMENTS)[0]["body"]

    def info(self):
        return self._ask(INFO)[0]["body"]

    def who(self):
        return [session for answer in self._ask(WHO) for session in answer["body"]]

    def ping(self):
        return self._ask(PING)[0]["body"]

    # --- What is only now ---

    def presence(self, **keys):
        """Shows these to others for as long as the connection lasts; None takes one away."""
        self._send(PRESENCE, keys)

    def lock(self, *nodes, ttl=None, mask=None, subtree=False):
        """Keeps other authors from editing the nodes; returns their uids."""
        return self._ask(LOCK, [ref(node) for node in nodes], ttl, mask, subtree or None)[0]["body"]

    def unlock(self, *nodes):
        """Without nodes: all that this connection has locked. Returns how many locks have ended."""
        return self._ask(UNLOCK, [ref(node) for node in nodes] or None)[0]["body"]

    # --- Edits ---

    def send_edit(self, ops, group=None, base=None, strict=False):
        """Sends an edit and goes on. The number is for result()."""
        number = self.next_number
        self.next_number += 1
        self.pending[number] = self._send(EDIT, number, ops, group, base, strict or None)
        return number

    def result(self, number):
        """Waits for the answer to an edit. Raises Refused."""
        self._wait(lambda: number in self.results)
        message = self.results.pop(number)
        if message.number == REFUSED:
            raise Refused(message)
        return Applied(message)

    def edit(self, ops, **options):
        return self.result(self.send_edit(ops, **options))

    def undo(self, count=None):
        """Takes back one's own last steps; `summary` says which, and what was skipped. Raises Refused."""
        return self._take_back(UNDO, count)

    def redo(self, count=None):
        return self._take_back(REDO, count)

    def _take_back(self, kind, count):
        number = self.next_number
        self.next_number += 1
        self.pending[number] = self._send(kind, number, count)
        return self.result(number)

    # --- Views ---

    def view(self, root="/", mask=ALL, on_delta=None):
        """Begins a view; it is there, whole, when this returns."""
        view = View(1 + max(self.views, default=0), mask, on_delta)
        view.root_ref = ref(root)
        self.views[view.number] = view
        try:
            self._start(view)
        except ScenedError:
            del self.views[view.number]
            raise
        self._wait(lambda: view.revision is not None)
        return view

    def _start(self, view):
        resume = view.revision is not None and view.root is not None
        if view.root is not None:
            view.root_ref = view.root.uid
        self._ask(VIEW, view.number, view.root_ref, view.mask, None, view.epoch if resume else None,
                  view.revision if resume else None)
        view.epoch = self.epoch

    def unview(self, view):
        del self.views[view.number]
        self._send(UNVIEW, view.number)

    # --- Questions ---

    def world(self, nodes, relative=None, at=None, durable=False):
        """A list with a dict for each node: uid, path, matrix, t, r, s; or code and text."""
        relative = None if relative is None else ref(relative)
        answers = self._ask(WORLD, [ref(node) for node in nodes], relative, at, durable or None)
        names = {0: "uid", 1: "path", 2: "matrix", 3: "t", 4: "r", 5: "s", 9: "code", 10: "text"}
        return [{names[key]: value for key, value in node.items() if key in names}
                for answer in answers for node in answer["body"]]

    def tree(self, node=None, depth=None, at=None):
        names = ("id", "uid", "parent", "name", "t", "r", "s", "props")
        answers = self._ask(TREE, None if node is None else ref(node), depth, at)
        nodes = []
        for answer in answers:
            for found in answer["body"]:
                if found.get(8):
                    nodes[-1]["props"].update(found[7])
                else:
                    nodes.append({name: found[key] for key, name in enumerate(names)})
        return nodes

    def digest(self, node=None, mask=None, at=None):
        """The digest and the revision it is of."""
        answer = self._ask(DIGEST, None if node is None else ref(node), at, mask)[0]
        return answer["body"], answer["rev"]

    def log(self, limit=None):
        return [entry for answer in self._ask(LOG, None, None, None, None, limit) for entry in answer["body"]]


# ---------------------------------------------------------------- the program

def show(node, level=0):
    parts = ["  " * level + (node.name or "(no name)"), "(%s)" % uuid.UUID(bytes=node.uid)]
    if node.t != (0, 0, 0):
        parts.append("at %g %g %g" % node.t)
    if node.props:
        parts.append(str(node.props))
    print(" ".join(parts))


def run_tree(client, arguments):
    view = client.view(arguments.node)
    levels = {}
    for node in view.root.walk():
        levels[node.id] = 0 if node is view.root else levels[node.parent.id] + 1
        show(node, levels[node.id])
    print("revision %d, digest %s" % (view.revision, view.digest().hex()))


def run_watch(client, arguments):
    def tell(view):
        print("revision %d: %d nodes, digest %s" % (view.revision, len(view.nodes), view.digest().hex()), flush=True)

    client.view(arguments.node, on_delta=tell)
    while True:
        client.receive()


def run_add(client, arguments):
    applied = client.edit([add(arguments.parent, arguments.name, t=arguments.translation)])
    print("revision %d: %s" % (applied.rev, uuid.UUID(bytes=applied.uids[0])))


def run_world(client, arguments):
    for node in client.world(arguments.nodes):
        if "code" in node:
            print("%(code)s: %(text)s" % node)
        else:
            print("%s is at %g %g %g" % (node["path"], *node["t"]))


def run_digest(client, arguments):
    digest, rev = client.digest(arguments.node)
    print("revision %d, digest %s" % (rev, digest.hex()))


def run_demo(client, arguments):
    """A boat with a lantern sails, and another connection watches."""
    boat, lantern = uuid.uuid4().bytes, uuid.uuid4().bytes
    client.edit([add("/", "boat", uid=boat, t=(10, 0, 0)), add(boat, "lantern", uid=lantern, t=(0, 2, 0))])
    watcher = Client(arguments.server, author="watcher")
    watcher.open(arguments.document)
    view = watcher.view(boat)
    print("the watcher holds %s" % ", ".join(node.name for node in view.root.walk()))
    print("the lantern is at %g %g %g" % tuple(client.world([lantern])[0]["t"]))
    applied = client.edit([transform(boat, t=(20, 0, 5))])
    watcher.wait_for(lambda: view.revision >= applied.rev)
    print("the watcher sees the boat at %g %g %g" % view.root.t)
    print("the lantern is at %g %g %g" % tuple(client.world([lantern])[0]["t"]))
    client.edit([move(lantern, "/", keep_world=True)])
    watcher.wait_for(lambda: len(view.nodes) == 1)
    print("the lantern has left the boat, and is still at %g %g %g" % tuple(client.world([lantern])[0]["t"]))
    try:
        client.edit([move(boat, boat)])
    except Refused as refusal:
        print("refused: %s" % refusal)
    is_same = view.digest() == watcher.digest(boat, mask=ALL)[0]
    print("the watcher's copy is %s" % ("the server's" if is_same else "NOT the server's"))
    return 0 if is_same else 1


def main():
    parser = argparse.ArgumentParser(description="A small client of scened.")
    parser.add_argument("--server", default=os.environ.get("SCENED_SERVER", "127.0.0.1:7420"),
                        help="HOST:PORT or unix:PATH")
    parser.add_argument("--as", dest="author", default=os.environ.get("USER"), help="the author's name")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, run, text in (("demo", run_demo, "a boat sails; makes the document"),
                            ("tree", run_tree, "the nodes, and the digest of them"),
                            ("watch", run_watch, "a line for each change"),
                            ("add", run_add, "add a node"),
                            ("world", run_world, "where nodes are"),
                            ("digest", run_digest, "of the document or a node")):
        command = commands.add_parser(name, help=text)
        command.set_defaults(run=run)
        command.add_argument("document")
        if name == "add":
            command.add_argument("parent")
            command.add_argument("name")
            command.add_argument("--translation", type=lambda text: [float(x) for x in text.split(",")])
        elif name == "world":
            command.add_argument("nodes", nargs="+")
        elif name == "digest":
            command.add_argument("node", nargs="?")
        elif name != "demo":
            command.add_argument("node", nargs="?", default="/")
    arguments = parser.parse_args()
    try:
        try:
            client = Client(arguments.server, author=arguments.author)
        except OSError as error:
            raise OSError("cannot connect to %s: %s" % (arguments.server, error.strerror or error)) from error
        client.open(arguments.document, create=arguments.command == "demo")
        return arguments.run(client, arguments) or 0
    except (ScenedError, OSError) as error:
        print("scened_client: %s" % error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
