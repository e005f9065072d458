//===- ReshardPrices.cpp - Prices of reshards by number -------------------===//
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

/// Pads the tensor so that both ends divide it.
SmallVector<int64_t, 4> ReshardPrices::getPadded(unsigned from, unsigned to,
                                                 unsigned shape) const {
  SmallVector<int64_t, 4> padded = shapes[shape].sizes;
  for (auto [size, a, b] :
       llvm::zip(padded, getSharding(from).dims, getSharding(to).dims))
    size = llvm::alignTo(size, std::lcm(numShards(a.axes), numShards(b.axes)));
  return padded;
}

/// Partial values may stay partial or be reduced; no value becomes partial.
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

/// Seconds of reordering chunks that are gathered, or scattered by a reduction
/// or an all_to_all, along a dimension that is not the outermost.
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

/// The same for the steps of a plan. Intermediate steps may move dimensions
/// that are sharded alike at both ends.
double ReshardPrices::getReorderTime(const PlannedMove &move, unsigned from,
                                     unsigned to, unsigned shape) const {
  SmallVector<int64_t, 4> padded = getPadded(from, to, shape);
  SmallVector<unsigned, 4> order = getOrder(from, to, shape);
  auto getSizes = [&](ArrayRef<int64_t> shards) {
    SmallVector<int64_t, 4> sizes = padded;
    for (auto [dim, count] : llvm::zip_equal(order, shards))
      sizes[dim] /= count;
    return sizes;
  };
  auto getTime = [&](ArrayRef<int64_t> sizes) {
    auto bytes = static_cast<double>(shapes[shape].elementBytes);
    for (int64_t size : sizes)
      bytes *= static_cast<double>(size);
    return getReorderSeconds(bytes, rates);
  };
  auto hasRows = [&](ArrayRef<int64_t> sizes, unsigned place) {
    return llvm::any_of(sizes.take_front(order[place]),
                        [](int64_t size) { return size > 1; });
  };
  double seconds = 0;
  SmallVector<int64_t, 4> has = getSizes(move.shards);
  for (const PlannedMove::Step &step : move.steps) {
    SmallVector<int64_t, 4> gets = getSizes(step.shards);
    bool scatters = step.kind == ReshardStep::Kind::ReduceScatter;
    bool exchanges = step.kind == ReshardStep::Kind::AllToAll;
    bool gathers = exchanges || step.kind == ReshardStep::Kind::AllGather;
    if ((scatters && hasRows(has, step.dim)) ||
        (exchanges && hasRows(has, step.splitDim)))
      seconds += getTime(has);
    if (gathers && hasRows(exchanges ? gets : has, step.dim))
      seconds += getTime(gets);
    has = std::move(gets);
  }
  return seconds;
}

/// The price of a move with `seconds` of collectives and `reorder` seconds of
/// kernels. A move without a collective copies the kept elements.
int64_t ReshardPrices::addKernels(double seconds, double reorder, unsigned to,
                                  unsigned shape) const {
  return toPicoseconds(seconds > 0
                           ? seconds + reorder
                           : rates.kernelFloor + 2 * getLocalBytes(to, shape) /
                                                     rates.bytesPerSecond);
}

/// Describes each dimension of a move by its axes at both ends, and by the
/// greatest common divisor of its padded size and the number of devices.
std::vector<std::vector<int64_t>>
ReshardPrices::describeDims(unsigned from, unsigned to, unsigned shape) const {
  int64_t devices = mesh.numDevices();
  std::vector<std::vector<int64_t>> dims;
  for (auto [size, a, b] :
       llvm::zip_equal(getPadded(from, to, shape), getSharding(from).dims,
                       getSharding(to).dims)) {
    std::vector<int64_t> &dim = dims.emplace_back();
    dim.push_back(std::gcd(size, devices));
    addToKey(dim, a.axes);
    addToKey(dim, b.axes);
  }
  return dims;
}

/// The dimensions of a move in the order of its description.
SmallVector<unsigned, 4> ReshardPrices::getOrder(unsigned from, unsigned to,
                                                 unsigned shape) const {
  auto dims = describeDims(from, to, shape);
  SmallVector<unsigned, 4> order(dims.size());
  std::iota(order.begin(), order.end(), 0u);
  llvm::stable_sort(order,
                    [&](unsigned a, unsigned b) { return dims[a] < dims[b]; });
  return order;
}

/// The properties that determine the time of a move: the bytes of the tensor,
/// and its dimensions in any order: [a,-] to [-,a] takes as long as [-,a] to
/// [a,-].
std::vector<int64_t> ReshardPrices::describe(unsigned from, unsigned to,
                                             unsigned shape) const {
  const Sharding &has = getSharding(from), &needs = getSharding(to);
  int64_t bytes = shapes[shape].elementBytes;
  for (int64_t size : getPadded(from, to, shape))
    bytes *= size;
  auto dims = describeDims(from, to, shape);
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
  price.cost =
      addKernels(least->second, getReorderTime(from, to, shape), to, shape);
  price.isPlanned = false;
  return price;
}

int64_t ReshardPrices::getPrice(unsigned from, unsigned to, unsigned shape) {
  return lookup(from, to, shape).cost;
}

int64_t ReshardPrices::getPriceOfPartial(unsigned from, unsigned to,
                                         unsigned shape) {
  const Sharding &has = getSharding(from);
  if (isPossible(has, getSharding(to)))
    return getPrice(from, to, shape);
  Sharding before = getSharding(to);
  before.unreduced.clear();
  if (has.reduction == before.reduction)
    for (const AxisRef &axis : getSharding(to).unreduced)
      if (llvm::is_contained(has.unreduced, axis))
        before.unreduced.push_back(axis);
  unsigned moved = number(before);
  int64_t kernel = toPicoseconds(
      rates.kernelFloor + 2 * getLocalBytes(to, shape) / rates.bytesPerSecond);
  return search::addCosts(from == moved ? 0 : getPrice(from, moved, shape),
                          kernel);
}

bool ReshardPrices::hasFarLinks() const {
  return llvm::any_of(links.axes, [](const LinkSpans &spans) {
    return llvm::any_of(spans,
                        [](const LinkSpan &span) { return span.level > 0; });
  });
}

/// Plans a move with dimensions in the order of its description.
ReshardPrices::PlannedMove ReshardPrices::makePlan(unsigned from, unsigned to,
                                                   unsigned shape) const {
  ReshardPlan plan =
      planReshard(mesh, links, getSharding(from), getSharding(to),
                  getPadded(from, to, shape), shapes[shape].elementBytes);
  PlannedMove move;
  if (!plan.error.empty())
    return move;
  SmallVector<unsigned, 4> order = getOrder(from, to, shape);
  auto getShards = [&](const Sharding &sharding) {
    SmallVector<int64_t, 4> shards;
    for (unsigned dim : order)
      shards.push_back(numShards(sharding.dims[dim].axes));
    return shards;
  };
  auto getPlace = [&](int64_t dim) {
    return static_cast<unsigned>(llvm::find(order, static_cast<unsigned>(dim)) -
                                 order.begin());
  };
  move.seconds = plan.time;
  move.shards = getShards(getSharding(from));
  for (const ReshardStep &step : plan.steps)
    move.steps.push_back({step.kind, getPlace(step.dim),
                          getPlace(step.splitDim), getShards(step.to)});
  return move;
}

bool ReshardPrices::plan(unsigned from, unsigned to, unsigned shape) {
  Price &price = lookup(from, to, shape);
  if (price.isPlanned)
    return false;
  int64_t before = price.cost;
  auto [planned, isNew] = plans.try_emplace(describe(from, to, shape));
  if (isNew)
    planned->second = makePlan(from, to, shape);
  const PlannedMove &move = planned->second;
  price.isPlanned = true;
  price.cost =
      move.seconds
          ? std::max(before, addKernels(*move.seconds,
                                        getReorderTime(move, from, to, shape),
                                        to, shape))
          : search::kInfinite;
  return price.cost != before;
}
