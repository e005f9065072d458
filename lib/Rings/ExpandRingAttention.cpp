//===- ExpandRingAttention.cpp - One attention for each step of a ring ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device i of n starts with chunk i of keys and values. In step s it has chunk
// i - s, from the devices before it:
//
//     step      0      1      2
//     device 0  0      2      1        o, l: combined after each step
//     device 1  1      0      2        dq: a sum on the device
//     device 2  2      1      0        dk, dv: sums that travel with the chunk
//
// Each step is a separate attention with results in f32 and with the logarithm
// l of its sums of exponentials, which combines results (Liu et al., Ring
// Attention with Blockwise Transformers, 2023). Gradients of a step are in f32
// on the host. On a GPU they have the operands' type, since its libraries round
// them. Sums are in f32 on both.
//
// The sums of dk and dv start at the neighbor of the chunk's owner, who adds
// its own step at the end: they are sent n - 1 times, like the chunk. Steps in
// which no device sees a key because of a window are skipped; the sums then go
// from the last contributing device to the owner.
//
// In zig-zag order device i has the chunks i and 2n - 1 - i of 2n. Each query
// sees half of the keys of an earlier device (j < i), and all or none of a
// later one's:
//
//                       keys of j < i         keys of j > i
//                       j      2n-1-j         j      2n-1-j
//     queries i         all    none           none   none
//     queries 2n-1-i    all    none           all    all
//
// So each step after the first consists of two attentions of half the queries
// to half the keys, without a mask.
//
//===----------------------------------------------------------------------===//

#include "AttentionPieces.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/IR/TypeUtilities.h"
#include "tessera/CollectiveLists/CollectiveList.h"
#include "tessera/Rings/Passes.h"
#include "tessera/Rings/RingSteps.h"

namespace tessera {
#define GEN_PASS_DEF_EXPANDRINGATTENTIONPASS
#include "tessera/Rings/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

class RingExpander {
public:
  explicit RingExpander(dist::RingAttentionOp op);
  void expand();

private:
  /// The type of an operand's gradient in one step.
  Type getGradientType(Value operand) const {
    return ring.roundsGradients ? operand.getType()
                                : widenType(operand.getType());
  }
  /// A sum in at least f32; `value` unchanged if `sum` is null.
  Value add(Value sum, Value value) {
    if (!sum)
      return value;
    return arith::AddFOp::create(b, widen(b, sum), widen(b, value));
  }
  Value receive(Value value, int64_t distance);
  void receiveChunk(Value &k, Value &v, int64_t distance);
  void expect();
  /// The device's own chunk of a gathered value.
  Value chunkOf(Value gathered) {
    return inputs.lookup(
        gathered.getDefiningOp<dist::AllGatherOp>().getInput());
  }
  Value getOffset(int64_t step);
  nn::Attended attend(nn::AttentionOp attention, Value q, Value k, Value v,
                      int64_t step);
  template <typename Op> Value getBias(Op attention, int64_t step);
  SmallVector<Value> finish(nn::AttentionOp attention, nn::Attended all);
  SmallVector<Value> expandPlain(nn::AttentionOp attention);
  SmallVector<Value> expandPlain(nn::AttentionBackwardOp attention);

  template <typename Op> void expand(Op attention);
  Value getHalf(int64_t step);
  Value getOtherHalf(Value half);
  Value halfAt(Value tensor, OpFoldResult begin) {
    return slice(b, tensor, begin, size / 2);
  }
  Value firstHalf(Value tensor) { return halfAt(tensor, b.getIndexAttr(0)); }
  Value secondHalf(Value tensor) {
    return halfAt(tensor, b.getIndexAttr(size / 2));
  }
  Value unlessSecond(Value value, Value half, double number);
  nn::Attended attendTo(nn::AttentionOp attention, Value q, Value k, Value v,
                        bool causal);
  std::array<Value, 3> differentiate(nn::AttentionBackwardOp attention,
                                     ArrayRef<Value> queries, Value k, Value v,
                                     bool causal);
  SmallVector<Value> expandZigzag(nn::AttentionOp attention);
  SmallVector<Value> expandZigzag(nn::AttentionBackwardOp attention);

  dist::RingAttentionOp op;
  ImplicitLocOpBuilder b;
  dist::AllGatherOp gather;
  RingSteps ring;
  /// Devices of the ring, and keys of a chunk.
  int64_t count, size;
  IRMapping inputs;
};

} // namespace

RingExpander::RingExpander(dist::RingAttentionOp op)
    : op(op), b(op.getLoc(), op), gather(op.getGathers().front()),
      ring(getRingSteps(op)), count(ring.count), size(ring.size) {
  for (auto [argument, input] :
       llvm::zip_equal(op.getBody().getArguments(), op.getInputs()))
    inputs.map(argument, input);
  for (auto offset : op.getBody().front().getOps<dist::AxisOffsetOp>())
    b.clone(*offset, inputs);
}

/// Receives the value of the device `distance` before this one.
Value RingExpander::receive(Value value, int64_t distance) {
  SmallVector<int64_t> targets;
  for (int64_t member = 0; member < count; ++member)
    targets.push_back((member + count + distance) % count);
  return dist::CollectivePermuteOp::create(
      b, value.getType(), value, b.getDenseI64ArrayAttr(targets),
      gather.getAxes(), gather.getMeshAttr(), dist::ShardingAttr(),
      dist::ShardingAttr());
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

/// The bias of the keys of a step, which is there for all keys; or null.
template <typename Op> Value RingExpander::getBias(Op attention, int64_t step) {
  if (!attention.getBias())
    return Value();
  return slice(b, inputs.lookup(attention.getBias()), getOffset(step), size,
               attention.getBiasDims()->size() - 1);
}

/// The attention of the device's own queries to the chunk of a step.
nn::Attended RingExpander::attend(nn::AttentionOp attention, Value q, Value k,
                                  Value v, int64_t step) {
  Value queryOffset = inputs.lookupOrNull(attention.getQOffset());
  RankedTensorType type = widenType(attention.getResult().getType());
  Type stats = nn::getStatType(type, /*hasBias=*/bool(attention.getBias()));
  auto partial = nn::AttentionOp::create(
      b, type, TypeRange(stats), q, k, v, queryOffset, getOffset(step),
      inputs.lookupOrNull(attention.getStarts()), getBias(attention, step),
      /*sinks=*/Value(), attention.getBiasDimsAttr(), attention.getCausalAttr(),
      attention.getWindowAttr(), attention.getScaleAttr(),
      attention.getSoftcapAttr(), attention.getKeySizeAttr(),
      attention.getOrderAttr());
  return {partial.getResult(), partial.getStats().front()};
}

void RingExpander::receiveChunk(Value &k, Value &v, int64_t distance) {
  k = receive(k, distance);
  v = receive(v, distance);
}

/// Adds the sinks, which no step sees.
SmallVector<Value> RingExpander::finish(nn::AttentionOp attention,
                                        nn::Attended all) {
  all = nn::addSinks(b, b.getLoc(), all,
                     inputs.lookupOrNull(attention.getSinks()));
  return {all.result, all.stat};
}

SmallVector<Value> RingExpander::expandPlain(nn::AttentionOp attention) {
  Value k = chunkOf(attention.getK()), v = chunkOf(attention.getV());
  Value q = inputs.lookup(attention.getQ());
  std::optional<nn::Attended> all;
  for (auto [number, step] : llvm::enumerate(ring.steps)) {
    Value nextK = k, nextV = v;
    if (number + 1 < ring.steps.size())
      receiveChunk(nextK, nextV, ring.getDistance(number + 1));
    nn::Attended partial = attend(attention, q, k, v, step);
    all = all ? nn::combine(b, b.getLoc(), *all, partial) : partial;
    k = nextK;
    v = nextV;
  }
  return finish(attention, *all);
}

/// Operands stay; dq is summed here, dk and dv travel around the ring.
SmallVector<Value>
RingExpander::expandPlain(nn::AttentionBackwardOp attention) {
  auto own = [&](Value value) { return inputs.lookup(value); };
  Value k = chunkOf(attention.getK()), v = chunkOf(attention.getV());
  Value grad = own(attention.getGrad()), q = own(attention.getQ()),
        out = own(attention.getOut()), l = own(attention.getLogsumexp());
  Value queryOffset = inputs.lookupOrNull(attention.getQOffset());
  Value dq, ownK, ownV, dk, dv;
  for (auto [number, step] : llvm::enumerate(ring.steps)) {
    Value nextK = k, nextV = v;
    if (number + 1 < ring.steps.size())
      receiveChunk(nextK, nextV, ring.getDistance(number + 1));
    if (dk)
      receiveChunk(dk, dv, ring.getDistance(number));
    auto partial = nn::AttentionBackwardOp::create(
        b, getGradientType(q), getGradientType(k), getGradientType(v), grad, q,
        k, v, out, l, queryOffset, getOffset(step),
        inputs.lookupOrNull(attention.getStarts()), getBias(attention, step),
        attention.getBiasDimsAttr(), attention.getCausalAttr(),
        attention.getWindowAttr(), attention.getScaleAttr(),
        attention.getSoftcapAttr(), attention.getKeySizeAttr(),
        attention.getOrderAttr());
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
    receiveChunk(dk, dv, -ring.steps.back());
  return {dq, add(dk, ownK), add(dv, ownV)};
}

//===----------------------------------------------------------------------===//
// Zig-zag order
//===----------------------------------------------------------------------===//

/// The half of a chunk that the first half of the queries sees or, for a chunk
/// of a later device, the second half. Returns the index of its first element.
/// This is known at run time only: device i has chunks of later devices in
/// steps after i.
Value RingExpander::getHalf(int64_t step) {
  Value own = dist::AxisOffsetOp::create(b, b.getIndexType(), gather.getAxes(),
                                         /*local_size=*/1, gather.getMesh());
  Value isLater =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, own,
                            arith::ConstantIndexOp::create(b, step));
  return arith::SelectOp::create(b, isLater,
                                 arith::ConstantIndexOp::create(b, size / 2),
                                 arith::ConstantIndexOp::create(b, 0));
}

/// The index of the other half.
Value RingExpander::getOtherHalf(Value half) {
  Value second = arith::ConstantIndexOp::create(b, size / 2);
  return arith::SubIOp::create(b, second, half);
}

/// The value if `half` is the first one; else the number everywhere.
Value RingExpander::unlessSecond(Value value, Value half, double number) {
  Type element = getElementTypeOrSelf(value);
  return nn::MaskPaddingOp::create(
      b, value.getType(), value, half, b.getI64IntegerAttr(1),
      b.getI64IntegerAttr(size / 2), b.getFloatAttr(element, number));
}

/// Attention of the given queries and keys alone, whatever their positions.
nn::Attended RingExpander::attendTo(nn::AttentionOp attention, Value q, Value k,
                                    Value v, bool causal) {
  auto type = cast<RankedTensorType>(attention.getResult().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[1] = cast<RankedTensorType>(q.getType()).getDimSize(1);
  type = widenType(type.clone(shape));
  auto partial = nn::AttentionOp::create(
      b, type, TypeRange(nn::getStatType(type, /*hasBias=*/false)), q, k, v,
      /*q_offset=*/Value(), /*k_offset=*/Value(), /*starts=*/Value(),
      /*bias=*/Value(), /*sinks=*/Value(), /*bias_dims=*/DenseI64ArrayAttr(),
      causal ? b.getUnitAttr() : UnitAttr(), /*window=*/IntegerAttr(),
      attention.getScaleAttr(), attention.getSoftcapAttr(),
      /*key_size=*/IntegerAttr(), nn::ZigzagAttr());
  return {partial.getResult(), partial.getStats().front()};
}

SmallVector<Value> RingExpander::expandZigzag(nn::AttentionOp attention) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Value k = chunkOf(attention.getK()), v = chunkOf(attention.getV());
  Value q = inputs.lookup(attention.getQ());
  nn::Attended first, second;
  for (int64_t step = 0; step < count; ++step) {
    Value nextK = k, nextV = v;
    if (step + 1 < count)
      receiveChunk(nextK, nextV, 1);
    if (step == 0) {
      nn::Attended own = attendTo(attention, q, k, v, /*causal=*/true);
      first = {firstHalf(own.result), firstHalf(own.stat)};
      second = {secondHalf(own.result), secondHalf(own.stat)};
    } else {
      second = nn::combine(b, b.getLoc(), second,
                           attendTo(attention, secondHalf(q), firstHalf(k),
                                    firstHalf(v), /*causal=*/false));
      Value half = getHalf(step);
      nn::Attended some = attendTo(attention, halfAt(q, half), halfAt(k, half),
                                   halfAt(v, half), /*causal=*/false);
      Value l = some.stat;
      some.stat = unlessSecond(l, half, -infinity);
      first = nn::combine(b, b.getLoc(), first, some);
      some.stat = unlessSecond(l, getOtherHalf(half), -infinity);
      second = nn::combine(b, b.getLoc(), second, some);
    }
    k = nextK;
    v = nextV;
  }
  for (nn::Attended *half : {&first, &second}) {
    SmallVector<Value> results = finish(attention, *half);
    *half = {narrow(b, results[0], attention.getResult().getType()),
             results[1]};
  }
  return {concat(b, {first.result, second.result}),
          concat(b, {first.stat, second.stat})};
}

/// Gradients of the given queries, keys and values alone.
std::array<Value, 3>
RingExpander::differentiate(nn::AttentionBackwardOp attention,
                            ArrayRef<Value> queries, Value k, Value v,
                            bool causal) {
  auto partial = nn::AttentionBackwardOp::create(
      b, getGradientType(queries[1]), getGradientType(k), getGradientType(v),
      queries[0], queries[1], k, v, queries[2], queries[3],
      /*q_offset=*/Value(),
      /*k_offset=*/Value(), /*starts=*/Value(), /*bias=*/Value(),
      /*bias_dims=*/DenseI64ArrayAttr(), causal ? b.getUnitAttr() : UnitAttr(),
      /*window=*/IntegerAttr(), attention.getScaleAttr(),
      attention.getSoftcapAttr(),
      /*key_size=*/IntegerAttr(), nn::ZigzagAttr());
  return {partial.getDq(), partial.getDk(), partial.getDv()};
}

/// Like the plain ring, with separate sums for the gradients of halves.
SmallVector<Value>
RingExpander::expandZigzag(nn::AttentionBackwardOp attention) {
  SmallVector<Value> queries, secondQueries;
  for (Value value : {attention.getGrad(), attention.getQ(), attention.getOut(),
                      attention.getLogsumexp()}) {
    queries.push_back(inputs.lookup(value));
    secondQueries.push_back(secondHalf(queries.back()));
  }
  Value k = chunkOf(attention.getK()), v = chunkOf(attention.getV());
  Value firstDq, secondDq, dk, dv;
  std::array<Value, 3> own;
  for (int64_t step = 0; step < count; ++step) {
    Value nextK = k, nextV = v;
    if (step + 1 < count)
      receiveChunk(nextK, nextV, 1);
    if (dk)
      receiveChunk(dk, dv, 1);
    if (step == 0) {
      own = differentiate(attention, queries, k, v, /*causal=*/true);
      firstDq = firstHalf(own[0]);
      secondDq = secondHalf(own[0]);
    } else {
      // Runs first, while the tensors that are copied for the other one are
      // alive: the static halves are views of them.
      std::array<Value, 3> always =
          differentiate(attention, secondQueries, firstHalf(k), firstHalf(v),
                        /*causal=*/false);
      Value half = getHalf(step), other = getOtherHalf(half);
      SmallVector<Value> someQueries;
      for (Value value : queries)
        someQueries.push_back(halfAt(value, half));
      std::array<Value, 3> some =
          differentiate(attention, someQueries, halfAt(k, half),
                        halfAt(v, half), /*causal=*/false);
      secondDq = add(add(secondDq, always[0]), unlessSecond(some[0], other, 0));
      firstDq = add(firstDq, unlessSecond(some[0], half, 0));
      // Sums each half separately, where it is sent from.
      auto sum = [&](Value received, Value always, Value some) {
        Value first = add(always, unlessSecond(some, half, 0));
        Value second = unlessSecond(some, other, 0);
        if (received) {
          first = add(firstHalf(received), first);
          second = add(secondHalf(received), second);
        }
        return concat(b, {widen(b, first), widen(b, second)});
      };
      dk = sum(dk, always[1], some[1]);
      dv = sum(dv, always[2], some[2]);
    }
    k = nextK;
    v = nextV;
  }
  receiveChunk(dk, dv, -(count - 1));
  Type type = attention.getDq().getType();
  return {concat(b, {narrow(b, firstDq, type), narrow(b, secondDq, type)}),
          add(dk, own[1]), add(dv, own[2])};
}

/// Lists the expected collectives of the ring.
void RingExpander::expect() {
  for (const dist::Transfer &transfer : getRingTransfers(op))
    addExpected(op, listRotation(transfer.piece, gather.getAxes(), count,
                                 transfer.distance));
}

template <typename Op> void RingExpander::expand(Op attention) {
  expect();
  SmallVector<Value> values =
      ring.isZigzag ? expandZigzag(attention) : expandPlain(attention);
  for (auto [value, result] : llvm::zip(values, op.getResults()))
    result.replaceAllUsesWith(narrow(b, value, result.getType()));
  op.erase();
}

void RingExpander::expand() {
  if (auto attention = dyn_cast<nn::AttentionOp>(op.getAttention()))
    expand(attention);
  else
    expand(cast<nn::AttentionBackwardOp>(op.getAttention()));
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
