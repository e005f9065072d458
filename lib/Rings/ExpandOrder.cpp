//===- ExpandOrder.cpp - Attention in zig-zag order in plain order --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel of attention takes queries and keys of which each has the position
// after the one before. Of a sequence in chunks,
//
//     stored   0 7 | 1 6 | 2 5 | 3 4        device 1 has the queries 1 and 6
//
// all keys are put into the order of positions, and the queries of a device are
// attentions of their own, one for each chunk. All queries are put into that
// order, too, and the result back. Where only some keys are here, as in a step
// of a ring, each chunk of queries attends to each chunk of keys; kernels leave
// out those of which it sees nothing.
//
//===----------------------------------------------------------------------===//

#include "AttentionPieces.h"
#include "dialects/NN/NN.h"
#include "tessera/Rings/Passes.h"
#include <numeric>

namespace tessera {
#define GEN_PASS_DEF_EXPANDORDERPASS
#include "tessera/Rings/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// The queries or the keys of an attention, as pieces in plain order.
class Side {
public:
  Side(ImplicitLocOpBuilder &b, nn::ZigzagAttr order, Value tensor,
       Value offset)
      : b(b), order(order) {
    int64_t all = cast<RankedTensorType>(tensor.getType()).getDimSize(1);
    isWhole = all == order.getSize();
    size = isWhole ? all : std::gcd(all, order.getChunk());
    for (int64_t begin = 0; begin < all; begin += size)
      offsets.push_back(isWhole ? Value() : getPosition(offset, begin));
  }

  unsigned getNumPieces() const { return offsets.size(); }
  /// The position of a piece's first element; null for 0.
  Value getOffset(unsigned piece) const { return offsets[piece]; }

  /// The pieces of a tensor along dimension 1.
  SmallVector<Value> split(Value tensor) const {
    SmallVector<Value> pieces;
    if (isWhole)
      return {permute(tensor, [&](int64_t chunk) {
        int64_t after = 2 * order.getShards() - 1 - chunk;
        return chunk <= after ? 2 * chunk : 2 * after + 1;
      })};
    for (unsigned i = 0; i < getNumPieces(); ++i)
      pieces.push_back(slice(b, tensor, b.getIndexAttr(i * size), size));
    return pieces;
  }

  /// A tensor as it is stored, of its pieces.
  Value join(ArrayRef<Value> pieces) const {
    if (!isWhole)
      return concat(b, pieces);
    return permute(pieces.front(),
                   [&](int64_t chunk) { return order.getChunkAt(chunk); });
  }

private:
  Value getPosition(Value offset, int64_t begin) const {
    Value index = arith::ConstantIndexOp::create(b, begin);
    if (offset)
      index = arith::AddIOp::create(b, offset, index);
    return order.buildPosition(b, b.getLoc(), index);
  }

  /// Chunk `from(i)` of a tensor as chunk i.
  Value permute(Value tensor, llvm::function_ref<int64_t(int64_t)> from) const {
    int64_t chunk = order.getChunk();
    SmallVector<Value> chunks;
    for (int64_t i = 0; i < 2 * order.getShards(); ++i)
      chunks.push_back(
          slice(b, tensor, b.getIndexAttr(from(i) * chunk), chunk));
    return concat(b, chunks);
  }

  ImplicitLocOpBuilder &b;
  nn::ZigzagAttr order;
  bool isWhole;
  int64_t size;
  SmallVector<Value> offsets;
};

/// Attention, or its backward, by pieces of queries and of keys.
template <typename Op> class OrderExpander {
public:
  explicit OrderExpander(Op op)
      : op(op), b(op.getLoc(), op),
        queries(b, op.getOrderAttr(), op.getQ(), op.getQOffset()),
        keys(b, op.getOrderAttr(), op.getK(), op.getKOffset()),
        q(queries.split(op.getQ())), k(keys.split(op.getK())),
        v(keys.split(op.getV())), starts(queries.getNumPieces()) {
    if (op.getStarts())
      starts = queries.split(op.getStarts());
  }

  void expand() {
    SmallVector<Value> results = build();
    op->replaceAllUsesWith(results);
    op->erase();
  }

private:
  SmallVector<Value> build();
  Attended attend(unsigned query, unsigned key);
  void add(Value &sum, Value value) {
    value = widen(b, value);
    sum = sum ? arith::AddFOp::create(b, sum, value).getResult() : value;
  }
  Op op;
  ImplicitLocOpBuilder b;
  Side queries, keys;
  SmallVector<Value> q, k, v, starts;
};

} // namespace

template <>
Attended OrderExpander<nn::AttentionOp>::attend(unsigned query, unsigned key) {
  auto whole = cast<RankedTensorType>(op.getResult().getType());
  SmallVector<int64_t> shape(whole.getShape());
  shape[1] = cast<RankedTensorType>(q[query].getType()).getDimSize(1);
  SmallVector<Type, 1> stats;
  Type wide = whole.getElementType().isF64() ? b.getF64Type() : b.getF32Type();
  if (!op.getStats().empty() || k.size() > 1)
    stats.push_back(
        RankedTensorType::get(ArrayRef<int64_t>(shape).drop_back(), wide));
  // What is combined is not rounded before.
  RankedTensorType type = whole.clone(shape);
  if (k.size() > 1)
    type = widenType(type);
  auto piece = nn::AttentionOp::create(
      b, type, stats, q[query], k[key], v[key], queries.getOffset(query),
      keys.getOffset(key), starts[query], op.getCausalAttr(),
      op.getWindowAttr(), op.getScaleAttr(), op.getKeySizeAttr(),
      nn::ZigzagAttr());
  return {piece.getResult(),
          stats.empty() ? Value() : piece.getStats().front()};
}

template <> SmallVector<Value> OrderExpander<nn::AttentionOp>::build() {
  SmallVector<Value> results, stats;
  for (unsigned i = 0; i < q.size(); ++i) {
    Attended all = attend(i, 0);
    for (unsigned j = 1; j < k.size(); ++j)
      all = combine(b, all, attend(i, j));
    results.push_back(narrow(b, all.result, op.getResult().getType()));
    stats.push_back(all.logsumexp);
  }
  SmallVector<Value> joined{queries.join(results)};
  if (!op.getStats().empty())
    joined.push_back(queries.join(stats));
  return joined;
}

template <> SmallVector<Value> OrderExpander<nn::AttentionBackwardOp>::build() {
  SmallVector<Value> grad = queries.split(op.getGrad()),
                     out = queries.split(op.getOut()),
                     logsumexp = queries.split(op.getLogsumexp());
  SmallVector<Value> dq(q.size()), dk(k.size()), dv(k.size());
  for (unsigned i = 0; i < q.size(); ++i)
    for (unsigned j = 0; j < k.size(); ++j) {
      auto piece = nn::AttentionBackwardOp::create(
          b, q[i].getType(), k[j].getType(), v[j].getType(), grad[i], q[i],
          k[j], v[j], out[i], logsumexp[i], queries.getOffset(i),
          keys.getOffset(j), starts[i], op.getCausalAttr(), op.getWindowAttr(),
          op.getScaleAttr(), op.getKeySizeAttr(), nn::ZigzagAttr());
      add(dq[i], piece.getDq());
      add(dk[j], piece.getDk());
      add(dv[j], piece.getDv());
    }
  // Narrowed before they are joined, the pieces take fewer bytes to copy.
  auto narrowAll = [&](SmallVector<Value> &pieces, Type type) {
    for (Value &piece : pieces)
      piece = narrow(b, piece, type);
    return ArrayRef<Value>(pieces);
  };
  return {queries.join(narrowAll(dq, op.getDq().getType())),
          keys.join(narrowAll(dk, op.getDk().getType())),
          keys.join(narrowAll(dv, op.getDv().getType()))};
}

namespace {
struct ExpandOrderPass : tessera::impl::ExpandOrderPassBase<ExpandOrderPass> {
  void runOnOperation() override {
    expandAll<nn::AttentionOp>();
    expandAll<nn::AttentionBackwardOp>();
  }

  template <typename Op> void expandAll() {
    SmallVector<Op> ops;
    getOperation().walk([&](Op op) {
      if (op.getOrder())
        ops.push_back(op);
    });
    for (Op op : ops)
      OrderExpander<Op>(op).expand();
  }
};
} // namespace
