"""Ops that torch, ONNX and StableHLO files may have: the table of docs/import.md.

imported_ops.py [--write] [--page FILE]

Reads the registries of python/tessera, for which it needs torch and onnx, and the registrations in
lib/StableHLO. Fails if the table of docs/import.md, or of another page, differs; `--write` writes
it. The family of an op is the heading comment above its handler ("# Reductions."), or the end of
its module's name; ops that have a complex operand or result are a family of their own."""

import argparse
import collections
import importlib
import inspect
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADING = "## Ops"
sys.path.insert(0, str(ROOT / "python"))


def family_of(handler):
    """The heading above a handler, in lower case."""
    code = inspect.unwrap(handler).__code__
    path = pathlib.Path(code.co_filename)
    above = "".join(inspect.linecache.getlines(str(path))[:code.co_firstlineno])
    headings = re.findall(r"^# ([A-Z][^.\n]*)\.\n\n", above, re.MULTILINE)
    return headings[-1].lower() if headings else path.stem.rpartition("_")[2]


def read_handlers(source):
    """Names of ops by family, of the handlers that the modules of a source register."""
    for path in sorted((ROOT / "python/tessera").glob(f"{source}_*.py")):
        importlib.import_module(f"tessera.{path.stem}")
    found = collections.defaultdict(set)
    for name, handler in sys.modules[f"tessera.{source}_importer"].HANDLERS.items():
        found[family_of(handler)].add(name)
    if source == "torch":
        found["complex"] = set(sys.modules["tessera.torch_complex"].HANDLERS)
    return found


def read_stablehlo():
    """Names of ops by family, the file of lib/StableHLO that registers them."""
    found = collections.defaultdict(set)
    header = (ROOT / "lib/StableHLO/Converter.h").read_text()
    constants = dict(re.findall(r"\b(k\w+) = \"(\w+\.\w+)\"", header))
    for path in sorted((ROOT / "lib/StableHLO").glob("Convert*.cpp")):
        for name in re.findall(r"\b(?:t\.add\(|add\w+<[^>]*>\(t,)\s*([^\s,)]+)", path.read_text()):
            name = constants.get(name, name).strip('"')
            if name == "n":
                continue  # The parameter of a function that registers.
            if "." not in name:
                sys.exit(f"{path}: expects the name of an op but got {name}")
            found[path.stem.removeprefix("Convert").lower()].add(name)
    return found


def join_overloads(names):
    """torch's names without `aten.`, and overloads of one op together; `default` is left out."""
    overloads = collections.defaultdict(list)
    for name in sorted(names):
        name, _, overload = name.removeprefix("aten.").rpartition(".")
        overloads[name].append(overload)
    for name, found in overloads.items():
        rest = [overload for overload in found if overload != "default"]
        yield "/".join(([name] if "default" in found else []) +
                       [f"{'' if i or 'default' in found else name}.{overload}"
                        for i, overload in enumerate(rest)])


def table():
    rows = ["| source | family | ops |", "|---|---|---|"]
    sources = {"torch": read_handlers("torch"), "ONNX": read_handlers("onnx"),
               "StableHLO": read_stablehlo()}
    for source, families in sources.items():
        for family, names in sorted(families.items()):
            names = join_overloads(names) if source == "torch" else sorted(
                name.removeprefix("stablehlo.") for name in names)
            rows.append(f"| {source} | {family} | {' '.join(f'`{name}`' for name in names)} |")
    return "\n".join(rows) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--page", type=pathlib.Path, default=ROOT / "docs" / "import.md")
    options = parser.parse_args()
    page, current = options.page.read_text(), table()
    before, heading, section = page.partition(f"\n{HEADING}\n")
    there = re.search(r"(^\|.*\n)+", section, re.MULTILINE)
    if not heading or there is None:
        sys.exit(f"{options.page}: expects a table under {HEADING}")
    if options.write:
        section = section[:there.start()] + current + section[there.end():]
        options.page.write_text(before + heading + section)
    elif there.group() != current:
        old, new = (set(text.splitlines()) for text in (there.group(), current))
        print("\n".join(f"is not in the sources: {row}" for row in sorted(old - new)))
        print("\n".join(f"is not in the page: {row}" for row in sorted(new - old)))
        sys.exit(f"{options.page}: expects the ops of the sources; imported_ops.py --write writes "
                 "them")
    print(f"{current.count('`') // 2} ops are in the table")


if __name__ == "__main__":
    main()
