"""Loads checkpoints by torch's reader of sharded safetensors files, and compares them with
what `tessera checkpoint export` writes.

usage: torch_load.py TESSERA FOLDER...    each with checkpoints; the newest is read
"""

import pathlib
import subprocess
import sys

import torch
import torch.distributed.checkpoint as dcp
from safetensors.torch import load_file
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader

tessera, *folders = sys.argv[1:]
for folder in map(pathlib.Path, folders):
    step = sorted(folder.glob("step-????????"))[-1]
    whole = folder.with_suffix(".safetensors")
    subprocess.run([tessera, "checkpoint", "export", folder, "-o", whole], check=True,
                   stdout=subprocess.DEVNULL)
    expected = load_file(whole)
    got = {name: torch.full_like(tensor, 7) for name, tensor in expected.items()}
    dcp.load(got, storage_reader=HuggingFaceStorageReader(str(step)), no_dist=True)
    wrong = [name for name, tensor in expected.items()
             if got[name].dtype != tensor.dtype or
             not torch.equal(got[name].view(torch.uint8) if tensor.dim() else got[name],
                             tensor.view(torch.uint8) if tensor.dim() else tensor)]
    if wrong or not expected:
        sys.exit(f"{folder}: {len(wrong)} of {len(expected)} tensors differ: {wrong[:5]}")
print(f"{len(folders)} checkpoints are read by torch {torch.__version__.split('+')[0]}")
