"""Runs all checks and measurements that need a GPU, in parts.

Takes programs and references from build-gpu/ (made by ./dev gpu --prepare, maybe on another
machine) and needs a python3 with PyTorch. Each part prints JSON lines, which also go to
$OUT/gpu.jsonl, or to bench/results/ without OUT; a part that cannot run says why and is skipped.
Exit status 1 if a compared result is wrong."""

import argparse
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import time

import cases
import measure
import parts

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# name: function, time limit in seconds, what it does.
PARTS = {
    "kernels": (parts.kernels, 120, "the hand-written kernels against the host's, and their time"),
    "matmuls": (parts.matmuls, 90, "matmuls with what follows them, whole and apart"),
    "experts": (parts.experts, 90, "experts against the host's code, and their time beside cuBLASLt's"),
    "curves": (parts.curves, 180, "losses of the tiny models, f32, bf16 and fp8"),
    "ranks": (parts.ranks, 180, "ranks played by one device against one rank"),
    "nccl": (parts.nccl, 90, "two processes over NCCL on one device"),
    "nodes": (parts.nodes, 180, "two nodes of one process each, namespaces here, over NCCL on one device"),
    "context": (measure.context, 120, "attention around a ring beside that of one device"),
    "sanitizer": (parts.sanitizer, 240, "compute-sanitizer: memcheck and racecheck"),
    "losses": (measure.losses, 120, "losses of GPT-2 124M beside PyTorch's"),
    "speed": (measure.speed, 540, "time of training steps beside PyTorch"),
    "floors": (measure.floors, 300, "time of each kernel beside what the device could do"),
}


def read_machine():
    """Device and versions, or the reason why nothing can run here."""
    query = "name,uuid,driver_version,memory.total,clocks.sm,clocks.mem,power.draw"
    if not shutil.which("nvidia-smi"):
        return None, "there is no nvidia-smi, so no driver of a GPU"
    result = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits"],
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode or not result.stdout.strip():
        return None, f"nvidia-smi finds no GPU: {result.stdout.strip()}"
    values = [v.strip() for v in result.stdout.splitlines()[0].split(",")]
    return dict(zip(query.replace(".", "_").split(","), values)), None


class Session:
    """The output of results, and the remaining time of the running part."""

    def __init__(self, options, machine):
        self.options, self.machine, self.failed = options, machine, False
        self.folder = (ROOT / options.prepared).resolve()
        self.unpack()
        self.manifest = json.loads((self.folder / "manifest.json").read_text())
        now = datetime.datetime.now(datetime.timezone.utc)
        out = pathlib.Path(os.environ.get("OUT") or ROOT / "bench" / "results")
        out.mkdir(parents=True, exist_ok=True)
        self.path = out / ("gpu.jsonl" if "OUT" in os.environ else f"gpu-{now:%Y%m%d}.jsonl")
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir(exist_ok=True)
        self.part, self.deadline = "", 0.0

    def unpack(self):
        """Unpacks the programs from one archive, since they have most of their bytes in common."""
        archive = self.folder / "programs.tar.xz"
        programs = self.folder / "programs"
        if archive.exists() and (not programs.exists()
                                 or programs.stat().st_mtime < archive.stat().st_mtime):
            with tarfile.open(archive) as file:
                file.extractall(self.folder, filter="data")
            os.utime(programs)

    def emit(self, **values):
        """Prints and stores a result; "good" False makes the whole run fail."""
        line = json.dumps({"part": self.part, **values})
        print(line, flush=True)
        with self.path.open("a") as file:
            file.write(line + "\n")
        self.failed |= values.get("good") is False

    def left(self):
        return self.deadline - time.monotonic()

    def program(self, name):
        """Path and facts of a prepared program; None, with a line, if there is none."""
        facts = self.manifest["programs"].get(name)
        if facts is None:
            self.emit(case=name, skipped="was not prepared")
            return None, None
        return self.folder / facts["file"], facts

    def wanted(self, name):
        """Path of a prepared program; None if --only excludes it."""
        if self.options.only and name not in self.options.only:
            return None
        return self.program(name)[0]

    def run(self, command, limit=None):
        """Runs a command within the part's time. Returns exit status, standard output and standard
        error; the status is 124 on a timeout."""
        seconds = max(1.0, min(limit or self.left(), self.left()))
        process = subprocess.Popen([str(c) for c in command], text=True, cwd=self.scratch,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   start_new_session=True)
        try:
            out, err = process.communicate(timeout=seconds)
            return process.returncode, out, err
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            out, err = process.communicate()
            return 124, out, err + f"\nstopped after {seconds:.0f} s"

    def torch(self, *arguments, limit=None):
        """The JSON of bench/gpu/torch_train.py; None, with a line, if it fails."""
        script = ROOT / "bench" / "gpu" / "torch_train.py"
        status, out, err = self.run([self.options.torch_python, script, *arguments,
                                     "--device", self.options.device], limit)
        if status:
            self.emit(case=" ".join(map(str, arguments[:1])), torch_failed=err.strip()[-800:])
            return None
        return json.loads(out.splitlines()[-1])


def main():
    rows = "\n".join(f"  {name:<10} {text}" for name, (_, _, text) in PARTS.items())
    parser = argparse.ArgumentParser(description=__doc__, epilog="parts:\n" + rows,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="default: all but floors")
    parser.add_argument("--prepared", default="build-gpu", help="folder made by --prepare")
    parser.add_argument("--torch-python", default=sys.executable, help="a Python with PyTorch")
    parser.add_argument("--torch-modes", nargs="*", choices=measure.MODES,
                        default=list(measure.MODES), help="of speed: PyTorch's ways to run")
    parser.add_argument("--only", nargs="*", help="of curves, ranks, context, speed and floors: these cases")
    parser.add_argument("--repeats", type=int, default=3, help="of speed: runs of each side (3)")
    parser.add_argument("--limit", type=float, default=570, metavar="SECONDS",
                        help="for all parts together (570)")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda",
                        help="cpu: programs for the emulated device, to try the scripts")
    options = parser.parse_args()
    chosen = options.parts or [p for p in PARTS if p != "floors"]
    unknown = [p for p in chosen if p not in PARTS]
    if unknown:
        parser.error(f"expects parts {', '.join(PARTS)} but got {unknown[0]}")
    machine, reason = read_machine()
    if options.device == "cpu":
        machine, reason = {"name": "emulated"}, None
    if machine is None:
        print(json.dumps({"part": "all", "skipped": reason}))
        return 0
    if not (ROOT / options.prepared / "manifest.json").exists():
        sys.exit(f"gpu: expects {options.prepared}/; make it with ./dev gpu --prepare")
    session = Session(options, machine)
    session.part = "machine"
    session.emit(date=f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M}",
                 commit=session.manifest["commit"], **machine)
    end = time.monotonic() + options.limit
    for name in chosen:
        function, seconds, _ = PARTS[name]
        session.part, begin = name, time.monotonic()
        session.deadline = min(begin + seconds, end)
        if session.left() < 20:
            session.emit(skipped="no time is left; run it by its name")
            continue
        try:
            function(session)
        except Exception as error:  # A failure of one part must not end the others.
            session.emit(good=False, error=f"{type(error).__name__}: {error}")
        session.emit(seconds=round(time.monotonic() - begin, 1))
    return 1 if session.failed else 0


if __name__ == "__main__":
    sys.exit(main())
