"""Seconds to search the shardings of training steps, and their quality.

sharding_search.py [--build DIR] [--layers 2,8] [--mesh a=2,b=4] ...

Prints one JSON line for each number of layers of a model and each mesh: CPU seconds of the pass,
from IR to seeds; its time, bound and gap; variables of the network with equal layers merged; and
the time of the scheduled program with the chosen shardings and with the best named strategy.
--search-only omits the last two."""
import argparse
import json
import os
import re
import subprocess
import tempfile

MESHES = ["dp=2", "dp=4", "dp=8", "dp=2,tp=4", "dp=16,tp=8"]
SHOW = ["--remarks-filter=propagation", "--remark-policy=all", "-o", "/dev/null"]


def without_names(mesh):
    """Renames the mesh's axes, so that no named strategy applies and the step has no seeds."""
    return ",".join(f"{name}={axis.split('=')[1]}"
                    for name, axis in zip("abcd", mesh.split(",")))


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def remarks(text, name):
    for line in text.splitlines():
        if f"] {name} |" in line:
            fields = dict(re.findall(r"(\w+)=([0-9.e+-]+)", line))
            subject = re.search(r'Remark="shardings of ([^"]*)"', line)
            yield (subject and subject[1]), {k: float(v) for k, v in fields.items()}


def search(build, step):
    before = os.times()
    run([f"{build}/bin/tessera-opt", step, "--dist-search-shardings", "-o", "/dev/null"])
    after = os.times()
    # Costs of each op's alternatives are computed for remarks only.
    text = run([f"{build}/bin/tessera-opt", step, "--dist-search-shardings", *SHOW])
    seconds = (after.children_user - before.children_user
               + after.children_system - before.children_system)
    found = next(remarks(text, "ShardingSearch"))[1]
    return {"cpu_seconds": round(seconds, 2), "network_us": found["us"],
            "bound_us": found["usAtLeast"], "gap": found["gap"],
            "variables": int(found["variables"]), "solved": int(found["solved"])}


def compare(build, graph, mesh):
    tried = list(remarks(run([
        f"{build}/bin/tessera-opt", graph,
        f"--compile-to=plan mesh={mesh} strategy=auto", *SHOW]), "TriedShardings"))
    searched = min(t["us"] for name, t in tried if name == "the search")
    named = min((t["us"], name) for name, t in tried if name != "the search")
    return {"scheduled_us": searched, "named_us": named[0], "named": named[1]}


def measure(args, folder, layers, mesh):
    graph, step = f"{folder}/graph.mlir", f"{folder}/step.mlir"
    run([f"{args.build}/bin/tessera", "model", f"share/models/{args.model}.json",
         "--train", "--batch", str(args.batch), "--seq", str(args.seq),
         "--dtype", "bf16", "--layers", str(layers), "--quiet", "-o", graph])
    run([f"{args.build}/bin/tessera-opt", graph,
         f"--compile-to=train mesh={without_names(mesh)} strategy=auto", "-o", step])
    row = {"bench": "sharding_search", "model": args.model, "layers": layers,
           "mesh": mesh, "batch": args.batch, "seq": args.seq,
           **search(args.build, step)}
    return row if args.search_only else {**row, **compare(args.build, graph, mesh)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--layers", default="2,8")
    parser.add_argument("--mesh", action="append")
    parser.add_argument("--model", default="llama3-8b")
    parser.add_argument("--search-only", action="store_true")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seq", type=int, default=2048)
    args = parser.parse_args()
    os.chdir(os.path.join(os.path.dirname(__file__), "..", ".."))
    with tempfile.TemporaryDirectory() as folder:
        for layers in args.layers.split(","):
            for mesh in args.mesh or MESHES:
                print(json.dumps(measure(args, folder, int(layers), mesh)),
                      flush=True)


if __name__ == "__main__":
    main()
