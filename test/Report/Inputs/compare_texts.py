"""Finds the rows of a document's tables among the lines that the command prints. Arguments: pairs
of a document and a text. Rows are compared by their words; tables that only figures show have no
row there."""

import json
import sys


def texts(column):
    assert "packed" not in column
    return column["text"]


def main(names):
    for name, printed in zip(names[::2], names[1::2]):
        lines = {" ".join(line.split()) for line in open(printed)}
        rows = tables = 0
        for section in json.load(open(name))["sections"]:
            for key, table in section["tables"].items():
                if any("packed" in column for column in table["columns"]):
                    continue
                cells = list(zip(*(texts(column) for column in table["columns"])))
                found = [" ".join(" ".join(row).split()) in lines for row in cells]
                if not any(found):
                    continue
                if not all(found):
                    sys.exit(f"{name}: {key}: {cells[found.index(False)]} is not printed")
                rows += len(cells)
                tables += 1
        print(f"{name}: {rows} rows of {tables} tables are printed")


main(sys.argv[1:])
