"""Compiles random annotated programs, runs each on the ranks of its mesh, and compares its results
with the interpreter's results for the original program.

usage: run_random.py [--emulated] DIRECTORY FIRST COUNT NUMBER_OF_OPS [even]

With --emulated the kernels are a GPU's, and ranks are simulated.

Programs that the partitioner rejects are skipped. Prints results that are wrong, by more than 1e-9
of the largest magnitude (in f64), and the number of correct programs; exit status 1 if one is
wrong."""

import json
import pathlib
import subprocess
import sys

GENERATOR = pathlib.Path(__file__).resolve().parents[2] / "exec" / "Inputs" / "random_program.py"


def run(*command):
    return subprocess.run([str(c) for c in command], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)


def try_seed(folder, seed, options, emulated):
    program = folder / f"{seed}.mlir"
    program.write_text(run(sys.executable, GENERATOR, seed, *options).stdout)
    data, executable = folder / f"{seed}.data", folder / f"{seed}.exe"
    if run("tessera", "verify", program, "--dump", data, "--tolerance", "1e-9").returncode:
        return "refused"
    target = "cuda-emulated" if emulated else "host"
    made = run("tessera", "compile", program, "--target", target, "--quiet", "-o", executable)
    if made.returncode:
        print(f"seed {seed}: {made.stderr}", flush=True)
        return "wrong"
    ranks = json.loads(run(executable, "--manifest").stdout)["ranks"]
    processes = [f"--simulate-ranks={ranks}"] if emulated else ["--ranks", ranks, "--threads", 1]
    ran = run(executable, *processes, "--inputs", data, "--compare",
              data / "expected", "--report", "json", "--quiet", "--timeout", 30)
    compared = json.loads(ran.stdout)["compared"] if ran.returncode == 0 else []
    for result in compared:
        difference, magnitude = result["max_difference"], result["max_magnitude"]
        if difference is None or difference > 1e-9 * max(1.0, magnitude or 0.0):
            print(f"seed {seed}: {result}", flush=True)
            return "wrong"
    if not compared:
        print(f"seed {seed}: {ran.stderr}", flush=True)
    return "right" if compared else "wrong"


def main():
    emulated = "--emulated" in sys.argv
    if emulated:
        sys.argv.remove("--emulated")
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    first, count = map(int, sys.argv[2:4])
    results = [try_seed(folder, seed, sys.argv[4:], emulated) for seed in range(first, first + count)]
    counts = {name: results.count(name) for name in ("right", "refused", "wrong")}
    print(", ".join(f"{count} {name}" for name, count in counts.items()))
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
