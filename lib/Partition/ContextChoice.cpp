//===- ContextChoice.cpp - Chooses a method of context parallelism --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes count the collectives that the partitioner will insert. Times use
// CollectiveTime.h, and matmuls at the rate of WorkTime.h.
//
//===----------------------------------------------------------------------===//

#include "tessera/Partition/ContextChoice.h"
#include "tessera/Cluster/CollectiveTime.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace tessera;
using llvm::ArrayRef;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

std::pair<int64_t, int64_t> tessera::splitHeads(int64_t size, int64_t groups,
                                                int64_t perGroup) {
  std::pair<int64_t, int64_t> best{size, 1};
  auto rank = [&](int64_t g) {
    int64_t heads =
        llvm::divideCeil(groups, g) * llvm::divideCeil(perGroup, size / g);
    return std::make_pair(heads, groups % g == 0 ? 0 : 1);
  };
  if (perGroup == 1)
    return best;
  for (int64_t g = size - 1; g >= 1; --g)
    if (size % g == 0 && rank(g) < rank(best.first))
      best = {g, size / g};
  return best;
}

/// Returns the sum of min(p + 1, `keys`) over `count` positions p from `first`
/// on; negative positions count as 0.
static double sumPositions(int64_t first, int64_t count, int64_t keys) {
  int64_t begin = std::clamp<int64_t>(first, 0, keys);
  int64_t end = std::clamp<int64_t>(first + count, 0, keys);
  int64_t full = std::max<int64_t>(first + count - std::max(first, keys), 0);
  double growing = double(end - begin);
  return growing * double(begin) + growing * (growing + 1) / 2 +
         double(full) * double(keys);
}

double tessera::countPairs(int64_t first, int64_t queries, int64_t keys,
                           bool causal, std::optional<int64_t> window) {
  if (!causal)
    return double(queries) * double(keys);
  double before = window ? sumPositions(first - *window, queries, keys) : 0;
  return sumPositions(first, queries, keys) - before;
}

int64_t tessera::getLastStep(int64_t devices, int64_t size, bool causal,
                             std::optional<int64_t> window) {
  if (!causal || !window)
    return devices - 1;
  // The nearest query and key of step s are (s - 1) size + 1 apart.
  return *window < 2 ? 0 : std::min(devices - 1, (*window - 2) / size + 1);
}

Error ContextProblem::check() const {
  for (auto [name, size] :
       {std::pair("batch", batch), std::pair("queries", queries),
        std::pair("keys", keys), std::pair("groups", groups),
        std::pair("heads", heads), std::pair("dim", dim),
        std::pair("valueDim", valueDim),
        std::pair("elementBytes", elementBytes),
        std::pair("devices", axis.size)})
    if (size < 1)
      return createStringError(
          llvm::formatv("expects {0} of at least 1 but got {1}", name, size));
  return Error::success();
}

namespace {

/// The cost of a problem by one method: sizes on a device, and the collectives.
class Costing {
public:
  Costing(const ContextProblem &problem, const ContextMethod &method);
  ContextCost run();

private:
  double timeOf(CollectiveKind kind, double bytes, const AxisList &axes) const {
    return getCollectiveTime(problem.links, problem.mesh, kind, bytes, axes);
  }
  double exchange(double bytes) const;
  double gatherKeys(const AxisList &axes) const;
  double scatterGradients(const AxisList &axes) const;
  double computeAgain(double times) const;
  double goAround(double bytes, double attention) const;
  double getMostPairs() const;
  double attend(double matmuls) const;

  const ContextProblem &problem;
  ContextMethod method;
  ContextAxes axes;
  /// Devices that share queries, groups and heads of a group, and the last step
  /// of a ring over the first.
  int64_t outer, g, r, last;
  /// Bytes of a device's tokens: of keys and values, or of what moves in their
  /// place, of the gradients that are summed, of queries, and of the result.
  llvm::SmallVector<double, 2> keys, gradients;
  double q, o;
};

} // namespace

/// Returns the number of devices that share heads.
static int64_t getHeadDevices(const ContextProblem &problem,
                              const ContextMethod &method) {
  if (method.kind != ContextMethod::AllToAll)
    return 1;
  return method.headDevices ? method.headDevices : problem.axis.size;
}

ContextAxes tessera::getContextAxes(const ContextProblem &problem,
                                    const ContextMethod &method) {
  int64_t shared = getHeadDevices(problem, method);
  auto [g, r] = splitHeads(shared, problem.groups, problem.heads);
  ContextAxes axes;
  int64_t before = problem.axis.preSize;
  auto take = [&](AxisList &list, int64_t size) {
    if (size > 1)
      list.push_back({problem.axis.axis, before, size});
    before *= size;
  };
  take(axes.query, problem.axis.size / shared);
  take(axes.head, r);
  take(axes.group, g);
  return axes;
}

Costing::Costing(const ContextProblem &problem, const ContextMethod &method)
    : problem(problem), method(method), axes(getContextAxes(problem, method)),
      outer(numShards(axes.query)), g(numShards(axes.group)),
      r(numShards(axes.head)),
      last(getLastStep(outer, llvm::divideCeil(problem.keys, outer),
                       problem.causal, problem.window)) {
  int64_t tokens = problem.batch;
  double elements =
      double(problem.elementBytes) * double(llvm::alignTo(problem.groups, g));
  double heads = double(llvm::alignTo(problem.heads, r));
  auto shard = [&](int64_t length) {
    return double(tokens) *
           double(llvm::divideCeil(length, problem.axis.size)) * elements;
  };
  keys = {shard(problem.keys) * double(problem.dim),
          shard(problem.keys) * double(problem.valueDim)};
  gradients = keys;
  q = shard(problem.queries) * double(problem.dim) * heads;
  o = shard(problem.queries) * double(problem.valueDim) * heads;
  if (method.kind != ContextMethod::Latent)
    return;
  keys = {problem.latentBytes / double(problem.axis.size)};
  if (problem.sumsLatents)
    gradients = keys;
}

/// Returns the seconds in which each device computes, `times` times, keys and
/// values of tokens that are other devices'.
double Costing::computeAgain(double times) const {
  if (method.kind != ContextMethod::Latent)
    return 0;
  double n = double(problem.axis.size);
  return times * problem.latentFlops * (n - 1) / n /
         (problem.rates.matmulFlops * problem.rates.bytesPerSecond);
}

/// Returns the seconds of the all-to-alls of a tensor that has groups and
/// heads.
double Costing::exchange(double bytes) const {
  return timeOf(CollectiveKind::AllToAll, bytes, axes.group) +
         timeOf(CollectiveKind::AllToAll, bytes, axes.head);
}

/// Returns the seconds until each device has the keys and values along
/// `gathered`.
double Costing::gatherKeys(const AxisList &gathered) const {
  double seconds = 0;
  for (double bytes : keys)
    seconds += timeOf(CollectiveKind::AllToAll, bytes, axes.group) +
               timeOf(CollectiveKind::AllGather, bytes, gathered);
  return seconds;
}

/// Returns the seconds until their gradients are back.
double Costing::scatterGradients(const AxisList &gathered) const {
  auto devices = static_cast<double>(numShards(gathered));
  double seconds = 0;
  for (double bytes : gradients)
    seconds += timeOf(CollectiveKind::AllToAll, bytes, axes.group) +
               timeOf(CollectiveKind::ReduceScatter, bytes * devices, gathered);
  return seconds;
}

/// Returns the seconds of a ring: each step but the last sends `bytes` while it
/// computes its share of the attention.
double Costing::goAround(double bytes, double attention) const {
  double step = attention / double(last + 1);
  double send = timeOf(CollectiveKind::Permute, bytes, axes.query);
  return double(last) * std::max(step, send) + step;
}

/// Returns the query-key pairs per sequence and head on the busiest device,
/// which has the last queries.
double Costing::getMostPairs() const {
  if (problem.isOrdered && problem.causal && !problem.window)
    return countPairs(0, problem.queries, problem.keys, true) / double(outer);
  int64_t own = llvm::divideCeil(problem.queries, outer);
  return countPairs(own * (outer - 1), own, problem.keys, problem.causal,
                    problem.window);
}

/// Returns the seconds of the attention on the busiest device.
double Costing::attend(double matmuls) const {
  double pairs = getMostPairs() * double(problem.batch) *
                 double(llvm::divideCeil(problem.groups, g)) *
                 double(llvm::divideCeil(problem.heads, r));
  double width = double(problem.dim + problem.valueDim) / 2;
  return matmuls * 2 * pairs * width /
         (problem.rates.matmulFlops * problem.rates.bytesPerSecond);
}

ContextCost Costing::run() {
  ContextCost cost;
  cost.method = method;
  bool gathers = method.kind == ContextMethod::AllGather ||
                 method.kind == ContextMethod::Latent;
  cost.isRing = outer > 1 && !gathers;
  // Bytes of keys and values, or of gradients: of a chunk, and of all received
  // chunks; then bytes of the other tensors.
  auto ofChunk = [&](ArrayRef<double> tensors) {
    return double(problem.axis.size / outer) *
           std::accumulate(tensors.begin(), tensors.end(), 0.0) / double(g);
  };
  auto ofInner = [&](ArrayRef<double> tensors) {
    return ofChunk(tensors) * (1 - double(outer) / double(problem.axis.size));
  };
  double steps = double(cost.isRing ? last : outer - 1);
  double chunk = ofChunk(keys);
  double others =
      (q + o) * (double(g - 1) / double(g) + double(r - 1) / double(r));
  AxisList gathered = cost.isRing ? AxisList() : axes.query;
  gathered.append(axes.head);
  // A ring sums gradients in f32.
  double sums = std::max(1.0, 4.0 / double(problem.elementBytes));
  auto attendTo = [&](double matmuls, double bytes) {
    double seconds = attend(matmuls);
    return exchange(q) + exchange(o) +
           (cost.isRing ? goAround(bytes, seconds) : seconds);
  };
  cost.forwardBytes = std::llround(ofInner(keys) + steps * chunk + others);
  cost.seconds = gatherKeys(gathered) + computeAgain(1) + attendTo(2, chunk);
  if (!problem.hasBackward)
    return cost;
  bool again = problem.gathersAgain && gathers;
  // A ring moves keys and values and the sums of their gradients.
  double moved = cost.isRing ? (1 + sums) * chunk
                             : ofChunk(gradients) + (again ? chunk : 0);
  cost.backwardBytes =
      std::llround(ofInner(gradients) + steps * moved + others);
  double passes = (problem.sumsLatents ? 2 : 0) + (again ? 1 : 0);
  cost.seconds += scatterGradients(gathered) + computeAgain(passes) +
                  attendTo(5, chunk * (1 + sums));
  if (again)
    cost.seconds += gatherKeys(gathered);
  return cost;
}

ContextCost tessera::getContextCost(const ContextProblem &problem,
                                    const ContextMethod &method) {
  return Costing(problem, method).run();
}

Expected<ContextChoice> tessera::chooseContext(const ContextProblem &problem,
                                               const ContextMethod &wanted) {
  int64_t shared = getHeadDevices(problem, wanted);
  int64_t heads = problem.groups * problem.heads;
  if (shared > 1 && shared > heads)
    return createStringError(
        llvm::formatv("strategy 'cp={0}' expects at most the {1} query heads "
                      "of a device but got {2} devices that share them",
                      wanted.getName(), heads, shared));
  ContextChoice choice;
  for (const ContextMethod &method :
       listContextMethods(problem.axis.size, heads)) {
    ContextCost cost = getContextCost(problem, method);
    if (!cost.isRing || !problem.hasPairBias)
      choice.costs.push_back(cost);
  }
  ContextCost asked = wanted.kind == ContextMethod::Auto
                          ? ContextCost()
                          : getContextCost(problem, wanted);
  if (asked.isRing && problem.hasPairBias)
    return createStringError(llvm::formatv(
        "strategy 'cp={0}' expects a bias with one row for all queries, but "
        "got one of queries and keys, which no ring can pass on; use "
        "'cp=all_gather', 'cp=all_to_all' or 'cp=auto'",
        wanted.getName()));
  auto isWanted = [&](const ContextCost &cost) {
    return cost.method.kind == wanted.kind &&
           getHeadDevices(problem, cost.method) == shared;
  };
  if (wanted.kind == ContextMethod::Auto) {
    choice.chosen = llvm::min_element(choice.costs,
                                      [](auto &a, auto &b) {
                                        return a.seconds < b.seconds;
                                      }) -
                    choice.costs.begin();
    return choice;
  }
  auto *found = llvm::find_if(choice.costs, isWanted);
  choice.chosen = found - choice.costs.begin();
  if (found == choice.costs.end())
    choice.costs.push_back(asked);
  return choice;
}
