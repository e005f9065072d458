"""Kills drawn ranks of a run with --restarts, and compares its end with an undisturbed run.

usage: kills.py PROGRAM DATA FOLDER STEPS KILLS
"""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

program, data, folder, steps, kills = sys.argv[1:]
folder = pathlib.Path(folder)
folder.mkdir(parents=True)
command = [program, "--log=jsonl", "--data", data, "--steps", steps]
draw = random.Random(1)


def losses(text):
    events = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [(event["step"], event["loss"]) for event in events if event.get("event") == "step"]


def children(pid):
    try:
        return [int(child) for child in
                pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


whole = subprocess.run(command + ["--save-final", folder / "whole"], check=True, text=True,
                       capture_output=True)
begin = time.time()
with open(folder / "out", "w") as out, open(folder / "err", "w") as err:
    run = subprocess.Popen(command + ["--save-final", folder / "end", "--checkpoint", folder / "ck",
                                      "--checkpoint-interval", "1", "--restarts", "1000"],
                           stdout=out, stderr=err)
    done = 0
    while run.poll() is None and done < int(kills):
        time.sleep(draw.uniform(0.02, 0.3))
        ranks = children(run.pid)
        if not ranks:
            continue
        try:
            os.kill(draw.choice(ranks), signal.SIGKILL)
            done += 1
        except ProcessLookupError:
            pass
    status = run.wait()
    wall = time.time() - begin
text = (folder / "err").read_text()
if status or done < int(kills):
    sys.exit(f"ended with {status} after {done} kills\n{text[-2000:]}")
restarts = text.count("restarts from the newest checkpoint")
expected = dict(losses(whole.stdout))
seen = losses((folder / "out").read_text())
wrong = [step for step, loss in seen if loss != expected[step]]
different = [file.name for file in sorted((folder / "whole").glob("*.npy"))
             if file.read_bytes() != (folder / "end" / file.name).read_bytes()]
if wrong or different or seen[-1][0] != int(steps) or restarts == 0:
    sys.exit(f"losses of {wrong} differ, tensors {different[:5]}, {restarts} restarts")
left = [path.parent.name for path in pathlib.Path("/proc").glob("[0-9]*/exe")
        if os.path.realpath(path) == os.path.realpath(program)]
if left:
    sys.exit(f"processes are left: {left}")

# The record's parts are the wall time, and its steps those that ran.
report = json.loads((folder / "out").read_text().splitlines()[-1])["run"]
parts = ["kept", "repeated", "start", "load", "checkpoint", "data", "evaluation", "down"]
total = sum(report[part] for part in parts)
lines = [json.loads(line) for line in (folder / "ck" / "record.jsonl").read_text().splitlines()]
attempts = [line for line in lines if line["event"] == "start"]
if not 0.9 * wall <= total <= wall * 1.01 or abs(total - report["seconds"]) > 1e-3:
    sys.exit(f"the parts sum to {total}, but the run took {wall}")
# One that was killed before it opened the record is time that the run was down.
if not 1 < len(attempts) <= restarts + 1 or report["steps_kept"] != int(steps):
    sys.exit(f"{len(attempts)} attempts of {restarts} restarts, {report['steps_kept']} steps kept")
# A step that ended may not have been printed when its rank was killed.
missed = report["steps_kept"] + report["steps_repeated"] - len(seen)
if not 0 <= missed <= done:
    sys.exit(f"the record has {missed} steps more than the log")
print(f"{done} ranks were killed; the end is that of an undisturbed run")
