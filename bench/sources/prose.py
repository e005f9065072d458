"""Words of comments and documentation, counted for measures.py.

A comment is a run of comment lines up to an empty one, a comment after code, or a
docstring; lines that lit and FileCheck read are none. A paragraph is a run of lines of a .md file
outside of code, tables and headings; an item of a list is a paragraph.
"""

import pathlib
import re

HASH_SUFFIXES = (".py", ".txt", ".cmake", ".sh", "")
SLASH_SUFFIXES = (".cpp", ".h", ".cu", ".c", ".td", ".mlir")
OPENINGS = ("Of", "By", "What", "Where", "With", "Without", "As", "That")
PHRASES = ("of which", "by which", "that of", "those of", "beside")
PARAGRAPH_WORDS = 120

DIRECTIVE = re.compile(r"[A-Z][A-Z0-9_-]*:|-----|expected-")
PHRASE = re.compile(rf"\b({'|'.join(PHRASES)})\b", re.I)


def find_comments(suffix, text):
    """Pairs of the number of a comment's first line and its text."""
    mark = "//" if suffix in SLASH_SUFFIXES else "#"
    whole = re.compile(rf"\s*{mark}[/!]?<?\s?(.*)$")
    after_code = re.compile(r"\s*\S.*\s//[/!]?<?\s([^\"]*)$")
    lines, start = [], 0
    for number, line in enumerate([*text.split("\n"), ""], 1):
        found = whole.match(line)
        if found and found.group(1).strip() and not DIRECTIVE.match(found.group(1).strip()):
            start = start if lines else number
            lines.append(found.group(1))
            continue
        if lines:
            yield start, " ".join(lines)
            lines = []
        found = after_code.match(line) if mark == "//" and mark in line else None
        if found and not DIRECTIVE.match(found.group(1)):
            yield number, found.group(1)
    if suffix == ".py":
        for found in re.finditer(r'"""(.*?)"""', text, flags=re.S):
            yield text.count("\n", 0, found.start()) + 1, found.group(1)


def find_paragraphs(text):
    """Pairs of the number of a paragraph's first line and its text."""
    lines, start, in_code = [], 0, False
    for number, line in enumerate([*text.split("\n"), ""], 1):
        stripped = line.strip()
        is_fence = stripped.startswith("```")
        begins = bool(re.match(r"([-*]|\d+\.)\s", stripped))
        ends = in_code or is_fence or begins or not stripped or stripped[0] in "|#<"
        if ends and lines:
            yield start, " ".join(lines)
            lines = []
        if is_fence:
            in_code = not in_code
        elif begins or not ends:
            start = start if lines else number
            lines.append(stripped)


class Prose:
    """Counts, and the places that they count: (file, line, text)."""

    def __init__(self, root, names):
        self.comments = self.words = 0
        self.openings, self.phrases, self.paragraphs = [], [], []
        for name in names:
            path = pathlib.Path(root) / name
            if path.suffix in (*HASH_SUFFIXES, *SLASH_SUFFIXES, ".md"):
                try:
                    self.read(name, path.suffix, path.read_text())
                except UnicodeDecodeError:
                    pass

    def read(self, name, suffix, text):
        if suffix == ".md":
            texts = list(find_paragraphs(text))
            self.paragraphs += [
                (name, number, found)
                for number, found in texts
                if len(found.split()) > PARAGRAPH_WORDS
            ]
        else:
            texts = list(find_comments(suffix, text))
            for number, found in texts:
                found = found.strip(" -=*")
                opening = re.match(r"[A-Za-z]+", found)
                self.comments += bool(opening)
                if opening and opening.group(0) in OPENINGS:
                    self.openings.append((name, number, found))
        for number, found in texts:
            self.words += len(found.split())
            self.phrases += [(name, number, hit.group(0)) for hit in PHRASE.finditer(found)]

    def summarize(self):
        share = len(self.openings) / max(1, self.comments)
        density = 1000 * len(self.phrases) / max(1, self.words)
        return [
            f"comments that begin with {', '.join(OPENINGS)}: {len(self.openings)} of"
            f" {self.comments} ({share:.1%})",
            f"{', '.join(PHRASES)}: {len(self.phrases)} in {self.words} words"
            f" ({density:.1f} per 1,000)",
            f"paragraphs of documentation above {PARAGRAPH_WORDS} words: {len(self.paragraphs)}",
        ]

    def places(self):
        for name, number, text in [*self.openings, *self.phrases, *self.paragraphs]:
            yield f"{name}:{number}: {text[:70]}"
