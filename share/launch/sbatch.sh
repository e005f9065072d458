#!/usr/bin/env bash
# Runs a program under Slurm, a process per node that forks the node's ranks:
#   sbatch --nodes 2 --time 24:00:00 sbatch.sh ./prog --data text.txt --steps 100000 \
#       --checkpoint ck --local-ranks 4 --restarts 3
# The folder of --checkpoint is one that all nodes see.

#SBATCH --ntasks-per-node=1
# All processors and all memory of a node.
#SBATCH --exclusive
#SBATCH --mem=0
# Five minutes before the end of the job's time, its processes get SIGTERM: they write a
# checkpoint and end with 143. With B:TERM this script would get it, and not they.
#SBATCH --signal=TERM@300
# Slurm starts the job again when a node fails or another job needs the nodes.
#SBATCH --requeue
# All attempts write to one log.
#SBATCH --open-mode=append

# A process that is left a minute after another has ended is killed.
srun --wait=60 "$@"
code=$?

# The same command goes on from the checkpoint. 143: the time was over. 75: a node was lost, say;
# a fault that comes back 20 times is not such a one.
if [[ $code == 143 || $code == 75 && ${SLURM_RESTART_COUNT:-0} -lt 20 ]]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
