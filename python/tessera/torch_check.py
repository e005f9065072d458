"""Runs a module in torch, for --check."""

from __future__ import annotations

import contextlib
import sys
from typing import Any, Iterable, Iterator, Mapping, Sequence

import numpy
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .check import Run
from .errors import ImportFailure, first_line
from .python_file import Examples


def draw_inputs(names: Sequence[str], examples: Examples,
                limits: Mapping[str, int]) -> tuple[dict[str, torch.Tensor], Examples]:
    """Draws ids below the limits and normal numbers. Negative ids, which losses ignore, and other
    integers keep their example values. Returns the inputs by name, in the order of `names`, and the
    arguments with them."""
    generator, drawn = torch.Generator().manual_seed(0), {}
    rest = iter(names)

    def draw(example: Any) -> Any:
        name = next(rest, None) if isinstance(example, torch.Tensor) else None
        if name is None:
            return example
        drawn[name] = example
        if name in limits:
            ids = torch.randint(limits[name], example.shape, generator=generator)
            drawn[name] = torch.where(example < 0, example, ids.to(example.dtype))
        elif example.is_floating_point():
            drawn[name] = torch.randn(example.shape, generator=generator).to(example.dtype)
        return drawn[name]

    positional, keywords = torch.utils._pytree.tree_map(
        draw, (tuple(examples.positional), dict(examples.keywords)))
    return drawn, Examples(positional, keywords)


class Widen(TorchDispatchMode):
    """Runs ops in f64 that a module asks for in another float type."""

    def __torch_dispatch__(self, op: Any, types: Any, arguments: Any = (),
                           keywords: Any = None) -> Any:
        if op is not torch.ops.aten.view.dtype:
            arguments, keywords = torch.utils._pytree.tree_map(wide_type,
                                                               (arguments, keywords or {}))
        return op(*arguments, **(keywords or {}))


def wide_type(item: Any) -> Any:
    is_float = isinstance(item, torch.dtype) and item.is_floating_point
    return torch.float64 if is_float else item


@contextlib.contextmanager
def widened(module: torch.nn.Module,
            mode: contextlib.AbstractContextManager[Any]) -> Iterator[None]:
    """Makes a module compute in f64; its parameters and buffers stay in f64."""
    default = torch.get_default_dtype()
    module.double()
    torch.set_default_dtype(torch.float64)
    try:
        with mode:
            yield
    finally:
        torch.set_default_dtype(default)


def run_module(module: torch.nn.Module, examples: Examples,
               weights: Iterable[str]) -> tuple[Run, Run]:
    """Runs a module in f64 and in its own types. A module that fails in one of them has the other's
    run for both, with a note."""
    shared = find_shared(module, weights)
    # Higher-order ops take no mode.
    ways = {"its own types": [contextlib.nullcontext()],
            "f64": [widened(module, Widen()), widened(module, contextlib.nullcontext())]}
    runs, failures = [], []
    for name, contexts in ways.items():
        for context in contexts:
            torch.compiler.reset()
            try:
                with context:
                    runs.append(run_once(module, examples, shared, name == "f64"))
                break
            except Exception as error:
                failure = f"in {name}: {first_line(error)}"
        else:
            failures.append(failure)
    if not runs:
        raise ImportFailure(f"--check: the module fails {failures[0]}")
    if failures:
        print(f"tessera: note: --check does not run the module {failures[0]}", file=sys.stderr)
    return runs[-1], runs[0]


def run_once(module: torch.nn.Module, examples: Examples, shared: Mapping[str, Sequence[Any]],
             is_wide: bool) -> Run:
    """Results, and the gradients of the first one if it is one float. Parameters that share memory
    get the sum of their gradients."""
    def cast(item: Any) -> Any:
        is_float = isinstance(item, torch.Tensor) and item.is_floating_point()
        return item.double() if is_wide and is_float else item

    module.zero_grad()
    given, named = torch.utils._pytree.tree_map(cast, (examples.positional, examples.keywords))
    results = [item for item in torch.utils._pytree.tree_leaves(module(*given, **named))
               if isinstance(item, torch.Tensor)]
    gradients: dict[str, Any] = {}
    if results and not results[0].shape and results[0].requires_grad:
        results[0].backward()
        for name, parameters in shared.items():
            found = [array(item.grad) for item in parameters if item.grad is not None]
            if found:
                gradients[name] = sum(found)
    return Run([array(result) for result in results], gradients)


def find_shared(module: torch.nn.Module, names: Iterable[str]) -> dict[str, list[Any]]:
    """The parameters that share memory with each parameter of `names`, itself too. A cast gives
    each of them memory of its own."""
    parameters = dict(module.named_parameters(remove_duplicate=False))
    return {name: [*{id(other): other for other in parameters.values()
                     if other.data_ptr() == parameters[name].data_ptr()}.values()]
            for name in names if name in parameters}


def array(tensor: torch.Tensor) -> numpy.ndarray:
    """Converts a tensor to NumPy, bf16 to f32, which NumPy has."""
    tensor = tensor.detach().cpu().contiguous()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
