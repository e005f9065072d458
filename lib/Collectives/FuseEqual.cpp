//===- FuseEqual.cpp - Does equal collectives once ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parameter that rests in shards is gathered for each use on purpose: its
// whole value shall not stay. Two of its gathers are one where what then stays
// live longer is small enough.
//
//===----------------------------------------------------------------------===//

#include "FuseCollectives.h"

using namespace mlir;
using namespace tessera;

namespace {

/// Values that live longer than they would have, by the numbers of the ops
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
  // More than all that overlap are never live at one time.
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

/// True for an argument, for a cast or reshape of one, and for what was made of
/// them before the loop whose body the block is.
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
