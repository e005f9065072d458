"""Trains imported losses of image and sound models on several ranks and compares them with torch:
python torch_convolution_training.py BIN FOLDER. Three steps of AdamW on one batch have torch's
losses to 1e-5. Prints a line for each model; exit status 1 if one has other losses."""

import contextlib
import io
import pathlib
import sys

import numpy
import torch

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parents[2] / "python")]
import torch_architectures  # noqa: E402
from tessera import __main__ as command  # noqa: E402
from torch_training import OPTIONS, losses_of, run, train  # noqa: E402

STEPS = 3
LAYOUTS = {"resnet": ("dp=2,tp=2", "dp,tp,zero=1"), "convnext": ("dp=4", "dp,zero=3"),
           "whisper": ("dp=2,tp=2", "dp,tp")}


def compare(tessera, name, folder):
    """The losses of a model in torch and in a program, as a line and whether they agree."""
    model, x, labels = torch_architectures.make(name)
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(x.shape, generator=generator)
    labels = torch.randint(5, labels.shape, generator=generator)
    graph, weights, program = (folder / f"{name}.{kind}" for kind in
                               ("mlir", "safetensors", "program"))
    options = command.make_parser().parse_args(
        ["import", f"{torch_architectures.__file__}:make_{name}", "-o", str(graph),
         "--weights-out", str(weights)])
    with contextlib.redirect_stderr(io.StringIO()):
        command.run_import(options)
    inputs = folder / f"{name}.inputs"
    inputs.mkdir()
    for argument, value in (("x", x), ("labels", labels)):
        # The first dimension counts micro-batches.
        numpy.save(inputs / f"{argument}.npy", value[None].numpy())
    mesh, strategy = LAYOUTS[name]
    run(tessera, "compile", graph, "--mesh", mesh, "--strategy", strategy, *OPTIONS, "--quiet",
        "-o", program)
    found = losses_of(run(program, "--ranks", 4, "--weights", weights, "--inputs", inputs,
                          "--init-missing", "--steps", STEPS, "--log=jsonl"))
    expected = train(model, [(x, labels)] * STEPS)
    worst = max(abs(a - b) / abs(b) for a, b in zip(found, expected))
    is_near = len(found) == STEPS and worst <= 1e-5 and expected[-1] < expected[0]
    return f"{name}: {len(found)} losses {'agree' if is_near else 'DIFFER'} ({worst:.1e})", is_near


def main(folder):
    good = True
    for name in LAYOUTS:
        line, is_near = compare(f"{sys.argv[1]}/tessera", name, pathlib.Path(folder))
        good &= is_near
        print(line, flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[2:]))
