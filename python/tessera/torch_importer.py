"""The walk over the graph that torch.export makes: arguments, nodes, results, and the points where
gradients stop. Nodes that depend on no parameter and no input run in torch. The ops are in
torch_ops_*.py."""

from __future__ import annotations

import functools
import math
import operator
import os
import pathlib
from typing import Any, Iterable, Sequence

import torch

from . import torch_complex, torch_control, torch_experts
from .errors import ImportFailure, first_line
from .graph_text import Value, quote
from .torch_complex import Complex
from .walk import Handler, Walk, registry

ELEMENTS = {torch.float64: "f64", torch.float32: "f32", torch.bfloat16: "bf16",
            torch.float16: "f16", torch.int64: "i64", torch.int32: "i32", torch.int16: "i16",
            torch.int8: "i8", torch.bool: "i1", torch.uint8: "ui8", torch.uint16: "ui16",
            torch.uint32: "ui32", torch.uint64: "ui64"}
# Ops whose handlers read unsigned integers as such, or only move their bits; without overloads.
UNSIGNED = {"_to_copy", "_unsafe_view", "add", "bitwise_and", "bitwise_or", "bitwise_xor", "cat",
            "chunk", "eq", "expand", "expand_as", "flatten", "float", "ge", "gt", "le", "lt",
            "mul", "narrow", "ne", "permute", "repeat", "reshape", "rsub", "select", "slice",
            "split", "split_with_sizes", "squeeze", "stack", "sub", "t", "to", "transpose",
            "type_as", "unbind", "unflatten", "unsqueeze", "view", "view_as", "where"}
# Ops that return a copy of their first operand, and ops that may return the operand itself.
COPIES = {"aten.clone.default", "aten.lift_fresh_copy.default"}
IDENTITIES = COPIES | {"aten.contiguous.default", "aten.alias.default", "aten.dropout.default",
                       "aten.feature_dropout.default", "aten.alpha_dropout.default",
                       "aten.feature_alpha_dropout.default"}
# Ops that use only the shape of their first operand and fill the result: with a number, or with the
# argument at that index. Uninitialized elements become 0.
FILLED = {"aten.zeros_like.default": 0, "aten.ones_like.default": 1, "aten.new_zeros.default": 0,
          "aten.new_ones.default": 1, "aten.new_empty.default": 0, "aten.empty_like.default": 0,
          "aten.empty.memory_format": 0}
FILLED_BY = {"aten.full_like.default": 1, "aten.new_full.default": 2}

# Ops that change the moments of their arguments 3 and 4 if argument 5 is true.
BATCH_NORMS = {"aten.batch_norm.default", "aten.instance_norm.default",
               "aten.native_batch_norm.default", "aten._native_batch_norm_legit.default",
               "aten.cudnn_batch_norm.default", "aten.miopen_batch_norm.default"}

HANDLERS, handles = registry()


# The folder of torch's own files.
TORCH = str(pathlib.Path(torch.__file__).parent) + os.sep
# Element types of parameters.
FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


def element_of(dtype: torch.dtype) -> str:
    if dtype not in ELEMENTS:
        raise ImportFailure(f"expects tensors of floats or integers but got {dtype}")
    return ELEMENTS[dtype]


class Importer(Walk):
    """The walk over an exported program."""

    def __init__(self, program: Any) -> None:
        super().__init__()
        self.program = program
        # Nodes that propagate gradients to parameters, and results of higher-order ops.
        self.trained: set[Any] = set()
        self.parts: dict[Any, Sequence[Any]] = {}
        # For values that were sliced and written to: the dimension, and the pieces along it.
        self.beside: dict[Value, tuple[int, list[Value]]] = {}
        # Nodes of mixtures of experts, and the choices of top_k by their ids of torch's type.
        self.routed: dict[Any, Any] = {}
        self.choices: dict[Value, torch_experts.Choice] = {}
        # Biases of scores by name, the names by the top_k that they change, and the loads that the
        # graph returns for them.
        self.biases: dict[str, torch.Tensor] = {}
        self.biased: dict[Any, str] = {}
        self.loads: list[tuple[str, Value]] = []
        # The name in the graph of each result of the program; None for one that is no tensor.
        self.result_names: list[str | None] = []
        # True if a result is one float, whose gradients are computed.
        self.is_loss = False

    # Operands.

    def value(self, item: Any) -> Value:
        """A real value of the source, or one of the graph itself."""
        found = item if isinstance(item, Value) else self.found(item)
        if isinstance(found, Complex):
            where = f"{place(item)}: " if isinstance(item, torch.fx.Node) else ""
            raise ImportFailure(f"{where}expects real numbers but got complex ones; write real and "
                                "imaginary parts as two tensors (torch.view_as_real)")
        return found

    def found(self, item: Any) -> Any:
        """A value of the source, real or complex."""
        return super().value(item)

    def write(self, tensor: torch.Tensor) -> Value:
        """A constant without the dimensions along which it does not vary."""
        tensor = tensor.detach()
        shape, small = tuple(tensor.shape), tensor
        for dim in range(tensor.dim()):
            if small.shape[dim] > 1:
                first = small.narrow(dim, 0, 1)
                small = first if torch.equal(small, first.expand_as(small)) else small
        element = element_of(tensor.dtype)
        if small.numel() == 1:
            return self.graph.constant(small.item(), shape, element)
        if small.numel() == 0:
            return self.graph.empty(shape, element)
        kept = [i for i, size in enumerate(small.shape) if size != 1]
        data = small.contiguous().cpu().view(torch.uint8).numpy().tobytes()
        value = self.graph.dense(data, [small.shape[i] for i in kept], element)
        return self.graph.broadcast(value, shape, kept)

    def operand(self, node: Any, item: Any, like: Value | None = None) -> Value:
        """An argument in the element type and shape of the node's result."""
        result = node.meta["val"]
        element = like.element if like else element_of(result.dtype)
        shape = tuple(result.shape)
        if isinstance(item, (int, float, bool)):
            return self.graph.constant(item, shape, element)
        return self.graph.expand(self.graph.cast(self.value(item), element), shape)

    # The walk.

    def run(self, name: str) -> str:
        torch_control.check_known(self.program.graph_module, place)
        check_training(self.program.graph)
        self.read_arguments()
        for node in self.program.graph.nodes:
            if node.op == "call_function":
                self.visit(node)
            elif node.op == "get_attr":
                torch_control.read_attribute(self, node)
            elif node.op == "output":
                self.graph.location = ""
                named = self.name_results(node.args[0])
                if not named:
                    raise ImportFailure(f"{name}: expects a result that is a tensor")
                return self.graph.finish(name, named)
        raise ImportFailure("expects an exported program with results")

    def read_arguments(self) -> None:
        signature = self.program.graph_signature
        if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
            written = list(signature.buffers_to_mutate.values()) or ["an input"]
            raise ImportFailure(f"{written[0]}: expects a buffer that is not written")
        first: dict[tuple[Any, ...], str] = {}
        frozen: set[str] = set()
        if self.has_loss():
            check_memory(self.program.named_parameters())
        for name, parameter in self.program.named_parameters():
            first.setdefault(view_of(parameter), name)
            if not parameter.requires_grad:
                frozen.add(name)
        shared: dict[str, Value] = {}
        # The signature rebuilds these dictionaries on each access.
        parameters, buffers = signature.inputs_to_parameters, signature.inputs_to_buffers
        constants = signature.inputs_to_lifted_tensor_constants
        for node in self.order_placeholders():
            name = parameters.get(node.name, buffers.get(node.name))
            choice = torch_experts.find_biased_choice(node) if name else None
            if choice is not None:
                self.read_bias(node, name, choice)
            elif node.name in parameters:
                if node.users:
                    name = parameters[node.name]
                    parameter = self.program.state_dict[name]
                    name = first.get(view_of(parameter), name)
                    if name not in shared:
                        marks = {"nn.frozen": "unit"} if name in frozen else {}
                        shared[name] = self.read_parameter(name, parameter, marks)
                    self.values[node] = shared[name]
                    if name not in frozen:
                        self.trained.add(node)
            elif node.name in buffers:
                if node.users:
                    self.constants[node] = self.read_buffer(buffers[node.name])
            elif node.name in constants:
                self.constants[node] = self.program.constants[constants[node.name]]
            else:
                self.read_input(node)

    def has_loss(self) -> bool:
        """True if a result of the program is one float."""
        results = next(node for node in self.program.graph.nodes if node.op == "output").args[0]
        values = [node.meta["val"] for node in results if isinstance(node, torch.fx.Node)]
        return any(isinstance(value, torch.Tensor) and not value.shape and
                   value.dtype.is_floating_point for value in values)

    def order_placeholders(self) -> list[Any]:
        """Parameters in the order of their first use, then the other arguments."""
        nodes = list(self.program.graph.nodes)
        numbers = {node: i for i, node in enumerate(nodes)}
        parameters = self.program.graph_signature.inputs_to_parameters

        def key(node: Any) -> tuple[bool, int]:
            first = min((numbers[user] for user in node.users), default=0)
            is_parameter = node.name in parameters
            return not is_parameter, first if is_parameter else numbers[node]
        return sorted((node for node in nodes if node.op == "placeholder"), key=key)

    def read_bias(self, node: Any, name: str, choice: Any) -> None:
        """Reads a bias that changes choices alone, which a training step moves by their loads."""
        self.biases[name] = self.read_buffer(name)
        self.biased[choice] = name
        self.values[node] = self.read_parameter(
            name, self.biases[name], {"nn.trained": quote("balance"), "nn.wide": "unit"})

    def read_parameter(self, name: str, parameter: torch.Tensor, marks: dict[str, str]) -> Value:
        check_parameter(name, parameter)
        shape = list(parameter.shape)
        strides = [math.prod(shape[i + 1:]) for i in range(len(shape))]
        source = f"#nn.source<{quote(name)}, {shape}, offset 0, strides {strides}>"
        return self.graph.argument(shape, element_of(parameter.dtype),
                                   {"nn.param": quote(name), "nn.source": source, **marks})

    def read_buffer(self, name: str) -> torch.Tensor:
        buffer = self.program.state_dict.get(name, self.program.constants.get(name))
        if buffer is None or buffer.is_meta:
            raise ImportFailure(f"{name}: expects a buffer with values")
        return buffer

    def read_input(self, node: Any) -> None:
        value = node.meta["val"]
        if not isinstance(value, torch.Tensor):
            self.constants[node] = value
            return
        for dim, size in enumerate(value.shape):
            if not isinstance(size, int):
                raise ImportFailure(f"{node.name}: expects a static size of dimension {dim} but "
                                    f"got {size}")
        if value.dtype not in ELEMENTS:
            raise ImportFailure(f"{node.name}: expects an input of floats or integers but got "
                                f"{str(value.dtype).removeprefix('torch.')}")
        self.values[node] = self.graph.argument(
            value.shape, element_of(value.dtype), {"nn.input": quote(node.name)})

    def visit(self, node: Any) -> None:
        self.graph.set_location(place(node), module_of(node))
        name = str(node.target)
        if name.startswith("aten._assert"):
            return
        if torch_control.visit(self, node, name, place(node)):
            return
        schema = getattr(node.target, "_schema", None)
        is_write = schema is not None and schema.is_mutable
        if not is_write and not node.users:
            return
        has_handler = (name.replace("_.", ".") if is_write else name) in HANDLERS
        if is_random(node) and not has_handler:
            raise ImportFailure(f"{place(node)}: expects no random numbers but got {name}; pass "
                                "them as an input")
        if self.visit_routed(node, name):
            return
        if is_write:
            if is_random(node) or self.depends(node) or root_of(node.args[0]).op != "call_function":
                self.visit_write(node, name)
            else:
                self.constants[node] = self.evaluate(node)
                self.forget(self.constants[node])
            return
        if node.target is operator.getitem and node.args[0] in self.parts:
            self.alias(node, self.parts[node.args[0]][node.args[1]])
            return
        if name in FILLED or name in FILLED_BY:
            number = FILLED[name] if name in FILLED else node.args[FILLED_BY[name]]
            like = node.meta["val"]
            self.constants[node] = torch.full(tuple(like.shape), number, dtype=like.dtype)
            return
        if not self.depends(node) and not is_random(node):
            self.constants[node] = self.evaluate(node)
            return
        check_result(node, name)
        if any(source in self.trained for source in node.all_input_nodes):
            self.trained.add(node)
        if node.target is operator.getitem:
            self.values[node] = self.values[node.args[0]][node.args[1]]
            return
        self.values[node] = self.convert(node, find_handler(node, name))

    def visit_routed(self, node: Any, name: str) -> bool:
        """Reads a node of a mixture of experts; false for other nodes."""
        try:
            return torch_experts.visit(self, node, name)
        except ImportFailure as error:
            raise ImportFailure(f"{place(node)}: {error}") from None

    def element_of(self, node: Any) -> str:
        """The element type of a node's result."""
        return element_of(node.meta["val"].dtype)

    def convert(self, node: Any, handler: Handler) -> Any:
        """Converts a node with a handler and checks the result's type against torch's."""
        check_unsigned(node)
        try:
            result = handler(self, node)
            self.check(node, result)
        except ImportFailure as error:
            text, where = str(error), place(node)
            raise ImportFailure(text if text.startswith(where) else f"{where}: {text}") from None
        except (ArithmeticError, AssertionError, LookupError, StopIteration, TypeError,
                ValueError):
            given = node.all_input_nodes
            kinds = ", ".join(getattr(self.values.get(item), "type", "constant") for item in given)
            raise ImportFailure(f"{place(node)}: expects arguments that fit {node.target} but got "
                                f"{kinds or 'none'}") from None
        return result

    def alias(self, node: Any, source: Any) -> None:
        """Makes a node an alias of another one."""
        for found in (self.values, self.constants, self.routed):
            if source in found:
                found[node] = found[source]
        if source in self.trained:
            self.trained.add(node)

    def stop_gradient(self, x: Any) -> Any:
        if isinstance(x, Complex):
            return Complex(self.stop_gradient(x.real), self.stop_gradient(x.imag))
        return self.graph.unary("nn.stop_gradient", x) if x.is_float else x

    def visit_write(self, node: Any, name: str) -> None:
        """Converts an op that writes a value or a slice of it. Later uses of the value read the
        result. Nothing may read an older view of that memory later."""
        if torch_complex.is_complex(node):
            raise torch_complex.refuse(place(node), name)
        written = node.args[0] if node.args else None
        handler = HANDLERS.get(name.replace("_.", "."))
        parts = parts_of(written) if isinstance(written, torch.fx.Node) else None
        if written in self.values and is_own(written):
            parts = [written]
        elif parts is None or is_read_later(parts, node):
            handler = None
        buffer = self.program.graph_signature.inputs_to_buffers.get(root_of(written).name) \
            if isinstance(written, torch.fx.Node) else None
        if buffer:
            raise ImportFailure(f"{place(node)}: expects a buffer that is not written but got "
                                f"{name} of {buffer}; return the new value instead")
        if handler is None or parts is None:
            raise ImportFailure(f"{place(node)}: expects no op that writes its operand but got "
                                f"{name}")
        whole = parts[0]
        if whole in self.constants:
            self.values[whole] = self.write(self.constants[whole])
            for part in parts:
                del self.constants[part]
                self.written.pop(part, None)
        before = [self.values[whole]]
        for part in parts[1:]:
            self.values[part] = self.convert(part, HANDLERS[str(part.target)])
            before.append(self.values[part])
        if any(source in self.trained for source in node.all_input_nodes):
            self.trained.add(node)
        if len(parts) == 1:
            self.trained.discard(written)
        result = self.convert(node, handler)
        self.values[node] = self.values[written] = result
        for part, value in reversed(list(zip(parts[1:], before))):
            result = self.replace(value, part, result)
        self.values[whole] = result
        if node in self.trained:
            self.trained.update(parts)

    def forget(self, changed: torch.Tensor) -> None:
        """Drops the constants of that memory, so that their next use writes them again."""
        memory = changed.untyped_storage().data_ptr()
        self.written = {key: value for key, value in self.written.items()
                        if self.constants[key].untyped_storage().data_ptr() != memory}

    def replace(self, x: Value, part: Any, new: Value) -> Value:
        """Replaces the slice of `x` that the node `part` takes by `new`. The pieces of several
        writes are kept next to each other."""
        dim = positive(argument(part, 1, "dim", 0), len(x.shape))
        start = positive(argument(part, 2, "start") or 0, x.shape[dim])
        start = min(max(start, 0), x.shape[dim])
        is_slice = str(part.target) == "aten.slice.Tensor"
        size = part.meta["val"].shape[dim] if is_slice else 1
        new = self.graph.reshape(new, x.shape[:dim] + (size,) + x.shape[dim + 1:])
        known, beside = self.beside.get(x, (dim, [x]))
        before, after, at = [], [], 0
        for piece in beside if known == dim else [x]:
            length = piece.shape[dim]
            kept = min(max(start - at, 0), length)
            skipped = min(max(start + size - at, 0), length)
            before += [self.graph.slice(piece, dim, 0, kept)] if kept else []
            after += [self.graph.slice(piece, dim, skipped, length - skipped)] \
                if skipped < length else []
            at += length
        pieces = [*before, *([new] if size else []), *after]
        result = self.graph.concat(pieces, dim)
        self.beside[result] = dim, pieces
        return result

    def check(self, node: Any, result: Any) -> None:
        """Fails unless the result has the type that torch expects."""
        expected = node.meta["val"]
        if isinstance(result, Complex):
            if result.shape != tuple(expected.shape) or \
                    result.element != element_of(torch_complex.PARTS[expected.dtype]):
                raise ImportFailure(f"{place(node)}: expects {tuple(expected.shape)} of "
                                    f"{expected.dtype} from {node.target} but got {result.type}")
        if isinstance(result, Value):
            if result.shape == tuple(expected.shape) and result.element != \
                    element_of(expected.dtype):
                raise ImportFailure(f"{place(node)}: expects operands of one type for "
                                    f"{node.target} but got results of {result.element} and of "
                                    f"{element_of(expected.dtype)}; cast the operands")
            if (result.shape, result.element) != (tuple(expected.shape),
                                                  element_of(expected.dtype)):
                raise ImportFailure(f"{place(node)}: expects {tuple(expected.shape)} of "
                                    f"{expected.dtype} from {node.target} but got {result.type}")

    def depends(self, node: Any) -> bool:
        return any(argument in self.values for argument in node.all_input_nodes)

    def evaluate(self, node: Any) -> Any:
        def find(item: Any) -> Any:
            if item not in self.constants:
                raise ImportFailure(f"{place(node)}: expects an op that has a meaning in nn but "
                                    f"got {node.target}")
            return self.constants[item]
        arguments, keywords = torch.fx.node.map_arg((node.args, dict(node.kwargs)), find)
        try:
            with torch.no_grad():
                return node.target(*arguments, **keywords)
        except Exception as error:
            raise ImportFailure(f"{place(node)}: expects constants that torch can compute "
                                f"{node.target} of: {first_line(error)}") from None

    def name_results(self, results: Sequence[Any]) -> list[tuple[str, Value]]:
        named: list[tuple[str, Value]] = []
        self.is_loss = any(node is not None and not self.value(node).shape
                           and self.value(node).is_float for node in results)
        for i, node in enumerate(results):
            self.result_names.append(None)
            if node is None:
                continue
            value, start = self.value(node), len(named)
            if value in self.losses:
                named += self.losses[value]
            elif not value.shape and value.is_float:
                named.append(("loss", value))
            else:
                is_logits = value.is_float and len(value.shape) > 1
                taken = [name for name, _ in named]
                name = "logits" if is_logits and "logits" not in taken else f"result.{i}"
                named.append((name, value))
            self.result_names[-1] = named[start][0]
        return named + (self.loads if self.is_loss else [])


def view_of(parameter: torch.Tensor) -> tuple[Any, ...]:
    """A key that is equal for identical parameters: the storage, which has no address if it has no
    values, and the elements in it. A dimension of size 1 has no stride."""
    shape = tuple(parameter.shape)
    strides = tuple(step for size, step in zip(shape, parameter.stride()) if size != 1)
    return (int(parameter.untyped_storage()._cdata), int(parameter.storage_offset()),
            parameter.dtype, shape, strides)


def check_memory(parameters: Iterable[tuple[str, torch.Tensor]]) -> None:
    """Fails for two different parameters that share elements, such as a matrix and its transpose: a
    training step writes both."""
    views: dict[int, dict[tuple[Any, ...], tuple[str, torch.Tensor]]] = {}
    for name, parameter in parameters:
        view = view_of(parameter)
        if parameter.numel():
            views.setdefault(view[0], {}).setdefault(view, (name, parameter.detach()))
    for shared in views.values():
        named = list(shared.values())
        ends = sorted(range_of(parameter) for _, parameter in named)
        if all(before[1] <= after[0] for before, after in zip(ends, ends[1:])):
            continue
        # The index of the parameter that owns each unit of the memory.
        unit = min(parameter.element_size() for _, parameter in named)
        owners = torch.full((max(end for _, end in ends) // unit,), -1, dtype=torch.int16)
        for number, (name, parameter) in enumerate(named):
            units = parameter.element_size() // unit
            taken = owners.as_strided((*parameter.shape, units),
                                      (*(step * units for step in parameter.stride()), 1),
                                      parameter.storage_offset() * units)
            if int(taken.max()) >= 0:
                raise ImportFailure(f"{name}: expects a parameter that shares no element with "
                                    f"others, or is one with them, but got another view of "
                                    f"{named[int(taken.max())][0]}")
            taken.fill_(number)


def range_of(parameter: torch.Tensor) -> tuple[int, int]:
    """The byte range of a parameter in its storage: first, and one after the last."""
    last = sum((size - 1) * step for size, step in zip(parameter.shape, parameter.stride()))
    begin, size = parameter.storage_offset(), parameter.element_size()
    return begin * size, (begin + last + 1) * size


def check_training(graph: Any) -> None:
    """Fails if a batch norm changes its statistics."""
    for node in graph.nodes:
        if str(node.target) in BATCH_NORMS and node.args[3] is not None and node.args[5]:
            path = module_of(node)
            module = f" of module {path}" if path else ""
            raise ImportFailure(f"{place(node)}: expects no statistics{module} that training "
                                f"changes but got {node.target}; call .eval()")


def find_handler(node: Any, name: str) -> Handler:
    """The handler of a node's op on real or on complex numbers; fails if there is none."""
    if torch_complex.is_complex(node):
        torch_complex.check_types(node, place(node))
        if name not in torch_complex.HANDLERS:
            raise torch_complex.refuse(place(node), name)
        return torch_complex.HANDLERS[name]
    if name not in HANDLERS:
        raise ImportFailure(f"{place(node)}: expects an op that has a meaning in nn but got {name}")
    return HANDLERS[name]


def check_result(node: Any, name: str) -> None:
    """Fails if a node's result has a shape that follows from values."""
    for item in torch.utils._pytree.tree_leaves(node.meta.get("val")):
        if isinstance(item, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            raise ImportFailure(f"{place(node)}: expects a number that follows from no input and "
                                f"no parameter but got {name}; keep it a tensor")
        if not isinstance(item, torch.Tensor):
            continue
        if any(not isinstance(size, int) for size in item.shape):
            raise ImportFailure(f"{place(node)}: expects a result whose shape follows from no "
                                f"value but got {name}; write torch.where(mask, x, y) instead of a "
                                "choice of rows")


def check_unsigned(node: Any) -> None:
    """Fails for an op of unsigned integers whose handler would read them with a sign."""
    if str(node.target).split(".")[1] in UNSIGNED | {name.split(".")[1] for name in IDENTITIES}:
        return
    # One of several results, such as the reserve of a batch norm, is no value of the graph.
    for item in (given.meta.get("val") for given in (node, *node.all_input_nodes)):
        if isinstance(item, torch.Tensor) and ELEMENTS.get(item.dtype, "").startswith("u"):
            kind = str(item.dtype).removeprefix("torch.")
            raise ImportFailure(f"{place(node)}: expects floats or signed integers for "
                                f"{node.target} but got {kind}; convert it before, to float or to "
                                "a wider type")


def check_parameter(name: str, parameter: torch.Tensor) -> None:
    if parameter.dtype not in FLOATS:
        kinds = ", ".join(str(dtype).removeprefix("torch.") for dtype in FLOATS)
        raise ImportFailure(f"{name}: expects a parameter of {kinds} but got "
                            f"{str(parameter.dtype).removeprefix('torch.')}")


def is_view(node: Any) -> bool:
    """True if a node's result may share memory with an operand."""
    schema = getattr(node.target, "_schema", None)
    if str(node.target) in IDENTITIES - COPIES:
        return True
    if node.target is operator.getitem and hasattr(node.args[0].target, "_schema"):
        return is_view(node.args[0])
    return schema is None or any(r.alias_info is not None for r in schema.returns) and \
        not schema.is_mutable


def root_of(node: Any) -> Any:
    """The node whose memory a node's result may share."""
    while node.op == "call_function" and is_view(node) and \
            isinstance(node.args[0], torch.fx.Node):
        node = node.args[0]
    return node


def is_own(node: Any) -> bool:
    """True if no other value shares the memory of a node's result or of the values that it views.
    """
    if any(is_view(user) for user in node.users):
        return False
    while node.op == "call_function" and is_view(node):
        node = node.args[0]
        if not isinstance(node, torch.fx.Node) or len(node.users) != 1:
            return False
    return bool(node.op == "call_function")


def parts_of(node: Any) -> list[Any] | None:
    """The op that made its own memory and the slices of it, each of the previous one, up to the
    node. None for other nodes."""
    parts = [node]
    while str(node.target) == "aten.select.int" or (
            str(node.target) == "aten.slice.Tensor" and argument(node, 4, "step", 1) == 1):
        node = node.args[0]
        parts.insert(0, node)
    return None if node.op != "call_function" or is_view(node) else parts


def is_read_later(parts: Sequence[Any], write: Any) -> bool:
    """True if a node after a write of the last part reads that memory through a view or a written
    result from before the write."""
    order = {node: i for i, node in enumerate(write.graph.nodes)}
    now = order[write]
    sharing, added = {parts[0]}, [parts[0]]
    while added:
        for user in added.pop().users:
            schema = getattr(user.target, "_schema", None)
            is_shared = user.op == "call_function" and user.args[0] in sharing and (
                is_view(user) or schema is not None and schema.is_mutable)
            if is_shared and user not in sharing:
                sharing.add(user)
                added.append(user)
    return any(node is not parts[0] and order[node] < now and order[user] > now
               for node in sharing for user in node.users)


def is_random(node: Any) -> bool:
    """True if a node draws random numbers; dropout in eval mode or with probability 0 does not."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or torch.Tag.nondeterministic_seeded not in node.target.tags:
        return False
    given = {item.name: argument(node, i, item.name, item.default_value)
             for i, item in enumerate(schema.arguments)}
    return all(given.get(name, True) for name in ("p", "dropout", "dropout_p", "train", "training"))


def place(node: Any) -> str:
    """File and line of a node's source, outside of torch if possible; the node's name if unknown.
    """
    return place_in(stack_of(node)) or str(node.name)


def module_of(node: Any) -> str:
    """The path of the module whose forward has a node, as "layers.0.q"; empty if unknown."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return str(stack[-1][0]) if stack else ""


@functools.cache
def place_in(stack: str) -> str:
    """File and line of the innermost call of a stack, outside of torch if possible; empty if there
    is none."""
    lines = [line.strip() for line in stack.splitlines()]
    # Files without names in brackets, which torch compiled.
    files = [line for line in lines if line.startswith("File ") and '"<' not in line]
    own = [line for line in files if TORCH not in line] or files
    if not own:
        return ""
    path, line = own[-1].split(",")[:2]
    return f"{path[len('File '):].strip(chr(34))}:{line.split()[-1]}"


def stack_of(node: Any) -> str:
    """The stack of a node's source, or that of the first node of its body; empty if unknown."""
    found = node.meta.get("stack_trace")
    if found or node.op != "call_function":
        return found or ""
    stacks = (stack_of(inner) for body in torch_control.bodies_of(node)
              for inner in body.graph.nodes)
    return next(filter(None, stacks), "")


def argument(node: Any, index: int, name: str, default: Any = None) -> Any:
    if len(node.args) > index:
        return node.args[index]
    return node.kwargs.get(name, default)


def positive(dim: int, rank: int) -> int:
    return dim + rank if dim < 0 else dim
