"""Trials of nodes that take minutes, for ./dev check nodes.

Usage: trials.py PROGRAM DATA FOLDER TRIAL...

kills    loses 30 drawn ranks in one run of 200 steps, which ends as an undisturbed one
faults   kills, stops and delays ranks at each collective of a step, started in both ways: one line
         on all nodes names rank, node, op and collective
"""

import json
import random
import re
import subprocess
import sys
import time

import programs
from nodes import Nodes
from programs import RANKS, are_same, command, expect, losses, new_folder, program, start

PER_NODE = 2
WAYS = ("by hand", "a process per node, by hand")
WORK = (r"(it was at (pipeline|[a-z_]+( [^;]*)?, (forward|backward|update|recomputation)); )?"
        r"its last collective is ([a-z_]+ #\d+ \(.*\)|the barrier \".*\")")
WAITER = r"; rank \d+ has waited \d+ s in .*"


def try_kills():
    home = new_folder("kills")
    steps, kills = 200, 30
    expected = programs.run_alone(steps, home / "alone")
    draw = random.Random(7)
    more = ["--checkpoint", home / "ck", "--checkpoint-interval", 1, "--restarts", 100]
    with Nodes(2) as nodes:
        words = command(steps, *more, "--save-final", home / "end")
        processes = start(nodes, WAYS[1], words)
        killed = 0
        while killed < kills and not any(p.poll() is not None for p in processes):
            time.sleep(draw.uniform(0.2, 0.45))
            node = draw.choice([nodes[0], nodes[1]])
            ranks = programs.rank_processes(node, processes)
            if ranks:
                node.run(["kill", "-9", draw.choice(ranks)])
                killed += 1
        statuses, text = programs.starters.finish(processes)
    got = losses(text)
    expect(killed == kills and statuses == [0] and sorted(got) == list(range(1, steps + 1)) and got == expected,
           f"{killed} ranks were lost, and the losses are those of an undisturbed run",
           text[-4000:])
    expect(are_same(home / "alone", home / "end"), "the end is that of one machine")


def collectives():
    """The number of collectives that a rank begins in a step."""
    words = [program, "--random-data", "--quiet", "--report=json", "--steps", "1"]
    report = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return sum(one["calls"] for one in json.loads(report.splitlines()[-1])["collectives"])


def line_of(kind, rank, way):
    """What the line about a rank says."""
    name = rf"rank {rank} on node {rank // PER_NODE} \(node{rank // PER_NODE}\)"
    if kind == "stop":
        return name + " is stopped; " + WORK + WAITER
    if kind == "sleep":
        return name + " is running, but does not arrive; " + WORK + WAITER
    dead = "was killed by signal 9 .Killed." if way == WAYS[1] else "is dead"
    return rf"(rank \d+ on node \d+ \(node\d\): )?{name} {dead}; {WORK}"


def provoke(nodes, way, kind, rank, place, home):
    """Raises a fault; returns the lines about it by node."""
    words = command(2, "--timeout", 2, "--rendezvous", home)
    env = {"TESSERA_RT_FAULT": f"{rank}:{place}:{kind}"}
    processes = start(nodes, way, words, env)
    deadline = time.monotonic() + 20
    found = {}
    while time.monotonic() < deadline and len(found) < len(nodes):
        for process in processes:
            lines = programs.lines_about(process.errors(), "error: ")
            if lines:
                found[process.node.name] = lines[0].split("error: ", 1)[1]
        time.sleep(0.05)
    for node in nodes:
        node.kill_all()
        node.run(["sh", "-c", "rm -f /dev/shm/*"])
    return found


def try_faults():
    home = new_folder("faults")
    places = collectives()
    seen = wrong = 0
    with Nodes(2) as nodes:
        for place in range(places):
            for number, kind in enumerate(("kill", "stop", "sleep")):
                rank = (place + number) % RANKS
                for way in WAYS:
                    found = provoke(nodes, way, kind, rank, place, home)
                    seen += 1
                    lines = set(found.values())
                    expected = line_of(kind, rank, way)
                    if len(found) == 2 and len(lines) == 1 and re.fullmatch(
                            expected, lines.pop()):
                        continue
                    wrong += 1
                    print(f"rank {rank} at {place} of {places}, {kind}, {way}: {found}", flush=True)
    expect(wrong == 0, f"{seen} faults at {places} collectives, each named on both nodes")


def main():
    for trial in sys.argv[4:]:
        globals()[f"try_{trial}"]()


if __name__ == "__main__":
    main()
