"""Interrupts calls as Ctrl-C does. Python has its KeyboardInterrupt at once, the ranks end the
step, and later calls have the results of a run without it."""

import os
import signal
import threading
import time

import tessera
import torch
from torch import nn

ROWS, WIDTH, STEPS = 2048, 768, 8
# Seconds that KeyboardInterrupt may take.
LIMIT = 0.1


class Long(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x


def make_step():
    torch.manual_seed(0)
    model = tessera.with_loss(Long(), lambda y, labels: (y - labels).square().mean())
    x = draw(0)
    return tessera.compile(model, (x, x), train=tessera.AdamW(), mesh={"dp": 2}, strategy="dp",
                           threads=1)


def draw(seed):
    return torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(seed))


def interrupt(step, seed):
    """Interrupts a call whose step has begun; returns how long KeyboardInterrupt took."""
    sent = []

    def send():
        while not step._client.is_waiting:
            time.sleep(1e-3)
        time.sleep(5e-3)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    x = draw(seed)
    thread = threading.Thread(target=send)
    try:
        thread.start()
        step(x, x)
        thread.join()
    except KeyboardInterrupt:
        return time.monotonic() - sent[0]
    raise AssertionError("the call was not interrupted")


def main():
    # Whoever started this process may ignore the signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with make_step() as step:
        losses = [float(step(draw(i), draw(i)).loss) for i in range(STEPS)]
        state, seconds = step.training_state(), step.seconds
    assert seconds > 0.03, seconds
    with make_step() as step:
        for i in range(STEPS):
            if i in (2, 3, 5):
                took = interrupt(step, i)
                assert took < LIMIT, took
            else:
                assert float(step(draw(i), draw(i)).loss) == losses[i], i
        found = step.training_state()
        assert step.steps == STEPS
    assert all(torch.equal(found[name], state[name]) for name in state)
    print("three calls interrupted: all others, and the state, are those of a run without it")


main()
