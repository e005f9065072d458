"""Compares logits and gradients of the imported models with Hugging Face transformers.

Parameters, tokens and labels come from `tessera verify --dump`. The class of transformers that
reads the same config.json computes logits and gradients in f64. They are written to
test/e2e/Inputs/reference-MODEL.json (--write), or compared with the existing file. Then all logits
and gradients of the interpreted graph are compared. The end-to-end tests compare with the files,
which have the norm and evenly spaced elements of each tensor, and need no PyTorch. --torch-python
names a Python with torch, transformers and numpy; without it one is installed in .env/torch."""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

import peer

ROOT = pathlib.Path(__file__).resolve().parents[2]
INPUTS = ROOT / "test" / "e2e" / "Inputs"
MODELS = ["tiny-gpt2", "tiny-llama", "tiny-qwen2", "tiny-qwen3", "tiny-mistral", "tiny-phi3",
          "tiny-gemma3", "tiny-mixtral", "tiny-qwen3-moe", "tiny-deepseek-v2", "tiny-deepseek-v3"]

BATCH, SEQ = 2, 24
# A learning rate for which the change of the parameters shows the gradients exactly: the parameters
# are small relative to LR times their gradient.
LR = 1024
SGD = ["--optimizer", "sgd", "--lr", str(LR), "--weight-decay", "0", "--clip", "0"]
# The largest number of elements of a tensor in a file.
LOGITS, GRADIENTS = 800, 16


def load(folder, name):
    """A tensor of a folder; None if it does not exist."""
    import numpy
    import torch
    file = folder / f"{name}.npy"
    return torch.from_numpy(numpy.load(file).copy()) if file.exists() else None


class Weights:
    """Our parameters in f64, with gradients."""

    def __init__(self, folder):
        self.folder, self.leaves = folder, {}

    def __call__(self, name):
        if name not in self.leaves:
            tensor = load(self.folder, name)
            if tensor is None:
                return None
            self.leaves[name] = tensor.double().requires_grad_()
        return self.leaves[name]

    def linear(self, name, out_features):
        """Converts [in..., out...] to the [out, in] of torch.nn.Linear."""
        return self(name).reshape(-1, out_features).T


def gpt2_state(weights, config):
    import torch
    d = config["n_embd"]
    state = {"transformer.wte.weight": weights("wte"), "lm_head.weight": weights("wte"),
             "transformer.wpe.weight": weights("wpe"),
             "transformer.ln_f.weight": weights("ln_f.gamma"),
             "transformer.ln_f.bias": weights("ln_f.beta")}
    for i in range(config["n_layer"]):
        ours, theirs = f"blocks.{i}", f"transformer.h.{i}"
        # Conv1D has [in, out]; query, key and value are adjacent.
        qkv = [weights(f"{ours}.attn.{w}").reshape(d, d) for w in ("wq", "wk", "wv")]
        bias = [weights(f"{ours}.attn.{b}").reshape(d) for b in ("bq", "bk", "bv")]
        state.update({
            f"{theirs}.ln_1.weight": weights(f"{ours}.ln1.gamma"),
            f"{theirs}.ln_1.bias": weights(f"{ours}.ln1.beta"),
            f"{theirs}.attn.c_attn.weight": torch.cat(qkv, dim=1),
            f"{theirs}.attn.c_attn.bias": torch.cat(bias),
            f"{theirs}.attn.c_proj.weight": weights(f"{ours}.attn.wo").reshape(d, d),
            f"{theirs}.attn.c_proj.bias": weights(f"{ours}.attn.bo"),
            f"{theirs}.ln_2.weight": weights(f"{ours}.ln2.gamma"),
            f"{theirs}.ln_2.bias": weights(f"{ours}.ln2.beta"),
            f"{theirs}.mlp.c_fc.weight": weights(f"{ours}.mlp.w1"),
            f"{theirs}.mlp.c_fc.bias": weights(f"{ours}.mlp.b1"),
            f"{theirs}.mlp.c_proj.weight": weights(f"{ours}.mlp.w2"),
            f"{theirs}.mlp.c_proj.bias": weights(f"{ours}.mlp.b2"),
        })
    return state


def decoder_state(weights, config):
    """The state of the model families with rotary positions."""
    import torch
    d = config["hidden_size"]
    head = config.get("head_dim") or d // config["num_attention_heads"]
    q, kv = head * config["num_attention_heads"], head * config["num_key_value_heads"]
    ffn = config["intermediate_size"]
    tied = config.get("tie_word_embeddings", False)
    state = {"model.embed_tokens.weight": weights("wte"),
             "model.norm.weight": weights("ln_f.gamma"),
             "lm_head.weight": weights("wte" if tied else "lm_head")}
    for i in range(config["num_hidden_layers"]):
        ours, theirs = f"blocks.{i}", f"model.layers.{i}"
        norms = {"input_layernorm": "ln1", "post_attention_layernorm": "ln2"}
        if weights(f"{ours}.ln1_post.gamma") is not None:
            norms = {"input_layernorm": "ln1", "post_attention_layernorm": "ln1_post",
                     "pre_feedforward_layernorm": "ln2", "post_feedforward_layernorm": "ln2_post"}
        for their_norm, our_norm in norms.items():
            state[f"{theirs}.{their_norm}.weight"] = weights(f"{ours}.{our_norm}.gamma")
        if "kv_lora_rank" in config:
            state.update(latent_state(weights, config, f"{ours}.attn", f"{theirs}.self_attn"))
        for name, width in () if "kv_lora_rank" in config else (("q", q), ("k", kv), ("v", kv)):
            state[f"{theirs}.self_attn.{name}_proj.weight"] = weights.linear(
                f"{ours}.attn.w{name}", width)
            bias = weights(f"{ours}.attn.b{name}")
            if bias is not None:
                state[f"{theirs}.self_attn.{name}_proj.bias"] = bias.reshape(-1)
        for name in ("q_norm", "k_norm"):
            gamma = weights(f"{ours}.attn.{name}.gamma")
            if gamma is not None:
                state[f"{theirs}.self_attn.{name}.weight"] = gamma
        state[f"{theirs}.self_attn.o_proj.weight"] = weights.linear(f"{ours}.attn.wo", d)
        if weights(f"{ours}.moe.router") is not None:
            state.update(experts_state(weights, config, f"{ours}.moe", f"{theirs}.mlp"))
            continue
        for name, width in (("gate", ffn), ("up", ffn), ("down", d)):
            state[f"{theirs}.mlp.{name}_proj.weight"] = weights.linear(
                f"{ours}.mlp.w_{name}", width)
        if config["model_type"] == "phi3":  # what is multiplied alike is one matrix
            for whole, parts in (("self_attn.qkv_proj", ("self_attn.q_proj", "self_attn.k_proj",
                                                         "self_attn.v_proj")),
                                 ("mlp.gate_up_proj", ("mlp.gate_proj", "mlp.up_proj"))):
                state[f"{theirs}.{whole}.weight"] = torch.cat(
                    [state.pop(f"{theirs}.{part}.weight") for part in parts])
    return state


def latent_state(weights, config, ours, theirs):
    """Latent attention: the latent and the rotated key are one matmul, and so are the keys and
    values of each head."""
    import torch
    heads, rank = config["num_attention_heads"], config["kv_lora_rank"]
    q = heads * (config["qk_nope_head_dim"] + config["qk_rope_head_dim"])
    latents = [weights(f"{ours}.{name}") for name in ("wkv_a", "wk_rope")]
    both = [weights(f"{ours}.{name}") for name in ("wk_b", "wv_b")]
    state = {f"{theirs}.kv_a_proj_with_mqa.weight": torch.cat(latents, dim=1).T,
             f"{theirs}.kv_a_layernorm.weight": weights(f"{ours}.kv_a_norm.gamma"),
             f"{theirs}.kv_b_proj.weight": torch.cat(both, dim=2).reshape(rank, -1).T}
    if config["q_lora_rank"] is None:
        return state | {f"{theirs}.q_proj.weight": weights.linear(f"{ours}.wq", q)}
    return state | {f"{theirs}.q_a_proj.weight": weights(f"{ours}.wq_a").T,
                    f"{theirs}.q_a_layernorm.weight": weights(f"{ours}.q_a_norm.gamma"),
                    f"{theirs}.q_b_proj.weight": weights.linear(f"{ours}.wq_b", q)}


def experts_state(weights, config, ours, theirs):
    """Experts, whose gate and up are one matrix, [out, in]."""
    import torch
    both = [weights(f"{ours}.{name}").transpose(1, 2) for name in ("w_gate", "w_up")]
    state = {f"{theirs}.gate.weight": weights(f"{ours}.router").T,
             f"{theirs}.experts.gate_up_proj": torch.cat(both, dim=1),
             f"{theirs}.experts.down_proj": weights(f"{ours}.w_down").transpose(1, 2)}
    if weights(f"{ours}.bias") is not None:
        state[f"{theirs}.gate.e_score_correction_bias"] = weights(f"{ours}.bias")
    shared = config.get("n_shared_experts", 0) * config.get("moe_intermediate_size", 0)
    for name, width in (("gate", shared), ("up", shared), ("down", config["hidden_size"])):
        if shared:
            state[f"{theirs}.shared_experts.{name}_proj.weight"] = weights.linear(
                f"{ours}.shared.w_{name}", width)
    return state


def make_network(weights, config):
    """A network of transformers without dropout, in f64, and its state."""
    import transformers
    make_state = gpt2_state if config["model_type"] == "gpt2" else decoder_state
    described = {k: v for k, v in config.items() if k not in ("dtype", "torch_dtype")}
    # Eager attention would compute the softmax in f32; grouped matmuls have no f64.
    implementations = {"attn_implementation": "sdpa"}
    if "num_experts_per_tok" in config:
        implementations["experts_implementation"] = "eager"
    network = transformers.AutoModelForCausalLM.from_config(
        transformers.AutoConfig.for_model(**described), **implementations)
    state = make_state(weights, config)
    network = network.double().eval()
    missing, unexpected = network.load_state_dict(
        {k: v.detach() for k, v in state.items()}, strict=False)
    missing = [m for m in missing if not m.endswith((".attn.bias", ".attn.masked_bias", "inv_freq"))]
    if missing or unexpected:
        sys.exit(f"{config['model_type']}: missing {missing}, unexpected {unexpected}")
    return network, state


def reference(folder, config):
    """The logits and the gradients of the mean loss, by our parameters' names."""
    import torch
    weights = Weights(folder)
    network, state = make_network(weights, config)
    # Inputs of a training step have a dimension of micro-batches.
    tokens, labels = (load(folder, n).long().flatten(0, 1) for n in ("tokens", "labels"))
    logits = torch.func.functional_call(network, state, (tokens,)).logits
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()).backward()
    # The bias of a router has no gradient.
    return logits.detach(), {name: torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
                             for name, leaf in weights.leaves.items()}


def scales(gradients):
    """The scale of each tensor's differences: its largest number, or a thousandth of the largest of
    all gradients, since the gradient of the bias of GPT-2's keys is 0."""
    largest = max(g.abs().max().item() for g in gradients.values())
    return {n: max(g.abs().max().item(), 1e-3 * largest) for n, g in gradients.items()}


def describe(tensor, scale, count):
    """The entry of a tensor in a file. An odd stride visits all columns."""
    values = tensor.flatten()
    stride = max(1, len(values) // count) | 1
    # Numbers that are negligible relative to the scale become 0, so that files are equal
    # everywhere.
    digits = lambda value: float(f"{value:.8g}") if abs(value) > 1e-9 * scale else 0.0
    return {"scale": digits(scale), "norm": digits(values.norm().item()),
            "stride": stride, "values": [digits(v) for v in values[::stride].tolist()]}


def interpret(tessera, model, folder):
    """Logits and gradients of the graph, computed by the interpreter; the parameters, tokens and
    labels stay in `folder`."""
    run = lambda *command: subprocess.run([str(c) for c in command], check=True,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    path = ROOT / "share" / "models" / f"{model}.json"
    sizes = ["--batch", BATCH, "--seq", SEQ, "--quiet"]
    run(tessera, "model", path, *sizes, "-o", folder / "logits.mlir")
    run(tessera, "verify", folder / "logits.mlir", "--mesh", "dp=1", "--dump", folder / "forward")
    run(tessera, "model", path, *sizes, "--train", "-o", folder / "loss.mlir")
    run(tessera, "verify", folder / "loss.mlir", "--mesh", "dp=1", *SGD, "--dump", folder)
    gradients = {}
    for file in sorted((folder / "expected").glob("*.npy")):
        before = load(folder, file.stem)
        if before is not None and file.stem != "step":
            gradients[file.stem] = (before.double() - load(folder / "expected", file.stem).double()) / LR
    return load(folder / "forward" / "expected", "logits").double(), gradients


def difference(ours, theirs, scale):
    return (ours - theirs).abs().max().item() / scale


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build-release", help="build folder")
    parser.add_argument("--torch-python", help="a Python with torch and transformers")
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--write", action="store_true", help="write the reference files")
    options = parser.parse_args()
    peer.run_under_torch(options.torch_python, ("torch", "transformers", "numpy"))
    import torch
    import transformers
    build = (ROOT / options.build).resolve()
    failures = 0
    for model in options.models:
        folder = build / "bench" / f"reference-{model}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        config = json.loads((ROOT / "share" / "models" / f"{model}.json").read_text())
        logits, gradients = interpret(build / "bin" / "tessera", model, folder)
        their_logits, theirs = reference(folder, config)
        if theirs.keys() != gradients.keys():
            sys.exit(f"{model}: parameters differ: {theirs.keys() ^ gradients.keys()}")
        scale, of = their_logits.abs().max().item(), scales(theirs)
        described = {"model": model, "batch": BATCH, "seq": SEQ, "lr": LR,
                     "logits": describe(their_logits, scale, LOGITS),
                     "gradients": {n: describe(g, of[n], GRADIENTS) for n, g in theirs.items()}}
        file = INPUTS / f"reference-{model}.json"
        if options.write:
            file.write_text(json.dumps(described).replace('"blocks', '\n"blocks') + "\n")
        worst = max(difference(gradients[n], theirs[n], of[n]) for n in theirs)
        line = {"bench": "reference_models", "model": model, "torch": torch.__version__,
                "transformers": transformers.__version__,
                "logits_difference": difference(logits, their_logits, scale),
                "gradients_difference": worst,
                "file_is_current": json.loads(file.read_text()) == described}
        failures += (line["logits_difference"] > 1e-5 or worst > 1e-4
                     or not line["file_is_current"])
        print(json.dumps(line), flush=True)
    if failures:
        sys.exit(f"reference_models: {failures} models differ: logits by more than 1e-5, "
                 "gradients by more than 1e-4, or the file is old")


if __name__ == "__main__":
    main()
