//===- QuantizeMatmuls.cpp - Quantizes matmuls of layers to 8 bits --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matmuls with a layer's weights take both operands in f8E4M3FN under precision
// fp8; the op defines their gradients (NNGradients.cpp). The head, which
// computes the classes of a loss, stays as it is: small errors of logits are
// large errors of the loss. Attention has no weight.
//
// A weight is quantized once per step, where it is stored: on a rank with a
// shard of it, before it is gathered. The input of a layer is quantized once
// for all matmuls that read it.
//
//===----------------------------------------------------------------------===//

#include "StateSharding.h"
#include "TrainStepBuilder.h"
#include "tessera/Training/MatrixUses.h"

using namespace mlir;
using namespace tessera;

using Quantized = std::pair<Value, Value>;

/// Whether a matmul may take operands of this type in 8 bits.
static bool isNarrowMatmul(Operation *op) {
  auto einsum = dyn_cast<nn::EinsumOp>(op);
  return einsum && !op->hasAttr(nn::NNDialect::kWideAttr) &&
         einsum.getScales().empty() &&
         getElementTypeOrSelf(einsum.getLhs().getType()).isBF16();
}

/// True for a weight used only in matmuls that do not compute classes of a
/// loss.
bool TrainStepBuilder::isQuantizable(const TrainedParameter &parameter) {
  auto isLayers = [](Operation *op) {
    return isNarrowMatmul(op) && !becomesClasses(op->getResult(0));
  };
  return parameter.type.getRank() > 1 && !parameter.inUse.use_empty() &&
         llvm::all_of(parameter.inUse.getUsers(), isLayers);
}

/// Erases an unused op and the ops that only it used.
static void eraseChain(Operation *op) {
  while (op && op->use_empty()) {
    Operation *before = op->getOperand(0).getDefiningOp();
    op->erase();
    op = before;
  }
}

void TrainStepBuilder::quantizeMatmuls(Operation *accumulate, Block &body) {
  auto element = builder.getType<Float8E4M3FNType>();
  OpBuilder outer(accumulate), inner = OpBuilder::atBlockBegin(&body);
  llvm::DenseMap<Value, Quantized> known;
  llvm::SmallVector<Value> replaced;
  for (TrainedParameter &parameter : parameters) {
    if (!isQuantizable(parameter))
      continue;
    auto [value, scale] =
        nn::buildQuantized(outer, loc, parameter.source, element);
    parameter.source = value;
    Value was = parameter.inUse;
    parameter.inUse = isStoredFlat(parameter)
                          ? parameter.flat->unflatten(inner, loc, value)
                          : value;
    known[was] = {parameter.inUse, scale};
    replaced.push_back(was);
  }
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (!isNarrowMatmul(&op) || (!known.contains(op.getOperand(0)) &&
                                 !known.contains(op.getOperand(1))))
      continue;
    auto matmul = cast<nn::EinsumOp>(op);
    OpBuilder b(matmul);
    auto quantize = [&](Value operand) {
      auto [it, isNew] = known.try_emplace(operand);
      if (isNew)
        it->second = nn::buildQuantized(b, matmul.getLoc(), operand, element);
      return it->second;
    };
    auto [lhs, lhsScale] = quantize(matmul.getLhs());
    auto [rhs, rhsScale] = quantize(matmul.getRhs());
    auto quantized = nn::EinsumOp::create(b, matmul.getLoc(), matmul.getType(),
                                          matmul.getSpec(), lhs, rhs,
                                          ValueRange{lhsScale, rhsScale});
    quantized->setDiscardableAttrs(matmul->getDiscardableAttrDictionary());
    matmul.replaceAllUsesWith(quantized.getResult());
    matmul.erase();
  }
  for (Value value : replaced)
    eraseChain(value.getDefiningOp());
}
