"""Compares tessera_rt_attention with PyTorch's SDPA in the same run.

Prints one JSON line per shape: our best and median milliseconds, the peer's, and the ratio (below
1: we are faster). Rounds of both alternate. The peer gets its own preferred layout, [B, H, S, K].
"""
import argparse
import time

import peer

SHAPES = [  # B, S, T, G, R, K, causal
    (4, 256, 256, 12, 1, 64, 1),
    (4, 256, 256, 12, 1, 64, 0),
    (1, 2048, 2048, 12, 1, 64, 1),
    (1, 512, 512, 8, 4, 128, 1),
]


def peer_times(shape, dtype, threads, repeats):
    import torch

    torch.set_num_threads(threads)
    kind = {"f32": torch.float32, "bf16": torch.bfloat16}[dtype]
    b, s, t, g, r, k, causal = shape
    q = torch.randn(b, g * r, s, k).to(kind)
    key = torch.randn(b, g, t, k).to(kind).repeat_interleave(r, 1)
    value = torch.randn(b, g, t, k).to(kind).repeat_interleave(r, 1)
    times = []
    with torch.no_grad():
        for i in range(repeats + 2):
            begin = time.perf_counter()
            torch.nn.functional.scaled_dot_product_attention(
                q, key, value, is_causal=bool(causal))
            if i >= 2:
                times.append((time.perf_counter() - begin) * 1e3)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    peer.add_options(parser)
    options = parser.parse_args()
    peer.run_under_torch(options.torch_python)
    for shape in SHAPES:
        peer.compare(options, "runtime_attention", [*shape, 20],
                     lambda: peer_times(shape, options.dtype, options.threads, 20))


if __name__ == "__main__":
    main()
