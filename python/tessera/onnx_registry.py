"""The handlers of all ops of ONNX: imports the modules that register them."""

from . import (onnx_attention, onnx_einsum, onnx_elementwise, onnx_losses,  # noqa: F401
               onnx_norms, onnx_ops, onnx_reductions)
from .onnx_importer import HANDLERS  # noqa: F401
