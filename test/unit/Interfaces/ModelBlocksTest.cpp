//===- ModelBlocksTest.cpp - The block of the model that an op is in ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interfaces/ModelBlocks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;

TEST(ModelBlocksTest, names) {
  EXPECT_EQ(getModelBlock("blocks.3.attn.wq"), "blocks.3");
  EXPECT_EQ(getModelBlock("model.layers.12.mlp.0.weight"), "model.layers.12");
  EXPECT_EQ(getModelBlock("h.0"), "h.0");
  EXPECT_EQ(getModelBlock("0.weight"), "0");
}

TEST(ModelBlocksTest, names_outside_of_blocks) {
  EXPECT_EQ(getModelBlock(""), "");
  EXPECT_EQ(getModelBlock("embedding.weight"), "");
  EXPECT_EQ(getModelBlock("norm1.x3.3a"), "");
}

TEST(ModelBlocksTest, scopes) {
  MLIRContext context;
  auto named = [&](StringRef name) -> Location {
    return NameLoc::get(StringAttr::get(&context, name));
  };
  Location unknown = UnknownLoc::get(&context);
  EXPECT_EQ(getScope(unknown), "");
  EXPECT_EQ(getScope(named("blocks.3.attn")), "blocks.3.attn");
  EXPECT_EQ(getScope(FusedLoc::get(
                &context, {unknown, named("blocks.1"), named("head")})),
            "blocks.1");
}

namespace {
/// A model of two blocks whose last ops read two parameters at once, and a
/// parameter and an input.
constexpr const char *kModel = R"(
func.func @f(%x: tensor<4xf32>, %e: tensor<4xf32> {nn.param = "wte"},
             %a: tensor<4xf32> {nn.param = "blocks.0.w"},
             %b: tensor<4xbf16> {nn.param = "blocks.1.w"},
             %c: tensor<4xf32> {nn.param = "ln_f"}) {
  %0 = arith.addf %x, %e : tensor<4xf32>
  %1 = arith.mulf %0, %a : tensor<4xf32>
  %2 = math.tanh %1 : tensor<4xf32>
  %3 = arith.extf %b : tensor<4xbf16> to tensor<4xf32>
  %4 = arith.mulf %2, %3 : tensor<4xf32>
  %5 = arith.mulf %4, %c : tensor<4xf32>
  %6 = arith.mulf %a, %c : tensor<4xf32>
  return
})";

class ModelBlocksOfOps : public testing::Test {
protected:
  ModelBlocksOfOps() {
    context.allowUnregisteredDialects();
    context.loadDialect<arith::ArithDialect, func::FuncDialect,
                        math::MathDialect>();
    module = parseSourceString<ModuleOp>(kModel, &context);
    block = &(*module->getOps<func::FuncOp>().begin()).front();
    for (Operation &op : *block)
      ops.push_back(&op);
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Block *block;
  std::vector<Operation *> ops;
};
} // namespace

TEST_F(ModelBlocksOfOps, numbers) {
  EXPECT_EQ(numberModelBlocks(*block, ops[6]),
            (std::vector<unsigned>{0, 1, 1, 2, 2, 0}));
  // A block that begins again has another number.
  EXPECT_EQ(numberModelBlocks(*block, nullptr),
            (std::vector<unsigned>{0, 1, 1, 2, 2, 0, 0, 0}));
}

TEST_F(ModelBlocksOfOps, names_of_parameters) {
  EXPECT_FALSE(getParameterName(block->getArgument(0)));
  EXPECT_EQ(getParameterName(block->getArgument(2)).getValue(), "blocks.0.w");
  EXPECT_FALSE(getParameterName(ops[3]->getResult(0)));
}

TEST_F(ModelBlocksOfOps, values_of_parameters) {
  using Block = std::optional<StringRef>;
  Value activation = ops[4]->getResult(0), cast = ops[3]->getResult(0);
  Value product = ops[6]->getResult(0);
  EXPECT_EQ(getParameterBlock(block->getArgument(1)), Block(""));
  EXPECT_EQ(getParameterBlock(cast), Block("blocks.1"));
  EXPECT_EQ(getRootArgument(cast), block->getArgument(3));
  EXPECT_EQ(getParameterBlock(product), std::nullopt);
  EXPECT_EQ(getParameterBlock(product, FollowOperands::FirstTensor),
            Block("blocks.0"));
  EXPECT_FALSE(getRootArgument(activation));
  EXPECT_EQ(getRootArgument(activation, FollowOperands::FirstTensor),
            block->getArgument(0));
}
