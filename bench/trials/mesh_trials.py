"""Checks that every small mesh compiles and is proven within limits of time and memory.

mesh_trials.py [--build DIR] [--jobs N] [--devices 30] [--sample N] [--seed N]

Tries every mesh of two and three axes of at most 30 devices, with three models of two layers, and
lengths that most of these do not divide. `--strategy auto` and each named strategy (dp, tp, cp and
sp on any axes, ZeRO 0, 1 and 3, each method of cp) compile to phase `schedule` at a long sequence
and are verified at a short one, in processes of at most 20 CPU seconds and 2 GB of address space.
For every fourth trial the short program at phase `schedule` is also compared with phase `train`. A
named strategy may fail with an error that says what it expects, auto may not. Prints one JSON line:
the trials, the refusals by message, the slowest and the largest trials. Exit status 1, and a line
each, for trials with another outcome. `--sample N` draws N trials at random."""
import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile

SECONDS = 20
BYTES = 2 << 30
# Models with different heads, windows and absolute positions: batch, and sequences to compile and
# to verify.
MODELS = {
    "tiny-llama": (6, 2048, 20),
    "tiny-mistral": (4, 1000, 18),
    "tiny-gpt2": (3, 64, 14),
}
METHODS = ["all_gather", "ring", "all_to_all"]


def list_meshes(devices):
    """Sizes of two and of three axes, of at least 2 each, in every order."""
    sizes = range(2, devices // 2 + 1)
    for count in (2, 3):
        for mesh in itertools.product(sizes, repeat=count):
            product = 1
            for size in mesh:
                product *= size
            if product <= devices:
                yield mesh


def list_strategies(count):
    """Yields auto, and each named strategy that uses all of the axes a, b and c."""
    yield "auto"
    axes = "abc"[:count]
    for roles in itertools.product(["dp", "tp", "cp"], repeat=count):
        if roles.count("cp") > 1:
            continue
        of_role = {role: "+".join(axis for axis, mine in zip(axes, roles) if mine == role)
                   for role in ("dp", "tp", "cp")}
        for sp in ([False, True] if of_role["tp"] else [False]):
            def name(method="", zero=0):
                words = [role + "@" + mine + (method if role == "cp" else "")
                         for role, mine in of_role.items() if mine]
                words += ["sp"] * sp + [f"zero={zero}"] * (zero > 0)
                return ",".join(words)
            yield name()
            if of_role["dp"] or of_role["cp"]:
                yield name(zero=1)
                yield name(zero=3)
            if of_role["cp"]:
                yield from (name("=" + method) for method in METHODS)


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command):
    """Runs a command under the limits: its status, last error, CPU seconds and resident bytes."""
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log,
                                   preexec_fn=limit)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        errors = [line for line in log.read().splitlines() if "error" in line.lower()]
    return (process.returncode, errors[0][:300] if errors else "",
            usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10)


def list_commands(folder, number, trial):
    """The commands of a trial, in order."""
    model, mesh, strategy = trial
    axes = ",".join(f"{name}={size}" for name, size in zip("abc", mesh))
    options = ["--mesh", axes, "--strategy", strategy]
    short = f"{folder}/{model}.short.mlir"
    yield ["compile", f"{folder}/{model}.long.mlir", *options, "--compile-to=schedule",
           "-o", os.devnull]
    yield ["verify", short, *options, "--quiet"]
    if number % 4 == 0:
        later = [f"{folder}/{number}.{phase}.mlir" for phase in ("train", "schedule")]
        for path in later:
            yield ["compile", short, *options, f"--compile-to={path.split('.')[-2]}", "-o",
                   path]
        yield ["verify", later[0], "--partitioned", later[1], "--no-proof", "--quiet"]


def try_one(tool, folder, number, trial):
    """(trial, verdict, seconds, bytes), from all commands up to a failure."""
    strategy = trial[2]
    most_seconds = most_bytes = 0
    verdict = ""
    for command in list_commands(folder, number, trial):
        status, error, seconds, size = run([tool, *command])
        most_seconds, most_bytes = max(most_seconds, seconds), max(most_bytes, size)
        is_refused = status == 1 and "expects" in error and strategy != "auto"
        if status != 0:
            verdict = f"{'refused' if is_refused else 'failed'}: {command[0]} ends with " \
                      f"{status}: {error}"
            break
    return trial, verdict, most_seconds, most_bytes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--devices", type=int, default=30)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    tool = f"{arguments.build}/bin/tessera"
    trials = [(model, mesh, strategy) for model in MODELS
              for mesh in list_meshes(arguments.devices)
              for strategy in list_strategies(len(mesh))]
    if arguments.sample:
        random.seed(arguments.seed)
        trials = random.sample(trials, min(arguments.sample, len(trials)))
    with tempfile.TemporaryDirectory() as folder:
        for model, (batch, *lengths) in MODELS.items():
            for length, name in zip(lengths, ("long", "short")):
                subprocess.run([tool, "model", f"share/models/{model}.json", "--batch",
                                str(batch), "--seq", str(length), "--train", "-o",
                                f"{folder}/{model}.{name}.mlir"],
                               check=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        done, is_failed = [], False
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for result in pool.map(lambda item: try_one(tool, folder, *item),
                                   enumerate(trials)):
                done.append(result)
                for phase in ("train", "schedule"):
                    pathlib.Path(f"{folder}/{len(done) - 1}.{phase}.mlir").unlink(
                        missing_ok=True)
                if result[1].startswith("failed"):
                    is_failed = True
                    print(*result[0], result[1], file=sys.stderr, flush=True)
    refusals = collections.Counter(
        re.sub(r"\d+", "#", verdict.split("error: ")[-1])
        for _, verdict, _, _ in done if verdict.startswith("refused"))
    slowest = max(done, key=lambda result: result[2])
    largest = max(done, key=lambda result: result[3])
    print(json.dumps({"trials": len(done), "refused": refusals,
                      "seconds": [round(slowest[2], 2), *slowest[0]],
                      "megabytes": [largest[3] >> 20, *largest[0]]}))
    sys.exit(is_failed)


if __name__ == "__main__":
    main()
