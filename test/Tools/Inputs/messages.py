"""Looks up the messages that docs/troubleshooting.md and docs/limits.md quote in the sources.

Usage: messages.py SOURCE_ROOT [PAGE...]

A message is a quote in backticks in the column "message" of a table. Its values (numbers, names)
differ from run to run and stand between the fixed texts that sources print. A word is known if it
is in a run of WORDS words that a string literal of the sources has. More than half of the words
that say something (no number, option, quoted value or word of FRAME) must be known, and no more than VALUES words in a row
unknown. Prints how many messages are in the sources; the exit status is 1 if one is not."""

import pathlib
import re
import sys

PAGES = ["docs/limits.md", "docs/troubleshooting.md"]
FOLDERS = ["lib", "tools", "runtime", "dialects", "include", "python"]
WORDS = 2
VALUES = 6
FRAME = {"expects", "a", "an", "the", "of", "but", "got", "is", "are", "to", "in", "for", "or", "and"}


def read_literals(root):
    """The string literals of all sources, those that follow each other joined, as one text."""
    literals = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cpp", ".h", ".td", ".cu", ".py"):
                text = re.sub(r'"\s*\n\s*f?"', "", path.read_text())
                literals += re.findall(r'"((?:[^"\\\n]|\\.)*)"', text)
    return "\n".join(literals).replace('\\"', '"')


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
    words = [word for word in message.split() if word != "..."]
    known = [False] * len(words)
    for i in range(len(words) - WORDS + 1):
        if " ".join(words[i : i + WORDS]) in literals:
            known[i : i + WORDS] = [True] * WORDS
    runs = "".join("k" if is_known else "u" for is_known in known).split("k")
    told = [is_known for word, is_known in zip(words, known)
            if word not in FRAME and not re.search(r"\d|^'|^--", word)]
    return max(map(len, runs)) <= VALUES and 2 * sum(told) > len(told) or message in literals


def main():
    root = pathlib.Path(sys.argv[1])
    literals = read_literals(root)
    pages = sys.argv[2:] or [root / page for page in PAGES]
    messages = [(page, m) for page in pages for m in read_messages(pathlib.Path(page).read_text())]
    wrong = [f"{page}: no source says '{m}'" for page, m in messages if not is_in(literals, m)]
    print(f"{len(messages) - len(wrong)} messages are in the sources")
    print(*wrong, sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
