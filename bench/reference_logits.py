"""Logits of the imported models against Hugging Face transformers.

Interprets the graph that `tessera model` builds, loads the same weights into
GPT2LMHeadModel or LlamaForCausalLM of the same config.json, and compares.
--torch-python names a Python with torch, transformers and numpy; without it one
is made in .env/torch.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

import peer

ROOT = pathlib.Path(__file__).resolve().parent.parent


def load(folder, name):
    import numpy
    import torch
    return torch.from_numpy(numpy.load(folder / f"{name}.npy").copy())


def linear(weight, out_features):
    """[in..., out...] to the [out, in] of torch.nn.Linear."""
    return weight.reshape(-1, out_features).T.contiguous()


def gpt2_state(folder, config):
    import torch
    d = config["n_embd"]
    state = {"transformer.wte.weight": load(folder, "wte"),
             "transformer.wpe.weight": load(folder, "wpe"),
             "transformer.ln_f.weight": load(folder, "ln_f.gamma"),
             "transformer.ln_f.bias": load(folder, "ln_f.beta")}
    state["lm_head.weight"] = state["transformer.wte.weight"]
    for i in range(config["n_layer"]):
        ours, theirs = f"blocks.{i}", f"transformer.h.{i}"
        # Conv1D keeps [in, out]; query, key and value are side by side.
        qkv = [load(folder, f"{ours}.attn.{w}").reshape(d, d) for w in ("wq", "wk", "wv")]
        bias = [load(folder, f"{ours}.attn.{b}").reshape(d) for b in ("bq", "bk", "bv")]
        state.update({
            f"{theirs}.ln_1.weight": load(folder, f"{ours}.ln1.gamma"),
            f"{theirs}.ln_1.bias": load(folder, f"{ours}.ln1.beta"),
            f"{theirs}.attn.c_attn.weight": torch.cat(qkv, dim=1),
            f"{theirs}.attn.c_attn.bias": torch.cat(bias),
            f"{theirs}.attn.c_proj.weight": load(folder, f"{ours}.attn.wo").reshape(d, d),
            f"{theirs}.attn.c_proj.bias": load(folder, f"{ours}.attn.bo"),
            f"{theirs}.ln_2.weight": load(folder, f"{ours}.ln2.gamma"),
            f"{theirs}.ln_2.bias": load(folder, f"{ours}.ln2.beta"),
            f"{theirs}.mlp.c_fc.weight": load(folder, f"{ours}.mlp.w1"),
            f"{theirs}.mlp.c_fc.bias": load(folder, f"{ours}.mlp.b1"),
            f"{theirs}.mlp.c_proj.weight": load(folder, f"{ours}.mlp.w2"),
            f"{theirs}.mlp.c_proj.bias": load(folder, f"{ours}.mlp.b2"),
        })
    return state


def llama_state(folder, config):
    d = config["hidden_size"]
    head = config.get("head_dim") or d // config["num_attention_heads"]
    q, kv = head * config["num_attention_heads"], head * config["num_key_value_heads"]
    state = {"model.embed_tokens.weight": load(folder, "wte"),
             "model.norm.weight": load(folder, "ln_f.gamma"),
             "lm_head.weight": load(folder, "lm_head")}
    for i in range(config["num_hidden_layers"]):
        ours, theirs = f"blocks.{i}", f"model.layers.{i}"
        state.update({
            f"{theirs}.input_layernorm.weight": load(folder, f"{ours}.ln1.gamma"),
            f"{theirs}.post_attention_layernorm.weight": load(folder, f"{ours}.ln2.gamma"),
            f"{theirs}.self_attn.q_proj.weight": linear(load(folder, f"{ours}.attn.wq"), q),
            f"{theirs}.self_attn.k_proj.weight": linear(load(folder, f"{ours}.attn.wk"), kv),
            f"{theirs}.self_attn.v_proj.weight": linear(load(folder, f"{ours}.attn.wv"), kv),
            f"{theirs}.self_attn.o_proj.weight": linear(load(folder, f"{ours}.attn.wo"), d),
            f"{theirs}.mlp.gate_proj.weight": load(folder, f"{ours}.mlp.w_gate").T.contiguous(),
            f"{theirs}.mlp.up_proj.weight": load(folder, f"{ours}.mlp.w_up").T.contiguous(),
            f"{theirs}.mlp.down_proj.weight": load(folder, f"{ours}.mlp.w_down").T.contiguous(),
        })
    return state


def reference(model, folder, config):
    """The logits of transformers for the dumped weights and tokens, in f64."""
    import torch
    import transformers
    kinds = {"gpt2": (transformers.GPT2Config, transformers.GPT2LMHeadModel, gpt2_state),
             "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM, llama_state)}
    make_config, make_model, make_state = kinds[config["model_type"]]
    network = make_model(make_config(**config)).double().eval()
    state = {k: v.double() for k, v in make_state(folder, config).items()}
    missing, unexpected = network.load_state_dict(state, strict=False)
    missing = [m for m in missing if not m.endswith((".attn.bias", ".attn.masked_bias", "inv_freq"))]
    if missing or unexpected:
        sys.exit(f"reference_logits: {model}: missing {missing}, unexpected {unexpected}")
    with torch.no_grad():
        return network(load(folder, "tokens").long()).logits


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build-release", help="build folder")
    parser.add_argument("--torch-python", help="a Python with torch and transformers")
    parser.add_argument("--models", nargs="*", default=["tiny-gpt2", "tiny-llama"])
    options = parser.parse_args()
    peer.run_under_torch(options.torch_python, ("torch", "transformers", "numpy"))
    build = (ROOT / options.build).resolve()
    tessera = build / "bin" / "tessera"
    worst = 0.0
    for model in options.models:
        folder = build / "bench" / f"reference-{model}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        path = ROOT / "share" / "models" / f"{model}.json"
        subprocess.run([tessera, "model", path, "--batch", "2", "--seq", "24",
                        "-o", folder / "g.mlir"], check=True, stderr=subprocess.DEVNULL)
        subprocess.run([tessera, "verify", folder / "g.mlir", "--mesh", "dp=2,tp=2", "--strategy", "dp,tp,sp",
                        "--dump", folder], check=True, stdout=subprocess.DEVNULL)
        expected = reference(model, folder, json.loads(path.read_text()))
        ours = load(folder / "expected", "logits").double()
        difference = ((ours - expected).abs().max() / expected.abs().max()).item()
        worst = max(worst, difference)
        print(json.dumps({"bench": "reference_logits", "model": model,
                          "relative_difference": difference}), flush=True)
    if worst > 1e-5:
        sys.exit("reference_logits: the logits differ by more than 1e-5")


if __name__ == "__main__":
    main()
