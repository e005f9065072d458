"""Finds the rows of a document's tables among the lines that the command prints. Arguments: pairs
of a document and a text. Rows are compared by their words; tables that only figures show have no
row there."""

import json
import sys


def find_rows(table, text):
    """For each row of a table whether the text has a line with its words; none if it is packed."""
    if any("packed" in column for column in table["columns"]):
        return []
    lines = {" ".join(line.split()) for line in text.splitlines()}
    rows = zip(*(column["text"] for column in table["columns"]))
    return [" ".join(" ".join(row).split()) in lines for row in rows]


def main(names):
    for name, printed in zip(names[::2], names[1::2]):
        text = open(printed).read()
        rows = tables = 0
        for section in json.load(open(name))["sections"]:
            for key, table in section["tables"].items():
                found = find_rows(table, text)
                if not any(found):
                    continue
                if not all(found):
                    sys.exit(f"{name}: {key}: row {found.index(False)} is not printed")
                rows += len(found)
                tables += 1
        print(f"{name}: {rows} rows of {tables} tables are printed")


if __name__ == "__main__":
    main(sys.argv[1:])
