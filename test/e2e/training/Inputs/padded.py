"""Training steps with tokens in blocks of one size, against steps with all tokens.

usage: padded.py GRAPH DATA FOLDER OPTIONS...    options of tessera compile, for 4 ranks
"""

import json
import pathlib
import subprocess
import sys


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def main():
    graph, data, folder = sys.argv[1:4]
    right = 0
    for number, options in enumerate(sys.argv[4:]):
        found, sent = {}, {}
        for mode in ("dense", "padded"):
            program = pathlib.Path(folder) / f"{mode}{number}"
            run("tessera", "compile", graph, *options.split(), "--dispatch", mode, "--quiet", "-o", program)
            run_options = ("--ranks", "4", "--data", data, "--steps", "3", "--log=jsonl", "--quiet")
            lines = run("tessera", "run", program, *run_options)
            steps = [line for line in lines if "loss" in line]
            assert len(steps) == 3, lines
            found[mode] = [(s["loss"], s["grad_norm"], s["expert_loads"]) for s in steps]
            sent[mode] = {c["op"] for c in lines[-1]["collectives"]}
        # The padded program alone exchanges blocks.
        exchanged = "all_to_all" in sent["padded"] and "all_to_all" not in sent["dense"]
        if found["dense"] == found["padded"] and exchanged:
            right += 1
        else:
            print(options, found, sent)
    print(f"{right} of {len(sys.argv) - 4} layouts train as with all tokens")


main()
