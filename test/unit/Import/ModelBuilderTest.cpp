//===- ModelBuilderTest.cpp - Tests of the graph builder's interface ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests properties on which callers of the library rely. test/Import checks the
// graphs themselves.
//
//===----------------------------------------------------------------------===//

#include "tessera/Import/ModelBuilder.h"

#include "dialects/NN/NN.h"
#include "mlir/IR/Diagnostics.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;

namespace {

ModelConfig tiny() {
  ModelConfig config;
  config.name = "tiny";
  config.vocab = 11;
  config.hidden = 8;
  config.layers = 3;
  config.heads = config.kvHeads = 2;
  config.headDim = 4;
  config.ffn = 16;
  config.maxPositions = 6;
  return config;
}

func::FuncOp getForward(ModuleOp module) {
  return module.lookupSymbol<func::FuncOp>("forward");
}

TEST(ModelBuilder, arguments_are_the_inputs_then_the_listed_parameters) {
  MLIRContext context;
  ModelOptions options;
  options.batch = 2;
  options.seq = 5;
  for (bool train : {false, true}) {
    options.train = train;
    auto module = buildModel(context, tiny(), options);
    ASSERT_TRUE(module);
    func::FuncOp forward = getForward(*module);
    std::vector<Parameter> parameters = listParameters(tiny());
    unsigned inputs = train ? 2 : 1;
    ASSERT_EQ(forward.getNumArguments(), inputs + parameters.size());
    for (auto [i, parameter] : llvm::enumerate(parameters)) {
      EXPECT_EQ(forward
                    .getArgAttrOfType<StringAttr>(inputs + i,
                                                  nn::NNDialect::kParamAttr)
                    .getValue(),
                parameter.name);
      auto type =
          cast<RankedTensorType>(forward.getArgument(inputs + i).getType());
      EXPECT_EQ(type.getShape(), ArrayRef<int64_t>(parameter.shape));
      // Every parameter is used.
      EXPECT_FALSE(forward.getArgument(inputs + i).use_empty())
          << parameter.name;
    }
  }
}

TEST(ModelBuilder, every_type_is_that_of_the_options) {
  MLIRContext context;
  ModelOptions options;
  options.dtype = ModelDType::F16;
  auto module = buildModel(context, tiny(), options);
  ASSERT_TRUE(module);
  getForward(*module).walk([](Operation *op) {
    for (Value result : op->getResults())
      if (auto type = dyn_cast<RankedTensorType>(result.getType());
          type && isa<FloatType>(type.getElementType()))
        EXPECT_TRUE(type.getElementType().isF16());
  });
}

TEST(ModelBuilder, layers_replace_the_configs) {
  MLIRContext context;
  ModelOptions options;
  for (int64_t layers : {1, 5}) {
    options.layers = layers;
    auto module = buildModel(context, tiny(), options);
    ASSERT_TRUE(module);
    int64_t count = 0;
    module->walk([&](nn::AttentionOp) { ++count; });
    EXPECT_EQ(count, layers);
  }
}

TEST(ModelBuilder, ops_know_the_part_that_they_belong_to) {
  MLIRContext context;
  auto module = buildModel(context, tiny(), ModelOptions());
  ASSERT_TRUE(module);
  SmallVector<std::string> parts;
  module->walk([&](nn::AttentionOp op) {
    parts.push_back(cast<NameLoc>(op.getLoc()).getName().str());
  });
  EXPECT_EQ(parts, (SmallVector<std::string>{"blocks.0.attn", "blocks.1.attn",
                                             "blocks.2.attn"}));
}

TEST(ModelBuilder, impossible_options_are_one_diagnostic_and_no_module) {
  struct Case {
    int64_t batch, seq, layers;
    const char *error;
  } cases[] = {
      {0, 1, 1, "model tiny: batch expects a positive integer but got 0"},
      {1, -1, 1, "model tiny: seq expects a positive integer but got -1"},
      {1, 1, 0, "model tiny: layers expects a positive integer but got 0"},
      {1, 7, 1, "model tiny: seq expects at most n_positions = 6 but got 7"},
  };
  MLIRContext context;
  for (const Case &c : cases) {
    std::vector<std::string> errors;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      errors.push_back(diagnostic.str());
    });
    ModelOptions options;
    options.batch = c.batch;
    options.seq = c.seq;
    options.layers = c.layers;
    EXPECT_FALSE(buildModel(context, tiny(), options));
    EXPECT_EQ(errors, std::vector<std::string>{c.error});
  }
}

} // namespace
