"""Compares programs of --strategy auto with the named strategies' programs.

auto_against_named.py [--build DIR] [--model NAME] [--mesh 2x4] [--limits none] ...

Prints two JSON lines for each model, mesh and kind of links: one without a memory limit, and one
with a limit of half of the arena of the first. Each line has the microseconds of these scheduled
programs: auto's on axes a, b, ...; the search's first plan alone; the best named strategy that fits
on a mesh of dp, dp and tp, or dp, tp and cp; and the best of all (`any`), on axes of other names
and with all axes merged into one. Each strategy is tried on an axis that bears its name, so `any`
does not depend on auto's choices. `mismatch` is the difference that the remark SearchMismatch
reports: above 0 if the network takes more time than the program, below 0 if it takes less. `links`
is equal (100 GB/s) or 10:1, where the links of the first axis, or of half of a single axis, have a
tenth of the others' bandwidth."""
import argparse
import itertools
import json
import math
import os
import re
import subprocess
import tempfile

MODELS = {
    "tiny-gpt2": ["--batch", "16", "--seq", "32"],
    "tiny-llama": ["--batch", "16", "--seq", "32"],
    "llama3-8b": ["--batch", "16", "--seq", "2048", "--dtype", "bf16", "--layers", "2"],
}
MESHES = ["2", "4", "8", "2x4", "2x2x2"]
NAMES = ["dp", "tp", "cp"]


def make_cluster(path, inside):
    """H100s in nodes of `inside` devices, with links between nodes a tenth as fast."""
    with open("share/clusters/h100-sxm-ib.json") as file:
        cluster = json.load(file)
    near, far = cluster["levels"][:2]
    near["devices"] = inside
    far["bytes_per_s"]["value"] = near["bytes_per_s"]["value"] / 10
    far["efficiency"]["value"] = near["efficiency"]["value"]
    cluster["levels"] = [near, far]
    with open(path, "w") as file:
        json.dump(cluster, file)


def try_all(build, graph, mesh, cluster, limit):
    """auto's choice, (name, us, bytes) of each program that it tried, the difference between the
    network and the chosen program if it is large, and the error."""
    options = f"mesh={mesh} strategy=auto"
    options += f" cluster={cluster}" if cluster else ""
    options += f" memory-limit={limit}" if limit else ""
    done = subprocess.run(
        [f"{build}/bin/tessera-opt", graph, f"--compile-to=plan {options}",
         "--remarks-filter=propagation", "--remark-policy=all", "-o", "/dev/null"],
        capture_output=True, text=True)
    tried, taken, mismatch = [], None, None
    for line in (done.stdout + done.stderr).splitlines():
        fields = {k: float(v) for k, v in re.findall(r"(\w+)=([0-9.]+(?:e[+-]\d+)?)\b", line)}
        subject = re.search(r'Remark="shardings of ([^"]*)"', line)
        if "] TriedShardings |" in line and subject and "us" in fields:
            tried.append((subject[1], fields["us"], fields["arenaBytes"]))
        if "] ChosenShardings |" in line and subject:
            taken = fields["us"]
        if "] SearchMismatch |" in line:
            mismatch = fields["searchedUs"] / fields["programUs"] - 1
    error = re.search(r"error: (.*)", done.stderr)
    return taken, tried, mismatch, error and error[1]


def name_axes(names, sizes):
    return ",".join(f"{n}={s}" for n, s in zip(names, sizes))


def find_named(build, graph, mesh, cluster, limit):
    """(us, strategy and mesh) of the named strategies that fit."""
    _, tried, _, _ = try_all(build, graph, mesh, cluster, limit)
    return [(us, f"{name} on {mesh}") for name, us, size in tried
            if name != "the search" and "@" not in name and (not limit or size <= limit)]


def compare(build, graph, sizes, cluster, limit):
    taken, tried, mismatch, error = try_all(
        build, graph, name_axes("abc", sizes), cluster, limit)
    fits = [t for t in tried if not limit or t[2] <= limit]
    searched = [t for t in fits if t[0] == "the search"]
    row = {"auto_us": taken, "auto": next((n for n, us, _ in fits if us == taken), None),
           "pass_us": searched[0][1] if searched else None,
           "tried": len(tried),
           "arena": next((b for _, us, b in fits if us == taken), None)}
    if mismatch is not None:
        row["mismatch"] = round(mismatch, 4)
    if error:
        row["error"] = error
    best = []
    for names in itertools.permutations(NAMES, len(sizes)):
        named = find_named(build, graph, name_axes(names, sizes), cluster, limit)
        if named and names == tuple(NAMES[:len(sizes)]):
            row["named_us"], row["named"] = min(named)
        best += named
    if len(sizes) > 1:
        for name in NAMES:
            best += find_named(
                build, graph, name_axes([name], [math.prod(sizes)]), cluster, limit)
    if best:
        row["any_us"], row["any"] = min(best)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--model", action="append")
    parser.add_argument("--mesh", action="append")
    parser.add_argument("--links", action="append")
    parser.add_argument("--limits", default="none,half")
    args = parser.parse_args()
    os.chdir(os.path.join(os.path.dirname(__file__), "..", ".."))
    with tempfile.TemporaryDirectory() as folder:
        for model in args.model or MODELS:
            graph = f"{folder}/{model}.mlir"
            subprocess.run(
                [f"{args.build}/bin/tessera", "model", f"share/models/{model}.json",
                 "--train", *MODELS[model], "--quiet", "-o", graph], check=True)
            for mesh, links in itertools.product(args.mesh or MESHES,
                                                 args.links or ["equal", "10:1"]):
                sizes = [int(size) for size in mesh.split("x")]
                cluster = ""
                if links == "10:1":
                    inside = math.prod(sizes[1:]) if len(sizes) > 1 else sizes[0] // 2
                    if inside == 1:
                        continue
                    cluster = f"{folder}/cluster-{inside}.json"
                    make_cluster(cluster, inside)
                limit = 0
                for share in args.limits.split(","):
                    row = compare(args.build, graph, sizes, cluster, limit)
                    print(json.dumps({
                        "bench": "auto_against_named", "model": model, "mesh": mesh,
                        "links": links, "limit": limit or None, **row}), flush=True)
                    if row.get("arena") is None:
                        break
                    limit = int(row["arena"]) // 2


if __name__ == "__main__":
    main()
