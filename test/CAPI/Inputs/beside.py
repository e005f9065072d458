"""Runs the ctypes program in a process that has torch and jax, and uses both after it too."""

import sys

ORDER, LIBRARY, PROGRAM = sys.argv[1:]


def frameworks():
    import jax
    import torch
    assert float(torch.ones(3).sum()) == 3.0
    assert float(jax.jit(lambda x: x * 2)(1.5)) == 3.0


def tessera():
    import partition
    partition.main(LIBRARY, PROGRAM)


for step in (frameworks, tessera) if ORDER == "after" else (tessera, frameworks):
    step()
print("beside torch and jax")
