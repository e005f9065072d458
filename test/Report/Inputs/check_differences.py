"""Compares the differences of two reports of collectives with those of their fields. Arguments: both
reports, the document of tessera report."""

import json
import sys

FIELDS = {"count": ("count", 1), "bytes": ("bytes", 1), "exposed bytes": ("exposed_bytes", 1),
          "us": ("seconds", 1e6)}


def rows_of(path, field, factor):
    """The values of a report by kind and axes."""
    return {f"{row['kind']} {row['axes']}": row[field] * factor
            for row in json.load(open(path))["collectives"]}


def main(first, second, both):
    tables = json.load(open(both))["sections"][0]["tables"]
    count = 0
    for name, (field, factor) in FIELDS.items():
        a, b = rows_of(first, field, factor), rows_of(second, field, factor)
        expected = {key: (a.get(key, 0), b.get(key, 0)) for key in {**a, **b}}
        keys, left, right, difference = tables[name]["columns"]
        found = {key: (x, y) for key, x, y in zip(keys["text"], left["value"], right["value"])}
        for key, (x, y) in expected.items():
            shown = found.get(key)
            # Rows without a difference in the decimals of the column are left out.
            limit = 10 ** -left["digits"]
            if shown is None and abs(x - y) <= limit:
                continue
            if shown is None or max(abs(shown[0] - x), abs(shown[1] - y)) > 1e-6:
                sys.exit(f"{name} of {key}: {shown}, expects {x} and {y}")
            count += 1
        sizes = [abs(value) for value in difference["value"]]
        if sizes != sorted(sizes, reverse=True):
            sys.exit(f"{name}: the largest difference is not first: {sizes}")
    print(f"{count} differences of {', '.join(FIELDS)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
