"""Compiles plans that a search finds.

Usage: compile_found.py TESSERA CONFIG CLUSTER FOLDER 'OPTIONS' ...

For each set of options: `plan --search --compilable` finds a plan, `compile --plan` compiles it,
`plan --from-program` reads it back with every field the same, and `verify --plan` compares the
partitioned program with the original. Prints one line for each."""

import json
import pathlib
import subprocess
import sys

tessera, config, cluster, folder, *cases = sys.argv[1:]
folder = pathlib.Path(folder)
folder.mkdir(parents=True, exist_ok=True)
SIZES = ["--seq", "16", "--global-batch", "16"]


def run(*arguments):
    result = subprocess.run([tessera, *map(str, arguments)], capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, arguments))}:\n{result.stdout[-2000:]}{result.stderr}")
    return result.stdout


graph, found, built = folder / "graph.mlir", folder / "found.json", folder / "built.mlir"
run("model", config, "--batch", 16, "--seq", 16, "--train", "--quiet", "-o", graph)
for case in cases:
    price = ["plan", config, "--cluster", cluster]
    run(*price, *SIZES, "--precision", "f32", "--search", "--compilable", *case.split(), "-o", found)
    run("compile", graph, "--quiet", "--compile-to=partition", "--plan", found, "-o", built)
    plan = json.load(open(found))["layout"]
    again = json.loads(run(*price, "--from-program", built, "--json"))["layout"]
    different = [name for name in plan if plan[name] != again[name]]
    assert not different, (case, different)
    checked = run("verify", graph, "--plan", found)
    assert "partition proven" in checked or "pipeline proven" in checked, checked
    names = ("dp", "tp", "pp", "schedule", "vpp", "zero", "recompute")
    print(*(f"{name}={plan[name]}" for name in names))
