"""Kills, stops and delays each rank in turn at collectives of a step, and checks that one line
names the rank, the op that it was at and its last collective.

usage: every_collective.py TESSERA PROGRAM RANKS PLACES

PLACES is a number of places, spread over the step, or "all".
"""

import json
import os
import re
import subprocess
import sys

tessera, program, ranks, places = sys.argv[1:]
ranks = int(ranks)
command = [tessera, "run", program, "--ranks", str(ranks), "--random-data", "--quiet"]
report = subprocess.run(command + ["--report=json", "--steps", "1"], check=True, text=True,
                        capture_output=True).stdout
count = sum(one["calls"] for one in json.loads(report.splitlines()[-1])["collectives"])
places = count if places == "all" else min(int(places), count)
WORK = (r"; it was at (pipeline|[a-z_]+( [^;]*)?, (forward|backward|update|recomputation)); "
        r"its last collective is ([a-z_]+ #\d+ \(.*\)|the barrier \"arguments are ready\")")
WAITER = r"; rank \d+ has waited \d+ s in .*"
LINES = {
    "kill": r"rank {} was killed by signal 9 \(Killed\)" + WORK,
    "stop": r"rank {} is stopped" + WORK + WAITER,
    "sleep": r"rank {} is running, but does not arrive" + WORK + WAITER,
}
wrong = seen = 0
for place in range(places):
    at = place * count // places
    for number, (kind, line) in enumerate(LINES.items()):
        rank = (place + number) % ranks
        run = subprocess.run(command + ["--timeout", "1", "--steps", "2"], text=True,
                             capture_output=True,
                             env=os.environ | {"TESSERA_RT_FAULT": f"{rank}:{at}:{kind}"})
        if run.returncode == 0 and at > 0:
            continue  # The ranks of a pipeline have different numbers of collectives.
        expected = r"tessera: error: (rank \d+: )?" + line.format(rank) + "\n"
        seen += 1
        if run.returncode != 75 or not re.fullmatch(expected, run.stderr):
            wrong += 1
            print(f"rank {rank} at {at} of {count}, {kind}: {run.returncode}\n{run.stderr}")
print(f"{seen} faults, {wrong} wrong")
