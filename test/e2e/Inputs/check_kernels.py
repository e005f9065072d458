"""Reads the output of `tessera compile --kernel-report FILE.json`.

    check_kernels.py FILE

Prints for each architecture the number of kernels and the largest number of registers; exit status
1 if a kernel spills or has a stack."""

import json
import sys


def main():
    with open(sys.argv[1]) as file:
        kernels = json.load(file)["kernels"]
    failed = not kernels
    for arch in sorted({kernel["arch"] for kernel in kernels}):
        ours = [kernel for kernel in kernels if kernel["arch"] == arch]
        spills = [
            kernel["kernel"]
            for kernel in ours
            if kernel["stack"] or kernel["spill_stores"] or kernel["spill_loads"]
        ]
        failed |= bool(spills)
        print(
            f"sm_{arch}: {len(ours)} kernels, at most "
            f"{max(kernel['registers'] for kernel in ours)} registers, "
            + (f"{', '.join(spills)} spill" if spills else "none spills")
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
