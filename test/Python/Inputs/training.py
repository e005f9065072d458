"""Compares training by tessera.compile with torch's optimizers: python training.py FOLDER."""

import pathlib
import sys

import tessera
import torch
from models import check, difference, draw_ids, make_gpt2, make_nano
from torch.nn import functional

STEPS = 20
MESHES = {"one rank": {}, "zero=3 on four": {"mesh": {"dp": 4}, "strategy": "dp,zero=3"},
          "two micro-batches": {"micro_batches": 2}}


def draw_batch(step):
    """Ids that a model learns: few of all."""
    return draw_ids(step, kinds=16)


def train_torch(model, optimizer, loss_of):
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(model, draw_batch(step))
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def train(step, first=0, last=STEPS):
    losses = []
    for number in range(first, last):
        out = step(draw_batch(number), labels=draw_batch(number))
        assert float(out.skipped) == 0 and float(out.grad_norm) > 0, out
        losses.append(float(out.loss))
    return losses


def compare(name, losses, expected):
    worst = max(abs(ours - theirs) / theirs for ours, theirs in zip(losses, expected))
    assert worst <= 1e-5, f"{name}: {worst}"
    assert expected[-1] < 0.95 * expected[0], expected
    print(f"{name}: {len(losses)} losses agree")


def compare_adamw():
    """torch's defaults; a state dict that torch loads; a state that another program takes."""
    model, ids = make_gpt2(), draw_ids()
    expected = train_torch(model, torch.optim.AdamW(model.parameters()),
                           lambda model, ids: model(ids, labels=ids).loss)
    states, whole = {}, {}
    for name, options in MESHES.items():
        own = make_gpt2()
        with tessera.compile(own, (ids,), {"labels": ids}, train=tessera.AdamW(),
                             **options) as step:
            losses = train(step, 0, 10)
            states[name] = step.training_state()
            whole[name] = losses + train(step, 10)
            compare(name, whole[name], expected)
            own.load_state_dict(step.state_dict())
            assert step.steps == STEPS
        check("wte", own.transformer.wte.weight, model.transformer.wte.weight, 1e-3)
    for name, state, same in (("one rank", "one rank", True),
                              ("zero=3 on four", "one rank", False)):
        with tessera.compile(make_gpt2(), (ids,), {"labels": ids}, train=tessera.AdamW(),
                             **MESHES[name]) as step:
            step.load_training_state(states[state])
            losses = train(step, 10)
        if same:
            assert losses == whole[name][10:], (losses, whole[name][10:])
        compare(f"state of {state} on {name}", losses, whole[state][10:])


def loss_of(result, labels):
    return functional.cross_entropy(result[0].flatten(0, 1), labels.flatten())


def compare_sgd():
    """A loss that with_loss adds, momentum and decay; names of parameters are the model's."""
    model, ids = make_nano(), draw_ids()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9, weight_decay=1e-3)
    expected = train_torch(model, optimizer, lambda model, ids: loss_of(model(ids), ids))
    own = make_nano()
    with tessera.compile(tessera.with_loss(own, loss_of), (ids,), {"labels": ids},
                         train=tessera.SGD(lr=0.005, momentum=0.9, weight_decay=1e-3),
                         mesh={"dp": 2, "tp": 2}, strategy="dp,tp") as step:
        compare("SGD and with_loss", train(step), expected)
        own.load_state_dict(step.state_dict())
    worst = max(difference(ours, theirs) for (name, ours), theirs in
                zip(own.named_parameters(), model.parameters()) if "bias" not in name)
    assert worst < 1e-4, worst


def compare_bf16(folder):
    """State dicts have the master copies."""
    ids = draw_ids()
    with tessera.compile(make_nano_loss(), (ids, ids), train=tessera.AdamW(lr=1e-6),
                         precision="bf16") as step:
        before = make_nano().state_dict()
        found = step.state_dict()
        assert all(map(torch.equal, found.values(), before.values()))
        step(ids, ids)
        after = step.state_dict()
        step.save_weights(folder)
    moved = (after["wte.weight"] - before["wte.weight"]).abs().max()
    assert 0 < moved < 1e-5, moved
    from safetensors.torch import load_file
    saved = load_file(folder / "model.safetensors")
    assert all(torch.equal(saved[name], after[name]) for name in saved)
    assert set(saved) == {*after} - {"lm_head.weight", "positions"}, set(after) - set(saved)
    print("bf16: master copies are read and written")


def make_nano_loss():
    return tessera.with_loss(make_nano(), loss_of)


def compare_jax():
    import jax
    import jax.numpy as jnp
    import numpy
    table = jax.random.normal(jax.random.key(0), (250, 16))

    def loss(table, ids, labels):
        scores = jax.nn.log_softmax(table[ids] @ table.T)
        return -jnp.take_along_axis(scores, labels[..., None], axis=-1).mean()

    ids = jnp.asarray(draw_ids().numpy(), "int32")
    expected, gradient = jax.value_and_grad(loss)(table, ids, ids)
    with tessera.compile(loss, (table, ids, ids), train=tessera.SGD(lr=1.0), mesh={"dp": 2},
                         strategy="dp") as step:
        out = step(ids, ids)
        check("table", step.parameters(), numpy.array(table - gradient))
    check("loss", out.loss, numpy.array(expected))
    assert isinstance(out.loss, numpy.ndarray) and out.loss.shape == ()
    print("jax: a step of SGD agrees")


compare_adamw()
compare_sgd()
compare_bf16(pathlib.Path(sys.argv[1]))
compare_jax()
