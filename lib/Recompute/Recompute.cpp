//===- Recompute.cpp - Values to keep for the backward --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The network has a node for each value (on the source's side: needed) and each
// op (on the source's side: recomputed). The cost of a cut is the capacity of
// the edges that it crosses:
//   source -> value        infinite, if the backward uses it;
//   value  -> its op       its bytes' price: needed, not recomputed, so kept;
//   op     -> sink         its time: recomputed; infinite if it must not be;
//   op     -> operand      infinite: operands of recomputed ops are needed.
//
//===----------------------------------------------------------------------===//

#include "tessera/Recompute/Recompute.h"
#include "tessera/Support/MinCut.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <limits>

using namespace tessera;

llvm::Error RecomputeProblem::check() const {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].place >= numPlaces)
      return llvm::createStringError(
          "value " + std::to_string(i) + " expects one of " +
          std::to_string(numPlaces) + " places but got " +
          std::to_string(values[i].place));
    if (values[i].op >= ops.size() || values[i].bytes < 0)
      return llvm::createStringError(
          "value " + std::to_string(i) +
          " expects an op and bytes of at least 0 but got op " +
          std::to_string(values[i].op) + " and " +
          std::to_string(values[i].bytes));
  }
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

/// Sums up the bytes and times of a choice.
static RecomputeChoice makeChoice(const RecomputeProblem &problem,
                                  std::vector<bool> isNeeded,
                                  std::vector<bool> isRepeated) {
  RecomputeChoice choice;
  choice.isRepeated = std::move(isRepeated);
  choice.keptBytes.assign(problem.numPlaces, 0);
  for (size_t i = 0; i < problem.values.size(); ++i) {
    const RecomputeProblem::Value &value = problem.values[i];
    bool kept = isNeeded[i] && !choice.isRepeated[value.op];
    choice.isKept.push_back(kept);
    choice.keptBytes[value.place] += kept ? value.bytes : 0;
  }
  for (size_t i = 0; i < problem.ops.size(); ++i)
    choice.time += choice.isRepeated[i] ? problem.ops[i].time : 0;
  return choice;
}

RecomputeChoice tessera::repeatFree(const RecomputeProblem &problem,
                                    const RecomputeChoice &choice) {
  std::vector<bool> isNeeded;
  for (const auto &[i, value] : llvm::enumerate(problem.values))
    isNeeded.push_back(value.isNeeded || choice.isKept[i]);
  std::vector<bool> isRepeated = choice.isRepeated;
  for (const auto &[i, op] : llvm::enumerate(problem.ops))
    if (op.isFree && llvm::all_of(op.operands, [&](unsigned operand) {
          return isNeeded[operand] && !isRepeated[problem.values[operand].op];
        }))
      isRepeated[i] = true;
  return makeChoice(problem, std::move(isNeeded), std::move(isRepeated));
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
  // A recomputed op weighs less than any byte.
  double price = static_cast<double>(problem.ops.size() + 1);
  return solve(
      problem, [&](unsigned) { return price; },
      [](const RecomputeProblem::Op &) -> int64_t { return 1; });
}

/// True if the kept bytes are within every limit.
static bool isWithin(const RecomputeChoice &choice,
                     llvm::ArrayRef<int64_t> limits) {
  return llvm::all_of_zip(
      choice.keptBytes, limits,
      [](int64_t bytes, int64_t limit) { return bytes <= limit; });
}

std::optional<RecomputeChoice>
tessera::keepWithin(const RecomputeProblem &problem,
                    llvm::ArrayRef<int64_t> limits) {
  RecomputeChoice best = keepAll(problem);
  if (isWithin(best, limits))
    return best;
  best = keepLeast(problem);
  if (!isWithin(best, limits))
    return std::nullopt;
  // A higher price of a byte keeps fewer bytes. It rises by a hundredth along
  // the program, so that equal layers are not all decided at once.
  constexpr double kRise = 0.01;
  constexpr int64_t kTimeUnit = 16;
  auto at = [&](llvm::ArrayRef<double> exponents) {
    double rise = kRise / static_cast<double>(problem.values.size());
    return solve(
        problem,
        [&](unsigned i) {
          double price =
              std::exp2(exponents[problem.values[i].place]) * kTimeUnit;
          return price * (1 + rise * i);
        },
        [&](const RecomputeProblem::Op &op) -> int64_t {
          return op.time * kTimeUnit;
        });
  };
  auto consider = [&](RecomputeChoice choice) {
    if (isWithin(choice, limits) && choice.time < best.time)
      best = std::move(choice);
  };
  // Each memory has its own price; the prices of other memories hardly matter
  // to it.
  std::vector<double> low(problem.numPlaces, -10), high(problem.numPlaces, 14);
  for (int i = 0; i < 24; ++i) {
    std::vector<double> middle;
    for (auto [l, h] : llvm::zip_equal(low, high))
      middle.push_back((l + h) / 2);
    RecomputeChoice choice = at(middle);
    for (unsigned place = 0; place < problem.numPlaces; ++place)
      (choice.keptBytes[place] <= limits[place] ? high : low)[place] =
          middle[place];
    consider(std::move(choice));
  }
  consider(at(high));
  return best;
}

std::optional<std::vector<int64_t>> tessera::fitKeptBytes(
    llvm::ArrayRef<KeptRange> ranges, int64_t limit,
    llvm::function_ref<std::vector<int64_t>(llvm::ArrayRef<int64_t>)> measure,
    std::vector<int64_t> &needed) {
  // Starts from the largest choice: the smallest one may recompute so early
  // that more is live at the peak.
  constexpr int64_t kSteps = 8;
  constexpr int kRefinements = 3;
  size_t places = ranges.size();
  std::vector<std::optional<int64_t>> fits(places);
  std::vector<int64_t> tooMuch;
  for (const KeptRange &range : ranges)
    tooMuch.push_back(range.most);
  needed.assign(places, std::numeric_limits<int64_t>::max());
  // Records the largest kept bytes that fit and the smallest that exceed the
  // limit.
  auto attempt = [&](llvm::ArrayRef<int64_t> kept) {
    std::vector<int64_t> bytes = measure(kept);
    for (size_t place = 0; place < places; ++place) {
      needed[place] = std::min(needed[place], bytes[place]);
      if (bytes[place] <= limit)
        fits[place] = std::max(fits[place].value_or(kept[place]), kept[place]);
      else
        tooMuch[place] = std::min(tooMuch[place], kept[place]);
    }
  };
  auto isDone = [](const std::optional<int64_t> &kept) { return bool(kept); };
  for (int64_t i = 0; i <= kSteps && !llvm::all_of(fits, isDone); ++i) {
    std::vector<int64_t> kept;
    for (auto [range, fit] : llvm::zip_equal(ranges, fits))
      kept.push_back(
          fit.value_or(range.most - (range.most - range.least) * i / kSteps));
    attempt(kept);
  }
  if (!llvm::all_of(fits, isDone))
    return std::nullopt;
  for (int i = 0; i < kRefinements; ++i) {
    std::vector<int64_t> kept;
    for (auto [fit, most] : llvm::zip_equal(fits, tooMuch))
      kept.push_back(most - *fit > 1 ? *fit + (most - *fit) / 2 : *fit);
    if (llvm::equal(kept, fits))
      break;
    attempt(kept);
  }
  std::vector<int64_t> kept;
  for (const std::optional<int64_t> &fit : fits)
    kept.push_back(*fit);
  return kept;
}
