"""Starts show_rank.py on two nodes, two ranks each, in every way that this machine has.

Prints a line for each way: how many processes said what is expected, and for a process per rank the
exit code of a job whose processes end with 75; or why the way is missing.
"""

import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))
import starters
from nodes import Nodes


def expected(name):
    """What the processes print, sorted."""
    if name in starters.PER_RANK:
        ranks = [f"rank {r} of 4, local {r % 2} of 2 a b" for r in range(4)]
        lines = [f"node{rank // 2}: {text}" for rank, text in enumerate(ranks)]
    elif name == "a process per node, by hand":
        lines = [f"node{i}: a b --local-ranks 2 --node {i}" for i in range(2)]
    else:
        lines = [f"node{i}: rank {i} of 2, local 0 of 1 a b --local-ranks 2" for i in range(2)]
    return [f"{line} FACT=yes" for line in lines]


def main():
    with Nodes(2) as nodes:
        for name, start in starters.STARTERS.items():
            missing = starters.missing(name)
            if missing:
                print(f"{name}: {missing}")
                continue
            command = [sys.executable, TESTS / "Inputs" / "show_rank.py", "a b"]
            statuses, text = starters.finish(start(nodes, 2, command, {"FACT": "yes"}))
            lines = sorted(line for line in text.split("\n") if line.startswith("node"))
            if statuses != [0] or lines != expected(name):
                sys.exit(f"{name}: expects {expected(name)} but got {statuses}\n{text}")
            print(f"{name}: {len(lines)} processes", end="")
            # Torchrun ends with 1 whatever processes end with.
            if name in starters.PER_RANK and name != "by torchrun":
                statuses, _ = starters.finish(start(nodes, 2, ["sh", "-c", "exit 75"], {}))
                print(", exit code", *statuses, end="")
            print()


if __name__ == "__main__":
    main()
