"""Trains models on 4 processes of gloo after apply_torch and on one: python shardings_torch.py
FOLDER. Prints whether five losses agree."""

import contextlib
import os
import sys
import warnings

import shardings_models as models
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

import tessera

RANKS, LARGEST = 4, 1e-5


# The mesh, the axes of the batch, and those of tensors.
STRATEGIES = {"tp": ({"tp": 2}, [], ["tp"]), "dp": ({"dp": 4}, ["dp"], []),
              "dp,tp": ({"dp": 2, "tp": 2}, ["dp"], ["tp"]),
              "dp@a+b": ({"a": 2, "b": 2}, ["a", "b"], []),
              "tp@a+b": ({"a": 2, "b": 2}, [], ["a", "b"])}
# Model, strategy, ZeRO's stage. Two devices do not divide the vocabulary of 97.
CASES = [("llama", "tp", 0), ("llama", "dp,tp", 0), ("llama", "dp,tp", 2), ("llama", "dp,tp", 3),
         ("llama", "dp", 0), ("llama", "dp@a+b", 2), ("llama", "dp", 3), ("tied", "dp,tp", 3),
         ("flat", "dp,tp", 2), ("flat", "tp@a+b", 0), ("gathered", "dp,tp", 0),
         ("whole_ends", "dp,tp", 0),
         ("gpt2", "dp", 0), ("gpt2", "dp", 2), ("gpt2", "dp", 3)]


# In "gathered" the value between two layers is whole, and a table is sharded in its features.
MODULES = {"up": {"input": [["dp"], [], []], "output": [["dp"], [], []]}}


def clip(model):
    """Clips the gradients by their norm, as docs/shardings.md says."""
    groups = {}
    for p in model.parameters():
        groups.setdefault(getattr(p, "device_mesh", None), []).append(p)
    norms = [torch.nn.utils.get_total_norm([p.grad for p in group]) for group in groups.values()]
    norms = [norm.full_tensor() if hasattr(norm, "full_tensor") else norm for norm in norms]
    for group in groups.values():
        torch.nn.utils.clip_grads_with_norm_(group, 1.0, torch.stack(norms).norm())


def train(model, ids, ranks):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for batch in ids:
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        if ranks > 1:
            clip(model)
        else:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        total = loss.detach().clone()
        if ranks > 1:
            dist.all_reduce(total)
        losses.append(float(total) / ranks)
    return losses


def make_mesh(mesh):
    """A mesh of the first axes, or one of several alike."""
    if len(mesh) == 2 or RANKS in mesh.values():
        return init_device_mesh("cpu", tuple(mesh.values()), mesh_dim_names=tuple(mesh))
    (name, size), = mesh.items()
    return init_device_mesh("cpu", (RANKS // size, size), mesh_dim_names=("copies", name))[name]


def train_sharded(name, strategy, zero, file):
    """Trains a model by a document."""
    mesh, batch, tensor = STRATEGIES[strategy]
    model, device_mesh = models.make(name), make_mesh(mesh)
    document = models.describe(model, mesh, {"zero": zero}, batch, tensor)
    if name == "gathered":
        document["modules"] = MODULES
        document["tensors"]["table.weight"]["axes"] = [[], tensor]
    models.write(document, file)
    tessera.load_shardings(file).apply_torch(model, device_mesh)
    shards, rank = 1, 0
    for axis in batch:
        shards, rank = shards * mesh[axis], rank * mesh[axis] + device_mesh.get_local_rank(axis)
    return train(model, models.make_ids().chunk(shards, dim=1)[rank], RANKS)


def run(rank, folder):
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank,
                            world_size=RANKS)
    expected = {}
    for name, strategy, zero in CASES:
        if rank == 0 and name not in expected:
            expected[name] = train(models.make(name), models.make_ids(), 1)
        losses = train_sharded(name, strategy, zero, f"{folder}/{rank}.json")
        if rank == 0:
            agrees = all(abs(a - b) < LARGEST for a, b in zip(losses, expected[name]))
            result = f"{len(losses)} losses agree" if agrees else \
                f"expects losses {expected[name]} but got {losses}"
            print(f"{name} {strategy} zero={zero}: {result}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{sys.argv[1]}/store")
    torch.multiprocessing.start_processes(run, (sys.argv[1],), RANKS, start_method="fork")
