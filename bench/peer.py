"""What the measurements against PyTorch share: its environment, and the line of
a comparison."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What pip calls the modules that a peer needs.
PACKAGES = {"torch": "torch==2.13.*", "transformers": "transformers", "numpy": "numpy"}


def torch_python(given, modules=("torch",)):
    """The Python of an environment with PyTorch, made in .env/torch where
    neither `given` nor TESSERA_TORCH_PYTHON names one."""
    given = given or os.environ.get("TESSERA_TORCH_PYTHON")
    if given:
        return given
    python = ROOT / ".env" / "torch" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
    packages = [PACKAGES[module] for module in modules]
    print(f"installing {', '.join(packages)} in .env/torch", file=sys.stderr)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    return str(python)


def run_under_torch(given, modules=("torch",)):
    """Starts this script again under that Python, unless this one has the
    modules."""
    missing = [m for m in modules if importlib.util.find_spec(m) is None]
    if not missing:
        return
    if os.environ.get("TESSERA_PEER"):
        sys.exit(f"expects a Python with {', '.join(modules)} but {sys.executable} lacks "
                 f"{', '.join(missing)}")
    os.environ["TESSERA_PEER"] = "1"
    python = torch_python(given, modules)
    os.execv(python, [python, *sys.argv])


def add_options(parser):
    """The options of a comparison of one library call with PyTorch's."""
    parser.add_argument("--build", default="build-release", help="build folder")
    parser.add_argument("--torch-python", help="a Python with PyTorch")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--rounds", type=int, default=3)


def compare(options, program, case, peer_times):
    """Prints the line of one case: `program` of the build run with the numbers
    of `case`, against `peer_times()`, milliseconds. Rounds of both alternate,
    so that a busy machine treats them alike."""
    ours, peers = [], []
    for _ in range(options.rounds):
        line = subprocess.run(
            [ROOT / options.build / "bin" / program, str(options.threads), options.dtype,
             *map(str, case)], check=True, capture_output=True, text=True).stdout
        ours.append(json.loads(line))
        peers += peer_times()
    best = min(o["best_ms"] for o in ours)
    print(json.dumps({
        "name": ours[0]["name"],
        "threads": options.threads,
        "ms": best,
        "median_ms": sorted(o["median_ms"] for o in ours)[len(ours) // 2],
        "peer": "torch",
        "peer_ms": round(min(peers), 3),
        "peer_median_ms": round(sorted(peers)[len(peers) // 2], 3),
        "ratio": round(best / min(peers), 3),
    }), flush=True)
