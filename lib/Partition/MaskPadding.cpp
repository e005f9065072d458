//===- MaskPadding.cpp - Masks the padding of operands --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The padding is masked where it would change a result or where an op is not
// defined on it. Arguments have zeros in their padding. Zero padding is tracked
// through linear ops, so that no mask is inserted without need.
//
//===----------------------------------------------------------------------===//

#include "Padder.h"
#include "dialects/NN/NN.h"
#include "mlir/IR/Matchers.h"
#include "tessera/Interfaces/NeutralElements.h"

using namespace mlir;
using namespace tessera;

/// Returns the dimension of `tensor` whose major factor is `factor`.
static std::optional<int64_t> findDim(const TensorFactors &tensor,
                                      unsigned factor) {
  for (auto [dim, factors] : llvm::enumerate(tensor))
    if (!factors.empty() && factors.front() == factor)
      return dim;
  return std::nullopt;
}

Value Padder::mask(OpBuilder &builder, Value value, dist::ShardingAttr sharding,
                   Padding padding, TypedAttr element) {
  auto type = cast<RankedTensorType>(value.getType());
  Value masked = nn::MaskPaddingOp::create(builder, value.getLoc(), type, value,
                                           /*offset=*/Value(), padding.dim,
                                           padding.size, element);
  if (sharding)
    dist::setSharding(masked, sharding);
  return masked;
}

SmallVector<Value> Padder::maskOperands(Operation *op,
                                        const ShardingRule &rule) {
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(fit(operand.get(), sizes.getTypeAt(operand), op));
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  OpBuilder builder(op);
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    if (factor.kind != FactorKind::Reduction ||
        sizes.getPadded(op, index) == factor.size ||
        iface.absorbPadding(index, factor.size))
      continue;
    for (auto [i, tensor] : llvm::enumerate(rule.operands)) {
      std::optional<int64_t> dim = findDim(tensor, index);
      bool neutral = dim && factor.reduction == ReductionKind::Sum &&
                     isZeroPadded(op->getOperand(i), *dim);
      if (!dim || neutral)
        continue;
      auto type = cast<RankedTensorType>(op->getOperand(i).getType());
      // Uses the original operand's sharding: the padded one may replace an
      // argument, and has none.
      operands[i] =
          mask(builder, operands[i], dist::getSharding(op->getOperand(i)),
               {*dim, type.getDimSize(*dim)},
               getNeutralElement(type.getElementType(), factor.reduction));
    }
  }
  maskUndefined(op, operands);
  return operands;
}

/// Masks operands in whose padding the op needs a certain element: 1 for
/// divisors, 0 for ids. A splat constant has the same element in its padding.
void Padder::maskUndefined(Operation *op, SmallVector<Value> &operands) {
  auto iface = dyn_cast<PaddingOpInterface>(op);
  OpBuilder builder(op);
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    TypedAttr safe = iface && type ? iface.getSafePadding(i) : TypedAttr();
    SplatElementsAttr splat;
    if (!safe || matchPattern(operand, m_Constant(&splat)))
      continue;
    auto paddedType = cast<RankedTensorType>(operands[i].getType());
    bool isZero = safe == builder.getZeroAttr(type.getElementType());
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (paddedType.getDimSize(dim) != type.getDimSize(dim) &&
          !(isZero && isZeroPadded(operand, dim)))
        operands[i] = mask(builder, operands[i], dist::getSharding(operand),
                           {dim, type.getDimSize(dim)}, safe);
  }
}

/// Marks results as zero in their padding if all operands with that dimension
/// are and the op keeps zeros. Informs the op of the padding first.
void Padder::trackZeros(Operation *op, const ShardingRule &rule) {
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!iface)
    return;
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    if (sizes.getPadded(op, index) == factor.size)
      continue;
    // Factors of other kinds were reported to the op before.
    bool absorbed = factor.kind == FactorKind::Parallel &&
                    iface.absorbPadding(index, factor.size);
    llvm::SmallBitVector zero(op->getNumOperands());
    bool allZero = true;
    for (auto [i, operand] : llvm::enumerate(rule.operands))
      if (std::optional<int64_t> dim = findDim(operand, index)) {
        zero.set(i);
        allZero &= isZeroPadded(op->getOperand(i), *dim);
      }
    if (!allZero || (!absorbed && !keepsZeros(op, zero)))
      continue;
    for (auto [result, tensor] : llvm::zip(op->getResults(), rule.results))
      if (std::optional<int64_t> dim = findDim(tensor, index))
        zeros.insert({result, *dim});
  }
}

/// Returns `now`, the replacement of `value`, with zeros in its padding.
Value Padder::maskNonZeros(OpBuilder &builder, Value value, Value now) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  for (int64_t dim = 0, rank = type ? type.getRank() : 0; dim < rank; ++dim)
    if (sizes.getPadded(value, dim) != type.getDimSize(dim) &&
        !isZeroPadded(value, dim))
      now = mask(builder, now, dist::getSharding(value),
                 {dim, type.getDimSize(dim)},
                 getNeutralElement(type.getElementType(), ReductionKind::Sum));
  return now;
}
