"""Runs `tessera verify` for every mesh and strategy; prints failures.

A run counts only if its output has as many ranks as the mesh: a program that was never partitioned
would equal itself."""

import itertools
import subprocess
import sys

MESHES = [(dp, n // dp) for n in (1, 2, 4, 6, 8) for dp in range(1, n + 1) if n % dp == 0]
STRATEGIES = ["dp,tp", "dp,tp,sp", "dp,tp,zero=3", "dp,tp,sp,zero=3"]
DATA = [[], ["--integers"]]


def verify(program, mesh, strategy, data):
    """None, or the reason why the run is wrong."""
    dp, tp = mesh
    run = subprocess.run(
        ["tessera", "verify", program, "--mesh", f"dp={dp},tp={tp}", "--strategy", strategy, "--forward", *data],
        capture_output=True, text=True)
    ranks = dp * tp
    head = f"@forward: {ranks} rank"
    lines = (run.stdout + run.stderr).splitlines()
    if run.returncode or not any(line.startswith(head) for line in lines):
        return next((line for line in lines if "error" in line), lines[0] if lines else "no output")
    return None


def main():
    cases = list(itertools.product(sys.argv[1:], MESHES, STRATEGIES, DATA))
    right = 0
    for case in cases:
        why = verify(*case)
        right += why is None
        if why is not None:
            print("FAIL", *case, why)
    print(f"{right} of {len(cases)} right")


if __name__ == "__main__":
    main()
