//===- GradientCheckTest.cpp - Every differentiable op --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares with central differences in f64, away from kinks.
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;

namespace {

/// Checks `%r = op` on arguments %0, %1, ... of `types`.
void check(const std::string &op, const std::vector<std::string> &types,
           const std::string &result, GradientCheckOptions options = {}) {
  SCOPED_TRACE(op);
  std::string text = "func.func @f(";
  for (auto [i, type] : llvm::enumerate(types))
    text += (i ? ", %" : "%") + std::to_string(i) + ": " + type;
  text += ") -> " + result + " {\n" + op + "\nreturn %r : " + result + "\n}\n";
  std::unique_ptr<MLIRContext> context = makeContext();
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, context.get());
  ASSERT_TRUE(module) << text;
  for (options.seed = 0; options.seed < 2; ++options.seed)
    checkGradients(*module->getOps<func::FuncOp>().begin(), options);
}

const std::string kMatrix = "tensor<3x4xf64>";

void checkElementwise(const std::string &name, unsigned operands,
                      bool positive = false) {
  std::string op = "%r = " + name + " %0";
  for (unsigned i = 1; i < operands; ++i)
    op += ", %" + std::to_string(i);
  GradientCheckOptions options;
  options.positive = positive;
  check(op + " : " + kMatrix, std::vector<std::string>(operands, kMatrix),
        kMatrix, options);
}

TEST(GradientCheck, einsum) {
  check("%r = nn.einsum \"bsd,dhk->bshk\" %0, %1 : tensor<2x3x4xf64>, "
        "tensor<4x2x3xf64> -> tensor<2x3x2x3xf64>",
        {"tensor<2x3x4xf64>", "tensor<4x2x3xf64>"}, "tensor<2x3x2x3xf64>");
  check("%r = nn.einsum \"bij,bkj->kbi\" %0, %1 : tensor<2x3x4xf64>, "
        "tensor<2x5x4xf64> -> tensor<5x2x3xf64>",
        {"tensor<2x3x4xf64>", "tensor<2x5x4xf64>"}, "tensor<5x2x3xf64>");
  check("%r = nn.einsum \"ij,ji->i\" %0, %1 : tensor<3x4xf64>, "
        "tensor<4x3xf64> -> tensor<3xf64>",
        {"tensor<3x4xf64>", "tensor<4x3xf64>"}, "tensor<3xf64>");
}

/// The same value as both operands of a matmul.
TEST(GradientCheck, square) {
  check("%r = nn.einsum \"ij,kj->ik\" %0, %0 : tensor<3x4xf64>, "
        "tensor<3x4xf64> -> tensor<3x3xf64>",
        {kMatrix}, "tensor<3x3xf64>");
}

/// Windows that overlap and that do not, also beyond the ends of x; elements
/// that no window reads.
TEST(GradientCheck, convolution) {
  auto one = [](const std::string &steps, const std::string &x,
                const std::string &weight, const std::string &result) {
    for (std::string order : {"", " reversed"})
      check("%r = nn.convolution %0, %1 " + steps + order + " : " + x + ", " +
                weight + " -> " + result,
            {x, weight}, result);
  };
  one("strides [1] low [0] high [0] dilation [1] x_dilation [1]",
      "tensor<2x1x2x5xf64>", "tensor<1x3x2x3xf64>", "tensor<2x1x3x3xf64>");
  one("strides [2] low [1] high [2] dilation [2] x_dilation [1]",
      "tensor<2x2x2x6xf64>", "tensor<2x3x2x3xf64>", "tensor<2x2x3x3xf64>");
  one("strides [3] low [-1] high [-1] dilation [1] x_dilation [1]",
      "tensor<1x2x1x9xf64>", "tensor<2x1x1x2xf64>", "tensor<1x2x1x2xf64>");
  one("strides [2] low [1] high [2] dilation [1] x_dilation [3]",
      "tensor<2x1x2x3xf64>", "tensor<1x2x2x2xf64>", "tensor<2x1x2x5xf64>");
  one("strides [2, 3] low [0, 1] high [0, 0] dilation [1, 1] x_dilation [1, 2]",
      "tensor<2x1x2x4x3xf64>", "tensor<1x2x2x2x3xf64>",
      "tensor<2x1x2x2x2xf64>");
  one("strides [1, 1, 2] low [1, 0, 0] high [1, 0, 1] dilation [1, 2, 1] "
      "x_dilation [1, 1, 1]",
      "tensor<1x1x2x3x3x3xf64>", "tensor<1x2x2x3x2x2xf64>",
      "tensor<1x1x2x3x1x2xf64>");
}

TEST(GradientCheck, attention) {
  std::vector<std::string> types = {
      "tensor<2x5x2x3x4xf64>", "tensor<2x5x2x4xf64>", "tensor<2x5x2x3xf64>"};
  std::string result = "tensor<2x5x2x3x3xf64>";
  for (std::string mask : {"", "causal ", "causal window 2 "})
    for (std::string keys : {"", "keys 3 "})
      check("%r = nn.attention " + mask + "scale 0.5 " + keys +
                "%0, %1, %2 : " + types[0] + ", " + types[1] + ", " + types[2] +
                " -> " + result,
            types, result);
}

TEST(GradientCheck, attention_of_documents) {
  std::vector<std::string> types = {
      "tensor<2x6x1x2x4xf64>", "tensor<2x6x1x4xf64>", "tensor<2x6x1x3xf64>"};
  std::string result = "tensor<2x6x1x2x3xf64>";
  for (std::string mask : {"", "causal ", "causal window 2 "})
    for (std::string order : {"", "order <shards = 3, size = 6> "})
      check(
          "%s = arith.constant dense<[[0, 0, 2, 2, 4, 5], [0, 1, 1, 1, 1, 1]]>"
          " : tensor<2x6xi32>\n%r = nn.attention " +
              mask + "scale 0.5 " + order +
              "%0, %1, %2 starts %s : tensor<2x6xi32> : " + types[0] + ", " +
              types[1] + ", " + types[2] + " -> " + result,
          types, result);
}

/// A bias has no gradient, so it is a constant: with keys hidden by minus
/// infinity and by the lowest number, and one query that sees no key.
TEST(GradientCheck, attention_with_bias_sinks_and_softcap) {
  std::vector<std::string> types = {"tensor<1x3x2x2x4xf64>",
                                    "tensor<1x4x2x4xf64>",
                                    "tensor<1x4x2x3xf64>", "tensor<2x2xf64>"};
  std::string result = "tensor<1x3x2x2x3xf64>", bias = "tensor<3x4xf64>";
  std::string constant =
      "%b = arith.constant dense<[[0.5, 0xFFF0000000000000, -1.0, 2.0], "
      "[0xFFF0000000000000, 0xFFF0000000000000, 0xFFF0000000000000, "
      "0xFFF0000000000000], [0xFFEFFFFFFFFFFFFF, 1.0, 0.0, -2.0]]> : " +
      bias + "\n%r = nn.attention ";
  for (std::string mask : {"", "causal "})
    for (std::string cap : {"", "softcap 1.5 "})
      for (const std::string &added :
           {std::string(), " bias %b dims [1, 4] : " + bias})
        for (const std::string &sinks :
             {std::string(), " sinks %3 : " + types[3]}) {
          SCOPED_TRACE(mask + cap + added + sinks);
          std::vector<std::string> inputs = types;
          if (sinks.empty())
            inputs.pop_back();
          check(constant + mask + "scale 0.5 " + cap + "%0, %1, %2" + added +
                    sinks + " : " + types[0] + ", " + types[1] + ", " +
                    types[2] + " -> " + result,
                inputs, result);
        }
}

/// The first two queries see no key: their results and gradients are 0.
TEST(GradientCheck, attention_with_offsets) {
  std::vector<std::string> types = {
      "tensor<1x4x1x2x4xf64>", "tensor<1x6x1x4xf64>", "tensor<1x6x1x4xf64>"};
  check("%q = arith.constant 3 : index\n%k = arith.constant 5 : index\n"
        "%r = nn.attention causal scale 0.5 %0, %1, %2 q_offset %q k_offset %k "
        ": " +
            types[0] + ", " + types[1] + ", " + types[2] + " -> " + types[0],
        types, types[0]);
}

TEST(GradientCheck, norms) {
  std::string x = "tensor<2x3x8xf64>", v = "tensor<8xf64>";
  check("%r = nn.layer_norm %0, %1, %2 eps 1.0e-3 : " + x + ", " + v + ", " + v,
        {x, v, v}, x);
  check("%r = nn.rms_norm %0, %1 eps 1.0e-3 : " + x + ", " + v, {x, v}, x);
}

TEST(GradientCheck, rope) {
  std::string x = "tensor<2x3x2x6xf64>";
  check("%r = nn.rope %0 dim 1 theta 1.0e4 : " + x, {x}, x);
  check("%r = nn.rope inverse %0 dim 1 theta 1.0e4 : " + x, {x}, x);
  check("%r = nn.rope %0 dim 1 theta 1.0e4 width 4 : " + x, {x}, x);
  check("%r = nn.rope %0 dim 1 frequencies [1.0, 0.3] width 4 : " + x, {x}, x);
  check("%r = nn.rope %0 dim 1 theta 1.0e4 interleaved : " + x, {x}, x);
  check("%r = nn.rope %0 dim 1 theta 1.0e4 order <shards = 2, size = 8> : " + x,
        {x}, x);
  check("%o = arith.constant 7 : index\n%r = nn.rope %0 dim 1 theta 1.0e2 "
        "scaling <factor = 4.0, low_freq_factor = 1.0, high_freq_factor = 4.0, "
        "original_context = 8> offset %o : " +
            x,
        {x}, x);
}

TEST(GradientCheck, lookups) {
  check("%r = nn.embedding %0, %1 : tensor<5x4xf64>, tensor<2x6xi32> -> "
        "tensor<2x6x4xf64>",
        {"tensor<5x4xf64>", "tensor<2x6xi32>"}, "tensor<2x6x4xf64>");
  // Ids outside the table are ignored; here the table has an offset.
  check("%o = arith.constant 2 : index\n%r = nn.embedding %0, %1 offset %o : "
        "tensor<5x4xf64>, tensor<2x6xi32> -> tensor<2x6x4xf64>",
        {"tensor<5x4xf64>", "tensor<2x6xi32>"}, "tensor<2x6x4xf64>");
  check(
      "%r = nn.take_along_axis %0, %1 : tensor<2x3x5xf64>, tensor<2x3xi32> -> "
      "tensor<2x3xf64>",
      {"tensor<2x3x5xf64>", "tensor<2x3xi32>"}, "tensor<2x3xf64>");
}

/// Equal ids, one beyond the table and one before it.
TEST(GradientCheck, scatter) {
  std::string x = "tensor<5x4xf64>", updates = "tensor<2x4x4xf64>";
  for (std::string kind : {"add", "set"})
    for (std::string rows : {"", " rows 4", " offset %o", " rows 6 offset %o"})
      check("%i = arith.constant dense<[[3, 0, 3, 7], [0, 4, -1, 3]]> : "
            "tensor<2x4xi32>\n%o = arith.constant 2 : index\n"
            "%r = nn.scatter <" +
                kind + "> %0, %i, %1" + rows + " : " + x +
                ", tensor<2x4xi32>, " + updates,
            {x, updates}, x);
  check("%i = arith.constant dense<3> : tensor<i8>\n"
        "%r = nn.scatter <set> %0, %i, %1 : tensor<5x4xf64>, tensor<i8>, "
        "tensor<4xf64>",
        {x, "tensor<4xf64>"}, x);
}

TEST(GradientCheck, several_picks) {
  check("%r = nn.take_along_axis %0, %1 : tensor<2x3x5xf64>, tensor<2x3x2xi32> "
        "-> tensor<2x3x2xf64>",
        {"tensor<2x3x5xf64>", "tensor<2x3x2xi32>"}, "tensor<2x3x2xf64>");
}

/// Choices of five tokens among three experts, one of them held nowhere.
const std::string kChoices =
    "%i = arith.constant dense<[[0, 2], [1, 0], [2, -1], [3, 1], [0, 1]]> : "
    "tensor<5x2xi32>\n";

TEST(GradientCheck, experts) {
  for (std::string activation : {"silu", "gelu", "gelu_tanh"})
    check(kChoices + "%r = nn.experts <" + activation +
              "> of 3 %0, %i, %1, %2, %3, %4 : tensor<5x4xf64>, "
              "tensor<5x2xi32>, tensor<5x2xf64>, tensor<3x4x6xf64>, "
              "tensor<3x6x2xf64> -> tensor<5x2xf64>",
          {"tensor<5x4xf64>", "tensor<5x2xf64>", "tensor<3x4x6xf64>",
           "tensor<3x4x6xf64>", "tensor<3x6x2xf64>"},
          "tensor<5x2xf64>");
}

TEST(GradientCheck, expert_rows) {
  check(kChoices + "%r = nn.expert_rows %0, %i : tensor<5x4xf64>, "
                   "tensor<5x2xi32> -> tensor<5x3x4xf64>",
        {"tensor<5x4xf64>"}, "tensor<5x3x4xf64>");
}

/// A router: gradients reach the scores by the gates, and no ids.
TEST(GradientCheck, router) {
  check("%i = nn.top_k 2 %0 : tensor<5x4xf64> -> tensor<5x2xi32>\n"
        "%p = nn.softmax %0 dim 1 : tensor<5x4xf64>\n"
        "%c = nn.take_along_axis %p, %i : tensor<5x4xf64>, tensor<5x2xi32> -> "
        "tensor<5x2xf64>\n"
        "%r = nn.experts <silu> of 4 %1, %i, %c, %2, %2, %3 : tensor<5x3xf64>, "
        "tensor<5x2xi32>, tensor<5x2xf64>, tensor<4x3x5xf64>, "
        "tensor<4x5x3xf64> -> tensor<5x3xf64>",
        {"tensor<5x4xf64>", "tensor<5x3xf64>", "tensor<4x3x5xf64>",
         "tensor<4x5x3xf64>"},
        "tensor<5x3xf64>");
}

TEST(GradientCheck, softmax_and_loss) {
  check("%r = nn.softmax %0 dim 1 : tensor<2x5x3xf64>", {"tensor<2x5x3xf64>"},
        "tensor<2x5x3xf64>");
  check("%r = nn.cross_entropy %0, %1 ignore -100 : tensor<4x6x7xf64>, "
        "tensor<4x6xi32> -> tensor<4x6xf64>",
        {"tensor<4x6x7xf64>", "tensor<4x6xi32>"}, "tensor<4x6xf64>");
  check("%r = nn.cross_entropy %0, %1 ignore -100 classes 5 : "
        "tensor<4x6x7xf64>, tensor<4x6xi32> -> tensor<4x6xf64>",
        {"tensor<4x6x7xf64>", "tensor<4x6xi32>"}, "tensor<4x6xf64>");
}

TEST(GradientCheck, activations_and_masks) {
  checkElementwise("nn.gelu <erf>", 1);
  checkElementwise("nn.gelu <tanh>", 1);
  checkElementwise("nn.silu", 1);
  check("%r = nn.mask_padding %0 dim 1 size 3 value 7.0 : f64 : " + kMatrix,
        {kMatrix}, kMatrix);
}

TEST(GradientCheck, shapes) {
  for (std::string kind : {"sum", "max", "min"})
    check("%r = nn.reduce <" + kind +
              "> %0 dims [0, 2] : tensor<3x4x5xf64> -> tensor<4xf64>",
          {"tensor<3x4x5xf64>"}, "tensor<4xf64>");
  check("%r = nn.broadcast %0 dims [1] : tensor<4xf64> -> tensor<3x4x2xf64>",
        {"tensor<4xf64>"}, "tensor<3x4x2xf64>");
  check("%r = nn.transpose %0 [2, 0, 1] : tensor<3x4x5xf64> -> "
        "tensor<5x3x4xf64>",
        {"tensor<3x4x5xf64>"}, "tensor<5x3x4xf64>");
}

TEST(GradientCheck, arith) {
  for (std::string name :
       {"addf", "subf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf"})
    checkElementwise("arith." + name, 2);
  checkElementwise("arith.negf", 1);
  checkElementwise("arith.divf", 2, /*positive=*/true);
  checkElementwise("arith.remf", 2, /*positive=*/true);
  check("%r = arith.select %0, %1, %2 : tensor<3x4xi1>, " + kMatrix,
        {"tensor<3x4xi1>", kMatrix, kMatrix}, kMatrix);
  check("%r = arith.select %0, %1, %2 : " + kMatrix, {"i1", kMatrix, kMatrix},
        kMatrix);
}

TEST(GradientCheck, math) {
  for (std::string name :
       {"exp", "exp2", "expm1", "tanh", "erf", "sin", "cos", "sinh", "cosh",
        "atan", "absf", "floor", "ceil", "round", "roundeven", "trunc"})
    checkElementwise("math." + name, 1);
  for (std::string name :
       {"log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt"})
    checkElementwise("math." + name, 1, /*positive=*/true);
  checkElementwise("math.atan2", 2);
  checkElementwise("math.copysign", 2);
  checkElementwise("math.fma", 3);
  checkElementwise("math.powf", 2, /*positive=*/true);
  check("%r = math.fpowi %0, %1 : " + kMatrix + ", tensor<3x4xi32>",
        {kMatrix, "tensor<3x4xi32>"}, kMatrix);
  // Inputs away from the poles.
  check("%c = arith.constant dense<0.25> : " + kMatrix +
            "\n%s = math.sin %0 : " + kMatrix + "\n%x = arith.mulf %s, %c : " +
            kMatrix + "\n%r = math.tan %x : " + kMatrix,
        {kMatrix}, kMatrix);
}

TEST(GradientCheck, tensor) {
  check("%r = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<2x3x4xf64> into "
        "tensor<6x4xf64>",
        {"tensor<2x3x4xf64>"}, "tensor<6x4xf64>");
  check("%r = tensor.expand_shape %0 [[0, 1], [2]] output_shape [2, 3, 4] : "
        "tensor<6x4xf64> into tensor<2x3x4xf64>",
        {"tensor<6x4xf64>"}, "tensor<2x3x4xf64>");
  check("%r = tensor.extract_slice %0[1, 0] [2, 2] [1, 2] : tensor<3x4xf64> to "
        "tensor<2x2xf64>",
        {kMatrix}, "tensor<2x2xf64>");
  // A slice that drops a dimension.
  check("%r = tensor.extract_slice %0[1, 0] [1, 4] [1, 1] : tensor<3x4xf64> to "
        "tensor<4xf64>",
        {kMatrix}, "tensor<4xf64>");
  check("%r = tensor.insert_slice %0 into %1[1, 0] [2, 2] [1, 2] : "
        "tensor<2x2xf64> into tensor<3x4xf64>",
        {"tensor<2x2xf64>", kMatrix}, kMatrix);
  check("%r = tensor.concat dim(1) %0, %1 : (tensor<3x4xf64>, "
        "tensor<3x2xf64>) -> tensor<3x6xf64>",
        {kMatrix, "tensor<3x2xf64>"}, "tensor<3x6xf64>");
  check("%r = tensor.cast %0 : tensor<3x4xf64> to tensor<3x4xf64>", {kMatrix},
        kMatrix);
  check("%r = tensor.splat %0 : tensor<3x4xf64>", {"f64"}, kMatrix);
}

/// The ops on scalars instead of tensors.
TEST(GradientCheck, scalars) {
  check("%x = arith.mulf %0, %1 : f64\n%y = math.exp %x : f64\n"
        "%r = tensor.splat %y : tensor<3xf64>",
        {"f64", "f64"}, "tensor<3xf64>");
}

} // namespace
