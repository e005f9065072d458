"""Gives damaged MLIR programs to the compiler, which may refuse but not crash or hang.

    damage_mlir.py --bin BUILD/bin --count N [--seed S] [--findings DIR] PROGRAM...

Programs are cut at "// -----" and functions. Each input is one of them with some tokens or lines
removed, repeated, exchanged, or taken from another. Many inputs share a process of
tessera-opt (--split-input-file) that compiles them as far as LLVM; where it crashes or
takes too long they are tried one by one, and each with `tessera verify` too. What MLIR's
own reader does with an input, found by tessera-opt without a pass, is not counted.
"""

import argparse
import collections
import pathlib
import random
import re
import subprocess
import sys
import tempfile

SECONDS = 10
BATCH = 20
TOKEN = re.compile(r'"[^"\n]*"|[%@#!^]?[\w.$-]+|\s+|.', re.S)
NUMBERS = ["-1", "0", "1", "2", "3", "7", "4294967296", "9223372036854775807", "1.0e+300"]


def read_programs(paths):
    programs = []
    for path in paths:
        text = re.sub(r"^\s*//(?! -----).*\n", "", path.read_text(), flags=re.M)
        for part in text.split("// -----"):
            # Each function becomes a program together with the text before it, the mesh.
            head, *functions = re.split(r"(?m)^(?=func\.func)", part)
            programs += [head.strip() + "\n" + f.strip() + "\n" for f in functions]
    return programs


def kind_of(token):
    if re.fullmatch(r"-?\d[\d.e+-]*", token):
        return "number"
    return token[0] if token[0] in "%@#!\"" else "word" if token[0].isalpha() else token


class Damage:
    def __init__(self, programs, seed):
        self.random = random.Random(seed)
        self.programs = programs
        self.words = {}
        for program in programs:
            for token in TOKEN.findall(program):
                self.words.setdefault(kind_of(token), set()).add(token)
        self.words = {kind: sorted(words) for kind, words in self.words.items()}

    def tokens(self, text):
        tokens = TOKEN.findall(text)
        solid = [i for i, token in enumerate(tokens) if not token.isspace()]
        i, j = self.random.choice(solid), self.random.choice(solid)
        action = self.random.randrange(6)
        if action == 0:
            tokens[i] = ""
        elif action == 1:
            tokens[i], tokens[j] = tokens[j], tokens[i]
        elif action == 2 and kind_of(tokens[i]) == "number":
            tokens[i] = self.random.choice(NUMBERS)
        elif action == 3:
            tokens[i] += " " + tokens[j]
        else:  # a word of the same kind, which is most likely to parse
            tokens[i] = self.random.choice(self.words[kind_of(tokens[i])])
        return "".join(tokens)

    def lines(self, text):
        lines = text.splitlines(keepends=True)
        i, j = self.random.randrange(len(lines)), self.random.randrange(len(lines))
        action = self.random.randrange(4)
        if action == 0:
            del lines[i]
        elif action == 1:
            lines.insert(i, lines[j])
        elif action == 2:
            lines[i], lines[j] = lines[j], lines[i]
        else:
            other = self.random.choice(self.programs).splitlines(keepends=True)
            lines.insert(i, self.random.choice(other))
        return "".join(lines)

    def make(self):
        text = self.random.choice(self.programs)
        for _ in range(self.random.choice([1, 1, 1, 2, 3])):
            text = self.lines(text) if self.random.random() < 0.2 else self.tokens(text)
        return text


class Trial:
    """Runs of the tools on one file."""

    def __init__(self, folder, binaries):
        self.path, self.binaries = folder / "input.mlir", binaries

    def run(self, text, tool, *options, seconds=SECONDS):
        """The outcome of a text ("ok", "refused", "crash", "hang"), and the output."""
        self.path.write_text(text)
        try:
            done = subprocess.run(
                [self.binaries / tool, *options, self.path], stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, timeout=seconds, errors="replace")
        except subprocess.TimeoutExpired:
            return "hang", ""
        fates = {0: "ok", 1: "refused"}
        return fates.get(done.returncode, "crash"), done.stderr

    def compile(self, text, **more):
        return self.run(text, "tessera-opt", "--split-input-file", "--compile-to=llvm", **more)

    def judge(self, text):
        """The first failure of an input, or its outcome."""
        read, _ = self.run(text, "tessera-opt")
        if read != "ok":
            return ("refused" if read == "refused" else "reader"), ""
        fate, log = self.compile(text)
        if fate in ("crash", "hang"):
            return fate, log
        checked, log = self.run(text, "tessera", "verify")
        return (checked, log) if checked in ("crash", "hang") else (fate, "")


def signature(log):
    """The line of a log that identifies a crash."""
    for pattern in (r"Assertion `.*", r"LLVM ERROR: .*", r"UNREACHABLE.*",
                    r"#\d+ 0x\w+ ((?:mlir|tessera|\(anonymous namespace\))::[^(]*)"):
        found = re.search(pattern, log)
        if found:
            return found.group(0)[:160]
    return (log.strip().splitlines() or ["no message"])[-1][:160]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--findings", type=pathlib.Path)
    parser.add_argument("programs", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    damage = Damage(read_programs(arguments.programs), arguments.seed)
    fates, found = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(pathlib.Path(folder), arguments.bin)
        left = arguments.count
        while left > 0:
            texts = [damage.make() for _ in range(min(BATCH, left))]
            left -= len(texts)
            whole, _ = trial.compile("\n// -----\n".join(texts), seconds=2 * SECONDS)
            # A few are verified even if all succeed.
            alone = texts if whole in ("crash", "hang") else texts[:2]
            fates["with others"] += len(texts) - len(alone)
            for text in alone:
                fate, log = trial.judge(text)
                fates[fate] += 1
                if fate not in ("crash", "hang"):
                    continue
                name = f"{fate}: {signature(log)}"
                found[name] += 1
                if arguments.findings and found[name] == 1:
                    arguments.findings.mkdir(parents=True, exist_ok=True)
                    path = arguments.findings / f"crash_t{arguments.seed}_{len(found)}.mlir"
                    path.write_text(f"// {name}\n{text}")
    print(f"{arguments.count} inputs: " + ", ".join(f"{n} {fate}" for fate, n in sorted(fates.items())))
    for name, count in found.most_common():
        print(f"{count} times {name}")
    return 1 if found else 0


sys.exit(main())
