"""Time of models with convolutions on this machine: compiled programs against PyTorch eager.

Imports ConvNeXt-T (224 x 224, batch 4) and the encoder of Whisper-tiny (30 s of sound) of
transformers with random weights, compiles them, and prints one JSON line for each: the median of a
forward pass of both, in rounds that alternate, and the largest difference of the results. A last
line has the memory of the step of a 7 x 7 depthwise layer, as multiples of its input.

Needs a python3 with torch and transformers."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy
import torch
import transformers

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A loss of a depthwise layer whose input has a gradient too.
LAYER = """
func.func @layer(%x: tensor<4x96x1x56x56xf32> {nn.input = "x", nn.dims = ["batch", "c", "g", "h", "w"]},
                 %s: tensor<f32> {nn.param = "s", nn.init = #nn.init<ones>},
                 %w: tensor<96x1x1x7x7xf32> {nn.param = "w", nn.init = #nn.init<normal, 1.0>})
    -> (tensor<f32> {nn.output = "loss"}) {
  %b = nn.broadcast %s dims [] : tensor<f32> -> tensor<4x96x1x56x56xf32>
  %p = arith.mulf %x, %b : tensor<4x96x1x56x56xf32>
  %y = nn.convolution %p, %w strides [1, 1] low [3, 3] high [3, 3] dilation [1, 1] x_dilation [1, 1]
      : tensor<4x96x1x56x56xf32>, tensor<96x1x1x7x7xf32> -> tensor<4x96x1x56x56xf32>
  %q = arith.mulf %y, %y : tensor<4x96x1x56x56xf32>
  %l = nn.reduce <sum> %q dims [0, 1, 2, 3, 4] : tensor<4x96x1x56x56xf32> -> tensor<f32>
  return %l : tensor<f32>
}
"""


class LastState(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x).last_hidden_state


def make_convnext():
    torch.manual_seed(0)
    model = transformers.ConvNextModel(transformers.ConvNextConfig()).eval()
    return LastState(model), (torch.randn(4, 3, 224, 224),)


def make_whisper():
    torch.manual_seed(0)
    config = transformers.WhisperConfig(
        d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536)
    model = transformers.WhisperModel(config).eval().get_encoder()
    return LastState(model), (torch.randn(1, 80, 3000),)


MODELS = {"convnext_tiny": make_convnext, "whisper_tiny_encoder": make_whisper}


def run(*command, **options):
    return subprocess.run([*map(str, command)], check=True, stdout=subprocess.PIPE, **options).stdout


def compare(options, name, folder):
    graph, weights = folder / f"{name}.mlir", folder / f"{name}.safetensors"
    inputs, outputs = folder / f"{name}.in", folder / f"{name}.out"
    tessera, program = options.build / "bin" / "tessera", folder / f"{name}.bin"
    run(sys.executable, "-m", "tessera", "import", f"{__file__}:{MODELS[name].__name__}", "-o", graph,
        "--weights-out", weights, cwd=ROOT / "python", env={**os.environ, "TESSERA": str(tessera)})
    run(tessera, "compile", graph, "--quiet", "-o", program)
    module, (x,) = MODELS[name]()
    inputs.mkdir(exist_ok=True)
    numpy.save(inputs / "x.npy", x.numpy())
    ours, theirs = [], []
    with torch.inference_mode():
        states = module(x)
        for _ in range(options.rounds):
            report = run(program, "--threads", options.threads, "--steps", options.steps + 1,
                         "--weights", weights, "--inputs", inputs, "--save-outputs", outputs,
                         "--quiet", "--report", "json")
            ours += json.loads(report)["step_seconds"][1:]
            for _ in range(options.steps):
                begin = time.perf_counter()
                module(x)
                theirs.append(time.perf_counter() - begin)
    got = numpy.load(outputs / "logits.npy")
    difference = abs(got - states.numpy()).max() / abs(states.numpy()).max()
    ours, theirs = statistics.median(ours) * 1e3, statistics.median(theirs) * 1e3
    return {"model": name, "threads": options.threads, "tessera_ms": round(ours, 1),
            "torch_ms": round(theirs, 1), "ratio": round(ours / theirs, 3),
            "difference": float(f"{difference:.1e}"), "torch": torch.__version__}


def measure_layer(options, folder):
    graph = folder / "layer.mlir"
    graph.write_text(LAYER)
    text = run(options.build / "bin" / "tessera", "compile", graph, "--mesh", "dp=1", "--strategy",
               "dp", "--optimizer", "sgd", "--clip", "0", "-o", folder / "layer.bin",
               stderr=subprocess.STDOUT, text=True)
    arena = next(float(line.split()[1]) for line in text.splitlines() if "arena" in line)
    return {"layer": "depthwise 7 x 7", "step_bytes_of_input": round(
        arena * 1e6 / (4 * 96 * 56 * 56 * 4), 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build folder")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=5, help="steps per round")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    options = parser.parse_args()
    options.build = (ROOT / options.build).resolve()
    torch.set_num_threads(options.threads)
    folder = options.build / "bench"
    folder.mkdir(exist_ok=True)
    for name in options.models:
        print(json.dumps({"bench": "convolutions", **compare(options, name, folder)}), flush=True)
    print(json.dumps({"bench": "convolutions", **measure_layer(options, folder)}))


if __name__ == "__main__":
    main()
