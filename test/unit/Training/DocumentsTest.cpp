//===- DocumentsTest.cpp - Packed rows and their documents ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loss and gradients of a row with several documents equal the sums over its
// documents, each by itself, in f64.
//
//===----------------------------------------------------------------------===//

#include "GradientCheck.h"
#include "dialects/NN/NN.h"
#include "mlir/Pass/PassManager.h"
#include "tessera/Import/ModelBuilder.h"
#include "tessera/Interpreter/Verify.h"
#include "tessera/Training/Passes.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::interp;

namespace {

constexpr int64_t kEod = 7, kIgnored = -100;
/// The last document continues in the next row.
constexpr int64_t kLengths[] = {3, 1, 5, 4};
constexpr int64_t kTokens = 13;

/// The loss of a model and its gradients, on one row of tokens.
class DocumentModel {
public:
  DocumentModel(MLIRContext &context, const ModelConfig &config, int64_t seq,
                std::optional<int64_t> eod) {
    ModelOptions options;
    options.seq = seq;
    options.layers = config.window ? 2 : 1;
    options.train = true;
    options.eod = eod;
    module = buildModel(context, config, options);
    convertToF64(*module);
    PassManager pm(&context);
    pm.addNestedPass<func::FuncOp>(createBuildBackwardPass());
    EXPECT_TRUE(succeeded(pm.run(*module)));
    function = module->lookupSymbol<func::FuncOp>("forward");
  }

  /// Random parameters.
  RankTensors makeParameters() {
    RankTensors parameters;
    auto inputs = makeInputs(function, InputOptions());
    EXPECT_TRUE(succeeded(inputs));
    for (auto [i, input] : llvm::enumerate(*inputs))
      if (function.getArgAttr(i, nn::NNDialect::kParamAttr))
        parameters.push_back(input);
    return parameters;
  }

  /// The sum of losses, then the gradients.
  RankTensors run(ArrayRef<std::vector<int64_t>> rows,
                  const RankTensors &parameters) {
    RankTensors inputs;
    for (const std::vector<int64_t> &row : rows) {
      Type type = function.getArgumentTypes()[inputs.size()];
      auto tensor = std::make_shared<Tensor>(type);
      for (auto [i, number] : llvm::enumerate(row))
        (*tensor)[i] = intCell(number);
      inputs.push_back(tensor);
    }
    inputs.insert(inputs.end(), parameters.begin(), parameters.end());
    // Only loss_sum of loss, loss_sum and tokens has a nonzero seed.
    for (double seed : {0, 1, 0}) {
      auto tensor = std::make_shared<Tensor>(Type(
          RankedTensorType::get({}, Float64Type::get(module->getContext()))));
      (*tensor)[0] = floatCell(seed);
      inputs.push_back(tensor);
    }
    auto results = interpretGlobal(function, inputs);
    EXPECT_TRUE(succeeded(results));
    RankTensors kept{(*results)[1]};
    kept.insert(kept.end(), results->begin() + 3, results->end());
    return kept;
  }

private:
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
};

double getLargest(const Tensor &tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    largest = std::max(largest, std::fabs(tensor[i].f));
  return largest;
}

void checkDocuments(const std::string &name) {
  SCOPED_TRACE(name);
  auto config = readModelConfig(TESSERA_MODELS "/" + name + ".json");
  ASSERT_TRUE(bool(config)) << llvm::toString(config.takeError());
  std::unique_ptr<MLIRContext> context = makeContext();
  // Windows within and beyond a document.
  if (config->window)
    config->window = 4;
  std::vector<int64_t> tokens, labels, starts;
  for (int64_t length : kLengths) {
    int64_t start = tokens.size();
    for (int64_t i = 0; i < length; ++i) {
      starts.push_back(start);
      tokens.push_back(i + 1 < length ? 8 + (start + 3 * i) % 40 : kEod);
    }
  }
  tokens.back() = 50;
  labels.assign(tokens.begin() + 1, tokens.end());
  labels.push_back(9);

  DocumentModel packed(*context, *config, kTokens, kEod);
  RankTensors parameters = packed.makeParameters();
  RankTensors whole = packed.run({tokens, labels, starts}, parameters);
  std::vector<std::shared_ptr<Tensor>> sums;
  for (const TensorRef &tensor : whole) {
    sums.push_back(std::make_shared<Tensor>(*tensor));
    for (int64_t i = 0; i < tensor->getNumElements(); ++i)
      (*sums.back())[i] = floatCell(0);
  }
  int64_t start = 0;
  for (int64_t length : kLengths) {
    DocumentModel alone(*context, *config, length, std::nullopt);
    auto part = [&](const std::vector<int64_t> &row) {
      return std::vector<int64_t>(row.begin() + start,
                                  row.begin() + start + length);
    };
    std::vector<int64_t> own = part(labels);
    if (start + length < kTokens)
      own.back() = kIgnored;
    RankTensors results = alone.run({part(tokens), own}, parameters);
    ASSERT_EQ(results.size(), sums.size());
    for (auto [sum, tensor] : llvm::zip(sums, results))
      for (int64_t i = 0; i < sum->getNumElements(); ++i)
        (*sum)[i].f += (*tensor)[i].f;
    start += length;
  }
  double scale = 0;
  for (const auto &sum : sums)
    scale = std::max(scale, getLargest(*sum));
  for (auto [i, sum] : llvm::enumerate(sums)) {
    // A gradient that is mathematically zero, such as a key bias's, has only
    // rounding errors.
    double largest = std::max(getLargest(*sum), 1e-3 * scale);
    for (int64_t j = 0; j < sum->getNumElements(); ++j)
      (*sum)[j].f -= (*whole[i])[j].f;
    EXPECT_LE(getLargest(*sum), 1e-12 * largest) << "result " << i;
  }
}

} // namespace

TEST(Documents, position_table) { checkDocuments("tiny-gpt2"); }
TEST(Documents, rotary) { checkDocuments("tiny-llama"); }
TEST(Documents, windows) { checkDocuments("tiny-mistral"); }
TEST(Documents, window_layers) { checkDocuments("tiny-gemma3"); }
TEST(Documents, limited_scores) { checkDocuments("tiny-gemma2"); }
