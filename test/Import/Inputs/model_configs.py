"""Compares graphs of `tessera model` with the classes of transformers that read the same config.json.

    model_configs.py TESSERA MODELS FOLDER

A case is a model of share/models and the keys that it changes. `tessera verify` interprets its graph,
and its gradients by one step of SGD at a large rate. The parameters are put where their nn.source
says into a file of weights: transformers must find all tensors there, and no other. Logits differ by
at most 1e-5 of the largest, gradients by 1e-4. Prints a line for each case."""

import concurrent.futures
import json
import pathlib
import subprocess
import sys

import numpy
import published
import torch
import transformers

TESSERA, MODELS, FOLDER = map(pathlib.Path, sys.argv[1:])
RATE = 1024
SGD = f"--optimizer sgd --lr {RATE} --weight-decay 0 --clip 0".split()
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
LONG = {"rope_type": "longrope", "short_factor": [1.0, 1.1, 1.3, 1.6, 2.0, 2.5],
        "long_factor": [1.0, 1.5, 2.0, 3.0, 5.0, 8.0]}
CASES = {
    "olmo2": ("olmo2", {}),
    "granite": ("granite", {}),
    "cohere": ("cohere", {}),
    "stablelm": ("stablelm", {}),
    "starcoder2": ("starcoder2", {}),
    "glm4": ("glm4", {}),
    "gemma2": ("gemma2", {"final_logit_softcapping": 2.0, "attn_logit_softcapping": 0.05}),
    "gemma3": ("gemma3", {"final_logit_softcapping": 2.0, "hidden_activation": "silu",
                          "rope_scaling": YARN}),
    "mixtral": ("mixtral", {"hidden_act": "gelu"}),
    "deepseek": ("deepseek-v3", {"hidden_act": "gelu_pytorch_tanh",
                                 "num_nextn_predict_layers": 0}),
    "activations": ("olmo2", {"hidden_act": "relu2", "num_key_value_heads": 4,
                              "attention_bias": True}),
    "biases": ("granite", {"hidden_act": "quick_gelu", "attention_bias": True, "mlp_bias": True,
                           "tie_word_embeddings": False, "logits_scaling": 3.0}),
    "parallel": ("stablelm", {"hidden_act": "relu", "use_parallel_residual": True,
                              "use_qkv_bias": False, "partial_rotary_factor": 0.5,
                              "rope_scaling": YARN}),
    "no-norms": ("cohere", {"hidden_act": "gelu", "use_qk_norm": False, "attention_bias": True,
                            "rope_scaling": {"type": "dynamic", "factor": 2.0},
                            "max_position_embeddings": 16}),
    "no-biases": ("starcoder2", {"hidden_act": "gelu_new", "use_bias": False,
                                 "sliding_window": None}),
    "linear": ("glm4", {"attention_bias": False, "rope_scaling": {"type": "linear", "factor": 4.0}}),
    "yarn": ("llama", {"rope_theta": 10000.0, "rope_scaling": YARN}),
    "yarn-keys": ("llama", {"rope_scaling": YARN | {
        "beta_fast": 2.0, "beta_slow": 0.25, "truncate": False, "mscale": 0.7,
        "mscale_all_dim": 0.4}}),
    "yarn-partial": ("glm4", {"rope_scaling": YARN | {"attention_factor": 1.5}}),
    "dynamic": ("qwen2", {"max_position_embeddings": 16, "rope_parameters": {
        "rope_type": "dynamic", "factor": 3.0, "rope_theta": 10000.0}}),
    "dynamic-short": ("qwen2", {"rope_parameters": {
        "rope_type": "dynamic", "factor": 3.0, "rope_theta": 10000.0}}),
    "longrope-long": ("phi3", {"rope_scaling": LONG, "original_max_position_embeddings": 16}),
    "longrope-short": ("phi3", {"rope_scaling": LONG | {
        "rope_type": "su", "original_max_position_embeddings": 64},
        "original_max_position_embeddings": 64}),
    "longrope-factor": ("mistral", {"rope_scaling": {
        "rope_type": "longrope", "short_factor": [1.0] * 8, "long_factor": [2.0] * 7 + [9.0],
        "factor": 32.0, "original_max_position_embeddings": 16}}),
}


def run(*words):
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)


def interpret(name):
    """Writes the graphs of a case, and what they compute: logits in forward/expected, and parameters
    after a step in train/expected."""
    base, changes = CASES[name]
    folder = FOLDER / name
    folder.mkdir(parents=True)
    described = json.loads((MODELS / f"tiny-{base}.json").read_text())
    if "rope_parameters" in changes:
        for key in ("rope_theta", "rope_scaling"):
            described.pop(key, None)
    (folder / "config.json").write_text(json.dumps(described | changes))
    for kind, model, options in (("forward", [], []), ("train", ["--train"], SGD)):
        graph = folder / f"{kind}.mlir"
        run(TESSERA, "model", folder / "config.json", "--batch", 2, "--seq", 24, *model, "--quiet",
            "-o", graph)
        run(TESSERA, "verify", graph, "--mesh", "dp=1", "--no-proof", *options, "--dump",
            folder / kind)


def load(file):
    return torch.from_numpy(numpy.load(file))


def compare(name):
    folder = FOLDER / name
    sources = published.read_sources(folder / "train.mlir")
    parameters = published.read_parameters(folder / "train", sources)
    state = published.make_state(sources, parameters)
    network = published.read_network(folder, json.loads((folder / "config.json").read_text()), state)
    tokens, labels = (load(folder / "train" / f"{n}.npy").long().flatten(0, 1)
                      for n in ("tokens", "labels"))
    logits, gradients = published.compute(network, state, parameters, tokens, labels)
    ours = load(folder / "forward" / "expected" / "logits.npy").double()
    worst = ((ours - logits).abs().max() / logits.abs().max()).item()
    if not worst <= 1e-5:
        return f"logits differ by {worst:.2g}"
    largest = max(gradient.abs().max().item() for gradient in gradients.values())
    for key, expected in gradients.items():
        after = load(folder / "train" / "expected" / f"{key}.npy").double()
        gradient = (parameters[key].detach() - after) / RATE
        scale = max(expected.abs().max().item(), 1e-3 * largest)
        worst = (gradient - expected).abs().max().item() / scale
        if not worst <= 1e-4:
            return f"gradient of {key} differs by {worst:.2g}"
    return f"logits and {len(gradients)} gradients agree"


def main():
    torch.manual_seed(0)
    transformers.logging.set_verbosity_error()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        done = {name: pool.submit(interpret, name) for name in CASES}
        for name in CASES:
            done[name].result()
            print(f"{name}: {compare(name)}", flush=True)


if __name__ == "__main__":
    main()
