//===- ExpandCollectiveMatmul.cpp - Pieces and permutes around a ring -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In a ring of n devices each step multiplies one piece while another one
// travels to the neighbour: n steps, n - 1 permutes, the bytes of the
// collective.
//
//===----------------------------------------------------------------------===//

#include "CollectiveMatmul.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tessera/Collectives/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_EXPANDCOLLECTIVEMATMULPASS
#include "tessera/Collectives/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

RankedTensorType tessera::getPieceType(RankedTensorType type, int64_t dim,
                                       int64_t count) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= count;
  return type.clone(shape);
}

Value tessera::clonePiece(OpBuilder &builder, Operation *op, IRMapping &mapping,
                          RankedTensorType type) {
  Operation *piece = builder.clone(*op, mapping);
  piece->getResult(0).setType(type);
  return piece->getResult(0);
}

namespace {

class Ring {
public:
  explicit Ring(dist::CollectiveMatmulOp op)
      : op(op), collective(op.getCollective()), b(op.getLoc(), op) {
    Mesh mesh =
        dist::lookupMesh(op, collective.getMeshAttr()).getMesh().toMesh();
    count = numShards(collective.getAxes().toAxes(mesh));
    for (auto [argument, input] :
         llvm::zip_equal(op.getBody().getArguments(), op.getInputs()))
      operands.map(argument, input);
  }

  void expandGather(dist::AllGatherOp gather);
  void expandScatter(dist::ReduceScatterOp scatter);

private:
  /// What each device's neighbour `distance` before it holds.
  Value receive(Value value, int64_t distance);
  Value add(Value sum, Value value);

  dist::CollectiveMatmulOp op;
  dist::CollectiveOpInterface collective;
  ImplicitLocOpBuilder b;
  int64_t count = 0;
  IRMapping operands;
};

} // namespace

Value Ring::receive(Value value, int64_t distance) {
  SmallVector<int64_t> targets;
  for (int64_t member = 0; member < count; ++member)
    targets.push_back((member + count + distance) % count);
  return dist::CollectivePermuteOp::create(
      b, value.getType(), value, b.getDenseI64ArrayAttr(targets),
      collective.getAxes(), collective.getMeshAttr(), dist::ShardingAttr(),
      dist::ShardingAttr());
}

Value Ring::add(Value sum, Value value) {
  if (isa<FloatType>(getElementTypeOrSelf(sum)))
    return arith::AddFOp::create(b, sum, value);
  return arith::AddIOp::create(b, sum, value);
}

/// Step s has the piece of the s-th device behind this one.
void Ring::expandGather(dist::AllGatherOp gather) {
  SmallVector<Operation *> products = op.getProducts();
  SmallVector<SmallVector<Value>> pieces(products.size() + 1);
  SmallVector<unsigned> dims;
  for (Operation *product : products) {
    unsigned dim = 0;
    for (unsigned i = 0; i < product->getNumOperands(); ++i)
      if (product->getOperand(i) == gather.getResult() &&
          dist::isParallelIn(product, i, gather.getDim(), dim))
        break;
    dims.push_back(dim);
  }
  Value piece = op.getInputs().front();
  for (int64_t step = 0; step < count; ++step) {
    Value next = step + 1 < count ? receive(piece, -1) : Value();
    IRMapping mapping = operands;
    mapping.map(gather.getResult(), piece);
    pieces.back().push_back(piece);
    for (auto [i, product] : llvm::enumerate(products)) {
      auto type = cast<RankedTensorType>(product->getResult(0).getType());
      pieces[i].push_back(
          clonePiece(b, product, mapping, getPieceType(type, dims[i], count)));
    }
    piece = next;
  }
  for (auto [result, yielded] :
       llvm::zip_equal(op.getResults(), op.getYield().getOperands())) {
    // What is gathered, where it is yielded too, or the result of a product.
    unsigned index = 0;
    while (index < products.size() &&
           products[index] != yielded.getDefiningOp())
      ++index;
    int64_t dim = index < products.size() ? dims[index] : gather.getDim();
    result.replaceAllUsesWith(
        dist::AssembleOp::create(b, result.getType(), pieces[index], dim,
                                 gather.getAxes(), gather.getMesh()));
  }
  op.erase();
}

/// Step s computes a part of the piece of the (s + 1)-th device before this
/// one, whose sum comes by from the neighbour; the last is the device's own.
void Ring::expandScatter(dist::ReduceScatterOp scatter) {
  Operation *product = op.getProducts().front();
  auto [number, dim] = *dist::findParallelOperand(product, scatter.getDim());
  Value source = operands.lookup(product->getOperand(number));
  auto type =
      getPieceType(cast<RankedTensorType>(source.getType()), dim, count);
  int64_t size = type.getDimSize(dim);
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
      sizes = getAsIndexOpFoldResult(b.getContext(), type.getShape()),
      strides(type.getRank(), b.getIndexAttr(1));
  Value own = dist::AxisOffsetOp::create(b, b.getIndexType(), scatter.getAxes(),
                                         size, scatter.getMesh());
  Value whole = arith::ConstantIndexOp::create(b, size * count);
  Value sum;
  for (int64_t step = 0; step < count; ++step) {
    Value received = sum ? receive(sum, 1) : Value();
    Value shift = arith::ConstantIndexOp::create(b, size * (count - step - 1));
    Value start =
        arith::RemUIOp::create(b, arith::AddIOp::create(b, own, shift), whole);
    offsets[dim] = start;
    IRMapping mapping = operands;
    Value part = tensor::ExtractSliceOp::create(b, type, source, offsets, sizes,
                                                strides);
    mapping.map(product->getOperand(number), part);
    Value value =
        clonePiece(b, product, mapping,
                   cast<RankedTensorType>(scatter.getResult().getType()));
    sum = received ? add(received, value) : value;
  }
  op.getResult(0).replaceAllUsesWith(sum);
  op.erase();
}

namespace {
struct ExpandCollectiveMatmulPass
    : tessera::impl::ExpandCollectiveMatmulPassBase<
          ExpandCollectiveMatmulPass> {
  void runOnOperation() override {
    SmallVector<dist::CollectiveMatmulOp> ops;
    getOperation().walk(
        [&](dist::CollectiveMatmulOp op) { ops.push_back(op); });
    for (dist::CollectiveMatmulOp op : ops) {
      Operation *collective = op.getCollective();
      if (auto gather = dyn_cast<dist::AllGatherOp>(collective))
        Ring(op).expandGather(gather);
      else
        Ring(op).expandScatter(cast<dist::ReduceScatterOp>(collective));
    }
  }
};
} // namespace
