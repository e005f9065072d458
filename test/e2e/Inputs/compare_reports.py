"""Prints how many collectives one report has instead of another; both must have the same bytes.

usage: compare_reports.py ONE.json OTHER.json   (of --dist-report)"""

import json
import sys


def totals(path):
    with open(path) as file:
        report = json.load(file)
    rows = [each["total"] for each in report.get("functions", [report])]
    return sum(r["count"] for r in rows), sum(r["bytes"] for r in rows)


(count, size), (other, other_size) = totals(sys.argv[1]), totals(sys.argv[2])
assert size == other_size, (size, other_size)
assert count < other, (count, other)
print(f"{count} instead of {other}, the same bytes")
