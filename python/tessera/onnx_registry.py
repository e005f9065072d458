"""The handlers of all ops of ONNX: imports the modules that register them."""

from . import onnx_einsum, onnx_elementwise, onnx_losses, onnx_norms, onnx_ops, onnx_reductions
from .onnx_importer import HANDLERS

__all__ = ["HANDLERS", "onnx_einsum", "onnx_elementwise", "onnx_losses", "onnx_norms", "onnx_ops",
           "onnx_reductions"]
