"""Costs of imported graphs against `tessera model`'s graph, torch and ONNX Runtime.

Prints one JSON line per figure. Figures are CPU seconds; runs of all peers alternate in rounds, and
each figure is the median of its rounds without the first step, which touches all memory.

`step`: a step of GPT-2 124M and of a Llama of its size, imported from torch, relative to the graph
of `tessera model` with the same sizes and to torch eager (the same module, AdamW, clipping).
`forward`: the same for logits, relative to torch eager and ONNX Runtime, which does not train.
`import`: the walk over the exported program and `tessera import`, without torch.export, for GPT-2
124M at 1,024 tokens and for 126 layers of Llama 3 at the widths of 405B, whose weights are
allocated and never written; relative to torch-mlir's importer with the weights as arguments.
`compile`: `iree-compile` of torch-mlir's output and `tessera compile` of the same loss;
`iree_refuses` is the error if it fails.

Needs a Python with torch and transformers (--torch-python); figures of missing peers (onnxruntime,
torch_mlir, iree.compiler) are null. Fails if a step takes more than 1.03 of that with `tessera
model`'s graph, or the imports take more than 1 s and 5 s."""

import argparse
import importlib.util
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

import host_forward
import peer

ROOT = pathlib.Path(__file__).resolve().parents[2]
INPUTS = ROOT / "test" / "Import" / "Inputs"
LIMIT = 1.03
IMPORT_LIMITS = {"gpt2": 1.0, "llama3-405b": 5.0}
LLAMA = {"model_type": "llama", "vocab_size": 32000, "hidden_size": 768, "intermediate_size": 2048,
         "num_hidden_layers": 12, "num_attention_heads": 12, "num_key_value_heads": 4,
         "rms_norm_eps": 1e-6, "max_position_embeddings": 2048, "rope_theta": 10000.0}


def make_model(name):
    """A model of transformers, and its config."""
    import torch
    import transformers
    torch.manual_seed(0)
    if name == "llama":
        config = dict(LLAMA)
    else:
        config = json.loads((ROOT / "share" / "models" / f"{name}.json").read_text())
    given = {key: value for key, value in config.items() if key not in ("architectures",)}
    if name == "gpt2":
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(**given)).eval(), config
    llama = transformers.LlamaConfig(**given)
    if name == "llama":
        return transformers.LlamaForCausalLM(llama).eval(), config
    # 405 billion parameters: shapes, and memory that is never touched.
    with torch.device("meta"):
        model = transformers.LlamaForCausalLM(llama)
    model.model.rotary_emb = type(model.model.rotary_emb)(llama)
    for module in model.modules():
        for key, parameter in module.named_parameters(recurse=False):
            empty = torch.empty(parameter.shape, dtype=torch.float32)
            module.register_parameter(key, torch.nn.Parameter(empty))
    return model.eval(), config


def make(name, batch, seq, output="loss"):
    """A module that computes a model's loss or logits, its example arguments, and the config."""
    import torch
    sys.path.insert(0, str(INPUTS))
    import torch_models
    model, config = make_model(name)
    ids = torch.zeros(batch, seq, dtype=torch.long)
    if output == "logits":
        return torch_models.Logits(model, "logits"), [ids], config
    return torch_models.Loss(model, "loss"), [ids, ids.clone()], config


def cpu_seconds(who=resource.RUSAGE_SELF):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def import_graph(build, name, folder, batch, seq, output="loss"):
    """The imported graph, CPU seconds of the import, the config, and the exported program."""
    sys.path.insert(0, str(ROOT / "python"))
    from tessera import python_file, torch_import, torch_ops
    module, arguments, config = make(name, batch, seq, output)
    program = torch_import.export(module, python_file.Examples(arguments))
    begin = cpu_seconds(), cpu_seconds(resource.RUSAGE_CHILDREN)
    text = torch_ops.Importer(program).run(name)
    graph = folder / f"{name}-{output}.mlir"
    subprocess.run([build / "bin" / "tessera", "import", "-", "-o", graph,
                    *(["--label-shift", "0"] if output == "loss" else [])],
                   input=text, text=True, check=True)
    end = cpu_seconds(), cpu_seconds(resource.RUSAGE_CHILDREN)
    return graph, [b - a for a, b in zip(begin, end)], config, (module, arguments)


def has(name):
    return importlib.util.find_spec(name) is not None


def differences(add, x, order=1, dim=-1, before=None, after=None):
    """Differences of neighbours, as the difference of two slices."""
    import torch
    aten = torch.ops.aten
    assert order == 1, "expects differences of the first order"
    whole = add(aten.cat.default, [item for item in (before, x, after) if item], dim)
    size = whole.meta["val"].shape[dim]
    later, earlier = (add(aten.slice.Tensor, whole, dim, start, start + size - 1)
                      for start in (1, 0))
    return add(aten.sub.Tensor, later, earlier)


def mean_loss(add, logits, labels, weight=None, reduction=1, ignore=-100):
    """The mean of minus the logarithm of each label's probability."""
    import torch
    aten = torch.ops.aten
    assert weight is None and reduction == 1, "expects a mean of all classes"
    counts = add(aten._to_copy.default, add(aten.ne.Scalar, labels, ignore))
    counts = add(aten.mul.Scalar, counts, 1.0)
    rows = add(aten.unsqueeze.default, add(aten.clamp.default, labels, 0), 1)
    chosen = add(aten.gather.default, add(aten.log_softmax.int, logits, 1), 1, rows)
    chosen = add(aten.mul.Tensor, add(aten.squeeze.dim, chosen, 1), counts)
    total, count = (add(aten.sum.default, item) for item in (chosen, counts))
    return add(aten.neg.default, add(aten.div.Tensor, total, count))


def write_out(program):
    """Replaces the ops that iree-compile rejects by simpler ones."""
    import torch
    graph = program.graph_module.graph
    rules = {torch.ops.aten.diff.default: differences,
             torch.ops.aten.cross_entropy_loss.default: mean_loss}

    mode = next(node.meta["val"].fake_mode for node in graph.nodes
                if hasattr(node.meta.get("val"), "fake_mode"))

    def add(target, *arguments, **options):
        added = graph.call_function(target, arguments, options)
        values = torch.fx.node.map_arg(arguments, lambda item: item.meta["val"])
        with mode:
            added.meta["val"] = target(*values, **options)
        return added
    for node in list(graph.nodes):
        if node.target in rules:
            with graph.inserting_before(node):
                result = rules[node.target](add, *node.args, **node.kwargs)
            node.replace_all_uses_with(result)
            graph.erase_node(node)
            for spec in program.graph_signature.output_specs:
                if spec.arg.name == node.name:
                    spec.arg.name = result.name


def import_by_torch_mlir(module, arguments, path):
    """CPU seconds of torch-mlir's importer, with weights as arguments; writes the text to `path`."""
    import torch
    from torch_mlir import ir
    from torch_mlir.dialects import torch as dialect
    from torch_mlir.extras.fx_importer import FxImporter

    class Functional(torch.nn.Module):
        def forward(self, weights, *inputs):
            return torch.func.functional_call(module, weights, inputs)
    weights = {name: parameter.detach() for name, parameter in module.named_parameters()}
    program = torch.export.export(Functional(), (weights, *arguments), strict=False)
    write_out(program)
    context = ir.Context()
    dialect.register_dialect(context)
    importer = FxImporter(context=context)
    begin = cpu_seconds()
    importer.import_program(program)
    path.write_text(str(importer.module))
    return cpu_seconds() - begin


def run_timed(command):
    """CPU seconds of a command and None; if it fails None and the error."""
    begin = cpu_seconds(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        return None, lines[0].partition("error: ")[2][:120] or lines[0][:120]
    return cpu_seconds(resource.RUSAGE_CHILDREN) - begin, None


def rounded(number, digits=2):
    return None if number is None else round(number, digits)


def time_imports(options, folder):
    """Measures the imports; returns whether each is fast enough."""
    good = True
    for name, seq in (("gpt2", 1024), ("llama3-405b", 128)):
        _, (walk, compiler), config, (module, arguments) = import_graph(
            options.build, name, folder, 1, seq)
        printed, peer_seconds = folder / f"{name}.torch.mlir", None
        if has("torch_mlir"):
            peer_seconds = import_by_torch_mlir(module, arguments, printed)
        good &= walk + compiler <= IMPORT_LIMITS[name]
        print(json.dumps({"bench": "import_graphs", "what": "import", "model": name,
                          "layers": config.get("num_hidden_layers", config.get("n_layer")),
                          "seq": seq, "walk_cpu_seconds": round(walk, 2),
                          "compiler_cpu_seconds": round(compiler, 2),
                          "limit_seconds": IMPORT_LIMITS[name],
                          "torch_mlir_cpu_seconds": rounded(peer_seconds)}), flush=True)
    compile_by_both(options, folder)
    return good


def compile_by_both(options, folder):
    """Compiles GPT-2's loss of a batch with `tessera compile` and with iree-compile."""
    ours, fault = run_timed([
        options.build / "bin" / "tessera", "compile", folder / "gpt2-loss.mlir", "--forward",
        "--mesh", "dp=1", "--quiet", "-o", folder / "loss"])
    if fault:
        sys.exit(f"import_graphs: tessera compile: {fault}")
    theirs, refusal, printed = None, "not installed", folder / "gpt2.torch.mlir"
    if has("iree") and printed.exists():
        theirs, refusal = run_timed([
            sys.executable, "-m", "iree.compiler.tools.scripts.iree_compile",
            "--iree-input-type=torch", "--iree-hal-target-device=local",
            "--iree-hal-local-target-device-backends=llvm-cpu",
            "--iree-llvmcpu-target-cpu=host", printed, "-o", folder / "loss.vmfb"])
    print(json.dumps({"bench": "import_graphs", "what": "compile", "model": "gpt2", "seq": 1024,
                      "tessera_cpu_seconds": rounded(ours), "iree_cpu_seconds": rounded(theirs),
                      "iree_refuses": refusal}), flush=True)


def run_peer(options, kind, name, batch, seq, file=None):
    """CPU seconds of a step or a pass of torch or ONNX Runtime, in its own process."""
    command = [sys.executable, __file__, "--peer", kind, "--model", name, "--batch", str(batch),
               "--seq", str(seq), "--threads", str(options.threads), "--steps", str(options.steps)]
    done = subprocess.run(command + (["--file", str(file)] if file else []), check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def measure_peer(options):
    """Prints the CPU seconds of each step after the first."""
    import torch
    torch.set_num_threads(options.threads)
    output = "loss" if options.peer == "step" else "logits"
    if options.peer == "onnxruntime":
        import numpy
        import onnxruntime
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = options.threads
        # Waiting threads then use no CPU time.
        settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
        session = onnxruntime.InferenceSession(options.file, settings,
                                               providers=["CPUExecutionProvider"])
        ids = numpy.zeros((options.batch, options.seq), "int64")

        def step():
            session.run(None, {session.get_inputs()[0].name: ids})
    else:
        module, arguments, _ = make(options.model, options.batch, options.seq, output)
        optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)

        def step():
            if output == "logits":
                with torch.inference_mode():
                    module(*arguments)
                return
            optimizer.zero_grad()
            module(*arguments).backward()
            torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            optimizer.step()
    step()
    begin = cpu_seconds()
    for _ in range(options.steps):
        step()
    print(json.dumps((cpu_seconds() - begin) / options.steps))


def run_rounds(options, programs, peers):
    """The median CPU seconds of each program's and peer's step after the first, over all rounds.
    Every second round has the reverse order, since a program is slower after a peer."""
    used = {kind: [] for kind in [*programs, *peers]}
    order = list(programs.items())
    for _ in range(options.rounds):
        order.reverse()
        for kind, program in order:
            first, all_steps = (
                sum(host_forward.run_program(program, 1, options.threads, steps)["cpu_seconds"])
                for steps in (0, options.steps))
            used[kind].append((all_steps - first) / options.steps)
        for kind, run in peers.items():
            used[kind].append(run())
    return {kind: statistics.median(seconds) for kind, seconds in used.items()}


def print_steps(what, name, batch, seq, used):
    ratios = {f"ratio_{kind}": round(used["imported"] / used[kind], 3)
              for kind in used if kind != "imported"}
    print(json.dumps({"bench": "import_graphs", "what": what, "model": name, "batch": batch,
                      "seq": seq, "cpu_seconds": {k: round(v, 3) for k, v in used.items()},
                      **ratios}), flush=True)


def time_steps(options, name, folder):
    """CPU seconds of a step of both programs and of torch; returns the ratio of the programs."""
    build, (batch, seq) = options.build, (1, 256)
    graph, _, config, _ = import_graph(build, name, folder, batch, seq)
    (folder / f"{name}.json").write_text(json.dumps(config))
    model = folder / f"{name}-model.mlir"
    subprocess.run([build / "bin" / "tessera", "model", folder / f"{name}.json", "--batch",
                    str(batch), "--seq", str(seq), "--train", "--quiet", "-o", model], check=True)
    programs = {"imported": host_forward.compile_program(build, graph, f"imported-{name}"),
                "model": host_forward.compile_program(build, model, f"model-{name}")}
    used = run_rounds(options, programs,
                      {"torch": lambda: run_peer(options, "step", name, batch, seq)})
    print_steps("step", name, batch, seq, used)
    return used["imported"] / used["model"]


def time_forward(options, name, folder):
    """The same for logits, against torch and ONNX Runtime."""
    import torch
    batch, seq = 1, 256
    graph, _, _, (module, arguments) = import_graph(options.build, name, folder, batch, seq,
                                                    "logits")
    program = host_forward.compile_program(options.build, graph, f"logits-{name}")
    peers = {"torch": lambda: run_peer(options, "forward", name, batch, seq)}
    if has("onnxruntime"):
        file = folder / f"{name}.onnx"
        torch.onnx.export(module, tuple(arguments), dynamo=True, verbose=False).save(file)
        peers["onnxruntime"] = lambda: run_peer(options, "onnxruntime", name, batch, seq, file)
    print_steps("forward", name, batch, seq, run_rounds(options, {"imported": program}, peers))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build-release", help="build folder")
    parser.add_argument("--torch-python", help="a Python with torch and transformers")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=2, help="steps per round")
    parser.add_argument("--only", default="step,forward,import", metavar="LIST",
                        help="figures (default: step,forward,import)")
    # Options for the process of a peer.
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    parser.add_argument("--batch", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--seq", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        measure_peer(options)
        return
    peer.run_under_torch(options.torch_python, ("torch", "transformers"))
    options.build = (ROOT / options.build).resolve()
    (options.build / "bench").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        kinds = options.only.split(",")
        models = ("gpt2", "llama")
        ratios = [time_steps(options, model, folder) for model in models if "step" in kinds]
        for model in models if "forward" in kinds else ():
            time_forward(options, model, folder)
        is_quick = time_imports(options, folder) if "import" in kinds else True
    if max(ratios, default=0) > LIMIT:
        sys.exit(f"import_graphs: a step of an imported graph takes {max(ratios):.3f} of that of "
                 "tessera model's")
    if not is_quick:
        sys.exit("import_graphs: an import takes longer than its limit")


if __name__ == "__main__":
    main()
