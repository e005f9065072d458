//===- ForeignReductionTest.cpp - Reductions in ops of other dialects -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// toy.sumexp is the sum of exp(x) over the last dimension, so each zero in the
// padding would add 1. It has a sharding rule that does not describe padding.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "tessera/Proof/VerifyPartition.h"
#include "tessera/Registration/Registration.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;

namespace {

class SumExpOp : public Op<SumExpOp, OpTrait::OneOperand, OpTrait::OneResult,
                           OpTrait::ZeroRegions, OpTrait::ZeroSuccessors,
                           MemoryEffectOpInterface::Trait,
                           ShardingRuleOpInterface::Trait> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SumExpOp)
  using Op::Op;
  static StringRef getOperationName() { return "toy.sumexp"; }
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
  void getEffects(
      SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &) {}
  ShardingRule getShardingRule() {
    ShardingRule rule;
    TensorFactors dims;
    auto type = cast<RankedTensorType>(getOperand().getType());
    for (auto [i, size] : llvm::enumerate(type.getShape()))
      dims.push_back({rule.addFactor(size, i + 1 == type.getShape().size()
                                               ? FactorKind::Reduction
                                               : FactorKind::Parallel)});
    rule.operands = {dims};
    dims.pop_back();
    rule.results = {dims};
    return rule;
  }
};

class ToyDialect : public Dialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ToyDialect)
  explicit ToyDialect(MLIRContext *context)
      : Dialect(getDialectNamespace(), context, TypeID::get<ToyDialect>()) {
    addOperations<SumExpOp>();
  }
  static StringRef getDialectNamespace() { return "toy"; }
};

MLIRContext &getContext() {
  static MLIRContext *context = [] {
    registerPasses();
    DialectRegistry registry;
    registerDialects(registry);
    registry.insert<ToyDialect>();
    auto *made = new MLIRContext(registry);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *context;
}

OwningOpRef<ModuleOp> parse(StringRef text) {
  return parseSourceString<ModuleOp>(text, &getContext());
}

/// Partitions and proves the module; returns its text.
std::string partition(StringRef text) {
  OwningOpRef<ModuleOp> module = parse(text);
  PassManager pm(&getContext());
  bool ok =
      module &&
      succeeded(parsePassPipeline("tessera-propagate,tessera-partition", pm));
  EXPECT_TRUE(ok && succeeded(pm.run(*module)));
  std::string printed;
  llvm::raw_string_ostream os(printed);
  if (module)
    module->print(os);
  return printed;
}

TEST(ForeignReductionTest, what_divides_is_sharded) {
  std::string text = partition(R"mlir(
dist.mesh @mesh ["tp"=2]
func.func @f(%x: tensor<4x6xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<4xf32> {
  %0 = "toy.sumexp"(%x) : (tensor<4x6xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
})mlir");
  EXPECT_NE(text.find("(tensor<4x3xf32>) -> tensor<4xf32>"), std::string::npos)
      << text;
  EXPECT_NE(text.find("dist.all_reduce <sum>"), std::string::npos) << text;
}

/// Five elements on two devices: the op gets all of them.
TEST(ForeignReductionTest, what_does_not_divide_stays_whole) {
  std::string text = partition(R"mlir(
dist.mesh @mesh ["tp"=2]
func.func @f(%x: tensor<4x5xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<4xf32> {
  %0 = "toy.sumexp"(%x) : (tensor<4x5xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
})mlir");
  EXPECT_NE(text.find("(tensor<4x5xf32>) -> tensor<4xf32>"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("dist.all_reduce <sum>"), std::string::npos) << text;
}

/// A program that pads it with zeros is refuted.
TEST(ForeignReductionTest, padding_is_refuted) {
  OwningOpRef<ModuleOp> module = parse(R"mlir(
func.func @f(%x: tensor<4x5xf32>) -> tensor<4xf32> {
  %0 = "toy.sumexp"(%x) : (tensor<4x5xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
dist.mesh @mesh ["tp"=2]
func.func @local(%x: tensor<4x3xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>, dist.global_shape = array<i64: 4, 5>})
    -> (tensor<4xf32> {dist.sharding = #dist.sharding<@mesh, [{}]>}) attributes {dist.local} {
  %0 = "toy.sumexp"(%x) : (tensor<4x3xf32>) -> tensor<4xf32>
  %1 = dist.all_reduce <sum> %0 over <{"tp"}> on @mesh : tensor<4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
})mlir");
  ASSERT_TRUE(module);
  Mesh mesh;
  mesh.names = {"tp"};
  mesh.sizes = {2};
  PartitionVerdict verdict = verifyPartition(
      cast<FunctionOpInterface>(module->lookupSymbol("local")), mesh,
      cast<FunctionOpInterface>(module->lookupSymbol("f")));
  EXPECT_EQ(verdict.answer, PartitionAnswer::Refuted);
  EXPECT_EQ(verdict.why,
            "its reduction over padding of zeros need not be zero");
}

} // namespace
