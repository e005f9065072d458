"""Imports the node tests of the onnx package and compares the graphs with the expected outputs.

onnx_node_tests.py [--build DIR] [--modules NAME,...] [--opset N] [--list]

A test is a model of one op, or of the function that defines it, with inputs and outputs. Those of
static tensors of float, double, int32, int64 and bool are imported in two forms, with all inputs as
inputs, and with all but the first as initializers, and in the opset of the test, at least 13 and at
most 23. A graph that is imported must have the outputs, to 1e-5 of the largest number of a tensor.
`--modules` names modules of onnx.backend.test.case.node; `--opset` takes another opset for all
tests that onnx's checker accepts there. Prints a line for each test whose graph has other outputs,
or fails later than in the importer, with `--list` also a line for each test that is refused, and
one JSON line of counts. Exit status 1 for a wrong graph, or if there is no test."""

import argparse
import collections
import importlib
import json
import pathlib
import pkgutil
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
# Elements of the tensors of tests that are run.
ELEMENTS = {"float32", "float64", "int32", "int64", "bool"}
# Tests whose expected outputs are rounded, and the error that follows.
ROUNDED = {"test_averagepool_2d_ceil_last_window_starts_on_pad": 2e-4}
# Tests whose graphs are verified together.
BATCH = 60


def collect(modules):
    """The node tests of modules, or of all."""
    from onnx.backend.test.case import node
    names = modules or sorted(item.name for item in pkgutil.iter_modules(node.__path__))
    for name in names:
        importlib.import_module(f"{node.__name__}.{name}")
    return node._NodeTestCases


def is_static(array):
    return hasattr(array, "dtype") and array.dtype.name in ELEMENTS and array.size > 0


def is_plain(case):
    """True if all inputs and outputs are static tensors of the elements above."""
    import onnx
    infos = [*case.model.graph.input, *case.model.graph.output]
    kinds = [info.type.tensor_type for info in infos]
    names = {"float64": "DOUBLE", "float32": "FLOAT"}
    allowed = {getattr(onnx.TensorProto, names.get(name, name.upper())) for name in ELEMENTS}
    arrays = [array for part in case.data_sets[0] for array in part]
    return all(kind.elem_type in allowed and kind.HasField("shape") and
               all(size.HasField("dim_value") for size in kind.shape.dim) for kind in kinds) and \
        len(arrays) == len(infos) and all(map(is_static, arrays)) and \
        all(opset.domain in ("", "ai.onnx") for opset in case.model.opset_import)


def with_opset(model, opset):
    """The model in another opset; none if it is not valid there."""
    import onnx
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for item in result.opset_import:
        item.version = opset
    result.ir_version = 10
    try:
        onnx.checker.check_model(result, full_check=True)
    except Exception:  # The checker's exceptions have no common base class.
        return None
    return result


def with_initializers(model, arrays):
    """The model with all inputs but the first as initializers."""
    import onnx
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for info, array in list(zip(model.graph.input, arrays))[1:]:
        result.graph.input.remove(info)
        result.graph.initializer.append(onnx.numpy_helper.from_array(array, info.name))
    return result


class Form:
    """A model to import, its inputs and its expected outputs by name."""

    def __init__(self, name, op, model, inputs, outputs):
        self.name, self.op, self.model = name, op, model
        self.inputs, self.outputs = inputs, outputs


def list_forms(case, opset):
    """The forms of a test, with the opset that it has or is given."""
    given, expected = case.data_sets[0]
    versions = [item.version for item in case.model.opset_import]
    model = with_opset(case.model, opset or min(max(max(versions), 13), 23))
    if model is None:
        return
    outputs = dict(zip((info.name for info in model.graph.output), expected))
    op = re.sub("^test_", "", case.name) if len(model.graph.node) != 1 else \
        model.graph.node[0].op_type
    forms = [(case.name, model, given)]
    if len(given) > 1:
        forms.append((f"{case.name} (initializers)", with_initializers(model, given), given[:1]))
    for name, form, arrays in forms:
        inputs = dict(zip((info.name for info in form.graph.input), arrays))
        yield Form(name, op, form, inputs, outputs)


def import_alone(form, folder):
    """The importer's message; none if it takes the form."""
    import onnx
    from tessera import onnx_import
    from tessera.errors import ImportFailure
    path = folder / "one.onnx"
    onnx.save(form.model, path)
    try:
        onnx_import.read_file(path)
    except ImportFailure as failure:
        return str(failure).removeprefix(f"{path}: ")
    return None


def merge(forms):
    """One model of the forms, whose names have numbers before them."""
    import onnx
    from onnx import compose
    merged = onnx.ModelProto()
    merged.CopyFrom(forms[0].model)
    merged.ClearField("graph")
    merged.graph.name = "forms"
    inputs, outputs = {}, {}
    for i, form in enumerate(forms):
        prefix = f"f{i}_"
        graph = compose.add_prefix(form.model, prefix).graph
        for field in ("node", "input", "output", "initializer"):
            getattr(merged.graph, field).extend(getattr(graph, field))
        inputs |= {prefix + name: array for name, array in form.inputs.items()}
        outputs |= {prefix + name: (array, i) for name, array in form.outputs.items()}
    keep_names(merged.graph, outputs)
    return merged, inputs, outputs


def keep_names(graph, outputs):
    """Gives scalar results a dimension, since the importer names one that is a loss."""
    import numpy
    import onnx
    graph.initializer.append(onnx.numpy_helper.from_array(numpy.array([0]), "first"))
    for name, (array, i) in outputs.items():
        if array.ndim:
            continue
        for node in graph.node:
            for j, output in enumerate(node.output):
                if output == name:
                    node.output[j] = f"{name}_scalar"
        graph.node.append(onnx.helper.make_node("Unsqueeze", [f"{name}_scalar", "first"], [name]))
        outputs[name] = (array[None], i)


def compare(forms, folder, tessera):
    """The wrong outputs of forms by index, or one message where the graph fails."""
    import numpy
    import onnx
    from tessera import check, onnx_import
    from tessera.errors import ImportFailure
    model, inputs, outputs = merge(forms)
    path, graph = folder / "forms.onnx", folder / "forms.mlir"
    onnx.save(model, path)
    try:
        text, weights, *_ = onnx_import.read_file(path)
        done = subprocess.run([tessera, "import", "-", "-o", graph], input=text, text=True,
                              capture_output=True)
        if done.returncode:
            return done.stderr.strip().splitlines()[-1]
        arguments = check.read_arguments(graph.read_text())
        shutil.rmtree(folder / "inputs", ignore_errors=True)
        (folder / "inputs").mkdir()
        for name, parameter in arguments.items():
            view = check.view_of(weights[parameter.tensor], parameter)
            numpy.save(folder / "inputs" / f"{name}.npy", numpy.array(view, order="C"))
        for name, array in inputs.items():
            numpy.save(folder / "inputs" / f"{name}.npy", numpy.array(array, order="C"))
        results = check.interpret(tessera, graph, folder, ["--forward"])
    except ImportFailure as failure:
        return str(failure)
    wrong = {}
    for name, (array, i) in outputs.items():
        found = numpy.load(results / f"{name}.npy")
        if found.shape != array.shape or found.dtype != array.dtype:
            wrong[i] = f"{found.dtype}{list(found.shape)} for {array.dtype}{list(array.shape)}"
            continue
        error = check.difference(found, array, check.largest(array))
        if not error <= ROUNDED.get(forms[i].name, check.FLOORS["f32"][0]):
            wrong[i] = f"differs by {error:.2g}"
    return wrong


def judge(forms, folder, tessera):
    """A message for each form that is wrong or fails."""
    found = compare(forms, folder, tessera)
    if isinstance(found, dict):
        return [(forms[i], message) for i, message in found.items()]
    if len(forms) == 1:
        return [(forms[0], found)]
    half = len(forms) // 2
    return judge(forms[:half], folder, tessera) + judge(forms[half:], folder, tessera)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--modules", default="")
    parser.add_argument("--opset", type=int)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    cases = collect([name for name in options.modules.split(",") if name])
    taken, refused = collections.defaultdict(list), {}
    tests, accepted = set(), set()
    with tempfile.TemporaryDirectory(prefix="tessera-nodes") as name:
        folder = pathlib.Path(name)
        for case in filter(is_plain, cases):
            for form in list_forms(case, options.opset):
                tests.add(case.name)
                message = import_alone(form, folder)
                if message is None:
                    accepted.add(case.name)
                    taken[form.model.opset_import[0].version].append(form)
                else:
                    refused[case.name] = message
        wrong = []
        for forms in taken.values():
            for start in range(0, len(forms), BATCH):
                wrong += judge(forms[start:start + BATCH], folder, options.build / "bin" / "tessera")
    for form, message in wrong:
        print(f"{form.name} ({form.op}): {message}")
    if options.list:
        for name in sorted(tests - accepted):
            print(f"refused: {name} {refused[name]}")
    print(json.dumps({"tests": len(tests), "taken": len(accepted),
                      "graphs": sum(map(len, taken.values())), "wrong": len(wrong)}))
    return 1 if wrong or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
