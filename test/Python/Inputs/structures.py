"""Compares programs on dp=2,tp=2 with torch and JAX: python structures.py FOLDER. Results are
within 1e-5, in the structure of the model."""

import pathlib
import sys

import tessera
import torch
from models import (BATCH, SEQ, VOCAB, WIDTH, check, draw_ids, make_gpt2, make_llama, make_nano)
from tessera import weights

MESH = {"mesh": {"dp": 2, "tp": 2}, "strategy": "dp,tp"}


def compare_outputs(name, model):
    """A ModelOutput, by position and by name, from torch and from NumPy."""
    ids, labels = draw_ids(1), draw_ids(2)
    with torch.no_grad():
        expected = model(ids, labels=labels)
    with tessera.compile(model, (ids,), {"labels": ids}, **MESH) as program:
        found = program(ids, labels=labels)
        assert type(found) is type(expected) and list(found) == list(expected), found
        assert type(found.logits) is torch.Tensor
        again = program(input_ids=ids.numpy(), labels=labels.int())
        for key in expected:
            check(f"{name}.{key}", found[key], expected[key])
            assert torch.equal(found[key], again[key]), key
        model.load_state_dict(program.state_dict())
    print(f"{name}: {type(found).__name__} of {', '.join(found)} agrees")


def compare_tuple():
    model, ids = make_nano(), draw_ids(1)
    with torch.no_grad():
        expected = model(ids)
    with tessera.compile(model, (ids,), **MESH) as program:
        found = program(ids)
    assert type(found) is tuple and found[1] is None
    check("nano", found[0], expected[0])
    print("nano: a tuple of logits and None agrees")


def compare_files(folder):
    """Parameters on meta, of a file that another program has written."""
    model, ids = make_nano(), draw_ids(1)
    with tessera.compile(model, (ids,), **MESH) as program:
        program.save_weights(folder / "nano.safetensors")
        expected = program(ids)[0]
    for name, parameter in list(model.named_parameters()):
        part = model.get_submodule(name.rpartition(".")[0])
        setattr(part, name.rpartition(".")[2], torch.nn.Parameter(parameter.to("meta")))
    model.lm_head.weight = model.wte.weight
    with tessera.compile(model, (ids,), weights=folder / "nano.safetensors", **MESH) as program:
        assert torch.equal(program(ids)[0], expected)
        state = program.state_dict()
    assert all(parameter.is_meta for parameter in model.parameters())
    made = make_nano()
    made.load_state_dict(state)
    assert all(map(torch.equal, made.state_dict().values(), make_nano().state_dict().values()))
    print("nano: parameters on meta, of a file, have the same results")


def compare_windows():
    """Parameters in windows of few elements, which end within rows."""
    model, ids = make_gpt2(), draw_ids(1)
    whole, converted = weights.WINDOW_BYTES, weights.CONVERTED
    weights.WINDOW_BYTES, weights.CONVERTED = 100, 7
    with torch.no_grad():
        expected = model(ids).logits
    with tessera.compile(model, (ids,), **MESH) as program:
        check("windows", program(ids).logits, expected)
        assert all(map(torch.equal, program.state_dict().values(), model.state_dict().values()))
        program.load_state_dict({name: value.double() for name, value in
                                 model.state_dict().items()})
        check("converted", program(ids).logits, expected)
    weights.WINDOW_BYTES, weights.CONVERTED = whole, converted
    print("gpt2: windows of few elements have all of them")


def compare_exported():
    model, ids = make_nano(), draw_ids(1)
    with tessera.compile(torch.export.export(model, (ids,)), **MESH) as program:
        check("exported", program(ids)[0], model(ids)[0])
    half = make_nano().bfloat16()
    with tessera.compile(half, (ids,), **MESH) as program:
        check("bf16", program(ids)[0], half(ids)[0], 3e-2)
        state = program.state_dict()
    assert all(map(torch.equal, state.values(), half.state_dict().values()))
    print("nano: a program of torch.export and bf16 agree")


def compare_jax(folder):
    import jax
    import jax.numpy as jnp
    import numpy
    keys = jax.random.split(jax.random.key(0), 3)
    parameters = {"table": jax.random.normal(keys[0], (VOCAB, WIDTH)),
                  "layers": [jax.random.normal(key, (WIDTH, WIDTH)) / 6 for key in keys[1:]]}

    def model(parameters, ids, scale):
        x = parameters["table"][ids] * scale
        for layer in parameters["layers"]:
            x = x + jax.nn.gelu(x @ layer)
        return {"logits": x @ parameters["table"].T, "hidden": (x, ids + 1)}

    ids = jnp.asarray(draw_ids(1).numpy(), "int32")
    scale = jnp.full((BATCH, SEQ, 1), 0.5)
    expected = jax.jit(model)(parameters, ids, scale)
    with tessera.compile(model, (parameters, ids, scale), inputs="scale", **MESH) as program:
        found = program(ids, torch.full((BATCH, SEQ, 1), 0.5))
        assert jax.tree.structure(found) == jax.tree.structure(expected)
        assert all(type(leaf) is numpy.ndarray for leaf in jax.tree.leaves(found))
        for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(expected)):
            assert ours.dtype == theirs.dtype
            check("jax", ours, numpy.array(theirs))
        jax.tree.map(numpy.testing.assert_array_equal, program.parameters(), parameters)
        program.save_weights(folder / "jax.safetensors")
    shapes = jax.eval_shape(lambda: parameters)
    with tessera.compile(model, (shapes, ids, scale), inputs="scale",
                         weights=folder / "jax.safetensors", **MESH) as program:
        assert (program(ids, scale)["logits"] == found["logits"]).all()
    print("jax: a pytree of NumPy's arrays agrees")


def main(folder):
    compare_outputs("gpt2", make_gpt2())
    compare_outputs("llama", make_llama())
    compare_tuple()
    compare_files(folder)
    compare_windows()
    compare_exported()
    compare_jax(folder)


main(pathlib.Path(sys.argv[1]))
