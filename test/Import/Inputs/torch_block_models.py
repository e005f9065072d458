"""Modules whose attention has several dimensions of batches; `make...` return a module and its
example arguments."""

import torch
from torch import nn
from torch.nn import functional


class Blocked(nn.Module):
    """Attention within blocks of positions, whose heads come before the blocks or after them."""

    def __init__(self, heads_first, has_mask=False, width=16, heads=4):
        super().__init__()
        self.heads_first, self.heads = heads_first, heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.head = nn.Linear(width, 6)
        self.bias = nn.Parameter(torch.randn(heads, 1, 3, 3)) if has_mask else None

    def forward(self, x):
        q, k, v = self.qkv(x).view(*x.shape[:3], 3, self.heads, -1).permute(3, 0, 4, 1, 2, 5)
        mask = self.bias
        if not self.heads_first:
            q, k, v = (y.transpose(1, 2) * 1 for y in (q, k, v))
            mask = None if mask is None else mask.transpose(0, 1)
        y = functional.scaled_dot_product_attention(q, k, v, mask)
        y = y.permute(0, 2, 3, 1, 4) if self.heads_first else y.transpose(2, 3)
        return self.head(x + self.out(y.flatten(3))).square().mean()


def make_blocked(heads_first=True, has_mask=False):
    torch.manual_seed(0)
    return Blocked(heads_first, has_mask), torch.randn(2, 2, 3, 16)


def make_blocked_with_bias():
    return make_blocked(has_mask=True)


def make_blocks_of_heads():
    return make_blocked(heads_first=False)


def make_blocks_of_heads_with_bias():
    return make_blocked(heads_first=False, has_mask=True)
