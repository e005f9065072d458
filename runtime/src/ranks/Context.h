//===- Context.h - State of one rank ----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The definition of tessera_rt_context: this rank's view of the job, its
// threads, its groups and its collectives in flight. One thread uses it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_CONTEXT_H
#define TESSERA_RT_SRC_CONTEXT_H

#include "Control.h"
#include "Operation.h"
#include "host/Scratch.h"
#include "host/StateReader.h"
#include "host/Target.h"
#include "support/ThreadPool.h"
#include "support/Timeouts.h"

#include <functional>
#include <memory>
#include <vector>

namespace tessera::rt {

class Mirror;

/// Progress of an operation in flight.
enum class Stage {
  Free,
  /// Waits until the peers it needs have posted; then moves data.
  Matching,
  /// Only a sum that goes from node to node: adds what comes.
  Summing,
  /// Only a large all_reduce: waits for the peers' reduced parts.
  Gathering,
  /// Waits until all readers of this rank's source have finished.
  Draining,
  Complete
};

/// The tokens of a dispatch or a combine.
struct TokenRows {
  /// Offset of the ids in this rank's arena, [tokens of the result][choices].
  int64_t idsOffset = 0;
  int32_t idType = 0;
  /// Elements of a row, ids of a token, experts of a block.
  int64_t width = 1, choices = 0, experts = 1;
  /// The block of each member, by group index.
  std::vector<int64_t> blocks;
};

/// A sum that goes from node to node; see nodes/NodeSums.h.
struct NodeSum {
  /// Nodes of the group, and members on each.
  int nodes = 0, perNode = 0;
  /// Elements of this rank's share that it has added, and whose result it has.
  int64_t added = 0, finished = 0;

  /// False if every member reads all operands.
  bool isUsed() const { return nodes > 0; }
};

/// An operation between start and wait, as its own rank sees it.
struct Operation {
  Stage stage = Stage::Free;
  OpKind kind = OpKind::Barrier;
  Group *group = nullptr;
  uint64_t ticket = 0;
  Header header;
  int64_t sourceOffset = 0;
  int64_t destinationOffset = 0;
  /// Used by gathers and scatters.
  int64_t outer = 1, inner = 0;
  /// Used by permute: the members that read from this one.
  std::vector<int> targets;
  /// Used by send and recv: the partner's group index, and the tag.
  int64_t peer = 0, tag = 0;
  /// Used by all_to_all.
  std::vector<int64_t> shape;
  int32_t splitDim = 0, concatDim = 0;
  /// Used by dispatch and combine.
  TokenRows tokens;
  /// Used by all_reduce and reduce_scatter.
  NodeSum nodeSum;
  /// The only peer (group index) this rank reads from; -1: none; -2: all.
  int readsFrom = -2;
  /// Acknowledgments that this rank awaits: of peers that read from it, and of
  /// other nodes as a whole.
  uint32_t readers = 0;
  /// True if peers read from this rank.
  bool isRead = false;
  /// Bytes of the operand, from sourceOffset on.
  int64_t sourceBytes = 0;
  /// Per group index: the slot in which the peer posted it, or -1.
  std::vector<int16_t> peerSlot;
  /// Result of a small in-place all_reduce until the source may be overwritten.
  std::vector<uint8_t> held;
};

/// Moves the data of collectives if the peers' operands are not in the host's
/// arenas. Between the calls for one operation no peer changes the data that is
/// read.
class DataMover {
public:
  virtual ~DataMover() = default;
  /// The time, by the monotonic clock, from which the data of a send or receive
  /// that both sides have posted may be moved; 0: now, as for all other
  /// operations.
  virtual double readyAt(int32_t slot, const Operation &op) { return 0; }
  /// Moves the data. Every peer that this rank reads from has posted.
  virtual Status move(int32_t slot, Operation &op) = 0;
  /// Releases the source. Every reader of it has moved its data.
  virtual Status release(int32_t slot, Operation &op) = 0;
};

/// A fault to raise when this rank posts a given collective; for tests.
struct InjectedFault {
  enum Kind { None, Kill, Stop, Sleep } kind = None;
  int64_t sequenceId = 0;
};

} // namespace tessera::rt

struct tessera_rt_context {
  tessera_rt_context();
  ~tessera_rt_context();

  int rank = 0;
  int ranks = 1;
  /// True when a launcher of ours watches and prints failures.
  bool launched = false;
  tessera::rt::SharedMemory memory;
  std::vector<tessera::rt::MeshAxis> mesh;
  std::unique_ptr<tessera::rt::ThreadPool> pool;
  tessera::rt::ScratchSet scratch;
  std::unique_ptr<tessera::rt::Target> target;
  /// Null if the operands are in the host's arenas.
  tessera::rt::DataMover *mover = nullptr;
  /// Null if all ranks are on one node.
  std::unique_ptr<tessera::rt::Mirror> mirror;
  /// Descriptor that wakes the agent of this node; -1: there is none.
  int agentWake = -1;
  /// Null if nothing reads the state of the step before.
  tessera::rt::StateReader *stateReader = nullptr;
  std::vector<std::unique_ptr<tessera::rt::Group>> groups;
  tessera::rt::Operation operations[tessera::rt::numSlots];
  /// Seconds that a wait for other ranks may last.
  double timeout = tessera::rt::Timeouts().firstStep;
  /// Iterations of a wait before it sleeps; few, since ranks share cores.
  int spinIterations = 64;
  /// True if the ranks have more threads than there are processors.
  bool sharesProcessors = false;
  /// True if a wait must look at once whether other ranks live: a launcher that
  /// ends all ranks since one was lost leaves little time. A signal sets it.
  std::atomic<bool> looksNow{false};
  /// During a wait: the next time, by the monotonic clock, at which a mover is
  /// ready.
  double readyAt = 0;
  tessera::rt::InjectedFault fault;
  /// Seconds spent waiting for other ranks.
  double waitSeconds = 0;

  /// The host's arena of this rank.
  uint8_t *arena() const { return memory.arena(rank); }
  tessera::rt::RankBlock &block() { return memory.blocks[rank]; }
};

namespace tessera::rt {

/// Records the failure "rank R: text" for the job and returns `status`.
Status fail(tessera_rt_context *ctx, Status status, const std::string &text);

/// Returns this rank's group for these axes, built on first use, or null after
/// recording a failure.
Group *findGroup(tessera_rt_context *ctx, const int64_t *axes, int32_t numAxes);

/// Waits until all ranks of this node have reached this barrier.
Status barrierOfNode(tessera_rt_context *ctx, BarrierId id);

/// Gives the facts of this node's ranks about a step. The first rank calls it
/// when all ranks of its node have reached the barrier.
using StepExchange = std::function<void(StepFacts &facts)>;

/// Waits until all ranks have reached this barrier. Before any rank leaves it,
/// what rank 0 has decided in the control block is in that of every node. On
/// several nodes, NodeBlock::facts then has the facts of all.
Status barrier(tessera_rt_context *ctx, BarrierId id,
               const StepExchange *exchange = nullptr);

/// Waits, however long it takes, until rank 0 has published more than `served`
/// requests.
Status awaitRequest(tessera_rt_context *ctx, uint64_t served);

/// Waits, while operations in flight advance, until something that other nodes
/// do is over; `what` is it, for the message about a wait that is too long.
Status waitForNodes(tessera_rt_context *ctx, const std::string &what,
                    const std::function<bool()> &isOver);

/// "rank 3", or on several nodes "rank 3 on node 1 (host)", without the host if
/// it is another.
std::string nameRank(const SharedMemory &memory, int rank);

/// Arguments that all collectives have in common.
struct CollectiveCall {
  int32_t slot;
  int64_t sequenceId;
  /// The group: pairs {stride, size}.
  const int64_t *axes;
  int32_t numAxes;
  int32_t dtype;
  int64_t sourceOffset;
  int64_t destinationOffset;
};

/// Checks and starts a send to, or a receive from, the member `peer` of the
/// group. The offset of the other side is ignored.
Status startTransfer(tessera_rt_context *ctx, const CollectiveCall &call,
                     OpKind kind, int64_t peer, int64_t tag, int64_t count);

/// Publishes `op` as entry `slot` of this rank and wakes the group if others
/// read from it. Its ticket is the same on all ranks of its group (for a send
/// and its receive: on the two). Returns TESSERA_RT_ABORTED if the job has
/// already been aborted; the operation is published even so.
Status postOperation(tessera_rt_context *ctx, int32_t slot, Operation &op);

/// Moves the data of one operation; see CollectiveAlgorithms.cpp. `peers` are
/// the sources by group index (null if nothing is read).
void moveData(tessera_rt_context *ctx, Operation &op,
              const uint8_t *const *peers);
/// Returns the number of members that this rank has the reduced chunks of a
/// large all_reduce from, itself included, and the index of the first: all of
/// the group, or in a sum that goes from node to node those of this node.
int findChunkOwners(const Operation &op, int &first);
/// The second half of a large all_reduce: fetches the peers' reduced chunks.
void gatherReduced(tessera_rt_context *ctx, Operation &op,
                   const uint8_t *const *peers);
/// Whether an all_reduce works in two halves.
bool isLargeReduce(const Operation &op);
/// Elements [begin, end) of one of `parts` almost equal parts of `count`.
void getChunk(int64_t count, int64_t parts, int64_t part, int64_t &begin,
              int64_t &end);
/// The elements [begin, end) of a large all_reduce that a member, by group
/// index, reduces if every member reads all operands.
void getReducedChunk(const Operation &op, int index, int64_t &begin,
                     int64_t &end);

/// Records a failure if the process of another rank is gone.
Status checkRanksLive(tessera_rt_context *ctx);
/// Waits until the state of the step before has been read, if something reads
/// it. Records a failure if the reader hangs or another rank is gone.
Status awaitStateReader(tessera_rt_context *ctx);
/// Records that `what`, something that devices do together, is not over after
/// `waited` seconds, with the rank that delays the others if one does.
Status reportLateDevices(tessera_rt_context *ctx, const std::string &what,
                         double waited);
/// Records a failure that may be due to the loss of another rank, unless it
/// turns out within two seconds that a rank is lost.
Status failUnlessRankLost(tessera_rt_context *ctx, Status status,
                          const std::string &text);

/// Bytes of other members' operands that this rank's share of a sum takes if
/// every member reads all of them: what reports count, wherever members are.
int64_t bytesToReduce(const Operation &op);

/// Adds to the calls and received bytes of the report.
void countTraffic(tessera_rt_context *ctx, const Operation &op, int64_t calls,
                  int64_t bytes);

/// Copies `bytes` bytes, on all threads if there are many.
void copyBytes(tessera_rt_context *ctx, void *destination, const void *source,
               int64_t bytes);

/// A strided copy; the body of tessera_rt_copy, with element pointers.
void copyStrided(tessera_rt_context *ctx, int64_t elementSize, int32_t rank,
                 const int64_t *shape, const uint8_t *source,
                 const int64_t *sourceStrides, uint8_t *destination,
                 const int64_t *destinationStrides);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_CONTEXT_H
