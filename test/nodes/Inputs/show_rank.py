"""Prints the rank that a launcher gives to this process, and the process's arguments.

Usage: show_rank.py [ARGUMENT...]
"""

import os
import socket
import sys

FAMILIES = {
    "torchrun": ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    "Open MPI": [
        f"OMPI_COMM_WORLD_{name}" for name in ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE")
    ],
    "Hydra": ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
}
words = [*sys.argv[1:], f"FACT={os.environ.get('FACT')}"]
for names in FAMILIES.values():
    rank, size, local_rank, local_size = map(os.environ.get, names)
    if rank:
        words.insert(0, f"rank {rank} of {size}, local {local_rank} of {local_size}")
# One write, which launchers do not divide.
sys.stdout.write(f"{socket.gethostname()}: {' '.join(words)}\n")
