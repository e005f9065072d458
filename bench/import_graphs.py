"""What an imported graph costs: its training step beside that of the graph of `tessera
model`, and the import itself.

Prints a JSON line a figure. `step`: CPU seconds of a step of GPT-2 124M and of a Llama of
its size, imported from torch, over those of `tessera model`'s graph of the same sizes;
rounds of both alternate, and each is the least of its rounds. `import`: CPU seconds of the
walk over the exported program and of `tessera import`, without torch.export, of GPT-2 124M
at 1,024 tokens and of 126 layers of a Llama. Needs a Python with torch and transformers
(--torch-python); fails where a step takes more than 1.03 of the other.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

import host_forward
import peer

ROOT = pathlib.Path(__file__).resolve().parent.parent
INPUTS = ROOT / "test" / "Import" / "Inputs"
LIMIT = 1.03
LLAMA = {"model_type": "llama", "vocab_size": 32000, "hidden_size": 768, "intermediate_size": 2048,
         "num_hidden_layers": 12, "num_attention_heads": 12, "num_key_value_heads": 4,
         "rms_norm_eps": 1e-6, "max_position_embeddings": 2048, "rope_theta": 10000.0}


def make(name, batch, seq, layers=None):
    """A loss of transformers, its example arguments, and its config."""
    import torch
    import transformers
    torch.manual_seed(0)
    if name == "gpt2":
        config = json.loads((ROOT / "share" / "models" / "gpt2.json").read_text())
    else:
        config = dict(LLAMA)
        if layers:
            config |= {"num_hidden_layers": layers, "hidden_size": 48, "intermediate_size": 96,
                       "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 259}
    kind = "GPT2" if name == "gpt2" else "Llama"
    given = {key: value for key, value in config.items() if key not in ("architectures",)}
    model = getattr(transformers, f"{kind}LMHeadModel" if name == "gpt2" else
                    f"{kind}ForCausalLM")(getattr(transformers, f"{kind}Config")(**given)).eval()
    sys.path.insert(0, str(INPUTS))
    import torch_models
    ids = torch.zeros(batch, seq, dtype=torch.long)
    return torch_models.Loss(model, "loss"), [ids, ids.clone()], config


def cpu_seconds(who=resource.RUSAGE_SELF):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def import_graph(build, name, folder, batch, seq, layers=None):
    """The imported graph and CPU seconds of the import; the config."""
    sys.path.insert(0, str(ROOT / "python"))
    from tessera import torch_import, torch_ops
    module, arguments, config = make(name, batch, seq, layers)
    program = torch_import.export(module, arguments)
    begin = cpu_seconds(), cpu_seconds(resource.RUSAGE_CHILDREN)
    text = torch_ops.Importer(program).run(name)
    graph = folder / f"{name}-imported.mlir"
    subprocess.run([build / "bin" / "tessera", "import", "-", "--label-shift", "0", "-o", graph],
                   input=text, text=True, check=True)
    end = cpu_seconds(), cpu_seconds(resource.RUSAGE_CHILDREN)
    return graph, [b - a for a, b in zip(begin, end)], config


def time_imports(options, folder):
    for name, batch, seq, layers in (("gpt2", 1, 1024, None), ("llama", 1, 128, 126)):
        _, (walk, compiler), _ = import_graph(options.build, name, folder, batch, seq, layers)
        print(json.dumps({"bench": "import_graphs", "what": "import", "model": name,
                          "layers": layers or 12, "seq": seq, "walk_cpu_seconds": round(walk, 2),
                          "compiler_cpu_seconds": round(compiler, 2)}), flush=True)


def time_steps(options, name, folder):
    """CPU seconds of a step of both programs; the ratio."""
    build, (batch, seq) = options.build, (1, 256)
    graph, _, config = import_graph(build, name, folder, batch, seq)
    (folder / f"{name}.json").write_text(json.dumps(config))
    model = folder / f"{name}-model.mlir"
    subprocess.run([build / "bin" / "tessera", "model", folder / f"{name}.json", "--batch",
                    str(batch), "--seq", str(seq), "--train", "--quiet", "-o", model], check=True)
    programs = {"imported": host_forward.compile_program(build, graph, f"imported-{name}"),
                "model": host_forward.compile_program(build, model, f"model-{name}")}
    best = dict.fromkeys(programs, float("inf"))
    for _ in range(options.rounds):
        for kind, program in programs.items():
            report = host_forward.run_program(program, 1, options.threads, options.steps)
            used = sum(report["cpu_seconds"]) / len(report["step_seconds"])
            best[kind] = min(best[kind], used)
    ratio = best["imported"] / best["model"]
    print(json.dumps({"bench": "import_graphs", "what": "step", "model": name, "batch": batch,
                      "seq": seq, "cpu_seconds": {k: round(v, 3) for k, v in best.items()},
                      "ratio": round(ratio, 3)}), flush=True)
    return ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build-release", help="build folder")
    parser.add_argument("--torch-python", help="a Python with torch and transformers")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2, help="steps per round")
    options = parser.parse_args()
    peer.run_under_torch(options.torch_python, ("torch", "transformers"))
    options.build = (ROOT / options.build).resolve()
    (options.build / "bench").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        time_imports(options, folder)
        ratios = [time_steps(options, model, folder) for model in ("gpt2", "llama")]
    if max(ratios) > LIMIT:
        sys.exit(f"import_graphs: a step of an imported graph takes {max(ratios):.3f} of that of "
                 "tessera model's")


if __name__ == "__main__":
    main()
