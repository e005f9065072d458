"""Seconds from a module to its first result by tessera.compile, and by torch.compile.

The module is GPT-2 of 124 million parameters by transformers, in f32 at batch 1 and 64 tokens. The
time of tessera.compile is cut into the export, which torch.export takes most of, the compiler, and
start and weights: the second compile, from the cache, has all but the compiler.

PyTorch is in its own environment: --torch-python or TESSERA_TORCH_PYTHON names its Python, which
has transformers, too."""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "compare"))

import peer  # noqa: E402


def make_model():
    import torch
    import transformers
    torch.manual_seed(0)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(use_cache=False)).eval()
    return model, torch.arange(64)[None] % 50257


def timed(act):
    begin = time.perf_counter()
    result = act()
    return result, time.perf_counter() - begin


def measure(ranks):
    import tessera
    import torch
    from tessera import python_file, torch_import
    model, ids = make_model()
    mesh = {"mesh": {"dp": 1, "tp": ranks}, "strategy": "dp,tp"} if ranks > 1 else {}
    examples = python_file.Examples((ids,))
    _, export = timed(lambda: torch_import.read_module(
        model, python_file.bind(model.forward, [examples])))

    def first():
        with tessera.compile(model, (ids,), **mesh) as program:
            compiled = time.perf_counter()
            return program(ids), compiled

    begin = time.perf_counter()
    (result, compiled), whole = timed(first)
    cold, call = compiled - begin, whole - (compiled - begin)
    begin = time.perf_counter()
    (_, compiled), _ = timed(first)
    cached = compiled - begin
    with torch.no_grad():
        expected = model(ids)
    difference = (result.logits - expected.logits).abs().max() / expected.logits.abs().max()
    assert difference < 1e-5, difference
    print(json.dumps({"bench": "python_first_result", "by": "tessera", "ranks": ranks,
                      "seconds": round(whole, 2), "export": round(export, 2),
                      "compiler": round(cold - cached, 2),
                      "start_and_weights": round(cached - export, 2),
                      "call_and_end": round(call, 2), "from_cache": round(cached, 2)}),
          flush=True)


def measure_torch():
    import torch
    model, ids = make_model()
    compiled = torch.compile(model)
    with torch.no_grad():
        _, seconds = timed(lambda: compiled(ids))
    print(json.dumps({"bench": "python_first_result", "by": "torch.compile", "ranks": 1,
                      "seconds": round(seconds, 2), "torch": torch.__version__}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build folder")
    parser.add_argument("--torch-python", help="a Python with PyTorch and transformers")
    options = parser.parse_args()
    peer.run_under_torch(options.torch_python)
    sys.path.insert(0, str(ROOT / "python"))
    os.environ["TESSERA"] = str((ROOT / options.build / "bin" / "tessera").resolve())
    for ranks in (1, 4):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_CACHE_HOME"] = folder
            measure(ranks)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
        measure_torch()


if __name__ == "__main__":
    main()
