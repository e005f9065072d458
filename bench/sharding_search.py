"""Seconds to search the shardings of training steps, and how good they are.

sharding_search.py [--build DIR] [--layers 2,8] [--mesh a=2,b=4] ...

For each number of layers of Llama 3 8B and each mesh, one JSON line: seconds of
the pass on one core, from IR to seeds, its time, bound and gap; the time of the
scheduled program of the chosen shardings and of the best named strategy.
"""
import argparse
import json
import os
import re
import subprocess
import tempfile
import time

MESHES = ["dp=2", "dp=4", "dp=8", "dp=2,tp=4", "dp=16,tp=8"]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def remarks(text, name):
    for line in text.splitlines():
        if f"] {name} |" in line:
            fields = dict(re.findall(r"(\w+)=([0-9.e+-]+)", line))
            subject = re.search(r'Remark="shardings of ([^"]*)"', line)
            yield (subject and subject[1]), {k: float(v) for k, v in fields.items()}


def measure(build, folder, layers, mesh, batch, seq):
    show = ["--remarks-filter=propagation", "--remark-policy=all", "-o", "/dev/null"]
    graph, step = f"{folder}/graph.mlir", f"{folder}/step.mlir"
    run([f"{build}/bin/tessera", "model", "share/models/llama3-8b.json", "--train",
         "--batch", str(batch), "--seq", str(seq), "--dtype", "bf16", "--layers",
         str(layers), "--quiet", "-o", graph])
    run([f"{build}/bin/tessera-opt", graph,
         f"--compile-to=train mesh={mesh} strategy=auto", "-o", step])
    begin = time.time()
    text = run([f"{build}/bin/tessera-opt", step, "--dist-search-shardings", *show])
    seconds = time.time() - begin
    found = next(remarks(text, "ShardingSearch"))[1]
    tried = list(remarks(run([
        f"{build}/bin/tessera-opt", graph,
        f"--compile-to=plan mesh={mesh} strategy=auto", *show]), "TriedShardings"))
    searched = min(t["us"] for name, t in tried if name == "the search")
    named = min((t["us"], name) for name, t in tried if name != "the search")
    return {"bench": "sharding_search", "model": "llama3-8b", "layers": layers,
            "mesh": mesh, "batch": batch, "seq": seq, "seconds": round(seconds, 2),
            "network_us": found["us"], "bound_us": found["usAtLeast"],
            "gap": found["gap"], "scheduled_us": searched, "named_us": named[0],
            "named": named[1]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--layers", default="2,8")
    parser.add_argument("--mesh", action="append")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seq", type=int, default=2048)
    args = parser.parse_args()
    os.chdir(os.path.join(os.path.dirname(__file__), ".."))
    with tempfile.TemporaryDirectory() as folder:
        for layers in args.layers.split(","):
            for mesh in args.mesh or MESHES:
                print(json.dumps(measure(args.build, folder, int(layers), mesh,
                                         args.batch, args.seq)), flush=True)


if __name__ == "__main__":
    main()
