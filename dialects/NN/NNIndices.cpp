//===- NNIndices.cpp - Rules and gradients of writes at indices -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuleHelpers.h"
#include "dialects/NN/TensorBuilder.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::nn;

LogicalResult ScatterOp::verify() {
  RankedTensorType x = typeOf(getX());
  if (x.getRank() != 2)
    return emitOpError("(C1) expects x of rank 2 but got ") << x;
  SmallVector<int64_t> shape(typeOf(getIds()).getShape());
  shape.push_back(x.getDimSize(1));
  if (failed(verifyShape(*this, "(C2)", "updates", shape, getUpdates())) ||
      failed(verifySameElement(*this, "(C3)", getX(), getUpdates())))
    return failure();
  return verifyLimit(*this, "(C4)", "rows", getRows());
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

/// Numbers of the factors of x; those of the ids follow.
enum ScatterFactor { ScatterRows, ScatterColumns };

/// Each device writes the rows that it holds. A sum of updates may be divided
/// once x, which counts once, is apart from it; the last update of a row needs
/// all of them.
ShardingRule ScatterOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors x = newDims(rule, typeOf(getX()));
  setPositional(rule, x, ScatterRows);
  TensorFactors ids =
      newDims(rule, typeOf(getIds()),
              getKind() == ScatterKind::Add ? FactorKind::Decomposed
                                            : FactorKind::Replicated);
  TensorFactors updates = ids;
  updates.push_back(x[ScatterColumns]);
  rule.operands = {x, ids, updates};
  rule.operands.resize(getNumOperands());
  rule.results = {x};
  return rule;
}

/// Makes the updates of `add` a sum of their own.
FailureOr<SmallVector<Value>>
ScatterOp::decompose(OpBuilder &builder, const llvm::SmallBitVector &) {
  TensorBuilder b(builder, getLoc());
  Value x = b.widen(getX());
  Value sums = b.make<EmbeddingBackwardOp>(x.getType(), getUpdates(), getIds(),
                                           getOffset(), getRowsAttr());
  return SmallVector<Value>{b.narrow(b.add(x, sums), getType())};
}

void ScatterOp::setPositionOffset(unsigned, Value offset) {
  addOffset(*this, getOffsetMutable(), offset);
}

bool ScatterOp::absorbPadding(unsigned factor, int64_t size) {
  if (factor == ScatterRows && !getRows())
    setRows(size);
  return factor == ScatterRows || factor == ScatterColumns;
}

/// True if all devices' shares of x and of the updates are partial: a sum of
/// sums, or a choice of elements, which any reduction passes.
bool ScatterOp::commutesWithReduction(::tessera::ReductionKind kind,
                                      const llvm::SmallBitVector &partial) {
  return partial.count() == 2 && partial.test(0) && partial.test(2) &&
         (getKind() == ScatterKind::Set ||
          kind == ::tessera::ReductionKind::Sum);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

namespace {
/// The gradients of a scatter.
struct ScatterGradients {
  ScatterOp op;
  TensorBuilder b;

  /// The rows at the ids.
  Value lookUp(Value table) {
    SmallVector<int64_t> shape(b.typeOf(op.getIds()).getShape());
    RankedTensorType type = b.typeOf(table);
    shape.push_back(type.getDimSize(1));
    return b.make<EmbeddingOp>(type.clone(shape), table, op.getIds(),
                               op.getOffset(), op.getRowsAttr());
  }

  /// Zeros in the rows that are replaced.
  Value clearRows(Value grad) {
    Value zeros = b.splatOf(
        b.typeOf(op.getUpdates()).clone(b.typeOf(grad).getElementType()), 0);
    return b.make<ScatterOp>(grad.getType(), ScatterKind::Set, grad,
                             op.getIds(), zeros, op.getOffset(),
                             op.getRowsAttr());
  }

  /// True for ids of rows: a lookup of others gives NaN.
  Value isRow() {
    Value ids = op.getIds();
    RankedTensorType type = b.typeOf(ids);
    Value result =
        b.make<arith::CmpIOp>(arith::CmpIPredicate::sge, ids, b.splat(ids, 0));
    uint64_t limit = op.getRows().value_or(b.typeOf(op.getX()).getDimSize(0));
    // A narrow type holds no id that is too large.
    bool isBounded = (op.getOffset() && !op.getRows()) ||
                     !llvm::isUIntN(type.getElementTypeBitWidth() - 1, limit);
    if (isBounded)
      return result;
    return b.make<arith::AndIOp>(
        result, b.make<arith::CmpIOp>(arith::CmpIPredicate::slt, ids,
                                      b.splat(ids, double(limit))));
  }

  /// True for the last id of each row. Each update writes its number, from 1
  /// on, and the last one finds its own; an id that is no row finds NaN.
  Value isLast() {
    RankedTensorType ids = b.typeOf(op.getIds());
    int64_t count = ids.getNumElements();
    Type element = count < (int64_t(1) << 24) ? Type(b.b.getF32Type())
                                              : Type(b.b.getF64Type());
    SmallVector<int64_t> shape(ids.getShape());
    shape.push_back(1);
    Value numbers = countUpdates(RankedTensorType::get(shape, element));
    Value zeros = b.splatOf(
        RankedTensorType::get({b.typeOf(op.getX()).getDimSize(0), 1}, element),
        0);
    Value last =
        b.make<ScatterOp>(zeros.getType(), ScatterKind::Set, zeros, op.getIds(),
                          numbers, op.getOffset(), op.getRowsAttr());
    Value found = b.compare(arith::CmpFPredicate::OEQ, lookUp(last), numbers);
    return b.reduce(ReduceKind::Max, found, b.lastDim(found));
  }

  /// The numbers of the updates, from 1 on, in a tensor of this type.
  Value countUpdates(RankedTensorType type) {
    Value total = b.splatOf(type, 1);
    int64_t stride = type.getNumElements();
    for (auto [dim, size] : llvm::enumerate(type.getShape())) {
      if (size < 2)
        continue;
      stride /= size;
      Value position = b.make<arith::SIToFPOp>(
          type.clone({size}, type.getElementType()),
          b.make<IotaOp>(RankedTensorType::get({size}, b.b.getI64Type()),
                         Value(), ZigzagAttr()));
      position = b.mul(position, b.splat(position, double(stride)));
      total = b.add(total, b.broadcast(position, total, int64_t(dim)));
    }
    return total;
  }
};
} // namespace

LogicalResult ScatterOp::buildGradients(GradientBuilder &g) {
  ScatterGradients build{*this, TensorBuilder(g.builder, g.loc)};
  TensorBuilder &b = build.b;
  Value grad = g.ofResult(0);
  bool isSet = getKind() == ScatterKind::Set;
  if (g.isNeeded(0))
    g.setOperand(0, isSet ? build.clearRows(grad) : grad);
  if (g.isNeeded(2)) {
    Value rows = build.lookUp(grad);
    Value counts = isSet ? build.isLast() : build.isRow();
    g.setOperand(2,
                 b.select(b.alongRows(counts, rows), rows, b.splat(rows, 0.0)));
  }
  return success();
}
