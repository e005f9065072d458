#!/usr/bin/env bash
# Runs a program by torchrun, a process per rank. The same command on each node:
#   torchrun.sh NODE0 2 4 ./prog --data text.txt --steps 1000 --checkpoint ck
# NODE0 is the host name of the first node, 2 the number of nodes, 4 that of ranks on each. The
# folder of --checkpoint is one that all nodes see.

options=(
  --nnodes "$2"
  --nproc-per-node "$3"
  # The torchruns of all nodes meet at a port of the first, which deals out ranks ...
  --rdzv-backend c10d
  --rdzv-endpoint "$1:29500"
  # ... to those that name the same job.
  --rdzv-id "${JOB:-tessera}"
  # A lost rank makes all torchruns start all ranks anew, three times; they go on from the newest
  # checkpoint. torchrun does so after wrong input, too: it looks at no exit code.
  --max-restarts 3
  # The program is not a Python script, and what follows `--` is the program's.
  --no-python
  --
)
exec torchrun "${options[@]}" "${@:4}"
