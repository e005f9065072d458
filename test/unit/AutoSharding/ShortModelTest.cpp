//===- ShortModelTest.cpp - A model with fewer of its equal blocks --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/AutoSharding/ShortModel.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;

namespace {

struct ShortModel : testing::Test {
  ShortModel() {
    context
        .loadDialect<arith::ArithDialect, func::FuncDialect, nn::NNDialect>();
  }

  OwningOpRef<ModuleOp> parse(const std::string &text) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(bool(module)) << text;
    return module;
  }

  static std::string print(ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream(text) << module;
    return text;
  }

  MLIRContext context;
};

/// A model of `blocks` blocks: x goes through all; the sums of each block are
/// added up, and each block has a result of its own.
std::string makeModel(unsigned blocks, const std::string &more = "") {
  std::string arguments = "%x: tensor<4xf32>, %zero: tensor<4xf32>", body,
              values, types;
  for (unsigned i = 0; i < blocks; ++i) {
    std::string n = std::to_string(i), last = std::to_string(i - 1);
    arguments += ", %w" + n + ": tensor<4xf32> {nn.param = \"blocks." + n +
                 ".w\", nn.dims = [\"embed\"]}";
    std::string x = i ? "%y" + last : "%x", sum = i ? "%s" + last : "%zero";
    body += "%h" + n + " = arith.mulf " + x + ", %w" + n + " : tensor<4xf32>\n";
    body += "%y" + n + " = arith.addf %h" + n + ", " + x + " : tensor<4xf32>\n";
    body +=
        "%s" + n + " = arith.addf " + sum + ", %h" + n + " : tensor<4xf32>\n";
    values += ", %h" + n;
    types += ", tensor<4xf32>";
  }
  std::string end = std::to_string(blocks - 1);
  return "func.func @model(" + arguments +
         ", %head: tensor<4xf32> {nn.param = \"head\"}) -> (tensor<4xf32>, "
         "tensor<4xf32>" +
         types + ") {\n" + body + more + "%r = arith.mulf %y" + end +
         ", %head : tensor<4xf32>\nreturn %r, %s" + end + values +
         " : tensor<4xf32>, tensor<4xf32>" + types + "\n}";
}

TEST_F(ShortModel, equals_a_model_of_as_many_blocks) {
  OwningOpRef<ModuleOp> many = parse(makeModel(7)), few = parse(makeModel(3));
  // The first block reads the argument, and is none of the equal ones.
  EXPECT_EQ(countEqualBlocks(*many), 6u);
  OwningOpRef<ModuleOp> made = shortenModel(*many, 2);
  ASSERT_TRUE(bool(made));
  EXPECT_TRUE(succeeded(verify(*made)));
  EXPECT_EQ(print(*made), print(*few));
  EXPECT_EQ(countEqualBlocks(*many), 6u);
}

TEST_F(ShortModel, blocks_that_other_ops_read_stay) {
  std::string more = "%o = arith.addf %h4, %head : tensor<4xf32>\n";
  EXPECT_FALSE(bool(shortenModel(*parse(makeModel(7, more)), 2)));
  EXPECT_TRUE(bool(shortenModel(*parse(makeModel(7, more)), 5)));
}

TEST_F(ShortModel, blocks_differ) {
  std::string text = makeModel(7);
  std::string op = "%y3 = arith.addf", other = "%y3 = arith.subf";
  text.replace(text.find(op), op.size(), other);
  // The longer side: blocks 4 to 6, and the one that is read otherwise.
  EXPECT_EQ(countEqualBlocks(*parse(text)), 3u);
  text = makeModel(7);
  std::string dims = "nn.param = \"blocks.5.w\", nn.dims = [\"embed\"]";
  text.replace(text.find(dims), dims.size(),
               "nn.param = \"blocks.5.w\", nn.dims = [\"ffn\"]");
  EXPECT_EQ(countEqualBlocks(*parse(text)), 4u);
}

TEST_F(ShortModel, modules_of_several_functions_have_no_run) {
  OwningOpRef<ModuleOp> module =
      parse(makeModel(7) + "\nfunc.func @other(%x: tensor<4xf32>) { return }");
  EXPECT_EQ(countEqualBlocks(*module), 0u);
}

} // namespace
