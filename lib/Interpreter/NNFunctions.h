//===- NNFunctions.h - Functions shared by ops of nn and rt -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_INTERPRETER_NNFUNCTIONS_H
#define TESSERA_LIB_INTERPRETER_NNFUNCTIONS_H

#include "Interpretation.h"
#include "dialects/NN/NN.h"
#include <array>
#include <cmath>
#include <limits>

namespace tessera::interp {

/// The keys that a query sees, and what becomes of scores, from the attributes
/// and additional operands of an attention.
struct AttentionMask {
  bool causal = false;
  double scale = 1;
  /// Positions of the first query and of the first key.
  int64_t queryOffset = 0, keyOffset = 0;
  /// Keys from this position on are padding; a query sees the last `window`
  /// keys.
  int64_t keySize = std::numeric_limits<int64_t>::max();
  int64_t window = std::numeric_limits<int64_t>::max();
  /// The first position that each query sees; null if it sees all.
  const Tensor *starts = nullptr;
  /// The order in which positions are stored; null for their own.
  nn::ZigzagAttr order;
  /// The softcap of scores; none if it is 0.
  double softcap = 0;
  /// Numbers added to scores, and one more score of each head; null for none.
  const Tensor *bias = nullptr, *sinks = nullptr;
  /// The dimensions of the bias, of batch, query, group, head and key.
  llvm::SmallVector<int64_t, 5> biasDims;

  /// Returns the mask of an op of nn or rt, without its positions.
  template <typename Op> static AttentionMask get(Op op, const Evaluation &e) {
    AttentionMask mask;
    mask.causal = op.getCausal();
    mask.scale = op.getScale().convertToDouble();
    if (auto size = op.getKeySize())
      mask.keySize = static_cast<int64_t>(*size);
    if (auto window = op.getWindow())
      mask.window = static_cast<int64_t>(*window);
    if (op.getStarts())
      mask.starts = e.get(op.getStarts()).get();
    if (op.getSoftcap())
      mask.softcap = op.getSoftcap()->convertToDouble();
    if (op.getBias()) {
      mask.bias = e.get(op.getBias()).get();
      mask.setBiasDims(op);
    }
    return mask;
  }

  /// True if query `query` of `queries` in sequence `batch` sees key `key`.
  bool sees(int64_t batch, int64_t queries, int64_t query, int64_t key) const {
    auto position = [&](int64_t index) {
      return order ? order.getPosition(index) : index;
    };
    int64_t at = position(keyOffset + key);
    int64_t distance = position(queryOffset + query) - at;
    return at < keySize &&
           (!starts || at >= (*starts)[batch * queries + query].i) &&
           (!causal || (distance >= 0 && distance < window));
  }

  /// Returns the softcap of a scaled score, and its derivative in `slope`.
  double cap(double score, double &slope) const {
    slope = 1;
    if (softcap == 0)
      return score;
    double tanh = std::tanh(score / softcap);
    slope = 1 - tanh * tanh;
    return softcap * tanh;
  }

  /// Returns the bias of a score at [batch, query, group, head, key].
  double biasAt(const std::array<int64_t, 5> &index) const {
    if (!bias)
      return 0;
    int64_t at = 0;
    for (auto [dim, size] : llvm::zip_equal(biasDims, bias->getShape()))
      at = at * size + (size == 1 ? 0 : index[dim]);
    return (*bias)[at].f;
  }

private:
  /// A call's bias has all dimensions, with sizes of 1 where it is alike.
  template <typename Op> void setBiasDims(Op op) {
    if constexpr (llvm::is_one_of<Op, nn::AttentionOp,
                                  nn::AttentionBackwardOp>::value)
      biasDims.assign(op.getBiasDims()->begin(), op.getBiasDims()->end());
    else
      biasDims = {0, 1, 2, 3, 4};
  }
};

/// Computes attention of the operands q, k, v, and its logsumexp if there is a
/// second result.
mlir::LogicalResult evaluateAttention(const AttentionMask &mask, Evaluation &e);

/// Computes the gradients of q, k and v from the operands grad, q, k, v, out,
/// logsumexp.
mlir::LogicalResult evaluateAttentionBackward(const AttentionMask &mask,
                                              Evaluation &e);

/// Returns the number of indices for each row along the last dimension of `x`:
/// 1 without a dimension for them.
inline int64_t getPicks(const Tensor &x, const Tensor &index) {
  return index.getRank() == x.getRank() ? index.getShape().back() : 1;
}

/// Adds the rows of `updates`, one for each id, to the rows ids - `offset` of
/// `result`, or replaces these. Ids outside of it and from `limit` on change
/// nothing.
void changeRows(Tensor &result, const Tensor &updates, const Tensor &ids,
                int64_t offset, std::optional<uint64_t> limit, bool replaces);

/// GELU by erf and by tanh, SiLU, and their derivatives.
double geluErf(double x);
double geluErfDerivative(double x);
double geluTanh(double x);
double geluTanhDerivative(double x);
double silu(double x);
double siluDerivative(double x);

} // namespace tessera::interp

#endif // TESSERA_LIB_INTERPRETER_NNFUNCTIONS_H
