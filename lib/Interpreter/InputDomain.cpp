//===- InputDomain.cpp - Finds the valid integers of an argument ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interpreter/InputDomain.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interp;

namespace {
class DomainFinder {
public:
  explicit DomainFinder(bool onlyIds) : onlyIds(onlyIds) {}
  void find(Value value);
  IntegerDomain domain;

private:
  void addModelUse(OpOperand &use);
  void addArithmeticUse(OpOperand &use);
  void addPosition(OpOperand &use);
  void followRegions(OpOperand &use);

  /// True to ignore uses that do not constrain every element.
  const bool onlyIds;
  llvm::SmallPtrSet<Value, 8> visited;
};
} // namespace

/// True if not every run of its function runs the op.
static bool isConditional(Operation *op) {
  for (Operation *parent = op->getParentOp();
       parent && !isa<FunctionOpInterface>(parent);
       parent = parent->getParentOp())
    if (isa<scf::SCFDialect>(parent->getDialect()))
      return true;
  return false;
}

/// True if an element may be left out, or become another number.
static bool choosesElements(Operation *op) {
  return isa<arith::SelectOp, arith::TruncIOp, tensor::PadOp>(op);
}

/// True if each element of the results is an element of the operands, or the
/// same number in another integer type.
static bool movesElements(Operation *op) {
  return isa<tensor::TensorDialect, dist::DistDialect>(op->getDialect()) ||
         isa<nn::TransposeOp, nn::BroadcastOp, linalg::TransposeOp,
             linalg::BroadcastOp, linalg::CopyOp, arith::ExtSIOp,
             arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp,
             arith::IndexCastUIOp, arith::SelectOp>(op);
}

static int64_t lastSizeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape().back();
}

/// Ids, labels and starts of documents.
void DomainFinder::addModelUse(OpOperand &use) {
  Operation *op = use.getOwner();
  auto addLabels = [&](auto loss) {
    domain.restrict(loss.getClasses().value_or(lastSizeOf(loss.getLogits())));
    domain.ignored = static_cast<int64_t>(loss.getIgnore());
  };
  auto addStarts = [&](auto attention) {
    domain.isStarts |= use.get() == attention.getStarts();
  };
  if (auto attention = dyn_cast<nn::AttentionOp>(op))
    addStarts(attention);
  else if (auto backward = dyn_cast<nn::AttentionBackwardOp>(op))
    addStarts(backward);
  else if (auto embedding = dyn_cast<nn::EmbeddingOp>(op))
    domain.restrict(embedding.getIdLimit().value_or(
        embedding.getTable().getType().getDimSize(0)));
  else if (auto rows = dyn_cast<nn::EmbeddingBackwardOp>(op))
    domain.restrict(rows.getType().getDimSize(0));
  else if (auto scatter = dyn_cast<nn::ScatterOp>(op); scatter && !onlyIds)
    // Others are valid, but change nothing.
    domain.restrict(scatter.getType().getDimSize(0));
  else if (auto take = dyn_cast<nn::TakeAlongAxisOp>(op))
    domain.restrict(take.getIndexLimit().value_or(lastSizeOf(take.getX())));
  else if (auto take = dyn_cast<nn::TakeAlongAxisBackwardOp>(op))
    domain.restrict(lastSizeOf(take.getResult()));
  else if (auto loss = dyn_cast<nn::CrossEntropyOp>(op))
    addLabels(loss);
  else if (auto loss = dyn_cast<nn::CrossEntropyBackwardOp>(op))
    addLabels(loss);
}

/// Divisors, exponents, shift amounts, bounds of loops.
void DomainFinder::addArithmeticUse(OpOperand &use) {
  constexpr int64_t kLongestLoop = 8;
  Operation *op = use.getOwner();
  unsigned number = use.getOperandNumber();
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
          arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op)) {
    domain.isDivisor |= number == 1;
  } else if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op)) {
    Type type = getElementTypeOrSelf(use.get().getType());
    if (number == 1)
      domain.restrict(isa<IntegerType>(type) ? type.getIntOrFloatBitWidth()
                                             : 64);
  } else if (isa<math::IPowIOp>(op)) {
    if (number == 1)
      domain.restrict(kLongestLoop);
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    if (number < loop.getNumControlOperands())
      domain.restrict(kLongestLoop);
    if (use.get() == loop.getStep())
      domain.least = 1;
  }
}

/// Indices into tensors, and offsets from which a slice must fit.
void DomainFinder::addPosition(OpOperand &use) {
  Operation *op = use.getOwner();
  unsigned number = use.getOperandNumber();
  auto addIndex = [&](ValueRange indices, unsigned first, Type type) {
    if (number >= first && number < first + indices.size())
      domain.restrict(cast<RankedTensorType>(type).getDimSize(number - first));
  };
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    addIndex(extract.getIndices(), 1, extract.getTensor().getType());
  } else if (auto insert = dyn_cast<tensor::InsertOp>(op)) {
    addIndex(insert.getIndices(), 2, insert.getType());
  } else if (isa<tensor::ExtractSliceOp, tensor::InsertSliceOp>(op)) {
    auto slice = cast<OffsetSizeAndStrideOpInterface>(op);
    bool takes = isa<tensor::ExtractSliceOp>(op);
    auto whole =
        cast<RankedTensorType>(op->getOperand(takes ? 0 : 1).getType());
    for (auto [d, offset] : llvm::enumerate(slice.getMixedOffsets())) {
      std::optional<int64_t> size =
          getConstantIntValue(slice.getMixedSizes()[d]);
      std::optional<int64_t> step =
          getConstantIntValue(slice.getMixedStrides()[d]);
      if (llvm::dyn_cast_if_present<Value>(offset) == use.get() && size && step)
        domain.restrict(
            std::max<int64_t>(whole.getDimSize(d) - (*size - 1) * *step, 1));
    }
  }
}

/// Follows the value into regions and callees.
void DomainFinder::followRegions(OpOperand &use) {
  Operation *op = use.getOwner();
  unsigned number = use.getOperandNumber();
  if (auto accumulate = dyn_cast<dist::AccumulateOp>(op)) {
    find(accumulate.getBody().getArgument(number));
  } else if (auto call = dyn_cast<func::CallOp>(op)) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    if (callee && !callee.isExternal())
      find(callee.getArgument(number));
  } else if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
    if (BlockArgument element = structured.getMatchingBlockArgument(&use))
      find(element);
  }
}

void DomainFinder::find(Value value) {
  if (!visited.insert(value).second)
    return;
  for (OpOperand &use : value.getUses()) {
    if (onlyIds && isConditional(use.getOwner()))
      continue;
    addModelUse(use);
    if (!onlyIds)
      addArithmeticUse(use);
    addPosition(use);
    followRegions(use);
    if (movesElements(use.getOwner()) &&
        !(onlyIds && choosesElements(use.getOwner())))
      for (Value result : use.getOwner()->getResults())
        find(result);
  }
}

IntegerDomain tessera::interp::findDomain(Value value) {
  DomainFinder finder(/*onlyIds=*/false);
  finder.find(value);
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument
          ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
          : FunctionOpInterface();
  if (auto vocabulary =
          function ? function.getArgAttrOfType<IntegerAttr>(
                         argument.getArgNumber(), nn::NNDialect::kVocabAttr)
                   : IntegerAttr())
    finder.domain.restrict(vocabulary.getInt());
  return finder.domain;
}

IntegerDomain tessera::interp::findIds(Value value) {
  DomainFinder finder(/*onlyIds=*/true);
  finder.find(value);
  return finder.domain;
}
