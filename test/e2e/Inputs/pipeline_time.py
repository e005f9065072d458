"""Runs a rehearsal, and compares the step's time by its measured tasks, and its measured time,
with given seconds. Prints the pipeline line of the run.

    pipeline_time.py SECONDS TOLERANCE PROGRAM --rehearse ...

A rehearsed task never takes less than its time, so a step below SECONDS is wrong at once. On a
busy machine a task may end late, so a step above SECONDS by more than TOLERANCE (a fraction)
is wrong if ATTEMPTS steps are: lists in another order are late each time."""

import json
import subprocess
import sys

ATTEMPTS = 20
CLOCK = 2e-3  # the fraction by which a clock may be early


def main():
    seconds, tolerance = map(float, sys.argv[1:3])
    for _ in range(ATTEMPTS):
        run = subprocess.run([*sys.argv[3:], "--log=jsonl"], stdout=subprocess.PIPE, text=True)
        if run.returncode != 0:
            sys.exit(f"the program ends with exit status {run.returncode}")
        line, = [event for event in map(json.loads, run.stdout.splitlines())
                 if event.get("event") == "pipeline"]
        off = {name: line[name] / seconds - 1
               for name in ("seconds_from_tasks", "seconds_measured")}
        late = max(off.values())
        if min(off.values()) < -CLOCK or late <= tolerance:
            break
    print(f"{line['schedule']}, {line['pp_ranks']} pp ranks, {line['micro_batches']} micro-batches")
    for name, value in off.items():
        if not -CLOCK <= value <= tolerance:
            sys.exit(f"{name}: expects {seconds} but got {line[name]}, off by {value:.1%}")
    print("as simulated")


if __name__ == "__main__":
    main()
