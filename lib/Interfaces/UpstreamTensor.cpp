//===- UpstreamTensor.cpp - Rules of tensor ops ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape changes are linear: they move elements and compute nothing.
//
//===----------------------------------------------------------------------===//

#include "UpstreamModels.h"
#include "UpstreamPad.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tessera/Interfaces/LocalRules.h"
#include "tessera/Interfaces/NeutralElements.h"
#include "tessera/Interfaces/PaddingOpInterface.h"

using namespace mlir;
using namespace tessera;

namespace {

template <typename Model, typename Op>
using Base = ShardingRuleOpInterface::ExternalModel<Model, Op>;

/// True if `operands` has all tensors among the operands.
bool allTensors(Operation *op, const llvm::SmallBitVector &operands) {
  for (auto [i, type] : llvm::enumerate(op->getOperandTypes()))
    if (isa<RankedTensorType>(type) && !operands.test(i))
      return false;
  return operands.any();
}

/// An op that moves elements and computes nothing.
template <typename Model, typename Op> struct MoveBase : Base<Model, Op> {
  bool commutesWithReduction(Operation *op, ReductionKind,
                             const llvm::SmallBitVector &partial) const {
    return allTensors(op, partial);
  }
};

struct EmptyModel : Base<EmptyModel, tensor::EmptyOp> {
  ShardingRule getShardingRule(Operation *op) const {
    return getElementwiseRule(op);
  }
};

struct SplatModel : Base<SplatModel, tensor::SplatOp> {
  ShardingRule getShardingRule(Operation *op) const {
    return getElementwiseRule(op);
  }
};

struct CastModel : MoveBase<CastModel, tensor::CastOp> {
  ShardingRule getShardingRule(Operation *op) const {
    return getElementwiseRule(op);
  }
};

/// expand_shape and collapse_shape: a dimension on one side is a group of
/// dimensions on the other.
template <typename Op> struct ReshapeModel : MoveBase<ReshapeModel<Op>, Op> {
  ShardingRule getShardingRule(Operation *operation) const {
    auto op = cast<Op>(operation);
    constexpr bool expands = std::is_same_v<Op, tensor::ExpandShapeOp>;
    auto fine = expands ? op.getResultType() : op.getSrcType();
    ShardingRule rule;
    TensorFactors fineDims, coarseDims;
    for (const ReassociationIndices &group : op.getReassociationIndices()) {
      DimFactors &coarse = coarseDims.emplace_back();
      for (int64_t dim : group) {
        unsigned factor = rule.addFactor(fine.getDimSize(dim));
        coarse.push_back(factor);
        fineDims.push_back({factor});
      }
    }
    // A reshape from or to rank 0 has no groups; its unit dimensions are free.
    while (static_cast<int64_t>(fineDims.size()) < fine.getRank())
      fineDims.push_back({rule.addFactor(1)});
    rule.operands.push_back(expands ? coarseDims : fineDims);
    rule.results.push_back(expands ? fineDims : coarseDims);
    for (unsigned i = 1; i < operation->getNumOperands(); ++i)
      rule.operands.emplace_back();
    return rule;
  }
  FailureOr<Operation *> cloneWithShapes(Operation *operation,
                                         OpBuilder &builder,
                                         ValueRange operands,
                                         TypeRange resultTypes) const {
    auto op = cast<Op>(operation);
    auto in = cast<RankedTensorType>(operands[0].getType());
    auto out = cast<RankedTensorType>(resultTypes[0]);
    if (in.getNumElements() != out.getNumElements())
      return failure();
    Operation *clone = Op::create(builder, op.getLoc(), out, operands[0],
                                  op.getReassociationIndices());
    clone->setDiscardableAttrs(operation->getDiscardableAttrDictionary());
    return clone;
  }
};

/// Returns the dimensions of a slice and of the whole tensor: tied if the slice
/// takes all of a dimension, else replicated. A dropped dimension cannot be
/// padded.
template <typename Op>
static std::pair<TensorFactors, TensorFactors>
sliceFactors(ShardingRule &rule, Op op, RankedTensorType whole,
             const llvm::SmallBitVector &dropped) {
  TensorFactors wholeDims, partDims;
  for (int64_t dim = 0; dim < whole.getRank(); ++dim) {
    int64_t size = op.getStaticSizes()[dim];
    bool full = !dropped.test(dim) && size == whole.getDimSize(dim) &&
                op.getStaticOffsets()[dim] == 0 &&
                op.getStaticStrides()[dim] == 1;
    unsigned factor =
        rule.addFactor(whole.getDimSize(dim),
                       full ? FactorKind::Parallel : FactorKind::Replicated);
    wholeDims.push_back({factor});
    if (dropped.test(dim))
      continue;
    partDims.push_back(
        {full ? factor : rule.addFactor(size, FactorKind::Replicated)});
  }
  return {wholeDims, partDims};
}

static ShardingRule getSliceRule(tensor::ExtractSliceOp op,
                                 const llvm::SmallBitVector &dropped) {
  ShardingRule rule;
  auto [whole, part] = sliceFactors(rule, op, op.getSourceType(), dropped);
  rule.operands.assign(op->getNumOperands(), {});
  rule.operands[0] = whole;
  rule.results.push_back(part);
  return rule;
}

static ShardingRule getSliceRule(tensor::InsertSliceOp op,
                                 const llvm::SmallBitVector &dropped) {
  ShardingRule rule;
  auto [whole, part] = sliceFactors(rule, op, op.getDestType(), dropped);
  rule.operands.assign(op->getNumOperands(), {});
  rule.operands[0] = part;
  rule.operands[1] = whole;
  rule.results.push_back(whole);
  return rule;
}

static RankedTensorType getSliceType(tensor::ExtractSliceOp op) {
  return op.getType();
}
static RankedTensorType getSliceType(tensor::InsertSliceOp op) {
  return op.getSourceType();
}

/// Returns the rule of slice `part` that drops the same dimensions as `whole`.
/// Returns none if they are not of size 1, or leave another shape.
template <typename Op>
static std::optional<ShardingRule> getSliceRuleAs(Operation *part,
                                                  Operation *whole) {
  auto mine = dyn_cast<Op>(part), theirs = dyn_cast<Op>(whole);
  if (!mine || !theirs)
    return std::nullopt;
  llvm::SmallBitVector dropped = theirs.getDroppedDims();
  ArrayRef<int64_t> sizes = mine.getStaticSizes();
  if (dropped.size() != sizes.size())
    return std::nullopt;
  SmallVector<int64_t> left;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (!dropped.test(dim))
      left.push_back(size);
    else if (size != 1)
      return std::nullopt;
  }
  if (ArrayRef(left) != getSliceType(mine).getShape())
    return std::nullopt;
  return getSliceRule(mine, dropped);
}

/// Returns the sizes of a slice for other shapes. Fails if a sliced dimension
/// changed.
template <typename Op>
static FailureOr<SmallVector<OpFoldResult>>
resizeSlice(Op op, OpBuilder &builder, RankedTensorType oldWhole,
            RankedTensorType newWhole) {
  SmallVector<OpFoldResult> sizes = op.getMixedSizes();
  for (int64_t dim = 0; dim < oldWhole.getRank(); ++dim) {
    if (oldWhole.getDimSize(dim) == newWhole.getDimSize(dim))
      continue;
    if (op.getStaticSizes()[dim] != oldWhole.getDimSize(dim))
      return failure();
    sizes[dim] = builder.getIndexAttr(newWhole.getDimSize(dim));
  }
  return sizes;
}

/// Replaces the numbers known only at run time by `operands`, in order.
static SmallVector<OpFoldResult> withOperands(SmallVector<OpFoldResult> mixed,
                                              ValueRange operands) {
  for (OpFoldResult &number : mixed)
    if (isa<Value>(number)) {
      number = operands.front();
      operands = operands.drop_front();
    }
  return mixed;
}

/// Returns the offsets and strides of a slice with other `operands`.
template <typename Op>
static std::pair<SmallVector<OpFoldResult>, SmallVector<OpFoldResult>>
getOffsetsAndStrides(Op op, ValueRange operands) {
  ValueRange numbers =
      operands.drop_front(op.getOffsetSizeAndStrideStartOperandIndex());
  return {withOperands(op.getMixedOffsets(), numbers),
          withOperands(op.getMixedStrides(),
                       numbers.drop_front(op.getOffsets().size() +
                                          op.getSizes().size()))};
}

struct ExtractSliceModel : MoveBase<ExtractSliceModel, tensor::ExtractSliceOp> {
  ShardingRule getShardingRule(Operation *operation) const {
    auto op = cast<tensor::ExtractSliceOp>(operation);
    return getSliceRule(op, op.getDroppedDims());
  }
  FailureOr<Operation *> cloneWithShapes(Operation *operation,
                                         OpBuilder &builder,
                                         ValueRange operands,
                                         TypeRange resultTypes) const {
    auto op = cast<tensor::ExtractSliceOp>(operation);
    auto sizes = resizeSlice(op, builder, op.getSourceType(),
                             cast<RankedTensorType>(operands[0].getType()));
    if (failed(sizes))
      return failure();
    auto [offsets, strides] = getOffsetsAndStrides(op, operands);
    Operation *clone = tensor::ExtractSliceOp::create(
        builder, op.getLoc(), cast<RankedTensorType>(resultTypes[0]),
        operands[0], offsets, *sizes, strides);
    clone->setDiscardableAttrs(operation->getDiscardableAttrDictionary());
    return clone;
  }
};

struct InsertSliceModel : MoveBase<InsertSliceModel, tensor::InsertSliceOp> {
  ShardingRule getShardingRule(Operation *operation) const {
    auto op = cast<tensor::InsertSliceOp>(operation);
    return getSliceRule(op, op.getDroppedDims());
  }
  FailureOr<Operation *> cloneWithShapes(Operation *operation,
                                         OpBuilder &builder,
                                         ValueRange operands,
                                         TypeRange resultTypes) const {
    auto op = cast<tensor::InsertSliceOp>(operation);
    auto sizes = resizeSlice(op, builder, op.getDestType(),
                             cast<RankedTensorType>(operands[1].getType()));
    if (failed(sizes))
      return failure();
    auto [offsets, strides] = getOffsetsAndStrides(op, operands);
    Operation *clone =
        tensor::InsertSliceOp::create(builder, op.getLoc(), operands[0],
                                      operands[1], offsets, *sizes, strides);
    clone->setDiscardableAttrs(operation->getDiscardableAttrDictionary());
    return clone;
  }
};

struct ConcatModel : MoveBase<ConcatModel, tensor::ConcatOp> {
  ShardingRule getShardingRule(Operation *operation) const {
    auto op = cast<tensor::ConcatOp>(operation);
    int64_t joined = op.getDim();
    auto out = cast<RankedTensorType>(op.getResult().getType());
    ShardingRule rule;
    TensorFactors dims;
    for (auto [i, size] : llvm::enumerate(out.getShape()))
      dims.push_back({rule.addFactor(size, static_cast<int64_t>(i) == joined
                                               ? FactorKind::Replicated
                                               : FactorKind::Parallel)});
    for (Value input : op.getInputs()) {
      int64_t size = cast<RankedTensorType>(input.getType()).getDimSize(joined);
      TensorFactors &operand = rule.operands.emplace_back(dims);
      operand[joined] = {rule.addFactor(size, FactorKind::Replicated)};
    }
    rule.results.push_back(dims);
    return rule;
  }
  /// Neutral elements are partial values too.
  bool commutesWithReduction(Operation *op, ReductionKind kind,
                             const llvm::SmallBitVector &partial) const {
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      if (!partial.test(i) && !isNeutral(operand, kind))
        return false;
    return partial.any();
  }
};

} // namespace

ShardingRule tessera::getLocalRule(Operation *local, Operation *global) {
  if (auto rule = getSliceRuleAs<tensor::ExtractSliceOp>(local, global))
    return *rule;
  if (auto rule = getSliceRuleAs<tensor::InsertSliceOp>(local, global))
    return *rule;
  return getShardingRule(local);
}

void tessera::registerTensorModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::EmptyOp::attachInterface<EmptyModel>(*context);
    tensor::SplatOp::attachInterface<SplatModel>(*context);
    tensor::CastOp::attachInterface<CastModel>(*context);
    tensor::ExpandShapeOp::attachInterface<ReshapeModel<tensor::ExpandShapeOp>>(
        *context);
    tensor::CollapseShapeOp::attachInterface<
        ReshapeModel<tensor::CollapseShapeOp>>(*context);
    tensor::ExtractSliceOp::attachInterface<ExtractSliceModel>(*context);
    tensor::InsertSliceOp::attachInterface<InsertSliceModel>(*context);
    tensor::ConcatOp::attachInterface<ConcatModel>(*context);
  });
}

void tessera::registerUpstreamShardingRules(DialectRegistry &registry) {
  registerElementwiseModels(registry);
  registerTensorModels(registry);
  registerPadModels(registry);
  registerLinalgModels(registry);
  registerUpstreamPadding(registry);
  registerModelledDialects(registry);
}
