//===- FormCollectiveMatmul.cpp - Forms collective matmuls ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds matmuls next to a collective that can run in chunks while it
// communicates, estimates both forms, and takes the faster one.
//
//===----------------------------------------------------------------------===//

#include "CollectiveMatmul.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Cluster/LinksAttr.h"
#include "tessera/Collectives/Passes.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "tessera/LocalCollectives/CollectiveUse.h"

namespace tessera {
#define GEN_PASS_DEF_FORMCOLLECTIVEMATMULPASS
#include "tessera/Collectives/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// A collective and the matmuls that can overlap with it.
struct RingCandidate {
  dist::CollectiveOpInterface collective;
  SmallVector<Operation *> matmuls;
  /// For each matmul, the dimension of its result that is split into chunks.
  SmallVector<unsigned> dims;
  /// The op before which the collective matmul would be inserted.
  Operation *point = nullptr;
  /// True if the gathered value has other users.
  bool yieldsGathered = false;
};

/// Seconds of a candidate as it is, and as a ring.
struct RingTimes {
  double apart = 0, ring = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

static bool isMatmul(Operation *op) {
  return getOpCost(op).kind == CostKind::Matmul && isMemoryEffectFree(op);
}

static bool isBefore(Value value, Operation *op) {
  Operation *def = value.getDefiningOp();
  return !def || def->getBlock() != op->getBlock() || def->isBeforeInBlock(op);
}

static void keepEarliest(Operation *&first, Operation *op) {
  if (op->isBeforeInBlock(first))
    first = op;
}

/// Returns the matmuls of a gathered value whose other operands are all ready
/// before the first use of any of their results.
static std::optional<RingCandidate> findGather(dist::AllGatherOp gather) {
  RingCandidate found{gather, {}, {}, nullptr, false};
  Block *block = gather->getBlock();
  SmallVector<std::pair<Operation *, unsigned>> matmuls;
  SmallVector<Operation *> others;
  for (Operation *user : gather.getResult().getUsers()) {
    Operation *here = block->findAncestorOpInBlock(*user);
    unsigned dim = 0;
    bool fits = here == user && isMatmul(user) &&
                user->getOperand(0) != user->getOperand(1);
    for (unsigned i = 0; fits && i < 2; ++i)
      if (user->getOperand(i) == gather.getResult())
        fits = dist::isParallelIn(user, i, gather.getDim(), dim);
    if (fits)
      matmuls.push_back({user, dim});
    else
      others.push_back(here);
  }
  llvm::sort(matmuls, [](auto &a, auto &b) {
    return a.first->isBeforeInBlock(b.first);
  });
  for (bool changed = true; changed;) {
    found.point = block->getTerminator();
    for (Operation *other : others)
      keepEarliest(found.point, other);
    for (auto [matmul, dim] : matmuls)
      for (Operation *user : matmul->getResult(0).getUsers())
        keepEarliest(found.point, block->findAncestorOpInBlock(*user));
    changed = llvm::any_of(matmuls, [&](auto &entry) {
      bool isLate = llvm::any_of(entry.first->getOperands(), [&](Value v) {
        return !isBefore(v, found.point);
      });
      if (isLate)
        others.push_back(entry.first);
      return isLate;
    });
    llvm::erase_if(matmuls, [&](auto &entry) {
      return llvm::is_contained(others, entry.first);
    });
  }
  if (matmuls.empty())
    return std::nullopt;
  for (auto [matmul, dim] : matmuls) {
    found.matmuls.push_back(matmul);
    found.dims.push_back(dim);
  }
  found.yieldsGathered = !others.empty();
  return found;
}

static std::optional<RingCandidate> findScatter(dist::ReduceScatterOp scatter) {
  Operation *matmul = scatter.getInput().getDefiningOp();
  if (!matmul || scatter.getKind() != dist::ReductionKind::Sum ||
      matmul->getBlock() != scatter->getBlock() || !isMatmul(matmul) ||
      !matmul->hasOneUse() ||
      !dist::findParallelOperand(matmul, scatter.getDim()))
    return std::nullopt;
  return RingCandidate{scatter,
                       {matmul},
                       {static_cast<unsigned>(scatter.getDim())},
                       scatter,
                       false};
}

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

/// Returns the seconds of a matmul whose `operand` is `count` times smaller in
/// `dim`.
static double getChunkSeconds(Operation *matmul, unsigned operand, int64_t dim,
                              unsigned resultDim, int64_t count) {
  Block scratch;
  OpBuilder builder(matmul->getContext());
  builder.setInsertionPointToEnd(&scratch);
  IRMapping mapping;
  for (auto [i, value] : llvm::enumerate(matmul->getOperands())) {
    auto type = cast<RankedTensorType>(value.getType());
    mapping.map(value, scratch.addArgument(
                           i == operand ? getChunkType(type, dim, count) : type,
                           matmul->getLoc()));
  }
  auto type = cast<RankedTensorType>(matmul->getResult(0).getType());
  Value chunk = cloneChunk(builder, matmul, mapping,
                           getChunkType(type, resultDim, count));
  return getKernelSeconds(chunk.getDefiningOp(), getWorkRates(matmul));
}

/// Returns the seconds of `passes` over a tensor in `kernels` kernels.
static double getPassSeconds(const WorkRates &rates, Type type, double passes,
                             int64_t kernels) {
  return double(kernels) * rates.kernelFloor +
         passes * getTensorBytes(type) / rates.bytesPerSecond;
}

static RingTimes getTimes(const RingCandidate &candidate,
                          const CollectiveUse &use, const MeshLinks &links,
                          const Mesh &mesh) {
  dist::CollectiveOpInterface op = candidate.collective;
  AxisList axes = op.getAxes().toAxes(mesh);
  int64_t count = numShards(axes);
  auto gather = dyn_cast<dist::AllGatherOp>(*op);
  // Each step sends one device's chunk.
  Type part = gather ? gather.getInput().getType() : op->getResult(0).getType();
  double travel = getCollectiveTime(links, mesh, CollectiveKind::Permute,
                                    getTensorBytes(part), axes);
  WorkRates rates = getWorkRates(op);
  RingTimes times;
  times.apart = use.time;
  double step = 0, copies = 0;
  for (auto [matmul, dim] :
       llvm::zip_equal(candidate.matmuls, candidate.dims)) {
    times.apart += getKernelSeconds(matmul, rates);
    if (gather) {
      unsigned operand = matmul->getOperand(0) == gather.getResult() ? 0 : 1;
      step += getChunkSeconds(matmul, operand, gather.getDim(), dim, count);
      copies += getPassSeconds(rates, matmul->getResult(0).getType(), 2, count);
    } else {
      auto [operand, from] = *dist::findParallelOperand(matmul, dim);
      step += getChunkSeconds(matmul, operand, from, dim, count);
      copies +=
          getPassSeconds(rates, matmul->getOperand(operand).getType(), 2,
                         count) +
          getPassSeconds(rates, matmul->getResult(0).getType(), 3, count - 1);
    }
  }
  if (candidate.yieldsGathered)
    copies += getPassSeconds(rates, op->getResult(0).getType(), 2, count);
  times.ring = double(count - 1) * std::max(step, travel) + step + copies;
  return times;
}

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

static void form(const RingCandidate &candidate) {
  Operation *collective = candidate.collective;
  bool gathers = isa<dist::AllGatherOp>(collective);
  OpBuilder builder(candidate.point);
  llvm::SetVector<Value> inputs;
  if (gathers)
    inputs.insert(collective->getOperand(0));
  for (Operation *matmul : candidate.matmuls)
    for (Value operand : matmul->getOperands())
      if (operand != collective->getResult(0))
        inputs.insert(operand);
  SmallVector<Value> outputs;
  if (gathers)
    for (Operation *matmul : candidate.matmuls)
      outputs.push_back(matmul->getResult(0));
  if (!gathers || candidate.yieldsGathered)
    outputs.push_back(collective->getResult(0));
  SmallVector<Operation *> inside(candidate.matmuls);
  inside.insert(gathers ? inside.begin() : inside.end(), collective);

  auto op = dist::CollectiveMatmulOp::create(builder, collective->getLoc(),
                                             ValueRange(outputs).getTypes(),
                                             inputs.getArrayRef());
  Block *body = builder.createBlock(&op.getBody());
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
  for (Operation *part : inside)
    builder.clone(*part, mapping);
  SmallVector<Value> yielded;
  for (Value output : outputs)
    yielded.push_back(mapping.lookup(output));
  dist::YieldOp::create(builder, collective->getLoc(), yielded);
  for (auto [output, result] : llvm::zip_equal(outputs, op.getResults()))
    output.replaceAllUsesWith(result);
  for (Operation *part : llvm::reverse(inside))
    part->erase();
}

static void remarkOn(const RingCandidate &candidate, const CollectiveUse &use,
                     const RingTimes &times, bool isFormed) {
  auto add = [&](auto &&remark) {
    remark << remark::add("{0} over {1} with {2} matmuls in chunks",
                          stringifyCollective(use.kind).str(), use.axes,
                          candidate.matmuls.size())
           << remark::metric("us", times.ring * 1e6)
           << remark::metric("apartUs", times.apart * 1e6)
           << remark::metric("usSaved", (times.apart - times.ring) * 1e6);
  };
  auto options =
      remark::RemarkOpts::name("CollectiveMatmul").category("partition");
  Location loc = use.op->getLoc();
  if (isFormed)
    add(remark::passed(loc, options));
  else
    add(remark::missed(loc, options));
}

namespace {
struct FormCollectiveMatmulPass
    : tessera::impl::FormCollectiveMatmulPassBase<FormCollectiveMatmulPass> {
  using FormCollectiveMatmulPassBase::FormCollectiveMatmulPassBase;

  void visit(Operation *op) {
    std::optional<RingCandidate> candidate;
    if (auto gather = dyn_cast<dist::AllGatherOp>(op))
      candidate = findGather(gather);
    else if (auto scatter = dyn_cast<dist::ReduceScatterOp>(op))
      candidate = findScatter(scatter);
    if (!candidate)
      return;
    auto meshOp = dist::lookupMesh(op, candidate->collective.getMeshAttr());
    Mesh mesh = meshOp.getMesh().toMesh();
    if (numShards(candidate->collective.getAxes().toAxes(mesh)) < 2)
      return;
    CollectiveUse use = *pricer.price(candidate->collective);
    RingTimes times = getTimes(*candidate, use, getMeshLinks(meshOp), mesh);
    bool isFormed = always || times.ring < times.apart;
    remarkOn(*candidate, use, times, isFormed);
    if (isFormed)
      form(*candidate);
  }

  void runOnOperation() override {
    SmallVector<Operation *> collectives;
    getOperation().walk([&](dist::CollectiveOpInterface op) {
      bool isLocal = op->getParentOfType<FunctionOpInterface>()->hasAttr(
          dist::DistDialect::kLocalAttr);
      if (isLocal && !op.getFromAttr() &&
          !isa<dist::StartOp, dist::BucketOp, dist::CollectiveMatmulOp,
               dist::RingAttentionOp>(op->getParentOp()))
        collectives.push_back(op);
    });
    for (Operation *op : collectives)
      visit(op);
  }

  CollectivePricer pricer;
};
} // namespace
