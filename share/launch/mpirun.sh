#!/usr/bin/env bash
# Runs a program by Open MPI, a process per host that forks the host's ranks:
#   mpirun.sh a,b ./prog --data text.txt --steps 1000 --checkpoint ck --local-ranks 4 --restarts 3
# The folder of --checkpoint is one that all hosts see. mpirun reaches them by ssh.

# One process on each host, which may use all processors there.
mpirun --host "$1" --map-by ppr:1:node --bind-to none "${@:2}" &

# mpirun kills processes a second after it told them to end, which is too short for a checkpoint.
# It passes SIGUSR1 on, which asks for one, so SIGTERM to this script sends that first.
# SECONDS_TO_END is the time that a checkpoint needs.
told=
trap 'told=143; kill -USR1 $!; sleep "${SECONDS_TO_END:-30}"; kill -TERM $!' TERM

wait $!
code=$?
# A signal ends `wait` before mpirun ends.
while kill -0 $! 2>/dev/null; do
  wait $!
  code=$?
done

# 75 means that the same command may succeed, on other hosts perhaps; 143 that it goes on.
exit "${told:-$code}"
