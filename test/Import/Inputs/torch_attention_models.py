"""Attention with biases, sinks and softcaps, as modules of torch write it: masks of keys and of
pairs, distances, tables."""

import math

import torch
from torch import nn
from torch.nn import functional as F

LOWEST = torch.finfo(torch.float32).min


class Attention(nn.Module):
    """Heads of queries, and fewer of keys, whose results a subclass mixes."""

    def __init__(self, heads=4, key_heads=4, dim=8):
        super().__init__()
        self.heads, self.key_heads, self.dim = heads, key_heads, dim
        self.q = nn.Linear(32, heads * dim)
        self.k, self.v = (nn.Linear(32, key_heads * dim) for _ in range(2))
        self.o = nn.Linear(heads * dim, 32)

    def forward(self, x, mask):
        def split(linear, heads):
            return linear(x).view(*x.shape[:2], heads, self.dim).transpose(1, 2)

        q = split(self.q, self.heads)
        k, v = (split(linear, self.key_heads) for linear in (self.k, self.v))
        mixed = self.mix(q, k, v, mask[:, None, None, :])
        return self.o(mixed.transpose(1, 2).flatten(2)).square().mean()

    def scores(self, q, k):
        return q @ k.transpose(-1, -2) / math.sqrt(self.dim)


def causal(x):
    return torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool).tril()


class Fused(Attention):
    def mix(self, q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask.bool())


class FusedQueries(Attention):
    """A mask without a dimension of keys: some queries see all keys, the others none."""

    def mix(self, q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask.transpose(2, 3).bool())


class FusedFloat(Attention):
    def mix(self, q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=(1 - mask.float()) * LOWEST)


class FusedInfinite(Attention):
    def mix(self, q, k, v, mask):
        hidden = torch.zeros_like(mask, dtype=q.dtype).masked_fill(mask == 0, -math.inf)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=hidden)


class Written(Attention):
    def mix(self, q, k, v, mask):
        return (self.scores(q, k) + (1 - mask.float()) * LOWEST).softmax(-1) @ v


class Distances(Attention):
    """ALiBi, and a mask of pairs."""

    def mix(self, q, k, v, mask):
        position = torch.arange(q.shape[2])
        slopes = torch.tensor([2.0 ** -i for i in range(1, 1 + self.heads)])
        scores = self.scores(q, k) + slopes[:, None, None] * (position[None] - position[:, None])
        return scores.masked_fill(~(causal(q) & mask.bool()), -math.inf).softmax(-1) @ v


class Grouped(Attention):
    """Keys repeated by repeat_interleave, and a bias."""

    def __init__(self):
        super().__init__(key_heads=2)

    def mix(self, q, k, v, mask):
        k, v = (x.repeat_interleave(2, 1) for x in (k, v))
        return (self.scores(q, k) + (1 - mask.float()) * -3e38).softmax(-1) @ v


class Capped(Attention):
    """The scores of Gemma 2."""

    def mix(self, q, k, v, mask):
        scores = torch.tanh(self.scores(q, k) / 5.0) * 5.0
        return scores.masked_fill(~causal(q), -math.inf).softmax(-1) @ v


class Sinks(Attention):
    """The sinks of GPT-OSS, with keys repeated by expand."""

    def __init__(self):
        super().__init__(key_heads=2)
        self.sinks = nn.Parameter(torch.randn(4))

    def mix(self, q, k, v, mask):
        k, v = (x[:, :, None].expand(-1, -1, 2, -1, -1).flatten(1, 2) for x in (k, v))
        scores = self.scores(q, k) + torch.full((q.shape[2],) * 2, LOWEST).triu(1)
        column = self.sinks.reshape(1, -1, 1, 1).expand(*q.shape[:3], 1)
        both = torch.cat([scores, column], dim=-1)
        both = both - both.max(dim=-1, keepdim=True).values
        return F.softmax(both, dim=-1)[..., :-1] @ v


class Table(Attention):
    """A bias that is trained."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(4, 8, 8))

    def mix(self, q, k, v, mask):
        return (self.scores(q, k) + self.table).softmax(-1) @ v


def maker(module, shown=5):
    """The second sequence sees its first `shown` keys."""

    def make():
        torch.manual_seed(0)
        mask = torch.ones(2, 8, dtype=torch.int64)
        mask[1, shown:] = 0
        return module(), (torch.randn(2, 8, 32), mask)

    return make


make_fused_queries = maker(FusedQueries)
make_fused, make_fused_float, make_written = (maker(m) for m in (Fused, FusedFloat, Written))
make_distances, make_grouped, make_capped = (maker(m) for m in (Distances, Grouped, Capped))
make_sinks, make_table = maker(Sinks), maker(Table)
# A sequence whose keys are all hidden: zeros, or the mean of the values. (torch's fused kernel for
# processors has other gradients than its definition where a mask of the lowest number hides all.)
make_hidden_fused, make_hidden_infinite = maker(Fused, 0), maker(FusedInfinite, 0)
make_hidden_written = maker(Written, 0)
