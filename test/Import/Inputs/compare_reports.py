"""compare_reports.py TESSERA A.mlir B.mlir [MESH:STRATEGY...]: compares the collectives of training steps of two
graphs by kind and axes, on several meshes: their number, and the bytes that a device receives."""

import json
import pathlib
import subprocess
import sys
import tempfile

CASES = [("tp=2", "tp"), ("tp=4", "tp"), ("dp=2,tp=2", "dp,tp,sp"),
         *(("dp=2", f"dp,zero={zero}") for zero in range(4))]


def report(compiler, graph, mesh, strategy):
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "report.json"
        subprocess.run([compiler, "compile", graph, "--mesh", mesh, "--strategy", strategy,
                        "--compile-to=schedule", "--dist-report", str(path), "--quiet",
                        "-o", str(pathlib.Path(name) / "out.mlir")], check=True)
        return json.loads(path.read_text())


def summarize(found):
    """Rows by kind and axes, sorted."""
    return sorted((row["kind"], str(row["axes"]), row["count"], row["bytes"])
                  for row in found["collectives"])


compiler, *graphs = sys.argv[1:4]
given = [tuple(case.split(":")) for case in sys.argv[4:]]
for mesh, strategy in given or CASES:
    first, second = (summarize(report(compiler, graph, mesh, strategy)) for graph in graphs)
    print(f"{mesh} {strategy}:", "the same" if first == second else f"\n  {first}\n  {second}")
