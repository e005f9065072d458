"""Kills ranks of programs, their launcher and Python. Nothing is left."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import tessera
import torch
from models import draw_ids, make_nano
from torch import nn

IDS = draw_ids()
# Seconds that processes have to end.
END = 5


class Long(nn.Module):
    """A module whose step takes a second or so."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(1024, 1024, bias=False) for _ in range(8))

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x


def make_long():
    torch.manual_seed(0)
    return tessera.compile(Long(), (torch.ones(4096, 1024),), mesh={"dp": 2}, strategy="dp",
                           threads=1, timeout=10)


def list_session(leader):
    """The processes of a session: the launcher of a program and its ranks."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            found.append(int(path.parent.name))
    return sorted(found)


def expect_end(leader):
    deadline = time.monotonic() + END
    while list_session(leader):
        assert time.monotonic() < deadline, f"left: {list_session(leader)}"
        time.sleep(0.01)


def expect_error(act, rank):
    try:
        act()
    except tessera.ProgramError as error:
        text = str(error)
    else:
        raise AssertionError("no error")
    assert rank is None or f"rank {rank}" in text, text
    return text


def kill_ranks():
    """Each rank and the launcher, between calls and in them."""
    for number in range(3):
        for is_inside in (False, True):
            program = make_long()
            leader = program._client.process.pid
            processes = list_session(leader)
            assert len(processes) == 3 and processes[0] == leader, processes
            x = torch.ones(4096, 1024)
            program(x)
            rank = None if number == 2 else number
            victim = leader if rank is None else processes[1 + rank]
            if is_inside:
                timer = threading.Timer(0.1, os.kill, (victim, signal.SIGKILL))
                timer.start()
                start = time.monotonic()
                text = expect_error(lambda: [program(x) for _ in range(100)], rank)
                timer.join()
            else:
                os.kill(victim, signal.SIGKILL)
                start = time.monotonic()
                text = expect_error(lambda: [program(x) for _ in range(100)], rank)
            assert time.monotonic() - start < 12
            assert expect_error(lambda: program(x), rank) == text
            expect_end(leader)
            program.close()
        print("killed:", "the launcher" if rank is None else f"rank {rank}")


CHILD = """
import os, pathlib, signal, sys, threading
import tessera
from models import draw_ids, make_nano
made = []
thread = threading.Thread(target=lambda: made.append(tessera.compile(
    make_nano(), (draw_ids(),), mesh={"dp": 2}, strategy="dp")))
thread.start(); thread.join()
program, = made
program(draw_ids())
if os.fork() == 0:
    # A worker that lives on, with all that it had from its parent.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    print("worker", os.getpid(), flush=True)
    signal.pause()
if os.fork() == 0:
    sys.exit(0)  # One that ends as Python does stops nothing.
os.wait()
program(draw_ids())
print("leader", program._client.process.pid, flush=True)
how = sys.argv[1]
if how == "close":
    program.close()
if how in ("close", "kill"):
    sys.stdin.read()
"""


def end_python(how):
    child = subprocess.Popen([sys.executable, "-c", CHILD, how], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True,
                             cwd=pathlib.Path(__file__).parent)
    words = dict(child.stdout.readline().split() for _ in range(2))
    leader, worker = int(words["leader"]), int(words["worker"])
    if how == "kill":
        child.kill()
    if how == "exit":
        child.wait()
    expect_end(leader)
    os.kill(worker, signal.SIGTERM)
    child.stdin.close()
    child.wait()
    print(f"{how}: no rank is left while a worker lives")


def watch_idle():
    """An idle program outlives its timeout, needs no processor and listens to nobody."""
    with tessera.compile(make_nano(), (IDS,), mesh={"dp": 2}, strategy="dp",
                         timeout=1) as program:
        expected = program(IDS)[0]
        processes = list_session(program._client.process.pid)
        before = sum(ticks_of(process) for process in processes)
        time.sleep(3)
        assert sum(ticks_of(process) for process in processes) - before <= 1
        assert torch.equal(program(IDS)[0], expected)
        sockets = {os.readlink(link) for process in processes
                   for link in pathlib.Path(f"/proc/{process}/fd").iterdir()}
        numbers = {name[8:-1] for name in sockets if name.startswith("socket:")}
        for table in ("tcp", "tcp6", "udp", "udp6", "unix"):
            for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                is_ours = (fields[6] if table == "unix" else fields[9]) in numbers
                # The flag of a Unix socket that accepts.
                assert not is_ours or table == "unix" and fields[3] == "00000000", line
    print("idle: no processor, no timeout, no socket that listens")


def ticks_of(process):
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def main():
    before = set(os.listdir("/dev/shm"))
    kill_ranks()
    for how in ("close", "exit", "kill"):
        end_python(how)
    watch_idle()
    left = {name for name in set(os.listdir("/dev/shm")) - before if "tessera" in name}
    assert not left, left
    print("nothing in /dev/shm")


if __name__ == "__main__":
    main()
