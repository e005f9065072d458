"""Small models of torch and transformers; `make...` return a module and its example
arguments."""

import math
import types

import torch
from torch import nn
from torch.nn import functional

BATCH, SEQ, VOCAB, WIDTH, HEADS, LAYERS = 2, 24, 259, 48, 4, 2
IDS = torch.zeros(BATCH, SEQ, dtype=torch.long)


class Result(nn.Module):
    """One result of a model of transformers."""

    def __init__(self, model, name):
        super().__init__()
        self.model, self.name = model, name


class Logits(Result):
    def forward(self, tokens):
        return getattr(self.model(input_ids=tokens, use_cache=False), self.name)


class Loss(Result):
    def forward(self, tokens, labels):
        return self.model(input_ids=tokens, labels=labels, use_cache=False).loss


class Masked(Result):
    def forward(self, tokens, mask):
        return getattr(self.model(input_ids=tokens, attention_mask=mask), self.name)


class Pixels(Result):
    def forward(self, pixels):
        return getattr(self.model(pixels), self.name)


def gpt2():
    import transformers
    torch.manual_seed(0)
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_layer=LAYERS, n_head=HEADS, n_embd=WIDTH, vocab_size=VOCAB, n_positions=64,
        bos_token_id=None, eos_token_id=None)).eval()


def llama():
    import transformers
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        num_hidden_layers=LAYERS, num_attention_heads=HEADS, num_key_value_heads=2,
        hidden_size=WIDTH, intermediate_size=2 * WIDTH, vocab_size=VOCAB,
        rope_parameters={"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0,
                         "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                         "original_max_position_embeddings": 16})).eval()


def make_gpt2():
    return Logits(gpt2(), "logits"), IDS


def make_gpt2_loss():
    return Loss(gpt2(), "loss"), IDS, IDS


def make_llama():
    return Logits(llama(), "logits"), IDS


def make_llama_loss():
    return Loss(llama(), "loss"), IDS, IDS


def make_llama_long():
    """Tables of 8,192 rows."""
    model = llama()
    model.model.layers = model.model.layers[:1]
    return Logits(model, "logits"), torch.zeros(1, 8192, dtype=torch.long)


def make_llama_long_bf16():
    wrapped, ids = make_llama_long()
    return wrapped.to(torch.bfloat16), ids


def make_bert():
    """A model with a mask of keys, which is an input."""
    import transformers
    torch.manual_seed(0)
    model = transformers.BertModel(transformers.BertConfig(
        hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        intermediate_size=2 * WIDTH, vocab_size=VOCAB), add_pooling_layer=False).eval()
    mask = torch.ones(BATCH, SEQ, dtype=torch.long)
    mask[1, SEQ // 2:] = 0
    return Masked(model, "last_hidden_state"), IDS, mask


def make_vit():
    import transformers
    torch.manual_seed(0)
    model = transformers.ViTModel(transformers.ViTConfig(
        hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        intermediate_size=2 * WIDTH, image_size=32, patch_size=8), add_pooling_layer=False).eval()
    return Pixels(model, "last_hidden_state"), torch.zeros(BATCH, 3, 32, 32)


class Block(nn.Module):
    """Attention written out with a mask in a buffer, and an MLP."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("mask", torch.tril(torch.ones(1, 1, 64, 64)))

    def forward(self, x):
        batch, seq, width = x.shape
        q, k, v = (part.view(batch, seq, HEADS, width // HEADS).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(width, dim=2))
        scores = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(width // HEADS))
        scores = scores.masked_fill(self.mask[:, :, :seq, :seq] == 0, float("-inf"))
        y = (functional.softmax(scores, dim=-1) @ v).transpose(1, 2).contiguous()
        x = x + self.dropout(self.out(y.view(batch, seq, width)))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class NanoGPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCAB, WIDTH), nn.Embedding(64, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCAB, bias=False)
        self.tokens.weight = self.head.weight

    def forward(self, tokens, labels):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return functional.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1),
                                        ignore_index=-1)


def make_nanogpt():
    torch.manual_seed(0)
    return NanoGPT().eval(), IDS, IDS


# Rules of gradients.


class Lora(nn.Module):
    """A frozen linear layer, and a trained summand of its weight."""

    def __init__(self, base):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(2, base.in_features))
        self.up = nn.Parameter(torch.randn(base.out_features, 2))

    def forward(self, x):
        return self.base(x) + (x @ self.down.T) @ self.up.T


def make_lora():
    torch.manual_seed(0)
    model = NanoGPT().eval().requires_grad_(False)
    for block in model.blocks:
        block.qkv, block.up = Lora(block.qkv), Lora(block.up)
    return model, IDS, IDS


class Quantized(nn.Module):
    """A straight-through estimator: rounded weights that pass gradients."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        weight = self.first.weight + ((16 * self.first.weight).round() / 16
                                      - self.first.weight).detach()
        return self.second(functional.gelu(functional.linear(x, weight))).square().mean()


def make_straight_through():
    torch.manual_seed(0)
    return Quantized(), torch.randn(BATCH, WIDTH)


class Target(nn.Module):
    """A target without gradients, computed from the network's own values, too."""

    def __init__(self):
        super().__init__()
        self.online, self.target = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        y = self.online(x)
        with torch.no_grad():
            target, scale = self.target(x) * x + y, y.square().mean()
            with torch.enable_grad():
                also = y * y
            unused = also.sum()
        return (y - target).square().mean() / scale + also.mean() + unused


def make_no_grad():
    torch.manual_seed(0)
    return Target(), torch.randn(BATCH, WIDTH)


class StoppedSoftmax(nn.Module):
    """A softmax by hand with a detached maximum; a norm of a constant."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x):
        y = self.linear(x)
        shifted = (y - y.amax(dim=-1, keepdim=True).detach()).exp()
        y = shifted / shifted.sum(dim=-1, keepdim=True)
        # The values of a SiLU, with the gradient of the identity.
        z = y + (y / (1 + (-y).exp()) - y).detach()
        return (self.norm(z.detach()) * z).square().sum()


def make_stopped_softmax():
    torch.manual_seed(0)
    return StoppedSoftmax(), torch.randn(BATCH, WIDTH)


class Kinks(nn.Module):
    """A ReLU of zeros, and rows of padding, which have no gradient; other functions at corners of
    their gradients, and maxima with ties."""

    def __init__(self, **options):
        super().__init__()
        self.table, self.bias = nn.Embedding(4, WIDTH, **options), nn.Parameter(torch.zeros(WIDTH))
        nn.init.normal_(self.table.weight)
        self.corners = nn.Parameter(torch.tensor([[-1.0, 0.0, 2.0], [2.0, 2.0, -3.0]]))

    def forward(self, tokens):
        x = self.corners
        y = x.clamp(-1, 2) + 3 * x.clamp(min=0) + 5 * functional.elu(x, 0.7) + 7 * x.abs()
        y = y + 2 * functional.leaky_relu(x) + 3 * functional.softplus(x, 1, 2)
        y = y + torch.maximum(x, torch.tensor(2.0)) + 5 * torch.minimum(torch.zeros(3), x)
        y = y + x.amax(-1, keepdim=True) + 2 * x.amin((0, 1)) + 3 * x.max() + (x + 1).norm(dim=0)
        return (self.table(tokens) + functional.relu(self.bias)).sum() / 64 + y.sum()


def make_kinks():
    torch.manual_seed(0)
    return Kinks(padding_idx=1), IDS


def make_scaled_by_frequency():
    return Kinks(scale_grad_by_freq=True), IDS


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        import torch.utils.checkpoint
        y = torch.utils.checkpoint.checkpoint(lambda x: self.linear(x).tanh(), x,
                                              use_reentrant=False)
        return y.square().mean()


def make_checkpoint():
    torch.manual_seed(0)
    return Checkpointed(), torch.randn(BATCH, WIDTH)


class MaskedAttention(nn.Module):
    """Attention in which a query sees no key, and a parameter without dimensions."""

    def __init__(self, mask):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(0.5))
        self.register_buffer("mask", mask)

    def forward(self, x):
        mixed = functional.scaled_dot_product_attention(x, x * self.scale, x, self.mask)
        return mixed.square().sum()


SHOWN = torch.tensor([[1, 1, 0], [0, 0, 0], [0, 1, 1]], dtype=torch.bool)


def make_masked():
    return MaskedAttention(SHOWN), torch.randn(2, 2, 3, 4)


def make_masked_by_floats():
    mask = torch.zeros(3, 3).masked_fill(~SHOWN, -torch.inf)
    return MaskedAttention(mask), torch.randn(2, 2, 3, 4)


class Ops(nn.Module):
    """Rare ops."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([[-60.0, -1.0, 0.5], [2.0, 9.0, 60.0]]))

    def forward(self, x):
        x = x * self.weight
        y = functional.softplus(x) + functional.softplus(x, beta=2, threshold=3)
        y = torch.max(y, x + 1) - torch.min(y, 2 * x)
        y = torch.cat([torch.zeros(2, 0), y, x.new_zeros(2, 0)], -1)
        y = y + torch.logsumexp(y, 1, keepdim=True).expand_as(y) - y.logsumexp((0, 1))
        hidden = torch.full_like(y, -torch.inf)
        y = y + torch.logsumexp(torch.stack([y, hidden]), 0) * torch.ones_like(y)
        y = torch.cat([y, hidden], 1).logsumexp(1, keepdim=True) - x.new_full((2, 3), 0.5) + y
        wide = y.repeat(2, 1, 3) * torch.arange(36.0).view(2, 2, 9)
        return (wide.sum(0).view(3, 6).reshape_as(y.tile(3)) * y.tile(3)).square().mean()


class MoreOps(Ops):
    """More rare ops, on floats and on integers beyond the range of f32."""

    def forward(self, x, ids):
        x = x * self.weight
        y = functional.normalize(x, dim=-1) + x.norm(dim=(0, 1)) + (0 * x).norm()
        y = y + x.var(-1, keepdim=True) + x.var(0, unbiased=False) + x.var()
        y = y + functional.leaky_relu(x, 0.2) + functional.elu(x, 0.7) + 0.5 ** x.abs()
        y = y + (x.T @ x).tril(1)[:2] - (x.T @ x).triu(1)[1:] + functional.rms_norm(x, (3,))
        y = y + x.roll(1, -1) * x.roll((1, -1), (0, 1))
        rows = self.weight[torch.tensor([[1, -2, 0], [0, 0, -1]])] + \
            self.weight[(ids > 3).long() - 1]
        y = y + rows.sum(1) + self.weight.index_select(0, (ids[:, 1] > 2).long())
        y = y + x.index_select(1, torch.tensor([1, 2])).sum()
        steps = (ids * 20000001).cumsum(-1) - ids * 20000001
        first = ids.gather(1, (ids[:, :1] > 3).long())
        return (1e-3 * y * (1e-8 * steps.float() + first + (ids > 2).cumsum(0))).square().mean()


def make_more_ops():
    return MoreOps(), torch.randn(2, 3), torch.tensor([[3, 1, 2], [5, 3, 4]])


class Extremes(nn.Module):
    """Results near 0, sums beyond the largest f16, and elements that are masked out."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([-80.0, -30.0, 0.5, 30.0]))

    def forward(self, x, count):
        y = x * self.scale.sigmoid().log()
        wide = (self.scale.sum() + 109.5).expand(4096).half()
        y = y + wide.mean().float() + wide.norm().float()
        sides = (wide * torch.tensor([2.0, -2.0]).half().repeat(2048))
        y = y + 1e-3 * sides.var(correction=0).float() + self.scale.var(correction=0.5)
        y = y + functional.log_softmax(self.scale.half(), 0)[2].float()
        added = torch.full((1, 1, 1), torch.nan).to(x.dtype)
        square = torch.baddbmm(added, y[:, :, None], y[:, None], beta=0, alpha=1e-3)
        return (1 - y).mean() + square.mean() + ((3 - count) * y).sum()


def make_extremes():
    return Extremes(), torch.ones(2, 4), torch.tensor([[1], [5]])


class Classes(nn.Module):
    """Cross entropies whose classes are not the last dimension: as many classes as positions, two
    dimensions, or a transpose."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 4, 4))

    def forward(self, labels):
        first = functional.cross_entropy(self.weight, labels)
        grid = self.weight[:, :, :, None].expand(-1, -1, -1, 2).exp()
        second = functional.cross_entropy(grid, labels[..., None].expand(-1, -1, 2),
                                          reduction="sum", ignore_index=1)
        each = functional.cross_entropy(self.weight.transpose(1, 2) * 2, labels, reduction="none")
        return first + second + each.square().sum()


def make_classes():
    torch.manual_seed(0)
    return Classes(), torch.tensor([[0, 1, 2, 3], [3, 2, 2, 0]])


class Shifted(nn.Module):
    """Writes parts of tensors, as transformers shifts ids to the right."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([[0.1, -1.0, 0.5], [2.0, 0.9, 0.3]]))

    def forward(self, x, ids):
        shifted = ids.new_zeros(ids.shape)
        shifted[:, 1:] = ids[:, :-1].clone()
        shifted[:, 0] = 7
        shifted.masked_fill_(shifted == 3, 0)
        y = x * self.weight
        z = y.exp() + x
        z[1, :2] = y[0, 1:] * 3
        z[..., -1] += 2 * z[:, 0]
        z[0].mul_(self.weight[1])
        pair = y.new_empty(2, 4)
        pair[:, 2:] = y[:, 1:]
        pair[:, :2] = y[:, :2] * 2
        pair[:, 1:3] += torch.empty(2, 2).zero_()
        return (z * shifted).square().mean() + pair.square().sum()


def make_shifted():
    return Shifted(), torch.randn(2, 3), torch.tensor([[3, 1, 2], [5, 3, 4]])


class Rewritten(Shifted):
    """Reads a view of a constant before and after it is written."""

    def forward(self, x, ids):
        table = torch.arange(3.0)
        rest = table[1:]
        y = x[:, 1:] * self.weight[:, 1:] + rest
        table[1] = 5.0
        return (y * (x[:, :2] + rest) * ids[:, 1:]).sum()


def make_rewritten():
    return Rewritten(), torch.randn(2, 3), torch.tensor([[3, 1, 2], [5, 3, 4]])


class Stale(Shifted):
    """Reads a view after its tensor was written."""

    def forward(self, x, ids):
        y = x * self.weight
        row = y[0]
        y[:, 1] = 3.0
        return (row * ids).sum()


def make_stale():
    return Stale(), torch.randn(2, 3), torch.tensor([[3, 1, 2], [5, 3, 4]])


def make_ops():
    return Ops(), torch.randn(2, 3)


class WrittenOut(nn.Module):
    """Attention written out, with a mask of minus infinity that comes as an input."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(0.5))

    def forward(self, x, shown):
        mask = torch.zeros(1).masked_fill(shown == 0, -torch.inf)
        scores = x @ (x * self.scale).transpose(-1, -2) + mask[:, None]
        mixed = scores.softmax(-1) @ x
        return mixed[1].square().sum(), mixed


def make_written_out():
    return WrittenOut(), torch.randn(2, 3, 4), torch.tensor([[0, 1, 0], [1, 0, 1]])


class Padded(nn.Module):
    """Causal attention that hides token 0 with a mask, of minus infinity or of booleans, that is
    computed at run time. One query sees no key. Two heads of queries share a head of keys."""

    def __init__(self, is_bool=False):
        super().__init__()
        self.is_bool = is_bool
        self.table = nn.Embedding(4, 16)
        self.q, self.k, self.v = (nn.Linear(16, n) for n in (16, 8, 8))
        self.out = nn.Linear(16, 8)

    def forward(self, tokens, labels):
        x = self.table(tokens)
        q, k, v = (layer(x).view(*tokens.shape, -1, 4).transpose(1, 2)
                   for layer in (self.q, self.k, self.v))
        mask = (tokens != 0)[:, None, None]
        if not self.is_bool:
            mask = torch.zeros(1).masked_fill(~mask, -torch.inf)
        mask = mask.expand(-1, 1, tokens.shape[1], -1)
        y = functional.scaled_dot_product_attention(q, k, v, mask, is_causal=True,
                                                    enable_gqa=True)
        logits = self.out(y.transpose(1, 2).flatten(2))
        return functional.cross_entropy(logits.view(-1, 8), labels.view(-1))


def make_padded(is_bool=False):
    torch.manual_seed(0)
    ids = torch.zeros(4, 6, dtype=torch.long)
    return Padded(is_bool), ids, ids


def make_padded_by_booleans():
    return make_padded(is_bool=True)


# Every group of ops that is one op of nn, written out.


class Patterns(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Parameter(torch.randn(VOCAB, WIDTH) / 8)
        self.gain, self.scale, self.bias = (nn.Parameter(torch.randn(WIDTH)) for _ in range(3))
        self.q, self.k, self.v = (nn.Linear(WIDTH, n * 12, bias=False) for n in (4, 2, 2))
        self.out, self.gate, self.up, self.erf, self.tanh = (
            nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(5))
        angles = torch.outer(torch.arange(SEQ).float(), 10000.0 ** -(torch.arange(6) / 6))
        self.register_buffer("cos", torch.cat([angles, angles], -1).cos())
        self.register_buffer("sin", torch.cat([angles, angles], -1).sin())

    def rotate(self, x):
        low, high = x.chunk(2, -1)
        return x * self.cos + torch.cat([-high, low], -1) * self.sin

    def attend(self, y):
        q, k, v = (layer(y).view(BATCH, SEQ, -1, 12).transpose(1, 2)
                   for layer in (self.q, self.k, self.v))
        q, k = self.rotate(q), self.rotate(k)
        k, v = (x[:, :, None].expand(-1, -1, 2, -1, -1).reshape(q.shape) for x in (k, v))
        scores = q @ k.transpose(2, 3) / 12 ** 0.5
        mask = torch.full((SEQ, SEQ), -torch.inf).triu(1)
        weights = (scores + mask - (scores + mask).amax(-1, keepdim=True)).exp()
        weights = weights / weights.sum(-1, keepdim=True)
        return (weights @ v).transpose(1, 2).reshape(y.shape)

    def forward(self, tokens, labels):
        x = self.embed[tokens]
        y = x * (x.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt() * self.gain
        x = x + self.out(self.attend(y))
        centred = x - x.mean(-1, keepdim=True)
        variance = centred.square().mean(-1, keepdim=True)
        y = centred / (variance + 1e-5).sqrt() * self.scale + self.bias
        gate = self.gate(y)
        x = x + gate / (1 + (-gate).exp()) * self.up(y)
        y = self.erf(x)
        x = x + 0.5 * y * (1 + (y / 2 ** 0.5).erf())
        y = self.tanh(x)
        x = x + 0.5 * y * (1 + ((2 / math.pi) ** 0.5 * (y + 0.044715 * y ** 3)).tanh())
        shifted = (x - x.amax(-1, keepdim=True)).exp()
        x = x * (shifted / shifted.sum(-1, keepdim=True))
        logits = x @ self.embed.T
        shifted = logits - logits.amax(-1, keepdim=True)
        picked = shifted.gather(-1, labels[..., None])[..., 0]
        return (shifted.exp().sum(-1).log() - picked).mean()


def make_patterns():
    torch.manual_seed(0)
    return Patterns(), IDS, IDS


# Modules that cannot be imported.


def make_dropout():
    return NanoGPT().train(), IDS, IDS


class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad


class Function(nn.Module):
    """A loss by `self.function` of a linear layer."""

    def __init__(self, function):
        super().__init__()
        self.linear, self.function = nn.Linear(4, 4), function

    def forward(self, x):
        return self.function(self.linear(x)).sum()


def make_autograd_function():
    return Function(Round.apply), torch.zeros(2, 4)


def make_median():
    return Function(lambda x: x.median(-1).values), torch.zeros(2, 4)


def make_random():
    return Function(lambda x: x * torch.rand(2, 4)), torch.zeros(2, 4)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.count += 1
        return x * self.count


def make_written():
    return Counter(), torch.zeros(2, 4)


def make_filled():
    """Random numbers that are written into a constant."""
    return Function(lambda x: x * torch.empty(4).uniform_()), torch.zeros(2, 4)


def make_dropout_in_place():
    return nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.3, inplace=True)), torch.zeros(2, 4)


def make_dropout_of_ones():
    return Function(lambda x: x * functional.dropout(torch.ones(4), 0.2, True)), torch.zeros(2, 4)


def make_no_dropout():
    """Dropouts in eval mode: in place, of channels, of constants, and in a nested module."""
    layers = nn.Linear(4, 4), nn.Dropout(0.3, inplace=True), nn.AlphaDropout(0.3), \
        Function(lambda x: x * functional.dropout(torch.arange(4.0), 0.2, False))
    return nn.Sequential(*layers).eval(), torch.zeros(2, 4)


def make_alias():
    """Writes to the result of a dropout in eval mode, which is its operand."""
    def double(x):
        y = 2 * x
        functional.dropout(y, 0.5, training=False).add_(1)
        return y
    return Function(double), torch.zeros(2, 4)


def make_empty():
    return Function(lambda x: x + x[:, :0].sum()), torch.zeros(2, 4)


def make_loop():
    """A loop by a value, in a model whose config has a choice for experts that it has not."""
    def halve(x):
        while x.sum() > 1:
            x = x / 2
        return x
    module = Function(halve)
    module.config = types.SimpleNamespace(_experts_implementation="eager")
    return module, torch.zeros(2, 4)


def make_selection():
    return Function(lambda x: x[x > 0]), torch.zeros(2, 4)


def make_item():
    return Function(lambda x: x * x.sum().item()), torch.zeros(2, 4)


def make_complex_input():
    return Function(torch.abs), torch.zeros(2, 4, dtype=torch.complex64)


def make_two_types():
    return Function(lambda x: x).double(), torch.zeros(2, 4)


def make_batch_norm():
    return nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), torch.zeros(2, 4)


def make_reentrant():
    from torch.utils.checkpoint import checkpoint
    return Function(lambda x: checkpoint(torch.tanh, x, use_reentrant=True)), torch.zeros(2, 4)


def make_raising():
    def fail(x):
        raise ValueError("no loss\nof two lines")
    return Function(fail), torch.zeros(2, 4)


def make_nothing():
    class Nothing(nn.Module):
        def forward(self, x):
            return None
    return Nothing(), torch.zeros(2, 4)


def make_failing():
    raise ValueError("no model")


class Stored(nn.Module):
    """Multiplies by a tensor that is a parameter or a buffer."""

    def __init__(self, factor, is_buffer=False):
        super().__init__()
        if is_buffer:
            self.register_buffer("factor", factor)
        else:
            self.factor = nn.Parameter(factor, requires_grad=False)

    def forward(self, x):
        return x * self.factor.to(x.dtype)


class Turned(torch.nn.Module):
    """A square matrix, and its transpose as another parameter with the same memory."""

    def __init__(self, has_loss):
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Linear(8, 8, bias=False)
        self.second = torch.nn.Linear(8, 8, bias=False)
        self.second.weight = torch.nn.Parameter(self.first.weight.detach().t())
        # Column halves of one memory do not overlap.
        both = torch.randn(8, 16)
        self.left = torch.nn.Parameter(both[:, :8])
        self.right = torch.nn.Parameter(both[:, 8:])
        self.has_loss = has_loss

    def forward(self, x):
        y = self.second(self.first(x)) @ self.left @ self.right
        return (y * y).mean() if self.has_loss else y


def make_turned():
    return Turned(False).eval(), torch.randn(2, 8)


def make_turned_loss():
    return Turned(True).eval(), torch.randn(2, 8)


def make_integers():
    return Stored(torch.arange(4)), torch.zeros(2, 4)


def make_f8():
    return Stored(torch.ones(4).to(torch.float8_e4m3fn)), torch.zeros(2, 4)


def make_meta_buffer():
    return Stored(torch.ones(4, device="meta"), is_buffer=True), torch.zeros(2, 4)


def make_meta():
    """A module on meta with one parameter used as two; its graph exists."""
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4))
    model[2].weight = model[0].weight
    return model, torch.zeros(2, 4, device="meta")
