"""doc_commands.py PAGE SHARE: checks that the commands of a page print the output on the page.

A fenced block with a file name after its language (```json plan.json) is written to that file. Each
"$ ..." of a ```console block is then run in the same folder, where share/ is a link to SHARE, and
must print the lines that follow it. In those, "..." matches any text, including line ends."""

import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(\w+) ?([\w.]*)\n(.*?)^```$", re.M | re.S)


def matches(expected, got):
    pattern = re.escape(expected.strip("\n")).replace(re.escape("..."), ".*?")
    return re.fullmatch(pattern, got.strip("\n"), re.S)


def main(page, share):
    tested = 0
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "share").symlink_to(pathlib.Path(share).resolve())
        for language, name, text in BLOCK.findall(pathlib.Path(page).read_text()):
            if name:
                (root / name).write_text(text)
            if language != "console":
                continue
            for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
                command, _, expected = part.partition("\n")
                got = subprocess.run(["sh", "-c", command], cwd=root, text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
                if not matches(expected, got):
                    print(f"$ {command}", "expects", expected, "but got", got, sep="\n")
                    return 1
                tested += 1
    print(f"{tested} commands print what the page says")
    return tested == 0


sys.exit(main(*sys.argv[1:]))
