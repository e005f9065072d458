"""Modules with higher-order ops of torch: `make...` return them and their example arguments."""

import torch
from torch import nn
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

X = torch.randn(2, 4)


class Loss(nn.Module):
    """A loss by a function of a linear layer and x."""

    def __init__(self, function):
        super().__init__()
        torch.manual_seed(0)
        self.linear, self.function = nn.Linear(4, 4), function

    def forward(self, x):
        return self.function(self.linear, x).square().mean()


def double(x):
    return x * 2


def triple(x):
    return x * 3


def make_cond():
    """A branch in a branch, on constants; the inner one has a constant of its own."""
    def branch(x):
        return torch.cond(torch.tensor(False), double, lambda x: x.sin() + torch.arange(4.0), (x,))
    return Loss(lambda f, x: torch.cond(torch.tensor(True), branch, triple, (f(x),))), X


def make_constant_cond():
    return Loss(lambda f, x: f(x) * torch.cond(torch.tensor(True), double, triple,
                                               (torch.arange(4.0),))), X


def make_while_loop():
    """Carries a counter, values, and constants that change."""
    def run(f, x):
        count, y, z = while_loop(lambda i, y, z: i < 3, lambda i, y, z: (i + 1, y * z + i, z * 2),
                                 (torch.tensor(0), f(x), torch.ones(4)))
        return y * z + count
    return Loss(run), X


def make_scan():
    """Scans rows of values and of constants; a constant is carried at first."""
    def run(f, x):
        last, rows = scan(lambda c, r: ((c + r[0]) * f.bias, c * r[1]), torch.zeros(4),
                          (f(x), torch.arange(8.0).view(2, 4)))
        return last + rows
    return Loss(run), X


def make_map():
    return Loss(lambda f, x: map_rows(lambda r: r.exp() * 2, f(x))
                + map_rows(double, torch.ones(2, 4))), X


def autocast(is_on=True):
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=is_on)


def make_autocast():
    """Regions in which nothing is cast, and one that is off, in another without gradients."""
    def run(f, x):
        with autocast():
            y = nn.functional.linear(x.bfloat16(), f.weight.bfloat16(), f.bias.bfloat16()).float()
        with torch.no_grad():
            with autocast(False):
                z = f(x)
        return y + z
    return Loss(run), X


# Modules that cannot be imported.


def make_cond_of_inputs():
    return Loss(lambda f, x: torch.cond(x.sum() > 0, double, triple, (f(x),))), X


def make_endless():
    return Loss(lambda f, x: while_loop(lambda y: y.sum() < 9, lambda y: (y.exp(),), (f(x),))[0]), X


def make_casting():
    def run(f, x):
        with autocast():
            return f(x)
    return Loss(run), X


def make_lost_gradients():
    """torch.export drops the torch.no_grad."""
    def run(f, x):
        y = f(x)
        with autocast():
            with torch.no_grad():
                z = y * 2
        return y + z
    return Loss(run), X


def make_flex_attention():
    from torch.nn.attention.flex_attention import flex_attention

    def run(f, x):
        q = f(x)[None, None].detach().repeat(1, 1, 64, 4)
        return flex_attention(q, q, q) * f.bias[0]
    return Loss(run), X
