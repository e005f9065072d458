"""Shardings in JAX on 4 devices of the CPU, and Shardy's text of them: python shardings_jax.py
MODELS FOLDER, where MODELS is the folder of jax_models.py."""

import copy
import json
import os
import pathlib
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
sys.path.insert(0, sys.argv[1])

import jax
import jax.numpy as jnp
import jax_models
import numpy
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import tessera
from tessera import jax_import

FOLDER = pathlib.Path(sys.argv[2])
LARGEST = 1e-5
# The dimension over tp of each parameter of the unrolled model, by the end of its name; vocab=67 is
# whole.
DIMS = {"q": 1, "k": 1, "v": 1, "q_bias": 0, "k_bias": 0, "v_bias": 0, "out": 0, "up": 1,
        "up_bias": 0, "down": 0}


def load(document):
    path = FOLDER / "jax.json"
    path.write_text(json.dumps(document))
    return tessera.load_shardings(path)


def describe(params, mesh, axes):
    """The document of a pytree whose sharded dimensions are over `axes`."""
    tensors = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(params):
        name = jax.tree_util.keystr(path, simple=True, separator=".")
        dim = DIMS.get(name.rpartition(".")[2])
        tensors[name] = {"shape": list(leaf.shape),
                         "axes": [axes if i == dim else [] for i in range(len(leaf.shape))]}
    return {"tessera": "shardings", "version": 1, "mesh": mesh, "tensors": tensors,
            "inputs": {"tokens": {"axes": [["dp"] if "dp" in mesh else [], []]}}}


def by_hand(path, leaf, mesh):
    dim = DIMS.get(path[-1].key)
    return NamedSharding(mesh, P(*("tp" if i == dim else None for i in range(len(leaf.shape)))))


def draw(shapes):
    generator = numpy.random.default_rng(0)
    return jax.tree.map(lambda s: jnp.asarray(0.1 * generator.standard_normal(s.shape), s.dtype),
                        shapes)


def worst(found, expected):
    return numpy.max([numpy.abs(numpy.asarray(a) - numpy.asarray(b)).max() for a, b in
                      zip(jax.tree.leaves(found), jax.tree.leaves(expected))])


function, shapes, *_ = jax_models.make_unrolled_loss()
shapes["blocks"] = shapes["blocks"][:1]
params, tokens = draw(shapes), jnp.arange(48, dtype=jnp.int32).reshape(2, 24) % 67
expected = jax.jit(jax.value_and_grad(function))(params, tokens, tokens)
for mesh, axes in (({"dp": 2, "tp": 2}, ["tp"]), ({"dp": 2, "tp": 2}, ["dp", "tp"]),
                   ({"tp": 4}, ["tp:(2)2"])):
    found = load(describe(shapes, mesh, axes))
    shardings, inputs = found.to_jax(shapes), found.to_jax_inputs()
    given = jax.device_put(params, shardings)
    step = jax.jit(jax.value_and_grad(function),
                   in_shardings=(shardings, inputs["tokens"], inputs["tokens"]))
    difference = worst(step(given, tokens, tokens), expected)
    result = "agree" if difference < LARGEST else f"differ by {difference}"
    sharding = given["blocks"][0]["up"].sharding
    print(f"{axes}: loss and gradients {result}; {dict(sharding.mesh.shape)} {sharding.spec}")
    if axes == ["tp"] and "dp" in mesh:
        hand = Mesh(numpy.asarray(jax.devices()).reshape(2, 2), ("dp", "tp"))
        own = jax.tree_util.tree_map_with_path(lambda p, s: by_hand(p, s, hand), shapes)
        print(f"as by hand: {shardings == own}, "
              f"{inputs['tokens'] == NamedSharding(hand, P('dp', None))}")

text = load(describe({"up": shapes["blocks"][0]["up"]}, {"tp": 4}, ["tp:(1)2"])).to_sdy()
print(text, end="")
from jaxlib.mlir import ir

with jax_import.make_context():
    module = ir.Module.parse(load(describe(shapes, {"dp": 2, "tp": 2}, ["tp"])).to_sdy())
    module.operation.verify()
    arguments = module.body.operations[1].arguments
    print(len(arguments), "arguments, as", module.body.operations[1].attributes["arg_attrs"][2])


def refuse(case, action):
    try:
        action()
        print(f"{case}: no error")
    except tessera.ShardingsError as error:
        print(f"{case}: {str(error).replace(str(FOLDER) + '/', '')}")


good = describe(shapes, {"dp": 2, "tp": 2}, ["tp"])


def changed(name, **entry):
    document = copy.deepcopy(good)
    document["tensors"][name].update(entry)
    return load(document)


def without(name):
    document = copy.deepcopy(good)
    del document["tensors"][name]
    return load(document)


refuse("missing", lambda: without("blocks.0.up").to_jax(shapes))
refuse("unknown", lambda: load(good).to_jax({k: v for k, v in shapes.items() if k != "norm"}))
refuse("shape", lambda: changed("blocks.0.up", shape=[48, 90]).to_jax(shapes))
refuse("division", lambda: changed("embedding", axes=[["tp"], []]).to_jax(shapes))
refuse("devices", lambda: load({**good, "mesh": {"dp": 4, "tp": 2}}).to_jax(shapes))
refuse("given", lambda: load(good).to_jax(shapes, jax.devices()[:2]))
refuse("pp", lambda: load({**good, "plan": {"pp": 2}}).to_jax(shapes))
refuse("leaf", lambda: load(good).to_jax({**shapes, "name": "x"}))
fused = {**good, "tensors": {"w": {"shape": [4], "views": [{"axes": [["tp"]]}]}}}
refuse("views", lambda: load(fused).to_jax({"w": jnp.zeros(4)}))
refuse("views", lambda: load(fused).to_sdy())
two = {**good, "tensors": {f"{p}.w": {"shape": [4], "axes": [["tp"]]} for p in "ab"}}
refuse("arguments", lambda: load(two).to_jax({"w": jnp.zeros(4)}))
print(load(two).to_jax({"a": {"w": jnp.zeros(4)}, "b": {"w": jnp.zeros(4)}})["b"]["w"].spec)
nested = {**good, "mesh": {"tp": 12}, "inputs": {},
          "tensors": {"a": {"shape": [12], "axes": [["tp:(1)2"]]},
                      "b": {"shape": [12], "axes": [["tp:(1)3"]]}}}
refuse("nested", lambda: load(nested).to_jax({"a": jnp.zeros(12), "b": jnp.zeros(12)},
                                             [jax.devices()[0]] * 12))
