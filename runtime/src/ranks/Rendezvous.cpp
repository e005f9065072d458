//===- Rendezvous.cpp - Joining a job that another launcher started -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Launcher.h. Ranks that torchrun, mpirun or srun started on one machine
// meet in a file under /dev/shm whose name derives from the job's. The first
// rank creates it and holds its lock until it is complete; an incomplete file
// without a lock was left by a dead rank. All ranks remove the name once all
// have joined, and so does a rank that fails or is told to end before that. If
// all of them get a SIGKILL, the file stays, and the next job of that name
// removes it.
//
// Anybody may write to /dev/shm, so a file is used only if it belongs to this
// user alone.
//
//===----------------------------------------------------------------------===//

#include "Launcher.h"
#include "nodes/Agent.h"
#include "nodes/Mirror.h"
#include "nodes/StandIn.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

using namespace tessera::rt;

namespace {
/// The file in which the ranks of a job meet.
class MeetingFile {
public:
  MeetingFile(const std::string &job, int rank, const Placement &place,
              const Manifest &manifest, double timeout);
  ~MeetingFile() { leave(); }

  /// Creates or opens the file and maps it. Returns a message, or nothing.
  std::string meet(SharedMemory &memory);
  /// Removes the name if it still refers to this file. A signal handler may
  /// call this.
  void remove();
  /// Forgets the file; its name stays.
  void leave();
  const char *name() const { return path; }

private:
  /// Makes one attempt. Sets `retry` if the file is gone, or was left by a dead
  /// job and has been removed.
  std::string attempt(SharedMemory &memory, bool &retry);
  std::string make(SharedMemory &memory);
  std::string waitReady(SharedMemory &memory, bool &retry);

  char path[64];
  const int rank;
  const Placement place;
  const Manifest &manifest;
  const TableSizes tables;
  int64_t bytes;
  double deadline;
  int fd = -1;
};

/// State of the signal handler, which may run at any time.
struct JoinedRank {
  MeetingFile *meeting = nullptr;
  tessera_rt_context *ctx = nullptr;
};
} // namespace

static JoinedRank joined;

MeetingFile::MeetingFile(const std::string &job, int rank,
                         const Placement &place, const Manifest &manifest,
                         double timeout)
    : rank(rank), place(place), manifest(manifest),
      tables(getTableSizes(manifest, place)),
      bytes(
          SharedMemory::bytesFor(manifest.ranks, manifest.arenaBytes, tables)),
      deadline(monotonicSeconds() + timeout) {
  snprintf(path, sizeof(path), "/dev/shm/tessera-%d-%016llx", int(geteuid()),
           (unsigned long long)hashBytes(job.data(), job.size()));
}

void MeetingFile::remove() {
  struct stat ours, there;
  if (fd < 0)
    return;
  // Under the lock only one of several ranks removes the name; afterwards it
  // may refer to the next job's file.
  flock(fd, LOCK_EX);
  if (fstat(fd, &ours) == 0 && lstat(path, &there) == 0 &&
      ours.st_ino == there.st_ino && ours.st_dev == there.st_dev)
    unlink(path);
  flock(fd, LOCK_UN);
}

void MeetingFile::leave() {
  if (fd >= 0)
    close(fd);
  fd = -1;
}

/// True if the job of this memory is over: no process of its ranks is left. A
/// process that has ended but that its launcher has not waited for still counts
/// as a rank of this job, and the other ranks name it while they wait.
static bool isStale(const SharedMemory &memory) {
  bool isEntered = false;
  for (int rank = 0; rank < memory.control->ranks; ++rank) {
    const RankBlock &block = memory.blocks[rank];
    isEntered |= block.pid.load() != 0;
    if (block.findProcess().state)
      return false;
  }
  return isEntered;
}

/// Gives the new, empty file its size and first content. Other processes hold
/// its lock only briefly.
std::string MeetingFile::make(SharedMemory &memory) {
  flock(fd, LOCK_EX);
  // If there is no room for the file's pages later, the rank that touches them
  // is killed without a message.
  struct statvfs space;
  // Ranks of other nodes take little more than their blocks.
  int64_t needed =
      SharedMemory::bytesFor(place.perNode, manifest.arenaBytes, tables) +
      SharedMemory::controlBytesFor(manifest.ranks) -
      SharedMemory::controlBytesFor(place.perNode);
  if (fstatvfs(fd, &space) == 0 && space.f_blocks > 0 &&
      needed > int64_t(space.f_bavail) * int64_t(space.f_frsize))
    return "expects room for " + readableBytes(needed) + ", but it has " +
           readableBytes(int64_t(space.f_bavail) * int64_t(space.f_frsize));
  if (ftruncate(fd, bytes) != 0)
    return strerror(errno);
  if (!memory.map(fd, place, manifest.arenaBytes, tables))
    return strerror(errno);
  for (const ByteRange &range : memory.ownControl())
    if (int error = posix_fallocate(fd, off_t(range.begin),
                                    off_t(range.end - range.begin)))
      return strerror(error);
  memory.initialise(manifest.arenaBytes, programHash(manifest),
                    chooseReplicaPages());
  memory.blocks[rank].enter();
  flock(fd, LOCK_UN);
  return std::string();
}

/// Waits until the creator of the file has initialized it. Its lock is free for
/// a moment before the creator takes it, and after the creator's death.
std::string MeetingFile::waitReady(SharedMemory &memory, bool &retry) {
  constexpr double longestMoment = 0.5;
  double freeSince = 0;
  for (;; usleep(2000)) {
    struct stat info;
    if (fstat(fd, &info) != 0)
      return strerror(errno);
    // The creator failed, or the job has begun without this rank.
    retry = info.st_nlink == 0;
    if (retry)
      return std::string();
    if (info.st_size != 0 && info.st_size != bytes)
      return "another program is running under this job's name";
    if (info.st_size == bytes && !memory.base &&
        !memory.map(fd, place, manifest.arenaBytes, tables))
      return strerror(errno);
    bool isFree = flock(fd, LOCK_SH | LOCK_NB) == 0;
    if (isFree)
      flock(fd, LOCK_UN);
    if (isFree && memory.base && memory.control->ready.load())
      return std::string();
    double now = monotonicSeconds();
    freeSince = !isFree ? 0 : freeSince == 0 ? now : freeSince;
    if (freeSince != 0 && now - freeSince > longestMoment) {
      remove();
      retry = true;
      return std::string();
    }
    if (now > deadline)
      return "the rank that made it does not initialise it; a leftover file "
             "may be removed by hand";
  }
}

std::string MeetingFile::attempt(SharedMemory &memory, bool &retry) {
  // A signal between creating the file and storing its descriptor would leave
  // the file.
  sigset_t stops, before;
  sigemptyset(&stops);
  addStopSignals(stops);
  sigprocmask(SIG_BLOCK, &stops, &before);
  constexpr int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  fd = open(path, flags | O_CREAT | O_EXCL, 0600);
  bool isNew = fd >= 0;
  if (!isNew && errno == EEXIST)
    fd = open(path, flags);
  int error = errno;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (fd < 0) {
    // The file was removed in between.
    retry = error == ENOENT;
    return retry            ? std::string()
           : error == ELOOP ? "expects a file, but got a symbolic link"
                            : strerror(error);
  }
  if (isNew) {
    std::string failure = make(memory);
    if (!failure.empty())
      remove();
    return failure;
  }
  struct stat info;
  if (fstat(fd, &info) != 0)
    return strerror(errno);
  if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() ||
      (info.st_mode & 077) != 0)
    return format("expects a file that user %d alone may use, but got one of "
                  "user %d with mode %o",
                  int(geteuid()), int(info.st_uid), unsigned(info.st_mode));
  std::string failure = waitReady(memory, retry);
  if (!failure.empty() || retry)
    return failure;
  if (memory.control->programHash != programHash(manifest))
    return "the ranks of this job run different programs";
  if (isStale(memory)) {
    remove();
    retry = true;
  }
  return std::string();
}

std::string MeetingFile::meet(SharedMemory &memory) {
  for (bool retry = true; retry;) {
    retry = false;
    std::string error = attempt(memory, retry);
    if (!error.empty())
      return error;
    if (!retry)
      return shareReplicas(memory, fd, manifest)
                 ? error
                 : std::string(
                       "cannot share pages of replicated parameters: ") +
                       strerror(errno);
    memory.unmap();
    leave();
    if (monotonicSeconds() > deadline)
      return "the file is removed again and again";
  }
  return std::string();
}

/// Tells the peers that this rank is gone, from a signal handler: it writes a
/// constant text and then uses only atomic operations and futex calls.
static void reportInterrupt(tessera_rt_context &ctx) {
  ControlBlock &control = *ctx.memory.control;
  int32_t expected = 0;
  if (control.failureOwner.compare_exchange_strong(expected, ctx.rank + 1)) {
    strcpy(control.failure, "interrupted");
    control.failureStatus = TESSERA_RT_ABORTED;
    control.aborted.store(1);
  }
  for (int rank = ctx.memory.place.firstRank();
       rank < ctx.memory.place.endRank(); ++rank)
    ringDoorbell(ctx.memory.blocks[rank]);
}

/// Handles a signal that asks a joined rank to end: at once before all ranks
/// have joined, otherwise after the step. A second signal makes it tell the
/// peers and exit.
static void onSignal(int number) {
  static volatile sig_atomic_t received = 0;
  if (received == 0 && !joined.meeting) {
    received = 1;
    int32_t none = 0;
    joined.ctx->memory.control->stopSignal.compare_exchange_strong(none,
                                                                   number);
    joined.ctx->looksNow.store(true);
    ringDoorbell(joined.ctx->block());
    return;
  }
  if (joined.meeting)
    joined.meeting->remove();
  if (joined.ctx)
    reportInterrupt(*joined.ctx);
  _exit(128 + number);
}

/// Handles a signal that asks for a checkpoint.
static void onAsk(int) {
  if (joined.ctx && !joined.meeting)
    joined.ctx->memory.control->checkpointAsked.store(1);
}

/// Sets the state of the handlers, with their signals blocked.
static void setJoined(MeetingFile *meeting, tessera_rt_context *ctx) {
  sigset_t stops, before;
  sigemptyset(&stops);
  addStopSignals(stops);
  sigaddset(&stops, SIGUSR1);
  sigprocmask(SIG_BLOCK, &stops, &before);
  joined = {meeting, ctx};
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

/// Installs a handler for the stop signals, except for ignored ones.
static void handleStops(void (*handler)(int)) {
  sigset_t stops;
  sigemptyset(&stops);
  addStopSignals(stops);
  for (int number : {SIGINT, SIGTERM, SIGHUP})
    if (sigismember(&stops, number))
      signal(number, handler);
}

/// Maps the job's memory and takes the slot of this rank in it. Returns a
/// message, or nothing.
static std::string takeSlot(MeetingFile &meeting, tessera_rt_context &ctx,
                            int rank) {
  std::string error = meeting.meet(ctx.memory);
  if (!error.empty())
    return error;
  RankBlock &block = ctx.memory.blocks[rank];
  int32_t owner = 0;
  bool isTaken = !block.pid.compare_exchange_strong(owner, getpid());
  if (isTaken && owner != getpid())
    return format("process %d already is rank %d of this job", owner, rank);
  block.enter();
  return std::string();
}

/// Names the job on this node.
static std::string nameOnNode(const Environment &environment,
                              const Placement &place) {
  std::string job = environment.job.empty()
                        ? format("/parent-%d", int(getppid()))
                        : environment.job;
  return place.isAcrossNodes() ? job + format("/node-%d", place.node) : job;
}

/// Waits for the reason why the job stops, if it failed, and prints it once on
/// each node. Returns the exit status of a rank that had `status`.
static int awaitVerdict(tessera_rt_context &ctx, Agent *agent, int status) {
  const ControlBlock &control = *ctx.memory.control;
  if (agent)
    agent->finish();
  if (status == 0 && !control.aborted.load())
    return status;
  // Another rank's agent needs a moment; its process may be gone, too.
  double end = monotonicSeconds() + 0.4;
  while (!control.node.isJudged.load() && monotonicSeconds() < end)
    usleep(10000);
  Verdict verdict;
  if (!agent && !control.node.isJudged.load()) {
    StandIn standIn(ctx.memory, ctx.rank);
    standIn.send(encode(Verdict{control.failureStatus, control.failure, 0},
                        /*isFinal=*/false));
    standIn.await(/*seconds=*/3, verdict);
  }
  // An agent prints by itself; without one, one of the ranks does.
  NodeBlock &node = ctx.memory.control->node;
  bool isAlone = node.hasStandIn.load() != 0;
  if (!agent && isAlone && node.hasPrinted.exchange(1) == 0)
    fprintf(stderr, "tessera: error: %s\n",
            verdict.text.empty() ? control.failure : verdict.text.c_str());
  return failureExitCode(control, TESSERA_RT_LOST_RANK);
}

int tessera::rt::joinRanks(const Environment &environment,
                           const Placement &place, const Manifest &manifest,
                           const Options &options, RankBody body) {
  MeetingFile meeting(nameOnNode(environment, place), environment.rank, place,
                      manifest, options.timeouts.join);
  tessera_rt_context ctx;
  setJoined(&meeting, nullptr);
  handleStops(onSignal);
  signal(SIGUSR1, onAsk);
  std::string error = takeSlot(meeting, ctx, environment.rank);
  if (!error.empty()) {
    fprintf(stderr, "tessera: error: rank %d cannot join '%s': %s\n",
            environment.rank, meeting.name(), error.c_str());
    handleStops(SIG_DFL);
    setJoined(nullptr, nullptr);
    return 1;
  }
  RankBlock &block = ctx.memory.blocks[environment.rank];
  block.state.store(RankState::Running);
  prepareContext(ctx, environment.rank, manifest, options);
  setJoined(&meeting, &ctx);
  // The name must not outlive the rendezvous, whether it succeeds or not.
  Status met = barrierOfNode(&ctx, BarrierStart);
  meeting.remove();
  setJoined(nullptr, &ctx);
  meeting.leave();
  std::unique_ptr<Agent> agent;
  if (place.isAcrossNodes() && ctx.rank == place.firstRank()) {
    agent =
        std::make_unique<Agent>(ctx.memory, manifest, options, environment.job);
    ctx.agentWake = agent->wake();
    agent->start(/*prints=*/true);
  }
  const ControlBlock &control = *ctx.memory.control;
  int status =
      met ? failureExitCode(control, met) : body(&ctx, manifest, options);
  bool isFailure = status != 0;
  block.state.store(status ? RankState::Failed : RankState::Finished);
  if (place.isAcrossNodes())
    status = awaitVerdict(ctx, agent.get(), status);
  handleStops(SIG_DFL);
  if (!isFailure)
    status = control.exitCode.load();
  // Work on a failed device may never end, and a normal exit would wait for it.
  if (isFailure && targetKind.hasDevices) {
    fflush(nullptr);
    _exit(status);
  }
  // Its thread uses the memory.
  ctx.mirror.reset();
  ctx.target.reset();
  ctx.pool.reset();
  ctx.memory.unmap();
  return status;
}
