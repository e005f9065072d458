"""Writes models with torch.export.save: python torch_exported.py FOLDER."""

import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import torch_models  # noqa: E402
import torch_op_models  # noqa: E402


def save(module, arguments, name, is_decomposed=False, **options):
    arguments = tuple(argument.clone() for argument in arguments)
    program = torch.export.export(module, arguments, strict=False, **options)
    program = program.run_decompositions() if is_decomposed else program
    torch.export.save(program, f"{sys.argv[1]}/{name}.pt2")


for make in (torch_models.make_gpt2_loss, torch_models.make_straight_through,
             torch_models.make_median):
    module, *given = make()
    save(module, given, type(module).__name__)
for dtype, name in ((torch.bfloat16, "BF16"), (torch.float16, "F16")):
    module, *given = torch_op_models.make_narrow(dtype)
    save(module, given, name)
module, *given = torch_op_models.make_norms()
save(module, given, "Norms", is_decomposed=True)
save(torch.nn.Linear(4, 4), [torch.zeros(2, 4)], "Dynamic",
     dynamic_shapes=({0: torch.export.Dim("batch")},))
