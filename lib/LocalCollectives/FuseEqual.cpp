//===- FuseEqual.cpp - Merges equal collectives ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parameter stored in shards is gathered again for each use on purpose, so
// that the whole parameter does not stay live. Two of its gathers are merged if
// the bytes that live longer are few enough.
//
//===----------------------------------------------------------------------===//

#include "FuseCollectives.h"

using namespace mlir;
using namespace tessera;

namespace {

/// Bytes that live longer than before the merge, and the numbers of the ops
/// between which they do.
struct Extension {
  unsigned begin, end;
  int64_t bytes;
};

class EqualMerger {
public:
  EqualMerger(Block &block, const FusionContext &context)
      : block(block), context(context) {
    for (auto [i, op] : llvm::enumerate(block))
      numbers[&op] = i;
  }

  bool run();

private:
  bool mayShare(Operation *first, Operation *second);
  unsigned getLastUse(Operation *op);

  Block &block;
  const FusionContext &context;
  llvm::DenseMap<Operation *, unsigned> numbers;
  SmallVector<Extension> extensions;
};

} // namespace

static int64_t countBytes(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Type element = type.getElementType();
  int64_t bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
  return type.getNumElements() * llvm::divideCeil(bits, 8);
}

unsigned EqualMerger::getLastUse(Operation *op) {
  unsigned last = numbers.lookup(op);
  for (Operation *user : op->getUsers())
    if (Operation *here = block.findAncestorOpInBlock(*user))
      last = std::max(last, numbers.lookup(here));
  return last;
}

/// True if the gathered parameter may stay from the last use of `first` until
/// `second`.
bool EqualMerger::mayShare(Operation *first, Operation *second) {
  Extension added{getLastUse(first), numbers.lookup(second),
                  countBytes(first->getResult(0))};
  if (added.begin >= added.end)
    return true;
  // The sum over all overlapping extensions is an upper bound of the live
  // bytes.
  int64_t live = added.bytes;
  for (const Extension &e : extensions)
    if (e.begin < added.end && added.begin < e.end)
      live += e.bytes;
  if (live > context.sharedBytes) {
    context.missed(second, "gather of a parameter shared",
                   std::to_string(live) + " bytes would stay live, at most " +
                       std::to_string(context.sharedBytes) + " may");
    return false;
  }
  extensions.push_back(added);
  return true;
}

/// True for an argument, a cast or reshape of one, and any value from outside
/// the block (such as from before the loop).
static bool isParameter(Value value, Block &block) {
  if (value.getParentBlock() != &block)
    return true;
  while (Operation *op = value.getDefiningOp()) {
    if (op->getNumOperands() != 1 || isa<dist::CollectiveOpInterface>(op))
      return false;
    value = op->getOperand(0);
  }
  return true;
}

bool EqualMerger::run() {
  bool changed = false;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isa<dist::CollectiveOpInterface>(op))
      continue;
    Operation *equal = nullptr;
    for (Operation *other : op.getOperand(0).getUsers())
      if (other != &op && other->getBlock() == &block &&
          other->getName() == op.getName() &&
          other->getPropertiesAsAttribute() == op.getPropertiesAsAttribute() &&
          other->getResultTypes() == op.getResultTypes() &&
          numbers.lookup(other) < numbers.lookup(&op) &&
          (!equal || numbers.lookup(equal) < numbers.lookup(other)))
        equal = other;
    if (!equal ||
        (isa<dist::AllGatherOp>(op) && isParameter(op.getOperand(0), block) &&
         !mayShare(equal, &op)))
      continue;
    context.passed(&op, "equal collectives merged");
    op.replaceAllUsesWith(equal);
    op.erase();
    changed = true;
  }
  return changed;
}

bool tessera::mergeEqual(Block &block, const FusionContext &context) {
  return EqualMerger(block, context).run();
}
