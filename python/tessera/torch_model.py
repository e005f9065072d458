"""Modules of torch, and programs of torch.export, as models."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, Mapping, Sequence

import torch
from torch.utils import _pytree

from . import torch_import
from .arrays import NAMES, Array
from .errors import CompileError, ProgramError
from .python_file import Examples
from .source import Leaf, Model, Result, arrange, name_parameters
from .torch_importer import view_of


class WithLoss(torch.nn.Module):
    """A module whose result is a loss of another one's result. Its parameters have the names that
    they have there."""
    wrapped: tuple[torch.nn.Module, Callable[..., Any]]

    def __init__(self, model: torch.nn.Module, function: Callable[..., Any]) -> None:
        super().__init__()
        # The same dictionaries: the other module itself is no submodule.
        for name in ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"):
            object.__setattr__(self, name, getattr(model, name))
        object.__setattr__(self, "wrapped", (model, function))
        self.training = model.training

    def forward(self, *arguments: Any, **keywords: Any) -> Any:
        if "labels" in keywords:
            labels = keywords.pop("labels")
        else:
            *arguments, labels = arguments  # type: ignore[assignment]
        model, function = self.wrapped
        return function(model(*arguments, **keywords), labels)


@contextlib.contextmanager
def with_memory(module: torch.nn.Module) -> Iterator[None]:
    """Gives parameters on meta memory while a module is exported. Nobody writes it, so it takes
    none."""
    made: dict[int, torch.nn.Parameter] = {}
    found: list[tuple[torch.nn.Module, str, torch.nn.Parameter]] = []
    for part in module.modules():
        for name, parameter in part._parameters.items():
            if parameter is not None and parameter.is_meta:
                found.append((part, name, parameter))
                made.setdefault(id(parameter), torch.nn.Parameter(
                    torch.empty_like(parameter, device="cpu"), parameter.requires_grad))
    try:
        for part, name, parameter in found:
            part._parameters[name] = made[id(parameter)]
        yield
    finally:
        for part, name, parameter in found:
            part._parameters[name] = parameter


class TorchModel(Model):
    """A module or a program of torch.export at example arguments."""

    def __init__(self, model: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        if isinstance(model, torch.export.ExportedProgram):
            given = model.example_inputs if not args and not kwargs else (tuple(args), dict(kwargs))
            if given is None:
                raise CompileError("args: expects example arguments, which the program has none "
                                   "of")
            self.name, forward = "program", None
            graph = torch_import.read_program(model, self.name)
            keys: Mapping[str, Any] = model.state_dict
        else:
            owner = model.wrapped[0] if isinstance(model, WithLoss) else model
            self.name, forward = type(owner).__name__, owner.forward
            given = _pytree.tree_map(read_example, (tuple(args), dict(kwargs)))
            with with_memory(model):
                graph = torch_import.read_graph(model, Examples(*given))
            keys = model.state_dict(keep_vars=True)
        self.text, self.note = graph.text, graph.note
        self.out_spec = graph.program.call_spec.out_spec
        self.read_state(graph, keys)
        self.names = name_parameters(forward) if forward is not None else []
        if isinstance(model, WithLoss) and "labels" not in given[1]:
            self.names = self.names[:len(given[0]) - 1] + ["labels"]
        self.count, self.keywords = len(given[0]), list(given[1])
        self.leaves = self.read_leaves(given, graph.program.graph_signature.user_inputs)
        self.results = self.read_results(graph)

    def read_state(self, graph: torch_import.Graph, keys: Mapping[str, Any]) -> None:
        """The module's own tensors by the names of the graph's parameters, and all others."""
        names = {view_of(parameter): name for name, parameter in graph.weights.items()}
        exported = dict(graph.program.named_parameters())
        self.order = list(keys)
        biases = graph.importer.biases
        self.aliases = {name: names[view_of(exported[name])] if name in exported else name
                        for name in keys if name in exported or name in biases}
        weights = {target: keys[name] for name, target in self.aliases.items()}
        self.weights = {name: tensor.detach() for name, tensor in weights.items()}
        self.others = {name: tensor.detach().clone() if not tensor.is_meta else tensor
                       for name, tensor in keys.items() if name not in self.aliases}

    def read_leaves(self, given: tuple[Any, Any], inputs: Sequence[Any]) -> list[Leaf]:
        self.shapes = [describe_tree(item) for item in (*given[0], *given[1].values())]
        pairs, self.structure = _pytree.tree_flatten_with_path(given)
        if len(inputs) != len(pairs):
            raise CompileError(f"args: expects {len(inputs)} leaves of example arguments, as the "
                               f"program has, but got {len(pairs)}")
        leaves = []
        for (path, item), name in zip(pairs, inputs):
            shown = self.describe_path(path)
            if isinstance(item, torch.Tensor):
                word = str(item.dtype).rpartition(".")[2]
                leaves.append(Leaf(shown, name, NAMES[word], tuple(item.shape)))
            else:
                leaves.append(Leaf(shown, None, constant=item))
        return leaves

    def read_results(self, graph: torch_import.Graph) -> list[Result]:
        output = next(node for node in graph.program.graph.nodes if node.op == "output")
        results = []
        for node, name in zip(output.args[0], graph.importer.result_names):
            if name is None:
                results.append(Result(None))
                continue
            value = node.meta["val"]
            word = str(value.dtype).rpartition(".")[2]
            results.append(Result(name, NAMES[word], tuple(value.shape)))
        return results

    def describe_path(self, path: Sequence[Any]) -> str:
        """The name of a leaf: that of its argument, and its place in it."""
        kind, key, *rest = path
        is_positional = getattr(kind, "idx", 0) == 0
        if is_positional:
            number = key.idx
            name = self.names[number] if number < len(self.names) else f"argument {number}"
        else:
            name = str(key.key)
        return name + "".join(map(str, rest))

    def flatten(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        given = arrange(args, kwargs, self.names, self.count, self.keywords)
        leaves, structure = _pytree.tree_flatten(given)
        if structure == self.structure:
            return leaves
        for name, item, expected in zip([*self.names[:self.count], *self.keywords],
                                        [*given[0], *given[1].values()], self.shapes):
            if describe_tree(item) != expected:
                raise ProgramError(f"{name}: expects {expected} but got {describe_tree(item)}")
        raise ProgramError(f"expects arguments of the structure {self.structure} but got "
                           f"{structure}")

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        return _pytree.tree_unflatten(list(leaves), self.out_spec)

    def give(self, array: Array) -> torch.Tensor:
        if array.element == "bf16":
            return torch.from_numpy(array.values.view("i2")).view(torch.bfloat16)
        return torch.from_numpy(array.values)

    def has_values(self, name: str) -> bool:
        return not self.weights[name].is_meta

    def release(self, names: Sequence[str]) -> None:
        kept = {name: tensor.to("meta") if name in names else tensor
                for name, tensor in self.weights.items()}
        self.weights = kept

    def state_names(self) -> Mapping[str, str]:
        return self.aliases

    def other_state(self) -> Mapping[str, Any]:
        return self.others

    def state_order(self) -> Sequence[str]:
        return self.order


def describe_tree(item: Any) -> str:
    """The structure of an argument: (array, {"mask": array})."""
    if isinstance(item, (tuple, list)):
        inner = ", ".join(map(describe_tree, item))
        kind = type(item).__name__ if type(item) not in (tuple, list) else ""
        return f"{kind}[{inner}]" if isinstance(item, list) else f"{kind}({inner})"
    if isinstance(item, dict):
        inner = ", ".join(f"{key!r}: {describe_tree(value)}" for key, value in item.items())
        return f"{{{inner}}}"
    return "array" if hasattr(item, "__dlpack__") else type(item).__name__


def read_example(item: Any) -> Any:
    """An example argument as torch takes it."""
    if isinstance(item, torch.Tensor) or not hasattr(item, "__dlpack__"):
        return item
    return torch.utils.dlpack.from_dlpack(item)
