//===- Launcher.h - Starting or joining a job -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Starts ranks in one of two ways: this process forks them, or torchrun, mpirun
// or srun starts them and they join through a file in shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_LAUNCHER_H
#define TESSERA_RT_SRC_LAUNCHER_H

#include "Context.h"
#include "data/Manifest.h"
#include "run/Options.h"

#include <csignal>

namespace tessera::rt {

/// Facts about another launcher, from the environment.
struct Environment {
  /// The detected family ("torchrun", ...), or null.
  const char *family = nullptr;
  /// Its option that says how many ranks each node has.
  const char *layout = "";
  int rank = 0, ranks = 1;
  /// The number of this rank on its node, negative if it is not known, and the
  /// ranks of this node.
  int localRank = -1, perNode = 1;
  /// Names the job, on all of its nodes; empty: it has no name.
  std::string job;
};

/// Reads the environment. Returns a message if families disagree, or values are
/// not numbers.
std::string readEnvironment(Environment &environment);

/// Finds the node of this process: by the variables of the launcher that
/// started it as a rank, or with --local-ranks as all ranks of a node. Returns
/// a message if nodes would have unequal numbers of ranks, or ranks that are
/// not consecutive.
std::string findPlacement(const Environment &environment,
                          const Options &options, int ranks, Placement &place);

/// The body of a rank: its program's steps and the work before and after.
/// Returns the exit status of the process.
using RankBody = int (*)(tessera_rt_context *ctx, const Manifest &manifest,
                         const Options &options);

/// Adds the signals that ask for an end: SIGINT, SIGTERM and, unless it is
/// ignored, SIGHUP.
void addStopSignals(sigset_t &signals);

/// Forks the processes of the ranks at `place`, which run `body`, and watches
/// them. On several nodes, `job` is the same on all of them. Returns
/// the exit status: ControlBlock's, failureExitCode's after printing one line
/// about the first failure, or 128 + signal. A first signal that asks for an
/// end is passed on in `stopSignal` and is no failure; a second one ends the
/// ranks. After a failure that a new start may not meet, all ranks start anew,
/// with nothing left of the old ones but files, until there were more failures
/// in a row than `options.restarts`; one begins a new row if these ranks have
/// committed a checkpoint. No process is left.
int launchRanks(const Manifest &manifest, const Options &options, RankBody body,
                const Placement &place, const std::string &job = "");

/// Runs `body` for all ranks on threads of this process. Returns the same as
/// launchRanks.
int simulateRanks(const Manifest &manifest, const Options &options,
                  RankBody body);

/// Joins the job as the rank of `environment`, and runs `body`. Returns the
/// same as launchRanks.
int joinRanks(const Environment &environment, const Placement &place,
              const Manifest &manifest, const Options &options, RankBody body);

/// Threads of a rank: the option, or an equal share of the cores.
int threadsPerRank(const Options &options, int ranks);

/// Prepares a rank's context: threads, timeout, injected fault.
void prepareContext(tessera_rt_context &ctx, int rank, const Manifest &manifest,
                    const Options &options);

/// The tables of each rank of a program.
TableSizes getTableSizes(const Manifest &manifest, const Placement &place);

/// Creates and maps the shared memory of a node whose ranks all start here.
/// Returns false after printing an error.
bool createMemory(SharedMemory &memory, const Manifest &manifest,
                  const Placement &place);

/// Page size at which replicas of parameters share one memory, for a job whose
/// memory this process creates; 0: they share nowhere.
int64_t chooseReplicaPages();

/// Makes replicas of parameters one memory, with the page size in the control
/// block. Returns false and sets errno on error.
bool shareReplicas(SharedMemory &memory, int fd, const Manifest &manifest);

/// Hash of the facts that all ranks must have in common.
uint64_t programHash(const Manifest &manifest);

/// The body of all programs: arguments, steps, results, report.
int runRank(tessera_rt_context *ctx, const Manifest &manifest,
            const Options &options);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_LAUNCHER_H
