"""What is compared on a GPU: models, sizes, and how the programs are compiled."""

# As test/e2e/training/train_golden.test and bench/golden_curves.py have it.
CURVE_BATCH, CURVE_SEQ, CURVE_STEPS = 8, 32, 30
CURVE_OPTIONS = ["--lr", "0.003", "--lr-schedule", "cosine", "--min-lr", "0.0003", "--warmup", "5",
                 "--total-steps", "30", "--weight-decay", "0.1", "--clip", "1.0"]
CURVE_MODELS = ["tiny-gpt2", "tiny-llama"]

# Ranks, mesh and strategy of the programs whose ranks one device plays.
RANK_PLANS = {
    "2": (2, "dp=2", "dp,zero=1"),
    "4": (4, "dp=2,tp=2", "dp,tp,sp,zero=2"),
    "8": (8, "dp=4,tp=2", "dp,tp,sp,zero=3"),
}
# Between plans of one program in f32, relatively; the bound of the host's tests.
RANK_TOLERANCE = 1e-4

# Steps of the speed runs: a constant rate, so that both sides do the same.
SPEED_OPTIONS = ["--lr", "0.0001", "--weight-decay", "0.1", "--clip", "1.0"]
# name: config, batch, sequence, changes of the config.
SPEED = {
    "gpt2-b32": ("gpt2", 32, 1024, {}),
    "gpt2-b64": ("gpt2", 64, 1024, {}),
    "gpt2-xl": ("gpt2-xl", 16, 1024, {}),
    "llama3-8b-16": ("llama3-8b", 2, 4096, {"num_hidden_layers": 16}),
}
# Timed steps of a repeat, of which there are three. Those of the large ones take
# over a second.
STEPS = {"gpt2-b32": 30, "gpt2-b64": 30, "gpt2-xl": 10, "llama3-8b-16": 10}
# The one whose losses are compared first, and whose kernels are looked at.
FIRST_SPEED = "gpt2-b32"

# Dense bf16 operations per second by the vendor's datasheet.
PEAKS = {"H200": 989e12, "H100": 989e12, "A100": 312e12, "B200": 2250e12}
