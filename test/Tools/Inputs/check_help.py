"""Compares the short and the full help of each subcommand with each other and with docs/plan.md.

Usage: check_help.py SOURCE_ROOT TESSERA

Checks the width of the helps of all subcommands, too. Prints a line per subcommand that has a
short help, and faults; the exit status is 1 if there are any."""

import pathlib
import re
import subprocess
import sys

# The most lines of --help, and the most options of --help-all (None: any number).
LIMITS = {"plan": (33, 57), "compile": (35, None), "verify": (36, 52)}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def rows(text):
    return re.findall(r"^  (-[-\w]+)", text, re.M)


def main():
    root, tessera = pathlib.Path(sys.argv[1]), sys.argv[2]
    page = (root / "docs/plan.md").read_text().split("## Options that help texts leave out")[1]
    page = page.split("\n## ")[0]
    tables = dict(zip(("plan", "verify"), page.split("\n`tessera verify`")))
    faults = []
    for command, (most_lines, most_options) in LIMITS.items():
        short, full = (run(tessera, command, option).stdout for option in ("--help", "--help-all"))
        listed = rows(full)
        print(f"{command}: {len(rows(short))} of {len(listed)} options in {len(short.splitlines())} lines")
        if len(short.splitlines()) > most_lines:
            faults.append(f"{command} --help is longer than {most_lines} lines")
        if most_options and len(listed) > most_options:
            faults.append(f"{command} --help-all lists more than {most_options} options")
        if len(set(listed)) < len(listed):
            faults.append(f"{command} --help-all lists an option twice")
        faults += [f"only the short help of {command} has {row}" for row in rows(short) if row not in listed]
        others = int(re.search(r"--help-all lists (\d+) more", short)[1])
        if others != len(listed) - len(rows(short)):
            faults.append(f"{command} --help says {others} more")
        first = r"^\| `(--[-\w]+)" if command == "plan" else r"`(--[-\w]+)"
        unlisted = re.findall(first, tables.get(command, ""), re.M)
        count = re.search(r"^There are (\d+) more.* docs/plan.md$", full, re.M)
        if len(unlisted) != int(count[1] if count else 0) or len(set(unlisted)) < len(unlisted):
            faults.append(f"docs/plan.md has {len(unlisted)} options of {command}, its help says {count and count[1]}")
        for option in unlisted:
            error = run(tessera, command, option, "x", "x", "x").stderr
            if option in listed or "unknown option" in error:
                faults.append(f"{option} of {command} is listed, or unknown: {error}")
    commands = re.findall(r"^  (\w+)", run(tessera, "--help").stdout, re.M)
    if len(commands) < 8:
        faults.append(f"tessera --help lists {commands}")
    for command in ([], *([name] for name in commands)):
        for option in ("--help", "--help-all"):
            for line in run(tessera, *command, option).stdout.splitlines():
                # The options of a compiled program are the runtime's.
                if len(line) > 80 and command != ["run"]:
                    faults.append(f"{' '.join(command)} {option}: too long: {line}")
    print(*faults, sep="\n")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
