"""Writes ONNX files, FOLDER/NAMEOPSET.onnx: python onnx_models.py FOLDER NAME:OPSET...; or imports
the files that must be rejected: python onnx_models.py refused FOLDER."""

import logging
import math
import pathlib
import sys
import warnings

import numpy
import onnx
from onnx import TensorProto, helper

WIDTH, HEADS, GROUPS, SEQ, BATCH, VOCAB = 16, 4, 2, 8, 2, 32


def export(module, arguments, opset, path):
    """Exports with torch, with random parameters, since torch merges equal ones."""
    import torch
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(0.2 * torch.randn(parameter.shape))
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    # Two arguments with one tensor would become one input.
    arguments = tuple(argument.clone() for argument in arguments)
    program = torch.onnx.export(module, arguments, dynamo=True, opset_version=opset,
                                verbose=False)
    for node in program.model.graph:
        node.metadata_props.clear()
    program.save(path)


def make_patterns():
    """Every group of ops that is one op of nn."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Patterns(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(VOCAB, WIDTH)
            self.gain = nn.Parameter(torch.ones(WIDTH))
            self.norm = nn.LayerNorm(WIDTH)
            dim = WIDTH // HEADS
            self.q, self.k, self.v = (nn.Linear(WIDTH, n * dim) for n in (HEADS, GROUPS, GROUPS))
            self.out = nn.Linear(WIDTH, WIDTH)
            self.gate, self.up, self.erf, self.tanh = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
            inverse = 100.0 ** -(torch.arange(0, dim, 2) / dim)
            self.register_buffer("inverse", inverse)

        def rope(self, x):
            angles = torch.arange(SEQ)[:, None] * self.inverse
            angles = torch.cat([angles, angles], dim=-1)
            a, b = x.chunk(2, dim=-1)
            return x * angles.cos() + torch.cat([-b, a], dim=-1) * angles.sin()

        def forward(self, tokens, labels):
            x = self.embed(tokens)
            y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gain
            q, k, v = (layer(y).view(BATCH, SEQ, -1, WIDTH // HEADS).transpose(1, 2)
                       for layer in (self.q, self.k, self.v))
            q, k = self.rope(q), self.rope(k)
            k, v = (t.repeat_interleave(HEADS // GROUPS, dim=1) for t in (k, v))
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(BATCH, SEQ, WIDTH))
            y = self.norm(x)
            x = x + functional.silu(self.gate(y)) * self.up(y)
            x = x + functional.gelu(self.erf(x))
            x = x + functional.gelu(self.tanh(x), approximate="tanh")
            x = x * torch.softmax(x, dim=-1)
            logits = x @ self.embed.weight.T
            return functional.cross_entropy(logits.view(-1, VOCAB), labels.view(-1))
    ids = torch.zeros(BATCH, SEQ, dtype=torch.long)
    return Patterns().eval(), ids, ids


def make_ops(opset, path):
    """Each op alone, for a tensor of floats and of integers."""
    random = numpy.random.default_rng(0)
    nodes, weights, results = [], [], []

    def constant(value, dtype="f4"):
        name = f"c{len(weights)}"
        weights.append(onnx.numpy_helper.from_array(numpy.asarray(value, dtype), name))
        return name

    def weight(*shape):
        return constant(random.standard_normal(shape))

    def node(op, *inputs, outputs=1, is_result=True, **attributes):
        names = [f"{op}_{len(nodes)}_{i}" if i else f"{op}_{len(nodes)}" for i in range(outputs)]
        nodes.append(helper.make_node(op, inputs, names, name=names[0], **attributes))
        if is_result:
            results.extend(names)
        return names[0] if outputs == 1 else names

    def ints(*values):
        return constant(values, "i8")
    for op in ("Tanh", "Exp", "Erf", "Cos", "Sin", "Floor", "Ceil", "Round", "Neg", "Abs",
               "Sigmoid", "Relu", "Identity", "Flatten", "LogSoftmax", "Reciprocal"):
        node(op, "x")
    positive = node("Abs", "x", is_result=False)
    node("Sqrt", positive)
    node("Log", positive)
    for exponent in (2, 3, 0.5, -0.5, 1.7):
        node("Pow", positive, constant(exponent))
    node("Pow", positive, node("Cast", "n", to=TensorProto.FLOAT, is_result=False))
    for op in ("Add", "Sub", "Mul", "Div"):
        node(op, "x", weight(4))
    for op in ("Max", "Min", "Sum", "Mean"):
        node(op, "x", "x", constant(0.5))
    node("Clip", "x", constant(-0.5), constant(0.5))
    node("Clip", "x", "", constant(0.5))
    less = node("Less", "x", constant(0.0), is_result=False)
    equal = node("Equal", "n", constant(1, "i8"), is_result=False)
    both = node("And", less, node("Not", equal, is_result=False), is_result=False)
    either = node("Xor", both, node("Or", less, equal, is_result=False), is_result=False)
    is_nan = node("IsNaN", "x")
    at_least = node("GreaterOrEqual", "x", constant(0.1), is_result=False)
    for condition in (both, either, is_nan, at_least):
        node("Where", condition, "x", constant(0.25))
    node("Cast", node("Abs", node("Neg", "n", is_result=False), is_result=False),
         to=TensorProto.FLOAT)
    node("Reshape", "x", ints(0, -1, 2))
    node("Squeeze", node("Unsqueeze", "x", ints(0, -1), is_result=False), ints(0))
    node("Transpose", "x", perm=[2, 0, 1])
    node("Transpose", "x")
    node("Expand", node("Slice", "x", ints(1), ints(2), ints(1), is_result=False), ints(2, 3, 1))
    node("Tile", "x", ints(1, 2, 1))
    node("Slice", "x", ints(-3, 0), ints(9, 4), ints(2, 1), ints(2, 1))
    node("Split", "x", ints(1, 3), outputs=2, axis=2)
    node("Split", "x", outputs=2, axis=-1, **({"num_outputs": 2} if opset >= 18 else {}))
    node("Concat", "x", "x", axis=1)
    node("Concat", constant(numpy.zeros((2, 0, 4))), "x", axis=1)
    node("Pad", "x", ints(0, 1, 0, 0, 0, 2), constant(0.5))
    node("Gather", "x", ints(0, 1, 2), axis=1)
    node("Gather", "x", constant(-1, "i8"), axis=2)
    node("GatherND", "x", constant([[[0, 2], [1, 2]]], "i8"))
    node("GatherElements", "x", constant(numpy.full((2, 3, 4), 1), "i8"), axis=1)
    node("GatherElements", "x", node("Cast", node("Slice", "n", ints(0), ints(1), ints(2),
                                                  is_result=False), to=TensorProto.INT64,
                                     is_result=False), axis=2)
    node("Gather", weight(3, 6), "n")
    node("MatMul", "x", weight(4, 6))
    node("MatMul", "x", node("Transpose", "x", perm=[0, 2, 1], is_result=False))
    flat = node("Reshape", "x", ints(6, 4), is_result=False)
    node("Gather", flat, constant([[0, -1], [-6, 2]], "i8"))
    node("MatMul", "x", weight(4))
    node("MatMul", node("Reshape", "x", ints(-1), is_result=False), weight(24, 3))
    node("Gemm", flat, weight(5, 4), weight(5), transB=1)
    node("Gemm", flat, weight(4, 5), weight(5), alpha=0.5, beta=2.0)
    node("Gemm", flat, weight(4, 5), weight(1, 1), alpha=0.5)
    node("Gemm", node("Transpose", flat, perm=[1, 0], is_result=False), weight(4, 5), weight(6, 5),
         transA=1)
    node("Einsum", "x", weight(4, 2, 3), equation="bsd, dhk -> bhsk")
    image = node("Reshape", "x", ints(1, 1, 4, 6), is_result=False)
    node("Conv", image, weight(3, 1, 2, 3), weight(3), strides=[2, 3])
    for kind in ("Sum", "Mean", "Max", "Min", "SumSquare", "Prod", "L1", "L2", "LogSumExp"):
        old = opset < 18 and kind != "Sum"
        axes = {"axes": [1]} if old else {}
        node(f"Reduce{kind}", "x", *([] if old else [ints(1)]), **axes)
        node(f"Reduce{kind}", "x", keepdims=0)
        if not old:
            node(f"Reduce{kind}", "x", noop_with_empty_axes=1)
    node("Softmax", "x", axis=1)
    size = node("Shape", "x", is_result=False)
    node("Reshape", "x", node("Concat", ints(1), node("Gather", size, ints(0), is_result=False),
                              ints(-1), axis=0, is_result=False))
    add_decomposed(opset, node, weight, ints, constant, positive)
    if opset >= 15:
        node("CastLike", "n", "x")
    if opset >= 17:
        node("LayerNormalization", "x", weight(4), weight(4), epsilon=1e-3)
        node("LayerNormalization", "x", weight(4))
        node("LayerNormalization", "x", weight(1), weight(1, 4))
    if opset >= 20:
        node("Gelu", "x")
        node("Gelu", "x", approximate="tanh")
    if opset >= 23:
        node("RMSNormalization", "x", weight(4), epsilon=1e-3)
        node("RMSNormalization", "x", weight(1))
        wide = node("Reshape", "x", ints(1, 3, 8), is_result=False)
        cos, sin = (constant(f(numpy.arange(3)[:, None] * [1.0, 0.1])) for f in (numpy.cos,
                                                                              numpy.sin))
        node("RotaryEmbedding", wide, cos, sin, ints(*range(3)), num_heads=2)
        positions = constant([[0, 1, 2]], "i8")
        nodes[-1].input[3] = positions
        node("RotaryEmbedding", wide, cos, sin, positions, num_heads=2, interleaved=1)
        small = constant(math.cos(1) * numpy.ones((3, 1))), constant(math.sin(1) * numpy.ones(
            (3, 1)))
        node("RotaryEmbedding", wide, *small, positions, num_heads=2, rotary_embedding_dim=2)
        node("Attention", wide, wide, wide, q_num_heads=4, kv_num_heads=4)
        node("Attention", wide, wide, wide, q_num_heads=2, kv_num_heads=2, is_causal=1, scale=0.3)
        band = constant(numpy.tri(3, k=1)[None, None], "bool")
        node("Attention", wide, wide, wide, band, q_num_heads=4, kv_num_heads=4)
        # A query that sees no key, with a constant mask and with one that is not constant.
        hidden = constant([[1, 1, 1], [0, 0, 0], [0, 1, 0]], "bool")
        node("Attention", wide, wide, wide, hidden, q_num_heads=4, kv_num_heads=4)
        unknown = node("Slice", is_nan, ints(0, 0, 0), ints(1, 3, 3), is_result=False)
        either_way = node("Or", unknown, hidden, is_result=False)
        node("Attention", wide, wide, wide, either_way, q_num_heads=4, kv_num_heads=4)
        # The same by minus infinity; causal as well; a mask with fewer keys.
        lowest, zero = constant(-math.inf), constant(0.0)
        for shown in (hidden, either_way):
            added = node("Where", shown, zero, lowest, is_result=False)
            node("Attention", wide, wide, wide, added, q_num_heads=4, kv_num_heads=4)
            for mask in (shown, added):
                node("Attention", wide, wide, wide, mask, q_num_heads=4, kv_num_heads=4,
                     is_causal=1)
                few = node("Slice", mask, ints(0), ints(2), ints(-1), is_result=False)
                node("Attention", wide, wide, wide, few, q_num_heads=4, kv_num_heads=4)
        past = node("Reshape", "x", ints(1, 4, 3, 2), is_result=False)
        for mask in ("", band, either_way):
            node("Attention", wide, wide, wide, mask, past, past, outputs=3, q_num_heads=4,
                 kv_num_heads=4, is_causal=1, softcap=0.5)
        node("Attention", wide, wide, wide, q_num_heads=4, kv_num_heads=4, softcap=0.5)
        narrow = node("Slice", wide, ints(0), ints(4), ints(2), is_result=False)
        node("Attention", wide, narrow, narrow, q_num_heads=4, kv_num_heads=2)
        node("Attention", wide, narrow, narrow, band, q_num_heads=4, kv_num_heads=2)
    scores = node("Reshape", "x", ints(2, 4, 3), is_result=False)
    labels = node("Reshape", node("Slice", "n", ints(0), ints(1), ints(2), is_result=False),
                  ints(2, 3), is_result=False)
    node("SoftmaxCrossEntropyLoss", scores, labels, reduction="none")
    save(path, opset, nodes, weights, results, {"x": (TensorProto.FLOAT, (2, 3, 4)),
                                                "n": (TensorProto.INT64, (2, 3, 4))})


def add_decomposed(opset, node, weight, ints, constant, positive):
    """Ops that become several, in the forms of the opset that the tests of onnx do not have."""
    old = opset < 18
    node("ReduceLogSum", positive, *([] if old else [ints(-1)]), **({"axes": [-1]} if old else {}))
    node("ScatterND", "x", constant([[1], [0]], "i8"), weight(2, 3, 4))
    node("ScatterElements", "n", constant([[[2, 0]]], "i8"), constant([[[7, 8]]], "i8"), axis=1)
    # At indices of the inputs and at constants; equal ones add up.
    index = node("Mod", "n", constant(3, "i8"), is_result=False)
    if not old:
        node("ScatterElements", "x", index, weight(2, 3, 4), axis=1, reduction="add")
        node("ScatterElements", "x", constant([[[2], [-1], [2]]], "i8"), weight(1, 3, 1), axis=2,
             reduction="add")
        node("ScatterND", "n", constant([[1], [0], [1]], "i8"),
             constant(numpy.arange(36).reshape(3, 3, 4), "i8"), reduction="add")
    start = node("Slice", index, ints(0, 0, 0), ints(1, 1, 1), is_result=False)
    pair = node("Concat", start, node("Neg", start, is_result=False), axis=2, is_result=False)
    node("ScatterND", "x", node("Mod", pair, constant(2, "i8"), is_result=False), weight(1, 1, 4))
    node("ScatterElements", "x", node("Sub", start, constant(3, "i8"), is_result=False),
         weight(1, 1, 1), axis=1)
    node("Compress", "x", constant([0, 1, 1], "bool"), axis=1)
    node("Acosh", node("Add", positive, constant(1), is_result=False))
    for op in ("Elu", "Celu", "Selu", "LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Softplus",
               "Softsign", "Sign", "Tan", "Sinh", "Cosh", "Atan", "IsInf", "Hardmax"):
        node(op, "x")
    node("PRelu", "x", weight(3, 1))
    scores = node("Reshape", "x", ints(2, 4, 3), is_result=False)
    node("InstanceNormalization", scores, weight(4), weight(4), epsilon=1e-3)
    statistics = node("Abs", node("Slice", "x", ints(0, 0, 0), ints(1, 1, 3), is_result=False),
                      is_result=False)
    spread = node("Squeeze", statistics, ints(0, 1), is_result=False)
    node("BatchNormalization", "x", weight(3), weight(3), weight(3), spread)
    for reverse in (0, 1):
        for exclusive in (0, 1):
            for tensor in ("x", "n"):
                node("CumSum", tensor, constant(1, "i8"), reverse=reverse, exclusive=exclusive)
    node("Mod", "x", weight(4), fmod=1)
    for divisor in (2, -3):
        node("Mod", node("Neg", "n", is_result=False), ints(divisor))
    node("Slice", "x", ints(-1, 9), ints(-9, 0), ints(1, 2), ints(-1, -2))
    equal = node("Equal", "n", ints(1), is_result=False)
    node("Slice", equal, ints(2), ints(-9), ints(1), ints(-2))
    node("Gather", "x", ints(2, -3), axis=1)
    node("Gather", "n", ints(3, 0, 0, 1), axis=2)
    node("Pad", "x", ints(0, 1, 0, 0, 2, 0), mode="reflect")
    node("Pad", "x", ints(0, 1, 0, 0, 2, 3), mode="edge")
    node("OneHot", "n", constant(3, "i8"), node("Squeeze", node("Slice", "x", ints(0, 0, 0), ints(
        1, 1, 2), is_result=False), ints(0, 1), is_result=False), axis=1)
    node("TopK", "x", ints(2), outputs=2, axis=1)
    node("ArgMax", "x", axis=2, keepdims=0)
    node("Einsum", "x", weight(4, 5), "x", equation="...ab,bc,...db")
    node("Einsum", scores, equation="B...c->...B")
    rows = node("Reshape", "x", ints(6, 4), is_result=False)
    node("Einsum", rows, rows, equation="i...,j...->ij")
    if opset >= 14:
        node("Trilu", "x", ints(1))
        node("Trilu", "n", ints(-1), upper=0)
        node("HardSwish", "x")
    if opset >= 18:
        node("Mish", "x")
        node("BitwiseXor", "n", ints(5))
    if opset >= 17:
        node("LayerNormalization", "x", weight(3, 4), weight(4), outputs=3, axis=1, epsilon=1e-3)
    # A factor of each group, or from opset 21 of each channel.
    if opset >= 18:
        count = 4 if opset >= 21 else 2
        node("GroupNormalization", scores, weight(count), weight(count), num_groups=2)
    labels = node("Reshape", node("Slice", "n", ints(0), ints(1), ints(2), is_result=False),
                  ints(2, 3), is_result=False)
    for kind in ("none", "sum", "mean"):
        node("NegativeLogLikelihoodLoss", scores, labels, weight(4), reduction=kind, ignore_index=9)
    node("SoftmaxCrossEntropyLoss", scores, labels, weight(4), outputs=2)


def save(path, opset, nodes, weights, results, inputs, functions=()):
    values = [helper.make_tensor_value_info(name, *kind) for name, kind in inputs.items()]
    outputs = [helper.make_empty_tensor_value_info(name) for name in results]
    graph = helper.make_graph(nodes, "graph", values, outputs, weights)
    domains = [("", opset), ("com.microsoft", 1), ("local", 1)]
    onnx.save(helper.make_model(graph, functions=functions, opset_imports=[
        helper.make_opsetid(*domain) for domain in domains]), path)


def make_refused(name, path):
    """A file that cannot be imported."""
    node = {"random": helper.make_node("RandomNormalLike", ["x"], ["y"], name="noise"),
            "places": helper.make_node("NonZero", ["x"], ["y"], name="places"),
            "domain": helper.make_node("FusedMatMul", ["x", "x"], ["y"], domain="com.microsoft"),
            "dropout": helper.make_node("Dropout", ["x", "ratio", "yes"], ["y"]),
            "norm": helper.make_node("LayerNormalization", ["x", "many"], ["y"]),
            "quantized": helper.make_node("DequantizeLinear", ["q", "scale"], ["y"]),
            "indices": helper.make_node("Gather", ["x", "order"], ["y"], axis=1),
            "labels": helper.make_node("SoftmaxCrossEntropyLoss", ["x", "ids"], ["y"]),
            "rows": helper.make_node("Gather", ["x", "order"], ["y"]),
            "split": helper.make_node("Split", ["x"], list("yzuvw"), axis=0, num_outputs=5),
            "einsum": helper.make_node("Einsum", ["x", "x"], ["y"], equation="ab,bc->ac"),
            "mask": helper.make_node("Attention", ["x3", "x3", "x3", "many"], ["y"],
                                     q_num_heads=1, kv_num_heads=1),
            "precision": helper.make_node("Attention", ["x3", "x3", "x3"], ["y"], q_num_heads=1,
                                          kv_num_heads=1, softmax_precision=TensorProto.FLOAT16),
            "misfit": helper.make_node("Add", ["x", "order"], ["y"]),
            "elements": helper.make_node("Reshape", ["x", "order"], ["y"]),
            }.get(name, helper.make_node("Tanh", ["x"], ["y"]))
    weights = [onnx.numpy_helper.from_array(array, key) for key, array in
               {"k": numpy.array([1]), "ratio": numpy.float32(0.5), "yes": numpy.array(True),
                "order": numpy.array([{"rows": 3, "indices": 4}.get(name, 2), 0, 1]),
                "many": numpy.zeros((3, 4), "f4"), "ids": numpy.array([0, 3, 4])}.items()]
    if name == "loop":
        inner = helper.make_graph(
            [helper.make_node("Identity", ["go"], ["still"]),
             helper.make_node("Tanh", ["state"], ["next"])], "body",
            [helper.make_tensor_value_info(item, kind, shape) for item, kind, shape in
             (("i", TensorProto.INT64, ()), ("go", TensorProto.BOOL, ()),
              ("state", TensorProto.FLOAT, (3, 4)))],
            [helper.make_tensor_value_info("still", TensorProto.BOOL, ()),
             helper.make_tensor_value_info("next", TensorProto.FLOAT, (3, 4))])
        node = helper.make_node("Loop", ["k", "yes", "x"], ["y"], name="loop", body=inner)
    nodes = [node]
    if name == "drawn":
        nodes = [helper.make_node("Cast", ["k"], ["one"], to=TensorProto.FLOAT),
                 helper.make_node("Dropout", ["one", "ratio", "yes"], ["z"], name="drawn"),
                 helper.make_node("Mul", ["x", "z"], ["y"])]
    if name == "weight":
        # A matmul with a quantized weight; uint8, which no other initializer may be.
        weights.append(onnx.numpy_helper.from_array(numpy.ones((4, 4), "u1"), "w"))
        nodes = [helper.make_node("DequantizeLinear", ["w", "ratio"], ["f"], name="dequantize"),
                 helper.make_node("MatMul", ["x", "f"], ["y"])]
    kind = TensorProto.UINT8 if name == "unsigned" else TensorProto.FLOAT
    inputs = {"x": (kind, ("batch", 4) if name == "dynamic" else (3, 4))}
    if name == "quantized":
        inputs |= {"q": (TensorProto.INT8, (3, 4)), "scale": (TensorProto.FLOAT, ())}
    if name in ("mask", "precision"):
        inputs["x3"] = (kind, (1, 3, 4))
    opset = {"old": 12, "new": 24, "mask": 23, "precision": 23}.get(name, 18)
    save(path, opset, nodes, weights, ["y"], inputs)


def make_function(path):
    """A local function, and a weight in a node Constant."""
    twice = helper.make_function("local", "Twice", ["a"], ["b"],
                                 [helper.make_node("Add", ["a", "a"], ["b"])],
                                 [helper.make_opsetid("", 18)])
    table = onnx.numpy_helper.from_array(numpy.eye(4, 5, dtype="f4") + 0.5)
    nodes = [helper.make_node("Constant", [], ["w"], value=table),
             helper.make_node("Twice", ["x"], ["xx"], domain="local"),
             helper.make_node("MatMul", ["xx", "w"], ["y"])]
    save(path, 18, nodes, [], ["y"], {"x": (TensorProto.FLOAT, (3, 4))}, [twice])


def make_parameters(path):
    """Trained and constant initializers: a table that is used twice, the second time transposed by
    the exporter; a weight times a number; matrices that select; a block of zeros; a table that is
    multiplied; and a number and a vector with metadata of torch's exporter."""
    random = numpy.random.default_rng(0)
    table = random.standard_normal((8, 4)).astype("f4")
    arrays = {"table_t": table.T.copy(), "table": table,
              "w": random.standard_normal((4, 4)).astype("f4"), "half": numpy.float32(0.5),
              "half_turn": numpy.array([[0, 0, 1, 0], [0, 0, 0, 1], [-1, 0, 0, 0], [0, -1, 0, 0]],
                                       "f4"),
              "start": numpy.zeros((2, 1, 4), "f4"), "begin": numpy.array([0]),
              "end": numpy.array([3]), "dim": numpy.array([1]),
              "gate": random.standard_normal((3, 4)).astype("f4"),
              "slopes": random.standard_normal(8).astype("f4"),
              "temperature": numpy.float32(2)}
    nodes = [helper.make_node(op, inputs, outputs, **attributes) for op, inputs, outputs, attributes
             in (("Gather", ["table", "ids"], ["x"], {}), ("Mul", ["w", "half"], ["half_w"], {}),
                 ("MatMul", ["x", "half_w"], ["h"], {}), ("MatMul", ["h", "half_turn"], ["r"], {}),
                 ("Concat", ["start", "r"], ["c"], {"axis": 1}),
                 ("Slice", ["c", "begin", "end", "dim"], ["d"], {}),
                 ("Mul", ["d", "gate"], ["g"], {}), ("MatMul", ["g", "table_t"], ["l"], {}),
                 ("Add", ["l", "slopes"], ["s"], {}), ("Mul", ["s", "temperature"], ["y"], {}))]
    kinds = {"temperature": "PARAMETER", "slopes": "BUFFER"}
    save(path, 18, nodes, [onnx.numpy_helper.from_array(array, name)
                           for name, array in arrays.items()], ["y"],
         {"ids": (TensorProto.INT64, (2, 3))})
    model = onnx.load(path)
    for name, kind in kinds.items():
        value = helper.make_tensor_value_info(name, TensorProto.FLOAT, arrays[name].shape)
        entry = value.metadata_props.add()
        entry.key, entry.value = "pkg.torch.export.graph_signature.InputSpec.kind", kind
        model.graph.value_info.append(value)
    onnx.save(model, path)


REFUSED = ("random", "places", "domain", "loop", "dropout", "drawn", "norm", "quantized", "weight",
           "labels", "indices", "rows", "split", "einsum", "mask", "precision", "misfit",
           "elements", "dynamic", "unsigned", "old", "new", "bytes", "fault", "broken", "missing")


def raise_fault(*_):
    raise KeyError("a fault\nof a reader")


def import_refused(folder):
    """Prints the line for each file; exit status 1 if one is imported."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "python"))
    from tessera import __main__ as command
    imported, read = 0, command.read
    sys.stderr = sys.stdout
    for name in REFUSED:
        path = f"{folder}/{name}.onnx"
        if name == "broken":
            pathlib.Path(path).write_text("broken")
        elif name != "missing":
            make_refused(name, path)
        if name == "bytes":
            data = pathlib.Path(path).read_bytes()
            pathlib.Path(path).write_bytes(data.replace(b"Tanh", b"Tan\xcb"))
        command.read = raise_fault if name == "fault" else read
        sys.argv = ["tessera", "import", path, "-o", f"{folder}/{name}.mlir"]
        imported += command.main() == 0 or pathlib.Path(f"{folder}/{name}.mlir").exists()
    return 1 if imported else 0


def main(name, opset, path):
    if name == "ops":
        make_ops(opset, path)
    elif name == "function":
        make_function(path)
    elif name == "parameters":
        make_parameters(path)
    elif name == "patterns":
        module, *arguments = make_patterns()
        export(module, arguments, opset, path)
    else:
        import torch_models
        module, *arguments = getattr(torch_models, f"make_{name}")()
        export(module, arguments, opset, path)


if __name__ == "__main__":
    if sys.argv[1] == "refused":
        sys.exit(import_refused(sys.argv[2]))
    for model in sys.argv[2:]:
        name, _, opset = model.partition(":")
        main(name, int(opset), f"{sys.argv[1]}/{name}{opset}.onnx")
