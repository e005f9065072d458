//===- LauncherEnvironment.cpp - Variables of other launchers -------------===//
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
  const char *name, *rank, *size, *localRank, *localSize, *nodes, *required;
  /// The launcher's option for L ranks on each node, in their order.
  const char *layout;
  /// Variables that together name the job, the same on all nodes.
  const char *job[3];
  /// A variable of this launcher that says that others, if there are some,
  /// started it and not the ranks.
  const char *isInner = nullptr;
};
constexpr Family families[] = {
    {"torchrun",
     "RANK",
     "WORLD_SIZE",
     "LOCAL_RANK",
     "LOCAL_WORLD_SIZE",
     nullptr,
     nullptr,
     "--nproc-per-node",
     {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_PORT"},
     "TORCHELASTIC_RUN_ID"},
    {"Open MPI",
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     nullptr,
     nullptr,
     "--map-by ppr:N:node",
     {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", nullptr}},
    {"PMI",
     "PMI_RANK",
     "PMI_SIZE",
     "MPI_LOCALRANKID",
     "MPI_LOCALNRANKS",
     nullptr,
     nullptr,
     "-ppn",
     {"PMI_ID", "PMI_JOBID", "PMI_KVSNAME"}},
    {"SLURM",
     "SLURM_PROCID",
     "SLURM_NTASKS",
     "SLURM_LOCALID",
     nullptr,
     "SLURM_NNODES",
     "SLURM_STEP_ID",
     "--ntasks-per-node and --distribution=block",
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
  if (size > maxJobRanks)
    return format("expects at most %d ranks, but %s is %ld", maxJobRanks,
                  family.size, size);
  // Without these variables all ranks are on one node.
  long localSize = readNumber(family.localSize);
  long localRank = readNumber(family.localRank);
  long nodes = readNumber(family.nodes);
  if (localSize > size || localRank >= size || nodes > size)
    return format("expects no more ranks on a node, and no more nodes, than "
                  "%s, but of %ld ranks this one is number %ld of %ld on its "
                  "node, of %ld nodes",
                  family.size, size, localRank, localSize, nodes);
  if (localSize < 1)
    localSize = nodes > 0 && size % nodes == 0 ? size / nodes : size;
  if (nodes > 0 && localSize * nodes != size)
    return format("expects as many ranks on each node, but %s starts %ld on "
                  "%ld nodes; see its %s",
                  family.name, size, nodes, family.layout);
  if (found.family && (found.rank != rank || found.ranks != size))
    return format("%s says rank %d of %d, but %s says rank %ld of %ld",
                  found.family, found.rank, found.ranks, family.name, rank,
                  size);
  if (found.family)
    return std::string();
  found.family = family.name;
  found.layout = family.layout;
  found.rank = int(rank);
  found.ranks = int(size);
  found.localRank = int(localRank);
  found.perNode = int(localSize);
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
    if (environment.family && family.isInner && getenv(family.isInner))
      break;
  }
  if (const char *job = getenv("TESSERA_RT_JOB_ID"))
    environment.job = job;
  return std::string();
}

/// Returns the place of a process that is a rank.
static std::string placeRank(const Environment &environment, Placement &place) {
  const Environment &e = environment;
  place = {e.rank / e.perNode, e.ranks / e.perNode, e.perNode};
  if (e.ranks % e.perNode != 0)
    return format("expects as many ranks on each node, but %s starts %d of %d "
                  "ranks on this one; see its %s",
                  e.family, e.perNode, e.ranks, e.layout);
  if (e.perNode > maxRanks)
    return format("expects at most %d ranks on a node, but %s starts %d",
                  maxRanks, e.family, e.perNode);
  if (e.localRank >= 0 && e.localRank != e.rank % e.perNode)
    return format("expects consecutive ranks on each node, but %s makes rank "
                  "%d number %d of the %d on its node; see its %s",
                  e.family, e.rank, e.localRank, e.perNode, e.layout);
  return std::string();
}

/// Returns the place of a process that starts the ranks of its node.
static std::string placeNode(const Environment &environment,
                             const Options &options, int ranks,
                             Placement &place) {
  int perNode = options.localRanks;
  if (perNode > maxRanks || ranks % perNode != 0)
    return format("--local-ranks expects a number that divides the %d ranks of "
                  "this program, at most %d, but got %d",
                  ranks, maxRanks, perNode);
  place = {0, ranks / perNode, perNode};
  long index = readNumber("JOB_COMPLETION_INDEX");
  long node = environment.family  ? environment.rank
              : options.node >= 0 ? options.node
                                  : index;
  if (environment.family && environment.ranks != place.nodes)
    return format("--local-ranks %d expects a process on each of %d nodes, for "
                  "the %d ranks of this program, but %s starts %d",
                  perNode, place.nodes, ranks, environment.family,
                  environment.ranks);
  if (environment.family && options.node >= 0 && options.node != node)
    return format("--node says %d, but %s says %ld", options.node,
                  environment.family, node);
  if (node == -1 && place.nodes == 1)
    node = 0;
  if (node < 0 || node >= place.nodes)
    return format("--local-ranks %d gives %d nodes, and expects the number of "
                  "this one, from 0 to %d, from the launcher, "
                  "JOB_COMPLETION_INDEX or --node, but got ",
                  perNode, place.nodes, place.nodes - 1) +
           (node == -1 ? "none" : std::to_string(node));
  place.node = int(node);
  return std::string();
}

std::string tessera::rt::findPlacement(const Environment &environment,
                                       const Options &options, int ranks,
                                       Placement &place) {
  if (options.localRanks)
    return placeNode(environment, options, ranks, place);
  if (options.node >= 0)
    return "--node expects --local-ranks N, the number of ranks on each node";
  place = onOneNode(ranks);
  if (!environment.family)
    return ranks <= maxRanks
               ? std::string()
               : format("expects at most %d ranks on a node, but this program "
                        "has %d: see --local-ranks",
                        maxRanks, ranks);
  if (environment.ranks != ranks)
    return format("%s starts %d ranks, but this program was compiled for %d",
                  environment.family, environment.ranks, ranks);
  return placeRank(environment, place);
}
