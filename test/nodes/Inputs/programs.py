"""Runs a program of four ranks on nodes, and compares it with the run on one machine.

Usage: programs.py PROGRAM DATA FOLDER TRIAL...

A trial is a function of this file, without "try_". Prints what holds, line by line; the exit status
is 1 at the first claim that does not.
"""

import filecmp
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))
import starters
from nodes import Nodes

RANKS = 4
STEPS = 6
# Enough for a run that something has to happen to.
MANY_STEPS = 100000

program, data = map(str, map(pathlib.Path.absolute, map(pathlib.Path, sys.argv[1:3])))
folder = pathlib.Path(sys.argv[3]).absolute()


def expect(condition, claim, text=""):
    if not condition:
        sys.exit(f"does not hold: {claim}\n{text}")
    print(claim, flush=True)


def wait_for(condition, what, processes=(), seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            texts = [process.output() + process.errors() for process in processes]
            sys.exit(f"expects {what} within {seconds} s\n" + "\n".join(texts))
        time.sleep(0.02)


def new_folder(name):
    """A folder of this trial, empty."""
    path = folder / name
    path.mkdir(parents=True)
    return path


def command(steps, *more):
    words = [program, "--log=jsonl", "--data", data, "--steps", steps, *more]
    return [str(word) for word in words]


def losses(text):
    """Loss and norm of each step."""
    events = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    steps = [event for event in events if event.get("event") == "step"]
    return {event["step"]: (event["loss"], event["grad_norm"]) for event in steps}


def run_alone(steps, path):
    """The run on one machine: its losses."""
    words = command(steps, "--save-final", path)
    return losses(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def are_same(a, b):
    names = sorted(path.name for path in a.iterdir())
    if names != sorted(path.name for path in b.iterdir()) or not names:
        return False
    _, different, missing = filecmp.cmpfiles(a, b, names, shallow=False)
    return not different and not missing


def start(nodes, name, words, env=None):
    """The processes of a way to start, `name`; each node has its share of the ranks."""
    return starters.STARTERS[name](nodes, RANKS // len(nodes), words, env or {})


def is_clean(nodes):
    """True if no process and no shared memory is left on any node."""
    for node in nodes:
        shared = node.run(["ls", "-A", "/dev/shm"])
        programs = [line for _, line in node.processes() if program in line]
        if programs or shared.strip():
            return False
    return True


def has_steps(processes, count):
    return any(len(losses(process.output().rpartition("\n")[0])) >= count for process in processes)


def rank_processes(node, processes):
    """The processes of a node's ranks, in their order: all but those that fork them."""
    launchers = [
        process.pid
        for process in processes
        if process.node is node and "--local-ranks" in process.args
    ]
    found = [pid for pid, line in node.processes() if program in line]
    return [pid for pid in found if pid not in launchers]


def lines_about(text, what):
    return [line for line in text.splitlines() if what in line]


def compare(ways):
    """Runs on 1, 2 and 4 nodes, or as `ways` says, are those of one machine."""
    alone = new_folder(f"alone for {list(ways)}")
    expected = run_alone(STEPS, alone / "alone")
    for count, names in ways.items():
        with Nodes(count) as nodes:
            for name in names:
                claim = f"{count} x {RANKS // count}, {name}: the losses and files of one machine"
                if starters.missing(name):
                    print(claim, starters.missing(name))
                    continue
                home = new_folder(f"{count} {name}")
                words = command(STEPS, "--save-final", home / "end", "--rendezvous", home)
                statuses, text = starters.finish(start(nodes, name, words))
                expect(statuses == [0] and losses(text) == expected
                       and are_same(alone / "alone", home / "end") and is_clean(nodes), claim, text)


def try_shapes():
    names = ["by hand", "a process per node, by hand"]
    compare({count: names for count in (1, 2, 4)})


def try_launchers():
    compare({2: [name for name in starters.STARTERS if "by hand" not in name]})


# Rank 0 in a process per rank has the root with it.
VICTIMS = (("by hand", 3), ("a process per node, by hand", 3), ("by hand", 0))


def try_kill():
    """A rank that is killed is named on both nodes."""
    with Nodes(2) as nodes:
        for name, rank in VICTIMS:
            words = command(MANY_STEPS, "--rendezvous", new_folder(f"kill {name} {rank}"))
            processes = start(nodes, name, words)
            wait_for(lambda: has_steps(processes, 3), "three steps", processes)
            node = nodes[rank // 2]
            node.run(["kill", "-9", rank_processes(node, processes)[rank % 2]])
            statuses, text = starters.finish(processes)
            # The process of the rank itself has no exit code.
            expect([status for status in statuses if status != -signal.SIGKILL] == [75],
                   f"{name}: exit code 75", text)
            for i, node in enumerate(nodes):
                own = [p for k, p in enumerate(processes) if k * len(nodes) // len(processes) == i]
                lines = lines_about("".join(p.errors() for p in own), f"rank {rank} ")
                expect(lines, f"{name}: {node.name} says: {lines[0] if lines else ''}", text)
            expect(is_clean(nodes), f"{name}: nothing is left")


def try_restarts():
    """Ranks of both nodes start anew, and compute what an undisturbed run does."""
    home = new_folder("restarts")
    expected = run_alone(STEPS, home / "alone")
    more = ["--checkpoint", home / "ck", "--checkpoint-interval", 1, "--save-final", home / "end"]
    with Nodes(2) as nodes:
        words = command(STEPS, *more, "--restarts", 2)
        processes = start(nodes, "a process per node, by hand", words)
        wait_for(lambda: any((home / "ck").glob("step-????????")), "a checkpoint", processes)
        nodes[1].run(["kill", "-9", rank_processes(nodes[1], processes)[0]])
        statuses, text = starters.finish(processes)
    got = losses(text)
    expect(statuses == [0] and got and all(expected[step] == got[step] for step in got),
           "ranks that were lost start anew", text)
    expect(are_same(home / "alone", home / "end"), "the end is that of one machine")


def try_checkpoints():
    """Any number of nodes goes on from the checkpoint of another."""
    home = new_folder("checkpoints")
    run_alone(12, home / "alone")
    for steps, count in ((4, 2), (8, 1), (12, 4)):
        with Nodes(count) as nodes:
            more = ["--checkpoint", home / "ck", "--save-final", home / "end"]
            statuses, text = starters.finish(start(nodes, "by hand", command(steps, *more)))
            went = sorted(losses(text))
            expect(statuses == [0] and went == list(range(steps - 3, steps + 1)),
                   f"{count} x {RANKS // count} goes on to step {steps}", text)
    expect(are_same(home / "alone", home / "end"), "the end is that of one machine")


def try_signals():
    """SIGTERM to one process ends all, with a checkpoint; so does SIGTERM to a node's launcher and
    its ranks, which Slurm sends."""
    home = new_folder("signals")
    with Nodes(2) as nodes:
        for name, is_to_all in (
            ("by hand", False),
            ("a process per node, by hand", False),
            ("a process per node, by hand", True),
        ):
            path = home / f"{name} {is_to_all}"
            words = command(MANY_STEPS, "--checkpoint", path, "--checkpoint-interval", MANY_STEPS)
            processes = start(nodes, name, words)
            wait_for(lambda: has_steps(processes, 3), "three steps", processes)
            told = [processes[-1].pid]
            if is_to_all:
                told += rank_processes(nodes[1], processes)
            nodes[1].run(["kill", "-TERM", *told])
            statuses, text = starters.finish(processes)
            found = list(path.glob("step-????????"))
            claim = f"{name}, SIGTERM to {len(told)}"
            expect(statuses == [143] and len(found) == 1, f"{claim}: 143, and a checkpoint", text)
            expect(is_clean(nodes), f"{claim}: nothing is left")


def try_link():
    """A network that is cut ends the run on both sides; the root's side names the node."""
    with Nodes(2) as nodes:
        words = command(MANY_STEPS, "--rendezvous", new_folder("link"))
        processes = start(nodes, "a process per node, by hand", words)
        wait_for(lambda: has_steps(processes, 3), "three steps", processes)
        nodes.link(1, up=False)
        begin = time.monotonic()
        statuses, text = starters.finish(processes)
        expect(statuses == [75] and time.monotonic() - begin < 30, "75 within 30 s", text)
        for i, other in enumerate(("node 1 (node1)", "node 0 (node0)")):
            lines = lines_about(processes[i].errors(), other)
            expect(lines, f"node{i} says: {lines[0] if lines else ''}", text)
        expect(is_clean(nodes), "nothing is left")


def start_and_wait(nodes, name, home, *more):
    """A long run on nodes, which has done steps for two seconds."""
    processes = start(nodes, name, command(MANY_STEPS, "--rendezvous", home, *more))
    wait_for(lambda: has_steps(processes, 1), "a step", processes)
    time.sleep(2)
    return processes


def try_repaired():
    """A network that is cut for five seconds delays a run."""
    home = new_folder("repaired")
    expected = run_alone(300, home / "alone")
    with Nodes(2) as nodes:
        words = command(300, "--rendezvous", home, "--save-final", home / "end")
        processes = start(nodes, "a process per node, by hand", words)
        wait_for(lambda: has_steps(processes, 3), "three steps", processes)
        nodes.link(1, up=False)
        time.sleep(5)
        early = [process.poll() for process in processes]
        nodes.link(1, up=True)
        statuses, text = starters.finish(processes)
        expect(early == [None, None] and statuses == [0],
               "a run outlives a cut of 5 s", text[-4000:])
        expect(losses(text) == expected and are_same(home / "alone", home / "end"),
               "the end is that of one machine")


def try_lost():
    """A node whose processes are killed at once, or that has no power, is named."""
    with Nodes(2) as nodes:
        for lost, name, has_power in (
            (1, "by hand", True),
            (0, "by hand", True),
            (1, "a process per node, by hand", True),
            (0, "a process per node, by hand", True),
            (0, "a process per node, by hand", False),
        ):
            home = new_folder(f"lost {lost} {name} {has_power}")
            processes = start_and_wait(nodes, name, home)
            nodes.link(lost, up=has_power)
            nodes[lost].kill_all()
            begin = time.monotonic()
            rest = [process for process in processes if process.node is not nodes[lost]]
            statuses, text = starters.finish(rest)
            seconds = time.monotonic() - begin
            nodes.link(lost, up=True)
            lines = lines_about(text, f"node {lost} (node{lost})")
            claim = f"{name}, {'killed' if has_power else 'without power'}: "
            expect(statuses == [75] and lines and seconds < (8 if has_power else 30),
                   f"{claim}{lines[0] if lines else ''}",
                   f"{seconds} s, {statuses}\n{text[-3000:]}")
            starters.finish(processes)
            expect(is_clean(nodes), f"{claim}nothing is left")


def try_stopped():
    """A rank that is stopped is named on both nodes."""
    with Nodes(2) as nodes:
        for name, rank in VICTIMS:
            folder = new_folder(f"stopped {name} {rank}")
            processes = start_and_wait(nodes, name, folder, "--timeout", 4)
            victim = nodes[rank // 2]
            victim.run(["kill", "-STOP", rank_processes(victim, processes)[rank % 2]])
            wait_for(lambda: any(lines_about(p.errors(), f"rank {rank} on") for p in processes),
                     "a line", processes)
            for node in nodes:
                own = [process for process in processes if process.node is node]
                wait_for(lambda: any(process.poll() is not None for process in own)
                         and any(lines_about(p.errors(), "is stopped") for p in own), "an end", own)
                lines = lines_about("".join(p.errors() for p in own), "is stopped")
                expect(lines, f"{name}: {node.name} says: {lines[0] if lines else ''}")
            for node in nodes:
                node.kill_all()
            victim.run(["sh", "-c", "rm -f /dev/shm/*"])


def try_slow():
    """A rank that takes longer than others is reported with its node."""
    with Nodes(2) as nodes:
        words = command(150, "--rendezvous", new_folder("slow"))
        processes = start(nodes, "a process per node, by hand", words)
        wait_for(lambda: has_steps(processes, 3), "three steps", processes)
        victim = rank_processes(nodes[1], processes)[-1]
        # Half of the time it does not run.
        halves = f"while kill -STOP {victim}; do sleep 0.02; kill -CONT {victim}; sleep 0.02; done"
        hinders = nodes[1].start(["sh", "-c", halves])
        statuses, text = starters.finish(processes)
        hinders.wait()
        lines = lines_about(text, "slow_ranks")
        slow = json.loads(lines[0])["slow_ranks"] if lines else []
        expect(statuses == [0] and any((one["rank"], one["node"]) == (3, 1) for one in slow),
               "a slow rank is reported", text[-1000:])


def try_absent():
    """Nodes that do not come are named."""
    with Nodes(2) as nodes:
        words = ["--timeout", 3, "--local-ranks", 2, "--rendezvous", new_folder("absent")]
        for i, text in ((0, "missing: 1"), (1, "it is not there")):
            process = nodes[i].start(command(STEPS, *words, "--node", i))
            lines = lines_about(process.errors() if process.wait() == 75 else "", text)
            expect(lines, f"node{i} alone says: {lines[0] if lines else ''}", process.errors())
            expect(is_clean(nodes), f"node{i}: nothing is left")


def try_disagree():
    """Nodes that have other options end with 1, and say which."""
    with Nodes(2) as nodes:
        home = new_folder("disagree")
        words = command(STEPS, "--rendezvous", home, "--local-ranks", 2)
        processes = [
            node.start([*words, "--seed", i + 1, "--node", i]) for i, node in enumerate(nodes)
        ]
        statuses, text = starters.finish(processes)
        for process in processes:
            lines = lines_about(process.errors(), "--seed")
            expect(statuses == [1] and lines,
                   f"{process.node.name} says: {lines[0] if lines else ''}", text)
        expect(is_clean(nodes), "nothing is left")


def expect_listeners(nodes, network, claim, text):
    """All sockets that listen are at the addresses of one network."""
    for node in nodes:
        addresses = {address for address, _ in node.listeners()}
        expect(addresses == {nodes.address(node.name, network)}, f"{node.name}: {claim}",
               f"{addresses}\n{text}")


def watch_sockets(words, env=None):
    """Starts a command; returns it, and a file that gets its calls about sockets."""
    log = folder / f"calls.{len(list(folder.iterdir()))}"
    watched = ["strace", "-f", "-e", "trace=network", "-o", log, *words]
    process = subprocess.Popen(watched, stdout=subprocess.DEVNULL, env={**os.environ, **(env or {})})
    log.touch()
    return process, log


def try_sockets():
    """On one node a program opens no socket, whoever starts its ranks."""
    folder.mkdir(parents=True)
    words = command(2, "--checkpoint")
    ranks = [{"RANK": str(rank), "WORLD_SIZE": str(RANKS), "LOCAL_RANK": str(rank),
              "LOCAL_WORLD_SIZE": str(RANKS), "TESSERA_RT_JOB_ID": "sockets"}
             for rank in range(RANKS)]
    control = [sys.executable, "-c", "import socket; socket.socket()"]
    for claim, started, is_socket in (
        ("strace sees sockets", [watch_sockets(control)], True),
        ("a launcher and its ranks open no socket", [watch_sockets([*words, folder / "a"])], False),
        ("ranks of another launcher open no socket",
         [watch_sockets([*words, folder / "b"], env) for env in ranks], False),
    ):
        statuses = [process.wait() for process, _ in started]
        calls = "".join(log.read_text() for _, log in started)
        opened = lines_about(calls, "socket(") + lines_about(calls, "socketpair(")
        expect(not any(statuses) and bool(opened) == is_socket, claim, calls)


def try_address():
    """Nodes meet at an address with a key, which no command line has; another is refused."""
    key = subprocess.run(["tessera", "key"], check=True, capture_output=True, text=True).stdout
    other = subprocess.run(["tessera", "key"], check=True, capture_output=True, text=True).stdout
    file = new_folder("address") / "key"
    file.write_text(key)
    file.chmod(0o600)
    expected = run_alone(STEPS, folder / "address" / "alone")
    name = "a process per node, by hand"
    with Nodes(2, networks=2) as nodes:
        for more, env in (([], {"TESSERA_KEY": key.strip()}), (["--key", file], {})):
            words = command(STEPS, "--rendezvous", "node0:29400", *more)
            statuses, text = starters.finish(start(nodes, name, words, env))
            expect(statuses == [0] and losses(text) == expected,
                   f"nodes meet by {'--key' if more else 'TESSERA_KEY'}", text)

        before = [node.sent("eth1") for node in nodes]
        words = ["--rendezvous", "10.77.1.1:29400", "--interface", "eth1"]
        processes = start(nodes, name, command(MANY_STEPS, *words), {"TESSERA_KEY": key.strip()})
        wait_for(lambda: has_steps(processes, 1), "a step", processes)
        sent = [node.sent("eth1") - count for node, count in zip(nodes, before)]
        expect(min(sent) > 1000, "nodes use the interface that is named")
        expect_listeners(nodes, 1, "nodes listen at its address", text)
        processes[0].terminate()
        starters.finish(processes)

        words = command(MANY_STEPS, "--rendezvous", "node0:29400")
        processes = start(nodes, name, words, {"TESSERA_KEY": key.strip()})
        wait_for(lambda: has_steps(processes, 1), "a step", processes)
        expect_listeners(nodes, 0, "nodes listen at the address of one interface", text)
        lines = " ".join(line for node in nodes for _, line in node.processes())
        expect(key.strip() not in lines, "no command line has the key")
        for process in processes:
            process.terminate()
        starters.finish(processes)

        words = command(STEPS, "--rendezvous", "node0:29400", "--timeout", 5, "--local-ranks", 2)
        processes = [
            node.start([*words, "--node", i], env={"TESSERA_KEY": (key, other)[i].strip()})
            for i, node in enumerate(nodes)
        ]
        statuses, text = starters.finish(processes)
        lines = lines_about(processes[1].errors(), "does not accept the key")
        expect(0 not in statuses and lines, f"node1 says: {lines[0] if lines else ''}", text)
        expect(is_clean(nodes), "nothing is left")


def main():
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for trial in sys.argv[4:]:
        globals()[f"try_{trial}"]()


if __name__ == "__main__":
    main()
