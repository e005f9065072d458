//===- Control.h - Shared memory of a job -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layout of the one shared mapping of a node: a control block, then one
// arena per rank, then the stamps of the ranks' lists. It has only atomics and
// plain data, because processes map it at different addresses. Collectives.cpp,
// Waiting.cpp, Launcher.cpp and Rendezvous.cpp use it.
//
// The layout is that of all ranks of the job, on every node. The parts of ranks
// on other nodes take no memory until something of these ranks comes here; see
// nodes/Mirror.h.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_CONTROL_H
#define TESSERA_RT_SRC_CONTROL_H

#include "Placement.h"
#include "nodes/Meet.h"
#include "support/Support.h"
#include "tessera_serve.h"

#include <vector>

namespace tessera::rt {

/// The most ranks that share memory, and of a job.
constexpr int maxRanks = 1024, maxJobRanks = 1 << 16;
/// Values of a rank that is waited for: other nodes, and not one rank; devices,
/// of a rank that is not known.
constexpr int32_t waitsForNodes = -2, waitsForDevices = -3;
/// The reason why devices are late if no rank delays the others.
constexpr const char *devicesAreLate =
    "all ranks have begun it; their devices wait for each other or do not "
    "answer";
constexpr int maxSimulatedRanks = 64;
constexpr int maxTraffic = 64;
constexpr int maxGroups = 64;
constexpr int maxFacts = 64;
/// Files that a rank writes in a checkpoint.
constexpr int maxCheckpointFiles = 256;
/// The slots of the ABI, and one more for barriers of the runtime itself.
constexpr int numSlots = TESSERA_RT_MAX_SLOTS + 1;
constexpr int barrierSlot = TESSERA_RT_MAX_SLOTS;

/// Facts on which ranks must agree in a collective. They are compared field by
/// field, and printed if they differ.
struct Header {
  int64_t sequenceId = 0;
  int32_t op = 0;
  int32_t dtype = 0;
  int32_t reduction = 0;
  int64_t count = 0;
  /// Hash of the remaining shape numbers (outer, root, split and concat dim,
  /// ...).
  uint64_t shapeHash = 0;
  uint64_t groupHash = 0;
  /// The group as text, "dp,tp"; truncated when it is too long.
  char axes[40] = {};

  /// Compares all fields except informative ones. Point-to-point partners may
  /// differ in sequence id and op.
  bool matches(const Header &other, bool pointToPoint) const;
  /// "all_reduce #17 (sum f32[1024] over tp)"
  std::string describe() const;
};

/// A collective in flight on a rank. `ticket` (in RankBlock) publishes it: all
/// other fields are written before the ticket, and do not change until the
/// collective is complete.
struct alignas(64) Entry {
  Header header;
  int64_t sourceOffset = 0;
  int64_t destinationOffset = 0;
  /// Time of the monotonic clock.
  double postedAt = 0;
  /// Peers that will read from this rank, and those that have finished.
  uint32_t readers = 0;
  std::atomic<uint32_t> acknowledged{0};
  /// Used if ranks are threads of one process: the event that the source is
  /// ready, and by group index the event that a reader has read it.
  void *ready = nullptr;
  void *readersDone[maxSimulatedRanks] = {};
  /// 1 once this rank's part of an all_reduce is in its destination.
  std::atomic<uint32_t> phase{0};
  /// Elements of the result of a sum that goes from node to node that have come
  /// from a rank of another node.
  std::atomic<int64_t> results{0};
  /// True if the source of a rank on another node is in its inbox and not in
  /// its arena.
  bool isInInbox = false;
};

/// Data that a rank received in collectives of one kind over one set of axes.
struct Traffic {
  int32_t op = 0;
  char axes[40] = {};
  int64_t calls = 0;
  int64_t bytes = 0;
};

/// Resident bytes of one rank. Pages of other ranks' arenas that it has read
/// count for those ranks; replicated pages count for each of their ranks.
struct MemoryUse {
  /// Private pages now, and before arguments were filled.
  int64_t privateBytes = 0;
  int64_t privateAtStart = 0;
  /// Private pages of the buffers into which library calls pack operands.
  int64_t scratchBytes = 0;
  /// Pages of its own arena.
  int64_t arenaBytes = 0;

  int64_t total() const { return privateBytes + arenaBytes; }
};

/// The collectives of a step over one group, or the messages from one rank to
/// another, in their order.
struct GroupOrder {
  uint64_t group = 0;
  /// Hash of the facts on which ranks must agree.
  uint64_t order = 0;
  int64_t count = 0;
  char axes[40] = {};
};

/// A fact that ranks compare; see Agreement.h.
struct SharedFact {
  uint64_t hash = 0;
  /// The beginning of its value.
  char text[120] = {};
};

/// Data that a rank announces to others; see Sharing.h.
struct Announcement {
  /// 0: there is none.
  uint64_t name = 0;
  char data[128] = {};
};

/// The times at which a rank ran an entry of its list, and the entry.
struct Stamp {
  /// Times of the monotonic clock, in seconds.
  double begin = 0, end = 0;
  /// A tessera_rt_entry: RUN (also for a PAIR), SEND, RECV or WAIT.
  int32_t kind = 0;
  /// Fields of RUN: the function, its tessera_rt_task, its chunk and
  /// micro-batch.
  int32_t function = 0, task = 0, chunk = 0, microBatch = 0;
  /// Chunk and micro-batch of a PAIR's BW; those above are its F's. Negative if
  /// there is no pair.
  int32_t backwardChunk = -1, backwardMicroBatch = -1;
  /// Slot of SEND, RECV and WAIT.
  int32_t slot = 0;
  /// Fields of SEND and RECV: the other pp rank, and the tag.
  int32_t peer = 0, tag = 0;
};

/// The counts of a rank in a layer of experts, in a step.
struct LayerLoads {
  /// Tokens that were routed, and choices of each.
  int64_t tokens = 0, choices = 0;
  /// The first held expert, the number of held ones, and that of all of the
  /// layer.
  int64_t offset = 0, held = 0, experts = 0;
  /// The most rows of one call, the rows that there is room for, and those of a
  /// call of an even load.
  int64_t mostRows = 0, room = 0;
  double evenRows = 0;
  /// The most tokens from one device to another over those of an even load, if
  /// these are more than there is room for; else 0.
  double sentOverEven = 0;

  /// The uses of each expert, which follow.
  int64_t *uses() { return reinterpret_cast<int64_t *>(this + 1); }
};

/// Sizes of the tables that each rank has after the arenas.
struct TableSizes {
  /// Stamps of its list.
  int64_t stamps = 0;
  /// Layers of experts, and the most experts of one.
  int64_t layers = 0, experts = 0;
  /// Arguments and results, of which there may be replicas.
  int64_t values = 0;
  /// Bytes of an inbox, one per slot; 0: all ranks are on one node.
  int64_t inbox = 0;

  /// Bytes of the loads of one layer, and of all layers of a rank.
  int64_t bytesOfLayer() const {
    return int64_t(sizeof(LayerLoads)) + experts * int64_t(sizeof(int64_t));
  }
  int64_t bytesOfLoads() const { return layers * bytesOfLayer(); }
};

/// The checkpoints of a run, as one rank sees them.
struct CheckpointUse {
  /// Those that it began, and the bytes of the last one's files of all ranks.
  int64_t count = 0, bytes = 0;
  /// Seconds for which they made its steps wait.
  double waitSeconds = 0;
  /// Seconds from the begin of the last one to its commit. Rank 0 has them.
  double commitSeconds = 0;
};

/// The numbers that a rank reports. Ranks of other nodes send them to node 0.
struct RankNumbers {
  // Numbers of the last step; valid from its end to the start of the next.
  /// Time of the node's monotonic clock at its begin.
  double stepBegan = 0;
  /// Seconds that this rank did not wait for others.
  double busySeconds = 0;
  /// Processor seconds that it used.
  double stepCpuSeconds = 0;
  MemoryUse memory;
  /// Number of its stamps that its list has filled.
  int64_t numStamps = 0;

  // Numbers for the report; valid after the final barrier.
  double cpuSeconds = 0;
  /// Sum of busySeconds over the steps after the first.
  double allBusySeconds = 0;
  /// Seconds until its arguments were filled, and processor seconds until then.
  double initSeconds = 0, initCpuSeconds = 0;
  Traffic traffic[maxTraffic];
  int32_t numTraffic = 0;
  CheckpointUse checkpoints;
};

enum class RankState : uint32_t { Absent, Running, Finished, Failed };

/// A process as the system describes it.
struct Process {
  /// The state letter in /proc, 'Z' for a process that has ended but has not
  /// been waited for; 0: there is no such process.
  char state = 0;
  /// Start time in ticks since the system booted.
  uint64_t start = 0;
};
Process findProcess(int pid);

/// One rank's part of the control block. That rank writes it, except for the
/// doorbell and `acknowledged`, which its peers ring and increment.
struct alignas(64) RankBlock {
  /// Counts events that may concern this rank; it sleeps on this word.
  std::atomic<uint32_t> doorbell{0};
  std::atomic<uint32_t> sleeping{0};
  std::atomic<int32_t> pid{0};
  /// Start time of that process, which distinguishes it from a later one with
  /// the same number; 0: not known.
  std::atomic<uint64_t> start{0};
  std::atomic<RankState> state{RankState::Absent};
  /// The rank that this rank waits for, waitsForNodes, or -1.
  std::atomic<int32_t> waitingFor{-1};
  /// The call that its step makes, a number of tessera_program_calls; 0: it is
  /// in no step. Generated code writes it.
  std::atomic<int64_t> call{0};
  /// The newest collective that this rank posted, for error texts only.
  Header last;
  std::atomic<uint32_t> posted{0};
  /// Identity of the operation in each slot, 0 when free.
  alignas(64) std::atomic<uint64_t> tickets[numSlots] = {};
  Entry entries[numSlots];

  SharedFact facts[maxFacts];

  /// Steps that this rank has begun, for targets that run them asynchronously.
  std::atomic<int64_t> stepsBegun{0};
  /// Operations of this rank's step by group; valid after BarrierAgreed.
  GroupOrder orders[maxGroups];
  int32_t numOrders = 0;
  /// Hash of the axes over which its communicators are split.
  uint64_t splits = 0;
  Announcement announcements[maxGroups];
  /// Identifies its device; empty: it has none.
  char device[64] = {};
  /// Its arena on that device, for ranks of the same process.
  uint8_t *deviceArena = nullptr;
  /// The address at which its counterparts on other nodes reach it.
  char address[64] = {};

  /// "it was at matmul blocks.1.attn.wq, backward; its last collective is ...".
  /// Without the first part if that is not known.
  std::string describeWork() const;
  /// Makes this process the rank's process.
  void enter();
  /// Finds the rank's process. None if it has ended and another process has its
  /// number.
  Process findProcess() const;

  /// The checksums of its files of the newest checkpoint, by file, and the step
  /// of that checkpoint once all are on the disk; -1: there is none.
  uint64_t checkpointSums[maxCheckpointFiles] = {};
  std::atomic<int64_t> checkpointWritten{-1};

  RankNumbers numbers;
};

/// Messages between a node's first rank and its agent, which speaks to other
/// nodes.
struct NodeBlock {
  /// 1 once the agent has met all other nodes; the fields below are then valid.
  std::atomic<uint32_t> isJoined{0};
  /// The address at which this node's ranks listen, and what opens their doors.
  char address[64] = {};
  char token[96] = {};
  /// The address that ranks of this node can reach where its agent is stopped
  /// or dead: the root's, on node 0 that of the root's successor. And the bytes
  /// of the job's key.
  char rootEndpoint[64] = {};
  uint8_t rootKey[64] = {};

  /// Meets that the first rank asked for, and those that are over.
  std::atomic<uint64_t> meetsAsked{0}, meetsOver{0};
  /// This node's facts, and after the meet those of all.
  MeetFacts facts;

  /// Rank + 1 that complains of a long wait; 0: none does. The fields below are
  /// valid once the complaint is complete.
  std::atomic<int32_t> complainer{0};
  std::atomic<uint32_t> isComplaint{0};
  /// 1 once the agent has passed it on.
  std::atomic<uint32_t> isComplaintSent{0};
  /// The rank that it waits for, waitsForNodes or waitsForDevices.
  int32_t missing = 0;
  double waited = 0;
  char waitsIn[256] = {};
  /// The status of the job's failure, as all nodes have it, once `isJudged`.
  std::atomic<int32_t> verdictStatus{0};
  std::atomic<uint32_t> isJudged{0};
  /// 1 once a rank stands in for the agent, and once one has printed it.
  std::atomic<uint32_t> hasStandIn{0}, hasPrinted{0};
};

struct ControlBlock {
  uint64_t magic = 0;
  int32_t version = 0;
  int32_t ranks = 0;
  int64_t arenaBytes = 0;
  /// Page size at which replicas of parameters share one memory, as found by
  /// the process that initialized this block; 0: each replica has its own. All
  /// processes must map the arenas in the same way.
  int64_t replicaPageBytes = 0;
  /// Hash of program name, hash and ranks: all must run the same program.
  uint64_t programHash = 0;
  /// 1 once the layout is initialized (in joined mode the first rank to arrive
  /// does it).
  std::atomic<uint32_t> ready{0};
  /// Not 0: stop. Set after the failure below is complete.
  std::atomic<uint32_t> aborted{0};
  /// The signal that asks to end after the current step, or 0. Rank 0 checks it
  /// at the end of each step and decides for all.
  std::atomic<int32_t> stopSignal{0};
  std::atomic<int32_t> stopDecided{0};
  /// Not 0: a signal asks for a checkpoint after the current step.
  std::atomic<int32_t> checkpointAsked{0};
  /// The step after which rank 0 decided to begin a checkpoint.
  std::atomic<int64_t> checkpointBegins{-1};
  /// Identifies the folder of checkpoints that rank 0 has locked; 0: none.
  std::atomic<uint64_t> checkpointFolder{0};
  /// The step of the checkpoint that ranks try to load, and whether one of them
  /// found it damaged.
  std::atomic<int64_t> checkpointTried{-1};
  std::atomic<uint32_t> checkpointIsDamaged{0};
  /// The exit code of a run without failure: not 0 if steps remain.
  std::atomic<int32_t> exitCode{0};
  /// Requests of another program that rank 0 has published, and the last one.
  std::atomic<uint64_t> requests{0};
  serve::Request request;
  /// Checkpoints that these processes have committed.
  std::atomic<int64_t> committed{0};
  /// Owner of the failure text: rank + 1, or ranks + 1 for the launcher.
  std::atomic<int32_t> failureOwner{0};
  Status failureStatus = TESSERA_RT_OK;
  /// Long enough for a list of all files of a state.
  char failure[64 << 10] = {};
  NodeBlock node;
};

/// Bytes [begin, end) of an arena.
struct ByteRange {
  int64_t begin = 0, end = 0;
};

/// Whole pages with the same content in the arenas of several ranks, which no
/// step changes. They are one memory, mapped by all of these ranks.
struct ReplicatedPages {
  ByteRange range;
  /// Ranks in ascending order. The memory is in the arena of the first.
  std::vector<int> ranks;
};

/// A mapping of the job's shared memory in this process.
struct SharedMemory {
  uint8_t *base = nullptr;
  int64_t bytes = 0;
  ControlBlock *control = nullptr;
  RankBlock *blocks = nullptr;
  uint8_t *arenas = nullptr;
  int64_t arenaStride = 0;
  Placement place;

  /// Sizes of each rank's tables.
  TableSizes tables;
  /// Replicas by their offsets. A rank's replicas do not overlap.
  std::vector<ReplicatedPages> replicas;

  uint8_t *arena(int rank) const { return arenas + rank * arenaStride; }
  /// A rank's stamps, after all arenas. Pages that nobody writes take no
  /// memory.
  Stamp *stamps(int rank) const;
  /// A rank's counts of a layer of experts, after all stamps; null if it has no
  /// such layer.
  LayerLoads *loads(int rank, int64_t layer) const;
  /// A rank's hashes of its blocks of arguments, and then of results, after all
  /// loads.
  uint64_t *hashes(int rank) const;
  /// Small operands of a rank on another node, by slot.
  uint8_t *inbox(int rank, int slot) const;

  /// Bytes of everything before the arenas.
  static int64_t controlBytesFor(int ranks);
  /// Bytes of the mapping of a job.
  static int64_t bytesFor(int ranks, int64_t arenaBytes,
                          const TableSizes &tables = {});
  /// Maps `fd`, which already has that size. Returns false and sets errno on
  /// error.
  bool map(int fd, const Placement &placement, int64_t arenaBytes,
           const TableSizes &sizes = {});
  /// The bytes, from `base` on, of the control block and of this node's ranks'
  /// blocks.
  std::vector<ByteRange> ownControl() const;
  /// Constructs the control block, and those of this node's ranks, in zeroed
  /// memory.
  void initialise(int64_t arenaBytes, uint64_t programHash,
                  int64_t replicaPageBytes = 0);
  /// Makes pages of `fd` one memory. Call it after map, and before anything is
  /// written to the pages. Returns false and sets errno on error.
  bool shareReplicas(int fd, std::vector<ReplicatedPages> pages);
  /// The ranges that a rank fills within a range of its arena: all pages of its
  /// own, and its share of the pages that it shares with others.
  std::vector<ByteRange> rangesToFill(int rank, ByteRange range) const;
  /// Gives back the memory that arenas of other nodes' ranks take here. None of
  /// their operands may be in use.
  void forgetOtherNodes();
  void unmap();
};

/// Rings one rank's doorbell.
void ringDoorbell(RankBlock &block);

/// Records why the job stops and wakes everybody. Only the first call has an
/// effect. `owner` is a rank, or the number of ranks for the launcher. Returns
/// true if this call was the first.
bool recordFailure(SharedMemory &memory, int owner, Status status,
                   const std::string &text);

/// The exit code of a failure that the same command, given again, may not meet:
/// a lost rank, a system call that failed. (EX_TEMPFAIL of sysexits.h)
constexpr int exitMayRestart = 75;

/// The exit code of a failed run: `exitMayRestart` or 1. `own` is the status
/// that this process saw, if none is recorded.
int failureExitCode(const ControlBlock &control, Status own);

/// FNV-1a, continued from `seed`.
uint64_t hashBytes(const void *data, size_t bytes,
                   uint64_t seed = 0xcbf29ce484222325ull);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_CONTROL_H
