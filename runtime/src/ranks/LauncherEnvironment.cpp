//===- LauncherEnvironment.cpp - Variables of other launchers
//---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Launcher.h. The variables of torchrun, mpirun and srun.
//
//===----------------------------------------------------------------------===//

#include "ranks/Launcher.h"

#include <cstdlib>
#include <unistd.h>

using namespace tessera::rt;

namespace {
/// The variables of one launcher. A family is present if rank and size are set
/// (and `required`, which distinguishes a task from an allocation's shell).
struct Family {
  const char *name, *rank, *size, *localSize, *machines, *required;
  /// Variables that together name the job.
  const char *job[3];
};
constexpr Family families[] = {
    {"torchrun",
     "RANK",
     "WORLD_SIZE",
     "LOCAL_WORLD_SIZE",
     nullptr,
     nullptr,
     {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_PORT"}},
    {"Open MPI",
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     nullptr,
     nullptr,
     {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", nullptr}},
    {"PMI",
     "PMI_RANK",
     "PMI_SIZE",
     "MPI_LOCALNRANKS",
     nullptr,
     nullptr,
     {"PMI_ID", "PMI_JOBID", "PMI_KVSNAME"}},
    {"SLURM",
     "SLURM_PROCID",
     "SLURM_NTASKS",
     nullptr,
     "SLURM_NNODES",
     "SLURM_STEP_ID",
     {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"}},
};
} // namespace

/// Reads a variable as a number; -1 if it is not set, -2 if it is not a number.
static long readNumber(const char *name) {
  const char *text = name ? getenv(name) : nullptr;
  if (!text)
    return -1;
  char *end;
  long value = strtol(text, &end, 10);
  return *text && !*end && value >= 0 ? value : -2;
}

/// Reads one family. Returns a message, or nothing.
static std::string readFamily(const Family &family, Environment &found) {
  long rank = readNumber(family.rank), size = readNumber(family.size);
  bool present =
      rank != -1 && size != -1 && (!family.required || getenv(family.required));
  if (!present)
    return std::string();
  if (rank < 0 || size < 1 || rank >= size)
    return format("expects numbers with %s < %s, but got '%s' and '%s'",
                  family.rank, family.size, getenv(family.rank),
                  getenv(family.size));
  if (size > maxRanks)
    return format("expects at most %d ranks, but %s is %ld", maxRanks,
                  family.size, size);
  long localSize = readNumber(family.localSize);
  long machines = readNumber(family.machines);
  if ((localSize > 0 && localSize != size) || machines > 1)
    return format("%s gives ranks on several machines, which the shared-memory "
                  "target does not support",
                  family.name);
  if (found.family && (found.rank != rank || found.ranks != size))
    return format("%s says rank %d of %d, but %s says rank %ld of %ld",
                  found.family, found.rank, found.ranks, family.name, rank,
                  size);
  if (found.family)
    return std::string();
  found.family = family.name;
  found.rank = int(rank);
  found.ranks = int(size);
  for (const char *name : family.job)
    if (const char *text = name ? getenv(name) : nullptr)
      found.job += std::string("/") + text;
  return std::string();
}

std::string tessera::rt::readEnvironment(Environment &environment) {
  for (const Family &family : families) {
    std::string error = readFamily(family, environment);
    if (!error.empty())
      return error;
  }
  if (const char *job = getenv("TESSERA_RT_JOB_ID"))
    environment.job = job;
  else if (environment.job.empty())
    environment.job = format("/parent-%d", int(getppid()));
  return std::string();
}
