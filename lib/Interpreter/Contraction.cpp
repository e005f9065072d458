//===- Contraction.cpp - Contractions of two tensors ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Indices have four classes: batch (in all three tensors), row (lhs and
// result), column (rhs and result) and summed (both operands). The operands are
// packed to [batch][row][summed] and [batch][summed][column], multiplied as
// matrices, and the result is unpacked.
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace tessera::interp;
using llvm::ArrayRef;
using llvm::SmallVector;

using Indices = SmallVector<unsigned>;

static bool hasRepeats(ArrayRef<unsigned> indices) {
  for (size_t i = 0; i < indices.size(); ++i)
    if (llvm::is_contained(indices.take_front(i), indices[i]))
      return true;
  return false;
}

bool Contraction::isValid() const {
  if (hasRepeats(lhs) || hasRepeats(rhs) || hasRepeats(result))
    return false;
  auto in = [](ArrayRef<unsigned> tensor, unsigned i) {
    return llvm::is_contained(tensor, i);
  };
  return llvm::all_of(result,
                      [&](unsigned i) { return in(lhs, i) || in(rhs, i); }) &&
         llvm::all_of(
             lhs, [&](unsigned i) { return in(result, i) || in(rhs, i); }) &&
         llvm::all_of(rhs,
                      [&](unsigned i) { return in(result, i) || in(lhs, i); });
}

namespace {
/// The indices of each class, in the order of the result, or for summed ones of
/// the lhs.
struct Classes {
  Indices batch, rows, columns, summed;
  int64_t numBatch = 1, numRows = 1, numColumns = 1, numSummed = 1;

  explicit Classes(const Contraction &c) {
    auto add = [&](Indices &indices, int64_t &count, unsigned i) {
      indices.push_back(i);
      count *= c.sizes[i];
    };
    for (unsigned i : c.result) {
      bool inLhs = llvm::is_contained(c.lhs, i);
      bool inRhs = llvm::is_contained(c.rhs, i);
      if (inLhs && inRhs)
        add(batch, numBatch, i);
      else if (inLhs)
        add(rows, numRows, i);
      else
        add(columns, numColumns, i);
    }
    for (unsigned i : c.lhs)
      if (!llvm::is_contained(c.result, i))
        add(summed, numSummed, i);
  }
};
} // namespace

/// Calls `fn(position in the tensor)` for all indices of `order`, the last
/// fastest. `dims` has the index of each dimension of the tensor.
template <typename Fn>
static void walk(const Tensor &tensor, ArrayRef<unsigned> dims,
                 ArrayRef<unsigned> order, Fn &&fn) {
  SmallVector<int64_t> tensorStrides = tensor.getStrides();
  SmallVector<int64_t> sizes, strides;
  for (unsigned i : order) {
    int64_t dim = llvm::find(dims, i) - dims.begin();
    sizes.push_back(tensor.getShape()[dim]);
    strides.push_back(tensorStrides[dim]);
  }
  if (sizes.empty())
    return fn(0);
  int64_t rowSize = sizes.back(), rowStride = strides.back();
  forEachIndex(ArrayRef(sizes).drop_back(), [&](ArrayRef<int64_t> index) {
    int64_t position = 0;
    for (auto [d, i] : llvm::enumerate(index))
      position += i * strides[d];
    for (int64_t i = 0; i < rowSize; ++i)
      fn(position + i * rowStride);
  });
}

static Indices concat(ArrayRef<unsigned> a, ArrayRef<unsigned> b,
                      ArrayRef<unsigned> c) {
  Indices all(a);
  all.append(b.begin(), b.end());
  all.append(c.begin(), c.end());
  return all;
}

static void load(Cell c, double &to) { to = c.f; }
static void load(Cell c, uint64_t &to) { to = static_cast<uint64_t>(c.i); }
static void accumulate(Cell &to, double value) { to.f += value; }
static void accumulate(Cell &to, uint64_t value) {
  to.i = static_cast<int64_t>(static_cast<uint64_t>(to.i) + value);
}

/// Computes c[m][n] += a[m][k] b[k][n], in blocks of b that stay in cache, four
/// rows at a time.
template <typename T>
static void multiply(const T *__restrict a, const T *__restrict b,
                     T *__restrict c, int64_t m, int64_t k, int64_t n) {
  constexpr int64_t kBlockK = 64, kBlockN = 256, kRows = 4;
  for (int64_t k0 = 0; k0 < k; k0 += kBlockK)
    for (int64_t n0 = 0; n0 < n; n0 += kBlockN) {
      int64_t k1 = std::min(k, k0 + kBlockK), width = std::min(n - n0, kBlockN);
      int64_t i = 0;
      for (; i + kRows <= m; i += kRows) {
        T *c0 = c + i * n + n0, *c1 = c0 + n, *c2 = c1 + n, *c3 = c2 + n;
        for (int64_t s = k0; s < k1; ++s) {
          const T *row = b + s * n + n0;
          T a0 = a[i * k + s], a1 = a[(i + 1) * k + s];
          T a2 = a[(i + 2) * k + s], a3 = a[(i + 3) * k + s];
          for (int64_t j = 0; j < width; ++j) {
            c0[j] += a0 * row[j];
            c1[j] += a1 * row[j];
            c2[j] += a2 * row[j];
            c3[j] += a3 * row[j];
          }
        }
      }
      for (; i < m; ++i)
        for (int64_t s = k0; s < k1; ++s) {
          const T *row = b + s * n + n0;
          T value = a[i * k + s];
          for (int64_t j = 0; j < width; ++j)
            c[i * n + n0 + j] += value * row[j];
        }
    }
}

template <typename T>
static void contractAs(const Contraction &contraction, const Tensor &lhs,
                       const Tensor &rhs, Tensor &result) {
  Classes k(contraction);
  auto pack = [](const Tensor &tensor, ArrayRef<unsigned> dims,
                 ArrayRef<unsigned> order) {
    std::vector<T> packed(tensor.getNumElements());
    T *to = packed.data();
    walk(tensor, dims, order,
         [&](int64_t position) { load(tensor[position], *to++); });
    return packed;
  };
  std::vector<T> a =
      pack(lhs, contraction.lhs, concat(k.batch, k.rows, k.summed));
  std::vector<T> b =
      pack(rhs, contraction.rhs, concat(k.batch, k.summed, k.columns));
  std::vector<T> c(result.getNumElements(), T(0));
  for (int64_t batch = 0; batch < k.numBatch; ++batch)
    multiply(a.data() + batch * k.numRows * k.numSummed,
             b.data() + batch * k.numSummed * k.numColumns,
             c.data() + batch * k.numRows * k.numColumns, k.numRows,
             k.numSummed, k.numColumns);
  const T *from = c.data();
  walk(result, contraction.result, concat(k.batch, k.rows, k.columns),
       [&](int64_t position) { accumulate(result[position], *from++); });
}

void tessera::interp::contract(const Contraction &contraction,
                               const Tensor &lhs, const Tensor &rhs,
                               Tensor &result) {
  if (result.getNumElements() == 0)
    return;
  if (result.getElementType().isFloat())
    contractAs<double>(contraction, lhs, rhs, result);
  else
    contractAs<uint64_t>(contraction, lhs, rhs, result);
}
