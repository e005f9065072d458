"""Verifies a model under context parallelism: each method on meshes with cp.

usage: verify_context.py CONFIG.json [options of tessera model] [--zero] [--latent]
[-- options of tessera verify]

Each method of `cp=`, or with --latent that one, is tried on meshes of cp with dp, tp and sp; with
--zero each mesh with ZeRO 1, 2 and 3, over dp and cp. Prints a line for each run that fails and a count; exit status 1 if one
fails."""

import itertools
import subprocess
import sys
import tempfile

METHODS = ["all_gather", "ring", "all_to_all", "all_to_all:2", "auto"]
MESHES = [
    ("cp=2", ""),
    ("cp=4", ""),
    ("dp=2,cp=2", "dp,"),
    ("cp=2,tp=2", "tp,"),
    ("cp=2,tp=2", "tp,sp,"),
    ("dp=2,cp=2,tp=2", "dp,tp,sp,"),
]


def main():
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    model, options = arguments[:cut], arguments[cut + 1 :]
    zeros = [f",zero={n}" for n in (1, 2, 3)] if "--zero" in model else [""]
    methods = ["latent"] if "--latent" in model else METHODS
    model = [argument for argument in model if argument not in ("--zero", "--latent")]
    failed = runs = 0
    with tempfile.NamedTemporaryFile(suffix=".mlir") as program:
        subprocess.run(
            ["tessera", "model", *model, "--quiet", "-o", program.name], check=True
        )
        cases = itertools.product(MESHES, methods, zeros)
        for (mesh, others), method, zero in cases:
            command = ["tessera", "verify", program.name, "--mesh", mesh]
            command += ["--strategy", f"{others}cp={method}{zero}", *options]
            run = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            runs += 1
            if run.returncode:
                failed += 1
                print(" ".join(command), flush=True)
                print(run.stdout, flush=True)
    print(f"{failed} of {runs} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
