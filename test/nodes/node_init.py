"""Process 1 of each node and of the namespaces around them; see nodes.py.

Usage: node_init.py FOLDER COUNT LIFE

Makes namespaces that hold a bridge, and COUNT nodes in them. Each has process, network, mount, UTS
and IPC namespaces of its own and a process 1, which listens on the socket FOLDER/NAME.sock and
starts commands there. Prints "ready" and the process of each node, or what the system does not
allow. All ends when the file descriptor LIFE, a pipe, is closed, and FOLDER is removed.
"""

import ctypes
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
OF_A_NODE = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
MESSAGE_BYTES = 1 << 20

libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags, what):
    if libc.unshare(flags):
        reason = os.strerror(ctypes.get_errno())
        raise OSError(ctypes.get_errno(), f"no {what} namespaces: {reason}")


def mount(source, target, kind, flags=0, data=""):
    encoded = [text.encode() for text in (source, target, kind)]
    if libc.mount(*encoded, ctypes.c_ulong(flags), data.encode()):
        reason = os.strerror(ctypes.get_errno())
        raise OSError(ctypes.get_errno(), f"no {kind or source} at {target}: {reason}")


def list_processes():
    """The processes of this PID namespace but process 1: [pid, command line]."""
    found = []
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        # A process that has ended has no command line.
        if pid != 1 and words != [b""]:
            found.append([pid, b" ".join(words).decode(errors="replace").strip()])
    return found


def list_listeners():
    """The TCP sockets that listen in this network namespace: [address, port]."""
    found = []
    for name, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        try:
            with open(f"/proc/net/{name}") as file:
                rows = [line.split() for line in file.readlines()[1:]]
        except OSError:
            continue
        for local, state in [(row[1], row[3]) for row in rows]:
            if state != "0A":
                continue
            digits, port = local.split(":")
            # Groups of four bytes, each in this machine's order.
            groups = [digits[i : i + 8] for i in range(0, len(digits), 8)]
            packed = b"".join(int(group, 16).to_bytes(4, sys.byteorder) for group in groups)
            found.append([socket.inet_ntop(family, packed), int(port, 16)])
    return sorted(found)


def count_bytes():
    """Bytes of each interface: {name: [received, sent]}."""
    with open("/proc/net/dev") as file:
        rows = [line.replace(":", " ").split() for line in file.readlines()[2:]]
    return {row[0]: [int(row[1]), int(row[9])] for row in rows}


def kill_all():
    """Kills all processes of this PID namespace but process 1."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass


QUESTIONS = {
    "processes": list_processes,
    "listeners": list_listeners,
    "bytes": count_bytes,
    "kill_all": kill_all,
}


class Init:
    """Starts a command for each connection to a socket, and reaps all processes.

    A message is a JSON object. A connection sends {"ask": one of QUESTIONS} and gets {"answer"}, or
    {"args", "cwd", "env"} with three file descriptors and gets {"pid"}, later {"status"} as
    subprocess has it; then it may send {"signal"}. {"error"} says what went wrong.
    """

    def __init__(self, path, life=None):
        self.selector = selectors.DefaultSelector()
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        self.listener.listen(64)
        self.selector.register(self.listener, selectors.EVENT_READ, self.accept)
        waking, self.woken = socket.socketpair()
        for end in (waking, self.woken):
            end.setblocking(False)
        self.waking = waking
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
        self.selector.register(self.woken, selectors.EVENT_READ, self.reap)
        self.life = life
        if life is not None:
            self.selector.register(life, selectors.EVENT_READ, None)
        self.started = {}  # pid: connection

    def serve(self):
        """Returns when the pipe `life` is closed."""
        while True:
            for key, _ in self.selector.select():
                if key.data is None:
                    return
                key.data(key.fileobj)

    def accept(self, listener):
        connection, _ = listener.accept()
        self.selector.register(connection, selectors.EVENT_READ, self.read)

    def read(self, connection):
        try:
            text, files, _, _ = socket.recv_fds(connection, MESSAGE_BYTES, 3)
        except OSError:
            text, files = b"", []
        if text:
            self.send(connection, self.obey(connection, json.loads(text), files))
        else:
            self.forget(connection)
        for file in files:
            os.close(file)

    def obey(self, connection, message, files):
        if "ask" in message:
            return {"answer": QUESTIONS[message["ask"]]()}
        if "signal" in message:
            for pid, owner in self.started.items():
                if owner is connection:
                    os.kill(pid, message["signal"])
            return None
        try:
            child = subprocess.Popen(
                message["args"],
                stdin=files[0],
                stdout=files[1],
                stderr=files[2],
                cwd=message["cwd"],
                env={**os.environ, **message["env"]},
                start_new_session=True,
            )
        except OSError as error:
            return {"error": str(error)}
        self.started[child.pid] = connection
        # Waited for by reap(), and not by subprocess.
        child.returncode = 0
        return {"pid": child.pid}

    def send(self, connection, message):
        if message is not None:
            try:
                connection.send(json.dumps(message).encode())
            except OSError:
                self.forget(connection)

    def forget(self, connection):
        """Closes a connection; its command goes on."""
        self.started = {p: c for p, c in self.started.items() if c is not connection}
        self.selector.unregister(connection)
        connection.close()

    def reap(self, woken):
        woken.recv(4096)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.started:
                self.send(self.started.pop(pid), {"status": os.waitstatus_to_exitcode(status)})


def enter_namespaces():
    """Enters the namespaces around the nodes, as their root. Who is root outside needs no user
    namespace, in which groups cannot be changed, as Slurm does."""
    user, group = os.getuid(), os.getgid()
    if user == 0 and libc.unshare(OF_A_NODE) == 0:
        return
    unshare(CLONE_NEWUSER | OF_A_NODE, "user")
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"0 {user} 1"),
        ("gid_map", f"0 {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def prepare(folder, name):
    """Gives a namespace its host name, hosts, /proc, /dev/shm and TMPDIR."""
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    mount("proc", "/proc", "proc")
    mount("tmpfs", "/dev/shm", "tmpfs", data="mode=1777")
    mount(f"{folder}/hosts", "/etc/hosts", "", MS_BIND)
    # Bytes are counted: interfaces other than lo have no addresses of IPv6 to announce.
    if os.path.exists("/proc/sys/net/ipv6"):
        with open("/proc/sys/net/ipv6/conf/default/disable_ipv6", "w") as file:
            file.write("1")
    socket.sethostname(name)
    os.environ["TMPDIR"] = f"{folder}/{name}.tmp"
    os.mkdir(os.environ["TMPDIR"])


def run_node(folder, name, report):
    """Process 1 of a node. An error goes to the pipe `report`, which is closed when it serves."""
    try:
        unshare(OF_A_NODE, "nested")
        if os.fork():
            # This process is in the outer PID namespace, where the head finds the node by it.
            os.close(report)
            os.wait()
            return
        prepare(folder, name)
        init = Init(f"{folder}/{name}.sock")
    except OSError as error:
        os.write(report, str(error.strerror).encode())
        return
    os.close(report)
    init.serve()


def fork_node(folder, name, life):
    """Starts a node. Returns a process of this PID namespace that is in the node's others."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(life)
        os.close(reading)
        try:
            run_node(folder, name, writing)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as file:
        error = file.read()
    if error:
        raise OSError(0, error)
    return pid


def run_outer(folder, count, life):
    """Process 1 around the nodes."""
    try:
        prepare(folder, "head")
        init = Init(f"{folder}/head.sock", life)
        nodes = [fork_node(folder, f"node{i}", life) for i in range(count)]
        print("ready", *nodes, flush=True)
        init.serve()
    except OSError as error:
        print(error.strerror, flush=True)
    finally:
        kill_all()
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)


def main():
    folder, count, life = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    try:
        enter_namespaces()
    except OSError as error:
        print(error.strerror, flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        return
    pid = os.fork()
    if pid == 0:
        run_outer(folder, count, life)
    os.close(life)
    os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
