"""Checks whether two builds compile the same programs: IR of each phase, and executables.

Compiles training steps of share/models with both builds, the small models whole and two layers of
the large ones, in eight ways. Compares the IR after each phase and the code of the executables,
byte for byte except for the names that --rename gives. This shows that a refactoring leaves
programs unchanged, or which programs it changes: the first phase that differs is printed.

    python3 bench/trials/compare_programs.py --build build --with ../before/build

Prints one JSON line per program; exits with 1 if one differs."""

import argparse
import concurrent.futures
import difflib
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Config, layers (None: all), batch, sequence.
MODELS = [("tiny-gpt2", None, 8, 8), ("tiny-llama", None, 8, 8), ("gpt2", 2, 8, 64),
          ("llama2-7b", 2, 8, 64), ("llama3-8b", 2, 8, 64)]
WAYS = {
    "one device": [],
    "dp=4": ["--mesh", "dp=4", "--strategy", "dp"],
    "dp=2,zero=3": ["--mesh", "dp=2", "--strategy", "dp,zero=3"],
    "tp=2": ["--mesh", "tp=2", "--strategy", "tp"],
    "dp=2,tp=2,sp,zero=1": ["--mesh", "dp=2,tp=2", "--strategy", "dp,tp,sp,zero=1"],
    "recompute": ["--mesh", "dp=2", "--strategy", "dp", "--recompute", "full",
                  "--micro-batches", "2"],
    "pp=2,zb-h1": ["--mesh", "pp=2", "--strategy", "pp", "--schedule", "zb-h1",
                   "--micro-batches", "4"],
    "fp8": ["--precision", "fp8"],
}
PHASES = ("train", "propagate", "partition", "kernels", "schedule", "rt", "llvm")
TARGETS = ("host", "cuda-emulated")


def run(tool, *arguments):
    """Runs a command; returns its last line of error, "" if it succeeds. Both builds may fail
    alike."""
    done = subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def read(path, renames):
    text = path.read_text() if path.exists() else ""
    for old, new in renames:
        text = text.replace(old, new)
    return text


def code(path):
    """The sections of an executable that depend on the program."""
    if not path.exists():
        return b""
    sections = b""
    for name in (".text", ".rodata", ".data.rel.ro"):
        with tempfile.NamedTemporaryFile() as section:
            subprocess.run(["objcopy", "-O", "binary", f"--only-section={name}", path,
                            section.name], check=True)
            sections += pathlib.Path(section.name).read_bytes()
    return sections


def first_difference(a, b):
    for line in difflib.unified_diff(a.splitlines(), b.splitlines(), lineterm="", n=0):
        if line[0] in "+-" and not line.startswith(("+++", "---")):
            return line[:160]
    return ""


def compare(folder, graphs, way, target, options):
    """The first phase in which the programs differ, and how; none if they are equal."""
    flags = [*WAYS[way], "--target", target, "--quiet"]
    renames = [pair.split("=", 1) for pair in options.rename]
    for phase in (*PHASES, "exe"):
        outputs, errors = [], []
        for number, (tool, graph) in enumerate(graphs):
            output = folder / f"{number}.{phase}"
            stop = [] if phase == "exe" else [f"--compile-to={phase}"]
            errors.append(run(tool, "compile", graph, *flags, *stop, "-o", output))
            outputs.append(output)
        if errors[0] != errors[1]:
            return phase, f"{errors[0]} and {errors[1]}"
        if errors[0]:
            return None
        if phase == "exe" and options.executables:
            if code(outputs[0]) != code(outputs[1]):
                return phase, "the code differs"
        elif phase != "exe":
            texts = [read(outputs[0], renames), read(outputs[1], [])]
            if texts[0] != texts[1]:
                return phase, first_difference(*texts)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build folder")
    parser.add_argument("--with", dest="other", required=True,
                        help="build folder of what it is compared with")
    parser.add_argument("--rename", action="append", default=[], metavar="OLD=NEW",
                        help="what the first build calls OLD the second calls NEW")
    parser.add_argument("--executables", action="store_true",
                        help="compare executables too: their runtimes have to be the same")
    parser.add_argument("--models", default=",".join(model for model, *_ in MODELS),
                        help="which of them; default: %(default)s")
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time")
    options = parser.parse_args()
    tools = [pathlib.Path(build).resolve() / "bin" / "tessera"
             for build in (options.build, options.other)]
    differ = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        tasks = []
        for model, layers, batch, seq in MODELS:
            if model not in options.models.split(","):
                continue
            few = [] if layers is None else ["--layers", layers]
            graphs = []
            for number, tool in enumerate(tools):
                graph = folder / str(number) / f"{model}.mlir"
                graph.parent.mkdir(exist_ok=True)
                error = run(tool, "model", ROOT / "share" / "models" / f"{model}.json", "--train",
                            "--batch", batch, "--seq", seq, *few, "--quiet", "-o", graph)
                if error:
                    sys.exit(f"{tool}: {error}")
                graphs.append((tool, graph))
            for way in WAYS:
                for target in TARGETS:
                    own = folder / f"{model}.{way}.{target}"
                    own.mkdir()
                    tasks.append((model, way, target, own, graphs))
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            found = pool.map(lambda t: compare(t[3], t[4], t[1], t[2], options), tasks)
            for (model, way, target, _, _), difference in zip(tasks, found):
                row = {"bench": "compare_programs", "model": model, "way": way, "target": target,
                       "same": difference is None}
                if difference:
                    row["phase"], row["first"] = difference
                    differ += 1
                print(json.dumps(row), flush=True)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
