//===- OpCostTest.cpp - The cost of an op ---------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;

namespace {

/// The cost of the op of this name in a function with the given body.
OpCost costOf(StringRef arguments, StringRef body, StringRef name) {
  MLIRContext context;
  context.loadDialect<arith::ArithDialect, func::FuncDialect,
                      linalg::LinalgDialect, math::MathDialect,
                      tensor::TensorDialect, nn::NNDialect>();
  std::string text =
      ("func.func @f(" + arguments + ") {\n" + body + "\nreturn\n}").str();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(bool(module)) << text;
  OpCost cost;
  bool found = false;
  if (module)
    module->walk([&](Operation *op) {
      if (op->getName().getStringRef() != name)
        return;
      cost = getOpCost(op);
      found = true;
    });
  EXPECT_TRUE(found) << name.str();
  return cost;
}

const char *kMatrices =
    "%a: tensor<64x32xf32>, %b: tensor<32x16xf32>, %c: tensor<64x16xf32>";

TEST(OpCost, matmuls) {
  OpCost einsum = costOf("%x: tensor<2x8x64xbf16>, %w: tensor<64x4x16xbf16>",
                         R"(%0 = nn.einsum "bsd,dhk->bshk" %x, %w
      : tensor<2x8x64xbf16>, tensor<64x4x16xbf16> -> tensor<2x8x4x16xbf16>)",
                         "nn.einsum");
  EXPECT_EQ(einsum.kind, CostKind::Matmul);
  EXPECT_EQ(einsum.batch, 1);
  EXPECT_EQ(einsum.m, 16);
  EXPECT_EQ(einsum.n, 64);
  EXPECT_EQ(einsum.k, 64);
  EXPECT_EQ(einsum.flops, 2.0 * 16 * 64 * 64);

  OpCost batched = costOf("%x: tensor<3x8x64xf32>, %y: tensor<3x64x5xf32>",
                          R"(%0 = nn.einsum "bij,bjk->bik" %x, %y
      : tensor<3x8x64xf32>, tensor<3x64x5xf32> -> tensor<3x8x5xf32>)",
                          "nn.einsum");
  EXPECT_EQ(batched.batch, 3);
  EXPECT_EQ(batched.flops, 2.0 * 3 * 8 * 64 * 5);

  OpCost matmul = costOf(kMatrices, R"(%0 = linalg.matmul
      ins(%a, %b : tensor<64x32xf32>, tensor<32x16xf32>)
      outs(%c : tensor<64x16xf32>) -> tensor<64x16xf32>)",
                         "linalg.matmul");
  EXPECT_EQ(matmul.kind, CostKind::Matmul);
  EXPECT_EQ(matmul.flops, 2.0 * 64 * 16 * 32);
}

TEST(OpCost, attention_skips_what_a_mask_hides) {
  auto attention = [](StringRef causal) {
    return costOf("%q: tensor<2x8x4x3x16xf32>, %k: tensor<2x8x4x16xf32>",
                  ("%0 = nn.attention " + causal + R"( scale 0.25 %q, %k, %k
      : tensor<2x8x4x3x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>
      -> tensor<2x8x4x3x16xf32>)")
                      .str(),
                  "nn.attention");
  };
  OpCost all = attention("");
  EXPECT_EQ(all.kind, CostKind::Attention);
  EXPECT_EQ(all.batch, 2 * 4 * 3);
  EXPECT_EQ(all.flops, 2 * 2.0 * 24 * 8 * 8 * 16);
  EXPECT_EQ(attention("causal").flops, all.flops / 2);
  // Six queries see two keys, the first two queries half as many.
  EXPECT_EQ(attention("causal window 2").flops, all.flops * 14 / 64);
  EXPECT_EQ(attention("causal window 8").flops, all.flops / 2);
  EXPECT_EQ(attention("causal window 9").flops, all.flops / 2);
}

TEST(OpCost, elementwise_ops_by_trait) {
  OpCost add = costOf("%x: tensor<4x8xf32>",
                      "%0 = arith.addf %x, %x : tensor<4x8xf32>", "arith.addf");
  EXPECT_EQ(add.kind, CostKind::Elementwise);
  EXPECT_EQ(add.flops, 32);
  EXPECT_TRUE(add.linear);
  EXPECT_FALSE(costOf("%x: tensor<4x8xf32>",
                      "%0 = math.exp %x : tensor<4x8xf32>", "math.exp")
                   .linear);
  OpCost gelu = costOf("%x: tensor<4x8xf32>",
                       "%0 = nn.gelu <tanh> %x : tensor<4x8xf32>", "nn.gelu");
  EXPECT_EQ(gelu.kind, CostKind::Elementwise);
  EXPECT_FALSE(gelu.linear);
}

TEST(OpCost, what_moves_nothing_is_free) {
  EXPECT_EQ(costOf("", "%0 = arith.constant dense<1.0> : tensor<4x8xf32>",
                   "arith.constant")
                .kind,
            CostKind::None);
  EXPECT_EQ(costOf("%x: tensor<4x8xf32>",
                   "%0 = tensor.collapse_shape %x [[0, 1]] : tensor<4x8xf32> "
                   "into tensor<32xf32>",
                   "tensor.collapse_shape")
                .kind,
            CostKind::None);
  // A slice is copied.
  EXPECT_EQ(costOf("%x: tensor<4x8xf32>",
                   "%0 = tensor.extract_slice %x[0, 0] [2, 8] [1, 1] : "
                   "tensor<4x8xf32> to tensor<2x8xf32>",
                   "tensor.extract_slice")
                .kind,
            CostKind::Elementwise);
}

TEST(OpCost, rows_of_a_table_are_read_not_the_table) {
  OpCost rows = costOf("%t: tensor<50000x16xf32>, %i: tensor<2x8xi32>",
                       R"(%0 = nn.embedding %t, %i
      : tensor<50000x16xf32>, tensor<2x8xi32> -> tensor<2x8x16xf32>)",
                       "nn.embedding");
  EXPECT_EQ(rows.kind, CostKind::Embedding);
  EXPECT_EQ(rows.bytesRead, 4.0 * (2 * 8 * 16 + 2 * 8));
}

TEST(OpCost, reductions) {
  OpCost norm = costOf("%x: tensor<4x8xf32>, %g: tensor<8xf32>",
                       R"(%0 = nn.rms_norm %x, %g eps 1.0e-5
      : tensor<4x8xf32>, tensor<8xf32>)",
                       "nn.rms_norm");
  EXPECT_EQ(norm.kind, CostKind::RowReduction);
  EXPECT_FALSE(norm.linear);
  OpCost sum = costOf("%x: tensor<4x8xf32>",
                      R"(%0 = nn.reduce <sum> %x dims [1]
      : tensor<4x8xf32> -> tensor<4xf32>)",
                      "nn.reduce");
  EXPECT_EQ(sum.kind, CostKind::RowReduction);
  EXPECT_TRUE(sum.linear);
  EXPECT_EQ(sum.flops, 32);
}

} // namespace
