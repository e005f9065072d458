"""Functions of JAX as models. Arguments that are parameters belong to the program: calls have the
others."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import jax
import numpy

from . import jax_import
from .arrays import NAMES, Array
from .errors import CompileError, Error, ProgramError
from .jax_check import name_arguments
from .source import Leaf, Model, Result, arrange, name_parameters, read_outputs

# Results that the compiler adds to a loss.
ADDED = ("loss_sum", "tokens")


class JaxModel(Model):
    """A function of JAX at example arguments: arrays, or their shapes and types."""

    def __init__(self, function: Callable[..., Any], args: Sequence[Any],
                 kwargs: Mapping[str, Any]) -> None:
        if kwargs:
            raise CompileError("kwargs: expects example arguments by position of a function of JAX "
                               f"but got {', '.join(kwargs)}")
        self.name = getattr(function, "__name__", type(function).__name__)
        held, arguments = jax_import.hold_constants(function, args)
        self.text = jax_import.read_function(held, arguments)
        self.output = jax.eval_shape(held, *arguments)
        self.names = name_parameters(function)
        self.arguments = arguments

    def take_graph(self, graph: str) -> None:
        names, inputs = name_arguments(graph)
        flat = [jax.tree_util.tree_flatten(argument) for argument in self.arguments]
        count = sum(len(leaves) for leaves, _ in flat)
        if len(names) != count:
            raise Error(f"{self.name}: expects {count} arguments in the graph but got "
                        f"{len(names)}")
        rest = iter(names)
        weights: dict[str, Any] = {}
        leaves: list[Leaf] = []
        # The arguments of calls, and their structures.
        self.called: list[int] = []
        self.trees: list[Any] = []
        self.parameters: list[tuple[Any, list[str]]] = []
        for number, (items, tree) in enumerate(flat):
            own = [next(rest) for _ in items]
            shown = self.names[number] if number < len(self.names) else f"argument {number}"
            if items and not inputs & set(own):
                # A number of Python is an array of JAX's type.
                weights.update(zip(own, (item if hasattr(item, "dtype") else
                                         jax.numpy.asarray(item) for item in items)))
                self.parameters.append((tree, own))
                continue
            if not set(own) <= inputs:
                raise CompileError(f"{shown}: expects an argument of parameters or of inputs "
                                   f"alone but got both; inputs={','.join(own)!r} makes all "
                                   "inputs")
            self.called.append(number)
            self.trees.append(tree)
            paths = jax.tree_util.tree_flatten_with_path(self.arguments[number])[0]
            for (path, item), name in zip(paths, own):
                kind = numpy.dtype(item.dtype) if hasattr(item, "dtype") else \
                    jax.numpy.asarray(item).dtype
                leaves.append(Leaf(shown + jax.tree_util.keystr(path), name, NAMES[kind.name],
                                   tuple(numpy.shape(item))))
        self.weights, self.leaves = weights, leaves
        self.arguments = []
        self.read_results(graph)

    def read_results(self, graph: str) -> None:
        outputs, self.tree = jax.tree_util.tree_flatten(self.output)
        names = [name for name in read_outputs(graph) if name not in ADDED][:len(outputs)]
        if len(names) != len(outputs):
            raise Error(f"{self.name}: expects {len(outputs)} results in the graph but got "
                        f"{len(names)}")
        self.results = [Result(name, NAMES[numpy.dtype(item.dtype).name], tuple(item.shape))
                        for name, item in zip(names, outputs)]

    def flatten(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        names = [self.names[i] if i < len(self.names) else f"argument {i}" for i in self.called]
        given, _ = arrange(args, kwargs, names, len(self.called), [])
        leaves: list[Any] = []
        for name, item, tree in zip(names, given, self.trees):
            found, structure = jax.tree_util.tree_flatten(item)
            if structure != tree:
                raise ProgramError(f"{name}: expects an argument of the structure {tree} but got "
                                   f"{structure}")
            leaves += found
        return leaves

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        return jax.tree_util.tree_unflatten(self.tree, list(leaves))

    def give(self, array: Array) -> Any:
        if array.element != "bf16":
            return array.values
        return array.values.view(jax.numpy.bfloat16.dtype)

    def has_values(self, name: str) -> bool:
        return not isinstance(self.weights[name], jax.ShapeDtypeStruct)

    def release(self, names: Sequence[str]) -> None:
        shape: Any = jax.ShapeDtypeStruct
        self.weights = {name: shape(item.shape, item.dtype) if name in names else item
                        for name, item in self.weights.items()}

    def unflatten_parameters(self, state: Mapping[str, Any]) -> Any:
        """The arguments that are parameters, in the function's own structure."""
        trees = [jax.tree_util.tree_unflatten(tree, [state[name] for name in names])
                 for tree, names in self.parameters]
        return trees[0] if len(trees) == 1 else tuple(trees)
