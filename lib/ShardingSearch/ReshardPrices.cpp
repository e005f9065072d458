//===- ReshardPrices.cpp - What moving a tensor costs, in numbers ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReshardPrices.h"
#include "tessera/Search/CostNetwork.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <numeric>

using namespace tessera;
using llvm::ArrayRef;
using llvm::SmallVector;

int64_t tessera::toPicoseconds(double seconds) {
  return std::llround(seconds * 1e12);
}

static void addToKey(std::vector<int64_t> &key, ArrayRef<AxisRef> axes) {
  for (const AxisRef &axis : axes)
    key.insert(key.end(), {axis.axis, axis.preSize, axis.size});
  key.push_back(-1);
}

unsigned ReshardPrices::number(const Sharding &sharding) {
  std::vector<int64_t> key{sharding.rank(),
                           static_cast<int64_t>(sharding.reduction)};
  for (const DimSharding &dim : sharding.dims)
    addToKey(key, dim.axes);
  addToKey(key, sharding.unreduced);
  auto [it, isNew] = numbers.try_emplace(key, shardings.size());
  if (isNew) {
    owned.push_back(std::make_unique<Sharding>(sharding));
    shardings.push_back(owned.back().get());
  }
  return it->second;
}

unsigned ReshardPrices::numberShape(ArrayRef<int64_t> shape,
                                    int64_t elementBytes) {
  std::vector<int64_t> key(shape.begin(), shape.end());
  key.push_back(elementBytes);
  auto [it, isNew] = shapeNumbers.try_emplace(key, shapes.size());
  if (isNew)
    shapes.push_back({SmallVector<int64_t, 4>(shape), elementBytes});
  return it->second;
}

/// Both ends divide the padded tensor.
SmallVector<int64_t, 4> ReshardPrices::getPadded(unsigned from, unsigned to,
                                                 unsigned shape) const {
  SmallVector<int64_t, 4> padded = shapes[shape].sizes;
  for (auto [size, a, b] :
       llvm::zip(padded, getSharding(from).dims, getSharding(to).dims))
    size = llvm::alignTo(size, std::lcm(numShards(a.axes), numShards(b.axes)));
  return padded;
}

/// Partial values stay partial or are reduced; none is made partial.
static bool isPossible(const Sharding &from, const Sharding &to) {
  return to.unreduced.empty() || (from.reduction == to.reduction &&
                                  subtractAxes(from.unreduced, to.unreduced));
}

double ReshardPrices::getLocalBytes(unsigned sharding, unsigned shape) const {
  auto bytes = static_cast<double>(shapes[shape].elementBytes);
  for (auto [size, dim] :
       llvm::zip(shapes[shape].sizes, getSharding(sharding).dims))
    bytes *= static_cast<double>(llvm::divideCeil(size, numShards(dim.axes)));
  return bytes;
}

/// Seconds of what puts chunks in order: those that are gathered, or scattered
/// by a reduction or an all_to_all, along a dimension that is not the outermost
/// one.
double ReshardPrices::getReorderTime(unsigned from, unsigned to,
                                     unsigned shape) const {
  bool gathers = false, gathersInner = false, scattersInner = false;
  int64_t outer = 1;
  for (auto [size, a, b] : llvm::zip(
           shapes[shape].sizes, getSharding(from).dims, getSharding(to).dims)) {
    int64_t has = numShards(a.axes), needs = numShards(b.axes);
    gathers |= has > needs;
    gathersInner |= has > needs && outer > 1;
    scattersInner |= has < needs && outer > 1;
    outer *= static_cast<int64_t>(llvm::divideCeil(size, std::max(has, needs)));
  }
  double seconds = 0;
  if (gathersInner)
    seconds += getReorderSeconds(getLocalBytes(to, shape), rates);
  if (scattersInner && (gathers || !getSharding(from).unreduced.empty()))
    seconds += getReorderSeconds(getLocalBytes(from, shape), rates);
  return seconds;
}

/// The price of a move whose collectives take so many seconds. One without any
/// copies what a device keeps.
int64_t ReshardPrices::addKernels(double seconds, unsigned from, unsigned to,
                                  unsigned shape) const {
  return toPicoseconds(seconds > 0
                           ? seconds + getReorderTime(from, to, shape)
                           : rates.kernelFloor + 2 * getLocalBytes(to, shape) /
                                                     rates.bytesPerSecond);
}

/// What the time of a move depends on: the bytes of the tensor, and of each
/// dimension its axes at both ends and by what they may divide it. Dimensions
/// are in any order: [a,-] to [-,a] takes as long as [-,a] to [a,-].
std::vector<int64_t> ReshardPrices::describe(unsigned from, unsigned to,
                                             unsigned shape) const {
  const Sharding &has = getSharding(from), &needs = getSharding(to);
  int64_t devices = mesh.numDevices(), bytes = shapes[shape].elementBytes;
  std::vector<std::vector<int64_t>> dims;
  for (auto [size, a, b] :
       llvm::zip_equal(getPadded(from, to, shape), has.dims, needs.dims)) {
    bytes *= size;
    std::vector<int64_t> &dim = dims.emplace_back();
    dim.push_back(std::gcd(size, devices));
    addToKey(dim, a.axes);
    addToKey(dim, b.axes);
  }
  llvm::sort(dims);
  std::vector<int64_t> key{bytes};
  for (const std::vector<int64_t> &dim : dims)
    key.insert(key.end(), dim.begin(), dim.end());
  addToKey(key, has.unreduced);
  addToKey(key, needs.unreduced);
  return key;
}

ReshardPrices::Price &ReshardPrices::lookup(unsigned from, unsigned to,
                                            unsigned shape) {
  auto [it, isNew] =
      prices.try_emplace({uint64_t(from) << 32 | to, shape}, Price{0, true});
  Price &price = it->second;
  if (!isNew || from == to)
    return price;
  if (!isPossible(getSharding(from), getSharding(to))) {
    price.cost = search::kInfinite;
    return price;
  }
  auto [least, isNewMove] = leastTimes.try_emplace(describe(from, to, shape));
  if (isNewMove)
    least->second = getLeastReshardTime(
        mesh, links, getSharding(from), getSharding(to),
        getPadded(from, to, shape), shapes[shape].elementBytes);
  price.cost = addKernels(least->second, from, to, shape);
  price.isPlanned = false;
  return price;
}

int64_t ReshardPrices::getPrice(unsigned from, unsigned to, unsigned shape) {
  return lookup(from, to, shape).cost;
}

bool ReshardPrices::hasFarLinks() const {
  return llvm::any_of(links.axes, [](const LinkSpans &spans) {
    return llvm::any_of(spans,
                        [](const LinkSpan &span) { return span.level > 0; });
  });
}

bool ReshardPrices::plan(unsigned from, unsigned to, unsigned shape) {
  Price &price = lookup(from, to, shape);
  if (price.isPlanned)
    return false;
  int64_t before = price.cost;
  auto [time, isNew] = planTimes.try_emplace(describe(from, to, shape));
  if (isNew) {
    ReshardPlan plan =
        planReshard(mesh, links, getSharding(from), getSharding(to),
                    getPadded(from, to, shape), shapes[shape].elementBytes);
    if (plan.error.empty())
      time->second = plan.time;
  }
  price.isPlanned = true;
  price.cost =
      time->second
          ? std::max(before, addKernels(*time->second, from, to, shape))
          : search::kInfinite;
  return price.cost != before;
}
