//===- ReductionLoops.cpp - Reductions over other loops -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Codegen/ReductionLoops.h"

using namespace mlir;
using namespace tessera;
using utils::IteratorType;

linalg::GenericOp tessera::rebuild(OpBuilder &b, linalg::GenericOp op,
                                   ValueRange inputs, ValueRange inits,
                                   ArrayRef<AffineMap> maps,
                                   ArrayRef<IteratorType> iterators) {
  auto made = linalg::GenericOp::create(b, op.getLoc(), inits.getTypes(),
                                        inputs, inits, maps, iterators);
  IRMapping mapping;
  op.getRegion().cloneInto(&made.getRegion(), mapping);
  return made;
}

linalg::FillOp tessera::getStart(linalg::GenericOp op, unsigned result) {
  return op.getDpsInitOperand(result)->get().getDefiningOp<linalg::FillOp>();
}

Value tessera::fillLike(GenericBuilder &b, linalg::FillOp start,
                        ArrayRef<int64_t> shape) {
  Value empty = tensor::EmptyOp::create(
      b, shape, getElementTypeOrSelf(start.getResult(0).getType()));
  return linalg::FillOp::create(b, start.getInputs()[0], empty).getResult(0);
}

Value tessera::reshapeConstant(OpBuilder &b, Value value,
                               RankedTensorType type) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return Value();
  auto elements = cast<DenseElementsAttr>(constant.getValue());
  return arith::ConstantOp::create(
      b, constant.getLoc(),
      elements.isSplat() ? elements.resizeSplat(type) : elements.reshape(type));
}

Value tessera::splitDim(GenericBuilder &b, Value value, int64_t dim,
                        int64_t outer) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= outer;
  shape.insert(shape.begin() + dim, outer);
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0, next = 0; i < type.getRank(); ++i) {
    groups.push_back({next++});
    if (i == dim)
      groups.back().push_back(next++);
  }
  auto split = RankedTensorType::get(shape, type.getElementType());
  if (Value constant = reshapeConstant(b, value, split))
    return constant;
  return tensor::ExpandShapeOp::create(b, split, value, groups);
}

int64_t tessera::findLoop(AffineMap map, unsigned loop) {
  for (auto [i, expr] : llvm::enumerate(map.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      if (dim.getPosition() == loop)
        return i;
  return -1;
}

linalg::GenericOp tessera::reorder(GenericBuilder &b, linalg::GenericOp op,
                                   ArrayRef<unsigned> order) {
  unsigned loops = op.getNumLoops();
  SmallVector<AffineExpr> newDims(loops);
  SmallVector<IteratorType> iterators, old = op.getIteratorTypesArray();
  for (auto [i, loop] : llvm::enumerate(order)) {
    newDims[loop] = b.getAffineDimExpr(i);
    iterators.push_back(old[loop]);
  }
  SmallVector<AffineMap> maps;
  for (AffineMap map : op.getIndexingMapsArray())
    maps.push_back(map.replaceDimsAndSymbols(newDims, {}, loops, 0));
  return rebuild(b, op, op.getDpsInputs(), op.getDpsInits(), maps, iterators);
}

/// True if the body of `op` computes `value` from an accumulator.
static bool readsAccumulator(linalg::GenericOp op, Value value) {
  Block *body = op.getBody();
  SmallVector<Value> pending{value};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      if (argument.getOwner() == body &&
          argument.getArgNumber() >= op.getNumDpsInputs())
        return true;
      continue;
    }
    Operation *def = next.getDefiningOp();
    if (!op.getRegion().isAncestor(def->getParentRegion()) ||
        !seen.insert(def).second)
      continue;
    def->walk([&](Operation *inner) {
      llvm::append_range(pending, inner->getOperands());
    });
  }
  return false;
}

Operation *tessera::getCombiner(linalg::GenericOp op, unsigned result) {
  Block *body = op.getBody();
  Value yielded = body->getTerminator()->getOperand(result);
  Operation *combiner = yielded.getDefiningOp();
  Value accumulator = body->getArgument(op.getNumDpsInputs() + result);
  if (!combiner || combiner->getBlock() != body ||
      combiner->getNumOperands() != 2 || combiner->getNumResults() != 1 ||
      !accumulator.hasOneUse() || *accumulator.user_begin() != combiner ||
      !arith::getNeutralElement(combiner))
    return nullptr;
  bool isFirst = combiner->getOperand(0) == accumulator;
  if (readsAccumulator(op, combiner->getOperand(isFirst ? 1 : 0)))
    return nullptr;
  return combiner;
}

linalg::GenericOp tessera::sumChunks(GenericBuilder &b, linalg::GenericOp op,
                                     Value chunks, unsigned count) {
  Operation *combiner = getCombiner(op, 0);
  Value accumulator = op.getBody()->getArguments().back();
  unsigned loops = cast<RankedTensorType>(chunks.getType()).getRank();
  SmallVector<IteratorType> iterators(loops, IteratorType::parallel);
  std::fill_n(iterators.begin(), count, IteratorType::reduction);
  SmallVector<unsigned> kept;
  for (unsigned loop = count; loop < loops; ++loop)
    kept.push_back(loop);
  return linalg::GenericOp::create(
      b, op.getResult(0).getType(), chunks, op.getDpsInitOperand(0)->get(),
      ArrayRef<AffineMap>{b.identity(loops), b.project(loops, kept)}, iterators,
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        IRMapping mapping;
        for (Value operand : combiner->getOperands())
          mapping.map(operand, operand == accumulator ? args[1] : args[0]);
        Operation *clone = nested.clone(*combiner, mapping);
        linalg::YieldOp::create(nested, loc, clone->getResult(0));
      });
}
