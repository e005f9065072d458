"""Explains all topics twice as text and as documents in a folder, and looks for the rows of the
text's tables among those of the document."""

import json
import os
import re
import subprocess
import sys


def explain(*arguments):
    return subprocess.run(["tessera", "explain", *arguments], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def rows_of(document):
    """The words of each row of all tables, without any number of first columns."""
    rows = set()
    for section in document["sections"]:
        for table in section["tables"].values():
            for row in zip(*(column["text"] for column in table["columns"])):
                for first in range(min(5, len(row))):
                    rows.add(" ".join(" ".join(row[first:]).split()))
    return rows


def check(topic, folder):
    printed = explain(topic)
    again = explain(topic)
    path = os.path.join(folder, topic + ".json")
    explain(topic, "--json", "-o", path)
    document = json.load(open(path))
    if printed != again:
        return "differs when it is explained again"
    found = rows_of(document)
    # A table is a line of names and then rows, all after two spaces.
    for block in re.findall(r"(?:^  .*\n)+", printed, re.MULTILINE):
        lines = block.splitlines()[1:]
        for line in lines:
            if line.startswith("  the first "):
                continue
            if " ".join(line.split()) not in found:
                return "has no row " + line
    if topic not in document["title"]:
        return "has another title"
    return ""


def main(folder):
    topics = [line.split()[0] for line in explain().splitlines()[1:]]
    faults = [f"{topic} {fault}" for topic in topics for fault in [check(topic, folder)] if fault]
    print("\n".join(faults) or f"{len(topics)} topics are explained")


if __name__ == "__main__":
    main(*sys.argv[1:])
