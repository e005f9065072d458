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


def make_opt():
    """A model whose attention reads the number of all heads."""
    return transformers.OPTForCausalLM(transformers.OPTConfig(
        hidden_size=48, num_hidden_layers=2, num_attention_heads=4, ffn_dim=96, vocab_size=VOCAB,
        word_embed_proj_dim=48, max_position_embeddings=64))


class Flat(torch.nn.Module):
    """Blocks whose layers have one owner, a layer that is row-parallel alone, a table and a head.
    """

    def __init__(self, table="table", head="head"):
        super().__init__()
        self.names = table, head
        self.add_module(table, torch.nn.Embedding(VOCAB, 16, padding_idx=1))
        self.mix = torch.nn.Linear(16, 16)
        self.norm1, self.norm2 = torch.nn.LayerNorm(16), torch.nn.LayerNorm(16)
        self.up, self.down = torch.nn.Linear(16, 32), torch.nn.Linear(32, 16)
        self.up2, self.down2 = torch.nn.Linear(16, 32), torch.nn.Linear(32, 16)
        self.add_module(head, torch.nn.Linear(16, VOCAB))

    def forward(self, input_ids, labels):
        table, head = (getattr(self, name) for name in self.names)
        x = self.mix(table(input_ids))
        x = x + self.down(torch.relu(self.up(self.norm1(x))))
        x = x + self.down2(torch.relu(self.up2(self.norm2(x))))
        loss = torch.nn.functional.cross_entropy(head(x).flatten(0, 1), labels.flatten())
        return transformers.modeling_outputs.CausalLMOutput(loss=loss)


def make_whole_ends():
    """A table and a head whose names are not among those of sharded tensors."""
    return Flat("words", "classes")


MAKERS = {"llama": make_llama, "tied": make_tied, "gpt2": make_gpt2, "qwen3": make_qwen3, "opt": make_opt,
          "flat": Flat, "gathered": Flat, "whole_ends": make_whole_ends}


def make(name):
    torch.manual_seed(0)
    return MAKERS[name]()


def make_ids():
    torch.manual_seed(1)
    return torch.randint(0, VOCAB, (STEPS, BATCH, SEQ))


# Words in names of tensors whose first or second dimension is over the tensor axes.
FIRST = ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj", "lm_head", "embed_tokens", "wte",
         "fc1.", "up.", "up2.", "head.", "table")
SECOND = ("o_proj.weight", "out_proj.weight", "down_proj.weight", "fc2.weight", "down.weight",
          "down2.weight", "mix.weight")


def shard_tensor(name, shape, axes):
    dims = [[] for _ in shape]
    for dim, words in enumerate((FIRST, SECOND)):
        if any(word in name for word in words):
            dims[dim] = axes
    return {"shape": list(shape), "axes": dims}


def describe(model, mesh, plan, batch=("dp",), tensor=("tp",)):
    """The document of data and tensor parallelism over those axes that the mesh has."""
    batch, tensor = ([axis for axis in axes if axis in mesh] for axes in (batch, tensor))
    return {"tessera": "shardings", "version": 1, "mesh": mesh, "plan": plan,
            "tensors": {name: shard_tensor(name, parameter.shape, tensor)
                        for name, parameter in model.named_parameters()},
            "inputs": {name: {"axes": [batch, []]} for name in ("input_ids", "labels")}}


def write(document, path):
    pathlib.Path(path).write_text(json.dumps(document), encoding="utf-8")
    return path
