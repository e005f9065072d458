"""Compares the memory of plans with the arenas of the programs that they compile to.

Each layout is planned with `tessera plan --framework tessera` and compiled with `tessera compile
--plan` for CUDA up to its arena (no GPU is needed). The bytes that the plan allocates on its
fullest stage (everything except the context and the margin) are compared with the largest arena of
a pp rank. The layouts are every schedule with every ZeRO stage, in 4 pipeline stages with 8
micro-batches, and 4 without stages: 16 layers of 5,120 on 64 H100.

    ./dev bench plan_memory            # or: python3 bench/trials/plan_memory.py --build build

Prints one JSON line per layout, then one with the largest differences; exits with 1 if a layout
differs by more than --most percent."""

import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLUSTER = ROOT / "share" / "clusters" / "h100-sxm-ib.json"
MODEL = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 5120,
         "intermediate_size": 13824, "num_hidden_layers": 16, "num_attention_heads": 40,
         "num_key_value_heads": 40, "vocab_size": 32000, "max_position_embeddings": 4096,
         "rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": False}
STAGES, DATA, MICRO_BATCHES, SEQ = 4, 16, 8, 4096
SCHEDULES = ("1f1b", "gpipe", "interleaved", "zb-h1", "zb-h2", "zb-1p", "zb-2p", "zb-v",
             "dualpipe", "dualpipe-v")


def layouts():
    """Yields the schedule's name, the ZeRO stage, the plan's options and the sequences of a step.
    """
    for zero in range(4):
        yield "none", zero, ["--dp", 64, "--zero", zero], 64 * 2
    for schedule in SCHEDULES:
        more = ["--vpp", 2] if schedule == "interleaved" else []
        for zero in range(4):
            yield (schedule, zero, ["--pp", STAGES, "--dp", DATA, "--schedule", schedule, *more,
                                    "--zero", zero], DATA * MICRO_BATCHES)


def run(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def allocated(plan, context=("context", "margin")):
    """Bytes of each stage without categories that hold no tensor."""
    return [sum(value for name, value in stage["categories"].items() if name not in context)
            for stage in plan["memory"]["stages"]]


def read_arenas(program):
    """Bytes of the arena of each pp rank; tasks have no arena of their own."""
    return [int(re.search(r"rt\.arena_bytes = (\d+)", line)[1])
            for line in program.splitlines()
            if "func.func" in line and "rt.memory = " in line]


def measure(tool, folder, layout):
    schedule, zero, options, sequences = layout
    name = f"{schedule}-{zero}"
    plan, graph = folder / f"{name}.json", folder / f"graph-{sequences}.mlir"
    run(tool, "plan", folder / "model.json", "--cluster", CLUSTER, "--framework", "tessera",
        "--seq", SEQ, "--micro-batch", 1, "--global-batch", sequences, *options, "--json",
        "-o", plan)
    run(tool, "compile", graph, "--plan", plan, "--cluster", CLUSTER, "--target", "cuda",
        "--compile-to=schedule", "-o", folder / f"{name}.mlir")
    arenas = read_arenas((folder / f"{name}.mlir").read_text())
    planned = allocated(json.loads(plan.read_text()))
    return {"bench": "plan_memory", "schedule": schedule, "zero": zero,
            "plan_gb": round(max(planned) / 1e9, 2), "arena_gb": round(max(arenas) / 1e9, 2),
            "percent": round(100 * (max(arenas) / max(planned) - 1), 1),
            "ranks_percent": [round(100 * (a / p - 1), 1) for a, p in zip(arenas, planned)]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build folder")
    parser.add_argument("--most", type=float, default=3, help="percent; default: %(default)s")
    parser.add_argument("--only", default="", help="schedules, with commas between")
    parser.add_argument("--zero", default="0,1,2,3", help="stages of ZeRO")
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time")
    options = parser.parse_args()
    tool = pathlib.Path(options.build).resolve() / "bin" / "tessera"
    chosen = [layout for layout in layouts()
              if (not options.only or layout[0] in options.only.split(","))
              and str(layout[1]) in options.zero.split(",")]
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "model.json").write_text(json.dumps(MODEL))
        for sequences in {layout[3] for layout in chosen}:
            run(tool, "model", folder / "model.json", "--train", "--batch", sequences, "--seq",
                SEQ, "--quiet", "-o", folder / f"graph-{sequences}.mlir")
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for row in pool.map(lambda layout: measure(tool, folder, layout), chosen):
                rows.append(row)
                print(json.dumps(row), flush=True)
    percents = [row["percent"] for row in rows]
    print(json.dumps({"bench": "plan_memory", "layouts": len(rows), "most_above": max(percents),
                      "most_below": min(percents)}))
    return int(max(map(abs, percents)) > options.most)


if __name__ == "__main__":
    sys.exit(main())
