//===- Launcher.cpp - Forking and watching ranks --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Launcher.h. The launcher is one thread that forks the ranks, then sleeps
// in sigtimedwait until one of them ends or somebody interrupts. It prints the
// one line about a failure, whichever process detected it, and may start all
// ranks again.
//
//===----------------------------------------------------------------------===//

#include "Launcher.h"

#include "data/Replicas.h"
#include "nodes/Agent.h"
#include "nodes/Mirror.h"
#include "run/Rehearsal.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tessera::rt;

int tessera::rt::threadsPerRank(const Options &options, int ranks) {
  if (options.threads > 0)
    return options.threads;
  cpu_set_t set;
  int cores = sched_getaffinity(0, sizeof(set), &set) == 0
                  ? CPU_COUNT(&set)
                  : int(sysconf(_SC_NPROCESSORS_ONLN));
  return std::max(1, cores / ranks);
}

TableSizes tessera::rt::getTableSizes(const Manifest &manifest,
                                      const Placement &place) {
  return {manifest.pipeline.entries, manifest.experts.layers,
          manifest.experts.most,
          int64_t(manifest.arguments.size() + manifest.results.size()),
          place.isAcrossNodes() ? inboxBytes : 0};
}

bool tessera::rt::createMemory(SharedMemory &memory, const Manifest &manifest,
                               const Placement &place) {
  TableSizes tables = getTableSizes(manifest, place);
  int64_t bytes =
      SharedMemory::bytesFor(manifest.ranks, manifest.arenaBytes, tables);
  int fd = memfd_create("tessera", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, bytes) != 0 ||
      !memory.map(fd, place, manifest.arenaBytes, tables)) {
    fprintf(stderr,
            "tessera: error: cannot get %lld bytes of shared memory: %s\n",
            (long long)bytes, strerror(errno));
    return false;
  }
  memory.initialise(manifest.arenaBytes, programHash(manifest),
                    chooseReplicaPages());
  bool isShared = shareReplicas(memory, fd, manifest);
  if (!isShared)
    fprintf(stderr,
            "tessera: error: cannot share pages of replicated parameters: %s\n",
            strerror(errno));
  close(fd);
  return isShared;
}

int64_t tessera::rt::chooseReplicaPages() {
  // A host's arena that is only a staging area for a device keeps no replicas.
  return targetKind.hasDevices ? 0 : findReplicaPageBytes();
}

bool tessera::rt::shareReplicas(SharedMemory &memory, int fd,
                                const Manifest &manifest) {
  std::vector<ReplicatedPages> pages =
      findReplicatedPages(manifest, memory.control->replicaPageBytes);
  const Placement &place = memory.place;
  for (ReplicatedPages &one : pages)
    one.ranks.erase(
        std::remove_if(one.ranks.begin(), one.ranks.end(),
                       [&](int rank) { return !place.isHere(rank); }),
        one.ranks.end());
  pages.erase(std::remove_if(pages.begin(), pages.end(),
                             [](const ReplicatedPages &one) {
                               return one.ranks.size() < 2;
                             }),
              pages.end());
  return memory.shareReplicas(fd, std::move(pages));
}

uint64_t tessera::rt::programHash(const Manifest &manifest) {
  std::string text = manifest.program + "\n" + manifest.hash;
  return hashBytes(text.data(), text.size(), uint64_t(manifest.ranks));
}

void tessera::rt::addStopSignals(sigset_t &signals) {
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  // Respects nohup: a blocked signal is delivered even if it is ignored.
  struct sigaction action;
  if (sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler != SIG_IGN)
    sigaddset(&signals, SIGHUP);
}

/// TESSERA_RT_FAULT=RANK:SEQ:kill|stop|sleep, for tests.
static InjectedFault readFault(int rank) {
  const char *text = getenv("TESSERA_RT_FAULT");
  int target = -1;
  long long sequence = 0;
  char kind[16] = {};
  InjectedFault fault;
  if (!text || sscanf(text, "%d:%lld:%15s", &target, &sequence, kind) != 3 ||
      target != rank)
    return fault;
  fault.sequenceId = sequence;
  if (strcmp(kind, "kill") == 0)
    fault.kind = InjectedFault::Kill;
  else if (strcmp(kind, "stop") == 0)
    fault.kind = InjectedFault::Stop;
  else if (strcmp(kind, "sleep") == 0)
    fault.kind = InjectedFault::Sleep;
  return fault;
}

void tessera::rt::prepareContext(tessera_rt_context &ctx, int rank,
                                 const Manifest &manifest,
                                 const Options &options) {
  ctx.rank = rank;
  ctx.ranks = manifest.ranks;
  ctx.mesh = manifest.mesh;
  const Placement &place = ctx.memory.place;
  int threads = threadsPerRank(options, place.perNode);
  // An idle thread may keep its core warm only if no other rank wants it.
  Options whole;
  bool alone = threads * place.perNode <= threadsPerRank(whole, 1);
  ctx.pool = std::make_unique<ThreadPool>(threads, alone ? 50 : 0,
                                          (rank - place.firstRank()) * threads);
  ctx.spinIterations = alone ? 2000 : 32;
  ctx.sharesProcessors = !alone;
  ctx.scratch.perThread.resize(size_t(threads));
  ctx.timeout = options.timeouts.firstStep;
  ctx.fault = readFault(rank);
  ctx.target = options.rehearsal.isAsked
                   ? std::make_unique<RehearsalTarget>(&ctx)
                   : targetKind.create(&ctx);
}

namespace {
/// The forked ranks.
struct Children {
  std::vector<pid_t> pids; // 0: ended
  SharedMemory &memory;
  bool failed = false;
  /// They were told to end, because nobody needs them any more.
  bool areDismissed = false;
  int interruptedBy = 0;
  double failedAt = 0;

  size_t left() const {
    return size_t(std::count_if(pids.begin(), pids.end(),
                                [](pid_t pid) { return pid != 0; }));
  }
  void killAll() {
    for (pid_t pid : pids)
      if (pid)
        kill(pid, SIGKILL);
  }
  void markFailed(Status status, const std::string &text);
  void reap();
  void interrupt(int signal);
};
} // namespace

void Children::markFailed(Status status, const std::string &text) {
  recordFailure(memory, memory.place.ranks(), status, text);
  if (!failed)
    failedAt = monotonicSeconds();
  failed = true;
}

/// Collects ranks that have ended.
void Children::reap() {
  for (size_t rank = 0; rank < pids.size(); ++rank) {
    int status = 0;
    if (!pids[rank] || waitpid(pids[rank], &status, WNOHANG) != pids[rank])
      continue;
    pids[rank] = 0;
    if (areDismissed || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
      continue;
    int number = memory.place.firstRank() + int(rank);
    RankBlock &block = memory.blocks[number];
    std::string how =
        WIFSIGNALED(status)
            ? format("was killed by signal %d (%s)", WTERMSIG(status),
                     strsignal(WTERMSIG(status)))
            : format("ended with status %d", WEXITSTATUS(status));
    markFailed(TESSERA_RT_LOST_RANK, nameRank(memory, number) + " " + how +
                                         "; " + block.describeWork());
  }
}

/// Handles a signal. SIGUSR1 asks for a checkpoint. Of others, the first lets
/// ranks end after their step, the second marks the job as failed, and a third
/// kills the ranks.
void Children::interrupt(int signal) {
  if (signal == SIGUSR1) {
    memory.control->checkpointAsked.store(1);
    return;
  }
  int32_t none = 0;
  if (memory.control->stopSignal.compare_exchange_strong(none, signal))
    return;
  if (interruptedBy)
    killAll();
  interruptedBy = signal;
  markFailed(TESSERA_RT_ABORTED,
             format("interrupted by %s", strsignal(signal)));
}

/// Runs in a forked process; does not return.
[[noreturn]] static void runChild(SharedMemory &memory, int rank, int agentWake,
                                  pid_t parent, pid_t group,
                                  const sigset_t &mask,
                                  const Manifest &manifest,
                                  const Options &options, RankBody body) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1);
  // The process gets a group of its own, so that Ctrl-C goes to the launcher,
  // which ends the job cleanly.
  setpgid(0, group);
  signal(SIGINT, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  // Some engines signal all processes, and not the launcher alone.
  signal(SIGTERM, SIG_IGN);
  signal(SIGUSR1, SIG_IGN);
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  int status;
  {
    tessera_rt_context ctx;
    ctx.memory = memory;
    ctx.launched = true;
    ctx.agentWake = agentWake;
    memory.blocks[rank].enter();
    memory.blocks[rank].state.store(RankState::Running);
    prepareContext(ctx, rank, manifest, options);
    status = body(&ctx, manifest, options);
  }
  fflush(stdout);
  fflush(stderr);
  _exit(status);
}

namespace {
/// The program for which the ranks serve requests.
class Client {
public:
  explicit Client(const Options &options)
      : socket(options.serve.socket), parent(getppid()) {}

  /// Closes the socket, so that both sides learn of the end.
  void leave() const {
    if (socket >= 0)
      shutdown(socket, SHUT_RDWR);
  }
  /// True if it has ended or closed the socket. Processes that it has forked
  /// may hold the socket open.
  bool isGone() const {
    pollfd end{socket, 0, 0};
    return socket >= 0 && (getppid() != parent ||
                           (poll(&end, 1, 0) == 1 && end.revents & POLLHUP));
  }

private:
  int socket;
  pid_t parent;
};
} // namespace

/// Sleeps until a child ends or a signal asks to stop.
static void watch(Children &children, const sigset_t &watched,
                  const Timeouts &timeouts, const Client &client) {
  while (children.left() > 0) {
    timespec second{1, 0};
    if (children.failed)
      second = {0, 50000000};
    int received = sigtimedwait(&watched, nullptr, &second);
    children.reap();
    if (received > 0 && received != SIGCHLD)
      children.interrupt(received);
    // A rank that detects a failure reports it in shared memory.
    if (children.memory.control->aborted.load() && !children.failed) {
      children.failed = true;
      children.failedAt = monotonicSeconds();
    }
    if (children.failed || children.memory.control->stopSignal.load())
      client.leave();
    bool isLate = children.failed &&
                  monotonicSeconds() - children.failedAt > timeouts.exit;
    children.areDismissed |= client.isGone();
    if (isLate || children.areDismissed)
      children.killAll();
  }
}

namespace {
/// How one start of all ranks ended.
struct Attempt {
  int exitCode = 1;
  /// The line about the failure; empty: there was none, or it is printed.
  std::string failure;
  /// The signal that asked for an end, or 0.
  int stopSignal = 0;
  /// Checkpoints that it committed.
  int64_t committed = 0;
};
} // namespace

/// Forks all ranks. If the system refuses one, the job has failed.
static void forkAll(Children &children, int agentWake, const sigset_t &mask,
                    const Manifest &manifest, const Options &options,
                    RankBody body) {
  pid_t parent = getpid(), group = 0;
  const Placement &place = children.memory.place;
  for (int rank = place.firstRank(); rank < place.endRank(); ++rank) {
    pid_t pid = fork();
    if (pid == 0)
      runChild(children.memory, rank, agentWake, parent, group, mask, manifest,
               options, body);
    if (pid < 0) {
      children.markFailed(TESSERA_RT_SYSTEM, format("cannot fork rank %d: %s",
                                                    rank, strerror(errno)));
      break;
    }
    setpgid(pid, group);
    group = group ? group : pid;
    children.pids.push_back(pid);
  }
}

/// Starts all ranks, in memory of their own, and waits until none is left.
/// `watched` signals are blocked, ranks begin with the mask `before`.
static Attempt runOnce(const sigset_t &watched, const sigset_t &before,
                       const Manifest &manifest, const Options &options,
                       RankBody body, const Placement &place,
                       const std::string &job) {
  Attempt attempt;
  SharedMemory memory;
  if (!createMemory(memory, manifest, place))
    return attempt;
  const ControlBlock &control = *memory.control;
  Children children{{}, memory};
  std::unique_ptr<Agent> agent;
  if (place.isAcrossNodes())
    agent = std::make_unique<Agent>(memory, manifest, options, job);
  forkAll(children, agent ? agent->wake() : -1, before, manifest, options,
          body);
  // Forked processes have no thread of it.
  if (agent)
    agent->start(/*prints=*/false);
  watch(children, watched, options.timeouts, Client(options));
  if (agent)
    agent->finish();
  bool failed = children.failed || control.aborted.load();
  if (failed)
    attempt.failure =
        agent && !agent->failure().empty() ? agent->failure() : control.failure;
  attempt.exitCode = children.interruptedBy ? 128 + children.interruptedBy
                     : failed ? failureExitCode(control, TESSERA_RT_SYSTEM)
                              : control.exitCode.load();
  attempt.stopSignal = control.stopSignal.load();
  attempt.committed = control.committed.load();
  memory.unmap();
  return attempt;
}

/// Takes a signal that came while no rank ran; 0: there is none.
static int takeSignal(const sigset_t &watched) {
  timespec now{0, 0};
  int received;
  do
    received = sigtimedwait(&watched, nullptr, &now);
  while (received == SIGCHLD || received == SIGUSR1);
  return std::max(received, 0);
}

/// Starts the ranks until they end well, in a way that a new start does not
/// change, or too often in a row.
static int runWithRestarts(const sigset_t &watched, const sigset_t &before,
                           const Manifest &manifest, const Options &options,
                           RankBody body, const Placement &place,
                           const std::string &job) {
  for (int64_t failures = 1;; ++failures) {
    Attempt attempt =
        runOnce(watched, before, manifest, options, body, place, job);
    if (attempt.committed > 0)
      failures = 1;
    bool mayRestart = attempt.exitCode == exitMayRestart;
    // Who was told to end does not begin again.
    if (mayRestart && options.restarts && attempt.stopSignal == 0)
      attempt.stopSignal = takeSignal(watched);
    if (mayRestart && attempt.stopSignal)
      attempt.exitCode = 128 + attempt.stopSignal;
    else if (mayRestart && failures <= options.restarts) {
      fprintf(stderr, "tessera: %s; restarts from %s (%lld of %lld)\n",
              attempt.failure.c_str(),
              options.checkpoint.empty() ? "step 0" : "the newest checkpoint",
              (long long)failures, (long long)options.restarts);
      continue;
    }
    if (!attempt.failure.empty())
      fprintf(stderr, "tessera: error: %s\n", attempt.failure.c_str());
    return attempt.exitCode;
  }
}

int tessera::rt::launchRanks(const Manifest &manifest, const Options &options,
                             RankBody body, const Placement &place,
                             const std::string &job) {
  // It is better to start no process than to have ranks refused one by one.
  if (options.memoryLimit && manifest.arenaBytes > options.memoryLimit) {
    fprintf(stderr,
            "tessera: error: a rank needs %lld bytes for the arena of its "
            "plan, but --memory-limit gives %lld\n",
            (long long)manifest.arenaBytes, (long long)options.memoryLimit);
    return 1;
  }
  sigset_t watched, before;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  sigaddset(&watched, SIGUSR1);
  addStopSignals(watched);
  sigprocmask(SIG_BLOCK, &watched, &before);
  fflush(stdout);
  fflush(stderr);
  int exitCode =
      runWithRestarts(watched, before, manifest, options, body, place, job);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return exitCode;
}
