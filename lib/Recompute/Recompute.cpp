//===- Recompute.cpp - What to keep for the backward ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The network has a node for each value (on the source's side: needed) and each
// op (on the source's side: repeated). What a cut crosses is what is paid:
//   source -> value        infinite, where the backward uses it;
//   value  -> its op       its bytes' price: needed and not repeated, so kept;
//   op     -> sink         its time: repeated; infinite if it may not be;
//   op     -> operand      infinite: what a repeated op uses is needed.
//
//===----------------------------------------------------------------------===//

#include "tessera/Recompute/Recompute.h"
#include "MinCut.h"
#include <cmath>

using namespace tessera;

llvm::Error RecomputeProblem::check() const {
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].op >= ops.size() || values[i].bytes < 0)
      return llvm::createStringError(
          "value " + std::to_string(i) +
          " expects an op and bytes of at least 0 but got op " +
          std::to_string(values[i].op) + " and " +
          std::to_string(values[i].bytes));
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].time < 0)
      return llvm::createStringError("op " + std::to_string(i) +
                                     " expects a time of at least 0 but got " +
                                     std::to_string(ops[i].time));
    for (unsigned operand : ops[i].operands)
      if (operand >= values.size() || values[operand].op >= i)
        return llvm::createStringError(
            "op " + std::to_string(i) +
            " expects values of earlier ops but got value " +
            std::to_string(operand));
  }
  return llvm::Error::success();
}

/// Sums up what was chosen.
static RecomputeChoice makeChoice(const RecomputeProblem &problem,
                                  std::vector<bool> isNeeded,
                                  std::vector<bool> isRepeated) {
  RecomputeChoice choice;
  choice.isRepeated = std::move(isRepeated);
  for (size_t i = 0; i < problem.values.size(); ++i) {
    const RecomputeProblem::Value &value = problem.values[i];
    bool kept = isNeeded[i] && !choice.isRepeated[value.op];
    choice.isKept.push_back(kept);
    choice.keptBytes += kept ? value.bytes : 0;
  }
  for (size_t i = 0; i < problem.ops.size(); ++i)
    choice.time += choice.isRepeated[i] ? problem.ops[i].time : 0;
  return choice;
}

/// The choice with the least sum of bytes * bytePrice(value) and time(op).
template <typename Price, typename Time>
static RecomputeChoice solve(const RecomputeProblem &problem, Price &&bytePrice,
                             Time &&time) {
  unsigned numValues = problem.values.size(), numOps = problem.ops.size();
  unsigned source = numValues + numOps, sink = source + 1;
  MinCut network(sink + 1);
  for (unsigned i = 0; i < numValues; ++i) {
    const RecomputeProblem::Value &value = problem.values[i];
    if (value.isNeeded)
      network.addEdge(source, i, MinCut::kInfinite);
    network.addEdge(i, numValues + value.op,
                    static_cast<int64_t>(value.bytes * bytePrice(i)));
  }
  for (unsigned i = 0; i < numOps; ++i) {
    const RecomputeProblem::Op &op = problem.ops[i];
    network.addEdge(numValues + i, sink,
                    op.isRepeatable ? time(op) : MinCut::kInfinite);
    for (unsigned operand : op.operands)
      network.addEdge(numValues + i, operand, MinCut::kInfinite);
  }
  std::vector<bool> side = network.cut(source, sink);
  return makeChoice(problem, {side.begin(), side.begin() + numValues},
                    {side.begin() + numValues, side.begin() + source});
}

RecomputeChoice tessera::keepAll(const RecomputeProblem &problem) {
  std::vector<bool> isNeeded;
  for (const RecomputeProblem::Value &value : problem.values)
    isNeeded.push_back(value.isNeeded);
  return makeChoice(problem, isNeeded, std::vector<bool>(problem.ops.size()));
}

RecomputeChoice tessera::keepLeast(const RecomputeProblem &problem) {
  // A repeated op weighs less than any byte.
  double price = static_cast<double>(problem.ops.size() + 1);
  return solve(
      problem, [&](unsigned) { return price; },
      [](const RecomputeProblem::Op &) -> int64_t { return 1; });
}

std::optional<RecomputeChoice>
tessera::keepWithin(const RecomputeProblem &problem, int64_t bytes) {
  RecomputeChoice best = keepAll(problem);
  if (best.keptBytes <= bytes)
    return best;
  best = keepLeast(problem);
  if (best.keptBytes > bytes)
    return std::nullopt;
  // The higher the price of a byte, the fewer are kept. It rises by a hundredth
  // along the program, so that equal layers are not decided all at once.
  constexpr double kRise = 0.01;
  constexpr int64_t kTimeUnit = 16;
  auto at = [&](double exponent) {
    double price = std::exp2(exponent) * kTimeUnit;
    double rise = kRise / static_cast<double>(problem.values.size());
    return solve(
        problem, [&](unsigned i) { return price * (1 + rise * i); },
        [&](const RecomputeProblem::Op &op) -> int64_t {
          return op.time * kTimeUnit;
        });
  };
  double low = -10, high = 14;
  for (int i = 0; i < 24; ++i) {
    double middle = (low + high) / 2;
    RecomputeChoice choice = at(middle);
    bool fits = choice.keptBytes <= bytes;
    if (fits && choice.time < best.time)
      best = std::move(choice);
    (fits ? high : low) = middle;
  }
  return best;
}

std::optional<int64_t>
tessera::fitKeptBytes(int64_t least, int64_t most, int64_t limit,
                      const std::function<int64_t(int64_t)> &measure,
                      int64_t &needed) {
  // From the most down: what is kept least of all may be made again so early
  // that more is live at the peak.
  constexpr int64_t kSteps = 8;
  constexpr int kRefinements = 3;
  int64_t fits = -1, tooMuch = most;
  for (int64_t i = 0; i <= kSteps && fits < 0; ++i) {
    int64_t kept = most - (most - least) * i / kSteps;
    int64_t bytes = measure(kept);
    needed = i == 0 ? bytes : std::min(needed, bytes);
    if (bytes <= limit)
      fits = kept;
    else
      tooMuch = kept;
  }
  if (fits < 0)
    return std::nullopt;
  for (int i = 0; i < kRefinements && tooMuch - fits > 1; ++i) {
    int64_t middle = fits + (tooMuch - fits) / 2;
    (measure(middle) <= limit ? fits : tooMuch) = middle;
  }
  return fits;
}
