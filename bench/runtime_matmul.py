"""Compares tessera_rt_matmul with a peer, PyTorch, in the same run.

Prints one JSON line a shape: our best and median milliseconds, the peer's, and
the ratio (below 1: we are faster). Rounds of both alternate, so that a busy
machine treats them alike.

"""
import argparse
import json
import subprocess
import time

import peer

SHAPES = [  # m, n, k, B stored transposed
    (1024, 768, 768, 0),
    (1024, 2304, 768, 0),
    (1024, 3072, 768, 0),
    (1024, 768, 3072, 0),
    (1024, 768, 768, 1),
    (1024, 50257, 768, 1),
]


def peer_times(m, n, k, transposed, dtype, threads, repeats):
    import torch

    torch.set_num_threads(threads)
    kind = {"f32": torch.float32, "bf16": torch.bfloat16}[dtype]
    a = torch.randn(m, k).to(kind)
    b = torch.randn(n, k).to(kind).t() if transposed else torch.randn(k, n).to(kind)
    out = torch.empty(m, n, dtype=kind)
    times = []
    for i in range(repeats + 2):
        begin = time.perf_counter()
        torch.mm(a, b, out=out)
        if i >= 2:
            times.append((time.perf_counter() - begin) * 1e3)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build-release", help="build folder")
    parser.add_argument("--torch-python", help="a Python with PyTorch")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    peer.run_under_torch(options.torch_python)
    program = peer.ROOT / options.build / "bin" / "runtime_matmul"
    for m, n, k, transposed in SHAPES:
        repeats = 3 if n > 10000 else 20
        ours, peers = [], []
        for _ in range(options.rounds):
            line = subprocess.run(
                [program, str(options.threads), options.dtype]
                + [str(x) for x in (m, n, k, transposed, repeats)],
                check=True, capture_output=True, text=True).stdout
            ours.append(json.loads(line))
            peers += peer_times(m, n, k, transposed, options.dtype,
                                options.threads, repeats)
        best = min(o["best_ms"] for o in ours)
        print(json.dumps({
            "name": ours[0]["name"],
            "threads": options.threads,
            "ms": best,
            "median_ms": sorted(o["median_ms"] for o in ours)[len(ours) // 2],
            "peer": "torch",
            "peer_ms": round(min(peers), 3),
            "peer_median_ms": round(sorted(peers)[len(peers) // 2], 3),
            "ratio": round(best / min(peers), 3),
        }), flush=True)


if __name__ == "__main__":
    main()
