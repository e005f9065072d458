//===- CheckDeadlock.cpp - Checks that no rank waits forever --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All ranks run one program, so all of them post collectives in program order:
// a total order on each communicator, and on all together. Only some
// coordinates run sends and receives, and each pair connects two points of the
// program. For a program with sends and receives, the pass lists the
// communications that each rank posts, and checks them.
//
//===----------------------------------------------------------------------===//

#include "OverlapBuilder.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Collectives/CommunicationOrder.h"
#include "tessera/Collectives/Passes.h"
#include <map>

namespace tessera {
#define GEN_PASS_DEF_CHECKDEADLOCKPASS
#include "tessera/Collectives/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Starts, waits and slots
//===----------------------------------------------------------------------===//

/// Returns the slot of a start, a wait or an exchange; none before slots are
/// assigned.
static std::optional<int64_t> getSlot(Operation *op) {
  auto slot = op->getAttrOfType<IntegerAttr>(rt::RTDialect::kSlotAttr);
  return slot ? std::optional<int64_t>(slot.getInt()) : std::nullopt;
}

/// Fails if the slot of an op is that of a start in flight.
static LogicalResult checkFree(Operation *op,
                               const std::map<int64_t, Operation *> &taken) {
  std::optional<int64_t> slot = getSlot(op);
  auto it = slot ? taken.find(*slot) : taken.end();
  if (it == taken.end())
    return success();
  InFlightDiagnostic error = op->emitError("expects a free slot but got slot ")
                             << *slot;
  error.attachNote(it->second->getLoc()) << "in flight since here";
  return error;
}

/// Checks that each start has its wait in its block, and a slot that no other
/// start uses meanwhile. `taken` has the starts in flight, by slot.
static LogicalResult checkStarts(Block &block,
                                 std::map<int64_t, Operation *> taken) {
  for (Operation &op : block) {
    if (auto wait = dyn_cast<dist::WaitOp>(op)) {
      Operation *start = wait.getFuture().getDefiningOp();
      if (start && getSlot(start) != getSlot(wait))
        return wait.emitError("expects the slot of its dist.start");
      if (std::optional<int64_t> slot = getSlot(wait))
        taken.erase(*slot);
      continue;
    }
    if (auto start = dyn_cast<dist::StartOp>(op)) {
      if (!findWait(start))
        return start.emitError("expects one dist.wait, in the same block, but "
                               "its future has ")
               << llvm::range_size(start.getFuture().getUses())
               << " uses in this function";
      if (failed(checkFree(start, taken)))
        return failure();
      if (std::optional<int64_t> slot = getSlot(start))
        taken.insert({*slot, start});
      continue;
    }
    if (isa<dist::ExchangeOp>(op) && failed(checkFree(&op, taken)))
      return failure();
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        if (failed(checkStarts(inner, taken)))
          return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// What each rank posts
//===----------------------------------------------------------------------===//

namespace {

class OrderReader {
public:
  explicit OrderReader(const Mesh &mesh) : mesh(mesh) {
    order.ranks.resize(mesh.numDevices());
  }
  void read(Block &block);

  CommunicationOrder order;
  /// The op of each communication.
  SmallVector<Operation *> ops;

private:
  unsigned addCommunication(Operation *op, const Twine &name,
                            ArrayRef<int64_t> members, unsigned communicator);
  void addCollective(dist::CollectiveOpInterface op);
  void addTransfer(Operation *op, StringRef axis, int64_t from, int64_t to,
                   int64_t tag, bool sends);

  const Mesh &mesh;
  /// The communicator of a group, by its first member and axes.
  std::map<std::pair<int64_t, std::string>, unsigned> communicators;
  /// The number of a transfer, by sender, receiver, tag and count of earlier
  /// transfers with the same ones.
  std::map<std::tuple<int64_t, int64_t, int64_t, unsigned>, unsigned> transfers;
  /// The number of transfers that a rank has posted: {rank, peer, tag, sends}.
  std::map<std::tuple<int64_t, int64_t, int64_t, bool>, unsigned> posted;
};

} // namespace

unsigned OrderReader::addCommunication(Operation *op, const Twine &name,
                                       ArrayRef<int64_t> members,
                                       unsigned communicator) {
  Communication communication{name.str(), {}, communicator};
  for (int64_t member : members)
    communication.members.push_back(static_cast<unsigned>(member));
  order.communications.push_back(std::move(communication));
  ops.push_back(op);
  return order.communications.size() - 1;
}

void OrderReader::addCollective(dist::CollectiveOpInterface op) {
  std::optional<CollectiveKind> kind = op.getCollectiveKind();
  if (!kind)
    return;
  AxisList axes = op.getAxes().toAxes(mesh);
  std::string text;
  llvm::raw_string_ostream os(text);
  mesh.print(os, axes);
  for (int64_t device = 0; device < mesh.numDevices(); ++device) {
    if (mesh.shardIndex(device, axes) != 0)
      continue;
    unsigned communicator =
        communicators
            .insert(
                {{device, text}, static_cast<unsigned>(communicators.size())})
            .first->second;
    SmallVector<int64_t> members(mesh.group(device, axes));
    unsigned communication =
        addCommunication(op, stringifyCollective(*kind) + " over " + text,
                         members, communicator);
    for (int64_t member : members)
      order.ranks[member].push_back(communication);
  }
}

void OrderReader::addTransfer(Operation *op, StringRef axis, int64_t from,
                              int64_t to, int64_t tag, bool sends) {
  AxisStride strided = mesh.axisStride(mesh.fullAxis(*mesh.find(axis)));
  int64_t here = sends ? from : to;
  for (int64_t rank = 0; rank < mesh.numDevices(); ++rank) {
    if (rank / strided.stride % strided.size != here)
      continue;
    int64_t peer = rank + ((sends ? to : from) - here) * strided.stride;
    int64_t sender = sends ? rank : peer, receiver = sends ? peer : rank;
    unsigned number = posted[{rank, peer, tag, sends}]++;
    auto [it, isNew] = transfers.insert({{sender, receiver, tag, number}, 0});
    // Each transfer is a communicator of its own.
    if (isNew)
      it->second =
          addCommunication(op,
                           "send from rank " + Twine(sender) + " to rank " +
                               Twine(receiver) + " with tag " + Twine(tag),
                           {sender, receiver}, ~order.communications.size());
    order.ranks[rank].push_back(it->second);
  }
}

void OrderReader::read(Block &block) {
  for (Operation &op : block) {
    if (auto collective = dyn_cast<dist::CollectiveOpInterface>(op))
      addCollective(collective);
    else if (auto send = dyn_cast<dist::SendOp>(op))
      addTransfer(send, send.getAxis(), send.getFrom(), send.getTo(),
                  send.getTag(), /*sends=*/true);
    else if (auto recv = dyn_cast<dist::RecvOp>(op))
      addTransfer(recv, recv.getAxis(), recv.getFrom(), recv.getTo(),
                  recv.getTag(), /*sends=*/false);
    // Two runs show how the end of an iteration meets the start of the next.
    for (int64_t run = 0, runs = std::min<int64_t>(getNumRuns(&op), 2);
         run < runs; ++run)
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          read(inner);
  }
}

static LogicalResult checkOrder(func::FuncOp func) {
  dist::MeshOp meshOp;
  func.walk([&](Operation *op) {
    FlatSymbolRefAttr name;
    if (auto send = dyn_cast<dist::SendOp>(op))
      name = send.getMeshAttr();
    else if (auto recv = dyn_cast<dist::RecvOp>(op))
      name = recv.getMeshAttr();
    if (name && !meshOp)
      meshOp = dist::lookupMesh(op, name);
  });
  if (!meshOp)
    return success();
  Mesh mesh = meshOp.getMesh().toMesh();
  OrderReader reader(mesh);
  reader.read(func.front());
  std::optional<Deadlock> deadlock = findDeadlock(reader.order);
  if (!deadlock)
    return success();
  InFlightDiagnostic error =
      reader.ops[deadlock->communications.front()]->emitError(
          deadlock->message);
  for (unsigned communication : llvm::drop_begin(deadlock->communications))
    error.attachNote(reader.ops[communication]->getLoc())
        << reader.order.communications[communication].name;
  return error;
}

namespace {
struct CheckDeadlockPass
    : tessera::impl::CheckDeadlockPassBase<CheckDeadlockPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() &&
          (failed(checkStarts(func.front(), {})) || failed(checkOrder(func))))
        return signalPassFailure();
  }
};
} // namespace
