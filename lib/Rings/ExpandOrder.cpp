//===- ExpandOrder.cpp - Zig-zag attention as plain attention -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An attention kernel expects queries and keys at consecutive positions. In a
// sequence of chunks
//
//     stored   0 7 | 1 6 | 2 5 | 3 4        device 1 has the queries 1 and 6
//
// all keys are put into the order of positions. The queries of a device become
// separate attentions, one per chunk. If all queries are present, they are put
// into that order, too, and the result back into the stored order. If only some
// keys are present, as in a step of a ring, each chunk of queries attends to
// each chunk of keys; kernels skip chunks that are not visible. Padding is at
// the end of the sequence, as stored and by position.
//
// A device's shard consists of pieces: whole chunks, or fractions of one. A
// shard that begins within a chunk would have pieces of their common divisor,
// down to one element. More pieces than the sequence has chunks are an error.
//
//===----------------------------------------------------------------------===//

#include "AttentionPieces.h"
#include "dialects/NN/NN.h"
#include "tessera/Rings/Passes.h"

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
  /// `isPadded`: some elements may be after the end of the sequence.
  Side(ImplicitLocOpBuilder &b, nn::ZigzagAttr order, Value tensor,
       Value offset, bool isPadded)
      : b(b), order(order), isPadded(isPadded), all(getLength(tensor)) {
    isWhole = all >= order.getSize();
    size = all / countPieces(order, all);
    for (int64_t begin = 0; begin < all; begin += size)
      offsets.push_back(isWhole ? Value() : getPosition(offset, begin));
  }

  static int64_t getLength(Value tensor) {
    return cast<RankedTensorType>(tensor.getType()).getDimSize(1);
  }

  unsigned getNumPieces() const { return offsets.size(); }
  /// The position of a piece's first element; null for 0.
  Value getOffset(unsigned piece) const { return offsets[piece]; }

  /// The pieces of a tensor along dimension `dim`.
  SmallVector<Value> split(Value tensor, int64_t dim = kSequenceDim) const {
    SmallVector<Value> pieces;
    if (isWhole)
      return {permute(tensor, dim, [&](int64_t chunk) {
        int64_t after = 2 * order.getShards() - 1 - chunk;
        return chunk <= after ? 2 * chunk : 2 * after + 1;
      })};
    for (unsigned i = 0; i < getNumPieces(); ++i)
      pieces.push_back(slice(b, tensor, b.getIndexAttr(i * size), size, dim));
    return pieces;
  }

  /// Joins the pieces of a tensor in stored order.
  Value join(ArrayRef<Value> pieces) const {
    if (!isWhole)
      return concat(b, pieces);
    return permute(pieces.front(), kSequenceDim,
                   [&](int64_t chunk) { return order.getChunkAt(chunk); });
  }

private:
  Value getPosition(Value offset, int64_t begin) const {
    Value index = arith::ConstantIndexOp::create(b, begin);
    if (offset)
      index = arith::AddIOp::create(b, offset, index);
    Value position = order.buildPosition(b, b.getLoc(), index);
    if (!isPadded)
      return position;
    Value isBeyond = arith::CmpIOp::create(
        b, arith::CmpIPredicate::uge, index,
        arith::ConstantIndexOp::create(b, order.getSize()));
    return arith::SelectOp::create(b, isBeyond, index, position);
  }

  /// Moves chunk `from(i)` of a tensor to chunk i; padding stays at the end.
  Value permute(Value tensor, int64_t dim,
                llvm::function_ref<int64_t(int64_t)> from) const {
    int64_t chunk = order.getChunk();
    SmallVector<Value> chunks;
    for (int64_t i = 0; i < 2 * order.getShards(); ++i)
      chunks.push_back(
          slice(b, tensor, b.getIndexAttr(from(i) * chunk), chunk, dim));
    if (int64_t padding = all - order.getSize())
      chunks.push_back(
          slice(b, tensor, b.getIndexAttr(order.getSize()), padding, dim));
    return concat(b, chunks, dim);
  }

  ImplicitLocOpBuilder &b;
  nn::ZigzagAttr order;
  bool isPadded, isWhole;
  /// All elements, and the elements of a piece.
  int64_t all, size;
  SmallVector<Value> offsets;
};

/// Expands attention or its backward into pieces of queries and keys.
template <typename Op> class OrderExpander {
public:
  explicit OrderExpander(Op op)
      : op(op), b(op.getLoc(), op),
        queries(b, op.getOrderAttr(), op.getQ(), op.getQOffset(),
                /*isPadded=*/false),
        keys(b, op.getOrderAttr(), op.getK(), op.getKOffset(),
             /*isPadded=*/bool(op.getKeySize())),
        q(queries.split(op.getQ())), k(keys.split(op.getK())),
        v(keys.split(op.getV())), starts(queries.getNumPieces()),
        bias(queries.getNumPieces(), SmallVector<Value>(keys.getNumPieces())) {
    if (op.getStarts())
      starts = queries.split(op.getStarts());
    if (op.getBias())
      splitBias();
  }

  void expand() {
    SmallVector<Value> results = build();
    op->replaceAllUsesWith(results);
    op->erase();
  }

private:
  SmallVector<Value> build();
  nn::Attended attend(unsigned query, unsigned key);
  void splitBias() {
    ArrayRef<int64_t> dims = *op.getBiasDims();
    SmallVector<Value> rows(bias.size(), op.getBias());
    const int64_t *query = llvm::find(dims, kSequenceDim);
    if (query != dims.end())
      rows = queries.split(op.getBias(), query - dims.begin());
    for (auto [row, parts] : llvm::zip_equal(rows, bias))
      parts = keys.split(row, dims.size() - 1);
  }
  void add(Value &sum, Value value) {
    value = widen(b, value);
    sum = sum ? arith::AddFOp::create(b, sum, value).getResult() : value;
  }
  Op op;
  ImplicitLocOpBuilder b;
  Side queries, keys;
  SmallVector<Value> q, k, v, starts;
  /// The bias of each piece of queries and keys; null without one.
  SmallVector<SmallVector<Value>> bias;
};

} // namespace

template <>
nn::Attended OrderExpander<nn::AttentionOp>::attend(unsigned query,
                                                    unsigned key) {
  auto whole = cast<RankedTensorType>(op.getResult().getType());
  SmallVector<int64_t> shape(whole.getShape());
  shape[1] = cast<RankedTensorType>(q[query].getType()).getDimSize(1);
  SmallVector<Type, 1> stats;
  if (!op.getStats().empty() || k.size() > 1)
    stats.push_back(
        nn::getStatType(whole.clone(shape), /*hasBias=*/bool(op.getBias())));
  // Combined results are not rounded before.
  RankedTensorType type = whole.clone(shape);
  if (k.size() > 1)
    type = widenType(type);
  auto piece = nn::AttentionOp::create(
      b, type, stats, q[query], k[key], v[key], queries.getOffset(query),
      keys.getOffset(key), starts[query], bias[query][key], /*sinks=*/Value(),
      op.getBiasDimsAttr(), op.getCausalAttr(), op.getWindowAttr(),
      op.getScaleAttr(), op.getSoftcapAttr(), op.getKeySizeAttr(),
      nn::ZigzagAttr());
  return {piece.getResult(),
          stats.empty() ? Value() : piece.getStats().front()};
}

template <> SmallVector<Value> OrderExpander<nn::AttentionOp>::build() {
  SmallVector<Value> results, stats;
  for (unsigned i = 0; i < q.size(); ++i) {
    nn::Attended all = attend(i, 0);
    for (unsigned j = 1; j < k.size(); ++j)
      all = nn::combine(b, b.getLoc(), all, attend(i, j));
    results.push_back(narrow(b, all.result, op.getResult().getType()));
    stats.push_back(all.stat);
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
          keys.getOffset(j), starts[i], bias[i][j], op.getBiasDimsAttr(),
          op.getCausalAttr(), op.getWindowAttr(), op.getScaleAttr(),
          op.getSoftcapAttr(), op.getKeySizeAttr(), nn::ZigzagAttr());
      add(dq[i], piece.getDq());
      add(dk[j], piece.getDk());
      add(dv[j], piece.getDv());
    }
  // Narrows the pieces before joining them, so that fewer bytes are copied.
  auto narrowAll = [&](SmallVector<Value> &pieces, Type type) {
    for (Value &piece : pieces)
      piece = narrow(b, piece, type);
    return ArrayRef<Value>(pieces);
  };
  return {queries.join(narrowAll(dq, op.getDq().getType())),
          keys.join(narrowAll(dk, op.getDk().getType())),
          keys.join(narrowAll(dv, op.getDv().getType()))};
}

/// Checks that queries and keys have at most as many pieces as chunks.
template <typename Op> static LogicalResult checkPieces(Op op) {
  nn::ZigzagAttr order = op.getOrderAttr();
  for (Value tensor : {op.getQ(), op.getK()}) {
    int64_t length = Side::getLength(tensor);
    if (countPieces(order, length) > 2 * order.getShards())
      return op.emitOpError("expects shards of the sequence that are made of "
                            "its chunks of ")
             << order.getChunk() << " elements, as those of "
             << order.getShards() << " devices, but got " << length
             << "; in plain order a sequence has no chunks";
  }
  return success();
}

namespace {
struct ExpandOrderPass : tessera::impl::ExpandOrderPassBase<ExpandOrderPass> {
  void runOnOperation() override {
    if (failed(expandAll<nn::AttentionOp>()) ||
        failed(expandAll<nn::AttentionBackwardOp>()))
      signalPassFailure();
  }

  static nn::AttentionBackwardOp withoutSinks(nn::AttentionBackwardOp op) {
    return op;
  }
  static nn::AttentionOp withoutSinks(nn::AttentionOp op) {
    IRRewriter rewriter(op.getContext());
    nn::AttentionOp without = nn::separateSinks(rewriter, op);
    return without ? without : op;
  }

  template <typename Op> LogicalResult expandAll() {
    SmallVector<Op> ops;
    getOperation().walk([&](Op op) {
      if (op.getOrder())
        ops.push_back(op);
    });
    for (Op op : ops) {
      if (failed(checkPieces(op)))
        return failure();
      OrderExpander<Op>(withoutSinks(op)).expand();
    }
    return success();
  }
};
} // namespace
