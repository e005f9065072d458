"""A running program: its process, the socket of requests and the memory that both map
(runtime/include/tessera_serve.h)."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import mmap
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import threading
import weakref
from typing import Any, Iterator, NoReturn, Sequence

import numpy

from .arrays import type_of
from .errors import ProgramError
from .manifest import Manifest, Value

SYNC, CALL, GET, SET, STOP = range(5)
REQUEST, REPLY = struct.Struct("=IIqqQ"), struct.Struct("=IIQdq")
# The seals that the program expects of its memory: nobody changes its size.
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
# A reply and the text of a refusal.
REPLY_BYTES = 1 << 16
# Seconds that a program has to end by itself.
END_SECONDS = 3.0


def check_memory(manifest: Manifest) -> None:
    """Fails if the ranks need more memory than this machine, or this container, has."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(OSError, ValueError):
        total = min(total, int(pathlib.Path("/sys/fs/cgroup/memory.max").read_text()))
    if manifest.memory > total:
        raise ProgramError(f"{manifest.program}: expects {manifest.memory / 1e9:.1f} GB of memory "
                           f"for {manifest.ranks} ranks but got {total / 1e9:.1f} GB; give fewer "
                           "ranks, or zero=3")


@dataclasses.dataclass(eq=False)
class Call:
    """A step: its inputs in the types of the program, and the number of its request."""
    inputs: Sequence[tuple[Value, Any]]
    number: int = 0

    def keep(self) -> None:
        """Copies the inputs, which may be the user's memory."""
        self.inputs = [(value, numpy.array(array)) for value, array in self.inputs]


class Client:
    """The only user of a running program. A process that was forked from this one does not use it,
    and two threads do not at once."""

    def __init__(self, program: pathlib.Path, manifest: Manifest, is_training: bool,
                 arguments: Sequence[str]) -> None:
        check_memory(manifest)
        self.name, self.pid = manifest.program, os.getpid()
        self.steps, self.seconds = 0, 0.0
        self.manifest = manifest
        self.lock, self.owner = threading.Lock(), 0
        # The number of the last request, whether replies may be left to read, the last reply, and
        # the calls that have none.
        self.number, self.is_waiting, self.buffer = 0, False, bytearray(REPLY_BYTES)
        self.calls: list[Call] = []
        self.is_training = is_training
        self.failure, self.is_closed = "", False
        memory = os.memfd_create("tessera", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
        self.log = os.memfd_create("tessera-log", os.MFD_CLOEXEC)
        self.socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            os.ftruncate(memory, manifest.total)
            fcntl.fcntl(memory, fcntl.F_ADD_SEALS, SEALS)
            self.memory = numpy.frombuffer(mmap.mmap(memory, manifest.total), dtype="u1")
            # In a session of its own: Ctrl-C in a terminal is for Python alone.
            self.process = subprocess.Popen(
                [str(program), "--serve", f"{other.fileno()},{memory}", "--quiet", *arguments],
                stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                pass_fds=(other.fileno(), memory), start_new_session=True)
        except OSError as error:
            self.socket.close()
            os.close(self.log)
            raise ProgramError(f"{self.name}: cannot start: {error.strerror}") from None
        finally:
            other.close()
            os.close(memory)
        # At the end of this object or of the interpreter.
        self.finalizer = weakref.finalize(self, stop, self.pid, self.process, self.socket,
                                          self.log)
        try:
            self.receive()
        except BaseException:
            self.finalizer()
            raise

    # The only user of the program.

    @contextlib.contextmanager
    def using(self, call: Call | None = None) -> Iterator[None]:
        """Makes this thread the user of the program, whose memory is then free, and runs a call.
        Replies to requests whose wait was interrupted are read before, and interrupted steps of
        training that the program has not run are run."""
        self.check_open()
        thread = threading.get_ident()
        with self.lock:
            # An owner that an interrupt left over, or that has ended, is none.
            alive = {other.ident for other in threading.enumerate()}
            if self.owner not in (0, thread) and self.owner in alive:
                raise ProgramError(f"{self.name}: expects one call at a time but got one while "
                                   "another thread's runs")
            self.owner = thread
        try:
            if not self.is_training:
                self.calls.clear()
            if call is not None:
                self.calls.append(call)
            self.drain()
            yield
        finally:
            self.owner = 0

    def check_open(self) -> None:
        if os.getpid() != self.pid:
            raise ProgramError(f"{self.name}: expects calls in the process that compiled it, "
                               f"{self.pid}, but got one in {os.getpid()}; compile in each process")
        if self.is_closed:
            raise ProgramError(f"{self.name}: expects a program that runs but got one after "
                               "close()")
        if self.failure:
            raise ProgramError(self.failure)

    # Requests. An interrupt may come between any two lines.

    def request(self, kind: int, value: int = 0, first: int = 0, count: int = 0,
                call: Call | None = None) -> None:
        """Sends a request and waits for its reply."""
        self.number += 1
        number = self.number
        if call is not None:
            call.number = number
        self.is_waiting = True
        try:
            self.socket.send(REQUEST.pack(kind, value, first, count, number))
        except OSError:
            self.fail()
        while True:
            refused, answered, text = self.receive()
            if answered == number:
                break
        self.is_waiting = False
        if refused:
            raise ProgramError(f"{self.name}: {text}")

    def drain(self) -> None:
        """Reads the replies that are left, and runs the calls that have none."""
        self.take_reply()
        if self.is_waiting:
            self.request(SYNC)
        while self.calls:
            call = self.calls[0]
            for given, array in call.inputs:
                numpy.copyto(self.view(given), array)
            try:
                self.request(CALL, call=call)
            except ProgramError:
                # An earlier call's refusal is not this one's.
                if self.failure or not self.calls:
                    raise

    def receive(self) -> tuple[bool, int, str]:
        """Reads a reply: whether it refuses, its number and its text."""
        self.buffer[:REPLY.size] = bytes(REPLY.size)
        try:
            size = self.socket.recv_into(self.buffer)
        except OSError:
            size = 0
        if size < REPLY.size:
            self.fail()
        refused, number = self.take_reply()
        return refused, number, self.buffer[REPLY.size:size].decode(errors="replace")

    def take_reply(self) -> tuple[bool, int]:
        """Ends the call that the last reply is of. The reply is in the buffer even if an interrupt
        came right after it."""
        _, refused, number, seconds, _ = REPLY.unpack_from(self.buffer)
        for call in [call for call in self.calls if number and call.number == number]:
            self.calls.remove(call)
            if not refused:
                self.steps, self.seconds = self.steps + 1, seconds
        return bool(refused), number

    def fail(self) -> NoReturn:
        """Reads why the program ended, and raises it from now on."""
        if self.is_closed:
            self.check_open()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            kill(self.process)
        self.failure = f"{self.name}: {self.read_reason()}"
        self.finalizer()
        raise ProgramError(self.failure)

    def read_reason(self) -> str:
        """The first error on the program's standard error, or its exit status."""
        text = os.pread(self.log, 1 << 20, 0).decode(errors="replace")
        found = re.search(r"^tessera: error: (.*)", text, re.MULTILINE)
        if found:
            return found.group(1)
        lines = text.split("\n")
        status = self.process.returncode
        ended = f"ended by {signal.Signals(-status).name}" if status < 0 else \
            f"ended with status {status}"
        return f"{ended}: {lines[-2]}" if len(lines) > 1 else ended

    def close(self) -> None:
        """Ends the program, in the process that started it."""
        if os.getpid() == self.pid and not self.is_closed:
            self.is_closed = True
            self.finalizer()
            self.memory = numpy.empty(0, "u1")

    # Memory.

    def view(self, value: Value) -> numpy.ndarray[Any, Any]:
        """An input or a result in the shared memory."""
        part = self.memory[value.offset:value.offset + value.bytes]
        return part.view(type_of(value.element)).reshape(value.shape)

    def window(self, value: Value, count: int) -> numpy.ndarray[Any, Any]:
        """The first elements of the window in a value's type."""
        kind = type_of(value.element)
        start = self.manifest.window
        return self.memory[start:start + count * kind.itemsize].view(kind)


def stop(pid: int, process: subprocess.Popen[bytes], connection: socket.socket,
         log: int) -> None:
    """Ends a program and waits for it, in the process that started it alone."""
    if os.getpid() != pid:
        return
    with contextlib.suppress(OSError):
        connection.send(REQUEST.pack(STOP, 0, 0, 0, 0), socket.MSG_DONTWAIT)
    with contextlib.suppress(OSError):
        # A process that was forked from this one has the socket, too.
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        kill(process)
    os.close(log)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Ends a program that does not end by itself: the launcher and the ranks of its session."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
