"""Time to configure and build examples/standalone against MLIR's own example of its kind.

Ours is a compiler on an installed Tessera: a dialect with rules and meanings, two tools. MLIR's,
a dialect, a tool and plugins, is mlir/examples/standalone of LLVM's sources, which packages do not
have: --peer is its folder. One compiler builds both on one core, without a compiler cache and
without tests. Without --peer there is no ratio."""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MLIR = "/usr/lib/llvm-22/lib/cmake/mlir"


def measure(command):
    """Seconds, and processor seconds, of a command."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    environment = os.environ | {"CCACHE_DISABLE": "1"}
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False)
    if run.returncode:
        sys.exit(f"standalone: {' '.join(map(str, command))} failed:\n{run.stdout}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (time.monotonic() - start,
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def build(source, folder, options):
    """Seconds of configuring, and processor seconds of building."""
    configure, _ = measure(["cmake", "-G", "Ninja", "-S", source, "-B", folder,
                            "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_COMPILER=clang++-22",
                            "-DCMAKE_C_COMPILER=clang-22", f"-DMLIR_DIR={MLIR}", *options])
    _, compile_seconds = measure(["ninja", "-C", folder, "-j1"])
    return configure, compile_seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build-release", help="build folder")
    parser.add_argument("--peer", help="folder mlir/examples/standalone")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prefix = pathlib.Path(folder) / "tessera"
        measure(["cmake", "--install", ROOT / options.build, "--prefix", prefix])
        ours = ROOT / "examples" / "standalone"
        projects = {"tessera": (ours, [f"-DCMAKE_PREFIX_PATH={prefix}"])}
        if options.peer:
            projects["mlir"] = (pathlib.Path(options.peer), [])
        seconds = {name: [] for name in projects}
        for run in range(options.runs):
            for name, (source, extra) in projects.items():
                seconds[name].append(build(source, pathlib.Path(folder) / f"{name}{run}", extra))
    line = {"bench": "standalone", "runs": options.runs}
    for name, runs in seconds.items():
        configure, compiled = (statistics.median(column) for column in zip(*runs))
        line[f"{name}_configure_seconds"] = round(configure, 2)
        line[f"{name}_build_cpu_seconds"] = round(compiled, 2)
    if options.peer:
        line["build_ratio"] = round(
            line["tessera_build_cpu_seconds"] / line["mlir_build_cpu_seconds"], 2)
    print(json.dumps(line))


if __name__ == "__main__":
    main()
