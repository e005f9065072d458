"""GPT-2 and Llama in plain PyTorch, equal to the compared programs.

A model is built from the same config.json and can load the weights that a program wrote with
--save-initial. Parameters are f32; with autocast the matmuls have bf16 operands. This corresponds
to `--precision bf16`, where the optimizer updates f32 weights."""

import json
import math
import pathlib

import torch
import torch.nn.functional as F
from torch import nn


def read_config(path):
    """The fields that both kinds of models have, under common names."""
    c = json.loads(pathlib.Path(path).read_text())
    if c["model_type"] == "gpt2":
        return {**c, "width": c["n_embd"], "heads": c["n_head"], "kv_heads": c["n_head"],
                "layers": c["n_layer"], "head": c["n_embd"] // c["n_head"],
                "hidden": 4 * c["n_embd"], "eps": c.get("layer_norm_epsilon", 1e-5)}
    heads = c["num_attention_heads"]
    return {**c, "width": c["hidden_size"], "heads": heads,
            "kv_heads": c.get("num_key_value_heads", heads), "layers": c["num_hidden_layers"],
            "head": c.get("head_dim") or c["hidden_size"] // heads,
            "hidden": c["intermediate_size"], "eps": c["rms_norm_eps"]}


def weight(*shape):
    return nn.Parameter(torch.randn(*shape) * 0.02)


def attend(q, k, v):
    """Attention of [batch, heads, sequence, head] tensors; k and v may have fewer heads (GQA)."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True,
                                          enable_gqa=q.shape[1] != k.shape[1])


class Gpt2Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        d, self.heads, self.eps = c["width"], c["heads"], c["eps"]
        ones, zeros = (lambda n: nn.Parameter(torch.ones(n))), (lambda n: nn.Parameter(torch.zeros(n)))
        self.g1, self.s1, self.g2, self.s2 = ones(d), zeros(d), ones(d), zeros(d)
        self.wqkv, self.bqkv = weight(3 * d, d), zeros(3 * d)
        self.wo, self.bo = weight(d, d), zeros(d)
        self.w1, self.b1 = weight(4 * d, d), zeros(4 * d)
        self.w2, self.b2 = weight(d, 4 * d), zeros(d)

    def forward(self, x):
        batch, seq, d = x.shape
        h = F.layer_norm(x, (d,), self.g1, self.s1, self.eps)
        qkv = F.linear(h, self.wqkv, self.bqkv).view(batch, seq, 3, self.heads, d // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        o = attend(q, k, v).transpose(1, 2).reshape(batch, seq, d)
        x = x + F.linear(o, self.wo, self.bo)
        h = F.layer_norm(x, (d,), self.g2, self.s2, self.eps)
        return x + F.linear(F.gelu(F.linear(h, self.w1, self.b1), approximate="tanh"), self.w2,
                            self.b2)

    def load(self, tensor):
        rows = lambda name, out: tensor(name).reshape(-1, out).T
        d = self.wo.shape[0]
        values = {
            "g1": tensor("ln1.gamma"), "s1": tensor("ln1.beta"),
            "g2": tensor("ln2.gamma"), "s2": tensor("ln2.beta"),
            "wqkv": torch.cat([rows(f"attn.{w}", d) for w in ("wq", "wk", "wv")]),
            "bqkv": torch.cat([tensor(f"attn.{b}").reshape(d) for b in ("bq", "bk", "bv")]),
            "wo": tensor("attn.wo").reshape(d, d).T, "bo": tensor("attn.bo"),
            "w1": tensor("mlp.w1").T, "b1": tensor("mlp.b1"),
            "w2": tensor("mlp.w2").T, "b2": tensor("mlp.b2")}
        for name, value in values.items():
            getattr(self, name).copy_(value)


class LlamaBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        d, self.head, self.eps = c["width"], c["head"], c["eps"]
        self.heads, self.kv_heads = c["heads"], c["kv_heads"]
        self.g1, self.g2 = nn.Parameter(torch.ones(d)), nn.Parameter(torch.ones(d))
        rows = (self.heads + 2 * self.kv_heads) * self.head
        self.wqkv, self.wo = weight(rows, d), weight(d, self.heads * self.head)
        self.w_in, self.w_down = weight(2 * c["hidden"], d), weight(d, c["hidden"])

    def rotate(self, x, cos, sin):
        low, high = x.chunk(2, dim=-1)
        return (x * cos + torch.cat((-high, low), dim=-1) * sin).to(x.dtype)

    def forward(self, x, cos, sin):
        batch, seq, d = x.shape
        h = F.rms_norm(x, (d,), self.g1, self.eps)
        qkv = F.linear(h, self.wqkv).view(batch, seq, -1, self.head).transpose(1, 2)
        q, k, v = qkv.split((self.heads, self.kv_heads, self.kv_heads), dim=1)
        q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
        o = attend(q, k, v).transpose(1, 2).reshape(batch, seq, -1)
        x = x + F.linear(o, self.wo)
        h = F.rms_norm(x, (d,), self.g2, self.eps)
        gate, up = F.linear(h, self.w_in).chunk(2, dim=-1)
        return x + F.linear(F.silu(gate) * up, self.w_down)

    def load(self, tensor):
        rows = lambda name: tensor(name).reshape(self.wo.shape[0], -1).T
        self.g1.copy_(tensor("ln1.gamma"))
        self.g2.copy_(tensor("ln2.gamma"))
        self.wqkv.copy_(torch.cat([rows(f"attn.{w}") for w in ("wq", "wk", "wv")]))
        self.wo.copy_(tensor("attn.wo").reshape(-1, self.wo.shape[0]).T)
        self.w_in.copy_(torch.cat([tensor(f"mlp.{w}").T for w in ("w_gate", "w_up")]))
        self.w_down.copy_(tensor("mlp.w_down").T)


def rope_frequencies(c):
    """Inverse frequencies, with Llama 3's scaling if the config has it."""
    base = 1.0 / c.get("rope_theta", 10000.0) ** (torch.arange(0, c["head"], 2).double() / c["head"])
    scaling = c.get("rope_scaling")
    if not scaling:
        return base
    low = scaling["original_max_position_embeddings"] / scaling["low_freq_factor"]
    high = scaling["original_max_position_embeddings"] / scaling["high_freq_factor"]
    length = 2 * math.pi / base
    between = (low / length - 1) / (low / high - 1)
    smooth = base * ((1 - between) / scaling["factor"] + between)
    return torch.where(length > low, base / scaling["factor"],
                       torch.where(length < high, base, smooth))


class Model(nn.Module):
    """Returns the mean cross-entropy of [batch, seq] tokens and labels."""

    def __init__(self, c):
        super().__init__()
        self.c, self.is_gpt2 = c, c["model_type"] == "gpt2"
        self.wte = weight(c["vocab_size"], c["width"])
        self.gain = nn.Parameter(torch.ones(c["width"]))
        if self.is_gpt2:
            self.wpe = weight(c["n_positions"], c["width"])
            self.shift = nn.Parameter(torch.zeros(c["width"]))
        elif not c.get("tie_word_embeddings"):
            self.lm_head = weight(c["vocab_size"], c["width"])
        block = Gpt2Block if self.is_gpt2 else LlamaBlock
        self.blocks = nn.ModuleList(block(c) for _ in range(c["layers"]))
        self.frequencies = None if self.is_gpt2 else rope_frequencies(c)

    def angles(self, seq, like):
        positions = torch.arange(seq, device=self.frequencies.device)
        phase = torch.outer(positions.double(), self.frequencies)
        phase = torch.cat((phase, phase), dim=-1)
        return phase.cos().to(like.device, like.dtype), phase.sin().to(like.device, like.dtype)

    def forward(self, tokens, labels, angles=None):
        d, eps = self.c["width"], self.c["eps"]
        x = F.embedding(tokens, self.wte)
        if self.is_gpt2:
            x = x + self.wpe[:tokens.shape[1]]
        for block in self.blocks:
            x = block(x) if self.is_gpt2 else block(x, *angles)
        if self.is_gpt2:
            x = F.layer_norm(x, (d,), self.gain, self.shift, eps)
        else:
            x = F.rms_norm(x, (d,), self.gain, eps)
        logits = F.linear(x, getattr(self, "lm_head", self.wte))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), labels.reshape(-1))

    @torch.no_grad()
    def load(self, folder):
        """Loads the weights that a program wrote to `folder`; for a bf16 parameter the optimizer's
        f32 copy."""
        import numpy

        def tensor(name):
            master = pathlib.Path(folder) / f"{name}.master.npy"
            path = master if master.exists() else pathlib.Path(folder) / f"{name}.npy"
            return torch.from_numpy(numpy.load(path).copy())

        self.wte.copy_(tensor("wte"))
        self.gain.copy_(tensor("ln_f.gamma"))
        if self.is_gpt2:
            self.wpe.copy_(tensor("wpe"))
            self.shift.copy_(tensor("ln_f.beta"))
        elif hasattr(self, "lm_head"):
            self.lm_head.copy_(tensor("lm_head"))
        for i, block in enumerate(self.blocks):
            block.load(lambda name: tensor(f"blocks.{i}.{name}"))

    def groups(self, decay):
        """Parameter groups for the optimizer: only matrices have weight decay."""
        parameters = list(self.parameters())
        return [{"params": [p for p in parameters if p.ndim > 1], "weight_decay": decay},
                {"params": [p for p in parameters if p.ndim == 1], "weight_decay": 0.0}]


def count_operations(c, batch, seq):
    """Multiplications and additions of a step's matmuls, forward and twice as many backward. Causal
    attention counts half, rematerialization does not count."""
    d, tokens = c["width"], batch * seq
    q, kv = c["heads"] * c["head"], c["kv_heads"] * c["head"]
    hidden = (2 if c["model_type"] == "gpt2" else 3) * c["hidden"]
    layer = d * (q + 2 * kv) + q * d + hidden * d
    matmuls = 2 * tokens * (c["layers"] * layer + c["vocab_size"] * d)
    attention = 2 * tokens * seq * q * c["layers"]
    return 3 * (matmuls + attention)
