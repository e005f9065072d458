//===- FoldConstants.cpp - Folds ops on constants -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/IR/Matchers.h"
#include "tessera/Interfaces/ElementwiseBuilder.h"
#include "tessera/Interfaces/Limits.h"
#include "tessera/Raise/Evaluate.h"
#include "tessera/Raise/Passes.h"

#include "llvm/ADT/SetVector.h"

namespace tessera {
#define GEN_PASS_DEF_FOLDCONSTANTSPASS
#include "tessera/Raise/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// The most bytes of a constant that is computed.
static constexpr int64_t kMaxBytes = 64 << 10;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// The tensor at index 0 of each dimension along which it does not vary; `kept`
/// gets the other dimensions.
static interp::Tensor dropInvariant(const interp::Tensor &tensor,
                                    SmallVectorImpl<int64_t> &kept) {
  interp::Tensor result = tensor;
  SmallVector<int64_t> shape, origin(tensor.getRank(), 0);
  for (int64_t dim = 0; dim < tensor.getRank(); ++dim) {
    SmallVector<int64_t> sizes(result.getShape());
    int64_t size = std::exchange(sizes[dim], 1);
    interp::Tensor first = result.slice(origin, sizes);
    SmallVector<int64_t> at = origin;
    bool varies = false;
    for (at[dim] = 1; at[dim] < size && !varies; ++at[dim])
      varies = !first.sameAs(result.slice(at, sizes));
    if (!varies) {
      result = first;
      continue;
    }
    kept.push_back(dim);
    shape.push_back(size);
  }
  return result.reshaped(shape);
}

/// The step of three or more integers with equal steps.
static std::optional<int64_t> findStep(const interp::Tensor &tensor) {
  if (tensor.getRank() != 1 || !tensor.getElementType().isInteger() ||
      tensor.getElementType().getWidth() < 8 || tensor.getNumElements() < 3)
    return std::nullopt;
  int64_t step = tensor[1].i - tensor[0].i;
  for (int64_t i = 1; i < tensor.getNumElements(); ++i)
    if (tensor[i].i - tensor[i - 1].i != step)
      return std::nullopt;
  return step;
}

/// Computes integers with equal steps from nn.iota.
static Value buildSteps(ElementwiseBuilder &b, const interp::Tensor &tensor,
                        int64_t step) {
  auto type = RankedTensorType::get(tensor.getShape(),
                                    tensor.getElementType().getType());
  Value x = b.make<nn::IotaOp>(type, Value(), nn::ZigzagAttr());
  auto splat = [&](int64_t value) -> Value {
    Attribute element = b.b.getIntegerAttr(type.getElementType(), value);
    return b.make<arith::ConstantOp>(
        cast<TypedAttr>(Attribute(DenseElementsAttr::get(type, element))));
  };
  if (step != 1)
    x = b.make<arith::MulIOp>(x, splat(step));
  if (tensor[0].i != 0)
    x = b.make<arith::AddIOp>(x, splat(tensor[0].i));
  return x;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

class FoldConstantsPass
    : public tessera::impl::FoldConstantsPassBase<FoldConstantsPass> {
public:
  void runOnOperation() override;

private:
  bool isFixed(Operation *op) const;
  bool staysComputed(Operation *op) const;
  bool isFolded(Operation *op) const;
  SmallVector<Operation *> collect(Operation *root) const;
  void fold(Operation *op);
  void foldSplat(nn::BroadcastOp op);

  /// Ops whose results depend on constants alone, and those computed from
  /// positions.
  llvm::SetVector<Operation *> fixed;
  DenseSet<Operation *> positional;
};

} // namespace

/// Whether the op's only result depends on constants alone and is small. False
/// for a constraint, which carries more than its constant.
bool FoldConstantsPass::isFixed(Operation *op) const {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || !isPure(op) ||
      isa<dist::ConstraintOp>(op))
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.hasStaticShape() || isTooLarge(type.getShape()) ||
      !type.getElementType().isIntOrFloat())
    return false;
  int64_t bytes = type.getNumElements() *
                  llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  return bytes <= kMaxBytes &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           Operation *defining = operand.getDefiningOp();
           return defining && fixed.contains(defining);
         });
}

/// Whether an op stays although it is fixed: it is a broadcast, or a tensor of
/// positions of several dimensions.
bool FoldConstantsPass::staysComputed(Operation *op) const {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  return isa<nn::BroadcastOp>(op) ||
         (positional.contains(op) && type.getRank() > 1);
}

/// Whether a fixed op is replaced: it computes, or has several elements, and a
/// user of it is not fixed.
bool FoldConstantsPass::isFolded(Operation *op) const {
  auto constant = dyn_cast<arith::ConstantOp>(op);
  bool isList = constant && isa<DenseElementsAttr>(constant.getValue()) &&
                !isa<SplatElementsAttr>(constant.getValue());
  return (op->getNumOperands() != 0 || isList) && !staysComputed(op) &&
         llvm::any_of(op->getUsers(), [&](Operation *user) {
           return !fixed.contains(user) || staysComputed(user);
         });
}

/// Collects the ops that `root` depends on, and `root` itself, in order.
SmallVector<Operation *> FoldConstantsPass::collect(Operation *root) const {
  llvm::SetVector<Operation *> needed;
  SmallVector<Operation *> left{root};
  while (!left.empty()) {
    Operation *op = left.pop_back_val();
    if (!needed.insert(op))
      continue;
    for (Value operand : op->getOperands())
      left.push_back(operand.getDefiningOp());
  }
  SmallVector<Operation *> ops = needed.takeVector();
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ops;
}

void FoldConstantsPass::fold(Operation *op) {
  interp::TensorRef value = evaluate(collect(op), op->getResult(0));
  if (!value || value->getNumElements() == 0)
    return;
  SmallVector<int64_t> kept;
  interp::Tensor small = dropInvariant(*value, kept);
  OpBuilder builder(op);
  ElementwiseBuilder b{builder, op->getLoc()};
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Value result;
  if (small.getRank() == 0) {
    result = b.make<arith::ConstantOp>(
        cast<TypedAttr>(Attribute(toAttribute(small).resizeSplat(type))));
  } else {
    std::optional<int64_t> step = findStep(small);
    result = step ? buildSteps(b, small, *step)
                  : b.make<arith::ConstantOp>(
                        cast<TypedAttr>(Attribute(toAttribute(small))));
    if (result.getType() != type)
      result = b.make<nn::BroadcastOp>(type, result, kept);
  }
  op->getResult(0).replaceAllUsesWith(result);
}

/// Replaces a broadcast of one number by a splat constant of any size.
void FoldConstantsPass::foldSplat(nn::BroadcastOp op) {
  SplatElementsAttr splat;
  if (!matchPattern(op.getX(), m_Constant(&splat)))
    return;
  OpBuilder builder(op);
  ElementwiseBuilder b{builder, op.getLoc()};
  op.replaceAllUsesWith(Value(b.make<arith::ConstantOp>(
      cast<TypedAttr>(Attribute(DenseElementsAttr::get(
          op.getType(), splat.getSplatValue<Attribute>()))))));
}

void FoldConstantsPass::runOnOperation() {
  for (Block &block : getOperation().getBody()) {
    fixed.clear();
    positional.clear();
    for (Operation &op : block) {
      if (!isFixed(&op))
        continue;
      fixed.insert(&op);
      if (isa<nn::IotaOp>(op) ||
          llvm::any_of(op.getOperands(), [&](Value operand) {
            return positional.contains(operand.getDefiningOp());
          }))
        positional.insert(&op);
    }
    SmallVector<Operation *> folded;
    for (Operation *op : fixed)
      if (isFolded(op))
        folded.push_back(op);
    for (Operation *op : folded)
      fold(op);
    for (auto op : block.getOps<nn::BroadcastOp>())
      foldSplat(op);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }
}
