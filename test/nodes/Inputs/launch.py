"""Runs a script of share/launch on two nodes, with short_job.py as the program.

Usage: launch.py sbatch|mpirun|torchrun SCRIPT

Prints the exit code of each attempt (sbatch: how often Slurm has started the job again), and what
the processes say. mpirun begins with the second attempt.
"""

import os
import pathlib
import re
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))
import slurm
import starters
from nodes import Nodes


def wait_for(condition, what, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"expects {what} within {seconds} s")
        time.sleep(0.05)


class Launch:
    """Two nodes, and the program's command."""

    def __init__(self, nodes, script):
        self.nodes = nodes
        self.script = script
        self.folder = nodes.folder / "attempts"
        self.folder.mkdir()
        self.command = [sys.executable, TESTS / "Inputs" / "short_job.py", self.folder]

    def is_ready(self):
        return all((self.folder / f"{node.name}.ready").exists() for node in self.nodes)

    def sbatch(self):
        head, log = self.nodes.head, self.nodes.folder / "log"
        env = slurm.environment(self.nodes)
        words = ["sbatch", "--parsable", "--nodes", len(self.nodes), "--output", log]
        job = head.run([*words, self.script, *self.command], env=env).strip()

        def state():
            words = ["squeue", "-h", "-t", "all", "-o", "%T %r", "-j", job]
            return head.run(words, env=env).strip()

        def start_again():
            wait_for(lambda: state() == "PENDING BeginTime", "a job that is queued again")
            # Slurm would wait for two minutes. It tells attempts of a job apart by the second in
            # which they begin.
            time.sleep(2)
            head.run(["scontrol", "update", f"JobId={job}", "StartTime=now"], env=env)

        start_again()
        wait_for(self.is_ready, "the second attempt")
        # Goes to the processes of srun alone, as the signal of --signal does.
        head.run(["scancel", "--signal=TERM", job], env=env)
        start_again()
        wait_for(lambda: state() == "COMPLETED None", "a job that is over")
        print(*re.findall(r"Restarts=\d+", head.run(["scontrol", "show", "job", job], env=env)))
        print(log.read_text())

    def start_mpirun(self):
        hosts = ",".join(node.name for node in self.nodes)
        env = {"OMPI_MCA_plm_rsh_agent": str(self.nodes.agent), "SECONDS_TO_END": "1"}
        return self.nodes[0].start(
            [self.script, hosts, *self.command], env={**env, **starters.OPENMPI_ROOT}
        )

    def mpirun(self):
        for node in self.nodes:
            (self.folder / f"{node.name}.0").mkdir()
        for attempt in (1, 2):
            process = self.start_mpirun()
            if attempt == 1:
                wait_for(self.is_ready, "the second attempt")
                process.terminate()
            print(f"exit code {process.wait()}")
            print(process.output())

    def torchrun(self):
        folder = pathlib.Path(os.environ["TESSERA_TORCH_PYTHON"]).parent
        env = {"PATH": f"{folder}:{os.environ['PATH']}"}
        words = [self.script, self.nodes[0].name, len(self.nodes), 1, *self.command]
        processes = [node.start(words, env=env) for node in self.nodes]
        wait_for(self.is_ready, "the second attempt")
        for process in processes:
            process.terminate()
        for process in processes:
            print(f"exit code {process.wait()}")
            print(process.output())


def main():
    with Nodes(2) as nodes:
        getattr(Launch(nodes, sys.argv[2]), sys.argv[1])()


if __name__ == "__main__":
    main()
