"""Converts ops that torch defines by other ops, whose gradients are those of their parts: torch
traces the definition at the shapes of a node, and the parts take the node's place.

An op that changes values without gradients (cosine_similarity) is not one of them."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from .errors import ImportFailure, first_line
from .torch_importer import Importer, handles, place


@handles(
    # Activations.
    "aten.prelu.default", "aten.relu6.default", "aten.selu.default",
    # Other names of ops, and arithmetic.
    "aten.absolute.default", "aten.arctan.default", "aten.arctan2.default", "aten.clip.Tensor",
    "aten.clip.default", "aten.divide.Scalar", "aten.divide.Scalar_mode", "aten.divide.Tensor",
    "aten.divide.Tensor_mode", "aten.fix.default", "aten.float_power.Scalar",
    "aten.float_power.Tensor_Scalar", "aten.float_power.Tensor_Tensor", "aten.greater.Scalar",
    "aten.greater.Tensor", "aten.greater_equal.Scalar", "aten.greater_equal.Tensor",
    "aten.isclose.default", "aten.less.Scalar", "aten.less.Tensor", "aten.less_equal.Scalar",
    "aten.less_equal.Tensor", "aten.msort.default", "aten.multiply.Scalar", "aten.multiply.Tensor",
    "aten.negative.default", "aten.not_equal.Scalar", "aten.not_equal.Tensor",
    "aten.special_expit.default", "aten.special_expm1.default", "aten.special_log1p.default",
    "aten.special_log_softmax.default", "aten.special_logit.default",
    "aten.special_softmax.default", "aten.subtract.Scalar", "aten.subtract.Tensor",
    "aten.true_divide.Scalar", "aten.true_divide.Tensor",
    # Shapes.
    "aten.adjoint.default", "aten.atleast_1d.default", "aten.atleast_2d.default",
    "aten.atleast_3d.default", "aten.broadcast_tensors.default", "aten.cartesian_prod.default",
    "aten.column_stack.default", "aten.concat.default", "aten.concatenate.default",
    "aten.diag.default", "aten.diff.default", "aten.dsplit.int", "aten.dstack.default",
    "aten.fft_fftshift.default", "aten.fft_ifftshift.default", "aten.fliplr.default",
    "aten.flipud.default", "aten.hsplit.int", "aten.hstack.default", "aten.matrix_H.default",
    "aten.meshgrid.default", "aten.meshgrid.indexing", "aten.moveaxis.int", "aten.moveaxis.intlist",
    "aten.movedim.int", "aten.movedim.intlist", "aten.narrow.default", "aten.ravel.default",
    "aten.repeat_interleave.self_int", "aten.swapdims.default", "aten.take_along_dim.default",
    "aten.tensor_split.indices", "aten.tensor_split.sections", "aten.unsafe_chunk.default",
    "aten.upsample_bicubic2d.vec", "aten.upsample_bilinear2d.vec", "aten.upsample_linear1d.vec",
    "aten.upsample_trilinear3d.vec", "aten.vsplit.int", "aten.vstack.default",
    # Products and reductions.
    "aten.inner.default", "aten.kron.default", "aten.linalg_multi_dot.default",
    "aten.linalg_norm.default", "aten.outer.default", "aten.pairwise_distance.default",
    "aten.std.default", "aten.std.dim", "aten.std_mean.default", "aten.std_mean.dim",
    "aten.tensordot.default", "aten.trapezoid.dx", "aten.var.default", "aten.var_mean.default",
    "aten.var_mean.dim",
    # Losses.
    "aten.cosine_embedding_loss.default", "aten.hinge_embedding_loss.default",
    "aten.kl_div.default", "aten.l1_loss.default", "aten.margin_ranking_loss.default",
    "aten.nll_loss_nd.default", "aten.poisson_nll_loss.default",
    "aten.triplet_margin_loss.default",
    # Recurrent layers, a step after the other.
    "aten.gru.input", "aten.gru_cell.default", "aten.lstm.input", "aten.lstm_cell.default",
    "aten.rnn_relu.input", "aten.rnn_relu_cell.default", "aten.rnn_tanh.input",
    "aten.rnn_tanh_cell.default")
def expand(importer: Importer, node: Any) -> Any:
    """Converts the parts of an op."""
    operands = list(dict.fromkeys(node.all_input_nodes))
    part = trace(node, operands)
    inputs = [inner for inner in part.graph.nodes if inner.op == "placeholder"]
    for inner, operand in zip(inputs, operands):
        importer.alias(inner, operand)
    for inner in part.graph.nodes:
        for key in ("stack_trace", "nn_module_stack"):
            inner.meta[key] = node.meta.get(key)
        if inner.op == "get_attr":
            importer.constants[inner] = getattr(part, inner.target)
        elif inner.op == "call_function":
            importer.visit(inner)
        elif inner.op == "output":
            results = inner.args[0]
    if isinstance(results, torch.fx.Node):
        return importer.found(results)
    return [importer.found(result) for result in results]


def trace(node: Any, operands: list[Any]) -> torch.fx.GraphModule:
    """The parts of an op as a graph of these operands, in ops that run after autograd."""
    arguments = node.args, dict(node.kwargs)

    def run(*tensors: torch.Tensor) -> Any:
        given = dict(zip(operands, tensors))
        positional, keywords = torch.fx.node.map_arg(arguments, lambda item: given[item])
        return node.target.decompose(*positional, **keywords)
    try:
        # oneDNN has an op for a whole recurrent layer, and its flags warn.
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            with torch.backends.mkldnn.flags(enabled=False):
                return make_fx(run)(*(operand.meta["val"] for operand in operands))
    except Exception as error:
        raise ImportFailure(f"{place(node)}: expects arguments of {node.target} that torch takes: "
                            f"{first_line(error)}") from None
