"""A compiled program that runs: the ranks keep parameters and state from call to call."""

from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Mapping, Optional, Sequence, Union

import numpy

from . import weights
from .arrays import Array, convert, convert_input, describe, read_array, type_of
from .client import Call, Client
from .compiler import MANIFEST, REPORT, Compiled
from .errors import CompileError, ProgramError
from .manifest import Manifest, Value, read_manifest
from .shardings import Shardings, read_shardings
from .source import Model, Result


@dataclass(frozen=True)
class StepResult:
    """What a step of training computes besides new parameters, each as an array without dimensions.
    """
    #: The mean loss of the batch, before the step.
    loss: Any
    #: The norm of all gradients, before they are clipped.
    grad_norm: Any
    #: The learning rate of the step.
    lr: Any
    #: The number of labels, where the loss counts them.
    num_labels: Any
    #: 1 if the step changed nothing, as its loss or norm was not finite.
    skipped: Any


def copy_result(array: Array, result: Optional[Result]) -> Array:
    """A copy of a result in the type and shape that the model gives it."""
    element, shape = (result.element, result.shape) if result else \
        (array.element, array.values.shape)
    return Array(numpy.array(convert(array, element)).reshape(shape), element)


class Program:
    """A program and its ranks, which tessera.compile starts. `with` closes it."""

    def __init__(self, model: Model, compiled: Compiled, is_training: bool,
                 reads_weights: bool, arguments: Sequence[str]) -> None:
        self._model, self._compiled, self._is_training = model, compiled, is_training
        self._manifest: Manifest = read_manifest(compiled.read(MANIFEST))
        self._tensors = weights.find_tensors(self._manifest)
        for name in self._tensors:
            if not reads_weights and not model.has_values(name):
                raise CompileError(f"{name}: expects values, or weights=PATH, but got a parameter "
                                   "without values")
        self._client = Client(compiled.program, self._manifest, is_training, arguments)
        try:
            if not reads_weights:
                self._load_weights()
        except BaseException:
            self.close()
            raise
        # From now on the program has them, and Python does not.
        model.release([name for name, tensor in self._tensors.items() if tensor.is_whole])

    # Calls.

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the model, or a step of its training, on a whole batch. Arguments are those of the
        examples, from any library with __dlpack__. Returns what the model returns, of arrays on the
        processor; of a step, its StepResult."""
        try:
            self._client.check_open()
            inputs = self._read_inputs(args, kwargs)
        except ProgramError as error:
            raise self._named(error) from None
        results = self._run(inputs)
        if self._is_training:
            return StepResult(**{name: results.get(name) for name in
                                 ("loss", "grad_norm", "lr", "num_labels", "skipped")})
        return self._model.unflatten([result.constant if result.name is None
                                      else results[result.name]
                                      for result in self._model.results])

    def _named(self, error: ProgramError) -> ProgramError:
        text, start = str(error), f"{self._manifest.program}: "
        return error if text.startswith(start) else ProgramError(start + text)

    def _read_inputs(self, args: tuple[Any, ...],
                     kwargs: Mapping[str, Any]) -> list[tuple[Value, Any]]:
        """The inputs of a call in the types of the program, checked."""
        values = {value.name: value for value in self._manifest.inputs}
        found = []
        for leaf, given in zip(self._model.leaves, self._model.flatten(args, kwargs)):
            array = leaf.read(given)
            value = values.get(leaf.input or "")
            if array is not None and value is not None:
                found.append((value, convert_input(leaf.name, array, value.element,
                                                   leaf.element).reshape(value.shape)))
        return found

    def _run(self, inputs: Sequence[tuple[Value, Any]]) -> dict[str, Any]:
        types = {} if self._is_training else \
            {result.name: result for result in self._model.results}
        results: dict[str, Any] = {}
        call = Call(inputs)
        try:
            with self._client.using(call):
                for value in self._manifest.results:
                    if value.offset >= 0:
                        array = Array(self._client.view(value), value.element)
                        results[value.name] = self._model.give(
                            copy_result(array, types.get(value.name)))
        except BaseException:
            call.keep()
            raise
        return results

    # Parameters and state.

    def state_dict(self) -> dict[str, Any]:
        """The tensors of the model's own state dict: parameters as they are now, in full precision
        where a master copy has it, and all others as they were."""
        with self._client.using():
            read = {name: self._model.give(self._read_tensor(tensor))
                    for name, tensor in self._tensors.items()}
        found = {name: read[target] if target in read else self._model.weights[target]
                 for name, target in self._model.state_names().items()}
        found.update(self._model.other_state())
        return {name: found[name] for name in self._model.state_order()}

    def parameters(self) -> Any:
        """The parameters of a function of JAX in the structure of its arguments; of other models,
        the state dict."""
        unflatten = getattr(self._model, "unflatten_parameters", None)
        return unflatten(self.state_dict()) if unflatten else self.state_dict()

    def _read_tensor(self, tensor: weights.Tensor) -> Array:
        base = None
        if not tensor.is_whole and self._model.has_values(tensor.name):
            base = read_array(tensor.name, self._model.weights[tensor.name])
        return weights.read_tensor(self._client, tensor, base)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Sets the parameters, and their master copies, to those of a state dict. Nothing is
        changed if a tensor is missing, is not of the model or has another shape, or a buffer has
        other values than the compiled ones."""
        names, others = self._model.state_names(), self._model.other_state()
        try:
            weights.check_names("load_state_dict", {**names, **others},
                                {**others, **state})
            arrays = {name: read_array(name, state[name]) for name in state}
            for name, array in arrays.items():
                self._check_state(name, names.get(name), array, arrays)
        except ProgramError as error:
            raise self._named(error) from None
        with self._client.using():
            for name, target in names.items():
                if name in (target, self._first_name(target)) and target in self._tensors:
                    weights.set_tensor(self._client, self._tensors[target], arrays[name])

    def _first_name(self, target: str) -> str:
        names = self._model.state_names()
        return target if target in names else \
            next(name for name, found in names.items() if found == target)

    def _check_state(self, name: str, target: Optional[str], array: Array,
                     arrays: Mapping[str, Array]) -> None:
        if target is None:
            known = read_array(name, self._model.other_state()[name])
            weights.check_tensor(name, array, known.values.shape, known.element)
            if not numpy.array_equal(known.values, convert(array, known.element),
                                     equal_nan=known.values.dtype.kind == "f"):
                raise ProgramError(f"{name}: expects the values with which the program was "
                                   "compiled but got others; compile with the new ones")
            return
        shape = tuple(numpy.shape(self._model.weights[target]))
        weights.check_tensor(name, array, shape, "f32")
        first = arrays.get(self._first_name(target))
        if first is not None and first.values is not array.values and \
                not numpy.array_equal(first.values, array.values, equal_nan=True):
            raise ProgramError(f"{name}: expects the values of {self._first_name(target)}, which "
                               "is the same parameter, but got others")

    def save_weights(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the parameters as a file of safetensors, or as model.safetensors in a folder: what
        `weights=` reads. The file is renamed into place once it is whole."""
        file = pathlib.Path(path)
        file = file if file.suffix == ".safetensors" else file / "model.safetensors"
        names = set(self._model.state_names().values())
        others = {name: read_array(name, self._model.weights[name]) for name in sorted(names)
                  if (name not in self._tensors or not self._tensors[name].is_whole) and
                  self._model.has_values(name)}
        with self._client.using():
            weights.save_tensors(self._client, list(self._tensors.values()), others, file)

    def training_state(self) -> dict[str, Any]:
        """Parameters and state of the optimizer by the program's own names: all that a later step
        depends on. Any mesh of the same model and optimizer takes it."""
        with self._client.using():
            return {value.name: self._model.give(self._read_value(value))
                    for value in self._manifest.kept}

    def _read_value(self, value: Value) -> Array:
        out = numpy.empty(value.shape, type_of(value.element))
        array = Array(out, value.element)
        weights.transfer(self._client, value, array, 0, False)
        return array

    def load_training_state(self, state: Mapping[str, Any]) -> None:
        """Sets parameters and state to those of `training_state()`. Nothing is changed if a tensor
        is missing, is not of the program or has another shape or type."""
        try:
            weights.check_names("load_training_state",
                                {value.name: value for value in self._manifest.kept}, state)
            arrays = {name: read_array(name, given) for name, given in state.items()}
            for value in self._manifest.kept:
                given = arrays[value.name]
                if given.element != value.element or given.values.shape != value.shape:
                    raise ProgramError(f"{value.name}: expects "
                                       f"{describe(value.element, value.shape)} but got "
                                       f"{given.describe()}")
        except ProgramError as error:
            raise self._named(error) from None
        with self._client.using():
            for value in self._manifest.kept:
                weights.transfer(self._client, value, arrays[value.name], 0, True)

    def _load_weights(self) -> None:
        """Sets the parameters to the model's own."""
        with self._client.using():
            for name, tensor in self._tensors.items():
                weights.set_tensor(self._client, tensor,
                                   read_array(name, self._model.weights[name]))

    # Facts about it.

    @property
    def ranks(self) -> int:
        """The number of ranks."""
        return self._manifest.ranks

    @property
    def mesh(self) -> dict[str, int]:
        """Names and sizes of the mesh's axes."""
        return dict(self._manifest.mesh)

    @property
    def path(self) -> pathlib.Path:
        """The executable, which the cache may remove."""
        return self._compiled.program

    @property
    def graph(self) -> pathlib.Path:
        """The imported graph, from which `tessera compile` makes the executable."""
        return self._compiled.graph

    @property
    def steps(self) -> int:
        """The number of calls whose step has run, an interrupted one's too once the next call has
        begun."""
        return self._client.steps

    @property
    def seconds(self) -> float:
        """The time that the ranks took for the last call's step."""
        return self._client.seconds

    def ir(self, phase: str) -> str:
        """The program after a phase, as `tessera compile --compile-to` prints it."""
        return self._compiled.print_phase(phase)

    def report(self) -> dict[str, Any]:
        """What a device receives, by kind of collective and axes (`--dist-report` of `tessera
        compile`), and the lines of the plan."""
        found = self._compiled.read(REPORT)
        found.pop("command", None)
        return {**found, "plan": list(self._manifest.plan)}

    @property
    def shardings(self) -> Shardings:
        """The shardings of weights and inputs, for trainers of other frameworks."""
        return read_shardings(self._compiled.write_shardings(), self._manifest.program)

    # Its end.

    def close(self) -> None:
        """Ends the ranks. In a process that was forked from the one that compiled, does nothing."""
        self._client.close()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()
