//===- Ranks.h - Ranks for tests and measurements ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a function on N forked ranks, or creates the context of a single rank in
// this process. Used by the tests and by bench/*/runtime_*.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RUNTIME_RANKS_H
#define TESSERA_TEST_RUNTIME_RANKS_H

#include "runtime/src/nodes/Meeting.h"
#include "runtime/src/ranks/Context.h"
#include "runtime/src/ranks/Launcher.h"

#include <functional>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::rt {

/// Options of runRanks.
struct RankSetup {
  int ranks = 1;
  int64_t arenaBytes = 1 << 20;
  int threads = 1;
  double timeout = 20;
  int64_t restarts = 0;
  /// Nodes that the ranks are on; 0: TESSERA_TEST_NODES, or one.
  int nodes = 0;
  /// Number of a list's entries; lists are then stamped.
  int64_t entries = 0;
  /// Arguments of the program that the ranks have.
  std::vector<Value> arguments = {};
};

/// Body of a rank: returns an error, or nothing.
using RankFunction = std::function<std::string(tessera_rt_context *ctx)>;

inline const RankFunction *&currentFunction() {
  static const RankFunction *function = nullptr;
  return function;
}

/// Runs the current function on a rank that has been started.
inline int runCurrent(tessera_rt_context *ctx, const Manifest &,
                      const Options &options) {
  const ControlBlock &control = *ctx->memory.control;
  if (openNodes(ctx, options.timeouts.join) != TESSERA_RT_OK)
    return failureExitCode(control, TESSERA_RT_LOST_RANK);
  std::string error = (*currentFunction())(ctx);
  if (!error.empty())
    fail(ctx, TESSERA_RT_INVALID, error);
  // A rank must not leave while others read its arena.
  else if (!control.aborted.load())
    barrier(ctx, BarrierEnd);
  return control.aborted.load() ? failureExitCode(control, 0) : 0;
}

/// Starts the ranks of all nodes, each node by a process of its own, and
/// returns the exit status of the last one that failed.
inline int launchNodes(const Manifest &manifest, const Options &options,
                       int nodes) {
  std::vector<pid_t> pids;
  for (int node = 0; node < nodes; ++node) {
    pid_t pid = fork();
    if (pid == 0) {
      Placement place{node, nodes, manifest.ranks / nodes};
      int status = launchRanks(manifest, options, runCurrent, place, "test");
      fflush(stderr);
      _exit(status);
    }
    pids.push_back(pid);
  }
  int failure = 0;
  for (pid_t pid : pids) {
    int status = 0;
    waitpid(pid, &status, 0);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    failure = code ? code : failure;
  }
  return failure;
}

/// Runs `body` on forked ranks. Returns the exit status of the launcher, which
/// prints the first failure to standard error. Several nodes are processes of
/// this machine.
inline int runRanks(const RankSetup &setup, const RankFunction &body) {
  Manifest manifest;
  manifest.program = "test";
  manifest.ranks = setup.ranks;
  manifest.arenaBytes = setup.arenaBytes;
  manifest.mesh = {{"x", setup.ranks}};
  manifest.pipeline.entries = setup.entries;
  manifest.arguments = setup.arguments;
  Options options;
  options.threads = setup.threads;
  options.timeouts.setAll(setup.timeout);
  options.restarts = setup.restarts;
  currentFunction() = &body;
  const char *given = getenv("TESSERA_TEST_NODES");
  int nodes = setup.nodes > 0 ? setup.nodes : given ? atoi(given) : 1;
  if (nodes <= 1)
    return launchRanks(manifest, options, runCurrent, onOneNode(setup.ranks));
  char folder[] = "/tmp/tessera-nodes-XXXXXX";
  if (!mkdtemp(folder))
    return 1;
  options.rendezvous = folder;
  options.interface = "lo";
  int status = launchNodes(manifest, options, nodes);
  // It is empty unless a root has left its file.
  return rmdir(folder) == 0 ? status : 1;
}

/// A single rank in this process.
class SingleRank {
public:
  SingleRank(int threads, int64_t arenaBytes, const TableSizes &tables = {})
      : ctx(std::make_unique<tessera_rt_context>()) {
    int fd = memfd_create("test", MFD_CLOEXEC);
    if (ftruncate(fd, SharedMemory::bytesFor(1, arenaBytes, tables)) != 0 ||
        !ctx->memory.map(fd, onOneNode(1), arenaBytes, tables))
      _exit(3);
    close(fd);
    ctx->memory.initialise(arenaBytes, 0);
    Manifest manifest;
    manifest.ranks = 1;
    Options options;
    options.threads = threads;
    prepareContext(*ctx, 0, manifest, options);
  }
  ~SingleRank() {
    ctx->target.reset();
    ctx->memory.unmap();
  }
  operator tessera_rt_context *() { return ctx.get(); }
  uint8_t *arena() { return ctx->arena(); }

private:
  std::unique_ptr<tessera_rt_context> ctx;
};

} // namespace tessera::rt

#endif // TESSERA_TEST_RUNTIME_RANKS_H
