"""Compares tessera_rt_matmul with PyTorch in the same run.

Prints one JSON line per shape: our best and median milliseconds, the peer's, and the ratio (below
1: we are faster). Rounds of both alternate, so that other load affects both."""
import argparse
import time

import peer

SHAPES = [  # m, n, k, B stored transposed
    (1024, 64, 64, 0),
    (1024, 256, 4096, 0),
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
    peer.add_options(parser)
    options = parser.parse_args()
    peer.run_under_torch(options.torch_python)
    for m, n, k, transposed in SHAPES:
        repeats = 3 if n > 10000 else 20
        peer.compare(options, "runtime_matmul", [m, n, k, transposed, repeats],
                     lambda: peer_times(m, n, k, transposed, options.dtype,
                                        options.threads, repeats))


if __name__ == "__main__":
    main()
