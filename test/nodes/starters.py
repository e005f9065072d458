"""Ways to start a program on the nodes of nodes.py.

Each starter takes the nodes, the number of ranks on each, the words of a command, and variables for
its processes. It returns the processes that it has started: launchers, or the command's own. The
starters of PER_RANK start a process per rank. Those of PER_NODE start one per node with the options
`--local-ranks` and, where no launcher says it, `--node`.
"""

import os
import shutil

import slurm

# Open MPI asks whoever is root whether it means to be.
OPENMPI_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
RDZV_PORT = 29500
# The job that a program belongs to, where no launcher names one.
JOB = "nodes"


def by_hand(nodes, local, command, env):
    """A process per rank, with the variables that torchrun sets."""
    size = len(nodes) * local
    return [
        nodes[rank // local].start(
            command,
            env={
                "RANK": str(rank),
                "WORLD_SIZE": str(size),
                "LOCAL_RANK": str(rank % local),
                "LOCAL_WORLD_SIZE": str(local),
                "TESSERA_RT_JOB_ID": JOB,
                **env,
            },
        )
        for rank in range(size)
    ]


def by_node(nodes, local, command, env):
    """A process per node."""
    return [
        node.start(
            [*command, "--local-ranks", local, "--node", i], env={"TESSERA_RT_JOB_ID": JOB, **env}
        )
        for i, node in enumerate(nodes)
    ]


def start_openmpi(nodes, local, command, env):
    """`local` processes on each node by Open MPI's mpirun, on the first node."""
    words = ["mpirun.openmpi", "--mca", "plm_rsh_agent", nodes.agent, "--bind-to", "none"]
    words += ["--host", ",".join(f"{node.name}:{local}" for node in nodes)]
    words += ["-np", len(nodes) * local]
    for name, value in env.items():
        words += ["-x", f"{name}={value}"]
    return [nodes[0].start([*words, *command], env=OPENMPI_ROOT)]


def start_hydra(nodes, local, command, env):
    """`local` processes on each node by mpich's mpiexec, on the first node."""
    words = ["mpiexec.hydra", "-launcher", "ssh", "-launcher-exec", nodes.agent]
    words += ["-hosts", ",".join(f"{node.name}:{local}" for node in nodes), "-iface", "eth0"]
    for name, value in env.items():
        words += ["-genv", name, value]
    return [nodes[0].start([*words, "-n", len(nodes) * local, *command])]


def start_slurm(nodes, local, command, env):
    """`local` processes on each node by Slurm's srun, on the head."""
    words = ["srun", "--nodes", len(nodes), "--ntasks-per-node", local]
    return [nodes.head.start([*words, *command], env={**slurm.environment(nodes), **env})]


def by_torchrun(nodes, local, command, env):
    """A torchrun on each node."""
    words = [os.environ["TESSERA_TORCH_PYTHON"], "-m", "torch.distributed.run", "--no-python"]
    words += ["--nnodes", len(nodes), "--nproc-per-node", local, "--rdzv-backend", "c10d"]
    words += ["--rdzv-endpoint", f"{nodes[0].name}:{RDZV_PORT}", "--rdzv-id", JOB]
    # Without "--" it takes options of the program, `--log` say, for beginnings of its own.
    return [node.start([*words, "--", *command], env=env) for node in nodes]


def per_node(start):
    """The starter of a process per node by a launcher."""
    return lambda nodes, local, command, env: start(
        nodes, 1, [*command, "--local-ranks", local], env
    )


PER_RANK = {
    "by hand": by_hand,
    "by Open MPI": start_openmpi,
    "by Hydra": start_hydra,
    "by Slurm": start_slurm,
    "by torchrun": by_torchrun,
}
PER_NODE = {
    "a process per node, by hand": by_node,
    "a process per node, by Open MPI": per_node(start_openmpi),
    "a process per node, by Hydra": per_node(start_hydra),
    "a process per node, by Slurm": per_node(start_slurm),
}
STARTERS = {**PER_RANK, **PER_NODE}


def missing(name):
    """Why a starter cannot be used, or nothing."""
    for launcher, program in (("Open MPI", "mpirun.openmpi"), ("Hydra", "mpiexec.hydra")):
        if launcher in name and not shutil.which(program):
            return f"no program {program}"
    if "Slurm" in name:
        return slurm.missing()
    if "torchrun" in name and not os.environ.get("TESSERA_TORCH_PYTHON"):
        return "no TESSERA_TORCH_PYTHON"
    return ""


def finish(processes, timeout=120):
    """Waits for all; returns the sorted statuses without repetition, and all that was written."""

    def text():
        return "".join(process.output() + process.errors() for process in processes)

    try:
        statuses = sorted({process.wait(timeout) for process in processes})
    except TimeoutError as error:
        raise TimeoutError(f"a command still runs after {timeout} s: {text()}") from error
    return statuses, text()
