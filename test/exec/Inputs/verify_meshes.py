"""Verifies a model on every mesh of 1, 2, 4, 6 and 8 ranks with dp and tp.

usage: verify_meshes.py CONFIG.json [options of tessera model] [--gradients]
[-- options of tessera verify]

Each mesh is tried with and without sequence sharding and with and without parameters stored
sharded; with --gradients the program also returns the gradients of its parameters. Prints a line
for each; exit status 1 if one fails."""

import re
import subprocess
import sys
import tempfile

STRATEGIES = ["dp,tp", "dp,tp,sp", "dp,tp,zero=3", "dp,tp,sp,zero=3"]


def meshes():
    for ranks in (1, 2, 4, 6, 8):
        for dp in range(1, ranks + 1):
            if ranks % dp == 0:
                yield dp, ranks // dp


# A shift of all scores does not change the softmax: a key bias has a gradient of zero, which
# consists of rounding errors alone.
TRULY_ZERO = re.compile(r"attn\.bk\.grad ")


def is_good(run):
    if run.returncode == 0:
        return True
    wrong = [line for line in run.stdout.splitlines() if line.endswith("NO")]
    return wrong and all(TRULY_ZERO.search(line) for line in wrong)


def main():
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    model, verify = arguments[:cut], arguments[cut + 1 :]
    gradients = "--gradients" in model
    model = [argument for argument in model if argument != "--gradients"]
    failed = 0
    with tempfile.NamedTemporaryFile(suffix=".mlir") as program:
        subprocess.run(
            ["tessera", "model", *model, "--quiet", "-o", program.name], check=True
        )
        if gradients:
            subprocess.run(
                ["tessera-opt", program.name, "--dist-build-backward=params"]
                + ["-o", program.name],
                check=True,
            )
        for dp, tp in meshes():
            for strategy in STRATEGIES:
                mesh = f"dp={dp},tp={tp}"
                run = subprocess.run(
                    ["tessera", "verify", program.name, "--mesh", mesh]
                    + ["--strategy", strategy, "--forward", *verify],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
                good = is_good(run)
                print(f"{mesh} {strategy}: {'ok' if good else 'FAILED'}", flush=True)
                if not good:
                    print(run.stdout, flush=True)
                    failed += 1
    print(f"{failed} of {len(STRATEGIES) * len(list(meshes()))} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
