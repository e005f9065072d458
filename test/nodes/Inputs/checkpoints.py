"""Checkpoints of runs on nodes: what others load, what faults leave, and how runs go on.

Usage: checkpoints.py PROGRAM DATA FOLDER TRIAL...

`tessera` is in the PATH. With TESSERA_CHECK=1 the trials have all cases, which takes minutes;
otherwise some of them.

matrix      each mesh loads the checkpoints of each other, bit for bit
halves      N steps and N more on two nodes are 2N on one machine
meshes      one run on 2 x 2, 1 x 4, 4 x 1, and as a program of another mesh on 1 x 2
operations  a rank is killed, or its disk fails, at each file operation; the run goes on
"""

import concurrent.futures
import errno
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import programs
import starters
from nodes import Nodes
from programs import RANKS, are_same, command, data, expect, losses, new_folder, program

MATRIX = pathlib.Path(__file__).resolve().parents[2] / "e2e" / "checkpoints" / "Inputs"
sys.path.insert(0, str(MATRIX))
import matrix

tessera = pathlib.Path(shutil.which("tessera")).resolve()
faults = tessera.parent.parent / "lib" / "libtessera_rt_faults.so"
has_all = "TESSERA_CHECK" in os.environ
WAYS = ("by hand", "a process per node, by hand")


def start(nodes, way, ranks, words, env=None):
    """Starts a program of so many ranks on nodes, an equal number on each."""
    words = [str(word) for word in words]
    return starters.STARTERS[way](nodes, ranks // len(nodes), words, env or {})


def run(nodes, way, ranks, words):
    """A run that has to succeed: its losses."""
    statuses, text = starters.finish(start(nodes, way, ranks, words))
    if statuses != [0]:
        sys.exit(f"{words} on {len(nodes)} nodes, {way}: ended with {statuses}\n{text[-4000:]}")
    return losses(text)


def call(*words):
    """A command on this machine that has to succeed: what it prints."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{words}: ended with {done.returncode}\n{done.stderr}")
    return done.stdout


def command_of(path, steps, *more):
    """The words of `programs.command` for another program."""
    return [str(path), *command(steps, *more)[1:]]


def compile_here(home, name, options):
    """A program of the model of PROGRAM, compiled with other options."""
    graph = pathlib.Path(program).parent / "g.mlir"
    call(tessera, "compile", graph, *options.split(), "--quiet", "-o", home / name)
    return home / name


def try_matrix():
    home = new_folder("matrix")
    cases = ["dp=3,zero=1", "dp=2,tp=2,sp"]
    if has_all:
        cases += ["one", "dp=2", "dp=4,zero=2", "tp=2", "tp=3", "dp=3,tp=2,zero=3", "cp=2", "pp=2",
                  "pp=2,dp=2,zero=1"]
    with Nodes(3) as nodes:
        runs = 0

        def run_program(ranks, path, *options):
            nonlocal runs
            runs += 1
            # Nodes of several ranks where there are enough.
            count = next(n for n in (2, 3, 1) if ranks % n == 0)
            words = [path, *options, "--rendezvous", home]
            run([nodes[i] for i in range(count)], WAYS[runs % 2], ranks, words)

        pairs = matrix.compare(tessera, MATRIX / "llama-257.json", data, home / "programs", 2,
                               cases, run_program)
    print(f"{pairs} pairs have the same tensors")


def try_halves():
    home = new_folder("halves")
    cases = [("--mesh dp=2,tp=2 --strategy dp,tp,sp,zero=2", 4),
             ("--mesh dp=2 --strategy dp,zero=3 --precision bf16 --micro-batches 4", 2)]
    if has_all:
        cases += [("--mesh tp=2 --strategy tp --precision fp8", 2),
                  ("--mesh dp=2 --strategy dp,zero=1 --precision f16 --loss-scale 65536", 2),
                  ("--mesh pp=2,dp=2 --strategy pp,dp --micro-batches 4 --schedule zb-h1", 4),
                  ("--mesh dp=2,tp=2 --strategy dp,tp --target cuda-emulated", 4)]
    half = 4
    for i, (options, ranks) in enumerate(cases):
        path = compile_here(home, f"program{i}", options)
        whole = home / f"whole{i}"
        expected = losses(call(*command_of(path, 2 * half, "--save-final", whole)))
        for way in WAYS if has_all else WAYS[i % 2:][:1]:
            with Nodes(2) as nodes:
                got, end = {}, home / f"end{i} {way}"
                for steps in (half, 2 * half):
                    more = ["--checkpoint", home / f"ck{i} {way}", "--save-final", end]
                    part = run(nodes, way, ranks, command_of(path, steps, *more))
                    if sorted(part) != list(range(steps - half + 1, steps + 1)):
                        sys.exit(f"{options}, {way}: expects {half} steps, but got {sorted(part)}")
                    got.update(part)
            if got != expected or not are_same(whole, end):
                sys.exit(f"{options}, {way}: {got}, but on one machine {expected}")
    print(f"{len(cases)} programs: N steps and N more are 2N", flush=True)


def try_meshes():
    home = new_folder("meshes")
    ck, half = home / "ck", 3
    other = compile_here(home, "other", "--mesh dp=2 --strategy dp,zero=3")
    shapes = [(program, 4, 2), (program, 4, 1), (program, 4, 2), (other, 2, 1), (program, 4, 2),
              (other, 2, 2), (program, 4, 4), (other, 2, 1), (program, 4, 1)]
    before = None
    with Nodes(4) as all_nodes:
        for i, (path, ranks, count) in enumerate(shapes if has_all else shapes[:5]):
            nodes, way = [all_nodes[k] for k in range(count)], WAYS[i % 2]
            name = f"{count} x {ranks // count}"
            if before:
                read = home / f"read{i}"
                more = ["--load", ck, "--save-final", read, "--rendezvous", home]
                run(nodes, way, ranks, command_of(path, 0, *more))
                # The files beside tensors name the program.
                expect(matrix.tensors(before) == matrix.tensors(read),
                       f"{name} has the state that it loads")
                shutil.copytree(ck, home / f"ck{i}")
            # The same part of the run on one machine.
            alone, before = home / f"alone{i}", home / f"end{i}"
            steps = (i + 1) * half
            more = ["--checkpoint", home / f"ck{i}", "--save-final", alone]
            expected = losses(call(*command_of(path, steps, *more)))
            more = ["--checkpoint", ck, "--save-final", before]
            got = run(nodes, way, ranks, command_of(path, steps, *more))
            expect(got == expected and len(got) == half and are_same(alone, before),
                   f"{name} goes on to step {steps} as one machine does")


def places():
    """Where faults are: a way to start, and a condition of the shell."""
    return [(WAYS[0], f"[ $RANK = {rank} ]") for rank in (0, 1, 2)] + [
        (WAYS[1], f"[ $(hostname) = node{node} ]") for node in (0, 1)]


class Faults:
    """Runs with a fault in one process, or in those of one node, and the runs after them."""

    def __init__(self, home, nodes):
        self.home, self.nodes = home, nodes
        self.old, self.ck, self.log = home / "old", home / "below" / "ck", home / "log"
        self.cases = self.wrong = 0
        home.mkdir()
        run(nodes, WAYS[1], RANKS, command(2, "--checkpoint", self.old, "--checkpoint-interval", 1))
        programs.run_alone(5, home / "alone")

    def check_whole(self, what):
        """Every checkpoint is whole."""
        steps = sorted(self.ck.glob("step-????????"))
        for step in steps:
            done = subprocess.run([tessera, "checkpoint", "verify", step], capture_output=True,
                                  text=True)
            if done.returncode:
                return f"{what} leaves {step.name}: {done.stderr}"
        return "" if steps else f"{what} leaves no checkpoint"

    def check_next(self):
        """The same command goes on, to the end of a run that nothing disturbed."""
        end = self.home / "end"
        words = command(5, "--checkpoint", self.ck, "--save-final", end)
        statuses, text = starters.finish(start(self.nodes, WAYS[1], RANKS, words))
        if statuses != [0]:
            return f"the next run ends with {statuses}: {text[-2000:]}"
        if not are_same(self.home / "alone", end):
            return "the next run ends with another state"
        left = [path.name for path in self.ck.iterdir()
                if path.suffix == ".partial" or path.name.startswith("root-")]
        return f"the next run leaves {left}" if left else self.check_whole("the next run")

    def check_fault(self, processes, text, kind):
        """The run with the fault ends as it should, and says so once on each node."""
        allowed = {0, 75, -signal.SIGKILL} if kind == "kill" else {0, 1, 75}
        statuses = {process.returncode for process in processes}
        lines = {node.name: [line for process in processes if process.node is node
                             for line in programs.lines_about(process.errors(), "error: ")]
                 for node in self.nodes}
        said = {line for own in lines.values() for line in own}
        # Nobody decides for all nodes before they have met.
        alone = ("it is not there", "are missing", "has not let this node in")
        has_met = not any(part in line for line in said for part in alone)
        is_one = len(said) <= 1 or not has_met
        if statuses <= allowed and all(len(own) <= 1 for own in lines.values()) and is_one:
            return ""
        return f"it ends with {statuses}: {text}"

    def provoke(self, way, where, kind, at):
        """One case. False once the run has fewer operations."""
        shutil.rmtree(self.home / "below", ignore_errors=True)
        shutil.copytree(self.old, self.ck)
        self.log.unlink(missing_ok=True)
        settings = (f"LD_PRELOAD={faults} FAULT_BELOW={self.ck} FAULT_LOG={self.log} "
                    f"FAULT_AT={at} FAULT_KIND={kind}")
        script = f'if {where}; then export {settings}; fi; exec "$0" "$@"'
        more = ["--checkpoint", self.ck, "--checkpoint-interval", 1, "--timeout", 4]
        words = ["sh", "-c", script, *command(4, *more)]
        processes = start(self.nodes, way, RANKS, words)
        _, text = starters.finish(processes)
        operations = self.log.read_text().splitlines() if self.log.exists() else []
        if len(operations) < at:
            return False
        fault = (self.check_fault(processes, text, kind) or self.check_whole("it")
                 or self.check_next())
        self.cases += 1
        if fault:
            self.wrong += 1
            print(f"{kind} at {at}, {operations[at - 1]}, where {where}, {way}: {fault}",
                  flush=True)
        for node in self.nodes:
            node.kill_all()
            node.run(["sh", "-c", "rm -f /dev/shm/*"])
        return True


def try_place(home, way, where, kind):
    """Faults at the file operations of a place. Returns the numbers of cases and of wrong ones."""
    with Nodes(2) as nodes:
        trial = Faults(home, nodes)
        at, stride = (1, 1) if has_all else (22, 1000)
        while trial.provoke(way, where, kind, at):
            at += stride
        return trial.cases, trial.wrong


def try_operations():
    home = new_folder("operations")
    kinds = ["kill", str(errno.ENOSPC), str(errno.EIO)]
    # Most of a case is waiting.
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        done = [pool.submit(try_place, home / f"{kind}-{i}", way, where, kind)
                for kind in (kinds if has_all else kinds[:1])
                for i, (way, where) in enumerate(places())]
        cases, wrong = map(sum, zip(*(one.result() for one in done)))
    expect(wrong == 0 and cases, f"{cases} faults of file operations, and the runs go on")


def main():
    for trial in sys.argv[4:]:
        begin = time.monotonic()
        globals()[f"try_{trial}"]()
        print(f"{trial}: {time.monotonic() - begin:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
