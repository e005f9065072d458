"""Nodes of a cluster on this machine, without root: namespaces joined by a bridge.

    with Nodes(2) as nodes:
        process = nodes[0].start(["./prog", "--quiet"], env={"RANK": "0"})
        nodes.link(1, up=False)
        status = process.wait(timeout=30)

Each node has processes, a network, a host name (node0, node1, ...), /dev/shm and TMPDIR of its own;
all other files are this machine's. Names of nodes lead to addresses of the bridge. `nodes.head` is
the machine outside of the nodes, with an address on the bridge too; the commands of launchers may
run there. Nothing outlives the object or the process that made it, whatever ends that.

    nodes.py --check             prints why this machine cannot do it, or nothing
    nodes.py at FOLDER HOST ...  runs a command on a node as ssh does; `Nodes.agent` is a script
                                 that calls it
"""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

INIT = pathlib.Path(__file__).resolve().parent / "node_init.py"
MESSAGE_BYTES = 1 << 20
# Environments do not say where Python finds modules.
PYTHON = [sys.executable, "-I", "-S"]


class Unavailable(Exception):
    """This machine does not allow nodes; the text says why."""


class Process:
    """A command on a node. `pid` is its process there; `stdout`, `stderr` are files."""

    def __init__(self, node, args, env, cwd, files):
        self.node = node
        self.args = [str(arg) for arg in args]
        self.returncode = None
        self.connection = node.connect()
        request = {"args": self.args, "cwd": cwd or os.getcwd(), "env": env or {}}
        socket.send_fds(self.connection, [json.dumps(request).encode()], files)
        reply = self.receive()
        if "error" in reply:
            raise OSError(f"{node.name}: {reply['error']}")
        self.pid = reply["pid"]

    def receive(self):
        text = self.connection.recv(MESSAGE_BYTES)
        if not text:
            # The node's process 1 has ended, and all others with it.
            return {"status": -signal.SIGKILL}
        return json.loads(text)

    def poll(self):
        """The exit status, as subprocess has it, or None."""
        try:
            return self.wait(timeout=0)
        except (BlockingIOError, TimeoutError):
            return None

    def wait(self, timeout=60):
        """The exit status. Raises TimeoutError after `timeout` seconds."""
        if self.returncode is None:
            self.connection.settimeout(timeout)
            self.returncode = self.receive()["status"]
        return self.returncode

    def send_signal(self, number):
        self.connection.send(json.dumps({"signal": int(number)}).encode())

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def output(self):
        """The text that it has written to standard output."""
        return self.stdout.read_text(errors="replace")

    def errors(self):
        """The text that it has written to standard error."""
        return self.stderr.read_text(errors="replace")


class Node:
    """A node that runs. Commands get this process's environment, with another TMPDIR."""

    def __init__(self, folder, name):
        self.folder = pathlib.Path(folder)
        self.name = name
        self.started = 0

    def connect(self):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect(str(self.folder / f"{self.name}.sock"))
        return connection

    def ask(self, question):
        with self.connect() as connection:
            connection.send(json.dumps({"ask": question}).encode())
            return json.loads(connection.recv(MESSAGE_BYTES))["answer"]

    def start(self, args, env=None, cwd=None, stdin=b""):
        """Starts a command; `env` is added to the environment."""
        self.started += 1
        stem = f"{self.name}.{self.started}"
        paths = [self.folder / f"{stem}.{kind}" for kind in ("in", "out", "err")]
        paths[0].write_bytes(stdin)
        with open(paths[0], "rb") as read, open(paths[1], "wb") as out, open(paths[2], "wb") as err:
            files = [file.fileno() for file in (read, out, err)]
            process = Process(self, args, env, cwd and str(cwd), files)
        process.stdout, process.stderr = paths[1:]
        return process

    def run(self, args, timeout=60, **options):
        """Runs a command that has to succeed; returns its standard output."""
        process = self.start(args, **options)
        if process.wait(timeout):
            raise RuntimeError(f"{self.name}: {args}: {process.returncode}: {process.errors()}")
        return process.output()

    def processes(self):
        """All that run here: [process, command line]."""
        return self.ask("processes")

    def listeners(self):
        """The TCP sockets that listen here: [address, port]."""
        return self.ask("listeners")

    def sent(self, interface="eth0"):
        """Bytes that have left by an interface, with the headers of Ethernet."""
        return self.ask("bytes")[interface][1]

    def kill_all(self):
        """Kills every process of the node. Its sockets are closed, and others hear of it
        unless the node's link is down."""
        self.ask("kill_all")


class Nodes:
    """`count` nodes, by index, with `networks` interfaces each: eth0, eth1, ...

    Raises Unavailable."""

    def __init__(self, count, networks=1):
        if not shutil.which("ip"):
            raise Unavailable("no program ip (package iproute2)")
        self.count, self.networks = count, networks
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="nodes-"))
        names = [f"node{i}" for i in range(count)] + ["head"]
        hosts = ["127.0.0.1 localhost"]
        hosts += [f"{self.address(name)} {name}" for name in names]
        (self.folder / "hosts").write_text("\n".join(hosts) + "\n")
        self.agent = self.folder / "agent"
        words = [*PYTHON, str(pathlib.Path(__file__).resolve()), "at", str(self.folder)]
        self.agent.write_text("#!/bin/sh\nexec " + " ".join(f"'{w}'" for w in words) + ' "$@"\n')
        self.agent.chmod(0o755)
        life, self.life = os.pipe()
        self.outer = subprocess.Popen(
            [*PYTHON, str(INIT), str(self.folder), str(count), str(life)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=[life],
            start_new_session=True,
        )
        os.close(life)
        try:
            self.nodes = [Node(self.folder, name) for name in names[:-1]]
            self.head = Node(self.folder, "head")
            self.set_up()
        except BaseException:
            self.close()
            raise

    def set_up(self):
        answer = self.outer.stdout.readline().split()
        if answer[:1] != ["ready"]:
            raise Unavailable(" ".join(answer) or "namespaces were not made")
        lines = ["link set lo up"]
        for n in range(self.networks):
            lines += [
                f"link add br{n} type bridge",
                f"addr add {self.address('head', n)}/24 dev br{n}",
                f"link set br{n} up",
            ]
            for i, process in enumerate(answer[1:]):
                lines += [
                    f"link add {self.port(i, n)} type veth peer name eth{n} netns {process}",
                    f"link set {self.port(i, n)} master br{n} up",
                ]
        self.configure(self.head, lines)
        for node in self.nodes:
            lines = ["link set lo up"]
            for n in range(self.networks):
                lines += [
                    f"addr add {self.address(node.name, n)}/24 dev eth{n}",
                    f"link set eth{n} up",
                ]
            self.configure(node, lines)

    @staticmethod
    def configure(node, lines):
        try:
            node.run(["ip", "-batch", "-"], stdin="\n".join(lines).encode() + b"\n")
        except RuntimeError as error:
            raise Unavailable(f"no network of nodes: {error}") from error

    @staticmethod
    def address(name, network=0):
        """The address of a node, or of the head, in a network."""
        return f"10.77.{network}.{254 if name == 'head' else int(name[4:]) + 1}"

    @staticmethod
    def port(index, network):
        """The bridge's end of a node's link."""
        return f"port{index}.{network}"

    def link(self, index, up, network=0):
        """Connects a node to the bridge, or pulls its cable: packets are lost without a word."""
        state = "up" if up else "down"
        self.configure(self.head, [f"link set {self.port(index, network)} {state}"])

    def close(self):
        """Ends all nodes and removes their files."""
        if self.life is not None:
            os.close(self.life)
            self.life = None
            self.outer.stdout.close()
            self.outer.wait(30)
            shutil.rmtree(self.folder, ignore_errors=True)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.nodes[index]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def check():
    """Why this machine does not allow nodes, or nothing."""
    try:
        Nodes(1).close()
        return ""
    except Unavailable as error:
        return str(error)


def run_at(folder, words):
    """Does what ssh does for `ssh [-x] HOST COMMAND...`: the command has the node's environment and
    this process's files; signals go to it. Returns its exit status."""
    while words and words[0].startswith("-"):
        words = words[1:]
    command = ["sh", "-c", " ".join(words[1:])]
    process = Process(Node(folder, words[0]), command, {}, "/", [0, 1, 2])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: process.send_signal(number))
    status = process.wait(None)
    return status if status >= 0 else 128 - status


def main():
    if sys.argv[1] == "--check":
        print(check())
    else:
        sys.exit(run_at(sys.argv[2], sys.argv[3:]))


if __name__ == "__main__":
    main()
