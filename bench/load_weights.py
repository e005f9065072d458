"""How long published weights take to load: GPT-2 124M, 498 MB of f32, on 4 ranks, beside
safetensors' own load on one.

Prints a JSON line a mesh. `seconds` is what a program of 4 ranks takes to fill its parameters
from `--weights` (`init_seconds` of the report, the slowest rank). The peers are new processes,
too: `safetensors.numpy.load_file`, and `safetensors.torch.load_file` with a copy of each
tensor, because that function alone maps the file and reads nothing. Rounds of all alternate;
figures are medians, `ratio` is beside the quicker peer. `private_mb` is the memory that a rank
has for itself, its arena with its shards included, and `shard_mb` the part of the file that it
holds. Fails where one rank in four of tp=4 takes more than 1.2 of the peer, or has more than
its shard and 64 MB. Needs a Python with torch, numpy and safetensors (--torch-python).
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import peer

ROOT = pathlib.Path(__file__).resolve().parent.parent
MESHES = {"tp=4": "tp", "dp=2,tp=2": "dp,tp"}
LIMIT, SPARE = 1.2, 64e6

PEERS = {"numpy": "from safetensors.numpy import load_file; load = load_file",
         "torch": "from safetensors.torch import load_file\n"
                  "load = lambda path: {k: v.clone() for k, v in load_file(path).items()}"}
TIMED = """
import sys, time
begin = time.perf_counter()
tensors = load(sys.argv[1])
print(time.perf_counter() - begin)
"""


def load_by_peer(kind, path):
    return float(subprocess.run([sys.executable, "-c", PEERS[kind] + TIMED, path], check=True,
                                capture_output=True, text=True).stdout)


def load(program, weights):
    """The report of a program of 4 ranks that loads weights and makes one step."""
    report = subprocess.run([program, "--ranks", "4", "--threads", "1", "--weights", weights,
                             "--random-data", "--steps", "1", "--quiet", "--report", "json"],
                            check=True, stdout=subprocess.PIPE).stdout
    return json.loads(report)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build-release", help="build folder")
    parser.add_argument("--torch-python", help="a Python with torch, numpy and safetensors")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    peer.run_under_torch(options.torch_python, ("torch", "numpy", "safetensors"))
    tessera = (ROOT / options.build / "bin" / "tessera").resolve()
    faults = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        graph, one = folder / "gpt2.mlir", folder / "one"
        subprocess.run([tessera, "model", ROOT / "share" / "models" / "gpt2.json", "--batch", "1",
                        "--seq", "8", "--quiet", "-o", graph], check=True)
        subprocess.run([tessera, "compile", graph, "--mesh", "dp=1", "--quiet", "-o", one],
                       check=True)
        subprocess.run([one, "--random-data", "--steps", "1", "--quiet", "--save-weights",
                        folder / "weights"], check=True, stdout=subprocess.DEVNULL)
        file = folder / "weights" / "model.safetensors"
        programs = {}
        for mesh, strategy in MESHES.items():
            programs[mesh] = folder / mesh
            subprocess.run([tessera, "compile", graph, "--mesh", mesh, "--strategy", strategy,
                            "--quiet", "-o", programs[mesh]], check=True)
        reports = {mesh: [] for mesh in MESHES}
        peers = {kind: [] for kind in PEERS}
        for _ in range(options.rounds):
            for mesh, program in programs.items():
                reports[mesh].append(load(program, folder / "weights"))
            for kind, seconds in peers.items():
                seconds.append(load_by_peer(kind, file))
        size = file.stat().st_size
        medians = {kind: statistics.median(seconds) for kind, seconds in peers.items()}
        for mesh, found in reports.items():
            seconds = statistics.median(report["init_seconds"] for report in found)
            ratio = seconds / min(medians.values())
            private = max(report["memory"]["arena_bytes"] + report["memory"]["private_bytes"]
                          for report in found)
            shard = size / int(mesh.rpartition("=")[2])
            print(json.dumps({
                "bench": "load_weights", "model": "gpt2", "file_mb": round(size / 1e6, 1),
                "ranks": 4, "mesh": mesh, "seconds": round(seconds, 3),
                "peer_seconds": {kind: round(median, 3) for kind, median in medians.items()},
                "ratio": round(ratio, 3), "private_mb": round(private / 1e6, 1),
                "shard_mb": round(shard / 1e6, 1), "runs": options.rounds}), flush=True)
            if private > shard + SPARE:
                faults.append(f"a rank of {mesh} has {private / 1e6:.1f} MB")
            if mesh == "tp=4" and ratio > LIMIT:
                faults.append(f"{mesh} takes {ratio:.2f} of safetensors' load")
    if faults:
        sys.exit("load_weights: " + "; ".join(faults))


if __name__ == "__main__":
    main()
