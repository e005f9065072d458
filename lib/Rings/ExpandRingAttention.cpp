//===- ExpandRingAttention.cpp - One attention for each step of a ring ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device i of n has chunk i of keys and values at first and chunk i - s, of its
// neighbours before it, in step s:
//
//     step      0      1      2
//     device 0  0      2      1        o, l: combined after each step
//     device 1  1      0      2        dq: a sum on the device
//     device 2  2      1      0        dk, dv: sums that go along with the
//     chunk
//
// Each step is an attention of its own in f32, with the logarithm l of its sums
// of exponentials, by which results are combined (Liu et al., Ring Attention
// with Blockwise Transformers, 2023):
//
//     l = log(e^l1 + e^l2)        o = o1 e^(l1-l) + o2 e^(l2-l)
//
// The sums of dk and dv begin at the neighbour of the chunk's owner, who adds
// its own step in the end: they are sent n - 1 times, as the chunk is. Steps in
// which a window lets no device see anything are left out; the sums then go
// from the last device that has some to the owner.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "tessera/Partition/ContextChoice.h"
#include "tessera/Rings/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_EXPANDRINGATTENTIONPASS
#include "tessera/Rings/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// What attention returns: the result and the logarithm of sums.
struct Attended {
  Value result, logsumexp;
};

class RingExpander {
public:
  explicit RingExpander(dist::RingAttentionOp op);
  void expand();

private:
  Value receive(Value value, int64_t distance);
  void receiveChunk(Value &k, Value &v, int64_t distance);
  Value widen(Value value);
  /// The own chunk of what the region gathers.
  Value chunkOf(Value gathered) {
    return inputs.lookup(
        gathered.getDefiningOp<dist::AllGatherOp>().getInput());
  }
  Value getOffset(int64_t step);
  Value scale(Value result, Value weight);
  Attended combine(const Attended &a, const Attended &b);
  Attended attend(nn::AttentionOp attention, Value q, Value k, Value v,
                  int64_t step);
  SmallVector<Value> expandForward(nn::AttentionOp attention);
  SmallVector<Value> expandBackward(nn::AttentionBackwardOp attention);

  dist::RingAttentionOp op;
  ImplicitLocOpBuilder b;
  dist::AllGatherOp gather;
  /// Devices of the ring, and keys of a chunk.
  int64_t count = 0, size = 0;
  /// The last step in which a query of some device sees a key.
  int64_t last = 0;
  IRMapping inputs;
};

} // namespace

RingExpander::RingExpander(dist::RingAttentionOp op)
    : op(op), b(op.getLoc(), op), gather(op.getGathers().front()) {
  Mesh mesh = dist::lookupMesh(op, gather.getMeshAttr()).getMesh().toMesh();
  count = numShards(gather.getAxes().toAxes(mesh));
  size = cast<RankedTensorType>(gather.getInput().getType())
             .getDimSize(gather.getDim());
  for (auto [argument, input] :
       llvm::zip_equal(op.getBody().getArguments(), op.getInputs()))
    inputs.map(argument, input);
  for (auto offset : op.getBody().front().getOps<dist::AxisOffsetOp>())
    b.clone(*offset, inputs);
}

/// What the device `distance` before each holds.
Value RingExpander::receive(Value value, int64_t distance) {
  SmallVector<int64_t> targets;
  for (int64_t member = 0; member < count; ++member)
    targets.push_back((member + count + distance) % count);
  return dist::CollectivePermuteOp::create(
      b, value.getType(), value, b.getDenseI64ArrayAttr(targets),
      gather.getAxes(), gather.getMeshAttr(), dist::ShardingAttr(),
      dist::ShardingAttr());
}

/// A value in f32 at least.
Value RingExpander::widen(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementTypeBitWidth() >= 32)
    return value;
  return arith::ExtFOp::create(b, type.clone(b.getF32Type()), value);
}

/// The position of the first key of a step.
Value RingExpander::getOffset(int64_t step) {
  Value own = dist::AxisOffsetOp::create(b, b.getIndexType(), gather.getAxes(),
                                         size, gather.getMesh());
  if (step == 0)
    return own;
  Value shift = arith::ConstantIndexOp::create(b, size * (count - step));
  Value whole = arith::ConstantIndexOp::create(b, size * count);
  return arith::RemUIOp::create(b, arith::AddIOp::create(b, own, shift), whole);
}

/// Each query's row of a result by its weight.
Value RingExpander::scale(Value result, Value weight) {
  int64_t rank = cast<RankedTensorType>(weight.getType()).getRank();
  Value wide = nn::BroadcastOp::create(
      b, result.getType(), weight,
      b.getDenseI64ArrayAttr(llvm::to_vector(llvm::seq<int64_t>(0, rank))));
  return arith::MulFOp::create(b, result, wide);
}

/// A query that sees nothing in a step has a logarithm of minus infinity there;
/// one that sees nothing at all has 0 and minus infinity.
Attended RingExpander::combine(const Attended &x, const Attended &y) {
  auto type = cast<RankedTensorType>(x.logsumexp.getType());
  auto constant = [&](const llvm::APFloat &number) -> Value {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, number));
  };
  const llvm::fltSemantics &semantics =
      cast<FloatType>(type.getElementType()).getFloatSemantics();
  Value largest = arith::MaximumFOp::create(b, x.logsumexp, y.logsumexp);
  // A finite reference: the difference to it is minus infinity, not NaN.
  largest = arith::MaximumFOp::create(
      b, largest, constant(llvm::APFloat::getLargest(semantics, true)));
  auto exponential = [&](Value l) -> Value {
    return math::ExpOp::create(b, arith::SubFOp::create(b, l, largest));
  };
  Value ex = exponential(x.logsumexp), ey = exponential(y.logsumexp);
  Value sum = arith::AddFOp::create(b, ex, ey);
  Value divisor = arith::MaximumFOp::create(
      b, sum, constant(llvm::APFloat::getSmallestNormalized(semantics)));
  Value result = arith::AddFOp::create(
      b, scale(x.result, arith::DivFOp::create(b, ex, divisor)),
      scale(y.result, arith::DivFOp::create(b, ey, divisor)));
  return {result,
          arith::AddFOp::create(b, largest, math::LogOp::create(b, sum))};
}

/// The attention of the own queries to the chunk of a step.
Attended RingExpander::attend(nn::AttentionOp attention, Value q, Value k,
                              Value v, int64_t step) {
  k = widen(k);
  v = widen(v);
  Value queryOffset = inputs.lookupOrNull(attention.getQOffset());
  auto type = cast<RankedTensorType>(attention.getResult().getType())
                  .clone(getElementTypeOrSelf(q));
  Type stats =
      RankedTensorType::get(type.getShape().drop_back(), type.getElementType());
  auto partial = nn::AttentionOp::create(
      b, type, TypeRange(stats), q, k, v, queryOffset, getOffset(step),
      attention.getCausalAttr(), attention.getWindowAttr(),
      attention.getScaleAttr(), attention.getKeySizeAttr());
  return {partial.getResult(), partial.getStats().front()};
}

void RingExpander::receiveChunk(Value &k, Value &v, int64_t distance) {
  k = receive(k, distance);
  v = receive(v, distance);
}

SmallVector<Value> RingExpander::expandForward(nn::AttentionOp attention) {
  Value k = chunkOf(attention.getK()), v = chunkOf(attention.getV());
  Value q = widen(inputs.lookup(attention.getQ()));
  std::optional<Attended> all;
  last = getLastStep(count, size, attention.getCausal(), attention.getWindow());
  for (int64_t step = 0; step <= last; ++step) {
    Value nextK = k, nextV = v;
    if (step < last)
      receiveChunk(nextK, nextV, 1);
    Attended partial = attend(attention, q, k, v, step);
    all = all ? combine(*all, partial) : partial;
    k = nextK;
    v = nextV;
  }
  Value result = all->result;
  if (result.getType() != attention.getResult().getType())
    result =
        arith::TruncFOp::create(b, attention.getResult().getType(), result);
  SmallVector<Value> values{result};
  if (!attention.getStats().empty())
    values.push_back(all->logsumexp);
  return values;
}

/// Operands stay; dq is summed here, dk and dv as they go around.
SmallVector<Value>
RingExpander::expandBackward(nn::AttentionBackwardOp attention) {
  auto own = [&](Value value) { return widen(inputs.lookup(value)); };
  Value k = chunkOf(attention.getK()), v = chunkOf(attention.getV());
  Value grad = own(attention.getGrad()), q = own(attention.getQ()),
        out = own(attention.getOut()), l = own(attention.getLogsumexp());
  Value queryOffset = inputs.lookupOrNull(attention.getQOffset());
  auto add = [&](Value sum, Value value) -> Value {
    return sum ? Value(arith::AddFOp::create(b, sum, value)) : value;
  };
  Value dq, ownK, ownV, dk, dv;
  last = getLastStep(count, size, attention.getCausal(), attention.getWindow());
  for (int64_t step = 0; step <= last; ++step) {
    Value nextK = k, nextV = v;
    if (step < last)
      receiveChunk(nextK, nextV, 1);
    if (dk)
      receiveChunk(dk, dv, 1);
    Value wideK = widen(k), wideV = widen(v);
    auto partial = nn::AttentionBackwardOp::create(
        b, q.getType(), wideK.getType(), wideV.getType(), grad, q, wideK, wideV,
        out, l, queryOffset, getOffset(step), attention.getCausalAttr(),
        attention.getWindowAttr(), attention.getScaleAttr(),
        attention.getKeySizeAttr());
    dq = add(dq, partial.getDq());
    if (step == 0) {
      ownK = partial.getDk();
      ownV = partial.getDv();
    } else {
      dk = add(dk, partial.getDk());
      dv = add(dv, partial.getDv());
    }
    k = nextK;
    v = nextV;
  }
  if (dk)
    receiveChunk(dk, dv, -last);
  SmallVector<Value> values{dq, add(dk, ownK), add(dv, ownV)};
  for (auto [value, result] : llvm::zip_equal(values, op.getResults()))
    if (value.getType() != result.getType())
      value = arith::TruncFOp::create(b, result.getType(), value);
  return values;
}

void RingExpander::expand() {
  SmallVector<Value> values;
  if (auto attention = dyn_cast<nn::AttentionOp>(op.getAttention()))
    values = expandForward(attention);
  else
    values = expandBackward(cast<nn::AttentionBackwardOp>(op.getAttention()));
  op.replaceAllUsesWith(values);
  op.erase();
}

namespace {
struct ExpandRingAttentionPass
    : tessera::impl::ExpandRingAttentionPassBase<ExpandRingAttentionPass> {
  void runOnOperation() override {
    SmallVector<dist::RingAttentionOp> ops;
    getOperation().walk([&](dist::RingAttentionOp op) { ops.push_back(op); });
    for (dist::RingAttentionOp op : ops)
      RingExpander(op).expand();
  }
};
} // namespace
