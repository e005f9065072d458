"""Tries a wheel of tessera-compiler where there is nothing but Python, libc and libm.

usage: try_wheel.py WHEEL

The wheel agrees with its tag (auditwheel), is small, and has no file of GCC, glibc or NVIDIA. It is
installed into a root of its own, without a compiler, LLVM or libstdc++, in which the doctor passes,
and a program is compiled, and run on 2 ranks. Needs Debian's python3, and auditwheel."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

LARGEST = 45e6
PYTHON = "/usr/bin/python3"
STEPS = """
tessera --version
tessera doctor
tessera model tiny-gpt2 --batch 4 --seq 16 --train --quiet -o /tmp/g.mlir
tessera compile /tmp/g.mlir --mesh dp=2 --strategy dp,zero=1 --quiet -o /tmp/prog
tessera run /tmp/prog --ranks 2 --random-data --steps 3
python3 -c "import tessera; print(tessera.__doc__.splitlines()[0])"
"""


def read(*command: object) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return done.stdout


def check_file(wheel: pathlib.Path) -> None:
    shown = " ".join(read(sys.executable, "-m", "auditwheel", "show", wheel).split())
    tag = re.search(r"manylinux_2_34_x86_64", wheel.name)
    assert tag and f'consistent with the following platform tag: "{tag.group()}"' in shown, shown
    size = wheel.stat().st_size
    assert size <= LARGEST, f"{size} bytes"
    names = zipfile.ZipFile(wheel).namelist()
    foreign = [name for name in names
               if re.search(r"stdc|gcc|libc[.-]|libm[.-]|crt1|nonshared|cudart|nccl|cudnn", name)]
    assert not foreign, foreign
    print(f"{wheel.name}: {size / 1e6:.1f} MB, as its tag says")


def make_root(root: pathlib.Path, wheel: pathlib.Path) -> None:
    """A root with Python and what it loads, and the wheel in its prefix."""
    interpreter = pathlib.Path(PYTHON).resolve()
    library = pathlib.Path(read(interpreter, "-c",
                                "import sysconfig; print(sysconfig.get_path('stdlib'))").strip())
    shutil.copytree(library, root / library.relative_to("/"), symlinks=True,
                    ignore=shutil.ignore_patterns("test", "__pycache__", "config-*"))
    modules = library / "lib-dynload"
    needed = {pathlib.Path(path)
              for file in [interpreter, *modules.glob("*.so")]
              for path in re.findall(r"(/\S+) \(0x", read("ldd", file))}
    unwanted = re.compile(r"stdc|gcc_s|LLVM|MLIR")
    for path in {interpreter, *needed}:
        if not unwanted.search(path.name):
            target = root / path.relative_to("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    for name in ("proc", "dev", "tmp", "usr/bin", "usr/local"):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "usr/bin/python3").symlink_to(interpreter.name)
    shutil.copy("/bin/dash", root / "usr/bin/sh")
    read(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
         "--no-warn-script-location", "--target", root / "opt/tessera", wheel)


def run_in(root: pathlib.Path) -> None:
    inner = (f"mount --rbind /proc {root}/proc && mount --rbind /dev {root}/dev && "
             f"exec chroot {root} /usr/bin/sh -exc '{STEPS}'")
    done = subprocess.run(["unshare", "--mount", "--map-root-user", "sh", "-c", inner],
                          env={"PATH": "/opt/tessera/bin:/usr/bin:/usr/sbin:/bin:/sbin",
                               "PYTHONPATH": "/opt/tessera"},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout)
    assert done.returncode == 0, "a command failed"
    programs = re.findall(r"^(f32|bf16|f16|fp8) program +usable", done.stdout, re.MULTILINE)
    assert len(programs) == 4, programs
    assert re.search(r"^ +3 +[0-9.]+ ", done.stdout, re.MULTILINE), "no third step"


def main(wheel: str) -> None:
    check_file(pathlib.Path(wheel))
    with tempfile.TemporaryDirectory() as name:
        make_root(pathlib.Path(name), pathlib.Path(wheel))
        run_in(pathlib.Path(name))
    print("a program is compiled and run without a compiler")


main(*sys.argv[1:])
