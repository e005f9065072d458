"""Lines that tests executed, by folder.

    coverage.py FOLDER

FOLDER is a build with TESSERA_COVERAGE and has coverage.profdata, which llvm-profdata merged from
the tests' profiles. A line counts once, however many programs contain it."""

import collections
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LLVM_COV = "/usr/lib/llvm-22/bin/llvm-cov"


def find_programs(folder):
    """Programs and libraries with coverage counters."""
    found = []
    for path in sorted([*folder.glob("bin/*"), *folder.glob("test/**/*"), *folder.glob("lib/*.so")]):
        if path.is_file() and os.access(path, os.X_OK) and b"__llvm_covmap" in path.read_bytes():
            found.append(path)
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    programs = find_programs(folder)
    if not programs:
        sys.exit(f"coverage.py: expects programs with counters in {folder}")
    command = [LLVM_COV, "export", "--summary-only", "--instr-profile"]
    command += [str(folder / "coverage.profdata"), str(programs[0])]
    command += [f"--object={program}" for program in programs[1:]]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)

    lines = collections.defaultdict(lambda: [0, 0])
    for file in report["data"][0]["files"]:
        path = pathlib.Path(file["filename"])
        if not path.is_relative_to(ROOT) or path.is_relative_to(folder.resolve()):
            continue
        parts = path.relative_to(ROOT).parts[:-1]
        name = "/".join(parts[:3] if parts[0] == "include" else parts[:2])
        for total in (lines[name], lines["all"]):
            total[0] += file["summary"]["lines"]["covered"]
            total[1] += file["summary"]["lines"]["count"]
    print(f"{'folder':30} {'lines':>7} {'run':>7}")
    for name, (covered, count) in sorted(lines.items(), key=lambda item: (item[0] == "all", item[0])):
        print(f"{name:30} {count:7} {covered / max(1, count):7.1%}")


if __name__ == "__main__":
    main()
