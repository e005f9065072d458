//===- Launcher.h - Starting or joining a job -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ways in which ranks come to be: forked by this process, or started by
// torchrun, mpirun or srun and joining through a file in shared memory.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_LAUNCHER_H
#define TESSERA_RT_SRC_LAUNCHER_H

#include "Context.h"
#include "data/Manifest.h"
#include "run/Options.h"

#include <csignal>

namespace tessera::rt {

/// What another launcher says in the environment.
struct Environment {
  /// The family found ("torchrun", ...), or null.
  const char *family = nullptr;
  int rank = 0, ranks = 1;
  /// Names the job on this machine.
  std::string job;
};

/// Reads the environment. Returns a message when families disagree, values are
/// no numbers, or the job spans machines.
std::string readEnvironment(Environment &environment);

/// What a rank runs: its program's steps, with everything around them. Returns
/// the exit status of the process.
using RankBody = int (*)(tessera_rt_context *ctx, const Manifest &manifest,
                         const Options &options);

/// Adds SIGINT, SIGTERM and, unless it is ignored, SIGHUP: signals that ask for
/// an end.
void addStopSignals(sigset_t &signals);

/// Forks `manifest.ranks` processes that run `body`, and watches them. Returns
/// the exit status: that of ControlBlock, 1 after printing one line about the
/// first failure, or 128 + signal. A first signal that asks for an end is
/// passed on in `stopSignal`, and is no failure; a second one ends the ranks.
/// No process is left.
int launchRanks(const Manifest &manifest, const Options &options,
                RankBody body);

/// Runs `body` for all ranks on threads of this process. Returns as
/// launchRanks.
int simulateRanks(const Manifest &manifest, const Options &options,
                  RankBody body);

/// Joins the job as the rank that `environment` gives, and runs `body`. Returns
/// as launchRanks.
int joinRanks(const Environment &environment, const Manifest &manifest,
              const Options &options, RankBody body);

/// Threads of a rank: the option, or an equal share of the cores.
int threadsPerRank(const Options &options, int ranks);

/// Prepares a rank's context: threads, timeout, injected fault.
void prepareContext(tessera_rt_context &ctx, int rank, const Manifest &manifest,
                    const Options &options);

/// Makes and maps the shared memory of a job whose ranks all begin here. False
/// after printing why there is none.
bool createMemory(SharedMemory &memory, const Manifest &manifest);

/// Size of the pages at which replicas of parameters are one memory in a job
/// whose memory this process makes; 0: nowhere.
int64_t chooseReplicaPages();

/// Makes replicas of parameters one memory, as the control block says. False
/// and errno on error.
bool shareReplicas(SharedMemory &memory, int fd, const Manifest &manifest);

/// Hash of what all ranks must have in common.
uint64_t programHash(const Manifest &manifest);

/// The body of all programs: arguments, steps, results, report.
int runRank(tessera_rt_context *ctx, const Manifest &manifest,
            const Options &options);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_LAUNCHER_H
