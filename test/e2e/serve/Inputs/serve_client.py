"""A client of `PROGRAM --serve`, as tessera_serve.h describes it, for tests."""

import fcntl
import json
import mmap
import os
import socket
import struct
import subprocess

import numpy as np

SYNC, CALL, GET, SET, STOP = range(5)
WINDOW = 64 << 20
TYPES = {"f32": np.float32, "f64": np.float64, "i1": np.bool_, "i8": np.int8, "i16": np.int16,
         "i32": np.int32, "i64": np.int64, "f16": np.float16, "bf16": np.uint16}


def align(number):
    return (number + 63) // 64 * 64


class Client:
    def __init__(self, program, *options, seals=True, extra_bytes=0, **popen):
        self.manifest = json.loads(subprocess.run([program, "--manifest"], check=True,
                                                  stdout=subprocess.PIPE).stdout)
        arguments = self.manifest["arguments"]
        replaced = {value["donate"] for value in arguments if "donate" in value}
        self.inputs, self.results, at = {}, {}, 0
        for values, chosen in (
                (self.inputs, [value for value in arguments if value["role"] in
                               ("tokens", "labels", "starts", "input")]),
                (self.results, [value for i, value in enumerate(self.manifest["results"])
                                if i not in replaced])):
            for value in chosen:
                shape = value.get("logical_shape", value["shape"])
                dtype = np.dtype(TYPES[value["dtype"]])
                values[value["name"]] = (at, dtype, shape)
                at = align(at + int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)
        self.window = at
        size = align(at + WINDOW) + extra_bytes
        descriptor = os.memfd_create("tessera", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(descriptor, size)
        if seals:
            # F_ADD_SEALS: F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW.
            fcntl.fcntl(descriptor, 1033, 7)
        self.memory = mmap.mmap(descriptor, size)
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = subprocess.Popen(
            [program, "--serve", f"{theirs.fileno()},{descriptor}", *options],
            pass_fds=(theirs.fileno(), descriptor), start_new_session=True, **popen)
        theirs.close()
        os.close(descriptor)
        self.number = 0
        self.receive()

    def read(self):
        """The next message; none at the socket's end. A program that is killed before it read a
        request resets it."""
        try:
            return self.socket.recv(1 << 16)
        except ConnectionResetError:
            return b""

    def receive(self):
        """Returns kind, number, seconds and refusal of the next reply."""
        message = self.read()
        if not message:
            raise EOFError(f"the program ended with {self.process.wait()}")
        kind, refused, number, seconds, _ = struct.unpack("<IIQdq", message[:32])
        assert bool(refused) == (len(message) > 32)
        return kind, number, seconds, message[32:].decode()

    def send(self, kind, value=0, first=0, count=0):
        self.number += 1
        self.socket.send(struct.pack("<IIqqQ", kind, value, first, count, self.number))

    def ask(self, kind, value=0, first=0, count=0):
        """Returns the reason for a refusal, or an empty text."""
        self.send(kind, value, first, count)
        reply = self.receive()
        assert reply[:2] == (kind, self.number), reply
        return reply[3]

    def view(self, place):
        at, dtype, shape = place
        return np.ndarray(shape, dtype, self.memory, at)

    def call(self, **inputs):
        for name, value in inputs.items():
            self.view(self.inputs[name])[...] = value
        refusal = self.ask(CALL)
        if refusal:
            raise ValueError(refusal)
        return {name: self.view(place).copy() for name, place in self.results.items()}

    def argument(self, index):
        value = self.manifest["arguments"][index]
        return np.dtype(TYPES[value["dtype"]]), value.get("logical_shape", value["shape"])

    def get(self, index, window=WINDOW):
        dtype, shape = self.argument(index)
        whole = np.empty(int(np.prod(shape, dtype=np.int64)), dtype)
        step = max(window // dtype.itemsize, 1)
        for first in range(0, whole.size, step):
            part = whole[first:first + step]
            assert self.ask(GET, index, first, part.size) == ""
            part[...] = np.ndarray(part.shape, dtype, self.memory, self.window)
        return whole.reshape(shape)

    def set(self, index, whole, window=WINDOW):
        flat = whole.reshape(-1)
        step = max(window // flat.itemsize, 1)
        for first in range(0, flat.size, step):
            part = flat[first:first + step]
            np.ndarray(part.shape, part.dtype, self.memory, self.window)[...] = part
            assert self.ask(SET, index, first, part.size) == ""

    def kept(self):
        return [i for i, value in enumerate(self.manifest["arguments"])
                if value["role"] in ("param", "state")]

    def close(self):
        self.ask(STOP)
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        return self.process.wait(timeout=20)
