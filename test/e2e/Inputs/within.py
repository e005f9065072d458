"""Judges the output of a program with --compare: counts the results that differ from the expected
ones by at most BOUND of their largest magnitude (at least 1), and prints the others.

Usage: PROGRAM --compare DIR | within.py BOUND"""

import re
import sys

LINE = re.compile(r"(\S+): largest difference ([^\s,]+), largest magnitude ([^\s,]+)")


def main():
    bound, right = float(sys.argv[1]), 0
    for name, difference, magnitude in LINE.findall(sys.stdin.read()):
        # NaN never compares as smaller.
        if float(difference) <= bound * max(1.0, float(magnitude)):
            right += 1
        else:
            print(f"FAIL {name}: {difference} of {magnitude}")
    print(f"{right} results within {bound:g}")


if __name__ == "__main__":
    main()
