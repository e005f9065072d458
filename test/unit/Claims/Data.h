//===- Data.h - Ordinary and extreme elements -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_CLAIMS_DATA_H
#define TESSERA_TEST_UNIT_CLAIMS_DATA_H

#include "tessera/Interfaces/ShardingRule.h"
#include "tessera/Interpreter/Tensor.h"
#include "llvm/ADT/STLExtras.h"
#include <optional>

namespace tessera::claims {

/// Ranges from which the elements of tensors are drawn.
enum class Draw {
  /// Small numbers of both signs; integers 0 and 1, which are also valid ids.
  Ordinary,
  /// Half zeros, half other numbers; integers of both signs.
  Zeros,
  /// Large numbers: floats whose sums do not overflow, any integers.
  Large,
  /// Infinities, NaN, zeros of both signs; integers at the ends of the range.
  Extreme,
};
constexpr Draw kDraws[] = {Draw::Ordinary, Draw::Zeros, Draw::Large,
                           Draw::Extreme};

/// Pseudorandom tensors, the same in each run.
class Generator {
public:
  explicit Generator(uint64_t seed = 1) : state(seed) {}
  interp::TensorRef draw(mlir::Type type, Draw how);
  interp::Cell drawCell(const interp::ElementType &type, Draw how);

private:
  uint64_t next();
  uint64_t state;
};

/// A tensor whose elements are all `cell`.
interp::TensorRef fill(mlir::Type type, interp::Cell cell);

/// The elements from `begin` to `begin + size` along a factor. Elements beyond
/// the factor's true size are values of `beyond`.
struct Shard {
  unsigned factor;
  int64_t begin, size;
  llvm::function_ref<interp::Cell()> beyond = nullptr;
};

/// The type of a shard of a tensor.
mlir::Type getShardType(const ShardingRule &rule, const TensorFactors &dims,
                        mlir::Type type, const Shard &shard);
/// A shard of a tensor, by the factors of its dimensions, major to minor.
interp::TensorRef takeShard(const ShardingRule &rule, const TensorFactors &dims,
                            const interp::TensorRef &tensor,
                            const Shard &shard);

/// Tolerance between two tensors: equal, and NaN equals NaN. Floats may differ
/// by some roundings of numbers as large as `scale`. With `anyInfinite` an
/// infinity equals NaN.
struct Closeness {
  double scale = 0;
  bool anyInfinite = false;
};
bool areClose(const interp::Tensor &a, const interp::Tensor &b,
              const Closeness &how);

/// The largest finite magnitude of floats; 0 for integers.
double getMagnitude(const interp::Tensor &tensor);
bool isFinite(const interp::Tensor &tensor);
bool isZero(const interp::Tensor &tensor);

} // namespace tessera::claims

#endif // TESSERA_TEST_UNIT_CLAIMS_DATA_H
