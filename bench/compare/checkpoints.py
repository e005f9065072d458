"""Checkpoints of GPT-2 124M with AdamW on two ranks, against torch's and a floor.

`wait_seconds` is the time for which a checkpoint makes steps wait, of the rank that waits most: in
its begin and at the fence. The peer is what torch.distributed.checkpoint.async_save blocks for, in
two processes with tensors of as many bytes. `commit_seconds` is from the begin to the commit of the
checkpoint at the run's end, where no step runs beside it; `floor_seconds` is the time in which two
processes write and sync as many bytes. `private_mb` is a rank's private memory above that of a run
without checkpoints, by the bytes of --checkpoint-memory.

`load_seconds` is the time in which a run that goes on compares all checksums and fills its state,
by its record; `load_floor_seconds` is the time in which two processes read the files into fresh
shared memory, as the state's is, and xxhsum hashes them in two more; `peer_load_seconds` is that
of torch's dcp.load, into tensors that were used before.

Before each timed part, memory is touched and freed: a virtual machine's host gives back pages that
were free for a while at a fraction of a disk's rate. Rounds alternate and figures are medians.
Prints one JSON line. Needs xxhsum, and a Python with torch (--torch-python)."""

import argparse
import json
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import peer

ROOT = pathlib.Path(__file__).resolve().parents[2]

SAVE = """
import os, sys, time, torch
import torch.distributed as dist, torch.distributed.checkpoint as dcp
rank, folder, port, elements = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=port)
dist.init_process_group("gloo", rank=rank, world_size=2)
torch.set_num_threads(1)
state = {f"t{rank}.{i}": torch.randn(elements // 64) for i in range(64)}
for i in range(2):
    dist.barrier()
    begin = time.perf_counter()
    saved = dcp.async_save(state, checkpoint_id=f"{folder}/{i}")
    blocked = time.perf_counter() - begin
    saved.result()
dist.barrier()
begin = time.perf_counter()
dcp.load(state, checkpoint_id=f"{folder}/1")
print(blocked, time.perf_counter() - begin)
"""

WRITE = """
import os, sys, time
path, count = sys.argv[1], int(sys.argv[2])
data = os.urandom(1 << 20)
begin = time.perf_counter()
fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
for at in range(0, count, len(data)):
    os.write(fd, data)
os.fsync(fd)
print(time.perf_counter() - begin)
"""

READ = """
import mmap, sys, time
with open(sys.argv[1], "rb", buffering=0) as file:
    count = file.seek(0, 2)
    file.seek(0)
    memory = memoryview(mmap.mmap(-1, count))
    begin = time.perf_counter()
    for at in range(0, count, 1 << 20):
        file.readinto(memory[at:at + (1 << 20)])
    print(time.perf_counter() - begin)
"""

TOUCH = """
import mmap, sys
mmap.mmap(-1, int(sys.argv[1]), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)
"""


def together(commands):
    """Runs commands at once; the numbers that each prints."""
    running = [subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True,
                                stderr=subprocess.DEVNULL) for command in commands]
    printed = [process.communicate()[0] for process in running]
    if any(process.returncode for process in running):
        sys.exit(f"{commands[0][:3]} failed")
    return [list(map(float, text.split())) for text in printed]


def touch():
    """Makes the host of a virtual machine give as much memory as a timed part takes."""
    subprocess.run([sys.executable, "-c", TOUCH, str(6 << 30)], check=True)


def run(program, *options):
    """The report of a run."""
    printed = subprocess.run([program, "--quiet", "--random-data", "--report=json",
                              *map(str, options)], check=True, capture_output=True, text=True)
    return json.loads(printed.stdout.splitlines()[-1])


def save(program, ck, *memory):
    """What a run reports of its checkpoints, and its private memory above that of one without."""
    plain = run(program, "--steps", 2)
    report = run(program, "--steps", 4, "--checkpoint", ck, "--checkpoint-interval", 2, *memory)
    private = report["memory"]["private_bytes"] - plain["memory"]["private_bytes"]
    return report["checkpoints"], private / 1e6


def empty(folder):
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def measure(program, python, folder):
    """The figures of one round: those of this program, of the peer and of the floors."""
    empty(folder)
    ck = folder / "ck"
    saved, private = save(program, ck)
    bytes_of_rank = saved["bytes"] // 2
    touch()
    run(program, "--steps", 4, "--checkpoint", ck)
    loaded = json.loads((ck / "record.jsonl").read_text().splitlines()[-1])["load"]
    files = sorted(ck.glob("step-00000004/*.safetensors"))
    touch()
    begin = time.perf_counter()
    hashing = [subprocess.Popen(["xxhsum", "-H1", file], stdout=subprocess.DEVNULL)
               for file in files]
    for process in hashing:
        process.wait()
    hashed = time.perf_counter() - begin
    read = max(seconds for (seconds,) in together(
        [[sys.executable, "-c", READ, file] for file in files]))
    shutil.rmtree(ck)
    touch()
    commit = run(program, "--steps", 1, "--checkpoint", ck)["checkpoints"]["commit_seconds"]
    touch()
    floor = max(seconds for (seconds,) in together(
        [[sys.executable, "-c", WRITE, folder / f"floor{i}", bytes_of_rank] for i in range(2)]))
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    torch = together([[python, "-c", SAVE, rank, folder / "torch", port, bytes_of_rank // 4]
                      for rank in range(2)])
    return {"bytes": saved["bytes"], "wait_seconds": saved["wait_seconds"],
            "peer_wait_seconds": max(wait for wait, _ in torch),
            "commit_seconds": commit, "floor_seconds": floor,
            "private_mb": private, "load_seconds": loaded,
            "load_floor_seconds": read + hashed,
            "peer_load_seconds": max(load for _, load in torch)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=ROOT / "build-release", type=pathlib.Path,
                        help="build folder")
    parser.add_argument("--torch-python", help="a Python with torch")
    parser.add_argument("--rounds", default=3, type=int)
    options = parser.parse_args()
    python = peer.torch_python(options.torch_python)
    tessera = options.build / "bin" / "tessera"
    with tempfile.TemporaryDirectory() as temporary:
        home = pathlib.Path(temporary)
        folder = home / "round"
        folder.mkdir()
        graph, program = home / "g.mlir", home / "prog"
        subprocess.run([tessera, "model", ROOT / "share/models/gpt2.json", "--batch", "2",
                        "--seq", "64", "--train", "--quiet", "-o", graph], check=True)
        subprocess.run([tessera, "compile", graph, "--mesh", "dp=2", "--strategy", "dp,zero=1",
                        "--quiet", "-o", program], check=True)
        rounds = [measure(program, python, folder) for _ in range(options.rounds)]
        quarter = rounds[0]["bytes"] // 8
        empty(folder)
        _, small = save(program, folder / "ck", "--checkpoint-memory", quarter)
    figures = {name: round(statistics.median(one[name] for one in rounds), 4) for name in rounds[0]}
    figures["private_mb_of_a_quarter"] = round(small, 1)
    figures["wait_ratio"] = round(figures["wait_seconds"] / figures["peer_wait_seconds"], 3)
    figures["commit_ratio"] = round(figures["commit_seconds"] / figures["floor_seconds"], 3)
    figures["load_ratio"] = round(figures["load_seconds"] / figures["load_floor_seconds"], 3)
    print(json.dumps({"case": "checkpoints of gpt2, adamw, dp=2,zero=1", **figures}))


if __name__ == "__main__":
    main()
