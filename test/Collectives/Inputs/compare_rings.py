"""Prints how often and how many bytes a device receives around rings: one line for each
program, which phases partition and schedule are to agree on."""

import itertools
import json
import pathlib
import subprocess
import sys

MESHES = [("cp=4", "cp=ring"), ("cp=4", "cp=ring --sequence-order plain"),
          ("dp=2,cp=2", "dp,cp=ring")]


def read_permutes(graph, options, phase, report):
    """Calls and bytes of the permutes of a program after a phase."""
    subprocess.run(["tessera", "compile", graph, *options, f"--compile-to={phase}",
                    "--dist-report", report, "-o", "/dev/null"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = [0, 0]
    document = json.loads(pathlib.Path(report).read_text())
    for function in document.get("functions", [document]):
        for row in function["collectives"]:
            if row["kind"] == "permute":
                found[0] += row["count"]
                found[1] += row["bytes"]
    return found


def main(folder):
    differs = False
    for kind, precision, target, (mesh, strategy) in itertools.product(
            ["forward", "train"], ["f32", "bf16"], ["host", "cuda"], MESHES):
        options = ["--mesh", mesh, "--strategy", *strategy.split(), "--target", target]
        graph = kind
        if kind == "train":
            # Two micro-batches: each ring runs twice.
            options += ["--precision", precision, "--micro-batches", "2"]
        else:
            graph = f"{kind}_{precision}"
        early, late = [read_permutes(f"{folder}/{graph}.mlir", options, phase,
                                     f"{folder}/report.json")
                       for phase in ["partition", "schedule"]]
        name = " ".join([kind, precision, target, mesh, *strategy.split()[1:]])
        print(f"{name}: {early[0]} permutes of {early[1]} bytes")
        if early != late:
            print(f"{name}: expects {late} after schedule but got {early}")
            differs = True
    return differs


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
