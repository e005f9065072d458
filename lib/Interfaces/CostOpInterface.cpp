//===- CostOpInterface.cpp - The work of an op ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cost of ops in upstream dialects, by trait and interface.
//
//===----------------------------------------------------------------------===//

#include "tessera/Interfaces/CostOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/IRMapping.h"
#include "tessera/Interfaces/Expansion.h"

using namespace mlir;
using namespace tessera;

#include "tessera/Interfaces/CostOpInterface.cpp.inc"

double tessera::getTensorElements(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return 0;
  double elements = 1;
  for (int64_t size : tensor.getShape())
    elements *= size;
  return elements;
}

double tessera::getTensorBytes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.getElementType().isIntOrFloat())
    return 0;
  // Booleans take a byte each.
  unsigned bits = tensor.getElementTypeBitWidth();
  return getTensorElements(type) * llvm::divideCeil(bits, 8);
}

bool tessera::isMathFunction(Operation *op) {
  return isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
         llvm::any_of(op->getResultTypes(),
                      [](Type type) {
                        return isa<FloatType>(getElementTypeOrSelf(type));
                      }) &&
         !isa<math::AbsFOp, math::CeilOp, math::CopySignOp, math::FloorOp,
              math::FmaOp, math::RoundOp, math::RoundEvenOp, math::RsqrtOp,
              math::SqrtOp, math::TruncOp>(op);
}

OpCost tessera::getElementwiseCost(Operation *op, double flopsEach,
                                   bool linear) {
  OpCost cost;
  cost.kind = CostKind::Elementwise;
  cost.flops = flopsEach * getTensorElements(op->getResult(0).getType());
  cost.linear = linear;
  return cost;
}

double tessera::countAttentionPairs(int64_t queries, int64_t keys, bool causal,
                                    std::optional<int64_t> window) {
  if (!causal)
    return double(queries) * double(keys);
  double width = std::min(window.value_or(keys), keys);
  double beginning = queries == keys ? width * width / 2 : 0;
  return width * double(queries) - beginning;
}

OpCost tessera::getAttentionCost(Value q, Value k, bool causal,
                                 std::optional<int64_t> window,
                                 double matmuls) {
  ArrayRef<int64_t> query = cast<RankedTensorType>(q.getType()).getShape();
  ArrayRef<int64_t> key = cast<RankedTensorType>(k.getType()).getShape();
  OpCost cost;
  cost.kind = CostKind::Attention;
  cost.batch = query[0] * query[2] * query[3];
  cost.m = query[1];
  cost.n = key[1];
  cost.k = query[4];
  cost.flops = matmuls * 2.0 * cost.batch * cost.k *
               countAttentionPairs(cost.m, cost.n, causal, window);
  return cost;
}

OpCost ExpertWork::getCost(double read, double written) const {
  OpCost cost;
  cost.kind = CostKind::GroupedMatmul;
  cost.flops = 2 * rows * ffn * (2 * in + out);
  cost.functions = rows * ffn;
  cost.bytesRead = rows * read * elementBytes;
  cost.bytesWritten = rows * written * elementBytes;
  return cost;
}

OpCost ExpertWork::getForward(double resultBytes, bool savesStats) const {
  OpCost cost = getCost(in, savesStats ? 2 * ffn : 0);
  cost.bytesRead += weightBytes;
  cost.bytesWritten += resultBytes;
  return cost;
}

OpCost ExpertWork::getBackward(double dxBytes) const {
  OpCost cost = getCost(out + 2 * ffn, 2 * ffn);
  cost.bytesRead += weightBytes;
  cost.bytesWritten += dxBytes;
  return cost;
}

OpCost ExpertWork::getWeightGradient() const {
  OpCost cost = getCost(in + out + 4 * ffn, 0);
  cost.bytesWritten = weightBytes;
  return cost;
}

/// Returns the sizes of a contraction by the role of its dimensions.
static OpCost contractionCost(linalg::LinalgOp op,
                              const linalg::ContractionDimensions &dims) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  auto product = [&](ArrayRef<unsigned> list) {
    int64_t value = 1;
    for (unsigned dim : list)
      value *= sizes[dim];
    return value;
  };
  OpCost cost;
  cost.kind = CostKind::Matmul;
  cost.batch = product(dims.batch);
  cost.m = product(dims.m);
  cost.n = product(dims.n);
  cost.k = product(dims.k);
  cost.flops = 2.0 * cost.batch * cost.m * cost.n * cost.k;
  return cost;
}

static OpCost structuredCost(linalg::LinalgOp op) {
  if (linalg::isaContractionOpInterface(op))
    if (auto dims = linalg::inferContractionDims(op); succeeded(dims))
      return contractionCost(op, *dims);
  OpCost cost;
  cost.kind = op.getNumReductionLoops() ? CostKind::RowReduction
                                        : CostKind::Elementwise;
  double points = 1;
  for (int64_t size : op.getStaticLoopRanges())
    points *= size;
  double each =
      llvm::count_if(op.getBlock()->without_terminator(), [](Operation &inner) {
        return llvm::any_of(inner.getResultTypes(), llvm::IsaPred<FloatType>);
      });
  cost.flops = each * points;
  cost.functions =
      points * double(llvm::count_if(
                   op.getBlock()->without_terminator(),
                   [](Operation &inner) { return isMathFunction(&inner); }));
  return cost;
}

/// Returns the work of what an op computes, as the kind of the part that
/// computes most; nothing between the parts is in memory. None if the meaning
/// fails.
static std::optional<OpCost> getMeaningCost(Operation *op) {
  Region region;
  Block &block = region.emplaceBlock();
  SmallVector<Location> locations(op->getNumOperands(), op->getLoc());
  block.addArguments(op->getOperandTypes(), locations);
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&block);
  IRMapping mapping;
  mapping.map(op->getOperands(), block.getArguments());
  Operation *copy = builder.clone(*op, mapping);
  builder.setInsertionPoint(copy);
  auto meaning = cast<linalg::AggregatedOpInterface>(copy);
  if (failed(meaning.decomposeOperation(builder)))
    return std::nullopt;
  OpCost total;
  double most = -1;
  int kernels = 0;
  for (Operation &part : block) {
    if (&part == copy || part.getName() == op->getName())
      continue;
    OpCost cost = getOpCost(&part);
    kernels +=
        cost.kind != CostKind::None && cost.kind != CostKind::Elementwise;
    double flops = total.flops + cost.flops;
    double functions = total.functions + cost.functions;
    if (cost.kind != CostKind::None && cost.flops > most) {
      most = cost.flops;
      total = cost;
    }
    total.flops = flops;
    total.functions = functions;
  }
  total.bytesRead = total.bytesWritten = -1;
  total.kernels = std::max(kernels, 1);
  total.linear = false;
  return total;
}

OpCost tessera::getOpCost(Operation *op) {
  if (auto iface = dyn_cast<CostOpInterface>(op))
    return iface.getOpCost();
  if (hasMeaning(op))
    if (std::optional<OpCost> cost = getMeaningCost(op))
      return *cost;
  bool hasTensor =
      llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
  if (!hasTensor || op->hasTrait<OpTrait::ConstantLike>() ||
      op->hasTrait<OpTrait::IsTerminator>())
    return {};
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return structuredCost(structured);
  // Sums and casts pass gradients on unchanged; other ops need their operands.
  if (OpTrait::hasElementwiseMappableTraits(op)) {
    OpCost cost = getElementwiseCost(
        op, 1,
        isa<arith::AddFOp, arith::SubFOp, arith::NegFOp, CastOpInterface>(op));
    cost.functions = isMathFunction(op) ? cost.flops : 0;
    return cost;
  }
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::EmptyOp,
          tensor::CastOp>(op))
    return {};
  return getElementwiseCost(op, 0, /*linear=*/true);
}
