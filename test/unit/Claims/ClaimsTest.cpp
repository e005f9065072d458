//===- ClaimsTest.cpp - Every claim of every op ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Claims.h"
#include "Samples.h"
#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tessera/Interpreter/Shards.h"
#include "llvm/ADT/MapVector.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::claims;

namespace {

/// A context with the dialects that have rules, shared by all tests.
MLIRContext &getContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registry.insert<dist::DistDialect, nn::NNDialect, func::FuncDialect>();
    registerUpstreamShardingRules(registry);
    auto *made = new MLIRContext(registry);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *context;
}

/// Registered ops that have a rule, by name.
std::vector<std::string> getOps() {
  std::vector<std::string> names;
  for (RegisteredOperationName op : getContext().getRegisteredOperations())
    if (op.hasInterface<ShardingRuleOpInterface>())
      names.push_back(op.getStringRef().str());
  return names;
}

llvm::MapVector<StringRef, std::vector<Sample>> &getTable() {
  static llvm::MapVector<StringRef, std::vector<Sample>> table;
  if (!table.empty())
    return table;
  for (const std::string &text : getSampleTable()) {
    std::optional<Sample> sample = Sample::parse(getContext(), text);
    EXPECT_TRUE(sample) << "no valid sample:\n" << text;
    if (!sample)
      continue;
    EXPECT_TRUE(isDefined(*sample)) << "cannot be evaluated:\n" << text;
    StringRef name = sample->getOp()->getName().getStringRef();
    table[name].push_back(std::move(*sample));
  }
  return table;
}

class ClaimsTest : public testing::TestWithParam<std::string> {};

/// A few of the claims that do not hold.
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

/// The instances of the op in the table, or those that can be found by trying.
TEST_P(ClaimsTest, of_op) {
  const std::string &name = GetParam();
  if (auto it = getTable().find(name); it != getTable().end())
    return checkAll(it->second);
  std::vector<Sample> found = StringRef(name).starts_with("linalg.")
                                  ? findNamedLinalg(getContext(), name)
                                  : findElementwise(getContext(), name);
  ASSERT_FALSE(found.empty())
      << name << " has a sharding rule but no sample: add one to "
      << "SampleTable.cpp";
  checkAll(found);
}

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
// Claims that do not hold are found
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
  // Outside the domain, 0 / 0, infinity - infinity.
  expectFound("math.sqrt", {f32}, f32, max, {0});
  expectFound("math.log", {f32}, f32, max, {0});
  expectFound("arith.divf", {f32, f32}, f32, sum, {0});
  expectFound("arith.addf", {f32, f32}, f32, max, {0});
  expectFound("arith.maxnumf", {f32, f32}, f32, max, {0});
  // What wraps.
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
