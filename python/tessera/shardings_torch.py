"""Applies shardings to a torch module, by torch's own APIs.

A linear layer whose weight is sharded on its outputs is ColwiseParallel, on its inputs
RowwiseParallel; an embedding likewise. Between a column-parallel layer and the row-parallel one
that takes its result (q, k, v and the output of attention; the two sides of an MLP) values stay
sharded, and the module's own code runs on a rank's heads or columns. Elsewhere values are whole.
All is decided and checked before the module is changed. docs/shardings.md has the rules."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any, Iterable, Mapping, Sequence

import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard

from .shardings import Axis, Layout, Shardings, count_shards, nearest, spell

Axes = tuple[Axis, ...]
# Names of the mesh's axes; none where values are whole.
Names = tuple[str, ...]
# Attributes that hold a number of heads, as num_heads, n_kv_heads, heads and h do.
HEADS = re.compile(r"h|nh|heads|.*_heads|n_?heads?|num_?heads?|.*_n_head")


@dataclasses.dataclass
class Layer:
    """A linear layer or an embedding whose weight is sharded."""
    name: str
    module: nn.Linear | nn.Embedding
    # The dimension of the weight that is sharded, and over which axes.
    dim: int
    axes: Names
    # True if the input of a row-parallel layer or the result of a column-parallel one is sharded.
    is_paired: bool = False

    @property
    def is_column(self) -> bool:
        """True if the features of the result are divided."""
        return self.dim == (0 if isinstance(self.module, nn.Linear) else 1)


@dataclasses.dataclass
class Region:
    """Column-parallel layers and the row-parallel layer that takes their result, in a module."""
    owner: str
    columns: list[Layer]
    row: Layer


def apply(shardings: Shardings, model: nn.Module, device_mesh: DeviceMesh) -> None:
    """Checks all, then changes the model."""
    check_mesh(shardings, device_mesh)
    batch = find_batch(shardings)
    check_plan(shardings, batch)
    check_parameters(shardings, model, batch)
    layers = find_layers(shardings, model, batch)
    check_modules(shardings, model, layers, batch)
    for region in find_regions(shardings, model, layers):
        check_region(shardings, model, region, {layer.name for layer in layers})
        for layer in [*region.columns, region.row]:
            layer.is_paired = True
    replicate = find_replicate(shardings) if batch and shardings.zero == 0 else None
    ties = find_ties(model)
    for layer in layers:
        shard_layer(layer, device_mesh)
    for (owner, key), *others in ties:
        for module, name in others:
            module.register_parameter(name, owner.get_parameter(key))
    if batch:
        shard_batch(model, submesh(device_mesh, batch), shardings.zero, replicate)


# The mesh and the plan.


def large_axes(names: Sequence[str], sizes: Sequence[int]) -> dict[str, int]:
    """Axes of more than one device, in order."""
    return {name: size for name, size in zip(names, sizes) if size > 1}


def check_mesh(shardings: Shardings, device_mesh: DeviceMesh) -> None:
    """Fails if the device mesh has other axes; those of one device may be left out."""
    expected = large_axes(list(shardings.mesh), list(shardings.mesh.values()))
    text = ", ".join(f"{name}={size}" for name, size in expected.items()) or "one device"
    if device_mesh.mesh_dim_names is None:
        shardings.fail("mesh", f"expects a DeviceMesh with names, of {text}, but got one of "
                       f"{tuple(device_mesh.shape)} without")
    found = large_axes(device_mesh.mesh_dim_names, list(device_mesh.shape))
    if list(found.items()) != list(expected.items()):
        got = ", ".join(f"{name}={size}" for name, size in found.items()) or "one device"
        shardings.fail("mesh", f"expects a DeviceMesh of {text} but got {got}")


def whole_names(shardings: Shardings, path: str, axes: Axes) -> Names:
    """The names of axes, which torch shards whole, without those of one device."""
    for axis in axes:
        if not axis.is_whole:
            shardings.fail(path, f"torch expects whole axes of the mesh but got {axis} of "
                           f"{axis.name}={shardings.mesh[axis.name]}, as of fewer key/value heads "
                           "than devices")
    return tuple(axis.name for axis in axes if axis.size > 1)


def find_batch(shardings: Shardings) -> Names:
    """The axes of the batch: those of the first dimension of the inputs."""
    batch: Names = ()
    for name, layout in shardings.inputs.items():
        path = f"inputs.{name}.axes"
        dims = [whole_names(shardings, path, axes) for axes in layout]
        if any(dims[1:]):
            shardings.fail(path, "torch shards the first dimension of an input, the batch, alone "
                           f"but got {shown(layout)}")
        found = dims[0] if dims else ()
        if batch and found and found != batch:
            shardings.fail(path, f"expects the axes of the other inputs ({', '.join(batch)}) but "
                           f"got {', '.join(found)}")
        batch = batch or found
    return batch


def check_plan(shardings: Shardings, batch: Names) -> None:
    if shardings.zero == 1 and batch:
        shardings.fail("plan.zero", "torch shards parameters (3), gradients (2) or nothing (0) but "
                       "got 1")
    for field, what in (("sp", "sequence parallelism"), ("cp", "context parallelism"),
                        ("pp", "pipeline stages"), ("ep", "expert parallelism")):
        shardings.check_plan(field, what, "torch")


def find_replicate(shardings: Shardings) -> Any:
    """torch's `replicate` with DTensor parameters, which an optimizer may hold."""
    try:
        from torch.distributed._composable.replicate_with_fsdp import replicate
    except ImportError:
        shardings.fail("plan.zero", f"expects zero=2 or 3 with torch {torch.__version__}, which "
                       "does not replicate DTensor parameters")
    return replicate


# Parameters.


def check_parameters(shardings: Shardings, model: nn.Module, batch: Names) -> None:
    """Fails for a parameter that is sharded already, or that FSDP does not take."""
    for name, parameter in model.named_parameters():
        if isinstance(parameter, DTensor):
            shardings.fail(f"tensors.{name}", "torch expects a parameter that is not sharded yet "
                           "but got a DTensor")
        if batch and not (parameter.ndim and parameter.is_contiguous()):
            shardings.fail(f"tensors.{name}", "FSDP expects a contiguous parameter with dimensions "
                           f"but got sizes {list(parameter.shape)} and strides "
                           f"{list(parameter.stride())}")


def tensors_of(model: nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and buffers under each of their names."""
    return {**dict(model.named_buffers(remove_duplicate=False)),
            **dict(model.named_parameters(remove_duplicate=False))}


def find_names(shardings: Shardings, model: nn.Module) -> dict[str, str]:
    """The name in the file of each of the model's parameters, which are there under one of their
    names."""
    known = tensors_of(model)
    shardings.check_names("tensors", shardings.tensors, known, "a parameter of the model")
    for name in shardings.tensors:
        shardings.check_shape(name, known[name].shape)
    groups: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        groups.setdefault(id(parameter), []).append(name)
    found: dict[str, str] = {}
    for names in groups.values():
        listed = [name for name in names if name in shardings.tensors]
        if not listed:
            shardings.fail("tensors", f"expects {names[0]}, which the model has"
                           f"{nearest(names[0], list(shardings.tensors))}")
        for other in listed[1:]:
            if shardings.tensors[other] != shardings.tensors[listed[0]]:
                shardings.fail(f"tensors.{other}", f"expects the axes of {listed[0]}, which is the "
                               "same parameter")
        found.update(dict.fromkeys(names, listed[0]))
    return found


def find_axes(shardings: Shardings, name: str, batch: Names) -> list[Names]:
    """The axes of each dimension of a parameter, without those of the batch, which FSDP divides
    in its own way."""
    path = f"tensors.{name}"
    dims = [whole_names(shardings, path, axes) for axes in shardings.axes_of(name, "torch")]
    for axis in (axis for dim in dims for axis in dim):
        if axis in batch and shardings.zero != 3:
            shardings.fail(path, f"torch shards parameters over axes of the batch ({axis}) with "
                           f"zero=3 alone but got zero={shardings.zero}")
    return [tuple(axis for axis in dim if axis not in batch) for dim in dims]


def find_layers(shardings: Shardings, model: nn.Module, batch: Names) -> list[Layer]:
    """The sharded layers. Fails for any other sharded tensor."""
    names = find_names(shardings, model)
    axes = {name: find_axes(shardings, name, batch) for name in shardings.tensors}
    layers = []
    for owner, module in model.named_modules():
        own = {key: names[join(owner, key)] for key, _ in module.named_parameters(recurse=False)}
        if not any(any(axes[name]) for name in own.values()):
            continue
        check_layer(shardings, owner, module, own)
        layers.append(make_layer(shardings, owner, module, own, axes))
    sharded = {name for name, dims in axes.items() if any(dims)}
    for name in sorted(sharded - set(names.values())):
        shardings.fail(f"tensors.{name}", "torch expects a buffer without axes but got "
                       f"{shown(shardings.axes_of(name, 'torch'))}")
    return layers


def check_layer(shardings: Shardings, owner: str, module: nn.Module,
                own: Mapping[str, str]) -> None:
    """Fails for a module that torch's parallel styles do not compute."""
    path = f"tensors.{own.get('weight') or next(iter(own.values()))}"
    for kind in (nn.Linear, nn.Embedding):
        if isinstance(module, kind):
            if type(module).forward is not kind.forward or set(own) - {"weight", "bias"}:
                shardings.fail(path, f"torch shards nn.{kind.__name__} but {owner} is a "
                               f"{type(module).__name__}, with a forward or parameters of its own")
            break
    else:
        shardings.fail(path, "torch shards parameters of nn.Linear and nn.Embedding but "
                       f"{owner or 'the model'} is a {type(module).__name__}")
    if isinstance(module, nn.Embedding) and (module.max_norm is not None or module.sparse or
                                             module.scale_grad_by_freq):
        shardings.fail(path, f"torch shards embeddings without max_norm, sparse and "
                       f"scale_grad_by_freq, but {owner} has one")


def make_layer(shardings: Shardings, owner: str, module: nn.Module, own: Mapping[str, str],
               axes: Mapping[str, list[Names]]) -> Layer:
    """The layer of a module: one dimension of its weight is sharded, and its bias if that is a
    dimension of the result."""
    assert isinstance(module, (nn.Linear, nn.Embedding))
    path = f"tensors.{own['weight']}"
    dims = axes[own["weight"]]
    sharded = [dim for dim in (0, 1) if dims[dim]]
    if len(sharded) != 1:
        shardings.fail(path, "torch expects one sharded dimension of a weight but got "
                       f"{shown(shardings.axes_of(own['weight'], 'torch'))}")
    layer = Layer(owner, module, sharded[0], dims[sharded[0]])
    if "bias" in own:
        expected = [layer.axes if layer.is_column else ()]
        if axes[own["bias"]] != expected:
            shardings.fail(f"tensors.{own['bias']}", f"expects the axes of {own['weight']}'s "
                           f"result, [{', '.join(expected[0])}], but got "
                           f"[{', '.join(axes[own['bias']][0])}]")
    return layer


# Layouts of modules, and values that stay sharded.


def check_modules(shardings: Shardings, model: nn.Module, layers: Sequence[Layer],
                  batch: Names) -> None:
    """Fails for a layout that torch does not give: of modules with parameters only the batch may
    be sharded, and the features of a layer."""
    modules = dict(model.named_modules())
    shardings.check_names("modules", shardings.modules, modules, "a module of the model")
    # The value of a layer whose last dimension is sharded as the weight.
    features = {(layer.name, "output" if layer.is_column else "input"): layer.axes
                for layer in layers}
    for name, module in shardings.modules.items():
        if not any(True for _ in modules[name].parameters(recurse=False)):
            continue
        for key, layout in (("input", module.input), ("output", module.output)):
            path = f"modules.{name}.{key}"
            dims = [whole_names(shardings, path, axes) for axes in layout or ()]
            if not set(dims[0] if dims else ()) <= set(batch):
                shardings.fail(path, f"torch expects the batch over [{', '.join(batch)}] but got "
                               f"{shown(layout)}")
            last = dims[-1] if len(dims) > 1 else ()
            if any(dims[1:-1]) or (last and last != features.get((name, key))):
                shardings.fail(path, "torch expects values sharded over the batch, or over the "
                               f"rows or columns of a layer's weight, but got {shown(layout)}")


def find_regions(shardings: Shardings, model: nn.Module,
                 layers: Sequence[Layer]) -> list[Region]:
    """Pairs each row-parallel linear layer with the column-parallel ones before it in the smallest
    module that has both. Layers without a pair have whole inputs and results."""
    linears = [layer for layer in layers if isinstance(layer.module, nn.Linear)]
    order = {name: i for i, (name, _) in enumerate(model.named_modules())}
    owners = {row.name: find_owner(row, linears) for row in linears if not row.is_column}
    regions: dict[str, Region] = {}
    for column in (layer for layer in linears if layer.is_column):
        rows = [row for row in linears if not row.is_column and row.axes == column.axes
                and is_inside(column.name, owners[row.name])]
        depth = max((len(owners[row.name] or "") for row in rows), default=0)
        later = [row for row in rows if len(owners[row.name] or "") == depth
                 and order[row.name] > order[column.name]]
        if later:
            row = min(later, key=lambda layer: order[layer.name])
            region = regions.setdefault(row.name, Region(owners[row.name] or "", [], row))
            region.columns.append(column)
    return [region for region in regions.values() if is_kept(shardings, region)]


def find_owner(row: Layer, linears: Sequence[Layer]) -> str | None:
    """The smallest module with a row-parallel layer and column-parallel ones of its axes."""
    name = row.name
    while name:
        name = name.rpartition(".")[0]
        if any(other.is_column and other.axes == row.axes and is_inside(other.name, name)
               for other in linears):
            return name
    return None


def is_kept(shardings: Shardings, region: Region) -> bool:
    """False if the file says that a value between the layers is whole."""
    row = shardings.modules.get(region.row.name)
    columns = [shardings.modules.get(column.name) for column in region.columns]
    layouts = [row and row.input, *(column and column.output for column in columns)]
    return all(layout is None or bool(layout and layout[-1]) for layout in layouts)


def check_region(shardings: Shardings, model: nn.Module, region: Region,
                 sharded: set[str]) -> None:
    """Fails if the code between the layers may compute with a parameter that is not sharded, such
    as whole keys or a norm of heads: the parameter's gradient would be a partial sum. Those are
    all parameters that are listed between the layers, and others next to them that by their sizes
    do not belong to whole values."""
    row, first = region.row, region.columns[0]
    order = {name: i for i, (name, _) in enumerate(model.named_modules())}
    paired = {layer.name for layer in [*region.columns, row]}
    near = {region.owner, *(name.rpartition(".")[0] for name in paired)}
    whole = {row.module.weight.shape[0], first.module.weight.shape[1]}
    for name, module in model.named_modules():
        if name in paired or not is_inside(name, region.owner):
            continue
        own = [join(name, key) for key, _ in module.named_parameters(recurse=False)]
        if not order[first.name] < order[name] < order[row.name]:
            is_near = name in near or name.rpartition(".")[0] in near
            is_later = order[name] > order[row.name]
            if name in sharded or not is_near or takes_whole(module, whole, is_later):
                continue
        if own:
            shardings.fail(f"tensors.{own[0]}", f"torch expects the axes of {first.name}.weight, "
                           f"since the input of {row.name} is sharded, but got "
                           f"{shown_tensor(shardings, own[0])}")
    for layer in [*region.columns, row]:
        check_division(shardings, model, layer)
    for name in sorted(near):
        owner = model.get_submodule(name)
        for module in [owner, *(child for child in owner.children() if is_plain(child))]:
            check_code(shardings, name, module)


def is_plain(module: nn.Module) -> bool:
    """True for a module without parameters, as the core of an attention may be."""
    return not any(True for _ in module.parameters())


def check_code(shardings: Shardings, name: str, module: nn.Module) -> None:
    """Fails if the forward of a module reads the number of all heads: what it does with a rank's
    heads may then be something else, as `view(batch, -1, num_heads, head_dim)` is."""
    owners = [module, *(value for value in vars(module).values() if not callable(value))]
    for word in sorted(filter(HEADS.fullmatch, find_words(module))):
        found = [value for value in (getattr(owner, word, None) for owner in owners)
                 if type(value) is int]
        if found:
            shardings.fail(f"modules.{name}", f"torch expects a forward that takes the number of "
                           "heads from its tensors, as view(*shape, -1, head_dim) does, but "
                           f"{type(module).__name__} reads {word}={found[0]}")


def find_words(module: nn.Module) -> set[str]:
    """The names that a module's forward, and the module's methods that it calls, read."""
    words: set[str] = set()
    pending = ["forward"]
    while pending:
        name = pending.pop()
        methods = [vars(kind).get(name) for kind in type(module).__mro__ if kind is not nn.Module]
        codes = [getattr(inspect.unwrap(method), "__code__", None)
                 for method in methods if callable(method)]
        while codes:
            code = codes.pop()
            pending += set(getattr(code, "co_names", ())) - words
            words.update(getattr(code, "co_names", ()))
            codes += filter(inspect.iscode, getattr(code, "co_consts", ()))
    return words


def takes_whole(module: nn.Module, whole: set[int], is_later: bool) -> bool:
    """True for a module that by its parameters computes with ids or with whole values: the input
    of the column-parallel layers, or the result of the row-parallel one, as a head `is_later`."""
    if isinstance(module, nn.Embedding):
        return True
    if is_later and isinstance(module, nn.Linear):
        return module.in_features in whole
    return all(set(parameter.shape) <= whole for parameter in module.parameters(recurse=False))


def check_division(shardings: Shardings, model: nn.Module, layer: Layer) -> None:
    """Fails if devices would have shards of different sizes between two layers, or parts of a head,
    in modules that have their `head_dim`."""
    path = f"tensors.{layer.name}.weight"
    size, shards = layer.module.weight.shape[layer.dim], count_devices(shardings, layer.axes)
    if size % shards:
        shardings.fail(path, f"torch expects a dimension that {', '.join(layer.axes)} ({shards} "
                       f"devices) divides but got {size}")
    head = getattr(model.get_submodule(layer.name.rpartition(".")[0]), "head_dim", None)
    if isinstance(head, int) and head > 0 and size // shards % head:
        shardings.fail(path, f"torch expects whole heads of {head} on each device but got "
                       f"{size // shards} of {size}, as of fewer heads than devices")


# Changes.


def submesh(device_mesh: DeviceMesh, names: Names) -> DeviceMesh:
    """The devices along some axes as one axis."""
    if len(names) == 1:
        return device_mesh[names[0]]
    return device_mesh[names]._flatten("_".join(names))


def find_ties(model: nn.Module) -> list[list[tuple[nn.Module, str]]]:
    """The modules and names of each parameter that several modules have."""
    places: dict[int, list[tuple[nn.Module, str]]] = {}
    for module in model.modules():
        for key, parameter in module.named_parameters(recurse=False, remove_duplicate=False):
            places.setdefault(id(parameter), []).append((module, key))
    return [found for found in places.values() if len(found) > 1]


def shard_layer(layer: Layer, device_mesh: DeviceMesh) -> None:
    """Applies torch's parallel style to a layer."""
    from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel,
                                                   parallelize_module)
    inner = Shard(-1) if layer.is_paired else Replicate()
    style = ColwiseParallel(output_layouts=inner) if layer.is_column else \
        RowwiseParallel(input_layouts=inner)
    parallelize_module(layer.module, submesh(device_mesh, layer.axes), style)


def find_blocks(model: nn.Module) -> list[nn.Module]:
    """The modules in the outermost lists of modules, which are gathered one by one: those that
    share no parameter with another module."""
    uses: dict[int, int] = {}
    for parameter in (p for module in model.modules() for p in module.parameters(recurse=False)):
        uses[id(parameter)] = uses.get(id(parameter), 0) + 1
    lists = [name for name, module in model.named_modules() if isinstance(module, nn.ModuleList)]
    outer = [name for name in lists
             if not any(other != name and is_inside(name, other) for other in lists)]
    blocks = [block for name in outer for block in model.get_submodule(name).children()]
    return [block for block in dict.fromkeys(blocks)
            if not isinstance(block, (nn.ModuleList, nn.ModuleDict))
            and any(True for _ in block.parameters())
            and all(uses[id(parameter)] == 1 for parameter in block.parameters())]


def shard_batch(model: nn.Module, mesh: DeviceMesh, zero: int, replicate: Any) -> None:
    """Shards blocks and the rest of a model over the axes of the batch."""
    from torch.distributed.fsdp import fully_shard
    for module in [*find_blocks(model), model]:
        if zero == 0:
            replicate(module, mesh=mesh)
        else:
            fully_shard(module, mesh=mesh, reshard_after_forward=zero == 3)


# Names and texts.


def join(owner: str, key: str) -> str:
    return f"{owner}.{key}" if owner else key


def is_inside(name: str, owner: str | None) -> bool:
    return owner is not None and (not owner or name == owner or name.startswith(owner + "."))


def count_devices(shardings: Shardings, names: Iterable[str]) -> int:
    return count_shards(Axis(name, 1, shardings.mesh[name], True) for name in names)


def shown(layout: Layout | None) -> str:
    return "[" + ", ".join(map(spell, layout or ())) + "]"


def shown_tensor(shardings: Shardings, name: str) -> str:
    tensor = shardings.tensors.get(name)
    return shown(tensor.axes) if tensor and tensor.axes is not None else "no axes"
