"""Tests the cache of programs: python caching.py FOLDER TESSERA CLUSTER."""

import os
import pathlib
import stat
import subprocess
import sys

import tessera
import torch
from models import VOCAB, WIDTH, draw_ids
from tessera import cache
from torch import nn

FOLDER, TOOL, CLUSTER = map(pathlib.Path, sys.argv[1:4])
LOG, WRAPPER = FOLDER / "log", FOLDER / "tessera"
HERE = pathlib.Path(__file__).resolve()


class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(VOCAB, WIDTH), nn.Linear(WIDTH, VOCAB)

    def forward(self, ids):
        return self.out(torch.tanh(self.table(ids)))


def make():
    torch.manual_seed(0)
    return Tiny(), draw_ids()


def write_wrapper(note):
    """A compiler that says when it starts. Another note is another build."""
    WRAPPER.write_text(f'#!/bin/sh\n# {note}\necho "$1" >> {LOG}\nexec {TOOL} "$@"\n')
    WRAPPER.chmod(0o755)


def run(**options):
    """Compiles and calls; returns the result and the commands of the compiler that ran."""
    model, ids = make()
    LOG.write_text("")
    with tessera.compile(model, (ids,), **options) as program:
        return program(ids), LOG.read_text().split()


def expect(name, commands, **options):
    found = run(**options)[1]
    assert found == commands, f"{name}: {found}"
    print(f"{name}: {' and '.join(found) or 'no compiler'}")


def compare_keys():
    both = ["import", "compile"]
    expect("first", both)
    expect("second", [])
    expect("another option", both, overlap=False)
    expect("another mesh", both, mesh={"dp": 2}, strategy="dp")
    expect("the same mesh as text", [], mesh="dp=2", strategy="dp")
    forward = Tiny.forward
    Tiny.forward = lambda self, ids: self.out(torch.sigmoid(self.table(ids)))
    expect("another graph", both)
    Tiny.forward = forward
    os.environ["TESSERA_CPU"] = "x86-64-v2"
    expect("another processor", both)
    del os.environ["TESSERA_CPU"]
    write_wrapper("two")
    expect("another build", both)
    expect("a file that is written", both, decisions_out=FOLDER / "d.json", strategy="auto",
           mesh="dp=2")
    expect("a file that is written again", both, decisions_out=FOLDER / "d.json",
           strategy="auto", mesh="dp=2")
    entry = next(path for path in FOLDER.glob("tessera-cache/tessera/*/program"))
    entry.unlink()
    assert stat.S_IMODE(entry.parents[1].stat().st_mode) == 0o700


def compare_command_line():
    """The program of the same options is the command line's, byte for byte."""
    graph, out = FOLDER / "Tiny.mlir", FOLDER / "out"
    subprocess.run([sys.executable, "-m", "tessera", "import", f"{HERE}:make", "-o", graph],
                   check=True, stderr=subprocess.DEVNULL)
    options = {"strategy": "auto", "ranks": 4, "cluster": CLUSTER}
    subprocess.run([TOOL, "compile", graph, "--strategy", "auto", "--ranks", "4", "--cluster",
                    CLUSTER, "--quiet", "-o", out], check=True)
    model, ids = make()
    with tessera.compile(model, (ids,), **options) as program:
        assert program.path.read_bytes() == out.read_bytes()
        assert program.graph.read_bytes() == graph.read_bytes()
        text = subprocess.run([TOOL, "compile", graph, "--strategy", "auto", "--ranks", "4",
                               "--cluster", CLUSTER, "--quiet", "--compile-to", "partition"],
                              check=True, capture_output=True, text=True).stdout
        assert program.ir("partition") == text
        assert program.ranks == 4 and program.report()["tessera_report"] == 1
    print("the command line's program, byte for byte")


def compile_at_once():
    os.environ["XDG_CACHE_HOME"] = str(FOLDER / "at-once")
    code = ("import sys; sys.argv[1:] = [*map(str, sys.argv[1:])]; import caching; "
            "print(float(caching.run()[0].double().sum()))")
    both = [subprocess.Popen([sys.executable, "-c", code, *sys.argv[1:4]], cwd=HERE.parent,
                             stdout=subprocess.PIPE, text=True) for _ in range(2)]
    results = {process.communicate()[0] for process in both}
    assert len(results) == 1 and all(process.returncode == 0 for process in both), results
    names = sorted(path.name for path in (FOLDER / "at-once" / "tessera").iterdir())
    assert len(names) == 2 and cache.BUILDS in names, names
    print("two at once: one entry, whole")


def refuse(name, change):
    folder = FOLDER / name.replace(" ", "-")
    folder.mkdir()
    os.environ["XDG_CACHE_HOME"] = str(folder)
    change(folder / "tessera")
    try:
        run()
    except tessera.CompileError as error:
        print(f"{name}: {str(error).replace(str(folder), 'F')}")
    else:
        raise AssertionError(name)


def refuse_folders():
    def link(folder):
        (FOLDER / "elsewhere").mkdir()
        folder.symlink_to(FOLDER / "elsewhere")

    def share(folder):
        folder.mkdir()
        folder.chmod(0o777)

    def give(folder):
        folder.mkdir()
        cache.os.geteuid = lambda: os.getuid() + 1
    refuse("a link", link)
    refuse("a file", lambda folder: folder.write_text(""))
    refuse("writable", share)
    owner = os.geteuid
    refuse("another owner", give)
    cache.os.geteuid = owner


def remove_oldest():
    folder = FOLDER / "sizes"
    folder.mkdir()
    keys = [cache.make_key({"number": i}) for i in range(4)]
    for i, name in enumerate([*keys, "python-others", f"{cache.UNFINISHED}0"]):
        (folder / name).mkdir()
        (folder / name / "program").write_bytes(bytes(1000))
        os.utime(folder / name, (i, i))
    cache.remove_oldest(folder, keys[0], 2500)
    left = {path.name for path in folder.iterdir()}
    assert left == {keys[0], keys[3], "python-others"}, left
    print("beyond the limit: the oldest went")


def main():
    write_wrapper("one")
    os.environ.update(TESSERA=str(WRAPPER), XDG_CACHE_HOME=str(FOLDER / "tessera-cache"))
    compare_keys()
    os.environ["TESSERA"] = str(TOOL)
    compare_command_line()
    compile_at_once()
    refuse_folders()
    remove_oldest()


if __name__ == "__main__":
    main()
