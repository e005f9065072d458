"""Does spmd_types, a type system for distributed PyTorch, accept the programs of the museum?

    python3 bench/trials/museum_spmd.py [FILE.mlir...]

Needs torch and `pip install spmd_types`. Each local function of test/museum is run as PyTorch under
spmd_types' global checker, op by op, on a fake process group; collectives say the types that they
expect: an all-reduce makes a partial value a replicated one. Arguments and results have the types
of their shardings. Prints a JSON line for each function and one of totals: "accepted", "rejected"
with the error, or "not expressible" with the op that has no translation here (maxima over ranks,
offsets, sends, ops on positions)."""

import argparse
import collections
import json
import pathlib
import re
import sys
import warnings

import spmd_types as spmd
import spmd_types.checker
import torch
from spmd_types._testing import fake_pg
from torch.distributed.device_mesh import init_device_mesh

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import museum  # noqa: E402

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "i1": torch.bool, "i32": torch.int32}
UNARY = {"math.exp": torch.exp, "math.log": torch.log, "math.sqrt": torch.sqrt,
         "math.rsqrt": torch.rsqrt, "math.absf": torch.abs, "math.exp2": torch.exp2,
         "arith.negf": torch.neg, "nn.silu": torch.nn.functional.silu}
BINARY = {"arith.addf": torch.add, "arith.subf": torch.sub, "arith.mulf": torch.mul,
          "arith.divf": torch.div}
# Function, types before and after; None: sharded in the op's first or last dimension.
COLLECTIVES = {"all_reduce": (spmd.all_reduce, spmd.P, spmd.R),
               "all_gather": (spmd.all_gather, None, spmd.R),
               "reduce_scatter": (spmd.reduce_scatter, spmd.P, None),
               "all_slice": (spmd.convert, spmd.R, None),
               "all_to_all": (spmd.all_to_all, None, None)}
TENSOR = re.compile(r"tensor<((?:\d+x)*)(\w+)>")
OP = re.compile(r"(%\w+) = ([\w.]+) (.*)")


class NotExpressible(Exception):
    """An op that has no translation."""


def read_dims(text):
    """The axes of each dimension of a sharding, empty without one."""
    match = re.search(r"#dist\.sharding<@mesh, \[(.*?)\]>", text)
    dims = re.findall(r"\{(.*?)\}", match[1]) if match else []
    return [re.findall(r'"(\w+)"', dim) for dim in dims]


def assert_sharding(value, text, groups):
    """Gives a value the type that a boundary declares, or checks it."""
    types = {group: spmd.R for group in groups.values()}
    for dim, axes in enumerate(read_dims(text)):
        if len(axes) > 1:
            raise NotExpressible("a dimension over two axes")
        types |= {groups[axis]: spmd.S(dim) for axis in axes}
    spmd.assert_type(value, types)


def read_type(text):
    shape, element = TENSOR.search(text).groups()
    if element not in TYPES:
        raise NotExpressible(element)
    return [int(size) for size in shape.split("x")[:-1]], TYPES[element]


def numbers(text):
    return [int(number) for number in re.findall(r"-?\d+", text)]


def broadcast(value, dims, rank):
    """Adds dimensions of one element: PyTorch's ops broadcast them."""
    if isinstance(value, float):
        return value
    for dim in range(rank):
        if dim not in dims:
            value = value.unsqueeze(dim)
    return value


def communicate(kind, value, text, groups):
    """A collective; its name says the types before and after it."""
    if kind not in COLLECTIVES:
        raise NotExpressible(f"dist.{kind}")
    axes = re.findall(r'"(\w+)"', re.search(r"over <\{(.*?)\}>", text)[1])
    dims = numbers(re.sub(r"%\w+", "", text.partition(" over ")[0]))
    if re.search(r"<(max|min)>", text):
        raise NotExpressible("a reduction other than a sum")
    for axis in axes:
        function, before, after = COLLECTIVES[kind]
        types = dict(src=before or spmd.S(dims[0]), dst=after or spmd.S(dims[-1]))
        value = function(value, groups[axis], **types)
    return value


def run_op(name, text, values, groups):
    """The result of an op, a tensor or the number of a constant."""
    operands = [values[operand] for operand in re.findall(r"%\w+", text)]
    number = re.match(r"dense<(-?[\d.e+-]+)> : tensor<.*f32>", text)
    if name == "arith.constant" and number:
        return float(number[1])
    if name in UNARY:
        return UNARY[name](*operands)
    if name in BINARY:
        return BINARY[name](*operands)
    if name == "nn.einsum":
        return torch.einsum(re.match(r'"(.*?)"', text)[1], *operands)
    if name == "nn.reduce" and text.startswith("<sum>"):
        return torch.sum(operands[0], numbers(re.search(r"dims \[(.*?)\]", text)[1]))
    if name == "nn.broadcast":
        shape, _ = read_type(text.rpartition("->")[2])
        return broadcast(operands[0], numbers(re.search(r"dims \[(.*?)\]", text)[1]), len(shape))
    if name == "nn.softmax":
        return torch.softmax(operands[0], numbers(re.search(r"dim (\d+)", text)[1])[0])
    if name == "nn.transpose":
        return operands[0].permute(numbers(re.search(r"\[(.*?)\]", text)[1]))
    if name in ("arith.uitofp", "arith.truncf", "arith.extf"):
        return operands[0].to(read_type(text.rpartition(" to ")[2])[1])
    if name.startswith("dist."):
        kind = name.removeprefix("dist.")
        return communicate(kind, operands[0] if operands else None, text, groups)
    raise NotExpressible(name)


def run_function(function, groups):
    """Runs a local function on values of its boundary's types."""
    header, _, body = function.partition(" {\n")
    arguments, results = re.split(r"\)\s+-> ", header)
    values = {}
    for name, text in re.findall(r"(%\w+): (tensor<.*?)(?=,?\s*%|\Z)", arguments, re.DOTALL):
        shape, element = read_type(text)
        with spmd.no_typecheck():
            values[name] = torch.ones(shape).to(element)
        assert_sharding(values[name], text, groups)
    for line in body.splitlines():
        if match := OP.fullmatch(line.strip()):
            values[match[1]] = run_op(match[2], match[3], values, groups)
        elif line.strip().startswith("return "):
            names = re.findall(r"%\w+", line)
            texts = re.findall(r"tensor<.*?(?=,\s+tensor<|\Z)", results, re.DOTALL)
            for name, text in zip(names, texts):
                assert_sharding(values[name], text, groups)
        elif line.strip().strip("}") and not line.strip().startswith("//"):
            raise NotExpressible(re.search(r"\w+\.\w+", line)[0])


def judge(case, function):
    axes = dict(re.findall(r'"(\w+)"=(\d+)', case.mesh))
    sizes = tuple(map(int, axes.values()))
    with fake_pg(torch.Size(sizes).numel()):
        mesh = init_device_mesh("cpu", sizes, mesh_dim_names=tuple(axes))
        groups = {axis: mesh.get_group(axis) for axis in axes}
        with spmd.set_current_mesh(mesh), spmd_types.checker.typecheck(local=False):
            try:
                run_function(function, groups)
            except NotExpressible as error:
                return "not expressible", str(error)
            except (spmd.SpmdTypeError, RuntimeError, ValueError) as error:
                return "rejected", f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return "accepted", None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", help="ignored: nothing of a build is used")
    parser.add_argument("files", type=pathlib.Path, nargs="*", help="default: all of test/museum")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    totals = collections.defaultdict(collections.Counter)
    for path in options.files or sorted(museum.FOLDER.glob("*.mlir")):
        case = museum.read_case(path)
        for name, function in case.functions.items():
            answer, reason = judge(case, function)
            print(json.dumps({"function": name, "spmd_types": answer, "reason": reason}))
            totals["wrong" if name.endswith("_wrong") else "right"][answer] += 1
    print(json.dumps(totals))


if __name__ == "__main__":
    main()
