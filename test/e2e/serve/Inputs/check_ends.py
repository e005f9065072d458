"""Ends a program that serves requests in every way: no rank may outlive its client.

usage: check_ends.py PROGRAM RANKS
"""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
from serve_client import CALL, Client

program, ranks = sys.argv[1], int(sys.argv[2])


def find_ranks(client):
    """The processes of the program's ranks, in their order."""
    pid = client.process.pid
    return [int(child) for child in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def await_end(pids, seconds=5):
    end = time.monotonic() + seconds
    while any(map(is_alive, pids)):
        assert time.monotonic() < end, "a rank lives on"
        time.sleep(0.01)


def seconds_of(pids):
    """Processor time, in seconds."""
    total = 0
    for pid in pids:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def start(*options, **popen):
    client = Client(program, "--quiet", *options, **popen)
    pids = find_ranks(client)
    assert len(pids) == ranks
    client.call(**{name: np.zeros(shape, dtype)
                   for name, (_, dtype, shape) in client.inputs.items()})
    return client, pids


def check_lost(rank, is_in_call):
    client, pids = start(stderr=subprocess.PIPE)
    if is_in_call:
        # A stopped rank keeps the others in the call.
        os.kill(pids[rank], signal.SIGSTOP)
        client.send(CALL)
        time.sleep(0.1)
    os.kill(pids[rank], signal.SIGKILL)
    begin = time.monotonic()
    assert client.read() == b""
    message = client.process.stderr.read().decode()
    assert f"rank {rank} was killed by signal 9" in message, message
    assert client.process.wait() == 75
    assert time.monotonic() - begin < 5
    await_end(pids)


for rank in range(ranks):
    check_lost(rank, False)
    check_lost(rank, True)
print("a lost rank ends all")

client, pids = start()
client.socket.close()
await_end(pids)
client.process.wait()
client, pids = start()
client.close()
await_end(pids)
client, pids = start()
client.process.terminate()
assert client.read() == b""
await_end(pids)
client.process.wait()
print("so does the socket, and SIGTERM")

# A client that is killed, and whose worker holds the socket open.
reader, writer = os.pipe()
pid = os.fork()
if pid == 0:
    client, pids = start()
    worker = os.fork()
    if worker == 0:
        time.sleep(60)
        os._exit(0)
    os.write(writer, " ".join(map(str, [worker, client.process.pid, *pids])).encode())
    time.sleep(60)
worker, *pids = [int(word) for word in os.read(reader, 1000).split()]
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)
await_end(pids)
assert is_alive(worker)
os.kill(worker, signal.SIGKILL)
print("so does a killed client")

# The thread that started the program ends.
started = []
thread = threading.Thread(target=lambda: started.append(start("--timeout", "1")))
thread.start()
thread.join()
client, pids = started[0]
everything = [client.process.pid, *pids]
before = seconds_of(everything)
time.sleep(10)
assert seconds_of(everything) - before <= 0.05, "an idle program uses the processor"
results = client.call()
assert np.isfinite(results["loss"])
for rank in pids:
    lines = pathlib.Path(f"/proc/{rank}/net/unix").read_text().splitlines()
    assert not any("tessera" in line for line in lines)
assert client.close() == 0
await_end(everything)
print("an idle program sleeps")
