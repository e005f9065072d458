//===- TensorTest.cpp - Rounding, blocks, shards --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "tessera/Interpreter/Shards.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace tessera;
using namespace tessera::interp;

namespace {

struct TensorTest : ::testing::Test {
  MLIRContext context;
  Builder b{&context};

  TensorRef iota(Type element, ArrayRef<int64_t> shape) {
    auto tensor = std::make_shared<Tensor>(ElementType(element), shape);
    for (int64_t i = 0; i < tensor->getNumElements(); ++i)
      (*tensor)[i] = tensor->getElementType().isFloat() ? floatCell(i + 1)
                                                        : intCell(i + 1);
    return tensor;
  }
  std::string print(const Tensor &tensor) {
    std::string text;
    llvm::raw_string_ostream os(text);
    tensor.print(os);
    return text;
  }
};

// Every small float type rounds as LLVM's own arithmetic does, including
// denormal numbers and overflow.
TEST_F(TensorTest, rounds_as_apfloat) {
  std::mt19937_64 random(1);
  std::vector<FloatType> types{b.getBF16Type(), b.getF16Type(), b.getF32Type(),
                               Float8E4M3FNType::get(&context),
                               Float8E5M2Type::get(&context)};
  for (FloatType type : types) {
    ElementType element(type);
    int low = llvm::APFloat::semanticsMinExponent(type.getFloatSemantics()) -
              type.getFPMantissaWidth() - 1;
    int high =
        llvm::APFloat::semanticsMaxExponent(type.getFloatSemantics()) + 1;
    for (int i = 0; i < 20000; ++i) {
      // The mantissas have few bits, so that ties and boundaries occur.
      double mantissa = static_cast<double>(random() % 8192) / 4096;
      double x = std::ldexp(mantissa, low + int(random() % (high - low + 1)));
      if (random() & 1)
        x = -x;
      llvm::APFloat expected(x);
      bool ignored;
      expected.convert(type.getFloatSemantics(),
                       llvm::APFloat::rmNearestTiesToEven, &ignored);
      expected.convert(llvm::APFloat::IEEEdouble(),
                       llvm::APFloat::rmNearestTiesToEven, &ignored);
      double actual = element.round(floatCell(x)).f;
      if (expected.isNaN())
        EXPECT_TRUE(std::isnan(actual)) << x;
      else
        ASSERT_EQ(actual, expected.convertToDouble()) << x;
    }
  }
}

TEST_F(TensorTest, integers_wrap) {
  EXPECT_EQ(ElementType(b.getI8Type()).round(intCell(200)).i, -56);
  EXPECT_EQ(ElementType(b.getI32Type()).round(intCell(1LL << 31)).i,
            -(1LL << 31));
  EXPECT_EQ(ElementType(b.getI1Type()).round(intCell(3)).i, 1);
  EXPECT_FALSE(ElementType(b.getIntegerType(65)).isValid());
}

TEST_F(TensorTest, slices_and_inserts) {
  TensorRef x = iota(b.getI32Type(), {3, 4});
  Tensor block = x->slice({1, 2}, {2, 2});
  EXPECT_EQ(print(block), "[[7, 8], [11, 12]]");
  Tensor zero(ElementType(b.getI32Type()), {3, 4});
  zero.insert(block, {0, 1});
  EXPECT_EQ(print(zero), "[[0, 7, 8, 0], [0, 11, 12, 0], [0, 0, 0, 0]]");
}

// Mesh x2 y3. 7 rows sharded over y are padded to 9, and the blocks are
// replicated over x.
TEST_F(TensorTest, shards_pad_and_assemble) {
  Mesh mesh{{"x", "y"}, {2, 3}, std::nullopt};
  Sharding s = Sharding::replicatedOf(1);
  s.dims[0].axes = {mesh.fullAxis(1)};
  TensorRef x = iota(b.getF32Type(), {7});
  RankTensors blocks = shardTensor(x, s, mesh, {3});
  ASSERT_EQ(blocks.size(), 6u);
  EXPECT_EQ(print(*blocks[0]), "[1, 2, 3]");
  EXPECT_EQ(print(*blocks[2]), "[7, 0, 0]");
  EXPECT_EQ(blocks[5], blocks[2]);
  EXPECT_TRUE(assembleTensor({blocks, s, mesh, {7}})->sameAs(*x));
}

// Blocks entirely in the padding are zero, even if a block is as large as the
// tensor.
TEST_F(TensorTest, blocks_of_padding_are_zero) {
  Mesh mesh{{"x"}, {3}, std::nullopt};
  Sharding s = Sharding::replicatedOf(1);
  s.dims[0].axes = {mesh.fullAxis(0)};
  RankTensors blocks = shardTensor(iota(b.getF32Type(), {2}), s, mesh, {2});
  EXPECT_EQ(print(*blocks[0]), "[1, 2]");
  EXPECT_EQ(print(*blocks[1]), "[0, 0]");
  EXPECT_EQ(print(*blocks[2]), "[0, 0]");
}

TEST_F(TensorTest, replicas_must_agree) {
  Mesh mesh{{"x", "y"}, {2, 2}, std::nullopt};
  Sharding s = Sharding::replicatedOf(1);
  s.dims[0].axes = {mesh.fullAxis(1)};
  RankTensors blocks = shardTensor(iota(b.getF32Type(), {4}), s, mesh, {2});
  auto changed = std::make_shared<Tensor>(*blocks[3]);
  (*changed)[1] = floatCell(9);
  blocks[3] = changed;
  auto conflict = findConflict({blocks, s, mesh, {4}});
  ASSERT_TRUE(conflict);
  EXPECT_EQ(*conflict, std::pair(int64_t(1), int64_t(3)));
  // Values in the padding may differ.
  EXPECT_FALSE(findConflict({blocks, s, mesh, {3}}));
}

// A partial value is complete on coordinate 0 and neutral elsewhere.
TEST_F(TensorTest, partial_values_round_trip) {
  Mesh mesh{{"x"}, {3}, std::nullopt};
  for (ReductionKind kind :
       {ReductionKind::Sum, ReductionKind::Max, ReductionKind::Min})
    for (Type type : {Type(b.getF32Type()), Type(b.getI8Type()),
                      Type(Float8E4M3FNType::get(&context))}) {
      Sharding s = Sharding::replicatedOf(1);
      s.unreduced = {mesh.fullAxis(0)};
      s.reduction = kind;
      TensorRef x = iota(type, {4});
      RankTensors blocks = shardTensor(x, s, mesh, {4});
      EXPECT_FALSE(blocks[1]->sameAs(*x));
      EXPECT_TRUE(assembleTensor({blocks, s, mesh, {4}})->sameAs(*x));
    }
}

TEST_F(TensorTest, reads_attributes) {
  auto type = RankedTensorType::get({2, 2}, b.getF16Type());
  EXPECT_EQ(print(*fromAttribute(DenseElementsAttr::get(
                type, {APFloat(APFloat::IEEEhalf(), "1"),
                       APFloat(APFloat::IEEEhalf(), "-2"),
                       APFloat(APFloat::IEEEhalf(), "0.5"),
                       APFloat(APFloat::IEEEhalf(), "3")}))),
            "[[1, -2], [0.5, 3]]");
  EXPECT_EQ(print(*fromAttribute(SplatElementsAttr::get(
                RankedTensorType::get({3}, b.getI1Type()), true))),
            "[1, 1, 1]");
  EXPECT_EQ(print(*fromAttribute(b.getI32IntegerAttr(-7))), "-7");
  EXPECT_EQ(fromAttribute(b.getStringAttr("x")), nullptr);
}

} // namespace
