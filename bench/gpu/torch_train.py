"""PyTorch's side of the measurements on a GPU, in its own process.

  torch_train.py curve  loss of each step on a text, from given weights
  torch_train.py speed  time of a step on random data
  torch_train.py rates  bytes copied and operations of matmuls per second of the device

Prints one JSON object. With --device cpu everything except the times is the same."""

import argparse
import contextlib
import json
import math
import statistics
import sys
import time

import torch

from torch_model import Model, count_operations, read_config


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["curve", "speed", "rates"])
    parser.add_argument("--config")
    parser.add_argument("--weights", help="folder that a program wrote with --save-initial")
    parser.add_argument("--data", help="a text")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seq", type=int, default=32)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--compile", choices=["eager", "default", "max-autotune"], default="eager")
    parser.add_argument("--attention", choices=["default", "cudnn"], default="default",
                        help="PyTorch's choice, or cuDNN's where it can be")
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--min-lr", type=float, default=3e-4)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--total-steps", type=int, default=30)
    parser.add_argument("--constant-lr", action="store_true")
    parser.add_argument("--decay", type=float, default=0.1)
    parser.add_argument("--clip", type=float, default=1.0)
    return parser.parse_args()


def learning_rate(o, step):
    """The learning rate of a step from 1: linear warm-up, then a cosine."""
    if o.constant_lr:
        return o.lr
    if step <= o.warmup:
        return o.lr * step / o.warmup
    part = min(1.0, (step - o.warmup) / max(1, o.total_steps - o.warmup))
    return o.min_lr + (o.lr - o.min_lr) * 0.5 * (1 + math.cos(math.pi * part))


def text_batch(o, text, step):
    """Tokens and labels of a step from 0, in the runtime's order."""
    sequences = (len(text) - 1) // o.seq
    rows = [(step * o.batch + row) % sequences * o.seq for row in range(o.batch)]
    shifted = lambda shift: torch.tensor([list(text[r + shift:r + shift + o.seq]) for r in rows])
    return shifted(0).to(o.device), shifted(1).to(o.device)


class Trainer:
    def __init__(self, o):
        self.o, self.c = o, read_config(o.config)
        torch.manual_seed(0)
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        if o.attention == "cudnn":
            torch.backends.cuda.enable_cudnn_sdp(True)
            torch.backends.cuda.enable_flash_sdp(False)
            torch.backends.cuda.enable_mem_efficient_sdp(False)
        with torch.device(o.device):
            self.model = Model(self.c)
        if o.weights:
            self.model.load(o.weights)
        self.angles = None
        if not self.model.is_gpt2:
            self.angles = self.model.angles(o.seq, self.model.wte)
        self.optimizer = torch.optim.AdamW(self.model.groups(o.decay), lr=o.lr, betas=(0.9, 0.95),
                                           eps=1e-8, fused=o.device != "cpu")
        self.loss = self.model
        if o.compile != "eager":
            self.loss = torch.compile(self.model,
                                      mode=None if o.compile == "default" else o.compile)

    def step(self, tokens, labels):
        """Returns loss and norm of the gradients, on the device."""
        bf16 = self.o.precision == "bf16"
        scope = torch.autocast(self.o.device, torch.bfloat16) if bf16 else contextlib.nullcontext()
        with scope:
            loss = self.loss(tokens, labels, self.angles)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.o.clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach(), norm


def curve(o):
    trainer, text = Trainer(o), open(o.data, "rb").read()
    losses, norms = [], []
    for step in range(o.steps):
        for group in trainer.optimizer.param_groups:
            group["lr"] = learning_rate(o, step + 1)
        loss, norm = trainer.step(*text_batch(o, text, step))
        losses.append(loss.item())
        norms.append(norm.item())
    return {"loss": losses, "grad_norm": norms}


def speed(o):
    begin = time.perf_counter()
    trainer = Trainer(o)
    draw = lambda: torch.randint(0, trainer.c["vocab_size"], (o.batch, o.seq), device=o.device)
    data = [(draw(), draw()) for _ in range(4)]
    wait = torch.cuda.synchronize if o.device == "cuda" else (lambda: None)
    first_loss = trainer.step(*data[0])[0].item()
    first = time.perf_counter() - begin
    for i in range(5):
        trainer.step(*data[i % 4])
    wait()
    medians = []
    for _ in range(o.repeats):
        times = []
        for i in range(o.steps):
            start = time.perf_counter()
            trainer.step(*data[i % 4])
            wait()
            times.append(time.perf_counter() - start)
        medians.append(statistics.median(times))
    return {"seconds": medians, "first_step_seconds": first, "first_loss": first_loss,
            "operations": count_operations(trainer.c, o.batch, o.seq),
            "peak_bytes": torch.cuda.max_memory_allocated() if o.device == "cuda" else None}


def timed(repeats, work):
    """The median seconds of `work` on the device."""
    times = []
    for i in range(repeats + 3):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        end.synchronize()
        if i >= 3:
            times.append(begin.elapsed_time(end) / 1e3)
    return statistics.median(times)


def rates(_):
    """Bytes per second that a copy of 4 GB reads and writes, and operations per second of a bf16
    matmul of 8192^3 on random data: for about 30 ms, and sustained for seconds, where the device's
    power limit lowers its clock."""
    source = torch.randn(1 << 30, device="cuda")
    target = torch.empty_like(source)
    copy = 2 * source.nbytes / timed(10, lambda: target.copy_(source))
    del source, target
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    matmul = 2 * 8192 ** 3 / timed(20, lambda: a @ b)
    timed(3000, lambda: a @ b)
    kept_up = 2 * 8192 ** 3 / timed(500, lambda: a @ b)
    return {"copy_bytes_per_second": copy, "bf16_operations_per_second": matmul,
            "bf16_operations_per_second_kept_up": kept_up}


def main():
    o = parse()
    if o.device == "cuda" and not torch.cuda.is_available():
        sys.exit("torch_train: PyTorch sees no CUDA device")
    result = {"curve": curve, "speed": speed, "rates": rates}[o.what](o)
    print(json.dumps({"torch": torch.__version__, **result}))


if __name__ == "__main__":
    main()
