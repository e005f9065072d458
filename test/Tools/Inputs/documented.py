"""Compares README.md and --help-all with the repository and the program.

Usage: documented.py SOURCE_ROOT TESSERA

Runs each "$ build/bin/tessera ..." of README.md that is followed by output lines and compares its
output with these; looks up the files that README.md and the helps name. Prints the differences; the
exit status is 1 if there are any."""

import difflib
import pathlib
import re
import subprocess
import sys

# A path that begins in a folder of the tree; globs and outputs do not match.
PATH = re.compile(r"(?<![\w/.-])((?:share|docs|bench|test|lib|include|tools)/[\w./-]*\w)")


def commands(text):
    """Pairs of a command of the README and its documented output lines."""
    for block in re.findall(r"^```[a-z]*\n(.*?)^```", text, re.M | re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            lines = part.splitlines()
            command = lines.pop(0)
            while command.endswith("\\"):
                command = command[:-1] + lines.pop(0)
            command = command.removeprefix("build/bin/")
            if command.startswith("tessera ") and any(lines):
                yield command, lines


def main():
    root, tessera = pathlib.Path(sys.argv[1]), sys.argv[2]
    readme = (root / "README.md").read_text()
    count, wrong = 0, []
    for command, expected in commands(readme):
        result = subprocess.run([tessera, *command.split()[1:]], cwd=root, capture_output=True, text=True)
        got = (result.stdout + result.stderr).rstrip("\n").splitlines()
        while expected and not expected[-1]:
            expected.pop()
        wrong += difflib.unified_diff(expected, got, "README.md", command, lineterm="")
        count += 1
    print(f"{count} commands of README.md")

    texts = {"README.md": readme}
    for name in ("model", "compile", "verify", "run", "plan", "doctor"):
        text = subprocess.run([tessera, name, "--help-all"], check=True, capture_output=True, text=True).stdout
        texts[f"{name} --help-all"] = text
    files = {(where, path) for where, text in texts.items() for path in PATH.findall(text)}
    for where, path in sorted(files):
        if not (root / path).exists() and not list(root.glob(path + "*")):
            wrong.append(f"{where} names {path}, which is not there")
    print(f"{len({path for _, path in files})} files are named")
    print(*wrong, sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
