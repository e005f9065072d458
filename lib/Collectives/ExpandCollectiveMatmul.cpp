//===- ExpandCollectiveMatmul.cpp - Chunks and permutes around a ring -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In a ring of n devices, each step multiplies one chunk while another one is
// sent to the neighbour: n steps, n - 1 permutes, and the same bytes as the
// collective.
//
//===----------------------------------------------------------------------===//

#include "CollectiveMatmul.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tessera/CollectiveLists/CollectiveList.h"
#include "tessera/Collectives/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_EXPANDCOLLECTIVEMATMULPASS
#include "tessera/Collectives/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

RankedTensorType tessera::getChunkType(RankedTensorType type, int64_t dim,
                                       int64_t count) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= count;
  return type.clone(shape);
}

Value tessera::cloneChunk(OpBuilder &builder, Operation *op, IRMapping &mapping,
                          RankedTensorType type) {
  Operation *chunk = builder.clone(*op, mapping);
  chunk->getResult(0).setType(type);
  return chunk->getResult(0);
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

  /// Lists the permutes of the chunks around the ring: shards of the gathered
  /// tensor, or sums of the scattered shards.
  void expect(Value chunk, int64_t distance) {
    addExpected(op,
                listRotation(cast<RankedTensorType>(chunk.getType()),
                             collective.getAxes(), count, distance),
                count - 1);
  }
  void expandGather(dist::AllGatherOp gather);
  void expandScatter(dist::ReduceScatterOp scatter);

private:
  /// Returns the value of each device's neighbour `distance` before it.
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

/// Step s multiplies the chunk of the s-th device after this one.
void Ring::expandGather(dist::AllGatherOp gather) {
  SmallVector<Operation *> matmuls = op.getMatmuls();
  SmallVector<SmallVector<Value>> chunks(matmuls.size() + 1);
  SmallVector<unsigned> dims;
  for (Operation *matmul : matmuls) {
    unsigned dim = 0;
    for (unsigned i = 0; i < matmul->getNumOperands(); ++i)
      if (matmul->getOperand(i) == gather.getResult() &&
          dist::isParallelIn(matmul, i, gather.getDim(), dim))
        break;
    dims.push_back(dim);
  }
  Value chunk = op.getInputs().front();
  for (int64_t step = 0; step < count; ++step) {
    Value next = step + 1 < count ? receive(chunk, -1) : Value();
    IRMapping mapping = operands;
    mapping.map(gather.getResult(), chunk);
    chunks.back().push_back(chunk);
    for (auto [i, matmul] : llvm::enumerate(matmuls)) {
      auto type = cast<RankedTensorType>(matmul->getResult(0).getType());
      chunks[i].push_back(
          cloneChunk(b, matmul, mapping, getChunkType(type, dims[i], count)));
    }
    chunk = next;
  }
  for (auto [result, yielded] :
       llvm::zip_equal(op.getResults(), op.getYield().getOperands())) {
    // The yielded value is the gathered tensor or the result of a matmul.
    unsigned index = 0;
    while (index < matmuls.size() && matmuls[index] != yielded.getDefiningOp())
      ++index;
    int64_t dim = index < matmuls.size() ? dims[index] : gather.getDim();
    result.replaceAllUsesWith(
        dist::AssembleOp::create(b, result.getType(), chunks[index], dim,
                                 gather.getAxes(), gather.getMesh()));
  }
  op.erase();
}

/// Step s computes an addend for the chunk of the (s + 1)-th device before this
/// one, and adds it to the sum from the neighbour. The last step is for the
/// device's own chunk.
void Ring::expandScatter(dist::ReduceScatterOp scatter) {
  Operation *matmul = op.getMatmuls().front();
  auto [number, dim] = *dist::findParallelOperand(matmul, scatter.getDim());
  Value source = operands.lookup(matmul->getOperand(number));
  auto type =
      getChunkType(cast<RankedTensorType>(source.getType()), dim, count);
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
    mapping.map(matmul->getOperand(number), part);
    Value value =
        cloneChunk(b, matmul, mapping,
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
      Ring ring(op);
      if (auto gather = dyn_cast<dist::AllGatherOp>(collective)) {
        ring.expect(op.getInputs().front(), -1);
        ring.expandGather(gather);
      } else {
        ring.expect(collective->getResult(0), 1);
        ring.expandScatter(cast<dist::ReduceScatterOp>(collective));
      }
    }
  }
};
} // namespace
