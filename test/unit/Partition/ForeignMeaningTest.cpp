//===- ForeignMeaningTest.cpp - Ops of other dialects, and what they mean -===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of a dialect `mean` say what they compute. A bad meaning is one error; a
// wrong rule of an op with a meaning is refuted.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "tessera/Interfaces/Expansion.h"
#include "tessera/Proof/VerifyPartition.h"
#include "tessera/Registration/Registration.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;

namespace {

using Values = FailureOr<SmallVector<Value>>;

/// An op without effects, of tensors, with a meaning.
template <typename Concrete, template <typename> class... Traits>
class MeaningOp : public Op<Concrete, OpTrait::OneOperand, OpTrait::OneResult,
                            OpTrait::ZeroRegions, OpTrait::ZeroSuccessors,
                            MemoryEffectOpInterface::Trait,
                            linalg::AggregatedOpInterface::Trait, Traits...> {
public:
  using Op<Concrete, OpTrait::OneOperand, OpTrait::OneResult,
           OpTrait::ZeroRegions, OpTrait::ZeroSuccessors,
           MemoryEffectOpInterface::Trait, linalg::AggregatedOpInterface::Trait,
           Traits...>::Op;
  static ArrayRef<StringRef> getAttributeNames() { return {}; }
  void getEffects(
      SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &) {}
};

/// Creates an op of this name on the same operand.
Value createNamed(OpBuilder &b, Operation *op, StringRef name) {
  OperationState state(op->getLoc(), name, op->getOperands(),
                       op->getResultTypes());
  return b.create(state)->getResult(0);
}

/// exp(x) * x.
class ExpTimesOp : public MeaningOp<ExpTimesOp> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpTimesOp)
  using MeaningOp::MeaningOp;
  static StringRef getOperationName() { return "mean.exp_times"; }
  Values decomposeOperation(OpBuilder &b) {
    Value exp = math::ExpOp::create(b, getLoc(), getOperand());
    return SmallVector<Value>{
        arith::MulFOp::create(b, getLoc(), exp, getOperand())};
  }
};

/// The sum of each row; its rule may call the row parallel, as if each device's
/// part of a row were a row.
class RowSumOp : public MeaningOp<RowSumOp, ShardingRuleOpInterface::Trait> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RowSumOp)
  using MeaningOp::MeaningOp;
  static inline ReductionKind kind = ReductionKind::Sum;
  static StringRef getOperationName() { return "mean.row_sum"; }
  ShardingRule getShardingRule() {
    ShardingRule rule;
    auto type = cast<RankedTensorType>(getOperand().getType());
    unsigned row = rule.addFactor(type.getDimSize(0));
    unsigned column =
        rule.addFactor(type.getDimSize(1), FactorKind::Reduction, kind);
    rule.operands = {{{row}, {column}}};
    rule.results = {{{row}}};
    return rule;
  }
  Values decomposeOperation(OpBuilder &b) {
    return SmallVector<Value>{nn::ReduceOp::create(
        b, getLoc(), (*this)->getResult(0).getType(), nn::ReduceKind::Sum,
        getOperand(), ArrayRef<int64_t>{1})};
  }
};

class FailingOp : public MeaningOp<FailingOp> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FailingOp)
  using MeaningOp::MeaningOp;
  static StringRef getOperationName() { return "mean.failing"; }
  Values decomposeOperation(OpBuilder &) { return failure(); }
};

class TwoValuesOp : public MeaningOp<TwoValuesOp> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TwoValuesOp)
  using MeaningOp::MeaningOp;
  static StringRef getOperationName() { return "mean.two_values"; }
  Values decomposeOperation(OpBuilder &) {
    return SmallVector<Value>{getOperand(), getOperand()};
  }
};

class OtherTypeOp : public MeaningOp<OtherTypeOp> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OtherTypeOp)
  using MeaningOp::MeaningOp;
  static StringRef getOperationName() { return "mean.other_type"; }
  Values decomposeOperation(OpBuilder &) {
    return SmallVector<Value>{getOperand()};
  }
};

class AgainOp : public MeaningOp<AgainOp> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AgainOp)
  using MeaningOp::MeaningOp;
  static StringRef getOperationName() { return "mean.again"; }
  Values decomposeOperation(OpBuilder &b) {
    return SmallVector<Value>{createNamed(b, *this, "mean.through")};
  }
};

class ThroughOp : public MeaningOp<ThroughOp> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ThroughOp)
  using MeaningOp::MeaningOp;
  static StringRef getOperationName() { return "mean.through"; }
  Values decomposeOperation(OpBuilder &b) {
    return SmallVector<Value>{createNamed(b, *this, "mean.again")};
  }
};

/// Means an op that is not registered and has a rule as text.
class RuledOp : public MeaningOp<RuledOp, ShardingRuleOpInterface::Trait> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RuledOp)
  using MeaningOp::MeaningOp;
  static StringRef getOperationName() { return "mean.ruled"; }
  ShardingRule getShardingRule() { return getElementwiseRule(*this); }
  Values decomposeOperation(OpBuilder &b) {
    auto type = cast<RankedTensorType>(getOperand().getType());
    std::string rule =
        "([i,j])->([i,j]) {i=" + std::to_string(type.getDimSize(0)) +
        ", j=" + std::to_string(type.getDimSize(1)) + "}";
    OperationState state(getLoc(), "other.op", getOperand(), type);
    state.addAttribute("dist.rule", dist::RuleAttr::get(getContext(), rule));
    return SmallVector<Value>{b.create(state)->getResult(0)};
  }
};

class MeanDialect : public Dialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MeanDialect)
  explicit MeanDialect(MLIRContext *context)
      : Dialect(getDialectNamespace(), context, TypeID::get<MeanDialect>()) {
    addOperations<ExpTimesOp, RowSumOp, FailingOp, TwoValuesOp, OtherTypeOp,
                  AgainOp, ThroughOp, RuledOp>();
  }
  static StringRef getDialectNamespace() { return "mean"; }
};

class ForeignMeaningTest : public ::testing::Test {
protected:
  ForeignMeaningTest() {
    static bool registered = (registerPasses(), true);
    (void)registered;
    DialectRegistry registry;
    registerDialects(registry);
    registry.insert<MeanDialect>();
    context.appendDialectRegistry(registry);
    context.allowUnregisteredDialects();
    context.loadAllAvailableDialects();
  }

  /// Runs passes on a module; returns its text, or the first error.
  std::string run(StringRef text, StringRef passes) {
    std::string error;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      if (error.empty())
        error = "error: " + diagnostic.str();
      return success();
    });
    auto module = parseSourceString<ModuleOp>(text, &context);
    PassManager pm(&context);
    if (!module || failed(parsePassPipeline(passes, pm)) ||
        failed(pm.run(*module)))
      return error;
    std::string printed;
    llvm::raw_string_ostream os(printed);
    module->print(os);
    return printed;
  }

  /// Expands the only op of a function, from `from` to `to`.
  std::string expandOne(StringRef name, StringRef to = "4x8") {
    return run(("func.func @f(%x: tensor<4x8xf32>) -> tensor<" + to +
                "xf32> {\n  %0 = \"" + name +
                "\"(%x) : (tensor<4x8xf32>) -> "
                "tensor<" +
                to + "xf32>\n  return %0 : tensor<" + to + "xf32>\n}")
                   .str(),
               "dist-expand-ops");
  }

  MLIRContext context;
};

constexpr StringRef kRows = R"mlir(
dist.mesh @mesh ["tp"=2]
func.func @f(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<4xf32> {
  %0 = "mean.exp_times"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "mean.row_sum"(%0) : (tensor<4x8xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
})mlir";

TEST_F(ForeignMeaningTest, bad_meanings_are_errors) {
  EXPECT_EQ(expandOne("mean.failing"),
            "error: 'mean.failing' op expects a meaning (decomposeOperation) "
            "but got a failure");
  EXPECT_EQ(expandOne("mean.two_values"),
            "error: 'mean.two_values' op expects a meaning of 1 values but got "
            "2");
  EXPECT_EQ(
      expandOne("mean.other_type", "4"),
      "error: 'mean.other_type' op expects a meaning with value 0 of type "
      "'tensor<4xf32>' but got 'tensor<4x8xf32>'");
  EXPECT_EQ(
      expandOne("mean.again"),
      "error: 'mean.again' op expects a meaning without the op itself but "
      "got mean.again in the meaning of mean.through");
}

TEST_F(ForeignMeaningTest, meanings_take_the_place_of_ops) {
  std::string text = expandOne("mean.exp_times");
  EXPECT_NE(text.find("math.exp"), std::string::npos) << text;
  EXPECT_EQ(text.find("mean."), std::string::npos) << text;
}

TEST_F(ForeignMeaningTest, ops_with_a_rule_stay) {
  std::string text = run(kRows, "tessera-partitioner");
  EXPECT_NE(text.find("\"mean.row_sum\"(%1) : (tensor<4x4xf32>)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("dist.all_reduce <sum>"), std::string::npos) << text;
}

TEST_F(ForeignMeaningTest, wrong_kinds_are_refuted) {
  RowSumOp::kind = ReductionKind::Max;
  std::string text = run(kRows, "tessera-partitioner");
  RowSumOp::kind = ReductionKind::Sum;
  EXPECT_EQ(text,
            "error: verify-partition: deviates: dist.all_reduce: the value "
            "is to be reduced by sum, not by max");
}

/// The proof rests on the rule of an op that a meaning has.
TEST_F(ForeignMeaningTest, rules_inside_of_meanings_are_trusted) {
  constexpr StringRef text = R"mlir(
dist.mesh @mesh ["tp"=2]
func.func @f(%x: tensor<4x8xf32> {dist.sharding = #dist.sharding<@mesh, [{}, {"tp"}]>}) -> tensor<4x8xf32> {
  %0 = "mean.ruled"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
})mlir";
  std::string printed = run(text, "tessera-partitioner");
  EXPECT_NE(printed.find("\"mean.ruled\"(%arg0) : (tensor<4x4xf32>)"),
            std::string::npos)
      << printed;
  auto module = parseSourceString<ModuleOp>(text, &context);
  std::vector<std::string> rules =
      listTrustedRules(*module->getOps<FunctionOpInterface>().begin());
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(rules[0].substr(0, 8), "other.op");
}

TEST_F(ForeignMeaningTest, rules_as_text_of_ops_with_a_meaning_are_refused) {
  EXPECT_EQ(run(R"mlir(
func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = "mean.exp_times"(%x) {dist.rule = #dist.rule<"([i,j])->([i,j]) {i=4, j=8}">} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
})mlir",
                "dist-expand-ops"),
            "error: 'mean.exp_times' op dist.rule: expects an op without a "
            "meaning, which shards by its own ops");
}

TEST_F(ForeignMeaningTest, the_work_is_that_of_the_meaning) {
  auto module = parseSourceString<ModuleOp>(kRows, &context);
  SmallVector<OpCost> costs;
  module->walk([&](Operation *op) {
    if (hasMeaning(op))
      costs.push_back(getOpCost(op));
  });
  ASSERT_EQ(costs.size(), 2u);
  EXPECT_EQ(costs[0].kind, CostKind::Elementwise);
  EXPECT_EQ(costs[0].functions, 32);
  EXPECT_EQ(costs[1].kind, CostKind::RowReduction);
}

} // namespace
