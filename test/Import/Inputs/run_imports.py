"""Runs several `python3 -m tessera import` in one process, which loads torch once: python
run_imports.py 'FILE OPTIONS [> OUTPUT]'... Passes the output of each import on, followed by `NAME:
exit N`, where NAME is the function or the file that is read."""

import contextlib
import pathlib
import shlex
import sys

from tessera import __main__ as command


def run(words):
    output = sys.stdout
    if len(words) > 2 and words[-2] == ">":
        output = open(words[-1], "w", encoding="utf-8")
        words = words[:-2]
    sys.argv = ["tessera", "import", *words]
    with contextlib.redirect_stdout(output):
        return command.main()


sys.stdout.reconfigure(line_buffering=True)
for line in sys.argv[1:]:
    split = shlex.split(line)
    status = run(split)
    print(f"{pathlib.Path(split[0]).name.rpartition(':')[2]}: exit {status}")
