//===- Raise.cpp - Raises groups of ops to one nn op ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Raising matches no op sequences. The shape of a region proposes ops, and a
// trial of region and op in f64 decides.
//
//===----------------------------------------------------------------------===//

#include "EraseUnused.h"
#include "MoveConstraints.h"
#include "Proposals.h"
#include "RaiseAttention.h"
#include "RaiseChoices.h"
#include "RaiseRope.h"
#include "tessera/Interfaces/Limits.h"
#include "tessera/Raise/Passes.h"

#include "dialects/NN/NN.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Interfaces/ElementwiseBuilder.h"

#include <map>

namespace tessera {
#define GEN_PASS_DEF_RAISEPASS
#include "tessera/Raise/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// A region's structure without its position: equal regions are tried once.
using RegionKey = std::vector<const void *>;

RegionKey makeKey(const RowRegion &region) {
  llvm::DenseMap<Value, uintptr_t> numbers;
  auto number = [&](Value value) {
    return reinterpret_cast<const void *>(
        numbers.try_emplace(value, numbers.size()).first->second);
  };
  RegionKey key{region.x.getType().getAsOpaquePointer(), number(region.x)};
  for (ArrayRef<Value> values :
       {ArrayRef(region.vectors), ArrayRef(region.indices)})
    for (Value value : values)
      key.push_back(number(value));
  for (Operation *op : region.ops) {
    key.push_back(op->getName().getAsOpaquePointer());
    key.push_back(op->getAttrDictionary().getAsOpaquePointer());
    key.push_back(op->getResult(0).getType().getAsOpaquePointer());
    for (Value operand : op->getOperands()) {
      Attribute constant;
      bool isConstant = matchPattern(operand, m_Constant(&constant));
      key.push_back(isConstant ? constant.getAsOpaquePointer()
                               : number(operand));
    }
    key.push_back(number(op->getResult(0)));
  }
  return key;
}

class RaisePass : public tessera::impl::RaisePassBase<RaisePass> {
public:
  using RaisePassBase::RaisePassBase;

  void runOnOperation() override;

private:
  /// The closest proposal of a region.
  struct Outcome {
    std::optional<size_t> equal;
    double error = INFINITY;
    bool isCovered = false;
    std::string name;
  };

  Outcome tryRegion(const RowRegion &region, ArrayRef<Proposal> proposals);
  bool raise(Value y);
  void replace(const RowRegion &region, const Proposal &proposal, double error,
               const MovedConstraints &moved);
  void reportMiss(const RowRegion &region, const Outcome &outcome);

  std::map<RegionKey, Outcome> tried;
  DenseSet<Operation *> erased, reported;
};

} // namespace

RaisePass::Outcome RaisePass::tryRegion(const RowRegion &region,
                                        ArrayRef<Proposal> proposals) {
  auto [entry, isNew] = tried.try_emplace(makeKey(region));
  Outcome &outcome = entry->second;
  if (!isNew)
    return outcome;
  std::optional<TrialResult> result = tryProposals(region, proposals);
  if (!result)
    return outcome;
  size_t best = llvm::min_element(result->errors) - result->errors.begin();
  outcome = {result->findEqual(), result->errors[best], result->isCovered,
             proposals[best].name};
  return outcome;
}

void RaisePass::replace(const RowRegion &region, const Proposal &proposal,
                        double error, const MovedConstraints &moved) {
  Operation *last = region.y.getDefiningOp();
  OpBuilder builder(last);
  ElementwiseBuilder b{builder, last->getLoc()};
  Value x = constrain(builder, last->getLoc(), region.x, moved.x);
  Value raised =
      proposal.build(builder, last->getLoc(),
                     {x, region.vectors, region.indices, /*masks=*/{}});
  raised = b.cast(raised, getElementTypeOrSelf(region.y.getType()));
  Value y = region.y;
  y.replaceAllUsesWith(constrain(builder, last->getLoc(), raised, moved.y));
  eraseUnused(region.ops, erased);
  remark::passed(raised.getLoc(),
                 remark::RemarkOpts::name("Raised").category("import"))
      << remark::add("nn.{0}", proposal.name) << remark::metric("error", error);
}

/// Emits one remark for a near miss, and none for the regions inside it.
void RaisePass::reportMiss(const RowRegion &region, const Outcome &outcome) {
  constexpr double kNear = 0.5;
  if (outcome.error > kNear || reported.contains(region.ops.back()))
    return;
  reported.insert(region.ops.begin(), region.ops.end());
  StringRef why = outcome.isCovered
                      ? "another function"
                      : "a choice that rows of no scale take both ways";
  remark::missed(region.y.getLoc(),
                 remark::RemarkOpts::name("NotRaised").category("import"))
      << remark::add("nn.{0}: {1}", outcome.name, why)
      << remark::metric("error", outcome.error);
}

/// Replaces the largest region of y that equals an op.
bool RaisePass::raise(Value y) {
  std::vector<RowRegion> regions = findRowRegions(y, /*allowsMasks=*/false);
  const RowRegion *nearest = nullptr;
  Outcome closest;
  for (const RowRegion &region : llvm::reverse(regions)) {
    SmallVector<Proposal> proposals = proposeOps(region, skip);
    if (proposals.empty())
      continue;
    Outcome outcome = tryRegion(region, proposals);
    if (outcome.equal) {
      const Proposal &proposal = proposals[*outcome.equal];
      dist::ConstraintOp blocking;
      if (auto moved = moveConstraints(region, blocking)) {
        replace(region, proposal, outcome.error, *moved);
        return true;
      }
      if (reported.insert(blocking).second)
        reportBlocked(blocking, proposal.name);
      continue;
    }
    if (outcome.error < closest.error) {
      closest = outcome;
      nearest = &region;
    }
  }
  if (nearest)
    reportMiss(*nearest, closest);
  return false;
}

/// Whether all tensors have shapes that the `input` phase allows; other shapes
/// are rejected after the import.
static bool hasInputShapes(func::FuncOp function) {
  auto isInput = [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return !shaped ||
           (shaped.hasStaticShape() && !isTooLarge(shaped.getShape()));
  };
  auto walked = function.walk([&](Operation *op) {
    return llvm::all_of(op->getResultTypes(), isInput)
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  return !walked.wasInterrupted() &&
         llvm::all_of(function.getArgumentTypes(), isInput);
}

void RaisePass::runOnOperation() {
  if (!hasInputShapes(getOperation()))
    return;
  for (Block &block : getOperation().getBody()) {
    if (!llvm::is_contained(skip, "rope"))
      raiseRope(block);
    if (!llvm::is_contained(skip, "top_k"))
      raiseChoices(block);
    SmallVector<Operation *> ops;
    for (Operation &op : llvm::reverse(block))
      ops.push_back(&op);
    for (Operation *op : ops)
      if (!erased.contains(op) && op->getNumResults() == 1 &&
          !isa<dist::ConstraintOp>(op))
        raise(op->getResult(0));
    if (!llvm::is_contained(skip, "attention"))
      raiseAttention(block);
  }
  tried.clear();
  erased.clear();
  reported.clear();
}
