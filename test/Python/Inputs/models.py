"""Small models of torch and JAX, and checks that the tests share."""

import torch
from torch import nn
from torch.nn import functional

BATCH, SEQ, VOCAB, WIDTH, HEADS, LAYERS = 4, 16, 250, 32, 4, 2


def draw_ids(seed=0, kinds=VOCAB):
    return torch.randint(kinds, (BATCH, SEQ), generator=torch.Generator().manual_seed(seed))


def make_gpt2():
    import transformers
    torch.manual_seed(0)
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_layer=LAYERS, n_head=HEADS, n_embd=WIDTH, vocab_size=VOCAB, n_positions=SEQ,
        use_cache=False, bos_token_id=None, eos_token_id=None)).eval()


def make_llama():
    import transformers
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        num_hidden_layers=LAYERS, num_attention_heads=HEADS, num_key_value_heads=2,
        hidden_size=WIDTH, intermediate_size=2 * WIDTH, vocab_size=VOCAB,
        max_position_embeddings=SEQ, use_cache=False, bos_token_id=None,
        eos_token_id=None)).eval()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.c_attn, self.c_proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.c_fc, self.out = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2)
                   for part in self.c_attn(self.ln_1(x)).split(WIDTH, dim=2))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).flatten(2))
        return x + self.out(functional.gelu(self.c_fc(self.ln_2(x))))


class NanoGPT(nn.Module):
    """A module as nanoGPT has it: tied embeddings, a buffer, and a tuple as its result."""

    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCAB, WIDTH), nn.Embedding(SEQ, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f, self.lm_head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCAB, bias=False)
        self.lm_head.weight = self.wte.weight
        self.register_buffer("positions", torch.arange(SEQ))

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(self.positions)
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        if targets is None:
            return logits, None
        return logits, functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def make_nano():
    torch.manual_seed(0)
    return NanoGPT().eval()


def difference(ours, theirs):
    """The largest difference of two tensors, relative to the largest number of the second one."""
    ours, theirs = torch.as_tensor(ours).detach(), torch.as_tensor(theirs).detach()
    return float((ours.double() - theirs.double()).abs().max() / theirs.double().abs().max())


def check(name, ours, theirs, limit=1e-5):
    found = difference(ours, theirs)
    assert found <= limit, f"{name}: {found}"
    assert type(ours) is not torch.Tensor or ours.dtype == torch.as_tensor(theirs).dtype, name
