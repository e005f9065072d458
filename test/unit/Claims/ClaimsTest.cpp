//===- ClaimsTest.cpp - Every claim of every op ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Claims.h"
#include "Samples.h"
#include "tessera/Interfaces/PaddingOpInterface.h"
#include "tessera/Interpreter/Shards.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::claims;

namespace {

class ClaimsTest : public testing::TestWithParam<std::string> {};

/// Reports a few of the contradictions.
void expectNone(ArrayRef<std::string> found) {
  constexpr size_t kShown = 3;
  for (const std::string &text : found.take_front(kShown))
    ADD_FAILURE() << text;
  if (found.size() > kShown)
    ADD_FAILURE() << "and " << found.size() - kShown << " more";
}

void checkAll(ArrayRef<Sample> samples) {
  std::vector<std::string> found;
  for (const Sample &sample : samples)
    llvm::append_range(found, checkClaims(sample));
  expectNone(found);
}

TEST_P(ClaimsTest, of_op) { checkAll(getSamples(GetParam())); }

/// The op in bodies of linalg.generic.
TEST_P(ClaimsTest, of_bodies) {
  if (!StringRef(GetParam()).starts_with("linalg."))
    checkAll(findBodies(getContext(), GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Ops, ClaimsTest, testing::ValuesIn(getOps()),
                         [](const auto &info) {
                           std::string name = info.param;
                           llvm::replace(name, '.', '_');
                           return name;
                         });

/// None of our reductions stays unsharded because of a missing claim.
TEST_P(ClaimsTest, reduces_padding) {
  for (const Sample &sample : getSamples(GetParam())) {
    ShardingRule rule = sample.getOp().getShardingRule();
    llvm::SmallBitVector fixed = getUnpaddable(sample.getOp(), rule);
    auto iface = dyn_cast<PaddingOpInterface>(sample.getOp().getOperation());
    bool canPad = !iface || iface.canPad();
    for (auto [i, factor] : llvm::enumerate(rule.factors))
      EXPECT_FALSE(canPad && factor.kind == FactorKind::Reduction &&
                   fixed.test(i))
          << "factor " << i << " of " << sample.describe();
  }
}

//===----------------------------------------------------------------------===//
// Neutral elements
//===----------------------------------------------------------------------===//

TEST(ClaimsTest, neutral_elements) {
  Builder b(&getContext());
  for (Type type :
       {Type(b.getF32Type()), Type(b.getF64Type()), Type(b.getBF16Type()),
        Type(b.getF16Type()), Type(b.getType<Float8E4M3FNType>()),
        Type(b.getType<Float8E5M2Type>()), Type(b.getI1Type()),
        Type(b.getI8Type()), Type(b.getI32Type()), Type(b.getI64Type()),
        Type(b.getIndexType())})
    for (ReductionKind kind :
         {ReductionKind::Sum, ReductionKind::Max, ReductionKind::Min}) {
      TypedAttr attr = getNeutralElement(type, kind);
      interp::TensorRef value = interp::fromAttribute(attr);
      ASSERT_TRUE(value);
      interp::Tensor expected(type);
      expected.fill(interp::neutralElement(value->getElementType(), kind));
      std::string text;
      llvm::raw_string_ostream os(text);
      os << attr << " in a " << stringifyReduction(kind);
      EXPECT_TRUE(value->sameAs(expected)) << text;
    }
}

//===----------------------------------------------------------------------===//
// Wrong claims are found
//===----------------------------------------------------------------------===//

/// A sample of one elementwise op.
Sample getSample(StringRef name, const std::vector<std::string> &operands,
                 const std::string &result) {
  auto sample = Sample::parse(getContext(), getText(name, operands, {result}));
  EXPECT_TRUE(sample);
  return std::move(*sample);
}

TEST(ClaimsTest, finds_what_does_not_commute) {
  std::string f32 = "tensor<2x3xf32>", i8 = "tensor<2x3xi8>",
              i1 = "tensor<2x3xi1>", i32 = "tensor<2x3xi32>";
  auto expectFound = [&](StringRef name,
                         const std::vector<std::string> &operands,
                         const std::string &result, ReductionKind kind,
                         std::initializer_list<unsigned> partial) {
    Sample sample = getSample(name, operands, result);
    llvm::SmallBitVector bits(operands.size());
    for (unsigned i : partial)
      bits.set(i);
    EXPECT_TRUE(checkLinearity(sample, kind, bits))
        << name.str() << ", " << stringifyReduction(kind).str();
  };
  ReductionKind sum = ReductionKind::Sum, max = ReductionKind::Max,
                min = ReductionKind::Min;
  // Outside the domain: 0 / 0, infinity - infinity.
  expectFound("math.sqrt", {f32}, f32, max, {0});
  expectFound("math.log", {f32}, f32, max, {0});
  expectFound("arith.divf", {f32, f32}, f32, sum, {0});
  expectFound("arith.addf", {f32, f32}, f32, max, {0});
  expectFound("arith.maxnumf", {f32, f32}, f32, max, {0});
  // Operations that wrap around.
  expectFound("arith.addi", {i8, i8}, i8, max, {0});
  expectFound("arith.addi", {i8, i8}, i8, min, {1});
  expectFound("arith.extsi", {i8}, i32, sum, {0});
  expectFound("arith.extui", {i8}, i32, sum, {0});
  // Signs.
  expectFound("arith.uitofp", {i8}, f32, max, {0});
  expectFound("arith.extui", {i8}, i32, max, {0});
  expectFound("arith.maxui", {i8, i8}, i8, max, {0});
  expectFound("arith.maxsi", {i1, i1}, i1, max, {0, 1});
  expectFound("arith.extsi", {i1}, i32, max, {0});
  expectFound("arith.sitofp", {i1}, f32, max, {0});
  // No infinity.
  expectFound("arith.truncf", {f32}, "tensor<2x3xf8E4M3FN>", max, {0});
  // Products and powers.
  expectFound("arith.mulf", {f32, f32}, f32, sum, {0, 1});
  expectFound("arith.addf", {f32, f32}, f32, sum, {0});
  expectFound("arith.subf", {f32, f32}, f32, max, {0, 1});
}

TEST(ClaimsTest, finds_what_does_not_keep_zeros) {
  std::string f32 = "tensor<2x3xf32>";
  for (StringRef name : {"arith.divf", "math.powf"})
    EXPECT_TRUE(checkZeros(getSample(name, {f32, f32}, f32), 1)) << name.str();
  for (StringRef name : {"math.exp", "math.log", "math.rsqrt", "math.cos"})
    EXPECT_TRUE(checkZeros(getSample(name, {f32}, f32), 1)) << name.str();
  EXPECT_FALSE(checkZeros(getSample("arith.mulf", {f32, f32}, f32), 1));
}

} // namespace
