"""Looks up the messages that docs/troubleshooting.md and docs/limits.md quote in the sources.

Usage: messages.py SOURCE_ROOT

A message is a quote in backticks in the column "message" of a table. Its values (numbers, names)
differ from run to run, so only a run of WORDS words of it must be in a string literal of the
sources. Prints how many messages are there; the exit status is 1 if one is not."""

import pathlib
import re
import sys

PAGES = ["docs/limits.md", "docs/troubleshooting.md"]
FOLDERS = ["lib", "tools", "runtime", "dialects", "include", "python"]
WORDS = 3


def read_literals(root):
    """All sources as one text, in which string literals that follow each other are joined."""
    texts = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cpp", ".h", ".td", ".cu", ".py"):
                texts.append(path.read_text())
    return re.sub(r'"\s*\n\s*f?"', "", "\n".join(texts))


def read_messages(text):
    """The quotes of the column "message", which is the first or the second."""
    column = None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            column = None
        elif column is None:
            column = next((i for i, cell in enumerate(cells) if cell.startswith("message")), -1)
        elif 0 <= column < len(cells):
            yield from re.findall(r"`([^`]+)`", cells[column])


def is_in(literals, message):
    words = message.split()
    count = min(WORDS, len(words))
    return any(" ".join(words[i : i + count]) in literals for i in range(len(words) - count + 1))


def main():
    root = pathlib.Path(sys.argv[1])
    literals = read_literals(root)
    messages = [(page, m) for page in PAGES for m in read_messages((root / page).read_text())]
    wrong = [f"{page}: no source says '{m}'" for page, m in messages if not is_in(literals, m)]
    print(f"{len(messages) - len(wrong)} messages are in the sources")
    print(*wrong, sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
