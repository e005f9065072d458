"""The walk over the graph of an ONNX file: arguments, nodes, results, and the choice of
initializers that are parameters. Nodes that depend on no parameter and no input run in onnx's
reference. The ops are in onnx_ops.py."""

from __future__ import annotations

import math
from typing import Any, Sequence

import numpy
import onnx

from . import onnx_reference
from .errors import ImportFailure, first_line
from .graph_text import Graph, Value, quote, tensor_type
from .groups import HIDDEN
from .walk import Walk, registry

ELEMENTS = {"float64": "f64", "float32": "f32", "bfloat16": "bf16", "float16": "f16",
            "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "bool": "i1",
            "uint64": "ui64", "uint32": "ui32", "uint16": "ui16", "uint8": "ui8"}
# Ops whose handlers read unsigned integers as such, or only move their bits.
UNSIGNED = {"Add", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Cast", "CastLike",
            "Concat", "Equal", "Expand", "Flatten", "Greater", "GreaterOrEqual", "Identity",
            "Less", "LessOrEqual", "Mul", "Reshape", "Shape", "Size", "Slice", "Split", "Squeeze",
            "Sub", "Sum", "Transpose", "Unsqueeze", "Where"}
RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
          "RandomUniformLike"}
# Ops on quantized numbers, of any domain.
QUANTIZED = {"DequantizeLinear", "QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv",
             "QLinearMatMul", "MatMulInteger", "ConvInteger", "MatMulNBits"}
# Ops that may be random: their handlers check it.
SOMETIMES_RANDOM = {"Dropout"}
# Ops whose float operands are weights, whatever their shape.
WEIGHTED = {"Gemm", "Conv", "ConvTranspose", "LayerNormalization", "RMSNormalization",
            "InstanceNormalization", "GroupNormalization", "PRelu"}
MATMULS = {"MatMul", "Gemm", "Einsum"}
TORCH_KIND = "pkg.torch.export.graph_signature.InputSpec.kind"

HANDLERS, handles = registry()


def element_of(dtype: Any) -> str:
    name = numpy.dtype(dtype).name
    if name not in ELEMENTS:
        raise ImportFailure(f"expects tensors of floats or integers but got {name}")
    return ELEMENTS[name]


def element_of_type(kind: int) -> str:
    """The element type for a number of TensorProto.DataType."""
    if kind not in onnx.TensorProto.DataType.values() or kind == onnx.TensorProto.STRING:
        raise ImportFailure(f"expects tensors of numbers but got the type {kind}")
    return element_of(onnx.helper.tensor_dtype_to_np_dtype(kind))


class Scratch(Graph):
    """A temporary graph that omits the elements of constants."""

    def dense(self, data: bytes, shape: Sequence[int], element: str) -> Value:
        return Value("%dense", tuple(shape), element)


class Importer(Walk):
    """The walk over a graph. An initializer of floats is a parameter if it, or a constant computed
    from it, is combined with values that depend on inputs as a weight is: in a matmul or a norm, as
    an embedding table, or as a vector or table that is added. Constants are: an additive mask (0,
    or at most -1e4), tables that are multiplied, as in rotary embeddings, matrices that select or
    sum, and concatenated blocks of one number. Metadata of torch's exporter overrides this rule,
    and the caller overrides both. A first walk, in which all initializers are constants, finds the
    parameters."""

    def __init__(self, model: Any, folder: str, parameters: set[str]) -> None:
        super().__init__()
        self.model, self.folder, self.parameters = model, folder, parameters
        self.opset = next(item.version for item in model.opset_import
                          if item.domain in ("", "ai.onnx"))
        # The initializers that a constant depends on, and the initializers that are weights.
        self.origins: dict[str, set[str]] = {}
        self.weights: set[str] = set()
        # Parameters that are the transpose of another parameter.
        self.tied: dict[str, str] = {}
        # The parameters by name.
        self.arrays: dict[str, Any] = {}

    # The walk.

    def run(self, name: str) -> str:
        graph = self.model.graph
        # The kinds that torch's exporter gives its initializers.
        kinds = {item.name: entry.value for item in graph.value_info
                 for entry in item.metadata_props if entry.key == TORCH_KIND}
        self.buffers = {name for name, kind in kinds.items() if kind != "PARAMETER"}
        self.trained = set(kinds) - self.buffers
        self.uses = {item for node in graph.node for item in node.input} | \
            {result.name for result in graph.output}
        for node in graph.node:
            if node.op_type in QUANTIZED:
                raise ImportFailure(f"{place(node)}: expects numbers that are not quantized but "
                                    f"got {list(node.input)[:2]}; import the model as it was "
                                    "before its quantization")
        self.read_initializers()
        for item in graph.input:
            if item.name not in self.constants and item.name not in self.values:
                self.read_input(item)
        for node in graph.node:
            self.graph.set_location(place(node))
            try:
                self.visit(node)
            except ImportFailure as error:
                raise ImportFailure(f"{place(node)}: {error}") from None
        self.graph.location = ""
        return self.graph.finish(name, self.name_results())

    def read_initializers(self) -> None:
        if self.model.graph.sparse_initializer:
            raise ImportFailure(f"{self.model.graph.sparse_initializer[0].values.name}: expects "
                                "an initializer that is not sparse")
        parameters = {}
        for tensor in self.model.graph.initializer:
            array = read_tensor(tensor, self.folder)
            if tensor.name in self.parameters:
                if tensor.name in self.uses:
                    parameters[tensor.name] = array
                continue
            self.constants[tensor.name] = array
            self.origins[tensor.name] = {tensor.name}
            if tensor.name in self.trained and tensor.name in self.uses and is_float(array):
                self.weights.add(tensor.name)
        self.tied = find_transposes(parameters, {node.input[0] for node in self.model.graph.node
                                                 if node.op_type == "Gather"})
        for name, array in parameters.items():
            if name not in self.tied:
                self.values[name] = self.read_parameter(name, array)
        for name, other in self.tied.items():
            self.values[name] = self.graph.transpose(self.values[other], [1, 0])

    def describe_constants(self) -> list[str]:
        """The initializers with several floats that are constants by the rule alone."""
        return [f"{tensor.name} ({' x '.join(map(str, tensor.dims))})"
                for tensor in self.model.graph.initializer
                if tensor.name in self.constants and tensor.name in self.uses and
                tensor.name not in self.buffers and math.prod(tensor.dims) > 1 and
                is_float(self.constants[tensor.name])]

    def read_parameter(self, name: str, array: Any) -> Value:
        self.arrays[name] = array
        return self.graph.argument(array.shape, element_of(array.dtype),
                                   parameter_attributes(name, array.shape))

    def read_input(self, item: Any) -> None:
        if not item.type.HasField("tensor_type"):
            raise ImportFailure(f"{item.name}: expects a tensor but got another input")
        shape = []
        kind = item.type.tensor_type
        if not kind.HasField("shape"):
            raise ImportFailure(f"{item.name}: expects a static shape")
        for dim, size in enumerate(kind.shape.dim):
            if not size.HasField("dim_value"):
                raise ImportFailure(f"{item.name}: expects a static size of dimension {dim} but "
                                    f"got {size.dim_param or 'none'}")
            shape.append(size.dim_value)
        try:
            element = element_of_type(kind.elem_type)
        except ImportFailure as error:
            raise ImportFailure(f"{item.name}: {error}") from None
        self.values[item.name] = self.graph.argument(shape, element,
                                                     {"nn.input": quote(item.name)})

    def visit(self, node: Any) -> None:
        name = node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"
        if name in RANDOM:
            raise ImportFailure(f"expects no random numbers but got {name}")
        if not any(output in self.uses for output in node.output):
            return
        given = [item for item in node.input if item]
        if node.op_type == "Constant" and node.output[0] in self.parameters:
            self.set_results(node, [self.read_parameter(node.output[0], self.evaluate(node)[0])])
            return
        if all(item in self.constants for item in given) and not has_graphs(node):
            if name in SOMETIMES_RANDOM:
                HANDLERS[name](self, node)
            self.set_results(node, self.evaluate(node))
            self.trace(node, given)
            return
        handler = HANDLERS.get(name)
        if handler is None:
            raise ImportFailure(f"expects an op that has a meaning in nn but got {name}")
        self.find_weights(node)
        self.check_unsigned(node)
        try:
            result = handler(self, node)
        except (ArithmeticError, AssertionError, LookupError, StopIteration, TypeError,
                ValueError):
            kinds = ", ".join(self.value(item).type if item else "none" for item in node.input)
            raise ImportFailure("expects operands and attributes that fit but got operands "
                                f"{kinds or 'none'}") from None
        self.set_results(node, result if isinstance(result, list) else [result])

    def check_unsigned(self, node: Any) -> None:
        """Fails for an op of unsigned integers whose handler would read them with a sign."""
        if node.op_type in UNSIGNED:
            return
        for item in node.input:
            if item in self.values and self.values[item].is_unsigned:
                raise ImportFailure(f"expects floats or signed integers for {node.op_type} but got "
                                    f"{item} of {self.values[item].element}; cast it before")

    def set_results(self, node: Any, results: Sequence[Any]) -> None:
        for i, name in enumerate(node.output):
            if i < len(results):
                found = self.values if isinstance(results[i], Value) else self.constants
                found[name] = results[i]
            elif name in self.uses:
                raise ImportFailure(f"expects no use of result {i}")

    def evaluate(self, node: Any) -> list[Any]:
        given = list(dict.fromkeys(item for item in node.input if item))
        helper = onnx.helper
        graph = helper.make_graph(
            [node], "node", [helper.make_empty_tensor_value_info(item) for item in given],
            [helper.make_empty_tensor_value_info(item) for item in node.output if item])
        model = helper.make_model(graph, opset_imports=self.model.opset_import)
        try:
            return onnx_reference.evaluate(model, {item: self.constants[item] for item in given})
        except Exception as error:
            raise ImportFailure(f"expects what onnx can evaluate: {first_line(error)}") from None

    def evaluate_with(self, node: Any, arrays: dict[str, Any]) -> Any:
        """The first result of a node for other operands than its own."""
        own = self.constants
        self.constants = {**own, **arrays}
        try:
            return self.evaluate(node)[0]
        finally:
            self.constants = own

    # Which initializers are parameters.

    def trace(self, node: Any, given: Sequence[str]) -> None:
        found: set[str] = set().union(*(self.origins.get(item, set()) for item in given))
        for output in node.output:
            self.origins[output] = {output} if node.op_type == "Constant" else found

    def find_weights(self, node: Any) -> None:
        for i, item in enumerate(node.input):
            array = self.constants.get(item)
            if array is not None and item in self.origins and is_weight(node.op_type, i, array):
                # A scalar that multiplies a weight is not a weight.
                self.weights |= {name for name in self.origins[item] - self.buffers
                                 if is_float(self.constants[name]) and
                                 (name == item or self.constants[name].size > 1)}

    # Operands.

    def write(self, constant: Any) -> Value:
        array = numpy.asarray(constant)
        element, shape = element_of(array.dtype), array.shape
        if array.size == 0:
            return self.graph.empty(shape, element)
        for dim, size in enumerate(shape):
            first = array.take([0], dim)
            if size > 1 and bool((array == first).all()):
                array = first
        if array.size == 1:
            return self.graph.constant(array.reshape(()).item(), shape, element)
        kept = [i for i, size in enumerate(array.shape) if size != 1]
        value = self.graph.dense(numpy.ascontiguousarray(array).tobytes(),
                                 [array.shape[i] for i in kept], element)
        return self.graph.broadcast(value, shape, kept)

    def operand(self, node: Any, index: int) -> Value | None:
        """The operand; None if it is omitted."""
        return self.value(node.input[index]) if self.has(node, index) else None

    def has(self, node: Any, index: int) -> bool:
        return len(node.input) > index and node.input[index] != ""

    def operands(self, node: Any) -> list[Value]:
        """All operands, broadcast to one shape."""
        values = [self.value(item) for item in node.input]
        shape = numpy.broadcast_shapes(*(value.shape for value in values))
        return [self.graph.expand(value, shape) for value in values]

    def constant(self, node: Any, index: int, name: str) -> Any:
        """The elements of an operand, which must depend on no input; None if it is omitted."""
        if not self.has(node, index):
            return None
        if node.input[index] not in self.constants:
            raise ImportFailure(f"expects {name} that follow from no input")
        return self.constants[node.input[index]]

    def check_ids(self, item: str, count: int, ignored: int | None = None) -> None:
        """Fails if a constant has an id that is not below `count` and not the ignored one."""
        ids = self.constants.get(item)
        if ids is None:
            return
        wrong = ids[(ids < 0) | (ids >= count)]
        wrong = wrong if ignored is None else wrong[wrong != ignored]
        if wrong.size:
            raise ImportFailure(f"{item}: expects ids below {count} but got {wrong.flat[0]}")

    def numbers(self, node: Any, index: int, name: str) -> list[int] | None:
        """Integers from an operand or, in older files, an attribute."""
        found = self.constant(node, index, name)
        if found is not None:
            return [int(number) for number in numpy.asarray(found).reshape(-1)]
        given = attribute(node, name)
        return None if given is None else list(given)

    def stash_type(self, node: Any) -> str:
        """The element type of a norm's statistics."""
        return element_of_type(attribute(node, "stash_type", onnx.TensorProto.FLOAT))

    def take(self, x: Value, index: Value) -> Value:
        """Picks elements of each row of the last dimension: one, or as many as the index has."""
        kind = tensor_type(index.shape, x.element)
        return self.graph.op(f"nn.take_along_axis {x.name}, {index.name} : {x.type}, "
                             f"{index.type} -> {kind}", index.shape, x.element)

    def name_results(self) -> list[tuple[str, Value]]:
        named: list[tuple[str, Value]] = []
        outputs = self.model.graph.output
        for output in outputs:
            value = self.value(output.name)
            if value in self.losses:
                named += self.losses[value]
            else:
                is_loss = value.is_float and not value.shape and len(outputs) == 1
                named.append(("loss" if is_loss else output.name, value))
        return named


def parameter_attributes(name: str, shape: Sequence[int]) -> dict[str, str]:
    strides = [math.prod(shape[i + 1:]) for i in range(len(shape))]
    source = f"#nn.source<{quote(name)}, {list(shape)}, offset 0, strides {strides}>"
    return {"nn.param": quote(name), "nn.source": source}


def is_float(array: Any) -> bool:
    return not ELEMENTS.get(numpy.dtype(array.dtype).name, "i").startswith(("i", "u"))


def is_transpose(array: Any, other: Any) -> bool:
    """True if a matrix is the transpose of another one and differs from it."""
    if array.ndim != 2 or array.shape != other.shape[::-1] or array.dtype != other.dtype or \
            min(array.shape) < 2 or not numpy.array_equal(array[0], other[:, 0]):
        return False
    return numpy.array_equal(array, other.T) and not numpy.array_equal(array, other)


def find_transposes(arrays: dict[str, Any], tables: set[str]) -> dict[str, str]:
    """Maps each matrix that is the transpose of another one to that one: an exporter has folded a
    transpose of a weight with two uses. An embedding table is kept."""
    kept: dict[str, Any] = {}
    found = {}
    for name in sorted(arrays, key=lambda name: name not in tables):
        other = next((other for other, held in kept.items() if is_transpose(arrays[name], held)),
                     None)
        if other is None:
            kept[name] = arrays[name]
        else:
            found[name] = other
    return found


def is_selection(array: Any) -> bool:
    """True for a matrix that selects, sums or changes signs: all elements are 0, 1 or -1, not all
    0."""
    sizes = numpy.abs(array)
    return array.ndim >= 2 and bool(((sizes == 0) | (sizes == 1)).all() and sizes.any())


def is_weight(op: str, index: int, array: Any) -> bool:
    """True if a constant operand of an op, next to operands that depend on inputs, is trained."""
    if not is_float(array) or array.ndim == 0:
        return False
    if op == "Concat":
        return bool((array != array.flat[0]).any()) if array.size else False
    if op in MATMULS and (index < 2 or op == "Einsum"):
        return not is_selection(array)
    if op in WEIGHTED or (op == "Gather" and index == 0):
        return True
    if op == "BatchNormalization":
        return index in (1, 2)
    if op not in ("Add", "Sub", "Mul", "Div") or not bool(numpy.isfinite(array).all()):
        return False
    is_mask = bool(((array == 0) | (array <= HIDDEN)).all()) and bool((array != 0).any())
    is_vector = sum(size != 1 for size in array.shape) == 1
    if is_vector or op in ("Mul", "Div"):
        return is_vector and not is_mask
    return not is_mask and bool((array != 0).any())


def has_graphs(node: Any) -> bool:
    return any(item.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)
               for item in node.attribute)


def attribute(node: Any, name: str, default: Any = None) -> Any:
    """The value of an attribute; an f32 is the shortest decimal that rounds to it."""
    for item in node.attribute:
        if item.name == name:
            value = onnx.helper.get_attribute_value(item)
            if item.type == onnx.AttributeProto.FLOAT:
                return float(str(numpy.float32(value)))
            return value.decode() if isinstance(value, bytes) else value
    return default


def positive(dim: int, rank: int) -> int:
    return dim + rank if dim < 0 else dim


def place(node: Any) -> str:
    return f"node {node.name or node.output[0]} ({node.op_type})"


def read_tensor(tensor: Any, folder: str) -> Any:
    try:
        array = onnx.numpy_helper.to_array(tensor, folder)
        element_of(array.dtype)
        return array
    except ImportFailure as error:
        raise ImportFailure(f"{tensor.name}: {error}") from None
    except Exception as error:
        raise ImportFailure(f"{tensor.name}: expects the tensor's elements: "
                            f"{str(error).splitlines()[0]}") from None
