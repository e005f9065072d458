"""Does VerifyPartition find wrong programs?

Changes one thing at a time in tiny models, partitioned in eleven ways, one with experts in five, and
in a program of linalg bodies and calls, and counts which changes are found. "moves" changes
communication; "ops" changes operands, attributes, constants, bodies and donations; "pipelines"
changes pipeline programs: lists, the operands that tasks take, keep, send and add, exchanges, and
reductions that each task repeats.

Prints a line for each program: the changes for which the interpreter finds another result
("changed", with three sets of data), how many of these are refuted, and where the error is: at the
changed op, at a use of its value, or later. "missed" must be 0; "not_provable" may be more for
"ops". Changes that keep the result are counted separately ("equal_..."), and those that only change
the rounding under "rounding"."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The sixth mesh does not divide the batch, the heads or the vocabulary.
STRATEGIES = [
    ("dp=4", "dp"), ("tp=4", "tp"), ("dp=2,tp=2", "dp,tp"),
    ("dp=2,tp=2", "dp,tp,sp"), ("dp=2,tp=2", "dp,tp,zero=3"),
    ("dp=3,tp=2", "dp,tp,sp,zero=3"),
    ("cp=4", "cp=all_gather"), ("cp=4", "cp=ring"), ("cp=4", "cp=all_to_all"),
    ("cp=4", "cp=all_to_all:2"), ("cp=2,tp=2", "cp=ring,tp,sp,zero=1"),
]

# Meshes and strategies of one layer of tiny-mixtral.
EXPERTS = [
    ("dp=4", "dp,ep=4"), ("dp=2,tp=2", "dp,tp,sp,ep=2"), ("dp=4", "dp,ep=2,zero=1"),
    ("dp=2,tp=2", "dp,tp,ep=2,etp"), ("dp=2,cp=2", "dp,cp,ep=4"),
]

# Cases of pipelines: layers, mesh, strategy, options of training.
PIPELINES = [
    (2, "pp=2,dp=2", "pp,dp,zero=1", "micro-batches=2,schedule=zb-h1"),
    (4, "pp=2", "pp", "micro-batches=4,schedule=dualpipe-v"),
    (2, "pp=2", "pp", "micro-batches=4,schedule=dualpipe"),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build-release", help="build folder")
    parser.add_argument("--runs", type=int, default=1, help="ignored: it is exact")
    parser.add_argument("--changes", default="moves,ops",
                        help="list of moves, ops and pipelines; default: the first two")
    parser.add_argument("--every", default="1", help="try every n-th change")
    parser.add_argument("--batch", default="4")
    parser.add_argument("--seq", default="8")
    options = parser.parse_args()
    tools = (ROOT / options.build).resolve() / "bin"
    kinds = options.changes.split(",")
    total, failed = {kind: {} for kind in kinds}, False

    def run(name, graph, mesh, strategy):
        nonlocal failed
        for kind in kinds:
            done = subprocess.run(
                [tools / "tessera-mutants", graph, "--mesh", mesh, "--strategy",
                 strategy, "--changes", kind, "--every", options.every],
                stdout=subprocess.PIPE, text=True)
            failed |= done.returncode != 0
            for line in done.stdout.splitlines():
                if not line.startswith("{"):
                    print(line, file=sys.stderr)
                    continue
                row = json.loads(line)
                for key, value in row.items():
                    if isinstance(value, int):
                        total[kind][key] = total[kind].get(key, 0) + value
                row["program"] = name
                print(json.dumps({"bench": "partition_mutants", "changes": kind,
                                  **row}), flush=True)

    def run_pipelines(folder):
        nonlocal failed
        for model in ("tiny-gpt2", "tiny-llama"):
            for layers, mesh, strategy, training in PIPELINES:
                graph = pathlib.Path(folder) / f"{model}.{layers}.mlir"
                subprocess.run(
                    [tools / "tessera", "model",
                     ROOT / f"share/models/{model}.json", "--train", "--batch",
                     "8", "--seq", "4", "--layers", str(layers), "--quiet", "-o",
                     graph], check=True)
                done = subprocess.run(
                    [tools / "tessera-pipeline-mutants", graph, "--mesh", mesh,
                     "--strategy", strategy, "--training", training, "--every",
                     options.every], stdout=subprocess.PIPE, text=True)
                failed |= done.returncode != 0
                for line in done.stdout.splitlines():
                    if not line.startswith("{"):
                        print(line, file=sys.stderr)
                        continue
                    row = json.loads(line)
                    for key, value in row.items():
                        if isinstance(value, int):
                            sums = total["pipelines"]
                            sums[key] = sums.get(key, 0) + value
                    print(json.dumps({"bench": "partition_mutants",
                                      "changes": "pipelines",
                                      "program": model, **row}), flush=True)

    with tempfile.TemporaryDirectory() as folder:
        if "pipelines" in kinds:
            run_pipelines(folder)
            kinds = [kind for kind in kinds if kind != "pipelines"]
        models = [("tiny-gpt2", STRATEGIES, []), ("tiny-llama", STRATEGIES, []),
                  ("tiny-mixtral", EXPERTS, ["--layers", "1"])]
        for model, strategies, words in models if kinds else ():
            graph = pathlib.Path(folder) / f"{model}.mlir"
            subprocess.run(
                [tools / "tessera", "model", ROOT / f"share/models/{model}.json",
                 "--train", "--batch", options.batch, "--seq", options.seq,
                 *words, "--quiet", "-o", graph], check=True)
            for mesh, strategy in strategies:
                run(model, graph, mesh, strategy)
        if kinds:
            run("bodies", ROOT / "test/exec/Inputs/bodies.mlir", "", "")
    for kind in total:
        print(json.dumps({"bench": "partition_mutants", "changes": kind,
                          "program": "all", **total[kind]}))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
