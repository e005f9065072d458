"""Verifies the training step of a model on every mesh of 1, 2, 4, 6 and 8 ranks with dp and tp: the
partitioned step equals the one-rank step in every parameter, state and output.

usage: verify_steps.py CONFIG.json [options of tessera model] [-- options of
tessera verify]

Each mesh is tried with all kinds of ZeRO, with and without sequence sharding, with 1 and 4
micro-batches; every other run trains with SGD, which shows an error in a gradient undamped. Prints
a line for each that fails and a count; exit status 1 if one fails."""

import itertools
import subprocess
import sys
import tempfile

MESHES = [
    (dp, n // dp) for n in (1, 2, 4, 6, 8) for dp in range(1, n + 1) if n % dp == 0
]
STRATEGIES = [f"dp,tp{sp},zero={zero}" for sp in ("", ",sp") for zero in range(4)]
OPTIMIZERS = [[], "--optimizer sgd --momentum 0.5 --lr 1 --clip 0".split()]


def main():
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    model, options = arguments[:cut], arguments[cut + 1 :]
    failed = runs = 0
    with tempfile.NamedTemporaryFile(suffix=".mlir") as program:
        subprocess.run(
            ["tessera", "model", *model, "--train", "--quiet", "-o", program.name],
            check=True,
        )
        for (dp, tp), strategy, parts in itertools.product(MESHES, STRATEGIES, (1, 4)):
            command = ["tessera", "verify", program.name]
            command += ["--mesh", f"dp={dp},tp={tp}", "--strategy", strategy]
            command += ["--micro-batches", str(parts), *OPTIMIZERS[runs % 2], *options]
            run = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            runs += 1
            if run.returncode or f"@train_step: {dp * tp} rank" not in run.stdout:
                failed += 1
                print(" ".join(command[3:]), "FAILED")
                print(run.stdout, flush=True)
    print(f"{failed} of {runs} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
