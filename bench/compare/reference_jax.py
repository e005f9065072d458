"""Compares logits and gradients of graphs imported from JAX with JAX.

Prints test/Import/Inputs/jax_models.py in MLIR's generic form and imports it. Parameters, tokens
and labels come from `tessera verify --dump` and go to the functions in f64. With --write the
generic modules and a part of JAX's numbers are written to test/Import/Inputs; the tests compare
with these files and need no JAX. Without --write the existing files must be current. Then all
logits and gradients of the interpreted graph are compared. --jax-python names a Python with jax."""

import argparse
import importlib.util
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INPUTS = ROOT / "test" / "Import" / "Inputs"
MODELS = ["unrolled", "scanned"]
# A learning rate for which the change of the parameters shows the gradients exactly.
LR = 1024
SGD = ["--optimizer", "sgd", "--lr", str(LR), "--weight-decay", "0", "--clip", "0"]
# The initialization of parameters.
INIT = "nn.init = #nn.init<normal, 2.0e-01>, "
# The largest number of elements of a tensor in a file.
LOGITS, GRADIENTS = 800, 16


def load_models():
    spec = importlib.util.spec_from_file_location("jax_models", INPUTS / "jax_models.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def print_module(make):
    """The generic form without the locations of ops, which contain this machine's paths."""
    sys.path.insert(0, str(ROOT / "python"))
    from tessera import jax_import
    text = jax_import.read_function(*(lambda f, *a: (f, a))(*make()))
    text = re.sub(r"^#loc.*\n", "", text, flags=re.M)
    return re.sub(r" loc\((#loc\d*|unknown|\"[^\"]*\"\(#loc\d+\))\)", "", text)


def describe(array, scale, count):
    """The entry of a tensor in a file. An odd stride visits all columns."""
    values = array.flatten().tolist()
    stride = max(1, len(values) // count) | 1
    # Numbers that are negligible relative to the scale become 0, so that files are equal
    # everywhere.
    digits = lambda value: float(f"{value:.8g}") if abs(value) > 1e-9 * scale else 0.0
    norm = math.sqrt(sum(value * value for value in values))
    return {"scale": digits(scale), "norm": digits(norm), "stride": stride,
            "values": [digits(value) for value in values[::stride]]}


def read_sources(graph):
    """Maps the name of each leaf to our parameters that are views of it, with their shape, offset
    and strides; without a view to the whole leaf."""
    views = {}
    for kind, attributes in re.findall(r"tensor<([^>]*)> \{([^}]*nn\.param[^}]*)\}", graph):
        name = re.search(r'nn\.param = "([^"]*)"', attributes).group(1)
        shape = [int(size) for size in kind.split("x")[:-1]]
        source = re.search(r'#nn\.source<"([^"]*)", \[[^]]*\], offset (\d+), strides \[([^]]*)\]',
                           attributes)
        strides, offset = [math.prod(shape[i + 1:]) for i in range(len(shape))], 0
        leaf = name
        if source:
            leaf, offset = source.group(1), int(source.group(2))
            strides = [int(stride) for stride in source.group(3).split(", ")]
        views.setdefault(leaf, []).append((name, shape, offset, strides))
    return views


def view_of(array, shape, offset, strides):
    """A view of a contiguous array."""
    import numpy
    flat = array.reshape(-1)[offset:]
    return numpy.lib.stride_tricks.as_strided(flat, shape, [s * array.itemsize for s in strides])


def read_tree(tree, views, folder):
    """Replaces a tree's shapes by the dumped tensors in f64; also returns the names of its leaves.
    """
    import jax
    import numpy
    leaves, definition = jax.tree_util.tree_flatten_with_path(tree)
    names = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in leaves]
    arrays = []
    for name, (_, leaf) in zip(names, leaves):
        arrays.append(numpy.full(leaf.shape, numpy.nan))
        for parameter, *view in views[name]:
            view_of(arrays[-1], *view)[...] = numpy.load(folder / f"{parameter}.npy")
    return jax.tree_util.tree_unflatten(definition, arrays), names


def reference(module, model, folder, views):
    """JAX's logits and gradients, by our names."""
    import jax
    import numpy
    jax.config.update("jax_enable_x64", True)
    logits, parameters, _ = getattr(module, f"make_{model}_logits")()
    loss = getattr(module, f"make_{model}_loss")()[0]
    parameters, names = read_tree(parameters, views, folder)
    tokens, labels = (numpy.load(folder / f"{name}.npy").reshape(module.BATCH, module.SEQ)
                      for name in ("tokens", "labels"))
    leaves = jax.tree_util.tree_leaves(jax.grad(loss)(parameters, tokens, labels))
    values = numpy.asarray(logits(parameters, tokens)["logits"])
    jax.config.update("jax_enable_x64", False)
    gradients = {}
    for name, leaf in zip(names, leaves):
        for parameter, *view in views[name]:
            gradients[parameter] = view_of(numpy.array(leaf), *view)
    return values, gradients


def interpret(tessera, model, folder):
    """Logits and gradients of the imported graph, computed by the interpreter."""
    import numpy
    run = lambda *command: subprocess.run([str(c) for c in command], check=True,
                                          stdout=subprocess.DEVNULL)
    for kind in ("logits", "loss"):
        graph = folder / f"{kind}.mlir"
        run(tessera, "import", folder / f"{kind}.generic", "-o", graph)
        graph.write_text(graph.read_text().replace("nn.param", INIT + "nn.param"))
    run(tessera, "verify", folder / "logits.mlir", "--mesh", "dp=1", "--no-proof", "--dump",
        folder / "forward")
    run(tessera, "verify", folder / "loss.mlir", "--mesh", "dp=1", "--no-proof", *SGD, "--dump",
        folder / "step")
    gradients = {}
    for file in sorted((folder / "step" / "expected").glob("*.npy")):
        before = folder / "step" / file.name
        if before.exists() and file.stem != "step":
            gradients[file.stem] = (numpy.load(before).astype("f8") - numpy.load(file)) / LR
    return numpy.load(folder / "forward" / "expected" / "logits.npy").astype("f8"), gradients


def compare(tessera, folder, module, model, write):
    """Compares a model; returns its line and whether it is correct."""
    import jax
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    current = True
    for kind in ("logits", "loss"):
        text = print_module(getattr(module, f"make_{model}_{kind}"))
        (folder / f"{kind}.generic").write_text(text)
        file = INPUTS / f"jax-{model}-{kind}.mlir"
        if write:
            file.write_text(text)
        current &= file.read_text() == text
    logits, gradients = interpret(tessera, model, folder)
    their_logits, theirs = reference(
        module, model, folder / "step", read_sources((folder / "loss.mlir").read_text()))
    if theirs.keys() != gradients.keys():
        sys.exit(f"{model}: parameters differ: {theirs.keys() ^ gradients.keys()}")
    scale = abs(their_logits).max()
    largest = max(abs(g).max() for g in theirs.values())
    of = {name: max(abs(g).max(), 1e-3 * largest) for name, g in theirs.items()}
    described = {"model": f"jax-{model}", "batch": module.BATCH, "seq": module.SEQ, "lr": LR,
                 "logits": describe(their_logits, scale, LOGITS),
                 "gradients": {n: describe(g, of[n], GRADIENTS) for n, g in theirs.items()}}
    file = INPUTS / f"reference-jax-{model}.json"
    if write:
        file.write_text(json.dumps(described).replace('}, "', '},\n"') + "\n")
    line = {"bench": "reference_jax", "model": model, "jax": jax.__version__,
            "logits_difference": abs(logits - their_logits).max() / scale,
            "gradients_difference": max(abs(gradients[n] - g).max() / of[n]
                                        for n, g in theirs.items()),
            "files_are_current": current and json.loads(file.read_text()) == described}
    print(json.dumps(line), flush=True)
    return (line["logits_difference"] <= 1e-5 and line["gradients_difference"] <= 1e-4
            and line["files_are_current"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build-release", help="build folder")
    parser.add_argument("--jax-python", default=os.environ.get("TESSERA_JAX_PYTHON"),
                        help="a Python with jax; default: $TESSERA_JAX_PYTHON, or this one")
    parser.add_argument("--write", action="store_true", help="write the files of the tests")
    options = parser.parse_args()
    if importlib.util.find_spec("jax") is None:
        if not options.jax_python:
            sys.exit("reference_jax: expects --jax-python, a Python with jax")
        os.execv(options.jax_python, [options.jax_python, *sys.argv])
    build = (ROOT / options.build).resolve()
    module = load_models()
    good = [compare(build / "bin" / "tessera", build / "bench" / f"jax-{model}", module, model,
                    options.write) for model in MODELS]
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
