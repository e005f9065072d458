"""Gives tessera.compile and programs what they do not take, and prints each error."""

import os
import threading

import tessera
import torch
from models import BATCH, SEQ, VOCAB, draw_ids, make_nano
from torch import nn

IDS = draw_ids()


class Net(nn.Module):
    """A module of floats, a number and a buffer."""

    def __init__(self, dropout=0.0, device=None):
        super().__init__()
        self.linear, self.dropout = nn.Linear(4, 4), nn.Dropout(dropout)
        self.register_buffer("scale", torch.ones(4, device=device))

    def forward(self, x, pair=None, power=2):
        y = self.dropout(self.linear(x)) * self.scale
        return y ** power if pair is None else y + pair[0] + pair[1]


class Mesh:
    """What a DeviceMesh of torch has."""

    def __init__(self, names, shape):
        self.mesh_dim_names, self.shape = names, shape


X, PAIR = torch.ones(2, 4), (torch.ones(2, 4), torch.ones(2, 4))


def refuse(name, act, kind=tessera.Error):
    try:
        act()
    except kind as error:
        assert isinstance(error, tessera.Error) and "\n" not in str(error), error
        print(f"{name}: {type(error).__name__}: {error}")
    else:
        raise AssertionError(f"{name} is taken")


def compile_net(model=None, args=(X,), kwargs=None, **options):
    return tessera.compile(model or Net(), args, kwargs, **options)


def refuse_calls():
    with compile_net(kwargs={"power": 3}) as program:
        expected = program(X, power=3)
        refuse("shape", lambda: program(torch.ones(3, 4), power=3))
        refuse("type", lambda: program(X.double(), power=3))
        refuse("kind", lambda: program(X.int(), power=3))
        refuse("list", lambda: program([[1.0]], power=3))
        refuse("constant", lambda: program(X, power=2))
        refuse("missing", lambda: program(power=3))
        refuse("too many", lambda: program(X, X, X, X, power=3))
        refuse("unknown name", lambda: program(X, power=3, scale=1))
        refuse("twice", lambda: program(X, x=X, power=3))
        assert torch.equal(program(X, power=3), expected) and program.steps == 2
    with compile_net(args=(X, PAIR)) as program:
        program(X, PAIR)
        refuse("structure", lambda: program(X, [*PAIR]))
        refuse("inner shape", lambda: program(X, (PAIR[0], X[:1])))
    with tessera.compile(make_nano(), (IDS,)) as program:
        refuse("id", lambda: program(IDS + VOCAB))
        refuse("floats for ids", lambda: program(IDS.float()))
        program(IDS.short())
    refuse("closed", lambda: program(IDS))
    program.close()


def refuse_models():
    dynamic = torch.export.export(Net(), (X,), dynamic_shapes={
        "x": {0: torch.export.Dim("batch", min=2, max=8)}})
    refuse("dynamic", lambda: compile_net(dynamic, ()))
    refuse("no loss", lambda: compile_net(train=tessera.AdamW()))
    refuse("dropout", lambda: compile_net(Net(0.5)))
    refuse("buffer on meta", lambda: compile_net(Net(device="meta")))
    meta = Net()
    meta.linear = nn.Linear(4, 4, device="meta")
    refuse("parameter on meta", lambda: compile_net(meta))
    refuse("no model", lambda: tessera.compile(3, (X,)))
    refuse("no tuple", lambda: tessera.compile(Net(), X))


def refuse_options():
    refuse("keyword", lambda: compile_net(stratgy="dp"))
    refuse("type of option", lambda: compile_net(micro_batches="two"))
    refuse("strategy", lambda: compile_net(mesh={"dp": 2}, strategy="dq"))
    refuse("axis", lambda: compile_net(mesh={"dp": 2}, strategy="dp,tp"))
    refuse("tensor", lambda: tessera.compile(
        tessera.with_loss(Net(), lambda y, labels: (y - labels).square().mean()), (X, X),
        train=tessera.AdamW(groups="linaer.*:lr=2")))
    refuse("input", lambda: compile_net(inputs="y"))
    refuse("dims", lambda: compile_net(dims="y=batch"))
    refuse("optimizer", lambda: compile_net(train="adamw"))
    refuse("nameless mesh", lambda: compile_net(mesh=Mesh(None, (2, 2))))
    refuse("sizes of mesh", lambda: compile_net(mesh=Mesh(("dp", "tp"), (2, 2)), ranks=8))
    refuse("size 0", lambda: compile_net(mesh={"dp": 0}))
    refuse("weights", lambda: compile_net(weights="/nowhere"))
    refuse("timeout", lambda: compile_net(timeout=-1))
    wide = tessera.with_loss(nn.Linear(1 << 16, 1 << 16, bias=False, device="meta"),
                             lambda y, labels: (y - labels).square().mean())
    x = torch.ones(8, 1 << 16)
    refuse("memory", lambda: tessera.compile(wide, (x, x), weights=".", train=tessera.AdamW(),
                                             mesh={"dp": 8}, strategy="dp"))


def refuse_states():
    model = make_nano()
    with tessera.compile(model, (IDS,)) as program:
        before, own = program(IDS)[0], model.state_dict()
        name = "blocks.0.ln_1.weight"
        for what, state in {
                "missing": {key: value for key, value in own.items() if key != name},
                "unknown tensor": {**own, "extra": IDS},
                "shape of tensor": {**own, name: torch.ones(3)},
                "type of tensor": {**own, name: torch.ones(32, dtype=torch.int)},
                "tied": {**own, "lm_head.weight": own["wte.weight"] + 1},
                "buffer": {**own, "positions": own["positions"] + 1}}.items():
            changed = {key: value + 1 if key == "wpe.weight" else value
                       for key, value in state.items()}
            refuse(f"state dict, {what}", lambda: program.load_state_dict(changed))
        kept = program.training_state()
        refuse("training state", lambda: program.load_training_state({"x": IDS}))
        refuse("training state's shape", lambda: program.load_training_state(
            {**kept, "wpe.weight": torch.ones(2)}))
        assert torch.equal(program(IDS)[0], before)
        program.load_state_dict({**own, "wpe.weight": own["wpe.weight"] * 2})
        assert not torch.equal(program(IDS)[0], before)
        refuse("folder", lambda: program.save_weights("/nowhere/model.safetensors"))


def refuse_users():
    """Another thread in a call, and a process that was forked."""
    with tessera.compile(make_nano(), (IDS,)) as program:
        inside, outside = threading.Event(), threading.Event()

        class Slow:
            def copy(self, *given, **named):
                inside.set()
                outside.wait()
                return request(*given, **named)
        request = program._client.request
        program._client.request = Slow().copy
        thread = threading.Thread(target=lambda: program(IDS))
        thread.start()
        inside.wait()
        refuse("two threads", lambda: program(IDS))
        outside.set()
        thread.join()
        program._client.request = request
        expected = program(IDS)[0]
        child = os.fork()
        if child == 0:
            try:
                refuse("forked", lambda: print_without_numbers(program))
                program.close()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert torch.equal(program(IDS)[0], expected)


def print_without_numbers(program):
    try:
        program(IDS)
    except tessera.ProgramError as error:
        words = str(error).replace(str(os.getpid()), "CHILD").replace(str(os.getppid()), "PARENT")
        print(end="", flush=True)
        os.write(1, f"forked: ProgramError: {words}\n".encode())
        os._exit(0)


print(f"batch {BATCH}, sequence {SEQ}", flush=True)
refuse_calls()
refuse_models()
refuse_options()
refuse_states()
refuse_users()
