"""Compares graphs of `tessera model` with the classes of transformers that read the same config.json.

    model_configs.py TESSERA MODELS FOLDER

A case is a model of share/models and the keys that it changes. `tessera verify` interprets its graph,
and its gradients by one step of SGD at a large rate. The parameters are put where their nn.source
says into a file of weights: transformers must find all tensors there, and no other. Logits differ by
at most 1e-5 of the largest, gradients by 1e-4; those of experts, which transformers keeps under other
names, are not compared. Prints a line for each case."""

import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

import numpy
import safetensors.torch
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


def read_sources(graph):
    """The tensor, its shape, an offset and strides of each parameter."""
    numbers = r"\[([\d, ]*)\]"
    pattern = (r'nn\.param = "([^"]+)", nn\.source = #nn\.source<"([^"]+)", ' + numbers +
               r", offset (\d+), strides " + numbers)
    read = lambda text: [int(number) for number in text.split(",")]
    return {name: (tensor, read(shape), int(offset), read(strides))
            for name, tensor, shape, offset, strides in re.findall(pattern, graph.read_text())}


def views(tensors, source, shape):
    """The parts of tensors that a parameter consists of."""
    tensor, whole, offset, strides = source
    names = [tensor.replace("*", str(i)) for i in range(shape[0])] if "*" in tensor else [tensor]
    if "*" in tensor:
        shape, strides = shape[1:], strides[1:]
    parts = []
    for name in names:
        whole_tensor = tensors.setdefault(name, torch.zeros(whole, dtype=torch.float64))
        assert list(whole_tensor.shape) == whole, f"{name}: shapes differ"
        parts.append(torch.as_strided(whole_tensor, shape, strides, offset))
    return parts


def compare(name):
    folder = FOLDER / name
    sources = read_sources(folder / "train.mlir")
    parameters = {key: load(folder / "train" / f"{key}.npy").double() for key in sources}
    state = {}
    for key, value in parameters.items():
        parts = views(state, sources[key], list(value.shape))
        for part, values in zip(parts, value if len(parts) > 1 else [value]):
            part.copy_(values)
    safetensors.torch.save_file(state, folder / "model.safetensors", {"format": "pt"})
    # Eager attention computes the softmax in f32, but limits scores.
    attention = "eager" if CASES[name][0] == "gemma2" else "sdpa"
    network, found = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float64, attn_implementation=attention, experts_implementation="eager",
        output_loading_info=True)
    wrong = [f"{kind}: {keys}" for kind, keys in found.items() if keys]
    if wrong:
        return f"tensors are {wrong}"
    network.eval()
    tokens, labels = (load(folder / "train" / f"{n}.npy").long().flatten(0, 1)
                      for n in ("tokens", "labels"))
    logits = network(tokens).logits
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()).backward()
    ours = load(folder / "forward" / "expected" / "logits.npy").double()
    worst = ((ours - logits).abs().max() / logits.abs().max()).item()
    if not worst <= 1e-5:
        return f"logits differ by {worst:.2g}"
    theirs = {key: p.grad for key, p in network.named_parameters()}
    largest = max(gradient.abs().max().item() for gradient in theirs.values())
    compared = [key for key in parameters if sources[key][0].replace("*", "0") in theirs]
    for key in compared:
        before = parameters[key]
        gradient = (before - load(folder / "train" / "expected" / f"{key}.npy").double()) / RATE
        parts = views(theirs, sources[key], list(before.shape))
        expected = torch.stack(parts) if len(parts) > 1 else parts[0]
        scale = max(expected.abs().max().item(), 1e-3 * largest)
        worst = (gradient - expected).abs().max().item() / scale
        if not worst <= 1e-4:
            return f"gradient of {key} differs by {worst:.2g}"
    return f"logits and {len(compared)} gradients agree"


def main():
    torch.manual_seed(0)
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        done = {name: pool.submit(interpret, name) for name in CASES}
        for name in CASES:
            done[name].result()
            print(f"{name}: {compare(name)}", flush=True)


if __name__ == "__main__":
    main()
