"""Makes build-gpu/: the files that a machine with a GPU needs to run ./dev gpu.

These are programs for the device, the losses of the same programs on the host, the initial weights,
and a text. The other machine needs no compiler and no MLIR: copy the repository and this folder
there."""

import argparse
import json
import lzma
import pathlib
import shutil
import subprocess
import sys
import tarfile
import time

import cases

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PARTS = ("curves", "ranks", "context", "speed")


class Preparation:
    def __init__(self, options):
        self.options = options
        self.tessera = (ROOT / options.build / "bin" / "tessera").resolve()
        self.folder = ROOT / options.to
        self.programs = {}

    def run(self, *command, **more):
        return subprocess.run([str(c) for c in command], check=True, text=True, **more)

    def graph(self, name, config, batch, seq, *flags):
        path = self.folder / "graphs" / f"{name}.mlir"
        self.run(self.tessera, "model", config, "--batch", batch, "--seq", seq, "--train",
                 *flags, "--quiet", "-o", path)
        return path

    def compile(self, name, graph, *flags, **facts):
        """Compiles for the device; a program that does not compile is reported and left out."""
        path = self.folder / "programs" / name
        begin = time.perf_counter()
        result = subprocess.run(
            [str(c) for c in (self.tessera, "compile", graph, "--target", self.options.target,
                              *(["--cuda-arch", self.options.arch]
                                if self.options.target == "cuda" else []),
                              *flags, "--quiet", "-o", path)], text=True, stderr=subprocess.PIPE)
        seconds = time.perf_counter() - begin
        if result.returncode:
            print(f"gpu: {name} cannot be compiled: {result.stderr.strip()}", file=sys.stderr)
            return
        # Symbols are not needed to run the program.
        self.run("strip", "--strip-all", path)
        self.programs[name] = {"file": f"programs/{name}", "compile_seconds": round(seconds, 2),
                               "flags": [str(f) for f in flags], **facts}
        print(f"gpu: {name}: {seconds:.1f} s, {path.stat().st_size / 1e6:.1f} MB", file=sys.stderr)

    def curve_graph(self, name):
        model, flags = cases.CURVES[name]
        path = self.folder / "graphs" / f"{name}.mlir"
        if path.exists():
            return path
        return self.graph(name, ROOT / "share" / "models" / f"{model}.json", cases.CURVE_BATCH,
                          cases.CURVE_SEQ, *flags)

    def curves(self):
        """Compiles programs for the device in each precision, and computes the host's losses."""
        losses = {}
        for name in cases.CURVES:
            graph = self.curve_graph(name)
            host = self.folder / "host-program"
            self.run(self.tessera, "compile", graph, *cases.CURVE_OPTIONS, "--quiet", "-o", host)
            log = self.run(host, "--data", self.folder / "text", "--steps", cases.CURVE_STEPS,
                           "--log=jsonl", "--save-initial", self.folder / "weights" / name,
                           stdout=subprocess.PIPE).stdout
            steps = [e for e in map(json.loads, log.splitlines()) if e.get("event") == "step"]
            losses[name] = {"loss": [e["loss"] for e in steps],
                            "grad_norm": [e["grad_norm"] for e in steps]}
            host.unlink()
            if name not in cases.TORCH_MODELS:
                shutil.rmtree(self.folder / "weights" / name)
            for precision in cases.precisions(name):
                self.compile(f"{name}-{precision}", graph, *cases.CURVE_OPTIONS, "--precision",
                             precision)
        (self.folder / "host.json").write_text(json.dumps(losses, indent=1))

    def ranks(self):
        for plan, (names, _, options) in cases.RANK_PLANS.items():
            for name in names:
                self.compile(f"{name}-{plan}", self.curve_graph(name), *cases.CURVE_OPTIONS,
                             *options)

    def context(self):
        """Compiles attention alone on one device, and with each method of context parallelism."""
        # The emulated device only tests the scripts.
        tokens = cases.CONTEXT_TOKENS if self.options.target == "cuda" else 32
        for ranks in [1, *cases.CONTEXT_RANKS]:
            graph = self.folder / "graphs" / f"context-{ranks}.mlir"
            graph.write_text(cases.context_graph(tokens * ranks))
            for method in cases.CONTEXT_METHODS if ranks > 1 else [""]:
                flags = ["--mesh", f"cp={ranks}", "--strategy", f"cp={method}"] if method else []
                name = f"context-{method}-{ranks}" if method else "context-1"
                self.compile(name, graph, *flags, ranks=ranks, tokens=tokens * ranks)

    def speed(self):
        for name, (model, batch, seq, changes) in {**cases.SPEED, **cases.FLOORS}.items():
            if self.options.only and name not in self.options.only:
                continue
            config = json.loads((ROOT / "share" / "models" / f"{model}.json").read_text())
            path = self.folder / "configs" / f"{name}.json"
            path.write_text(json.dumps({**config, **changes}, indent=1))
            graph = self.graph(name, path, batch, seq)
            facts = {"config": f"configs/{name}.json", "batch": batch, "seq": seq}
            options = [*cases.SPEED_OPTIONS, "--precision", "bf16"]
            self.compile(name, graph, *options, **facts)
            if name == cases.FIRST_SPEED:
                # The same with epilogues as separate kernels.
                self.compile(f"{name}-kernels", graph, *options, "--epilogues=off", **facts)

    def pack(self):
        """Packs the programs into one archive, since they have most of their bytes in common."""
        archive = self.folder / "programs.tar.xz"
        # The dictionary spans several programs.
        filters = [{"id": lzma.FILTER_LZMA2, "preset": 2, "dict_size": 64 << 20}]
        with lzma.open(archive, "wb", filters=filters) as packed:
            with tarfile.open(fileobj=packed, mode="w") as file:
                file.add(self.folder / "programs", arcname="programs")
        shutil.rmtree(self.folder / "programs")

    def main(self):
        manifest = self.folder / "manifest.json"
        for name in ("programs", "graphs", "configs", "weights"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        archive = self.folder / "programs.tar.xz"
        if archive.exists():
            with tarfile.open(archive) as file:
                file.extractall(self.folder, filter="data")
            archive.unlink()
        if manifest.exists():
            self.programs = json.loads(manifest.read_text())["programs"]
        # A fixed text: the losses depend on it.
        text = (ROOT / "LICENSE").read_bytes()
        (self.folder / "text").write_bytes(text)
        # A longer text for five steps of the speed runs.
        (self.folder / "long-text").write_bytes(text * 30)
        for part in self.options.parts or PARTS:
            getattr(self, part)()
        for name in ("gpu_experts", "gpu_kernels", "gpu_products"):
            tests = ROOT / self.options.build / "bin" / f"tessera_{name}"
            if tests.exists():
                target = self.folder / "programs" / name
                shutil.copy(tests, target)
                self.run("strip", "--strip-all", target)
        shutil.rmtree(self.folder / "graphs")
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True,
                                stdout=subprocess.PIPE).stdout.strip()
        manifest.write_text(json.dumps({"commit": commit, "target": self.options.target,
                                        "programs": self.programs}, indent=1))
        self.pack()
        size = sum(f.stat().st_size for f in self.folder.rglob("*") if f.is_file())
        print(f"gpu: {self.folder.name}/ has {size / 1e6:.1f} MB", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="default: all")
    parser.add_argument("--build", default="build-release", help="build folder with tessera")
    parser.add_argument("--to", default="build-gpu", help="the folder to make")
    parser.add_argument("--target", choices=["cuda", "cuda-emulated"], default="cuda")
    parser.add_argument("--arch", default="80,90,100", help="architectures, as tessera compile's --cuda-arch")
    parser.add_argument("--only", nargs="*", help="of the speed part: these cases")
    Preparation(parser.parse_args()).main()


if __name__ == "__main__":
    main()
