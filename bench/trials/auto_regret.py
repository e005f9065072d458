"""Measures how much slower the program of --strategy auto is than the best program.

auto_regret.py [--build DIR] [--case NAME] [--ranks N] [--measure K] ...

Each case is a model on 2, 4 or 8 ranks of this machine. It is compiled with every named strategy on
every mesh of one or two axes, with `--strategy auto --ranks N` and the links that `tessera doctor
--calibrate` measured, and with `--measure K` in addition. All programs run in turn, in rounds, so
that other load on the machine affects all of them. The time of a program is the processor time of a
step of all ranks, the median of the rounds. `regret` is the time of auto's program over the least
time, minus 1; the regret of each program that auto tried is printed too. Prints one JSON line per
case, and one for all cases."""
import argparse
import itertools
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

MODELS = {
    "tiny-gpt2": ["share/models/tiny-gpt2.json", "--batch", "16", "--seq", "32"],
    "tiny-llama": ["share/models/tiny-llama.json", "--batch", "16", "--seq", "32"],
    "gpt2-1-layer": ["share/models/gpt2.json", "--layers", "1", "--batch", "8", "--seq", "32"],
}
# A table of 50,257 rows would take nearly all of the time of one layer.
SMALLER = {"gpt2-1-layer": {"vocab_size": 1024, "bos_token_id": 1, "eos_token_id": 1}}
# Width, inner width, rows of a batch, layers: one case has more activations, one more weights.
MLPS = {"mlp-many-rows": (128, 512, 2048, 2), "mlp-wide": (512, 2048, 64, 2)}
RANKS = [2, 4, 8]
# A round has fewer steps if a step takes this long or longer, in milliseconds.
LONG_STEP, FEW_STEPS = 100, 2
# Attempts to measure this machine.
CALIBRATIONS = 8


def write_mlp(path, width, inner, rows, layers):
    """Writes a loss of some linear layers with GELU between them."""
    names = [(f"%{kind}{layer}", f"{kind}{layer}", shape, dims)
             for layer in range(layers)
             for kind, shape, dims in (("up", f"{width}x{inner}", ("embed", "ffn")),
                                       ("down", f"{inner}x{width}", ("ffn", "embed")))]
    arguments = [f'%x: tensor<{rows}x{width}xf32> {{nn.input = "x", nn.dims = ["batch", "embed"],'
                 ' nn.init = #nn.init<normal, 1.0>}']
    arguments += [f'{value}: tensor<{shape}xf32> {{nn.param = "{name}", nn.dims = '
                  f'["{dims[0]}", "{dims[1]}"], nn.init = #nn.init<normal, 0.02>}}'
                  for value, name, shape, dims in names]
    small, large = f"tensor<{rows}x{width}xf32>", f"tensor<{rows}x{inner}xf32>"
    up, down = f"tensor<{width}x{inner}xf32>", f"tensor<{inner}x{width}xf32>"
    body, last = [], "%x"
    for i in range(layers):
        body += [f'%a{i} = nn.einsum "bd,df->bf" {last}, %up{i} : {small}, {up} -> {large}',
                 f"%b{i} = nn.gelu <tanh> %a{i} : {large}",
                 f'%c{i} = nn.einsum "bf,fd->bd" %b{i}, %down{i} : {large}, {down} -> {small}']
        last = f"%c{i}"
    body += [f"%square = arith.mulf {last}, {last} : {small}",
             f"%loss = nn.reduce <sum> %square dims [0, 1] : {small} -> tensor<f32>",
             "return %loss : tensor<f32>"]
    path.write_text(f"func.func @forward({', '.join(arguments)}) -> "
                    '(tensor<f32> {nn.output = "loss"}) {\n  ' + "\n  ".join(body) + "\n}\n")


def write_model(args, folder, model):
    """Writes the graph of a model's training step."""
    config, *options = MODELS[model]
    with open(ROOT / config) as file:
        fields = {**json.load(file), **SMALLER.get(model, {})}
    (folder / f"{model}.json").write_text(json.dumps(fields))
    subprocess.run([args.build / "bin" / "tessera", "model", folder / f"{model}.json", *options,
                    "--train", "--quiet", "-o", folder / f"{model}.mlir"], check=True)


def calibrate(args, path, ranks):
    """Measures the ranks of this machine; on a busy one it may need several attempts."""
    for _ in range(CALIBRATIONS):
        done = run([args.build / "bin" / "tessera", "doctor", "--calibrate", "--ranks",
                    str(ranks), "--quiet", "-o", path])
        if done.returncode == 0:
            return
    sys.exit(done.stderr)


def list_programs(ranks, has_sequence):
    """(mesh, strategy) of each named strategy."""
    names = ["dp", "tp"] + (["cp"] if has_sequence else [])
    meshes = [{name: ranks} for name in names]
    for first, second in itertools.combinations(names, 2):
        meshes += [{first: ranks // n, second: n} for n in range(2, ranks // 2 + 1)
                   if ranks % n == 0]
    for mesh in meshes:
        axes = [name for name in ("dp", "cp", "tp") if name in mesh]
        for sp in (["", ",sp"] if "tp" in mesh and has_sequence else [""]):
            for zero in range(4 if "dp" in mesh or "cp" in mesh else 1):
                yield (",".join(f"{name}={mesh[name]}" for name in axes),
                       ",".join(axes) + sp + (f",zero={zero}" if zero else ""))


def run(command):
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


def compile_program(args, graph, program, options):
    """Compiles a program; returns the last line of the error, or ""."""
    done = run([args.build / "bin" / "tessera", "compile", graph, *options, "-o", program])
    return (done.stderr.splitlines() or ["failed"])[-1] if done.returncode else ""


def step_milliseconds(program, ranks, steps):
    """Median processor time of a step of all ranks; the first touches its memory."""
    done = run([program, "--ranks", str(ranks), "--threads", "1", "--steps", str(steps + 1),
                "--random-data", "--quiet", "--report", "json"])
    if done.returncode:
        sys.exit(f"{program}: {done.stderr}")
    return 1e3 * statistics.median(json.loads(done.stdout)["step_cpu_seconds"][1:])


def measure_case(args, folder, model, ranks):
    graph = folder / f"{model}.mlir"
    programs = {}
    for mesh, strategy in list_programs(ranks, model in MODELS):
        program = folder / f"p{len(programs)}"
        if not compile_program(args, graph, program, ["--mesh", mesh, "--strategy", strategy]):
            programs[f"{strategy} on {mesh}"] = program
    auto = ["--strategy", "auto", "--ranks", str(ranks), "--cluster", folder / f"host{ranks}.json"]
    for name, more in (("auto", []), ("measured", ["--measure", str(args.measure)])):
        if name == "measured" and not args.measure:
            continue
        error = compile_program(args, graph, folder / name, auto + more)
        if error:
            sys.exit(f"{model} on {ranks}: {error}")
        programs[name] = folder / name
    times = {name: [] for name in programs}
    is_long = step_milliseconds(programs["auto"], ranks, 1) > LONG_STEP
    for _ in range(args.rounds):
        for name, program in programs.items():
            times[name].append(step_milliseconds(program, ranks,
                                                 FEW_STEPS if is_long else args.steps))
    return {name: statistics.median(values) for name, values in times.items()}


def describe_machine(build):
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":")[1].strip() for line in file if "model name" in line), "")
    version = run([build / "bin" / "tessera", "--version"]).stdout.splitlines()
    return {"processor": model, "processors": len(os.sched_getaffinity(0)),
            "kernel": platform.release(), "tessera": version[0] if version else ""}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build folder")
    parser.add_argument("--case", action="append", choices=[*MODELS, *MLPS])
    parser.add_argument("--ranks", action="append", type=int)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=5, help="steps per round")
    parser.add_argument("--measure", type=int, default=4, help="K of --measure; 0: not")
    parser.add_argument("--all", action="store_true", help="print the time of every program")
    args = parser.parse_args()
    args.build = (ROOT / args.build).resolve()
    folder = args.build / "bench" / "auto_regret"
    folder.mkdir(parents=True, exist_ok=True)
    machine, regrets = describe_machine(args.build), {"auto": [], "measured": []}
    for ranks in args.ranks or RANKS:
        host = folder / f"host{ranks}.json"
        calibrate(args, host, ranks)
        for model in args.case or [*MODELS, *MLPS]:
            if model in MLPS:
                write_mlp(folder / f"{model}.mlir", *MLPS[model])
            else:
                write_model(args, folder, model)
            times = measure_case(args, folder, model, ranks)
            best = min(times.values())
            row = {"bench": "auto_regret", "model": model, "ranks": ranks,
                   "programs": len(times), "best": min(times, key=times.get),
                   "best_cpu_ms": round(best, 3)}
            named = {name: ms for name, ms in times.items() if name not in regrets}
            row["named"] = min(named, key=named.get)
            row["named_cpu_ms"] = round(min(named.values()), 3)
            for name, values in regrets.items():
                if name in times:
                    row[f"{name}_cpu_ms"] = round(times[name], 3)
                    row[f"{name}_regret"] = round(times[name] / best - 1, 4)
                    values.append(times[name] / best - 1)
            if args.all:
                row["all"] = {name: round(ms, 3) for name, ms in times.items()}
            print(json.dumps({**row, **machine, "rounds": args.rounds, "steps": args.steps}),
                  flush=True)
    print(json.dumps({"bench": "auto_regret", "cases": len(regrets["auto"]), **{
        f"{name}_within_3_percent": sum(regret <= 0.03 for regret in values)
        for name, values in regrets.items() if values}}), flush=True)


if __name__ == "__main__":
    main()
