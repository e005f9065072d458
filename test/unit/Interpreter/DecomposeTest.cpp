//===- DecomposeTest.cpp - nn ops against their decompositions ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op and its decomposition are implemented independently; on the same data
// they must give the same result.
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include "tessera/Interpreter/Verify.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interp;

namespace {

/// Decomposes every op that can be decomposed, in place; returns their number.
int decomposeAll(func::FuncOp function) {
  int count = 0;
  SmallVector<ShardingRuleOpInterface> ops;
  function.walk([&](ShardingRuleOpInterface op) { ops.push_back(op); });
  for (ShardingRuleOpInterface op : ops) {
    ShardingRule rule = op.getShardingRule();
    llvm::SmallBitVector factors(rule.factors.size());
    for (auto [i, factor] : llvm::enumerate(rule.factors))
      if (factor.kind == FactorKind::Decomposed)
        factors.set(i);
    if (factors.none())
      continue;
    OpBuilder builder(op);
    auto values = op.decompose(builder, factors);
    if (failed(values))
      continue;
    op->replaceAllUsesWith(*values);
    op->erase();
    ++count;
  }
  return count;
}

/// Checks the results of a program @f with one op that can be decomposed.
void checkProgram(const std::string &text, std::vector<double> lastArgument) {
  SCOPED_TRACE(text);
  TestProgram p(text);
  auto function = p.getFunction();
  ASSERT_TRUE(function) << p.error;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    auto inputs = makeInputs(function, {seed, /*integers=*/false});
    ASSERT_TRUE(succeeded(inputs));
    if (!lastArgument.empty())
      inputs->back() = p.argument(inputs->size() - 1, lastArgument);
    auto clone = cast<func::FuncOp>(function->clone());
    OwningOpRef<func::FuncOp> decomposed(clone);
    OpBuilder(function).insert(clone);
    clone.setName("decomposed");
    ASSERT_EQ(decomposeAll(clone), 1);
    auto expected = interpretGlobal(function, *inputs);
    auto actual = interpretGlobal(clone, *inputs);
    ASSERT_TRUE(succeeded(expected) && succeeded(actual)) << p.error;
    for (auto [a, b] : llvm::zip_equal(*actual, *expected))
      EXPECT_LE(relativeDifference(*a, *b),
                defaultTolerance(b->getElementType()));
  }
}

/// A function of one op with results of `types`.
std::string withResults(const std::string &op,
                        const std::vector<std::string> &operands,
                        const std::vector<std::string> &results) {
  std::string arguments, values, types;
  for (auto [i, type] : llvm::enumerate(operands))
    arguments += (i ? ", %a" : "%a") + std::to_string(i) + ": " + type;
  for (auto [i, type] : llvm::enumerate(results)) {
    values += (i ? ", %r#" : "%r#") + std::to_string(i);
    types += (i ? ", " : "") + type;
  }
  return "func.func @f(" + arguments + ") -> (" + types +
         ") {\n  %r:" + std::to_string(results.size()) + " = " + op +
         "\n  return " + values + " : " + types + "\n}\n";
}

void check(const std::string &op, std::vector<std::string> types,
           std::string result, std::vector<double> lastArgument = {}) {
  checkProgram(oneOp(op, types, result), std::move(lastArgument));
}

/// Checks an op with and without its statistics.
void checkStats(const std::string &op, const std::vector<std::string> &types,
                const std::string &result,
                const std::vector<std::string> &stats,
                std::vector<double> lastArgument = {}) {
  check(op, types, result, lastArgument);
  std::vector<std::string> results = {result};
  results.insert(results.end(), stats.begin(), stats.end());
  checkProgram(
      withResults(op + " stats " + llvm::join(stats, ", "), types, results),
      std::move(lastArgument));
}

TEST(DecomposeTest, softmax) {
  check("nn.softmax %a0 dim 1 : tensor<3x4x5xf32>", {"tensor<3x4x5xf32>"},
        "tensor<3x4x5xf32>");
  check("nn.softmax %a0 dim 0 : tensor<3x4xbf16>", {"tensor<3x4xbf16>"},
        "tensor<3x4xbf16>");
}

TEST(DecomposeTest, arg_reduce) {
  for (std::string kind : {"max", "min"})
    for (std::string t : {"f32", "bf16", "i8", "i1"}) {
      std::string x = "tensor<3x7x2x" + t + ">",
                  value = "tensor<3x2x" + t + ">";
      checkProgram(withResults("nn.arg_reduce <" + kind + "> %a0 dim 1 : " + x +
                                   " -> " + value + ", tensor<3x2xi64>",
                               {x}, {value, "tensor<3x2xi64>"}),
                   {});
    }
  // Ties, NaN, and values that do not exceed the neutral element.
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (std::vector<double> x : {std::vector<double>{2, 5, 5, -1, -1, 2},
                                {nan, 1, 2, 1, nan, nan},
                                {-inf, -inf, -inf, inf, inf, inf}}) {
    std::string op = "%v, %i = nn.arg_reduce <max> %a0 dim 1 : tensor<2x3xf32> "
                     "-> tensor<2xf32>, tensor<2xi32>";
    checkProgram("func.func @f(%a0: tensor<2x3xf32>) -> tensor<2xi32> {\n  " +
                     op + "\n  return %i : tensor<2xi32>\n}\n",
                 x);
  }
}

TEST(DecomposeTest, norms) {
  for (std::string t : {"f32", "bf16", "f64"}) {
    std::string x = "tensor<3x7x" + t + ">", w = "tensor<7x" + t + ">";
    std::string stat = t == "f64" ? "tensor<3xf64>" : "tensor<3xf32>";
    checkStats("nn.layer_norm %a0, %a1, %a2 eps 1.0e-5 : " + x + ", " + w +
                   ", " + w,
               {x, w, w}, x, {stat, stat});
    checkStats("nn.rms_norm %a0, %a1 eps 1.0e-5 : " + x + ", " + w, {x, w}, x,
               {stat});
    check("nn.layer_norm_backward %a0, %a1, %a2, %a3, %a4 : " + x + ", " + w +
              ", " + stat,
          {x, x, w, stat, stat}, x);
    check("nn.rms_norm_backward %a0, %a1, %a2, %a3 : " + x + ", " + w + ", " +
              stat,
          {x, x, w, stat}, x);
  }
}

TEST(DecomposeTest, cross_entropy) {
  checkStats("nn.cross_entropy %a0, %a1 ignore -100 : tensor<4x7xf32>, "
             "tensor<4xi32> -> tensor<4xf32>",
             {"tensor<4x7xf32>", "tensor<4xi32>"}, "tensor<4xf32>",
             {"tensor<4xf32>", "tensor<4xf32>"}, {6, -100, 0, 3});
  checkStats("nn.cross_entropy %a0, %a1 ignore -100 classes 5 : "
             "tensor<4x7xf32>, tensor<4xi32> -> tensor<4xf32>",
             {"tensor<4x7xf32>", "tensor<4xi32>"}, "tensor<4xf32>",
             {"tensor<4xf32>", "tensor<4xf32>"}, {4, -100, 0, 3});
}

TEST(DecomposeTest, attention) {
  std::string q = "tensor<2x3x2x2x4xf32>", k = "tensor<2x5x2x4xf32>",
              v = "tensor<2x5x2x6xf32>", o = "tensor<2x3x2x2x6xf32>";
  std::string types = " : " + q + ", " + k + ", " + v + " -> " + o;
  std::string stat = "tensor<2x3x2x2xf32>";
  checkStats("nn.attention scale 0.5 %a0, %a1, %a2" + types, {q, k, v}, o,
             {stat});
  checkStats("nn.attention causal scale 0.5 %a0, %a1, %a2" + types, {q, k, v},
             o, {stat});
  // The first query sees no key.
  for (double offset : {0, 1, 3})
    checkStats("nn.attention causal scale 0.5 keys 4 %a0, %a1, %a2 k_offset "
               "%a3" +
                   types,
               {q, k, v, "index"}, o, {stat}, {offset});
  checkStats("nn.attention causal scale 0.5 keys 4 %a0, %a1, %a2 q_offset %a3" +
                 types,
             {q, k, v, "index"}, o, {stat}, {2});
  // The last query sees keys again, or none.
  for (double offset : {0, 3, 9})
    checkStats("nn.attention causal window 2 scale 0.5 keys 4 %a0, %a1, %a2 "
               "q_offset %a3" +
                   types,
               {q, k, v, "index"}, o, {stat}, {offset});
  std::string starts = "tensor<2x3xi32>",
              order = "order <shards = 2, size = 8>";
  std::string withStarts = "starts %a3 : " + starts;
  for (std::string mask : {"", "causal ", "causal window 2 "})
    checkProgram(withResults("nn.attention " + mask + "scale 0.5 " + order +
                                 " %a0, %a1, %a2 " + withStarts + types +
                                 " stats " + stat,
                             {q, k, v, starts}, {o, stat}),
                 {});
  std::string backward =
      " : " + q + ", " + k + ", " + v + ", " + o + ", " + stat;
  std::vector<std::string> operands = {o, q, k, v, o, stat};
  for (std::string mask : {"", "causal ", "causal window 2 "})
    for (std::string keys : {"", "keys 4 "})
      checkProgram(withResults("nn.attention_backward " + mask + "scale 0.5 " +
                                   keys + "%a0, %a1, %a2, %a3, %a4, %a5" +
                                   backward,
                               operands, {q, k, v}),
                   {});
  operands.push_back(starts);
  checkProgram(withResults("nn.attention_backward causal scale 0.5 " + order +
                               " %a0, %a1, %a2, %a3, %a4, %a5 starts %a6 : " +
                               starts + backward,
                           operands, {q, k, v}),
               {});
}

} // namespace
