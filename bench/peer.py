"""The environment of the peer, PyTorch, that measurements compare with."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def torch_python(given):
    """The Python of an environment with PyTorch, made in .env/torch where
    neither `given` nor TESSERA_TORCH_PYTHON names one."""
    given = given or os.environ.get("TESSERA_TORCH_PYTHON")
    if given:
        return given
    python = ROOT / ".env" / "torch" / "bin" / "python"
    if not python.exists():
        print("installing PyTorch in .env/torch", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "torch==2.13.*"], check=True)
    return str(python)


def run_under_torch(given):
    """Starts this script again under that Python, unless it has PyTorch."""
    try:
        import torch  # noqa: F401
    except ImportError:
        python = torch_python(given)
        os.execv(python, [python, *sys.argv])
