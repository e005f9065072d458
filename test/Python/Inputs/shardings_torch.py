"""Trains models on 4 processes of gloo after apply_torch and on one: python shardings_torch.py
FOLDER. Prints whether five losses agree, or the error."""

import contextlib
import os
import pathlib
import sys
import warnings

import shardings_models as models
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

import tessera

RANKS, LARGEST = 4, 1e-5


def meshes(zero=0):
    return {"tp": ({"tp": 2}, {}), "dp,tp": ({"dp": 2, "tp": 2}, {"zero": zero}),
            "dp": ({"dp": 4}, {"zero": zero})}


CASES = [("llama", "tp", 0), ("llama", "dp,tp", 0), ("llama", "dp,tp", 2), ("llama", "dp,tp", 3),
         ("llama", "dp", 0), ("llama", "dp", 2), ("llama", "dp", 3), ("tied", "dp,tp", 3),
         ("flat", "dp,tp", 2), ("gpt2", "dp", 0), ("gpt2", "dp", 2), ("gpt2", "dp", 3)]


def train(model, ids, ranks):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for batch in ids:
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total = loss.detach().clone()
        if ranks > 1:
            dist.all_reduce(total)
        losses.append(float(total) / ranks)
    return losses


def compare(name, mesh, document, file, expected):
    """Trains a model by a document; ranks beyond the mesh do nothing."""
    sizes = tuple(mesh.values())
    device_mesh = init_device_mesh("cpu", sizes if len(sizes) > 1 or sizes[0] == RANKS
                                   else (RANKS // sizes[0], sizes[0]),
                                   mesh_dim_names=tuple(mesh) if len(sizes) > 1 or
                                   sizes[0] == RANKS else ("other", *mesh))
    if len(device_mesh.mesh_dim_names) > len(mesh):
        device_mesh = device_mesh["tp"]
    model = models.make(name)
    models.write(document, file)
    try:
        tessera.load_shardings(file).apply_torch(model, device_mesh)
    except tessera.Error as error:
        return str(error).replace(str(pathlib.Path(file).parent), "")
    ids, shards = models.make_ids(), mesh.get("dp", 1)
    rank = device_mesh.get_local_rank("dp") if "dp" in mesh else 0
    losses = train(model, ids.chunk(shards, dim=1)[rank], RANKS)
    worst = max(abs(a - b) for a, b in zip(losses, expected))
    return f"{len(losses)} losses agree" if worst < LARGEST else f"differ by {worst}: {losses}"


def run(rank, folder):
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank,
                            world_size=RANKS)
    expected = {name: train(models.make(name), models.make_ids(), 1)
                for name in dict.fromkeys(name for name, _, _ in CASES)}
    for name, strategy, zero in CASES:
        mesh, plan = meshes(zero)[strategy]
        document = models.describe(models.make(name), mesh, plan)
        result = compare(name, mesh, document, f"{folder}/{rank}.json", expected[name])
        if rank == 0:
            print(f"{name} {strategy} zero={zero}: {result}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with contextlib.suppress(FileNotFoundError):
        os.unlink(f"{sys.argv[1]}/store")
    torch.multiprocessing.spawn(run, (sys.argv[1],), nprocs=RANKS)
