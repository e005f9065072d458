"""Compares objects of a pipeline with few and with many micro-batches of one size.

    pipeline_size.py CONFIG.json FOLDER FEW MANY FLAGS...

The code must not grow by more than 1 %, and tables not by more than 128 bytes for each action of
the lists."""

import pathlib
import re
import struct
import subprocess
import sys


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip()[-300:])
    return done.stdout


def sections(path):
    """Name to bytes of the sections of a 64-bit ELF file."""
    data = path.read_bytes()
    at, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    heads = [struct.unpack_from("<IIQQQQ", data, at + i * size) for i in range(count)]
    text = heads[names][4]
    found = {}
    for name, _, _, _, _, length in heads:
        key = data[text + name:data.index(b"\0", text + name)].decode()
        found[key] = found.get(key, 0) + length
    return found


def make(config, folder, count, flags):
    """Sections of the object, and actions of all lists."""
    graph, common = folder / f"{count}.mlir", ["--micro-batches", count, "--quiet", *flags]
    run("tessera", "model", config, "--train", "--batch", count, "--seq", 8, "--layers", 4,
        "--quiet", "-o", graph)
    run("tessera", "compile", graph, *common, "--compile-to=object", "-o", folder / f"{count}.o")
    run("tessera", "compile", graph, *common, "--compile-to=partition", "-o", folder / "p.mlir")
    lists = re.findall(r'list "([^"]*)"', (folder / "p.mlir").read_text())
    return sections(folder / f"{count}.o"), sum(len(text.split()) for text in lists)


def main():
    config, folder, few, many, *flags = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    before, actions = make(config, folder, int(few), flags)
    after, more = make(config, folder, int(many), flags)
    code = after[".text"] / before[".text"] - 1
    # The section also has the manifest, which does not grow with micro-batches.
    table = (after[".rodata"] - before[".rodata"]) / (more - actions)
    print(f"{actions} and {more} actions: code {code:+.2%}, {table:.0f} bytes for each more")
    sys.exit(abs(code) > 0.01 or table > 128)


if __name__ == "__main__":
    main()
