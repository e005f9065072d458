"""The ten slowest builds and the ten slowest tests of a build folder.

    slowest.py FOLDER

Reads .ninja_log, the last build of each file, and the results of `./dev test`: tests-unit.xml
(CTest) and tests-lit.xml (lit). Seconds are wall time, under the load of the other jobs."""

import pathlib
import sys
import xml.etree.ElementTree

COUNT = 10


def read_builds(path):
    """Seconds of each output. A row: start and end in ms, time, output, hash."""
    seconds = {}
    if path.exists():
        for line in path.read_text().splitlines()[1:]:
            start, end, _, output, _ = line.split("\t")
            if not output.startswith("/"):  # the same file, named twice
                seconds[output] = (int(end) - int(start)) / 1000
    return seconds


def read_tests(path):
    """Seconds of each test of a JUnit file."""
    if not path.exists():
        return {}
    cases = xml.etree.ElementTree.parse(path).iter("testcase")
    return {
        "/".join(filter(None, [case.get("classname"), case.get("name")])): float(case.get("time", 0))
        for case in cases
    }


def show(title, seconds):
    print(title)
    for name, value in sorted(seconds.items(), key=lambda item: (-item[1], item[0]))[:COUNT]:
        print(f"  {value:7.1f} s  {name}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    show("slowest builds", read_builds(folder / ".ninja_log"))
    tests = read_tests(folder / "tests-unit.xml")
    tests.update(read_tests(folder / "tests-lit.xml"))
    show("slowest tests", tests)


if __name__ == "__main__":
    main()
