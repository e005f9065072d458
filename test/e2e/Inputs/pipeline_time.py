"""Prints the pipeline line of a run, from its JSON lines on stdin, and the difference of the
measured time from the time of the measured tasks and from given seconds.

    pipeline_time.py SECONDS TOLERANCE"""

import json
import sys


def main():
    seconds, tolerance = map(float, sys.argv[1:])
    events = [json.loads(line) for line in sys.stdin]
    line, = [e for e in events if e.get("event") == "pipeline"]
    print(f"{line['schedule']}, {line['pp_ranks']} pp ranks, {line['micro_batches']} micro-batches")
    for name in ("seconds_from_tasks", "seconds_measured"):
        off = line[name] / seconds - 1
        if abs(off) > tolerance:
            sys.exit(f"{name}: expects {seconds} but got {line[name]}, off by {off:.1%}")
    print("as simulated")


if __name__ == "__main__":
    main()
