//===- RowRegion.cpp - Ops that compute a function of rows ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowRegion.h"
#include "TensorTypes.h"

#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;

/// The most ops of a region, and the most regions of a value.
static constexpr size_t kMaxRegionOps = 96, kMaxRegions = 24;

namespace {

/// Walks backward from a value, the latest op first. Whenever one value is left
/// in the frontier, it dominates all ops seen so far.
class RegionWalk {
public:
  RegionWalk(Value y, int64_t rank, bool allowsMasks)
      : rank(rank), allowsMasks(allowsMasks) {
    region.y = y;
    frontier.insert(y);
  }

  /// Takes one step back; false if there is none.
  bool advance();
  /// Whether this is a region: one value of full rank is left, and no value
  /// inside is used outside.
  bool isRegion() const;
  RowRegion take() const;

private:
  bool enter(Operation *op);
  bool enterOutside(nn::BroadcastOp op);
  void look(Value value);
  bool enterOperand(Value operand, ArrayRef<int64_t> shape);
  Value popLatest();

  const int64_t rank;
  const bool allowsMasks;
  RowRegion region;
  llvm::SetVector<Value> frontier;
  llvm::SetVector<Operation *> inside;
};

} // namespace

static bool isConstant(Value value) {
  return matchPattern(value, m_Constant());
}

Value RegionWalk::popLatest() {
  Value latest;
  for (Value value : frontier) {
    Operation *op = value.getDefiningOp();
    if (!op)
      continue;
    if (!latest || latest.getDefiningOp()->isBeforeInBlock(op))
      latest = value;
  }
  if (latest)
    frontier.remove(latest);
  return latest;
}

/// Enters an operand of an elementwise op: a splat, or a value to walk on from.
bool RegionWalk::enterOperand(Value operand, ArrayRef<int64_t> shape) {
  if (isConstant(operand)) {
    SplatElementsAttr splat;
    return matchPattern(operand, m_Constant(&splat));
  }
  if (!findTensorType(operand) || findTensorType(operand).getShape() != shape)
    return false;
  look(operand);
  return true;
}

/// Enters a vector or a mask from outside.
bool RegionWalk::enterOutside(nn::BroadcastOp op) {
  Value from = op.getX();
  int64_t before = findTensorType(from).getRank();
  ArrayRef<int64_t> dims = op.getDims();
  if (op.getType().getRank() != rank || before < 1 || dims.back() != rank - 1)
    return false;
  bool isMask = allowsMasks && before == 2 &&
                (region.maskDim < 0 || region.maskDim == dims[0]);
  if (before != 1 && !isMask)
    return false;
  if (isMask)
    region.maskDim = dims[0];
  SmallVectorImpl<Value> &values = isMask ? region.masks : region.vectors;
  if (!llvm::is_contained(values, from))
    values.push_back(from);
  inside.insert(op);
  return true;
}

/// Adds a value to walk on from.
void RegionWalk::look(Value value) {
  auto broadcast = value.getDefiningOp<nn::BroadcastOp>();
  if (!broadcast || !enterOutside(broadcast))
    frontier.insert(value);
}

/// Whether an op acts on each row; adds its operands to the walk.
bool RegionWalk::enter(Operation *op) {
  if (op->getNumResults() != 1 || !isPure(op))
    return false;
  if (auto broadcast = dyn_cast<nn::BroadcastOp>(op)) {
    // A number per row, broadcast along the row.
    look(broadcast.getX());
    return op->getResult(0) != region.y &&
           llvm::equal(broadcast.getDims(), llvm::seq<int64_t>(0, rank - 1)) &&
           broadcast.getType().getRank() == rank;
  }
  RankedTensorType type = findTensorType(op->getResult(0));
  auto isLast = [&](int64_t dim) { return dim == rank - 1; };
  if (auto reduce = dyn_cast<nn::ReduceOp>(op)) {
    look(reduce.getX());
    return reduce.getDims().size() == 1 && isLast(reduce.getDims()[0]) &&
           type.getRank() == rank - 1;
  }
  if (auto softmax = dyn_cast<nn::SoftmaxOp>(op)) {
    look(softmax.getX());
    return isLast(softmax.getDim()) && type.getRank() == rank;
  }
  if (auto stop = dyn_cast<nn::StopGradientOp>(op)) {
    look(stop.getX());
    return type.getRank() == rank || type.getRank() == rank - 1;
  }
  if (auto constraint = dyn_cast<dist::ConstraintOp>(op)) {
    look(constraint.getInput());
    return type.getRank() == rank || type.getRank() == rank - 1;
  }
  if (auto pick = dyn_cast<nn::TakeAlongAxisOp>(op)) {
    look(pick.getX());
    if (!llvm::is_contained(region.indices, pick.getIndex()))
      region.indices.push_back(pick.getIndex());
    return !pick.getOffset() && type.getRank() == rank - 1;
  }
  bool isFloatOrBool = type && (isa<FloatType>(type.getElementType()) ||
                                type.getElementType().isInteger(1));
  return op->hasTrait<OpTrait::Elementwise>() && isFloatOrBool &&
         (type.getRank() == rank || type.getRank() == rank - 1) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return enterOperand(operand, type.getShape());
         });
}

bool RegionWalk::advance() {
  Value value = popLatest();
  if (!value || inside.size() == kMaxRegionOps)
    return false;
  Operation *op = value.getDefiningOp();
  if (op->getBlock() != region.y.getParentBlock() || !enter(op))
    return false;
  inside.insert(op);
  return true;
}

bool RegionWalk::isRegion() const {
  if (frontier.size() != 1)
    return false;
  RankedTensorType x = findTensorType(frontier.front()),
                   y = findTensorType(region.y);
  if (!x || x.getRank() != rank || !isa<FloatType>(x.getElementType()) ||
      y.getShape().take_front(rank - 1) != x.getShape().drop_back())
    return false;
  unsigned width =
      std::min(x.getElementTypeBitWidth(), y.getElementTypeBitWidth());
  return llvm::all_of(inside, [&](Operation *op) {
    Type element = findTensorType(op->getResult(0)).getElementType();
    if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < width)
      return false;
    // Values that do not depend on x may have other users.
    auto broadcast = dyn_cast<nn::BroadcastOp>(op);
    if (broadcast && (llvm::is_contained(region.vectors, broadcast.getX()) ||
                      llvm::is_contained(region.masks, broadcast.getX())))
      return true;
    return op->getResult(0) == region.y ||
           llvm::all_of(op->getUsers(),
                        [&](Operation *user) { return inside.contains(user); });
  });
}

RowRegion RegionWalk::take() const {
  RowRegion result = region;
  result.x = frontier.front();
  result.ops.assign(inside.begin(), inside.end());
  llvm::sort(result.ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return result;
}

/// Finds regions whose rows are the last dimension of `rank`.
static void findRegions(Value y, int64_t rank, bool allowsMasks,
                        std::vector<RowRegion> &regions) {
  RegionWalk walk(y, rank, allowsMasks);
  while (regions.size() < kMaxRegions && walk.advance())
    if (walk.isRegion())
      regions.push_back(walk.take());
}

std::vector<RowRegion> tessera::findRowRegions(Value y, bool allowsMasks) {
  std::vector<RowRegion> regions;
  RankedTensorType type = findTensorType(y);
  if (!type || !isa<FloatType>(type.getElementType()))
    return regions;
  if (type.getRank() >= 2)
    findRegions(y, type.getRank(), allowsMasks, regions);
  // One number per row.
  if (type.getRank() >= 1 && regions.empty())
    findRegions(y, type.getRank() + 1, allowsMasks, regions);
  return regions;
}
