//===- FuseMatmulBeta.cpp - Sums of matmuls in place ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If a matmul or an embedding table's gradient is only added to a value with no
// later use, the library call itself adds it (beta = 1). Examples are gradients
// over micro-batches, gradients of a value with several uses, and the two
// gradients of a tied table.
//
//===----------------------------------------------------------------------===//

#include "dialects/RT/RT.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tessera/Fusion/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_FUSEMATMULBETAPASS
#include "tessera/Fusion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// Returns the operand that a call adds to; null if the op has none.
static MutableOperandRange *getInit(Operation *op,
                                    std::optional<MutableOperandRange> &init) {
  if (auto matmul = dyn_cast_or_null<rt::MatmulOp>(op))
    init.emplace(matmul.getInitMutable());
  else if (auto scaled = dyn_cast_or_null<rt::ScaledMatmulOp>(op))
    init.emplace(scaled.getInitMutable());
  else if (auto sums = dyn_cast_or_null<rt::EmbeddingBackwardOp>(op);
           sums && !sums.getReplace())
    init.emplace(sums.getInitMutable());
  return init ? &*init : nullptr;
}

/// True if the op adds its two inputs, element by element.
static bool isPlainSum(linalg::GenericOp op) {
  Block *body = op.getBody();
  if (op.getNumDpsInputs() != 2 || op.getNumResults() != 1 ||
      op.getNumReductionLoops() || body->getOperations().size() != 2 ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return false;
  auto add = dyn_cast<arith::AddFOp>(body->front());
  return add && body->getTerminator()->getOperand(0) == add &&
         llvm::is_contained(add->getOperands(), body->getArgument(0)) &&
         llvm::is_contained(add->getOperands(), body->getArgument(1));
}

/// True if nothing else reads the value. The sum may use it twice: as an
/// addend, and as the tensor that gives its result's shape.
static bool isReadOnlyBy(Value value, Operation *op) {
  return llvm::all_of(value.getUsers(),
                      [&](Operation *user) { return user == op; });
}

/// Returns the first call of a chain, in which each call adds to the previous
/// one, that ends in `value`, an operand of `reader`. The first call has no
/// addend yet. Returns null if there is none.
static Operation *getChainStart(Value value, Operation *reader) {
  std::optional<MutableOperandRange> init;
  Operation *op = value.getDefiningOp();
  if (!isReadOnlyBy(value, reader) || !getInit(op, init) ||
      op->getBlock() != reader->getBlock())
    return nullptr;
  return init->empty() ? op : getChainStart((*init)[0].get(), op);
}

/// Makes the chain that ends in `value` start from `sum`, and moves it after
/// `sum`. Operands stay before the calls.
static bool addOnto(Value value, Value sum, linalg::GenericOp add) {
  Block *block = add->getBlock();
  Operation *start = getChainStart(value, add);
  auto type = cast<RankedTensorType>(value.getType());
  // Leave a narrow sum: it would be rounded once instead of twice. A value
  // cannot be added to itself.
  if (!start || value == sum || !isReadOnlyBy(sum, add) ||
      type != sum.getType() || type.getElementTypeBitWidth() < 32)
    return false;
  Operation *def = sum.getDefiningOp();
  // A function's arguments must not be overwritten; a loop's own sum may be. A
  // kernel adds values that it computes itself, such as a broadcast bias.
  if (def ? def->getBlock() != block ||
                isa<arith::ConstantOp, linalg::LinalgOp>(def)
          : sum.getParentBlock() != block ||
                isa<FunctionOpInterface>(block->getParentOp()))
    return false;
  if (def && !def->isBeforeInBlock(start)) {
    if (start != value.getDefiningOp())
      return false;
    start->moveBefore(add);
  }
  std::optional<MutableOperandRange> init;
  getInit(start, init)->assign(sum);
  add.getResult(0).replaceAllUsesWith(value);
  add.erase();
  return true;
}

namespace {
struct FuseMatmulBetaPass
    : tessera::impl::FuseMatmulBetaPassBase<FuseMatmulBetaPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || func->hasAttr(rt::RTDialect::kKernelAttr))
      return;
    SmallVector<linalg::GenericOp> sums;
    func.walk([&](linalg::GenericOp op) {
      if (isPlainSum(op))
        sums.push_back(op);
    });
    for (linalg::GenericOp op : sums) {
      Value a = op.getDpsInputs()[0], b = op.getDpsInputs()[1];
      // The later one of two matmuls is added to the earlier one.
      Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
      if (first && second && first->getBlock() == second->getBlock() &&
          second->isBeforeInBlock(first))
        std::swap(a, b);
      if (!addOnto(b, a, op))
        addOnto(a, b, op);
    }
  }
};
} // namespace
