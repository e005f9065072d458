"""Tests the nodes of nodes.py without a program of Tessera: a line for each claim that holds."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))
from nodes import PYTHON, Nodes

# Answers each line of a connection.
ECHO = """
import socket
with socket.create_server(("node1", 7000)) as server:
    connection, _ = server.accept()
    while data := connection.recv(1 << 16):
        connection.sendall(data)
"""
# Sends numbers to the echo for ever, and prints each that comes back.
PING = """
import socket, sys, time
connection = socket.create_connection(("node1", 7000))
n = 0
while True:
    connection.sendall(b"%d\\n" % n)
    print(connection.recv(100).decode().strip(), flush=True)
    n += 1
    time.sleep(0.01)
"""
# Receives as much as comes.
SINK = """
import socket
with socket.create_server(("node0", 7001)) as server:
    connection, _ = server.accept()
    while connection.recv(1 << 16):
        pass
"""
SOURCE = """
import socket
with socket.create_connection(("node0", 7001)) as connection:
    connection.sendall(bytes(1 << 20))
"""


def python(text):
    return [*PYTHON, "-c", text]


def until(condition, what, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"expects {what} within {seconds} s")
        time.sleep(0.01)


def expect(condition, text):
    if not condition:
        sys.exit(f"does not hold: {text}")
    print(text)


def test_folders(nodes):
    names = [node.run(["sh", "-c", "hostname; echo $TMPDIR"]).split() for node in nodes]
    expect([name for name, _ in names] == ["node0", "node1"], "each node has its host name")
    expect(names[0][1] != names[1][1], "each node has its TMPDIR")
    for i, node in enumerate(nodes):
        node.run(["sh", "-c", f"echo {i} > /dev/shm/file"])
    own = [node.run(["sh", "-c", "cat /dev/shm/file; ls /dev/shm"]).split() for node in nodes]
    expect(own == [["0", "file"], ["1", "file"]], "/dev/shm is the node's")
    expect(not os.path.exists("/dev/shm/file"), "/dev/shm is not this machine's")
    shared = nodes.folder / "shared"
    nodes[1].run(["touch", str(shared)])
    expect(shared.exists(), "other files are this machine's")


def test_commands(nodes):
    status = nodes[0].start(["sh", "-c", "cat; echo err >&2; exit 3"], stdin=b"in\n")
    expect(status.wait() == 3 and status.output() == "in\n" and status.errors() == "err\n",
           "a command has input, output and an exit status")
    sleeper = nodes[0].start(["sleep", "1000"])
    expect(sleeper.poll() is None, "a command that runs has no status")
    sleeper.terminate()
    expect(sleeper.wait() == -signal.SIGTERM, "a signal goes to the command")
    try:
        nodes[0].start(["/no/such/program"])
    except OSError as error:
        print(f"a program that is not there: {error}")
    command = [str(nodes.agent), "-x", "node1", "hostname;", "exit", "4"]
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    expect((result.stdout, result.returncode) == ("node1\n", 4), "the agent does what ssh does")


def test_network(nodes):
    echo = nodes[1].start(python(ECHO))
    until(lambda: nodes[1].listeners(), "a socket that listens")
    expect(nodes[1].listeners() == [["10.77.0.2", 7000]] and not nodes[0].listeners(),
           "the sockets that listen are found")
    ping = nodes[0].start(python(PING))
    until(lambda: len(ping.output()) > 20, "pings")
    count = nodes[1].sent()
    time.sleep(0.1)
    expect(nodes[1].sent() > count, "nodes reach each other")

    nodes.link(1, up=False)
    count, text = nodes[0].sent(), ping.output()
    time.sleep(0.3)
    expect(len(ping.output()) - len(text) <= 5 and ping.poll() is None, "a cut link is silent")
    nodes.link(1, up=True)
    until(lambda: len(ping.output()) > len(text) + 50, "pings after the link is up")
    lines = ping.output().split()
    expect(lines[:20] == [str(i) for i in range(20)], "a link that is up again goes on")

    nodes[1].kill_all()
    expect(echo.wait() == -signal.SIGKILL and nodes[1].processes() == [], "a node is killed")
    expect(ping.wait() == 1, "the others hear of it")

    sink = nodes[0].start(python(SINK))
    until(lambda: nodes[0].listeners(), "a socket that listens")
    before = nodes[1].sent()
    nodes[1].run(python(SOURCE))
    sink.wait()
    count = nodes[1].sent() - before
    expect(1 << 20 < count < 1.1 * (1 << 20), "bytes are counted")
    expect(nodes[0].processes() == [], "nothing is left on a node")


def list_users(folder):
    """The processes whose command line names a folder."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [path] * (folder.encode() in path.read_bytes())
        except OSError:
            pass
    return found


def test_end():
    """A test that is killed leaves neither processes nor files."""
    text = f"""
import sys, time
sys.path.insert(0, {str(TESTS)!r})
from nodes import Nodes
nodes = Nodes(1)
nodes[0].start(["sh", "-c", f"sleep 1000; echo {{nodes.folder}}"])
print(nodes.folder, flush=True)
time.sleep(1000)
"""
    test = subprocess.Popen(python(text), stdout=subprocess.PIPE, text=True)
    folder = test.stdout.readline().strip()
    expect(len(list_users(folder)) >= 3, "processes of nodes are found by their folder")
    test.kill()
    test.wait()
    test.stdout.close()
    until(lambda: not os.path.exists(folder), "no files of a test that was killed")
    until(lambda: not list_users(folder), "no process of a test that was killed")
    print("a test that is killed leaves nothing")


def main():
    with Nodes(2) as nodes:
        folder = nodes.folder
        test_folders(nodes)
        test_commands(nodes)
        test_network(nodes)
    expect(not folder.exists() and nodes.outer.returncode == 0, "no files are left")
    with Nodes(2, networks=2) as nodes:
        names = nodes[1].run(["ip", "-o", "-4", "addr", "show", "up"]).split()
        expect("10.77.0.2/24" in names and "10.77.1.2/24" in names, "a node may have two networks")
    test_end()


if __name__ == "__main__":
    main()
