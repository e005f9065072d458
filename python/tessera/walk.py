"""The common base of the walks over graphs of torch and ONNX: values and constants of the source,
and the shapes that values had before reshapes."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from .errors import ImportFailure
from .graph_text import LETTERS, Graph, Value


# Converts one op of the source; called with the walk and the op's node.
Handler = Callable[[Any, Any], Any]


def registry() -> tuple[dict[str, Handler], Callable[..., Callable[[Handler], Handler]]]:
    """Returns handlers by the name of an op, and a decorator that registers one for names."""
    handlers: dict[str, Handler] = {}

    def handles(*names: str) -> Callable[[Handler], Handler]:
        def register(handler: Handler) -> Handler:
            for name in names:
                handlers[name] = handler
            return handler
        return register

    return handlers, handles


class Walk:
    """A graph that is being written, and the converted values of the source by their key."""

    def __init__(self) -> None:
        self.graph = Graph()
        # Values that depend on no parameter and no input, and all other values.
        self.constants: dict[Any, Any] = {}
        self.values: dict[Any, Any] = {}
        # Constants that are in the graph already.
        self.written: dict[Any, Value] = {}
        # The value before a reshape merged its leading dimensions, and the value before a repeat.
        self.unmerged: dict[Value, Value] = {}
        self.repeated: dict[Value, Value] = {}
        # The results that replace a mean loss.
        self.losses: dict[Value, list[tuple[str, Value]]] = {}

    def write(self, constant: Any) -> Value:
        """Writes a constant of the source without the dimensions along which it does not vary."""
        raise NotImplementedError

    def value(self, item: Any) -> Value:
        """A value of the source; writes it if it is a constant."""
        if item in self.values:
            found: Value = self.values[item]
            return found
        if item not in self.constants:
            raise ImportFailure(f"{item}: expects a tensor")
        if item not in self.written:
            self.written[item] = self.write(self.constants[item])
        return self.written[item]

    def merged(self, x: Value, shape: Sequence[int]) -> Value:
        """A reshape that remembers its operand."""
        shape = tuple(shape)
        source = self.unmerged.get(x, x)
        result = source if source.shape == shape else self.graph.reshape(x, shape)
        if result not in (x, source):
            self.unmerged[result] = source
        # Repeated heads of a group: [b, g, 1 -> r, t, d] to [b, g r, t, d].
        group = self.repeated.get(x)
        if group and len(x.shape) == 5 and shape == (x.shape[0], x.shape[1] * x.shape[2],
                                                     *x.shape[3:]):
            self.repeated[result] = group
        return result

    def expanded(self, x: Value, shape: Sequence[int]) -> Value:
        """Repeats dimensions of size 1, and remembers repeated heads."""
        result = self.graph.expand(x, shape)
        if len(x.shape) == 5 and x.shape[2] == 1 and result.shape[2] > 1 and \
                result.shape[:2] + result.shape[3:] == x.shape[:2] + x.shape[3:]:
            self.repeated[result] = self.graph.reshape(x, x.shape[:2] + x.shape[3:])
        return result

    def rows(self, x: Value) -> Value:
        """The value whose leading dimensions were merged to x; x if there is none."""
        source = self.unmerged.get(x, x)
        return source if source.shape[-1:] == x.shape[-1:] else x

    def unmerged_rows(self, rows: Value, index: Value) -> tuple[Value, Value]:
        """Rows and their indices, both in the shape before their leading dimensions were merged, if
        these match."""
        sources = self.unmerged.get(rows, rows), self.unmerged.get(index, index)
        return sources if sources[0].shape[:-1] == sources[1].shape else (rows, index)

    def linear(self, x: Value, weight: Value, is_transposed: bool) -> Value:
        """A matmul over the last dimension of x, whose leading dimensions may have been merged."""
        source = self.unmerged.get(x, x)
        whole = source if source.shape[-1:] == x.shape[-1:] and len(x.shape) == 2 else x
        rank = len(whole.shape)
        batch, k, n = LETTERS[2:1 + rank], "a", "b"
        letters = n + k if is_transposed else k + n
        return self.graph.einsum(batch + k, letters, batch + n, whole, weight)

    def embedding(self, table: Value, ids: Value) -> Value:
        """Rows of a table; ids that are an input get the table's length as their limit."""
        ids = self.unmerged.get(ids, ids)
        attributes = self.graph.attributes(ids)
        if attributes is not None:
            attributes["nn.vocab"] = f"{table.shape[0]} : i64"
        shape = ids.shape + table.shape[-1:]
        return self.graph.op(
            f"nn.embedding {table.name}, {ids.name} : {table.type}, {ids.type} -> "
            f"tensor<{'x'.join(map(str, shape))}x{table.element}>", shape, table.element)

    def cross_entropy(self, logits: Value, labels: Value, ignore: int, kind: str,
                      element: str) -> Value:
        """The losses of rows ("none"), their sum ("sum"), or their mean ("mean") over the labels
        other than `ignore`. Computed in at least f32, with the result type `element`."""
        graph, shape = self.graph, labels.shape
        wide = logits.element if logits.element == "f64" else "f32"
        each = graph.op(
            f"nn.cross_entropy {logits.name}, {labels.name} ignore {ignore} : {logits.type}, "
            f"{labels.type} -> tensor<{''.join(f'{n}x' for n in shape)}{wide}>", shape, wide)
        if kind == "none":
            return graph.cast(each, element)
        total = graph.reduce("sum", each, range(len(shape)))
        if kind == "sum":
            return graph.cast(total, element)
        counted = graph.compare("ne", labels, graph.constant(ignore, shape, labels.element))
        count = graph.reduce("sum", graph.cast(counted, wide), range(len(shape)))
        mean = graph.cast(graph.binary("arith.divf", total, count), element)
        self.losses[mean] = [("loss", mean), ("loss_sum", total), ("tokens", count)]
        return mean
