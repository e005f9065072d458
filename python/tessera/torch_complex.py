"""Complex values of torch: pairs of real values, which ops of a registry of their own convert."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Union

import torch

from .errors import ImportFailure
from .graph_text import Value
from .walk import registry

# Types of complex numbers, and those of their real and imaginary parts.
PARTS = {torch.complex64: torch.float32, torch.complex128: torch.float64}

# Handlers of ops that have a complex operand or result.
HANDLERS, handles = registry()


@dataclass(frozen=True)
class Complex:
    """Real and imaginary parts, of one type."""
    real: Value
    imag: Value

    @property
    def shape(self) -> tuple[int, ...]:
        return self.real.shape

    @property
    def element(self) -> str:
        return self.real.element

    @property
    def type(self) -> str:
        return f"complex numbers of {self.real.type}"


# An operand of a complex op: its real and its imaginary part, none if it is real.
Parts = tuple[Union[Value, float, int, bool], Union[Value, float, None]]


def is_complex(node: Any) -> bool:
    """True if a node has a complex operand or result."""
    values = [item.meta.get("val") for item in (node, *node.all_input_nodes)]
    leaves = torch.utils._pytree.tree_leaves((values, node.args, dict(node.kwargs)))
    return any(isinstance(leaf, complex) or isinstance(leaf, torch.Tensor) and
               leaf.dtype.is_complex for leaf in leaves)


def is_complex_tensor(item: Any) -> bool:
    return isinstance(item, torch.Tensor) and item.dtype.is_complex


def check_types(node: Any, where: str) -> None:
    """Fails for complex numbers of 16 bits."""
    for item in torch.utils._pytree.tree_leaves([n.meta.get("val")
                                                 for n in (node, *node.all_input_nodes)]):
        if is_complex_tensor(item) and item.dtype not in PARTS:
            name = str(item.dtype).removeprefix("torch.")
            raise ImportFailure(f"{where}: expects complex numbers of f32 or f64 but got {name}; "
                                "cast them with .float()")


def refuse(where: str, name: str) -> ImportFailure:
    """The error of an op that has no meaning for complex numbers."""
    return ImportFailure(f"{where}: expects an op that has a meaning for complex numbers but got "
                         f"{name}; write real and imaginary parts as two tensors "
                         "(torch.view_as_real)")
