"""Looks up the paths of docs/questions.md in the tree.

Usage: questions.py SOURCE_ROOT

A row of the page is a question, the path to open first, and up to two more paths with a sentence.
Paths are in backticks and have a slash. Prints the number of questions and the number of different
first paths, then what is wrong; the exit status is 1 if anything is."""

import pathlib
import re
import sys

PAGE = "docs/questions.md"
MOST_THEN = 2


def read_paths(cell):
    return [quote for quote in re.findall(r"`([^`]+)`", cell) if "/" in quote]


def read_rows(text):
    """The cells of each row below the header of the table."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    for line in lines[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def check_row(root, cells):
    """Faults of a row."""
    if len(cells) != 3:
        return [f"expects 3 cells but got {len(cells)}"]
    wrong = []
    first, then = read_paths(cells[1]), read_paths(cells[2])
    if not cells[0].endswith("?"):
        wrong.append("expects a question")
    if len(first) != 1 or cells[1] != f"`{first[0]}`":
        wrong.append("expects one path to open first")
    if len(then) > MOST_THEN:
        wrong.append(f"expects at most {MOST_THEN} more paths but got {len(then)}")
    if not cells[2].endswith("."):
        wrong.append("expects a sentence")
    wrong += [f"{path} is not there" for path in [*first, *then] if not (root / path).exists()]
    return wrong


def main():
    root = pathlib.Path(sys.argv[1])
    rows = list(read_rows((root / PAGE).read_text()))
    wrong = [f"{PAGE}: '{cells[0]}': {why}" for cells in rows for why in check_row(root, cells)]
    print(f"{len({cells[0] for cells in rows})} questions")
    print(f"{len({cells[1] for cells in rows if len(cells) > 1})} paths to open first")
    print(*wrong, sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
