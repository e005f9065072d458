//===- FuseProducersTest.cpp - Fusion of producers into consumers ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Fusion/FuseProducers.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;

namespace {

constexpr const char *kMaps = "#id = affine_map<(i, j) -> (i, j)>\n"
                              "#swap = affine_map<(i, j) -> (j, i)>\n";

class FuseProducersTest : public testing::Test {
protected:
  FuseProducersTest() {
    context.loadDialect<func::FuncDialect, linalg::LinalgDialect,
                        arith::ArithDialect, math::MathDialect,
                        tensor::TensorDialect, affine::AffineDialect>();
  }

  /// The generics that remain after fusion.
  SmallVector<linalg::GenericOp> fuse(const std::string &text) {
    module = parseSourceString<ModuleOp>(kMaps + text, &context);
    EXPECT_TRUE(module);
    auto func = *module->getOps<func::FuncOp>().begin();
    fuseProducers(func, [](OpOperand *operand) {
      return operand->get().getDefiningOp<linalg::GenericOp>() != nullptr;
    });
    EXPECT_TRUE(succeeded(verify(*module)));
    SmallVector<linalg::GenericOp> ops;
    func.walk([&](linalg::GenericOp op) { ops.push_back(op); });
    return ops;
  }

  static size_t bodyOps(linalg::GenericOp op) {
    return op.getBody()->getOperations().size();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

/// A generic with two loops: `name` = body(%x, ...) over `inputs`, "value map".
std::string generic(std::string name,
                    ArrayRef<std::pair<std::string, std::string>> inputs,
                    std::string body, std::string result,
                    std::string shape = "4x4") {
  std::string type = "tensor<" + shape + "xf32>", maps, values, types, args;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    maps += input.second + ", ";
    values += (i ? ", " : "") + input.first;
    types += (i ? ", " : "") + type;
    args += "%x" + std::to_string(i) + ": f32, ";
  }
  return name + " = linalg.generic {indexing_maps = [" + maps +
         "#id], iterator_types = [\"parallel\", \"parallel\"]} ins(" + values +
         " : " + types + ") outs(%e : " + type + ") {\n^bb0(" + args +
         "%out: f32):\n" + body + "\nlinalg.yield " + result + " : f32 } -> " +
         type + "\n";
}

TEST_F(FuseProducersTest, a_chain_is_cut_at_the_limit_of_ops) {
  std::string text = "func.func @f(%v0: tensor<4x4xf32>, %e: tensor<4x4xf32>) "
                     "-> tensor<4x4xf32> {\n";
  unsigned count = 3 * kMaxFusedOps;
  for (unsigned i = 0; i < count; ++i)
    text += generic("%v" + std::to_string(i + 1),
                    {{"%v" + std::to_string(i), "#id"}},
                    "%y = math.tanh %x0 : f32", "%y");
  text += "return %v" + std::to_string(count) + " : tensor<4x4xf32> }";
  auto ops = fuse(text);
  EXPECT_EQ(ops.size(), 4u);
  size_t total = 0;
  for (linalg::GenericOp op : ops) {
    EXPECT_LE(bodyOps(op), kMaxFusedOps);
    total += bodyOps(op) - 1;
  }
  EXPECT_EQ(total, count);
}

TEST_F(FuseProducersTest, inputs_stay_below_their_limit) {
  std::string text = "func.func @f(%e: tensor<4x4xf32>";
  unsigned count = 2 * kMaxFusedInputs;
  for (unsigned i = 0; i < count; ++i)
    text += ", %a" + std::to_string(i) + ": tensor<4x4xf32>";
  text += ") -> tensor<4x4xf32> {\n";
  std::string last = "%a0";
  for (unsigned i = 1; i < count; ++i) {
    std::string next = "%v" + std::to_string(i);
    text += generic(next, {{last, "#id"}, {"%a" + std::to_string(i), "#id"}},
                    "%y = arith.addf %x0, %x1 : f32", "%y");
    last = next;
  }
  text += "return " + last + " : tensor<4x4xf32> }";
  auto ops = fuse(text);
  EXPECT_EQ(ops.size(), 3u);
  for (linalg::GenericOp op : ops)
    EXPECT_LE(unsigned(op.getNumDpsInputs()), kMaxFusedInputs);
}

TEST_F(FuseProducersTest, equal_inputs_are_one) {
  auto ops =
      fuse("func.func @f(%a: tensor<4x4xf32>, %e: tensor<4x4xf32>) -> "
           "tensor<4x4xf32> {\n" +
           generic("%v", {{"%a", "#id"}}, "%y = math.tanh %x0 : f32", "%y") +
           generic("%w", {{"%v", "#swap"}, {"%a", "#swap"}, {"%a", "#id"}},
                   "%y = arith.addf %x0, %x1 : f32\n"
                   "%z = arith.mulf %y, %x2 : f32",
                   "%z") +
           "return %w : tensor<4x4xf32> }");
  ASSERT_EQ(ops.size(), 1u);
  ASSERT_EQ(ops[0].getNumDpsInputs(), 2);
  EXPECT_EQ(ops[0].getIndexingMapsArray()[0].getResult(0),
            getAffineDimExpr(1, &context));
}

TEST_F(FuseProducersTest, loop_indices_are_those_of_the_consumer) {
  auto ops =
      fuse("func.func @f(%a: tensor<4x4xf32>, %e: tensor<4x4xf32>) -> "
           "tensor<4x4xf32> {\n" +
           generic("%v", {{"%a", "#id"}},
                   "%i = linalg.index 0 : index\n"
                   "%n = arith.index_cast %i : index to i32\n"
                   "%y = arith.sitofp %n : i32 to f32",
                   "%y") +
           generic("%w", {{"%v", "#swap"}}, "%y = math.tanh %x0 : f32", "%y") +
           "return %w : tensor<4x4xf32> }");
  ASSERT_EQ(ops.size(), 1u);
  auto indices = ops[0].getBody()->getOps<linalg::IndexOp>();
  ASSERT_EQ(std::distance(indices.begin(), indices.end()), 1);
  EXPECT_EQ((*indices.begin()).getDim(), 1u);
}

TEST_F(FuseProducersTest, a_producer_that_others_read_stays) {
  auto ops =
      fuse("func.func @f(%a: tensor<4x4xf32>, %e: tensor<4x4xf32>) -> "
           "(tensor<4x4xf32>, tensor<4x4xf32>) {\n" +
           generic("%v", {{"%a", "#id"}}, "%y = math.tanh %x0 : f32", "%y") +
           generic("%w", {{"%v", "#id"}}, "%y = math.exp %x0 : f32", "%y") +
           "return %v, %w : tensor<4x4xf32>, tensor<4x4xf32> }");
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(bodyOps(ops[0]), 2u);
  EXPECT_EQ(bodyOps(ops[1]), 3u);
}

TEST_F(FuseProducersTest, an_init_that_a_body_reads_is_an_input) {
  auto ops = fuse(
      "func.func @f(%a: tensor<4x4xf32>, %e: tensor<4x4xf32>) -> "
      "tensor<4x4xf32> {\n" +
      generic("%v", {{"%a", "#id"}}, "%y = arith.addf %x0, %out : f32", "%y") +
      generic("%w", {{"%v", "#id"}}, "%y = math.exp %x0 : f32", "%y") +
      "return %w : tensor<4x4xf32> }");
  ASSERT_EQ(ops.size(), 1u);
  EXPECT_EQ(ops[0].getNumDpsInputs(), 2);
}

} // namespace
