"""Checkpoints of GPT-2 124M with AdamW on two ranks, against torch's and a floor.

`wait_seconds` is the time for which a checkpoint makes steps wait, the slowest rank's: in its
begin and at the fence. The peer is what torch.distributed.checkpoint.async_save blocks for, in two
processes that hold halves of tensors of the same sizes. `commit_seconds` is from the begin to the
commit of the checkpoint at the run's end, where no step runs beside it; its floor is the time in
which two processes write and sync as many bytes. `cpu_seconds` is the processor time of both ranks
for it, and its floor that of copying, hashing (XXH64) and writing the bytes once. `private_mb` is
a rank's private memory above that of a run without checkpoints, at the default memory of the ring
and at a quarter of it.

`load_seconds` is the time from the start to the first step of a run that goes on, less that of one
that begins anew with zeros, and `load_floor_seconds` that of reading and hashing the bytes with as
many processes.

Rounds alternate and figures are medians. Prints one JSON line. Needs a Python with torch 2.13 and
xxhash (--torch-python)."""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import peer

ROOT = pathlib.Path(__file__).resolve().parents[2]
RANKS = 2

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
    whole = time.perf_counter() - begin
begin = time.perf_counter()
dcp.load(state, checkpoint_id=f"{folder}/1")
print(blocked, whole, time.perf_counter() - begin)
"""
