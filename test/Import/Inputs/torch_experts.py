"""Mixtures of experts for python3 -m tessera import: small models of transformers, and modules that
are almost one."""

import json
import os
import pathlib

import torch
import transformers
import transformers.integrations.moe

MODELS = pathlib.Path(os.environ.get("MODELS", "."))


class Loss(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens, labels):
        return self.model(input_ids=tokens, labels=labels, use_cache=False).loss


def load(name, implementation):
    torch.manual_seed(0)
    given = json.loads((MODELS / f"{name}.json").read_text())
    kept = {key: value for key, value in given.items()
            if key not in ("torch_dtype", "transformers_version", "model_type")}
    config = transformers.AutoConfig.for_model(given["model_type"], **kept)
    model = transformers.AutoModelForCausalLM.from_config(
        config, experts_implementation=implementation).eval()
    ids = torch.zeros(4, 24, dtype=torch.int64)
    return Loss(model), ids, ids


def mixtral():
    return load("tiny-mixtral", "grouped_mm")


def mixtral_batched():
    return load("tiny-mixtral", "batched_mm")


def mixtral_eager():
    return load("tiny-mixtral", "eager")


def qwen3():
    return load("tiny-qwen3-moe", "grouped_mm")


def qwen3_batched():
    return load("tiny-qwen3-moe", "batched_mm")


def deepseek():
    return load("tiny-deepseek-v3", "grouped_mm")


def deepseek_batched():
    return load("tiny-deepseek-v3", "batched_mm")


def grouped(rows, weight, ends):
    return torch.ops.transformers.grouped_mm_fallback(rows, weight, ends)


class Almost(torch.nn.Module):
    """A mixture of 8 experts, with a fault."""

    def __init__(self, fault):
        super().__init__()
        self.fault = fault
        self.router = torch.nn.Parameter(torch.randn(8, 16))
        self.gate_up = torch.nn.Parameter(torch.randn(8, 16, 24))
        self.down = torch.nn.Parameter(torch.randn(8, 12, 16))

    def forward(self, x):
        gates, ids = torch.topk((x @ self.router.T).softmax(-1), 2)
        if self.fault == "ids":
            ids = torch.zeros_like(ids)
        if self.fault == "moved":
            ids = ids + 1
        ids, order = torch.sort(ids.reshape(-1))
        counts = torch.histc(ids.float(), bins=8, min=0, max=7)
        if self.fault == "capacity":
            counts = counts.clamp(max=6)
        ends = torch.cumsum(counts, 0, dtype=torch.int32)
        rows = x[order // 2] if self.fault != "tokens" else x[order % x.shape[0]]
        product = grouped(rows, self.gate_up, ends)
        gate, up = product.chunk(2, -1)
        if self.fault == "limit":
            gate = gate.clamp(max=7)
        hidden = torch.nn.functional.silu(gate) * up
        weights = gates.reshape(-1)
        if self.fault != "order":
            weights = weights[order]
        y = grouped(hidden, self.down, ends) * weights.unsqueeze(-1)
        inverse = torch.argsort(order)
        y = y[order if self.fault == "inverse" else inverse]
        return y.view(-1, 2, 16).sum(1)


def make(fault):
    return lambda: (Almost(fault), torch.zeros(10, 16))


for _fault in ("none", "ids", "moved", "capacity", "tokens", "limit", "order", "inverse"):
    globals()[f"fault_{_fault}"] = make(_fault)


class Shared(torch.nn.Module):
    """Matrices [in, out] that are gathered, rows on the left, and products of two weights."""

    def __init__(self):
        super().__init__()
        self.router, self.gate, self.up, self.down = (
            torch.nn.Parameter(torch.randn(shape))
            for shape in ((16, 8), (8, 16, 12), (8, 16, 12), (8, 12, 16)))

    def forward(self, x):
        gates, ids = torch.topk(torch.sigmoid(x @ self.router), 3)
        gates, ids = (gates / gates.sum(-1, keepdim=True)).flatten(), ids.flatten()
        rows = x.repeat_interleave(3, dim=0).unsqueeze(1)
        gate, up = (torch.bmm(rows, weight[ids]).squeeze(1) for weight in (self.gate, self.up))
        hidden = torch.nn.functional.gelu(up) * gate
        y = torch.bmm(self.down[ids].transpose(1, 2), hidden.unsqueeze(2)).squeeze(2)
        return (gates.unsqueeze(-1) * y).reshape(-1, 3, 16).sum(dim=1).square().mean()


def gathered():
    return Shared(), torch.zeros(10, 16)


class Biased(Shared):
    """Scores of a choice with a bias: a parameter, a buffer that gates have too, or a factor."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        numbers = 0.1 * torch.randn(8)
        self.bias = torch.nn.Parameter(numbers) if kind == "parameter" else torch.nn.Buffer(numbers)

    def forward(self, x):
        scores = torch.sigmoid(x @ self.router)
        changed = scores * self.bias if self.kind == "factor" else scores + self.bias
        gates, ids = torch.topk(changed, 3)
        if self.kind != "gates":
            gates = scores.gather(1, ids)
        rows, ids = x.repeat_interleave(3, dim=0).unsqueeze(1), ids.flatten()
        gate, up = (torch.bmm(rows, weight[ids]).squeeze(1) for weight in (self.gate, self.up))
        y = torch.bmm((torch.nn.functional.silu(gate) * up).unsqueeze(1), self.down[ids]).squeeze(1)
        return (gates.reshape(-1, 1) * y).reshape(-1, 3, 16).sum(dim=1).square().mean()


def biased_parameter():
    return Biased("parameter"), torch.zeros(10, 16)


def biased_gates():
    return Biased("gates"), torch.zeros(10, 16)


def biased_factor():
    return Biased("factor"), torch.zeros(10, 16)
