"""Slurm on the nodes of nodes.py: its controller on `head`, its daemon on each node."""

import os
import shutil
import time

CONFIGURATION = """ClusterName=nodes
SlurmctldHost=head
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/slurm
SlurmdSpoolDir={folder}/slurm.%n
SlurmctldPidFile={folder}/slurm/slurmctld.pid
SlurmdPidFile={folder}/slurm.%n/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,batch_sched_delay=0
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=5
NodeName=node[0-{last}] CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def missing():
    """Why there is no Slurm, or nothing."""
    for program in ("slurmctld", "slurmd", "srun"):
        if not shutil.which(program):
            return f"no program {program}"
    return "" if os.getuid() == 0 else "no root, which Slurm's daemons need"


def environment(nodes):
    """Starts Slurm once, and returns the variables for its commands on `head`."""
    configuration = nodes.folder / "slurm.conf"
    variables = {"SLURM_CONF": str(configuration)}
    if configuration.exists():
        return variables
    for name in ("slurm", *(f"slurm.{node.name}" for node in nodes)):
        (nodes.folder / name).mkdir()
    configuration.write_text(CONFIGURATION.format(folder=nodes.folder, last=len(nodes) - 1))
    daemons = [nodes.head.start(["slurmctld", "-D", "-i"], env=variables)]
    daemons += [node.start(["slurmd", "-D", "-N", node.name], env=variables) for node in nodes]
    deadline = time.monotonic() + 30
    while True:
        states = nodes.head.start(["sinfo", "-h", "-o", "%T %D"], env=variables)
        if states.wait() == 0 and states.output().strip() == f"idle {len(nodes)}":
            return variables
        if time.monotonic() > deadline:
            errors = "".join(daemon.errors() for daemon in daemons)
            raise TimeoutError(f"Slurm does not start: {states.output()}{states.errors()}{errors}")
        time.sleep(0.1)
