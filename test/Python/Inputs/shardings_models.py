"""Small models of transformers, and sharding files of them as the compiler writes them."""

import json
import pathlib

import torch
import transformers

STEPS, BATCH, SEQ, VOCAB = 5, 4, 12, 97


def make_llama(heads=4, groups=2, **others):
    sizes = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": heads,
             "num_key_value_heads": groups, "head_dim": 12, "intermediate_size": 80,
             "vocab_size": VOCAB}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**{**sizes, **others}))


def make_tied():
    return make_llama(tie_word_embeddings=True)


def make_gpt2():
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_embd=48, n_layer=2, n_head=4, vocab_size=VOCAB, n_positions=SEQ, resid_pdrop=0,
        embd_pdrop=0, attn_pdrop=0, bos_token_id=0, eos_token_id=0))


def make_qwen3():
    return transformers.Qwen3ForCausalLM(transformers.Qwen3Config(
        hidden_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        head_dim=12, intermediate_size=80, vocab_size=VOCAB))


class Flat(torch.nn.Module):
    """A block whose layers have one owner, and a head without a pair."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(VOCAB, 16, padding_idx=1)
        self.norm1, self.norm2 = torch.nn.LayerNorm(16), torch.nn.LayerNorm(16)
        self.up, self.down = torch.nn.Linear(16, 32), torch.nn.Linear(32, 16)
        self.up2, self.down2 = torch.nn.Linear(16, 32), torch.nn.Linear(32, 16)
        self.head = torch.nn.Linear(16, VOCAB)

    def forward(self, input_ids, labels):
        x = self.table(input_ids)
        x = x + self.down(torch.relu(self.up(self.norm1(x))))
        x = x + self.down2(torch.relu(self.up2(self.norm2(x))))
        loss = torch.nn.functional.cross_entropy(self.head(x).flatten(0, 1), labels.flatten())
        return transformers.modeling_outputs.CausalLMOutput(loss=loss)


MAKERS = {"llama": make_llama, "tied": make_tied, "gpt2": make_gpt2, "qwen3": make_qwen3,
          "flat": Flat}


def make(name):
    torch.manual_seed(0)
    return MAKERS[name]()


def make_ids():
    torch.manual_seed(1)
    return torch.randint(0, VOCAB, (STEPS, BATCH, SEQ))


# Words in names of tensors: the sharded dimension over tp.
ROWS = ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj", "lm_head", "embed_tokens", "wte",
        "up.", "up2.", "head.", "table")
COLUMNS = ("o_proj.weight", "down_proj.weight", "down.weight", "down2.weight")


def shard_tensor(name, shape, tp):
    axes = [[] for _ in shape]
    if any(word in name for word in ROWS):
        axes[0] = [tp]
    elif any(word in name for word in COLUMNS):
        axes[1] = [tp]
    return {"shape": list(shape), "axes": axes}


def describe(model, mesh, plan, tp="tp"):
    """The document of a strategy of dp and tp, as far as the mesh has them."""
    tensors = {}
    for name, parameter in model.named_parameters():
        tensors[name] = shard_tensor(name, parameter.shape, tp) if "tp" in mesh else \
            {"shape": list(parameter.shape), "axes": [[] for _ in parameter.shape]}
    batch = ["dp"] if "dp" in mesh else []
    return {"tessera": "shardings", "version": 1, "mesh": mesh, "plan": plan, "tensors": tensors,
            "inputs": {name: {"axes": [batch, []]} for name in ("input_ids", "labels")}}


def write(document, path):
    pathlib.Path(path).write_text(json.dumps(document), encoding="utf-8")
    return path
