"""The importer of torch with the handlers of all ops, by kind: torch_ops_*.py.

An op that nn has (layer_norm, gelu, attention) becomes that op; others become arith, math and
tensor, and the compiler's passes recognize groups of ops."""

from . import (torch_ops_activations, torch_ops_complex, torch_ops_composites,
               torch_ops_convolutions, torch_ops_elementwise, torch_ops_indices, torch_ops_losses,
               torch_ops_matmuls, torch_ops_pools, torch_ops_reductions, torch_ops_shapes,
               torch_ops_writes)
from .torch_importer import HANDLERS, Importer

__all__ = ["HANDLERS", "Importer"]
