"""Imports small modules with --check, right ones and ones whose graph is made wrong: python
check_faults.py FOLDER. Prints the outcome of each."""

import contextlib
import io
import pathlib
import re
import sys

import torch
import torch_models
from torch import nn

from tessera import __main__ as command, torch_ops
from tessera.errors import ImportFailure
from tessera.python_file import Examples


class Net(nn.Module):
    """A loss, and logits by a tanh."""

    def __init__(self, dtype, function=torch.tanh):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(32, 64, dtype=dtype), nn.Linear(64, 32, dtype=dtype)
        self.function = function

    def forward(self, x):
        y = self.second(self.function(self.first(x)))
        return y.float().square().mean(), y


class Shifted(nn.Module):
    """Labels that are the decoder's ids, too, as in an encoder-decoder; of a cross entropy, or of
    a gather."""

    def __init__(self, is_gather=False):
        super().__init__()
        self.is_gather = is_gather
        torch.manual_seed(0)
        self.table, self.head = nn.Embedding(11, 16), nn.Linear(16, 7)

    def forward(self, labels):
        ids = labels.new_zeros(labels.shape)
        ids[:, 1:] = labels[:, :-1].clone()
        ids.masked_fill_(ids == -100, 1)
        logits = self.head(self.table(ids)).view(-1, 7)
        if self.is_gather:
            return logits.sigmoid().gather(1, labels.view(-1, 1)).square().mean()
        return nn.functional.cross_entropy(logits, labels.view(-1))


def cancel(x):
    """A result that f32 computes with few digits."""
    return (x + 4096.0) - 4096.0


def scaled(factor):
    """The handler of tanh, with a factor."""
    before = torch_ops.HANDLERS["aten.tanh.default"]

    def convert(importer, node):
        x = before(importer, node)
        return importer.graph.binary("arith.mulf", x,
                                     importer.graph.constant(factor, x.shape, x.element))
    return convert


def run(name, module, example, change=None):
    """Imports a module, and checks the graph after `change` changed its text."""
    graph = pathlib.Path(sys.argv[1], "graph.mlir")
    command.load_function = lambda path, function: (module, Examples([example]))
    checks = command.run_check

    def check(source, path):
        if change:
            before = path.read_text()
            path.write_text(change(before))
            assert path.read_text() != before
        checks(source, path)
    command.run_check = check
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            command.run_import(command.make_parser().parse_args(
                ["import", "model.py:make", "-o", str(graph), "--check"]))
        print(f"{name}: {'; '.join(printed.getvalue().splitlines())}")
    except ImportFailure as error:
        print(f"{name}: {error}")
    finally:
        command.run_check = checks


def replace(pattern, text):
    return lambda graph: re.sub(pattern, text, graph, count=1)


right = torch_ops.HANDLERS["aten.tanh.default"]
for kind in ("float32", "float16", "bfloat16"):
    dtype = getattr(torch, kind)
    x = torch.zeros(16, 32, dtype=dtype)
    run(kind, Net(dtype), x)
    run(f"{kind} with an erf", Net(dtype), x, replace("math.tanh", "math.erf"))
    torch_ops.HANDLERS["aten.tanh.default"] = scaled(1.001 if kind == "float32" else 1.1)
    run(f"{kind} with a factor", Net(dtype), x)
    torch_ops.HANDLERS["aten.tanh.default"] = right
x = torch.zeros(16, 32)
run("cancelled", Net(torch.float32, cancel), x)
run("cancelled with an erf", Net(torch.float32, lambda x: cancel(x).tanh()), x,
    replace("math.tanh", "math.erf"))
run("rounded inside", Net(torch.float32, lambda x: x.bfloat16().tanh().float()), x)
run("overflowing", Net(torch.float16, lambda x: x * 3e4 * 3e4), x.half())
labels = torch.zeros(4, 8, dtype=torch.long)
labels[0, 3:] = -100
run("labels", Shifted(), labels)
run("labels without a shift", Shifted(), labels,
    replace(r"(tensor.extract_slice %arg\d+\[0, )0", r"\g<1>1"))
run("gathered labels without a shift", Shifted(is_gather=True), torch.zeros_like(labels),
    replace(r"(tensor.extract_slice %arg\d+\[0, )0", r"\g<1>1"))
model = torch_models.gpt2()
run("cached", model, torch_models.IDS)
print("use_cache:", model.config.use_cache)
