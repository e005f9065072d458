//===- Environment.cpp - Joining a job that another launcher started ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Launcher.h. Ranks that torchrun, mpirun or srun started on one machine
// meet in a file under /dev/shm that the job's name gives: the first one makes
// it, and rank 0 removes the name once all have come.
//
//===----------------------------------------------------------------------===//

#include "Launcher.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tessera::rt;

namespace {
/// The variables of one launcher. A family counts as present when rank and size
/// are set (and `required`, which tells a task from an allocation's shell).
struct Family {
  const char *name, *rank, *size, *localSize, *machines, *required;
  /// Variables that name the job, joined.
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

/// A variable as a number; -1 when it is not set, -2 when it is none.
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

/// Whether the job of this memory is over: one of its ranks is dead.
static bool isStale(const SharedMemory &memory) {
  for (int rank = 0; rank < memory.control->ranks; ++rank) {
    int pid = memory.blocks[rank].pid.load();
    if (pid && kill(pid, 0) != 0 && errno == ESRCH)
      return true;
  }
  return false;
}

namespace {
/// One attempt to open the file of a job.
struct Rendezvous {
  std::string path;
  const Manifest &manifest;
  double deadline;

  /// Makes or opens it and maps it. `retry` is set when it was left by a dead
  /// job, and has been removed.
  std::string attempt(SharedMemory &memory, bool &retry);
  std::string waitReady(int fd, SharedMemory &memory);
};
} // namespace

/// Waits until the maker of the file has initialised it.
std::string Rendezvous::waitReady(int fd, SharedMemory &memory) {
  int64_t expected =
      SharedMemory::bytesFor(manifest.ranks, manifest.arenaBytes);
  for (;; usleep(2000)) {
    struct stat info;
    if (fstat(fd, &info) != 0)
      return strerror(errno);
    if (info.st_size != 0 && info.st_size != expected)
      return "another program is running under this job's name";
    if (info.st_size == expected && !memory.base &&
        !memory.map(fd, manifest.ranks, manifest.arenaBytes))
      return strerror(errno);
    if (memory.base && memory.control->ready.load())
      return std::string();
    if (monotonicSeconds() > deadline)
      return "the rank that made it does not initialise it; a leftover file "
             "may "
             "be removed by hand";
  }
}

std::string Rendezvous::attempt(SharedMemory &memory, bool &retry) {
  int64_t bytes = SharedMemory::bytesFor(manifest.ranks, manifest.arenaBytes);
  int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  std::string error;
  if (fd >= 0) {
    if (ftruncate(fd, bytes) != 0 ||
        !memory.map(fd, manifest.ranks, manifest.arenaBytes))
      error = strerror(errno);
    else
      memory.initialise(manifest.ranks, manifest.arenaBytes,
                        programHash(manifest));
    close(fd);
    return error;
  }
  fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    // It was removed in between.
    retry = errno == ENOENT;
    return retry ? std::string() : strerror(errno);
  }
  error = waitReady(fd, memory);
  close(fd);
  if (!error.empty())
    return error;
  if (isStale(memory)) {
    memory.unmap();
    unlink(path.c_str());
    retry = true;
  } else if (memory.control->programHash != programHash(manifest)) {
    return "the ranks of this job run different programs";
  }
  return std::string();
}

static tessera_rt_context *interrupted = nullptr;

/// SIGINT or SIGTERM in a joined rank: ask for an end after the step. The
/// second time: tell the peers, and go.
static void onSignal(int number) {
  static volatile sig_atomic_t received = 0;
  if (received == 0) {
    received = 1;
    int32_t none = 0;
    interrupted->memory.control->stopSignal.compare_exchange_strong(none,
                                                                    number);
    return;
  }
  // recordFailure makes only atomic operations and futex calls after the text,
  // which is a constant here.
  ControlBlock &control = *interrupted->memory.control;
  int32_t expected = 0;
  if (control.failureOwner.compare_exchange_strong(expected,
                                                   interrupted->rank + 1)) {
    strcpy(control.failure, "interrupted");
    control.aborted.store(1);
  }
  for (int rank = 0; rank < control.ranks; ++rank)
    ringDoorbell(interrupted->memory.blocks[rank]);
  _exit(128 + number);
}

int tessera::rt::joinRanks(const Environment &environment,
                           const Manifest &manifest, const Options &options,
                           RankBody body) {
  uint64_t hash = hashBytes(environment.job.data(), environment.job.size());
  Rendezvous rendezvous{format("/dev/shm/tessera-%d-%016llx", int(getuid()),
                               (unsigned long long)hash),
                        manifest,
                        monotonicSeconds() +
                            (options.deadline > 0 ? options.deadline : 60)};
  tessera_rt_context ctx;
  std::string error;
  for (bool retry = true; retry && error.empty();) {
    retry = false;
    error = rendezvous.attempt(ctx.memory, retry);
  }
  RankBlock *block =
      error.empty() ? &ctx.memory.blocks[environment.rank] : nullptr;
  int32_t nobody = 0;
  if (block && !block->pid.compare_exchange_strong(nobody, getpid()))
    error = format("process %d already is rank %d of this job", nobody,
                   environment.rank);
  if (!error.empty()) {
    fprintf(stderr, "tessera: error: rank %d cannot join '%s': %s\n",
            environment.rank, rendezvous.path.c_str(), error.c_str());
    return 1;
  }
  block->state.store(RankState::Running);
  prepareContext(ctx, environment.rank, manifest, options);
  interrupted = &ctx;
  signal(SIGINT, onSignal);
  signal(SIGTERM, onSignal);
  // The name must not outlive the meeting.
  Status met = barrier(&ctx, BarrierStart);
  if (environment.rank == 0)
    unlink(rendezvous.path.c_str());
  int status = met ? 1 : body(&ctx, manifest, options);
  block->state.store(status ? RankState::Failed : RankState::Finished);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  // What runs on a device that failed may never end, and would be waited for.
  if (status && targetKind.hasDevices) {
    fflush(nullptr);
    _exit(status);
  }
  ctx.target.reset();
  ctx.pool.reset();
  ctx.memory.unmap();
  return status;
}
