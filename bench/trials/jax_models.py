"""Imports models of flax, equinox and haiku and compares them with JAX.

jax_models.py [NAME...] [--build DIR] [--folder DIR]

Each model is one of jax_frameworks/, written as users of its framework write it, of width 64 and
two layers; requirements-jax.txt lists the frameworks. Loss and gradients must be JAX's to 1e-5
(--check). The graph is verified over dp=2,tp=2 and with zero=3 over four devices, and under tp=4
at most 10 % of the elements of the weights of matmuls may stay whole, except in CONVNETS. Prints a
line for each model: differences, proofs and this share, or the line that refuses it; then one JSON
line. Exit status 1 for a graph that is imported and does not agree, is not proven or stays whole,
for an import that fails without a line of its own, and for a refusal that is not in REFUSED, or is
there and no longer happens."""

import importlib
import json
import math
import os
import re
import sys

from model_trials import (PROVEN, find_tessera, import_model, is_bad, make_parser, open_folder,
                          prove, run, try_models)

FRAMEWORKS = {
    "linen": ("gpt", "padded_gpt", "shifted_gpt", "one_hot_gpt", "scanned_gpt", "llama", "encoder",
              "translator", "vit", "convnet", "batch_norm", "batch_norm_in_training",
              "dropout_in_training"),
    "nnx": ("decoder", "scanned_gpt", "llama", "vit"),
    "equinox": ("gpt", "rotary_gpt", "mixer", "convnet"),
    "haiku": ("transformer", "causal_transformer", "one_hot_transformer", "layer_stack",
              "mlp_tokens", "resnet"),
}
MODELS = [f"{framework}_{name}" for framework, names in FRAMEWORKS.items() for name in names]
# Models whose float inputs are images.
IMAGES = {"linen_vit", "linen_convnet", "linen_batch_norm", "linen_batch_norm_in_training",
          "nnx_vit", "equinox_mixer", "equinox_convnet", "haiku_resnet"}
# Models that write statistics, and random numbers.
REFUSED = {"linen_batch_norm_in_training", "linen_dropout_in_training"}
# Models whose only matmul is the classifier.
CONVNETS = {"linen_convnet", "linen_batch_norm", "equinox_convnet", "haiku_resnet"}
TOLERANCE, WHOLE = 1e-5, 0.1
ARGUMENT = re.compile(r"%arg\d+: tensor<([\dx]+)x\w+> \{[^%]*?dist\.global_shape = "
                      r"array<i64: ([\d, ]+)>[^%]*?nn\.param = \"([^\"]*)\"")


def make(name):
    """The loss of a model and its example arguments."""
    framework, _, model = name.partition("_")
    return getattr(importlib.import_module(f"jax_frameworks.{framework}_models"), model)()


for _name in MODELS:
    globals()[f"make_{_name}"] = lambda name=_name: make(name)


def read_matmul_weights(text):
    """The names of a graph's parameters that are read by a matmul."""
    names = dict(re.findall(r"(%arg\d+): [^%]*?nn\.param = \"([^\"]*)\"", text))
    for cast, operand in re.findall(r"(%\w+) = arith\.truncf (%arg\d+) :", text):
        names[cast] = names.get(operand)
    operands = re.findall(r"nn\.einsum \"[^\"]*\" (%\w+), (%\w+)", text)
    return {names[operand] for pair in operands for operand in pair if names.get(operand)}


def measure_whole(tessera, graph):
    """The share of the elements of matmuls' weights that stays whole under tp=4; or a failure."""
    weights, local = read_matmul_weights(graph.read_text()), graph.with_suffix(".tp.mlir")
    failure = run([tessera, "compile", graph, "--mesh", "tp=4", "--strategy", "tp", "--compile-to",
                   "partition", "--quiet", "-o", local])
    if failure:
        return None, failure
    sizes = {False: 0, True: 0}
    for own, whole, name in ARGUMENT.findall(local.read_text()):
        if name in weights:
            shape = [int(size) for size in whole.split(", ")]
            sizes[own == "x".join(map(str, shape))] += math.prod(shape)
    if not any(sizes.values()):
        return None, "expects weights of matmuls"
    return sizes[True] / sum(sizes.values()), None


def judge(name, tessera, graph, printed):
    """The failures of an imported model, and its figures."""
    differences = re.findall(r"(loss|gradients) agrees? \((\d[^ ),]*)", printed)
    if [kind for kind, _ in differences] != ["loss", "gradients"]:
        return ["expects a loss and gradients that are finite"], ""
    failures = [f"expects {kind} within {TOLERANCE} but got {found}"
                for kind, found in differences if not float(found) <= TOLERANCE]
    failures += prove(tessera, graph)
    figures = [*(f"{kind} {found}" for kind, found in differences), PROVEN]
    if name not in CONVNETS:
        share, failure = measure_whole(tessera, graph)
        figures.append(failure or f"{share:.1%} whole under tp=4")
        failures += figures[-1:] if failure or share > WHOLE else []
    return failures, ", ".join(figures)


def main():
    options = make_parser(__doc__).parse_args()
    tessera = find_tessera(options, MODELS)
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    names = options.names or MODELS

    def import_one(name, graph):
        inputs = ["--inputs", "images"] if name in IMAGES else []
        return import_model(f"{__file__}:make_{name}", graph, inputs)

    with open_folder(options) as folder:
        counts = try_models(names, folder, REFUSED, import_one,
                            lambda name, graph, outcome: judge(name, tessera, graph,
                                                               outcome.printed))
    print(json.dumps({"table": "jax", "models": len(names), **counts}), flush=True)
    return 1 if is_bad(counts) else 0


if __name__ == "__main__":
    sys.exit(main())
