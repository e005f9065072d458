"""Runs that are killed and go on compute the bits of runs that nothing disturbs.

Each case is killed by SIGKILL once it has a checkpoint; then the same command goes on.

usage: resume.py TESSERA GRAPH DATA FOLDER STEPS CASE...
CASE is a list of options of tessera compile.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

tessera, graph, data, folder, steps, *cases = sys.argv[1:]
folder, STEPS = pathlib.Path(folder), int(steps)


def compile_case(options, target):
    subprocess.run([tessera, "compile", graph, *options.split(), "--quiet", "-o", target], check=True)


def command(program, *more):
    return [program, "--log=jsonl", "--data", data, "--steps", str(STEPS), *map(str, more)]


def losses(text):
    events = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return {event["step"]: event["loss"] for event in events if event.get("event") == "step"}


def tensors(path):
    return {file.name: file.read_bytes() for file in sorted(path.glob("*.npy"))}


for i, case in enumerate(cases):
    # An emulated GPU draws the order of what is concurrent.
    os.environ["TESSERA_EMULATOR_SEED"] = str(i + 1)
    home = folder / str(i)
    home.mkdir(parents=True)
    program = home / "program"
    compile_case(case, program)
    whole = subprocess.run(command(program, "--save-final", home / "whole"), check=True,
                           capture_output=True, text=True)
    checkpoints = ["--checkpoint", home / "ck", "--checkpoint-interval", 1]
    killed = subprocess.Popen(command(program, *checkpoints), stdout=subprocess.PIPE, text=True)
    while killed.poll() is None and not any((home / "ck").glob("step-????????")):
        time.sleep(0.001)
    killed.send_signal(signal.SIGKILL)
    seen, _ = killed.communicate()
    rest = subprocess.run(command(program, *checkpoints, "--save-final", home / "end"),
                          capture_output=True, text=True)
    if rest.returncode:
        sys.exit(f"{case}: {rest.stderr}")
    expected, before, after = losses(whole.stdout), losses(seen), losses(rest.stdout)
    if killed.returncode == 0 or not after or min(after) == 1 or max(after) != STEPS:
        sys.exit(f"{case}: went on with the steps {sorted(after)}")
    wrong = [step for part in (before, after) for step in part if part[step] != expected[step]]
    if wrong:
        sys.exit(f"{case}: losses of the steps {wrong} differ")
    a, b = tensors(home / "whole"), tensors(home / "end")
    different = [name for name in a if a[name] != b.get(name)]
    if different or not a:
        sys.exit(f"{case}: {len(different)} of {len(a)} tensors differ: {', '.join(different[:5])}")
print(f"{len(cases)} runs end with the same bits")
