"""The importer with the handlers of all ops: imports the modules that register them."""

from . import (onnx_attention, onnx_convolutions, onnx_einsum, onnx_elementwise,  # noqa: F401
               onnx_losses, onnx_norms, onnx_ops, onnx_pools, onnx_reductions, onnx_resizing,
               onnx_writes)
from .onnx_importer import HANDLERS, Importer, Scratch  # noqa: F401
