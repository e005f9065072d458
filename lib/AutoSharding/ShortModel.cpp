//===- ShortModel.cpp - A model with fewer of its equal blocks ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks are numbered by the parameters of their ops (ModelBlocks.h). Two that
// follow each other are equal if their ops are, one by one, and if operands are
// made at the same position of the block, or of the block before, or are equal
// parameters, or the same value.
//
//===----------------------------------------------------------------------===//

#include "ShortModel.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OperationSupport.h"
#include "tessera/Interfaces/ModelBlocks.h"

using namespace mlir;
using namespace tessera;

namespace {

/// The blocks of a function, and the longest run of equal ones.
class BlockRun {
public:
  explicit BlockRun(func::FuncOp func);

  /// Erases all blocks of the run but the first `kept`; false if an op outside
  /// of the run reads a value of an erased one before the last.
  bool shorten(unsigned kept);

  /// The first block of the run, and the number of its blocks.
  unsigned first = 0, count = 0;

private:
  /// An op's block, and its position in it.
  struct Position {
    unsigned block = 0;
    size_t index = 0;
  };
  bool isEqualArgument(BlockArgument a, BlockArgument b);
  bool isEqualOperand(Value a, Value b, unsigned block);
  bool isEqualToNext(unsigned block);
  std::optional<Position> find(Value value) const {
    auto it = positions.find(value.getDefiningOp());
    return it == positions.end() ? std::nullopt : std::optional(it->second);
  }
  /// True for a result of which each block has one, not the last block alone.
  bool isPerBlock(Value value);

  func::FuncOp func;
  /// The ops of each block, from 1; those of block 0 are outside of blocks.
  std::vector<SmallVector<Operation *>> blocks{1};
  llvm::DenseMap<Operation *, Position> positions;
};

} // namespace

BlockRun::BlockRun(func::FuncOp func) : func(func) {
  Block &body = func.getBody().front();
  std::vector<unsigned> numbers = numberModelBlocks(body, body.getTerminator());
  for (auto [op, block] : llvm::zip(body, numbers)) {
    if (block >= blocks.size())
      blocks.resize(block + 1);
    if (block > 0)
      positions[&op] = {block, blocks[block].size()};
    blocks[block].push_back(&op);
  }
  unsigned equal = 1;
  for (unsigned block = 1; block + 1 < blocks.size(); ++block) {
    equal = isEqualToNext(block) ? equal + 1 : 1;
    if (equal > count) {
      count = equal;
      first = block + 2 - equal;
    }
  }
}

/// Whether two parameters differ in their names alone.
bool BlockRun::isEqualArgument(BlockArgument a, BlockArgument b) {
  auto describe = [&](BlockArgument argument) {
    NamedAttrList attrs(func.getArgAttrDict(argument.getArgNumber()));
    attrs.erase(nn::NNDialect::kParamAttr);
    attrs.erase(nn::NNDialect::kSourceAttr);
    return attrs.getDictionary(func.getContext());
  };
  return getParameterName(a) && getParameterName(b) &&
         describe(a) == describe(b);
}

/// Whether `b`, an operand in the block after `block`, is what `a` is in it.
bool BlockRun::isEqualOperand(Value a, Value b, unsigned block) {
  if (a.getType() != b.getType())
    return false;
  auto argument = dyn_cast<BlockArgument>(a),
       other = dyn_cast<BlockArgument>(b);
  if (argument && other)
    return a == b || isEqualArgument(argument, other);
  std::optional<Position> at = find(a), next = find(b);
  if (!at || !next)
    return a == b;
  return at->index == next->index && at->block + 1 == next->block &&
         (at->block == block || at->block + 1 == block) &&
         cast<OpResult>(a).getResultNumber() ==
             cast<OpResult>(b).getResultNumber();
}

bool BlockRun::isEqualToNext(unsigned block) {
  ArrayRef<Operation *> own = blocks[block], next = blocks[block + 1];
  if (own.size() != next.size())
    return false;
  for (auto [a, b] : llvm::zip(own, next)) {
    if (a->getNumRegions() != 0 ||
        !OperationEquivalence::isEquivalentTo(
            a, b, OperationEquivalence::ignoreValueEquivalence,
            /*markEquivalent=*/nullptr, OperationEquivalence::IgnoreLocations))
      return false;
    for (auto [x, y] : llvm::zip(a->getOperands(), b->getOperands()))
      if (!isEqualOperand(x, y, block))
        return false;
  }
  return true;
}

bool BlockRun::isPerBlock(Value value) {
  Position at = *find(value);
  Value before = blocks[at.block - 1][at.index]->getResult(
      cast<OpResult>(value).getResultNumber());
  Operation *terminator = func.getBody().front().getTerminator();
  return llvm::is_contained(before.getUsers(), terminator);
}

bool BlockRun::shorten(unsigned kept) {
  Operation *terminator = func.getBody().front().getTerminator();
  unsigned end = first + count, begin = first + kept;
  auto isErased = [&](Operation *op) {
    auto it = positions.find(op);
    return it != positions.end() && it->second.block >= begin &&
           it->second.block < end;
  };
  llvm::BitVector results(terminator->getNumOperands());
  for (unsigned block = begin; block < end; ++block)
    for (Operation *op : blocks[block])
      for (OpResult value : op->getResults())
        for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
          if (isErased(use.getOwner()))
            continue;
          if (use.getOwner() == terminator && isPerBlock(value))
            results.set(use.getOperandNumber());
          else if (block + 1 == end)
            use.set(blocks[begin - 1][positions[op].index]->getResult(
                value.getResultNumber()));
          else
            return false;
        }
  terminator->eraseOperands(results);
  for (unsigned block = end; block-- > begin;)
    for (Operation *op : llvm::reverse(blocks[block]))
      op->erase();
  llvm::BitVector arguments(func.getNumArguments());
  for (BlockArgument argument : func.getArguments())
    if (argument.use_empty() && getParameterName(argument))
      arguments.set(argument.getArgNumber());
  return succeeded(func.eraseResults(results)) &&
         succeeded(func.eraseArguments(arguments));
}

/// Returns the only function with a body, of one block; null if there is none.
static func::FuncOp findOnlyFunction(ModuleOp module) {
  func::FuncOp only;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal())
      continue;
    if (only || !func.getBody().hasOneBlock())
      return nullptr;
    only = func;
  }
  return only;
}

unsigned tessera::countEqualBlocks(ModuleOp module) {
  func::FuncOp func = findOnlyFunction(module);
  return func ? BlockRun(func).count : 0;
}

OwningOpRef<ModuleOp> tessera::shortenModel(ModuleOp module, unsigned kept) {
  OwningOpRef<ModuleOp> copy = module.clone();
  BlockRun run(findOnlyFunction(*copy));
  return run.shorten(kept) ? std::move(copy) : nullptr;
}
