"""Runs a module in torch, for --check."""

from __future__ import annotations

import sys
from typing import Any, Mapping, Sequence

import numpy
import torch

from .errors import ImportFailure, first_line


def draw_inputs(module: torch.nn.Module, examples: Mapping[str, torch.Tensor],
                limits: Mapping[str, int]) -> dict[str, torch.Tensor]:
    """Draws ids below the limits and normal numbers; other integers keep their example values."""
    generator = torch.Generator().manual_seed(0)
    drawn = {}
    for name, example in examples.items():
        if name in limits:
            drawn[name] = torch.randint(limits[name], example.shape, generator=generator).to(
                example.dtype)
        elif example.is_floating_point():
            drawn[name] = torch.randn(example.shape, generator=generator).to(example.dtype)
        else:
            drawn[name] = example
    return drawn


def run_module(module: torch.nn.Module, arguments: Sequence[Any], keywords: Mapping[str, Any],
               weights: Mapping[str, torch.Tensor],
               is_exported: bool) -> tuple[list[Any], dict[str, Any]]:
    """Results, and gradients of the first result if it is one float, computed in f64; an exported
    graph runs in its own types. A module that fails in f64, for example because it mixes in numbers
    of f32, runs in its own types, with a note."""
    def run(is_double: bool) -> list[torch.Tensor]:
        cast = lambda x: x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() \
            and is_double else x
        results = module(*map(cast, arguments), **{k: cast(v) for k, v in keywords.items()})
        return [r for r in torch.utils._pytree.tree_flatten(results)[0]
                if isinstance(r, torch.Tensor)]

    if is_exported:
        flat = run(is_double=False)
    else:
        tensors = lambda: [*module.parameters(), *module.buffers()]
        types = [tensor.dtype for tensor in tensors()]
        try:
            module.double()
            flat = run(is_double=True)
        except RuntimeError as error:
            print(f"tessera: note: --check runs the module in its own types, since it fails in "
                  f"f64: {first_line(error)}", file=sys.stderr)
            for tensor, dtype in zip(tensors(), types):
                tensor.data = tensor.data.to(dtype)
            try:
                flat = run(is_double=False)
            except RuntimeError as second:
                raise ImportFailure(f"--check: the module fails: {first_line(second)}") from second
    gradients = {}
    if flat and not flat[0].shape and flat[0].requires_grad:
        try:
            flat[0].backward()
        except RuntimeError as error:
            raise ImportFailure(f"--check: the module has no gradients: {first_line(error)}") \
                from None
        gradients = find_gradients(dict(module.named_parameters(remove_duplicate=False)), weights)
    return [array(result) for result in flat], gradients


def find_gradients(parameters: Mapping[str, torch.nn.Parameter],
                   weights: Mapping[str, Any]) -> dict[str, Any]:
    """The gradients of the parameters `weights`; parameters that share storage get the sum."""
    gradients = {}
    for name in (name for name in weights if name in parameters):
        shared = {id(other): other.grad for other in parameters.values()
                  if other.data_ptr() == parameters[name].data_ptr() and other.grad is not None}
        if shared:
            gradients[name] = sum(array(gradient) for gradient in shared.values())
    return gradients


def array(tensor: torch.Tensor) -> numpy.ndarray:
    """Converts a tensor to NumPy, bf16 to f32, which NumPy has."""
    tensor = tensor.detach().cpu().contiguous()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
