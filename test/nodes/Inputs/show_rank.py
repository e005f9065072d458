"""Prints the rank that a launcher gives to this process, and the process's arguments.

Usage: show_rank.py [ARGUMENT...]
"""

import os
import socket
import sys

# Rank, size, local rank, local size; Slurm says the number of nodes instead of the last.
FAMILIES = [
    ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    [f"OMPI_COMM_WORLD_{name}" for name in ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE")],
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NNODES"),
]
words = [*sys.argv[1:], f"FACT={os.environ.get('FACT')}"]
for names in FAMILIES:
    rank, size, local_rank, local_size = map(os.environ.get, names)
    if rank:
        if names[3] == "SLURM_NNODES":
            local_size = int(size) // int(local_size)
        words.insert(0, f"rank {rank} of {size}, local {local_rank} of {local_size}")
# One write, which launchers do not divide.
sys.stdout.write(f"{socket.gethostname()}: {' '.join(words)}\n")
