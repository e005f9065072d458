"""The comparisons on a GPU: models, sizes, and how the programs are compiled."""

# The same values are in test/e2e/training/train_golden.test and bench/compare/golden_curves.py.
CURVE_BATCH, CURVE_SEQ, CURVE_STEPS = 8, 32, 30
CURVE_OPTIONS = ["--lr", "0.003", "--lr-schedule", "cosine", "--min-lr", "0.0003", "--warmup", "5",
                 "--total-steps", "30", "--weight-decay", "0.1", "--clip", "1.0"]
# Models that are trained, by name: a config of share/models, and flags of tessera model.
CURVES = {
    "tiny-gpt2": ("tiny-gpt2", []),
    "tiny-llama": ("tiny-llama", []),
    "tiny-qwen2": ("tiny-qwen2", []),
    "tiny-qwen3": ("tiny-qwen3", []),
    "tiny-mistral": ("tiny-mistral", []),
    "tiny-phi3": ("tiny-phi3", []),
    "tiny-gemma3": ("tiny-gemma3", []),
    "tiny-mixtral": ("tiny-mixtral", []),
    # Windows, and documents that end at the ends of lines.
    "tiny-mistral-eod": ("tiny-mistral", ["--eod", "10"]),
    # Blocks for the stages of pipelines.
    "tiny-llama-8": ("tiny-llama", ["--layers", "8"]),
}
# Models with losses of PyTorch and programs in bf16 and fp8, too.
TORCH_MODELS = ["tiny-gpt2", "tiny-llama"]


def precisions(name):
    return ("f32", "bf16", "fp8") if name in TORCH_MODELS else ("f32",)


# Programs whose ranks run on one device, by name: models, ranks, and how they are compiled.
RANK_PLANS = {
    "ranks2": (TORCH_MODELS, 2, ["--mesh", "dp=2", "--strategy", "dp,zero=1"]),
    "ranks4": (TORCH_MODELS, 4, ["--mesh", "dp=2,tp=2", "--strategy", "dp,tp,sp,zero=2"]),
    "ranks8": (TORCH_MODELS, 8, ["--mesh", "dp=4,tp=2", "--strategy", "dp,tp,sp,zero=3"]),
    "ring2": (["tiny-llama"], 2, ["--mesh", "cp=2", "--strategy", "cp=ring"]),
    "ulysses2": (["tiny-llama"], 2, ["--mesh", "cp=2", "--strategy", "cp=all_to_all"]),
    "ring": (["tiny-llama", "tiny-mistral-eod"], 4,
             ["--mesh", "dp=2,cp=2", "--strategy", "dp,cp=ring,zero=1"]),
    "ring-tp": (["tiny-gemma3"], 8,
                ["--mesh", "cp=4,tp=2", "--strategy", "cp=ring,tp,sp", "--micro-batches", "2"]),
    "gather": (["tiny-llama", "tiny-mistral-eod"], 4,
               ["--mesh", "cp=4", "--strategy", "cp=all_gather"]),
    "ulysses": (["tiny-llama"], 4, ["--mesh", "cp=4", "--strategy", "cp=all_to_all"]),
    "ep2": (["tiny-mixtral"], 2, ["--mesh", "dp=2", "--strategy", "dp,ep=2,zero=1"]),
    "pp2": (["tiny-llama-8"], 2, ["--mesh", "pp=2", "--strategy", "pp", "--schedule", "zb-h1",
                                  "--micro-batches", "4"]),
    "1f1b": (["tiny-llama-8"], 8, ["--mesh", "pp=2,dp=2,tp=2", "--strategy", "pp,dp,tp,sp,zero=1",
                                   "--micro-batches", "4"]),
    "zb-h1": (["tiny-llama-8"], 4, ["--mesh", "pp=4", "--strategy", "pp", "--schedule", "zb-h1",
                                    "--micro-batches", "8"]),
    "zb-v": (["tiny-llama-8"], 4, ["--mesh", "pp=4", "--strategy", "pp", "--schedule", "zb-v",
                                   "--micro-batches", "8"]),
    "dualpipe-v": (["tiny-llama-8"], 4, ["--mesh", "pp=4", "--strategy", "pp", "--schedule",
                                         "dualpipe-v", "--micro-batches", "8"]),
}
# Relative tolerance between plans of one program in f32; the bound of the host's tests.
RANK_TOLERANCE = 1e-4

# Options of the speed runs: a constant learning rate, so that both sides do the same work.
SPEED_OPTIONS = ["--lr", "0.0001", "--weight-decay", "0.1", "--clip", "1.0"]
# name: config, batch, sequence, changes of the config.
SPEED = {
    "gpt2-b32": ("gpt2", 32, 1024, {}),
    "gpt2-b64": ("gpt2", 64, 1024, {}),
    "gpt2-xl": ("gpt2-xl", 16, 1024, {}),
    "llama3-8b-16": ("llama3-8b", 2, 4096, {"num_hidden_layers": 16}),
}
# Timed steps of a repeat, of three repeats. A step of the large cases takes over a second.
STEPS = {"gpt2-b32": 30, "gpt2-b64": 30, "gpt2-xl": 10, "llama3-8b-16": 10}
# The case whose losses are compared.
FIRST_SPEED = "gpt2-b32"
# Cases whose kernels are profiled: the profiler needs a third of a second for each.
FLOORS = {
    "gpt2-2-layers": ("gpt2", 32, 1024, {"n_layer": 2}),
    "llama3-8b-2-layers": ("llama3-8b", 2, 4096, {"num_hidden_layers": 2}),
}

# Dense bf16 operations per second from the vendor's data sheets.
PEAKS = {"H200": 989e12, "H100": 989e12, "A100": 312e12, "B200": 2250e12}

# Causal attention alone, forward and backward, over cp: groups, heads of a group and their
# dimension as in llama3-8b, and the tokens of a device.
CONTEXT_HEADS, CONTEXT_TOKENS = (8, 4, 128), 8192
CONTEXT_METHODS = ["ring", "all_gather", "all_to_all"]
# Devices of a program. With fewer devices one device runs all ranks; then programs with more ranks
# than CONTEXT_MOST_PLAYED are left out.
CONTEXT_RANKS = [4, 8]
CONTEXT_MOST_PLAYED = 4


def context_graph(tokens):
    """The module: attention over one row of `tokens` random tokens."""
    groups, heads, size = CONTEXT_HEADS
    q = f"tensor<1x{tokens}x{groups}x{heads}x{size}xbf16>"
    k = f"tensor<1x{tokens}x{groups}x{size}xbf16>"
    stats = f"tensor<1x{tokens}x{groups}x{heads}xf32>"

    def argument(name, kind):
        dims = ", ".join(["\"batch\"", "\"seq\""] + ["\"\""] * (kind.count("x") - 2))
        return (f'%{name}: {kind} {{nn.input = "{name}", nn.init = #nn.init<normal, 1.0>, '
                f"nn.dims = [{dims}]}}")

    scale = f"causal scale {size ** -0.5!r}"
    arguments = ", ".join(argument(n, t) for n, t in zip("qkvg", (q, k, k, q)))
    return f"""func.func @main({arguments}) -> ({q}, {q}, {k}, {k}) {{
  %o, %l = nn.attention {scale} %q, %k, %v : {q}, {k}, {k} -> {q} stats {stats}
  %dq, %dk, %dv = nn.attention_backward {scale} %g, %q, %k, %v, %o, %l : {q}, {k}, {k}, {q}, {stats}
  return %o, %dq, %dk, %dv : {q}, {q}, {k}, {k}
}}
"""


def context_operations(tokens):
    """Operations of causal attention forward and backward: 2 and 5 matmuls, half of each is masked.
    """
    groups, heads, size = CONTEXT_HEADS
    return 7 * tokens * tokens * groups * heads * size
