"""doc_examples.py PAGE: runs each ```mlir block of a page that is followed by a ```text block
through --dist-explain-shardings, whose remarks must equal the text."""

import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(mlir|text)\n(.*?)^```$", re.M | re.S)


def explain(program):
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(program)
        file.flush()
        result = subprocess.run(
            ["tessera-opt", file.name, "--dist-explain-shardings",
             "--remarks-filter=propagation.*", "-o", "/dev/null"],
            stderr=subprocess.PIPE, text=True)
    if result.returncode:
        sys.exit(result.stderr)
    return [re.sub(r"\", us=.*", '"', line)[:-1]
            for line in re.findall(r'Remark="(.*)$', result.stderr, re.M)]


def main(page):
    blocks = BLOCK.findall(pathlib.Path(page).read_text())
    tested = 0
    for (kind, program), (after, text) in zip(blocks, blocks[1:]):
        if (kind, after) != ("mlir", "text"):
            continue
        got, wanted = explain(program), text.splitlines()
        if got != wanted:
            print(program, "expects", *wanted, "but got", *got, sep="\n")
            return 1
        tested += 1
    print(f"{tested} examples are as the page says")
    return tested == 0


sys.exit(main(sys.argv[1]))
