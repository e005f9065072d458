//===- ModelGradientTest.cpp - Gradients of whole models ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the small models of each family, with and without their loss, with
// central differences in f64.
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"
#include "mlir/IR/Verifier.h"
#include "tessera/Import/ModelBuilder.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;

namespace {

/// Checks `layers` blocks of a model of share/models, on two sequences of five
/// tokens.
void checkModel(const std::string &name, int64_t layers, bool train) {
  SCOPED_TRACE(name);
  auto config = readModelConfig(TESSERA_MODELS "/" + name + ".json");
  ASSERT_TRUE(bool(config)) << llvm::toString(config.takeError());
  std::unique_ptr<MLIRContext> context = makeContext();
  ModelOptions options;
  options.batch = 2;
  options.seq = 5;
  options.layers = layers;
  options.train = train;
  OwningOpRef<ModuleOp> module = buildModel(*context, *config, options);
  ASSERT_TRUE(module);
  convertToF64(*module);
  ASSERT_TRUE(succeeded(mlir::verify(*module)));
  GradientCheckOptions check;
  check.samples = 5;
  checkGradients(module->lookupSymbol<func::FuncOp>("forward"), check);
}

// One block between the embedding and the logits.
TEST(ModelGradient, gpt2_block) { checkModel("tiny-gpt2", 1, false); }
TEST(ModelGradient, llama_block) { checkModel("tiny-llama", 1, false); }

// The whole model and its loss, some labels ignored.
TEST(ModelGradient, gpt2_loss) { checkModel("tiny-gpt2", 2, true); }
TEST(ModelGradient, llama_loss) { checkModel("tiny-llama", 2, true); }

// Features that other families have in addition to Llama's.
TEST(ModelGradient, qwen2_block) { checkModel("tiny-qwen2", 1, false); }
TEST(ModelGradient, qwen3_block) { checkModel("tiny-qwen3", 1, false); }
TEST(ModelGradient, phi3_block) { checkModel("tiny-phi3", 1, false); }
TEST(ModelGradient, gemma3_block) { checkModel("tiny-gemma3", 1, false); }

} // namespace
