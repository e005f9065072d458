"""Shardings of a model's tensors, as `tessera compile --shardings-out` writes them.

`load_shardings` reads and checks a file; docs/shardings.md says what is in it. `Shardings` gives
them to torch, to JAX and to Shardy."""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import os
import pathlib
import re
from typing import TYPE_CHECKING, Any, Iterable, Mapping, NoReturn, Sequence

from .errors import ShardingsError

if TYPE_CHECKING:
    import torch
    from torch.distributed.device_mesh import DeviceMesh

KIND = "shardings"
VERSION = 1
# The fields of a plan that a file may have, as lib/ShardingFile lists them.
NUMBERS = {"zero": 0, "cp": 1, "ep": 1, "pp": 1, "vpp": 1, "micro-batches": 1}
FIELDS = [*NUMBERS, "zero2-reduce", "sp", "cp-method", "etp", "moe-room", "schedule",
          "stage-layers"]


@dataclasses.dataclass(frozen=True)
class Axis:
    """An axis of the mesh or a sub-axis of one: `size` devices, after a part of `before` devices
    of the axis. `tp` of 4 devices is its sub-axes `tp:(1)2` and `tp:(2)2`."""
    name: str
    before: int
    size: int
    is_whole: bool

    def __str__(self) -> str:
        return self.name if self.is_whole else f"{self.name}:({self.before}){self.size}"


# The axes of each dimension, the major axis first.
Layout = tuple[tuple[Axis, ...], ...]


@dataclasses.dataclass(frozen=True)
class TensorSharding:
    """The shape of a parameter as a weight file has it, and the axes of each dimension; None where
    no axes of the dimensions say how views of the parameter are sharded, as of a fused weight."""
    shape: tuple[int, ...]
    axes: Layout | None


@dataclasses.dataclass(frozen=True)
class ModuleSharding:
    """The layouts of a module's first input and of its result, and the axes over which the
    module's own matmul gives partial sums."""
    input: Layout | None = None
    output: Layout | None = None
    output_partial: tuple[Axis, ...] = ()


@dataclasses.dataclass(frozen=True)
class Shardings:
    """Shardings of a model over a mesh. Names of tensors are those of weight files: torch's names
    in a state_dict, or JAX's pytree paths as `blocks.0.w`."""
    # Axes and their sizes, the outermost first.
    mesh: Mapping[str, int]
    tensors: Mapping[str, TensorSharding]
    # The fields of a plan that decide a layout, and those of the strategy: zero, sp, cp, pp, ...
    plan: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    modules: Mapping[str, ModuleSharding] = dataclasses.field(default_factory=dict)
    inputs: Mapping[str, Layout] = dataclasses.field(default_factory=dict)
    # The file, named in errors.
    file: str = "shardings"

    def apply_torch(self, model: torch.nn.Module, device_mesh: DeviceMesh) -> None:
        """Shards a torch module in place over a DeviceMesh with the names and sizes of `mesh`:
        linear layers and embeddings by `parallelize_module`, and over the axes of the batch by
        `fully_shard` (ZeRO 2 and 3) or `replicate`. All ranks call it with the same values.
        Afterwards create the optimizer, and give each rank its shard of the batch.

        Raises ShardingsError, before it changes the model, for what torch cannot say."""
        from . import shardings_torch
        shardings_torch.apply(self, model, device_mesh)

    def to_jax(self, params: Any, devices: Sequence[Any] | None = None) -> Any:
        """A pytree of NamedShardings like `params`, whose leaves are arrays or shapes. The mesh is
        of `devices` (default: the first of jax.devices()); an axis with sub-axes in use is several
        axes of it, `tp:(1)2` and `tp:(2)2`.

        Raises ShardingsError for a tensor that a NamedSharding cannot say."""
        from . import shardings_jax
        return shardings_jax.convert(self, params, devices)

    def to_jax_inputs(self, devices: Sequence[Any] | None = None) -> dict[str, Any]:
        """The NamedSharding of each input by name, on the mesh of `to_jax`."""
        from . import shardings_jax
        return shardings_jax.convert_inputs(self, devices)

    def to_sdy(self) -> str:
        """A module of MLIR as text: the `sdy.mesh`, and a function that has each tensor as an
        argument with its `#sdy.sharding`, at a location of its name. Element types are f32.

        Raises ShardingsError for a tensor without axes."""
        sizes = ", ".join(f"{quote(name)}={size}" for name, size in self.mesh.items())
        arguments = []
        for i, (name, tensor) in enumerate(self.tensors.items()):
            kind = "x".join([*map(str, tensor.shape), "f32"])
            layout = self.axes_of(name, "Shardy")
            axes = ", ".join("{" + ", ".join(map(spell_sdy, dim)) + "}" for dim in layout)
            arguments.append(f"    %arg{i}: tensor<{kind}> {{sdy.sharding = #sdy.sharding<@mesh, "
                             f"[{axes}]>}} loc({quote(name)})")
        body = ",\n".join(arguments)
        return (f"module @shardings {{\n  sdy.mesh @mesh = <[{sizes}]>\n"
                f"  func.func @tensors(\n{body}\n  ) {{\n    return\n  }}\n}}\n")

    @property
    def zero(self) -> int:
        """ZeRO's stage: 0 shards nothing, 1 the optimizer's state, 2 gradients, 3 parameters."""
        return int(self.plan.get("zero", 0))

    def check_plan(self, field: str, what: str, target: str) -> None:
        """Fails if the plan has a kind of parallelism that a target does not have."""
        value = self.plan.get(field, False)
        if value not in (False, 1) or value is True:
            self.fail(f"plan.{field}", f"{target} expects a strategy without {field} ({what}) but "
                      f"got {json.dumps(value)}")

    def axes_of(self, name: str, target: str) -> Layout:
        """The axes of a tensor. Fails for one with views, which the target cannot say."""
        axes = self.tensors[name].axes
        if axes is None:
            self.fail(f"tensors.{name}", f"{target} expects axes of its dimensions but got views, "
                      "as of weights that are fused and sharded apart")
        return axes

    def fail(self, path: str, text: str) -> NoReturn:
        """Raises an error at a path of the file."""
        raise ShardingsError(f"{self.file}: {path}: {text}")

    def check_names(self, path: str, names: Iterable[str], known: Iterable[str],
                    owner: str) -> None:
        """Fails for a name that is not among the known ones."""
        known = list(known)
        for name in names:
            if name not in known:
                self.fail(f"{path}.{name}", f"expects the name of {owner}{nearest(name, known)}")

    def check_shape(self, name: str, shape: Sequence[int]) -> None:
        """Fails if a tensor of the model has another shape than in the file."""
        got = list(self.tensors[name].shape)
        if got != list(shape):
            self.fail(f"tensors.{name}.shape", f"expects {list(shape)}, as in the model, but got "
                      f"{got}")


def load_shardings(path: str | os.PathLike[str]) -> Shardings:
    """Reads a file of shardings. Raises ShardingsError if it is not one."""
    file = os.fspath(path)
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "expects a file of JSON"
        raise ShardingsError(f"{file}: {reason}") from None
    return read_shardings(text, file)


def read_shardings(text: str, file: str) -> Shardings:
    """Reads the text of a file of shardings."""
    try:
        document = json.loads(text, object_pairs_hook=unique_keys)
    except RecursionError:
        raise ShardingsError(f"{file}: expects shardings but got lists without end") from None
    except ValueError as error:
        raise ShardingsError(f"{file}: expects JSON: {error}") from None
    return Reader(file).read(document)


def unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {quote(key)} is there twice")
        found[key] = value
    return found


def nearest(name: str, known: Sequence[str]) -> str:
    """The known name that is most like another one, for an error."""
    found = difflib.get_close_matches(name, known, 1, 0)
    return f" (nearest: {found[0]})" if found else ""


def quote(name: str) -> str:
    return json.dumps(name)


def spell_sdy(axis: Axis) -> str:
    suffix = "" if axis.is_whole else f":({axis.before}){axis.size}"
    return quote(axis.name) + suffix


def count_shards(axes: Iterable[Axis]) -> int:
    """The number of shards that axes divide a dimension into."""
    return math.prod(axis.size for axis in axes)


def spell(axes: Iterable[Axis]) -> str:
    """Axes as text for an error."""
    return "[" + ", ".join(map(str, axes)) + "]"


class Reader:
    """Checks a document of shardings. Errors name the file and the path in it."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.mesh: dict[str, int] = {}

    def fail(self, path: str, expected: str, got: Any) -> NoReturn:
        shown = json.dumps(got)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        place = f"{path}: " if path else ""
        raise ShardingsError(f"{self.file}: {place}expects {expected} but got {shown}")

    def read(self, document: Any) -> Shardings:
        if not isinstance(document, dict) or document.get("tessera") != KIND:
            self.fail("tessera", f'"{KIND}"',
                      document.get("tessera") if isinstance(document, dict) else document)
        if document.get("version") != VERSION or document["version"] is True:
            self.fail("version", str(VERSION), document.get("version"))
        self.check_keys(document, "", ("mesh", "tensors"), ("tessera", "version", "plan",
                                                            "strategy", "modules", "inputs",
                                                            "decisions"))
        self.mesh = self.read_mesh(document["mesh"])
        entries = {path: self.dictionary(document.get(path, {}), path)
                   for path in ("tensors", "modules", "inputs", "plan")}
        return Shardings(
            mesh=self.mesh,
            tensors={name: self.read_tensor(entry, f"tensors.{name}")
                     for name, entry in entries["tensors"].items()},
            plan=self.read_plan(entries["plan"], document.get("strategy", "")),
            modules={name: self.read_module(entry, f"modules.{name}")
                     for name, entry in entries["modules"].items()},
            inputs={name: self.read_input(entry, f"inputs.{name}")
                    for name, entry in entries["inputs"].items()},
            file=self.file)

    def read_mesh(self, value: Any) -> dict[str, int]:
        mesh = self.dictionary(value, "mesh")
        for name, size in mesh.items():
            if not re.fullmatch(r"[^:\"\\]+", name):
                self.fail("mesh", "names of axes without a colon or a quote", name)
            self.integer(size, f"mesh.{name}", 1)
        return mesh

    def read_plan(self, entry: dict[str, Any], strategy: Any) -> dict[str, Any]:
        self.check_keys(entry, "plan", (), FIELDS)
        for key, least in NUMBERS.items():
            self.integer(entry.get(key, least), f"plan.{key}", least)
        if entry.get("zero", 0) > 3:
            self.fail("plan.zero", "0 to 3", entry["zero"])
        if not isinstance(entry.get("sp", False), bool):
            self.fail("plan.sp", "true or false", entry["sp"])
        if not isinstance(strategy, str):
            self.fail("strategy", "a text", strategy)
        found: dict[str, Any] = {}
        for item in filter(None, strategy.split(",")):
            name, _, value = re.sub("@[^=]*", "", item).partition("=")
            if name in ("zero", "sp", "cp", "ep", "pp"):
                found[name] = int(value) if value.isdigit() else True
        return {**found, **entry}

    def read_tensor(self, value: Any, path: str) -> TensorSharding:
        entry = self.dictionary(value, path)
        self.check_keys(entry, path, ("shape",), ("axes", "views", "propagated"))
        sizes = self.array(entry["shape"], f"{path}.shape")
        shape = tuple(self.integer(size, f"{path}.shape", 0) for size in sizes)
        if ("axes" in entry) == ("views" in entry):
            self.fail(path, "either axes or views", list(entry))
        if "views" in entry:
            path += ".views"
            for view in self.array(entry["views"], path):
                self.layout(self.dictionary(view, path).get("axes"), f"{path}.axes")
            return TensorSharding(shape, None)
        axes = self.layout(entry["axes"], f"{path}.axes")
        if len(axes) != len(shape):
            self.fail(f"{path}.axes", f"{len(shape)} lists, one for each dimension of "
                      f"{list(shape)}", entry["axes"])
        return TensorSharding(shape, axes)

    def read_module(self, value: Any, path: str) -> ModuleSharding:
        entry = self.dictionary(value, path)
        self.check_keys(entry, path, (), ("input", "output", "output_partial"))
        layouts = {key: self.layout(entry[key], f"{path}.{key}")
                   for key in ("input", "output") if key in entry}
        partial = self.axes(entry.get("output_partial", []), f"{path}.output_partial")
        return ModuleSharding(layouts.get("input"), layouts.get("output"), partial)

    def read_input(self, value: Any, path: str) -> Layout:
        entry = self.dictionary(value, path)
        self.check_keys(entry, path, ("axes",), ("shape", "propagated"))
        return self.layout(entry["axes"], f"{path}.axes")

    def layout(self, value: Any, path: str) -> Layout:
        """The axes of each dimension; no device is used twice."""
        found = tuple(self.axes(dim, path) for dim in self.array(value, path))
        parts: dict[str, list[Axis]] = {}
        for axis in (axis for dim in found for axis in dim):
            others = parts.setdefault(axis.name, [])
            if any(axis.before < other.before * other.size and
                   other.before < axis.before * axis.size for other in others):
                self.fail(path, "each axis once", value)
            others.append(axis)
        return found

    def axes(self, value: Any, path: str) -> tuple[Axis, ...]:
        return merge([self.axis(text, path) for text in self.array(value, path)], self.mesh)

    def axis(self, text: Any, path: str) -> Axis:
        found = re.fullmatch(r"([^:]+)(?::\((\d{1,9})\)(\d{1,9}))?", text) \
            if isinstance(text, str) else None
        if not found:
            self.fail(path, "an axis, as tp or tp:(1)2", text)
        name = found.group(1)
        if name not in self.mesh:
            self.fail(path, f"an axis of the mesh ({', '.join(self.mesh)})", name)
        whole = self.mesh[name]
        if found.group(2) is None:
            return Axis(name, 1, whole, True)
        before, size = int(found.group(2)), int(found.group(3))
        if before < 1 or size < 2 or whole % (before * size):
            self.fail(path, f"a sub-axis that divides {name}={whole}", text)
        return Axis(name, before, size, size == whole)

    def check_keys(self, entry: Mapping[str, Any], path: str, required: Sequence[str],
                   allowed: Sequence[str]) -> None:
        known = [*required, *allowed]
        for key in required:
            if key not in entry:
                self.fail(path, f'a key "{key}"', list(entry))
        for key in entry:
            if key not in known:
                self.fail(path, f"a known key{nearest(key, known)}", key)

    def dictionary(self, value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            self.fail(path, "an object", value)
        return value

    def array(self, value: Any, path: str) -> list[Any]:
        if not isinstance(value, list):
            self.fail(path, "a list", value)
        return value

    def integer(self, value: Any, path: str, least: int) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            self.fail(path, f"an integer of at least {least}", value)
        return value


def merge(axes: Sequence[Axis], mesh: Mapping[str, int]) -> tuple[Axis, ...]:
    """Merges neighbouring sub-axes: `tp:(1)2`, `tp:(2)2` of 4 devices are `tp`."""
    merged: list[Axis] = []
    for axis in axes:
        last = merged[-1] if merged else None
        if last and last.name == axis.name and last.before * last.size == axis.before:
            size = last.size * axis.size
            merged[-1] = Axis(axis.name, last.before, size, size == mesh[axis.name])
        else:
            merged.append(axis)
    return tuple(merged)
