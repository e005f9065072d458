//===- Data.cpp - Ordinary and extreme elements ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Data.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;
using namespace tessera::claims;
using namespace tessera::interp;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

uint64_t Generator::next() {
  // SplitMix64.
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

Cell Generator::drawCell(const ElementType &type, Draw how) {
  auto pick = [&](auto values) { return values[next() % values.size()]; };
  if (type.isFloat()) {
    using Floats = llvm::ArrayRef<double>;
    switch (how) {
    case Draw::Ordinary:
      return floatCell(pick(Floats{-2, -1.5, -1, -0.5, 0.5, 1, 1.5, 2, 3}));
    case Draw::Zeros:
      return floatCell(pick(Floats{0, 0, 0, -1, 1, 2}));
    case Draw::Large:
      return type.round(floatCell(pick(Floats{-100, -7, -3, 5, 90})));
    case Draw::Extreme:
      return type.round(
          floatCell(pick(Floats{0.0, -0.0, INFINITY, -INFINITY, NAN, 1, -3})));
    }
  }
  using Ints = llvm::ArrayRef<int64_t>;
  int64_t least = std::numeric_limits<int64_t>::min() >>
                  (64 - std::max(2u, type.getWidth()));
  switch (how) {
  case Draw::Ordinary:
    return intCell(pick(Ints{0, 1}));
  case Draw::Zeros:
    return type.round(intCell(pick(Ints{0, 0, 0, -1, 1, 2})));
  case Draw::Large:
    return type.round(intCell(pick(Ints{-120, -77, -3, 57, 90, 120})));
  case Draw::Extreme:
    return type.round(intCell(pick(Ints{least, ~least, -1, 0, 1, 3})));
  }
  return intCell(0);
}

TensorRef Generator::draw(Type type, Draw how) {
  Tensor tensor(type);
  for (int64_t i = 0, n = tensor.getNumElements(); i < n; ++i)
    tensor[i] = drawCell(tensor.getElementType(), how);
  return std::make_shared<Tensor>(std::move(tensor));
}

TensorRef claims::fill(Type type, Cell cell) {
  Tensor tensor(type);
  tensor.fill(cell);
  return std::make_shared<Tensor>(std::move(tensor));
}

//===----------------------------------------------------------------------===//
// Shards
//===----------------------------------------------------------------------===//

static int64_t getShardSize(const ShardingRule &rule, const DimFactors &factors,
                            int64_t size, const Shard &shard) {
  return llvm::is_contained(factors, shard.factor)
             ? size / rule.factors[shard.factor].size * shard.size
             : size;
}

/// Maps an index along one dimension of a shard to the whole tensor; none
/// beyond the factor's true size.
static std::optional<int64_t> toWhole(const ShardingRule &rule,
                                      const DimFactors &factors, int64_t index,
                                      const Shard &shard) {
  if (!llvm::is_contained(factors, shard.factor))
    return index;
  int64_t whole = 0, stride = 1;
  for (unsigned factor : llvm::reverse(factors)) {
    int64_t size = rule.factors[factor].size;
    int64_t mine = factor == shard.factor ? shard.size : size;
    int64_t digit = index % mine + (factor == shard.factor ? shard.begin : 0);
    if (digit >= size)
      return std::nullopt;
    whole += digit * stride;
    stride *= size;
    index /= mine;
  }
  return whole;
}

Type claims::getShardType(const ShardingRule &rule, const TensorFactors &dims,
                          Type type, const Shard &shard) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type;
  SmallVector<int64_t> shape(tensor.getShape());
  for (auto [size, factors] : llvm::zip(shape, dims))
    size = getShardSize(rule, factors, size, shard);
  return tensor.clone(shape);
}

TensorRef claims::takeShard(const ShardingRule &rule, const TensorFactors &dims,
                            const TensorRef &tensor, const Shard &shard) {
  if (!hasFactor(dims, shard.factor))
    return tensor;
  SmallVector<int64_t> shape(tensor->getShape());
  for (auto [size, factors] : llvm::zip(shape, dims))
    size = getShardSize(rule, factors, size, shard);
  Tensor result(tensor->getElementType(), shape);
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> whole(index);
    for (auto [d, factors] : llvm::enumerate(dims)) {
      std::optional<int64_t> at = toWhole(rule, factors, index[d], shard);
      if (!at) {
        result.at(index) = shard.beyond();
        return;
      }
      whole[d] = *at;
    }
    result.at(index) = tensor->at(whole);
  });
  return std::make_shared<Tensor>(std::move(result));
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

static double getEpsilon(const ElementType &type) {
  auto real = cast<FloatType>(type.getType());
  return std::ldexp(1.0, 1 - static_cast<int>(real.getFPMantissaWidth()));
}

bool claims::areClose(const Tensor &a, const Tensor &b, const Closeness &how) {
  const ElementType &type = a.getElementType();
  if (!(type == b.getElementType()) || a.getShape() != b.getShape())
    return false;
  double bound = type.isFloat() ? 8 * getEpsilon(type) * how.scale : 0;
  for (int64_t i = 0, n = a.getNumElements(); i < n; ++i) {
    if (!type.isFloat()) {
      if (a[i].i != b[i].i)
        return false;
      continue;
    }
    double x = a[i].f, y = b[i].f;
    bool same = x == y || (std::isnan(x) && std::isnan(y)) ||
                std::fabs(x - y) <= bound ||
                (how.anyInfinite && !std::isfinite(x) && !std::isfinite(y));
    if (!same)
      return false;
  }
  return true;
}

double claims::getMagnitude(const Tensor &tensor) {
  double magnitude = 0;
  if (tensor.getElementType().isFloat())
    for (int64_t i = 0, n = tensor.getNumElements(); i < n; ++i)
      if (std::isfinite(tensor[i].f))
        magnitude = std::max(magnitude, std::fabs(tensor[i].f));
  return magnitude;
}

bool claims::isFinite(const Tensor &tensor) {
  if (tensor.getElementType().isFloat())
    for (int64_t i = 0, n = tensor.getNumElements(); i < n; ++i)
      if (!std::isfinite(tensor[i].f))
        return false;
  return true;
}

bool claims::isZero(const Tensor &tensor) {
  for (int64_t i = 0, n = tensor.getNumElements(); i < n; ++i)
    if (tensor.getElementType().isFloat() ? tensor[i].f != 0 : tensor[i].i != 0)
      return false;
  return true;
}
