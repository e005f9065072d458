"""Networks of transformers that have the parameters of a graph of `tessera model`."""

import json
import math
import re

import numpy
import safetensors.torch
import torch
import transformers

EXPERT = re.compile(r"(.*)\.experts\.(\d+)\.(\w+)\.weight")


def read_sources(graph):
    """The tensor in files, its shape, an offset and strides of each parameter of a graph."""
    numbers = r"\[([\d, ]*)\]"
    pattern = (r'nn\.param = "([^"]+)", nn\.source = #nn\.source<"([^"]+)", ' + numbers +
               r", offset (\d+), strides " + numbers)
    read = lambda text: [int(number) for number in text.split(",")]
    return {name: (tensor, read(shape), int(offset), read(strides))
            for name, tensor, shape, offset, strides in re.findall(pattern, graph.read_text())}


def read_parameters(folder, sources):
    """The parameters of a folder in f64, with gradients."""
    return {name: torch.from_numpy(numpy.load(folder / f"{name}.npy")).double().requires_grad_()
            for name in sources}


def make_state(sources, parameters):
    """The tensors of files, as functions of the parameters that they consist of."""
    state = {}
    for name, (tensor, shape, offset, strides) in sources.items():
        rows, names = [parameters[name]], [tensor]
        if "*" in tensor:
            rows, strides = parameters[name], strides[1:]
            names = [tensor.replace("*", str(i)) for i in range(len(rows))]
        places = torch.as_strided(torch.arange(math.prod(shape)), rows[0].shape, strides, offset)
        for key, row in zip(names, rows):
            whole = state.get(key, torch.zeros(shape, dtype=torch.float64))
            state[key] = whole.flatten().index_add(
                0, places.flatten(), row.flatten()).reshape(whole.shape)
    return state


def fuse(state):
    """The tensors under the names in networks: experts are one tensor, their gates and what these
    multiply too."""
    parts, fused = {}, {}
    for key, tensor in state.items():
        key = key.replace(".block_sparse_moe.", ".mlp.")
        found = EXPERT.fullmatch(key)
        if not found:
            fused[key] = tensor
            continue
        layer, _, kind = found.groups()
        parts.setdefault(layer, {}).setdefault(kind, []).append(tensor)
    for layer, kinds in parts.items():
        gate, up, down = (torch.stack(kinds[first] if first in kinds else kinds[second])
                          for first, second in (("gate_proj", "w1"), ("up_proj", "w3"),
                                                ("down_proj", "w2")))
        fused[f"{layer}.experts.gate_up_proj"] = torch.cat([gate, up], dim=1)
        fused[f"{layer}.experts.down_proj"] = down
    return fused


def read_network(folder, config, state):
    """The network of a config, read from files that this writes to the folder, in f64; fails if the
    files lack a tensor or have another one."""
    (folder / "config.json").write_text(json.dumps(config))
    detached = {key: tensor.detach().contiguous() for key, tensor in state.items()}
    safetensors.torch.save_file(detached, folder / "model.safetensors", {"format": "pt"})
    # Eager attention computes the softmax in f32, but limits scores. Grouped matmuls have no f64.
    attention = "eager" if config["model_type"] == "gemma2" else "sdpa"
    transformers.utils.logging.disable_progress_bar()
    network, found = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float64, attn_implementation=attention, experts_implementation="eager",
        output_loading_info=True)
    wrong = [f"{kind}: {keys}" for kind, keys in found.items() if keys]
    if wrong:
        raise ValueError(f"{config['model_type']}: {', '.join(wrong)}")
    return network.eval()


def compute(network, state, parameters, tokens, labels):
    """The logits, and the gradients of the mean loss by the names of parameters."""
    fused = fuse(state)
    if network.config.tie_word_embeddings:
        fused["lm_head.weight"] = fused[next(key for key, p in network.named_parameters()
                                             if p is network.get_input_embeddings().weight)]
    logits = torch.func.functional_call(network, fused, (tokens,)).logits
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()).backward()
    # The bias of a router has no gradient.
    return logits.detach(), {name: torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
                             for name, leaf in parameters.items()}
