//===- OpCost.cpp - Cost of a choice of factor axes -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Estimates the cost of one op to choose between its shardings: the collectives
// that the op usually takes, each with its own cost. The reshard planner finds
// the true sequences later.
//
//===----------------------------------------------------------------------===//

#include "tessera/Propagation/FactorProjection.h"
#include "tessera/Propagation/PropagationProblem.h"
#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using llvm::ArrayRef;

namespace {

/// Adds up transfers.
struct CostSum {
  const TransferCost &transferCost;
  double cost = 0;

  /// Adds a collective of `bytes` per device over `axes`.
  void add(CollectiveKind kind, double bytes, ArrayRef<AxisRef> axes) {
    if (axes.empty() || bytes == 0)
      return;
    cost += transferCost ? transferCost(kind, bytes, axes)
                         : getBytesReceived(kind, static_cast<int64_t>(bytes),
                                            numShards(axes));
  }
};

/// The axes of each dimension in `from` after the prefix that it shares with
/// `to`.
AxisList leavingAxes(const Sharding &from, const Sharding &to) {
  AxisList out;
  for (auto [a, b] : llvm::zip(from.dims, to.dims))
    llvm::append_range(out, dropPrefix(commonPrefix(a.axes, b.axes), a.axes));
  return out;
}

void addReshard(CostSum &sum, const Sharding &from, const Sharding &to,
                double bytes) {
  AxisList leaving = leavingAxes(from, to), entering = leavingAxes(to, from);
  double local = bytes / numShards(from.dimAxes());
  AxisList moved, gathered;
  for (const AxisRef &axis : leaving)
    (overlapsAny(entering, axis) ? moved : gathered).push_back(axis);
  // Slices come first and cost nothing.
  for (const AxisRef &axis : entering)
    if (!overlapsAny(leaving, axis))
      local /= axis.size;
  sum.add(CollectiveKind::AllToAll, local, moved);
  sum.add(CollectiveKind::AllGather, local, gathered);
}

/// Adds the reductions of a result over `reduced` and then its reshard to
/// `wanted`.
void addResult(CostSum &sum, const Sharding &produced, const Sharding &wanted,
               ArrayRef<AxisRef> reduced, double bytes) {
  double local = bytes / numShards(produced.dimAxes());
  AxisList wantedAxes = wanted.dimAxes(), scattered, whole;
  for (const AxisRef &axis : reduced)
    (overlapsAny(wantedAxes, axis) ? scattered : whole).push_back(axis);
  double n = numShards(scattered);
  sum.add(CollectiveKind::ReduceScatter, local, scattered);
  sum.add(CollectiveKind::AllReduce, local / n, whole);
  Sharding target = wanted;
  for (auto [t, p] : llvm::zip(target.dims, produced.dims))
    if (t.open && isPrefix(t.axes, p.axes))
      t.axes = p.axes;
  addReshard(sum, produced, target, bytes / n);
}

} // namespace

double tessera::getOpCost(const ShardingRule &rule, ArrayRef<AxisList> axes,
                          ArrayRef<const Sharding *> operands,
                          ArrayRef<int64_t> operandBytes,
                          ArrayRef<const Sharding *> results,
                          ArrayRef<int64_t> resultBytes,
                          const TransferCost &transferCost) {
  CostSum sum{transferCost};
  for (auto [i, operand] : llvm::enumerate(operands))
    if (operand && !rule.operands[i].empty())
      addReshard(sum, *operand, unprojectTensor(rule, rule.operands[i], axes),
                 operandBytes[i]);
  for (auto [i, result] : llvm::enumerate(results)) {
    if (!result || rule.results[i].empty())
      continue;
    AxisList reduced;
    for (unsigned f = 0; f < rule.factors.size(); ++f)
      if (!axes[f].empty() && (rule.isReduced(f) || rule.isReducedIn(f, i)))
        llvm::append_range(reduced, axes[f]);
    addResult(sum, unprojectTensor(rule, rule.results[i], axes), *result,
              reduced, resultBytes[i]);
  }
  return sum.cost;
}
