"""Runs the commands of pages such as README.md.

Usage: readme.py SOURCE_ROOT BUILD SCRATCH PAGE:LEAST...

A block ```sh has commands, one a line, that run in the order of the page. A block whose
first line is "# NAME.py" or "// NAME.mlir" is that file, and exists before the first command.
Other blocks (```console, ```text) are outputs, or commands that a test cannot run. Each page
gets a folder of SCRATCH that looks like the repository after ./dev demo: links to share,
python, test, README.md, LICENSE and build. Prints how many commands of each page ran. The
exit status is 1 if one failed, or if fewer than LEAST of a page ran.
"""

import os
import pathlib
import re
import subprocess
import sys
import time

LINKS = ["LICENSE", "README.md", "python", "share", "test"]
# The first line of a block that is a file.
NAME = re.compile(r"(?:#|//) (\w+\.(?:py|mlir))")


def read_blocks(text):
    """Pairs of the language and the text of each fenced block."""
    return re.findall(r"^```([a-z]*)\n(.*?)^```$", text, re.M | re.S)


def read_commands(block):
    """The commands of a block; a line that ends in a backslash goes on."""
    return [line for line in block.replace("\\\n", " ").splitlines() if line.strip()]


def make_folder(folder, root, build, blocks):
    folder.mkdir(parents=True)
    for name in LINKS:
        (folder / name).symlink_to(root / name)
    (folder / "build").symlink_to(build)
    for _, block in blocks:
        if named := NAME.match(block):
            (folder / named[1]).write_text(block)


def run(command, folder, environment):
    """Whether a command ended well; exports go to the environment."""
    if command.startswith("export "):
        name, value = command.removeprefix("export ").split("=", 1)
        environment[name] = value
        return True
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        print(f"{command}\n{done.stdout}exit status {done.returncode}")
    return done.returncode == 0


def run_page(page, folder, root, build):
    """How many commands of a page ran, and how many of them failed."""
    blocks = read_blocks((root / page).read_text())
    make_folder(folder, root, build, blocks)
    # The package looks for a compiler next to its folder, which is a link here.
    environment = {**os.environ, "TESSERA": str(build / "bin" / "tessera")}
    environment["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), environment["PATH"]])
    ran = failed = 0
    for command in (c for language, block in blocks if language == "sh" for c in read_commands(block)):
        start = time.monotonic()
        failed += not run(command, folder, environment)
        ran += 1
        print(f"{time.monotonic() - start:6.1f} s  {command[:100]}", file=sys.stderr)
    return ran, failed


def main():
    root, build, scratch = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
    wrong = False
    for page, least in (argument.split(":") for argument in sys.argv[4:]):
        ran, failed = run_page(page, scratch / pathlib.Path(page).stem, root, build)
        print(f"{page}: {ran} commands ran, {failed} failed")
        if ran < int(least):
            print(f"expects at least {least} commands in {page} but got {ran}")
        wrong |= failed > 0 or ran < int(least)
    sys.exit(wrong)


if __name__ == "__main__":
    main()
