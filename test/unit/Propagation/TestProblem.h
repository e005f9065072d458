//===- TestProblem.h - Propagation problems as text -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds problems from short literals and prints solutions in the same form:
//
//   TestProblem p("x=4,y=2");
//   unsigned a = p.tensor("8x16", "[{x}, {?}]"), b = p.tensor("16x32");
//   unsigned c = p.tensor("8x32");
//   p.op("ik,kj->ij", {a, b}, {c});
//   EXPECT_EQ(p.solve(), "[{x}, {}] [{}, {}] [{x}, {}]");
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_PROPAGATION_TESTPROBLEM_H
#define TESSERA_TEST_UNIT_PROPAGATION_TESTPROBLEM_H

#include "tessera/Propagation/PropagationProblem.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <map>

namespace tessera {

class TestProblem {
public:
  explicit TestProblem(llvm::StringRef mesh) {
    llvm::SmallVector<llvm::StringRef> axes;
    mesh.split(axes, ',');
    for (llvm::StringRef axis : axes) {
      auto [name, size] = axis.split('=');
      problem.mesh.names.push_back(name.str());
      problem.mesh.sizes.push_back(toInt(size));
    }
  }

  /// `8x16` and `[{x, ?}p1, {y:(1)2}]`, then optionally ` replicated{z}`.
  unsigned tensor(llvm::StringRef shape, llvm::StringRef seed = "",
                  int64_t elementBytes = 1) {
    llvm::SmallVector<llvm::StringRef> sizes;
    llvm::SmallVector<int64_t> dims;
    shape.split(sizes, 'x');
    for (llvm::StringRef size : sizes)
      dims.push_back(toInt(size));
    if (seed.empty())
      return problem.addTensor(dims, elementBytes);
    return problem.addTensor(dims, elementBytes, parseSharding(seed));
  }

  /// Letters are factors, `(ab)` is a dimension of two factors. A letter that
  /// is in no result is contracted, a capital one is replicated, and `-` is a
  /// factor of no tensor dimension.
  void op(llvm::StringRef text, llvm::ArrayRef<unsigned> operands,
          llvm::ArrayRef<unsigned> results) {
    auto [in, out] = text.split("->");
    ShardingRule rule;
    std::map<char, unsigned> factors;
    auto parse = [&](llvm::StringRef part, llvm::ArrayRef<unsigned> ids) {
      llvm::SmallVector<TensorFactors, 4> tensors;
      llvm::SmallVector<llvm::StringRef> texts;
      part.split(texts, ',');
      for (llvm::StringRef text : texts)
        tensors.push_back(parseDims(text, rule, factors));
      for (auto [dims, id] : llvm::zip(tensors, ids))
        for (auto [dim, size] : llvm::zip(dims, problem.tensors[id].shape))
          if (dim.size() == 1)
            rule.factors[dim.front()].size = size;
      return tensors;
    };
    rule.operands = parse(in, operands);
    auto parsed = parse(out, results);
    rule.results.assign(parsed.begin(), parsed.end());
    for (auto [letter, f] : factors) {
      if (llvm::isUpper(letter))
        rule.factors[f].kind = FactorKind::Replicated;
      else if (rule.isReduced(f))
        rule.factors[f].kind = FactorKind::Reduction;
    }
    problem.addOp(problem.addRule(std::move(rule)), operands, results);
  }

  /// The shardings of all tensors, in order.
  std::string solve() {
    EXPECT_EQ(llvm::toString(problem.check()), "");
    solution = propagate(problem);
    EXPECT_EQ(llvm::toString(verify(problem, solution)), "");
    std::string text;
    llvm::raw_string_ostream os(text);
    llvm::interleave(
        solution.shardings, os,
        [&](const Sharding &s) { s.print(os, problem.mesh); }, " ");
    llvm::erase(text, '"');
    return text;
  }

  AxisList parseAxes(llvm::StringRef text) const {
    AxisList axes;
    llvm::SmallVector<llvm::StringRef> parts;
    text.split(parts, ',', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef part : parts) {
      auto [name, sub] = part.trim().split(":(");
      unsigned axis = *problem.mesh.find(name);
      if (sub.empty()) {
        axes.push_back(problem.mesh.fullAxis(axis));
        continue;
      }
      auto [pre, size] = sub.split(')');
      axes.push_back({axis, toInt(pre), toInt(size)});
    }
    return axes;
  }

  PropagationProblem problem;
  PropagationSolution solution;

private:
  static int64_t toInt(llvm::StringRef text) {
    int64_t value = 0;
    EXPECT_FALSE(text.getAsInteger(10, value)) << text.str();
    return value;
  }

  Sharding parseSharding(llvm::StringRef text) const {
    Sharding sharding;
    auto [dims, replicated] = text.split("] replicated");
    llvm::SmallVector<llvm::StringRef> parts;
    dims.trim("[]").split(parts, '{', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef part : parts) {
      auto [axes, priority] = part.split('}');
      DimSharding &dim = sharding.dims.emplace_back();
      dim.open = axes.consume_back("?");
      axes = axes.rtrim(", ");
      dim.axes = parseAxes(axes);
      priority = priority.trim(", ");
      if (priority.consume_front("p"))
        dim.priority = toInt(priority);
    }
    sharding.replicated = parseAxes(replicated.trim("{}"));
    return sharding;
  }

  static TensorFactors parseDims(llvm::StringRef text, ShardingRule &rule,
                                 std::map<char, unsigned> &factors) {
    TensorFactors dims;
    bool inside = false;
    for (char c : text) {
      if (c == '(' || c == ')') {
        inside = c == '(';
        if (inside)
          dims.emplace_back();
        continue;
      }
      if (!inside)
        dims.emplace_back();
      if (c == '-')
        continue;
      auto [it, isNew] = factors.try_emplace(c, 0);
      if (isNew)
        it->second = rule.addFactor(1);
      dims.back().push_back(it->second);
    }
    return dims;
  }
};

} // namespace tessera

#endif // TESSERA_TEST_UNIT_PROPAGATION_TESTPROBLEM_H
