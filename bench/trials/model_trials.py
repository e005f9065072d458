"""Imports models and proves their graphs, for trials of many models."""

import argparse
import collections
import contextlib
import dataclasses
import io
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
PROOFS = (("dp=2,tp=2", "dp,tp"), ("dp=4", "dp,zero=3"))
PROVEN = "proven on dp=2,tp=2 and zero=3"
# Outcomes of an import that are no failures of the importer.
EXPECTED = ("right", "refused")


@dataclasses.dataclass
class Outcome:
    """The kind ("imported", "refused", "wrong" or "crashed"), the reason, if it is not imported,
    and what the import printed to stdout and to stderr."""
    kind: str
    reason: str = ""
    printed: str = ""
    notes: str = ""


def import_model(source, graph, options=()):
    """Imports the model of `FILE:FUNCTION` with --check."""
    from tessera import __main__ as command
    from tessera.errors import ImportFailure
    parsed = command.make_parser().parse_args(
        ["import", source, "-o", str(graph), "--check", *options])
    printed, notes = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(notes):
            status = command.run_import(parsed)
    except ImportFailure as failure:
        return Outcome("wrong" if "--check: " in str(failure) else "refused", str(failure))
    except Exception as failure:  # pylint: disable=broad-except
        return Outcome("crashed", f"{type(failure).__name__}: {failure}".splitlines()[0])
    if status:
        return Outcome("refused", notes.getvalue().strip().splitlines()[-1])
    return Outcome("imported", printed=printed.getvalue(), notes=notes.getvalue())


def run(command):
    """The last line that a failing command prints; none if it succeeds."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          check=False)
    if done.returncode == 0:
        return None
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else f"{command[0]} ended with {done.returncode}"


def prove(tessera, graph):
    """The failures of the proofs of a graph."""
    found = [run([tessera, "verify", graph, "--mesh", mesh, "--strategy", strategy])
             for mesh, strategy in PROOFS]
    return [line for line in found if line]


def is_bad(counts):
    """Whether the counts of a table have a kind that is not expected."""
    return any(counts[kind] for kind in counts if kind not in EXPECTED)


def make_parser(text):
    """The parser of a trial with this docstring: names of models, the build, the folder."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--folder", type=pathlib.Path, help="keep the graphs there")
    return parser


def find_tessera(options, known):
    """The program of the build, which imports use too. Ends the trial at an unknown model."""
    unknown = set(options.names) - set(known)
    if unknown:
        sys.exit(f"expects names of models but got {', '.join(sorted(unknown))}")
    tessera = (options.build / "bin" / "tessera").resolve()
    os.environ["TESSERA"] = str(tessera)
    return tessera


@contextlib.contextmanager
def open_folder(options):
    """The folder of the graphs; a temporary one if none is asked for."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or pathlib.Path(temporary)
        folder.mkdir(exist_ok=True)
        yield folder


def try_models(names, folder, refused, import_one, judge):
    """Prints a line for each model; returns the counts of outcomes. `import_one(name, graph)` is
    the outcome of an import, `judge(name, graph, outcome)` the failures of an imported graph and
    what to print of one without any. The import of the models `refused`, and of no others, must
    be refused."""
    counts = collections.Counter()
    for name in names:
        graph = folder / f"{name}.mlir"
        outcome = import_one(name, graph)
        if (outcome.kind == "refused") != (name in refused):
            counts["unexpected"] += 1
        if outcome.kind != "imported":
            counts[outcome.kind] += 1
            print(f"{name}: {outcome.kind}: {outcome.reason[-200:]}", flush=True)
            continue
        failures, figures = judge(name, graph, outcome)
        counts["failed" if failures else "right"] += 1
        print(f"{name}: {failures[0] if failures else figures}", flush=True)
    return counts
