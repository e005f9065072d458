"""Time to load published weights on 4 ranks, against safetensors' own load on one rank.

The weights are GPT-2 124M, 498 MB of f32. Prints one JSON line per case: forward programs and a
training step. `seconds` is the time in which a program of 4 ranks fills its parameters from
`--weights` (`init_seconds` of the report, the slowest rank), `cpu_seconds` the processor time of
all ranks for it. The peers run in new processes, too: `safetensors.numpy.load_file`, and
`safetensors.torch.load_file` with a copy of each tensor, because that function alone maps the file
and reads nothing.

`floor_cpu_seconds` is the processor time to fill as much new shared memory as all ranks have
together (replicas of parameters that no step changes share memory) with one system call (pwrite to
a memfd). `deferred_floor_cpu_seconds`, for a training step, is the time to fill such memory once
and to let each rank copy it on its first write (MAP_PRIVATE), as a load and a first step would do
that share replicas until the step changes them. Rounds of all alternate and figures are medians.
`ratio` and `cpu_ratio` are relative to the faster peer; on a busy machine the second is more
reliable.

`private_mb` is the memory of a rank, including its arena with its shards, and `shard_mb` its part
of the file. Fails if 4 ranks of a forward program take more than 1.2 of the peer's processor time,
or a rank has more memory than its shard and 64 MB. Needs a Python with torch, numpy and safetensors
(--torch-python)."""

import argparse
import json
import mmap
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import peer

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Mesh, strategy, and the optimizer of a training step.
CASES = [("tp=4", "tp", None), ("dp=2,tp=2", "dp,tp", None), ("dp=2,tp=2", "dp,tp", "sgd")]
LIMIT, SPARE = 1.2, 64e6
MADV_POPULATE_WRITE = 23

PEERS = {"numpy": "from safetensors.numpy import load_file; load = load_file",
         "torch": "from safetensors.torch import load_file\n"
                  "load = lambda path: {k: v.clone() for k, v in load_file(path).items()}"}
TIMED = """
import sys, time
begin, cpu = time.perf_counter(), time.process_time()
tensors = load(sys.argv[1])
print(time.perf_counter() - begin, time.process_time() - cpu)
"""


def load_by_peer(kind, path):
    """Wall and processor seconds."""
    printed = subprocess.run([sys.executable, "-c", PEERS[kind] + TIMED, path], check=True,
                             capture_output=True, text=True).stdout
    return tuple(map(float, printed.split()))


def fill_memory(path, copies):
    """Processor time to write a file's bytes into new shared memory `copies` times."""
    source = memoryview(path.read_bytes())
    memory = os.memfd_create("floor")
    begin = time.process_time()
    for i in range(copies):
        for at in range(0, len(source), 1 << 20):
            os.pwrite(memory, source[at:at + (1 << 20)], i * len(source) + at)
    seconds = time.process_time() - begin
    os.close(memory)
    return seconds


def fill_and_copy(path, copies):
    """Processor time to write a file's bytes into new shared memory once and to copy its pages into
    `copies` private mappings, as first writes to them do."""
    source = memoryview(path.read_bytes())
    memory = os.memfd_create("floor")
    begin = time.process_time()
    for at in range(0, len(source), 1 << 20):
        os.pwrite(memory, source[at:at + (1 << 20)], at)
    for _ in range(copies):
        with mmap.mmap(memory, len(source), mmap.MAP_PRIVATE) as copy:
            copy.madvise(MADV_POPULATE_WRITE)
    seconds = time.process_time() - begin
    os.close(memory)
    return seconds


def load(program, weights):
    """The report of a program of 4 ranks that loads weights and executes one step."""
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
        graph, loss, one = folder / "gpt2.mlir", folder / "loss.mlir", folder / "one"
        for file, options_of in ((graph, []), (loss, ["--train"])):
            subprocess.run([tessera, "model", ROOT / "share" / "models" / "gpt2.json", "--batch",
                            "2", "--seq", "8", *options_of, "--quiet", "-o", file], check=True)
        subprocess.run([tessera, "compile", graph, "--mesh", "dp=1", "--quiet", "-o", one],
                       check=True)
        subprocess.run([one, "--random-data", "--steps", "1", "--quiet", "--save-weights",
                        folder / "weights"], check=True, stdout=subprocess.DEVNULL)
        file = folder / "weights" / "model.safetensors"
        programs = []
        for mesh, strategy, optimizer in CASES:
            programs.append(folder / f"program{len(programs)}")
            training = ["--optimizer", optimizer] if optimizer else []
            subprocess.run([tessera, "compile", loss if optimizer else graph, "--mesh", mesh,
                            "--strategy", strategy, *training, "--quiet", "-o", programs[-1]],
                           check=True)
        reports = [[] for _ in CASES]
        peers = {kind: [] for kind in PEERS}
        floors, deferred = ([[] for _ in CASES] for _ in range(2))
        size = file.stat().st_size
        for _ in range(options.rounds):
            for program, found, floor, late, (mesh, _, optimizer) in zip(
                    programs, reports, floors, deferred, CASES):
                found.append(load(program, folder / "weights"))
                copies = 4 // int(mesh.rpartition("=")[2]) if optimizer else 1
                floor.append(fill_memory(file, copies))
                if optimizer:
                    late.append(fill_and_copy(file, copies))
            for kind, seconds in peers.items():
                seconds.append(load_by_peer(kind, file))
        clock, cpu = ({kind: statistics.median(pair[i] for pair in pairs)
                       for kind, pairs in peers.items()} for i in (0, 1))
        for found, floor, late, (mesh, _, optimizer) in zip(reports, floors, deferred, CASES):
            seconds, busy = (statistics.median(report[name] for report in found)
                             for name in ("init_seconds", "init_cpu_seconds"))
            cpu_ratio = busy / min(cpu.values())
            private = max(report["memory"]["arena_bytes"] + report["memory"]["private_bytes"]
                          for report in found)
            shard = size / int(mesh.rpartition("=")[2])
            print(json.dumps({
                "bench": "load_weights", "model": "gpt2", "file_mb": round(size / 1e6, 1),
                "ranks": 4, "mesh": mesh, "optimizer": optimizer, "seconds": round(seconds, 3),
                "peer_seconds": {kind: round(median, 3) for kind, median in clock.items()},
                "ratio": round(seconds / min(clock.values()), 3),
                "cpu_seconds": round(busy, 3),
                "peer_cpu_seconds": {kind: round(median, 3) for kind, median in cpu.items()},
                "floor_cpu_seconds": round(statistics.median(floor), 3),
                "deferred_floor_cpu_seconds": round(statistics.median(late), 3) if late else None,
                "cpu_ratio": round(cpu_ratio, 3), "private_mb": round(private / 1e6, 1),
                "shard_mb": round(shard / 1e6, 1), "runs": options.rounds}), flush=True)
            if optimizer:
                continue
            if private > shard + SPARE:
                faults.append(f"a rank of {mesh} has {private / 1e6:.1f} MB")
            if cpu_ratio > LIMIT:
                faults.append(f"{mesh} takes {cpu_ratio:.2f} of safetensors' processor time")
    if faults:
        sys.exit("load_weights: " + "; ".join(faults))


if __name__ == "__main__":
    main()
