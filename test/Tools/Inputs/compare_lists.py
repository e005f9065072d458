"""Compares the lists of a pipeline program with the lists of a CSV.

    compare_lists.py PROGRAM.mlir LISTS.csv

The program is text of phase partition, whose lists also have sends and receives;
the CSV is one of torch.distributed.pipelining, as `tessera plan --schedule-csv`
writes it. Prints "equal", or at how many positions of how many the lists differ,
and "other actions" where they are not even the same actions in another order.
"""

import re
import sys

KINDS = {"F": "F", "B": "I", "W": "W", "BW": "B"}


def name(stages, action):
    """The name that CSV has for an action of a chunk; "" for transfers."""
    if "|" in action:
        forward, backward = (name(stages, part) for part in action.split("|"))
        return f"({forward};{backward})OVERLAP_F_B"
    match = re.fullmatch(r"(F|BW|B|W)(\d+)\.(\d+)", action)
    if not match:
        return ""
    return f"{stages[int(match[2])]}{KINDS[match[1]]}{match[3]}"


def read_program(path):
    """Names of the actions of each pp rank."""
    text = open(path).read()
    lists = []
    for rank, (ranks, actions) in enumerate(
        re.findall(r'dist\.pipeline paths \[\[([^\]]*)\]\].*? list "([^"]*)"', text)
    ):
        stages = [i for i, of in enumerate(ranks.split(",")) if int(of) == rank]
        names = [name(stages, action) for action in actions.split()]
        lists.append([entry for entry in names if entry])
    return lists


def read_csv(path):
    rows = [line.strip().split(",") for line in open(path)]
    return [[entry for entry in row if entry] for row in rows]


program, wanted = read_program(sys.argv[1]), read_csv(sys.argv[2])
assert len(program) == len(wanted) > 1, (len(program), len(wanted))
if program == wanted:
    print("equal")
elif [sorted(row) for row in program] != [sorted(row) for row in wanted]:
    print("other actions")
else:
    pairs = [pair for rows in zip(program, wanted) for pair in zip(*rows)]
    differ = sum(a != b for a, b in pairs)
    print(f"{differ} of {len(pairs)} positions differ")
