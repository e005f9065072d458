"""Models of a framework: how their arguments and results are those of a program."""

from __future__ import annotations

import abc
import dataclasses
import inspect
import re
from typing import Any, Callable, Mapping, Optional, Sequence

from .arrays import Array, describe, read_array
from .errors import CompileError, ProgramError

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Leaf:
    """A leaf of a model's arguments: an input of the graph in the type and shape of the example, or
    another object, which all calls have."""
    name: str
    input: Optional[str]
    element: str = ""
    shape: tuple[int, ...] = ()
    constant: Any = None

    def read(self, given: Any) -> Optional[Array]:
        """The array that a call gives for this leaf; None for another object."""
        if not self.element:
            is_same = type(given) is type(self.constant) and bool(given == self.constant)
            if not is_same:
                raise ProgramError(f"{self.name}: expects {self.constant!r}, with which it was "
                                   f"compiled, but got {show(given)}")
            return None
        array = read_array(self.name, given)
        if tuple(array.values.shape) != self.shape:
            raise ProgramError(f"{self.name}: expects {describe(self.element, self.shape)} but got "
                               f"{array.describe()}")
        return array


def show(item: Any) -> str:
    text = repr(item)
    return text if len(text) < 40 else type(item).__name__


@dataclasses.dataclass(frozen=True)
class Result:
    """A leaf of a model's results: a result of the graph, or another object."""
    name: Optional[str]
    element: str = ""
    shape: tuple[int, ...] = ()
    constant: Any = None


class Model(abc.ABC):
    """A model at its example arguments."""
    #: Its name, and its graph for `tessera import`.
    name: str
    text: str
    #: A note for the user.
    note: str = ""
    leaves: Sequence[Leaf]
    results: Sequence[Result]
    #: All tensors of weights by name, without values for those on meta.
    weights: Mapping[str, Any]

    def take_graph(self, graph: str) -> None:
        """Reads the names of arguments and results in a graph that was imported."""

    @abc.abstractmethod
    def flatten(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """The leaves of the arguments of a call; fails if their structure is another one."""

    @abc.abstractmethod
    def unflatten(self, leaves: Sequence[Any]) -> Any:
        """The model's results of their leaves."""

    @abc.abstractmethod
    def give(self, array: Array) -> Any:
        """An array of this framework of its own memory."""

    @abc.abstractmethod
    def has_values(self, name: str) -> bool:
        """True if a tensor of the weights has values."""

    @abc.abstractmethod
    def release(self, names: Sequence[str]) -> None:
        """Keeps no values of tensors of the weights, but their shapes: the program has them."""

    def state_names(self) -> Mapping[str, str]:
        """The tensor of weights of each name of the state dict."""
        return {name: name for name in self.weights}

    def other_state(self) -> Mapping[str, Any]:
        """Tensors of the state dict that the graph does not have as parameters."""
        return {}

    def state_order(self) -> Sequence[str]:
        """The names of the state dict."""
        return list(self.weights)


def read_outputs(graph: str) -> list[str]:
    """Names of the results of an imported graph, in order."""
    return re.findall(r'nn\.output = "([^"]*)"', graph)


def check_loss(graph: str, name: str) -> None:
    if "loss" not in read_outputs(graph):
        raise CompileError(f"train: expects a model that returns a loss, one float, but {name} "
                           "returns none; tessera.with_loss(model, fn) adds one")


def check_inputs(graph: str, names: Optional[str]) -> None:
    """Fails for a name of the option `inputs` that is no input of an imported graph."""
    found = re.findall(r'nn\.input = "([^"]*)"', graph)
    for name in names.split(",") if names else []:
        if name not in found:
            raise CompileError(f"inputs: expects an argument of the graph, as "
                               f"{', '.join(found) or 'none'}, but got {name!r}")


def name_parameters(function: Callable[..., Any]) -> list[str]:
    """The names of a function's parameters that arguments by position have."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # A function of C may have no signature.
        return []
    return [item.name for item in parameters
            if item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD)]


def arrange(args: tuple[Any, ...], kwargs: Mapping[str, Any], names: Sequence[str],
            count: int, keywords: Sequence[str]) -> Arguments:
    """Arguments in the form of the examples: `count` by position and the others by `keywords`.
    Those by name may be given by position, and the other way round."""
    for name in names[:len(args)]:
        if name in kwargs:
            raise ProgramError(f"{name}: expects one value but got one by position and one by "
                               "name")
    given = {**dict(zip(names, args)), **kwargs}
    positional = names[:count]
    wanted = [*positional, *keywords]
    extra = args[len(names):]
    is_known = len(positional) == count
    if is_known and not extra and set(given) == set(wanted):
        return (tuple(given[name] for name in positional),
                {name: given[name] for name in keywords})
    if len(args) == count and set(kwargs) == set(keywords):
        return tuple(args), {name: kwargs[name] for name in keywords}
    expected = ", ".join([*positional, *(f"argument {i}" for i in range(len(positional), count)),
                          *keywords])
    got = ", ".join([*(str(name) for name in given),
                     *(f"argument {len(names) + i}" for i in range(len(extra)))])
    raise ProgramError(f"expects arguments {expected or 'none'} but got {got or 'none'}")
