"""Makes the wheel tessera-compiler of python/tessera and a portable build of the tools.

usage: make_wheel.py BUILD OUTPUT

BUILD is a build folder with TESSERA_PORTABLE=ON, OUTPUT the folder for the wheel. Its scripts and
data are an installed tree of the tools: bin/tessera, share/tessera, and libexec/tessera in place
of lib/tessera, since `pip install --target` leaves out lib. Runs with setuptools and wheel; equal
builds give equal wheels."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The tools and programs need symbols of glibc 2.34; see cmake/TesseraPortable.cmake.
PLATFORM = "manylinux_2_34_x86_64"
# Debian's packages of what is linked into the tool, or lies in lib/tessera/link.
PARTS = ["llvm-22-dev", "liblld-22-dev", "libc++-22-dev", "libunwind-22-dev", "libclang-rt-22-dev",
         "zlib1g-dev", "libzstd-dev"]
SHARED = ["clusters", "devices", "frameworks", "models", "report"]


def run(*command: object) -> None:
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)


def copy(source: pathlib.Path, target: pathlib.Path, mode: int = 0o644) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


def copy_archive(source: pathlib.Path, target: pathlib.Path) -> None:
    """Copies an object or an archive of objects, without what debuggers read."""
    target.parent.mkdir(parents=True, exist_ok=True)
    run("llvm-strip-22", "--strip-debug", source, "-o", target)


def copy_tree(source: pathlib.Path, target: pathlib.Path) -> None:
    for path in sorted(source.rglob("*")):
        if path.is_file():
            copy(path, target / path.relative_to(source))


def add_tools(unpacked: pathlib.Path, build: pathlib.Path) -> None:
    data = unpacked / (unpacked.name + ".data")
    copy(build / "bin/tessera", data / "scripts/tessera", 0o755)
    for path in sorted((build / "lib/link").iterdir()):
        copy_archive(path, data / "data/libexec/tessera/link" / path.name)
    copy_archive(build / "lib/libtessera_rt_cuda.a",
                 data / "data/libexec/tessera/libtessera_rt_cuda.a")
    copy(build / "lib/libtessera_rt_cuda.link",
         data / "data/libexec/tessera/libtessera_rt_cuda.link")
    for name in SHARED:
        copy_tree(ROOT / "share" / name, data / "data/share/tessera" / name)


def add_licences(information: pathlib.Path) -> None:
    copy(ROOT / "LICENSE", information / "licenses/LICENSE")
    for part in PARTS:
        copy(pathlib.Path("/usr/share/doc", part, "copyright"),
             information / "licenses" / f"{part}.txt")


def main(build: str, output: str) -> None:
    # The date of files in archives; zip has none before 1980.
    os.environ.setdefault("SOURCE_DATE_EPOCH", "315532800")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copytree(ROOT / "python", folder / "python",
                        ignore=shutil.ignore_patterns("__pycache__", "packaging"))
        run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet",
            "-w", folder / "pure", folder / "python")
        pure, = (folder / "pure").iterdir()
        run(sys.executable, "-m", "wheel", "unpack", "-d", folder / "unpacked", pure)
        unpacked, = (folder / "unpacked").iterdir()
        add_tools(unpacked, pathlib.Path(build))
        information = unpacked / (unpacked.name + ".dist-info")
        add_licences(information)
        facts = information / "WHEEL"
        facts.write_text(facts.read_text().replace("Root-Is-Purelib: true",
                                                   "Root-Is-Purelib: false"))
        run(sys.executable, "-m", "wheel", "pack", "-d", folder, unpacked)
        packed, = folder.glob("*.whl")
        run(sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", PLATFORM, packed)
        made, = folder.glob("*.whl")
        pathlib.Path(output).mkdir(parents=True, exist_ok=True)
        wheel = pathlib.Path(output) / made.name
        shutil.copyfile(made, wheel)
    print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")


main(*sys.argv[1:])
