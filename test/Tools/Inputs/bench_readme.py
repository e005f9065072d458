"""Checks that bench/README.md lists the files of each folder of measurements.

    bench_readme.py ROOT"""

import pathlib
import re
import sys

BENCH = pathlib.Path(sys.argv[1]) / "bench"


def main():
    sections = re.split(r"^## ", (BENCH / "README.md").read_text(), flags=re.MULTILINE)
    listed = {section.split("\n")[0]: set(re.findall(r"^\| `(\S+)`", section, re.MULTILINE))
              for section in sections}
    wrong = []
    for folder in ("speed", "compare", "trials", "sources"):
        files = {path.name for path in (BENCH / folder).iterdir() if path.is_file()}
        wrong += [f"{folder}/{name}" for name in sorted(files ^ listed.get(folder, set()))]
    print("\n".join(f"differs: {name}" for name in wrong) or "README.md lists all measurements")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
