"""Judges what a program printed for --compare: how many results differ from what is
expected by at most BOUND of their largest magnitude (of 1 where that is smaller),
and which do not.

Usage: PROGRAM --compare DIR | within.py BOUND
"""

import re
import sys

LINE = re.compile(r"(\S+): largest difference ([^\s,]+), largest magnitude ([^\s,]+)")


def main():
    bound, right = float(sys.argv[1]), 0
    for name, difference, magnitude in LINE.findall(sys.stdin.read()):
        # NaN compares with nothing.
        if float(difference) <= bound * max(1.0, float(magnitude)):
            right += 1
        else:
            print(f"FAIL {name}: {difference} of {magnitude}")
    print(f"{right} results within {bound:g}")


if __name__ == "__main__":
    main()
