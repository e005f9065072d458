"""Collectives between two nodes, of one rank each by default, against gloo (torch) and raw TCP.

The nodes are namespaces of this machine (test/nodes/nodes.py). Each round runs both; a line has
the medians of their times and of their ratios. Others have times of the raw network: 64 MiB each
way at once, and a byte there and back.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test/nodes"))
from nodes import Nodes  # noqa: E402

GLOO = """
import json, os, time, torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group("gloo", timeout=__import__("datetime").timedelta(seconds=60))
size = dist.get_world_size()
def measure(name, size_in_bytes, repeats, body):
    body()
    dist.barrier()
    begin = time.monotonic()
    for _ in range(repeats):
        body()
    us = (time.monotonic() - begin) / repeats * 1e6
    if dist.get_rank() == 0:
        print(json.dumps({"name": name, "bytes": size_in_bytes, "us": us}), flush=True)
for count, repeats in ((8, 300), (64 << 20, 3)):
    x = torch.zeros(count // 4)
    part = torch.zeros(max(1, count // 4 // size))
    whole = torch.zeros(part.numel() * size)
    measure("all_reduce", count, repeats, lambda: dist.all_reduce(x))
    measure("all_gather", count, repeats, lambda: dist.all_gather_into_tensor(whole, part))
measure("barrier", 0, 300, dist.barrier)
"""

RAW = """
import socket, sys, threading, time
role, host = sys.argv[1:]
size = 64 << 20
def receive(link, left):
    buffer = bytearray(1 << 20)
    while left:
        left -= link.recv_into(buffer, min(left, len(buffer)))
def exchange(link):
    sender = threading.Thread(target=link.sendall, args=(bytes(size),))
    sender.start()
    receive(link, size)
    sender.join()
if role == "server":
    with socket.create_server(("", 29401)) as server:
        link, _ = server.accept()
else:
    while True:
        try:
            link = socket.create_connection((host, 29401))
            break
        except OSError:
            time.sleep(0.05)
link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
def there_and_back():
    if role == "server":
        receive(link, 1); link.sendall(b"x")
    else:
        link.sendall(b"x"); receive(link, 1)
for name, repeats, body in (("round trip", 300, there_and_back), ("both ways", 3, lambda: exchange(link))):
    body()
    begin = time.monotonic()
    for _ in range(repeats):
        body()
    if role == "server":
        print('{"name": "%s", "bytes": %d, "us": %.1f}' % (
            name, size if body is not there_and_back else 1, (time.monotonic() - begin) / repeats * 1e6))
"""


def times(processes):
    """The lines of the first process, by name and bytes."""
    for process in processes:
        if process.wait(timeout=120) != 0:
            sys.exit(process.errors())
    lines = [json.loads(line) for line in processes[0].output().splitlines()]
    return {(line["name"], line["bytes"]): line["us"] for line in lines}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--ranks-per-node", type=int, default=1)
    parser.add_argument("--python", default=os.environ.get("TESSERA_TORCH_PYTHON", sys.executable))
    options = parser.parse_args()
    program = os.path.abspath(options.build) + "/bin/nodes"
    ours, gloo, raw = [], [], []
    each = options.ranks_per_node
    with Nodes(2) as nodes, tempfile.TemporaryDirectory() as folder:
        variables = {"MASTER_ADDR": "node0", "MASTER_PORT": "29400", "WORLD_SIZE": str(2 * each),
                     "GLOO_SOCKET_IFNAME": "eth0"}
        for _ in range(options.rounds):
            ours.append(times([nodes[i].start([program, i, 2, each, folder]) for i in (0, 1)]))
            gloo.append(times([nodes[rank // each].start([options.python, "-c", GLOO],
                                                         env=dict(variables, RANK=str(rank)))
                               for rank in range(2 * each)]))
            raw.append(times([nodes[i].start([sys.executable, "-c", RAW, role, "node0"])
                              for i, role in ((0, "server"), (1, "client"))]))
    for key in ours[0]:
        pairs = [(a[key], b[key]) for a, b in zip(ours, gloo)]
        print(json.dumps({
            "name": key[0], "bytes": key[1], "ranks": 2 * each,
            "us": round(statistics.median(a for a, _ in pairs), 1),
            "gloo_us": round(statistics.median(b for _, b in pairs), 1),
            "ratio": round(statistics.median(a / b for a, b in pairs), 3)}))
    for key in raw[0]:
        print(json.dumps({"name": f"raw TCP, {key[0]}", "bytes": key[1],
                          "us": round(statistics.median(line[key] for line in raw), 1)}))


if __name__ == "__main__":
    main()
