"""Fetches the headers of cuDNN and of its frontend into .env/cudnn/include.

The headers of cuDNN come from its package, and the header-only frontend from
its own, both of a fixed version, through pip; nothing else of the packages is
kept. Nothing is fetched for what is there already.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The package, the folder of its headers, and a header that shows they are present.
PACKAGES = [
    ("nvidia-cudnn-frontend==1.18.0", "include/", "cudnn_frontend.h"),
    ("nvidia-cudnn-cu13==9.28.0.42", "nvidia/cudnn/include/", "cudnn_backend.h"),
]


def fetch(package, folder, target):
    """Extracts the headers in `folder` of a package to `target`."""
    with tempfile.TemporaryDirectory() as download:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                        "--only-binary=:all:", "-d", download, package], check=True)
        wheel, = pathlib.Path(download).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.startswith(folder) and name.endswith((".h", ".hpp")):
                    path = target / name[len(folder):]
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(archive.read(name))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", type=pathlib.Path, default=ROOT / ".env" / "cudnn" / "include",
                        help="folder for the headers")
    options = parser.parse_args()
    for package, folder, header in PACKAGES:
        if not (options.to / header).exists():
            print(f"fetching the headers of {package}", file=sys.stderr)
            fetch(package, folder, options.to)


if __name__ == "__main__":
    main()
