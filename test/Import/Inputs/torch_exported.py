"""Writes models as torch.export.save does: python torch_exported.py FOLDER."""

import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import torch_models  # noqa: E402

for make in (torch_models.make_gpt2_loss, torch_models.make_straight_through,
             torch_models.make_sort):
    module, *arguments = make()
    arguments = tuple(argument.clone() for argument in arguments)
    program = torch.export.export(module, arguments, strict=False)
    torch.export.save(program, f"{sys.argv[1]}/{type(module).__name__}.pt2")
