//===- Trial.cpp - One program through the compiler -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trial.h"
#include "Judge.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "tessera/Interpreter/Verify.h"
#include "tessera/Phases/Phases.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

const char *tessera::test::stringify(Outcome outcome) {
  static const char *names[kNumOutcomes] = {"right",
                                            "refused",
                                            "right but not provable",
                                            "not parsed",
                                            "not interpreted",
                                            "interpreted wrongly",
                                            "not interpreted on ranks",
                                            "wrong but proven",
                                            "wrong and refuted",
                                            "right but refuted",
                                            "crash",
                                            "hang"};
  return names[static_cast<int>(outcome)];
}

namespace {

/// A set of data, and its results.
struct Sample {
  interp::RankTensors inputs;
  std::vector<Data> expected;
  bool inputsNotFinite = false;
};

class Trial {
public:
  Trial(const Program &program, uint64_t seed, MLIRContext &context)
      : program(program), seed(seed), context(context) {}
  TrialResult run();

private:
  Outcome runAll();
  std::vector<Sample> makeSamples(func::FuncOp function);
  /// Empty if correct on all samples.
  std::optional<std::string> compare(func::FuncOp function,
                                     llvm::ArrayRef<Sample> samples,
                                     bool isPartitioned);
  LogicalResult runPhases(ModuleOp module, Phase first, Phase last);

  const Program &program;
  uint64_t seed;
  MLIRContext &context;
  std::string error;
  TrialResult result;
};

} // namespace

std::vector<Sample> Trial::makeSamples(func::FuncOp function) {
  std::vector<Sample> samples;
  for (DataKind kind : {DataKind::Ordinary, DataKind::Extreme}) {
    std::vector<Data> data = drawData(program, seed, kind);
    Inputs inputs;
    for (const Data &each : data)
      inputs.push_back(&each);
    Sample sample;
    sample.inputsNotFinite = hasNotFinite(data);
    // Data for which the program is not defined are skipped.
    if (!program.block.evaluate(inputs, sample.expected))
      continue;
    for (auto [each, type] : llvm::zip_equal(data, function.getArgumentTypes()))
      sample.inputs.push_back(toTensor(each, type));
    samples.push_back(std::move(sample));
  }
  return samples;
}

std::optional<std::string> Trial::compare(func::FuncOp function,
                                          llvm::ArrayRef<Sample> samples,
                                          bool isPartitioned) {
  for (const Sample &sample : samples) {
    auto actual = interp::interpretGlobal(function, sample.inputs);
    if (failed(actual))
      return std::nullopt;
    std::vector<Data> made;
    for (auto [tensor, data] : llvm::zip_equal(*actual, sample.expected))
      made.push_back(fromTensor(*tensor, data.type));
    Judgement judgement =
        judge(sample.expected, made, isPartitioned && sample.inputsNotFinite);
    result.judged += judgement.judged;
    result.total += judgement.total;
    if (!judgement.difference.empty())
      return judgement.difference;
  }
  return "";
}

LogicalResult Trial::runPhases(ModuleOp module, Phase first, Phase last) {
  PassManager passes(&context, ModuleOp::getOperationName());
  for (int phase = static_cast<int>(first); phase <= static_cast<int>(last);
       ++phase)
    buildPhase(passes, static_cast<Phase>(phase), PipelineOptions());
  return passes.run(module);
}

Outcome Trial::runAll() {
  ParserConfig config(&context);
  OwningOpRef<ModuleOp> original =
      parseSourceString<ModuleOp>(program.print(), config);
  if (!original)
    return Outcome::NotParsed;
  if (failed(runPhases(*original, Phase::Input, Phase::Train)))
    return Outcome::Refused;
  auto function = original->lookupSymbol<func::FuncOp>("main");
  std::vector<Sample> samples = makeSamples(function);
  std::optional<std::string> difference = compare(function, samples, false);
  if (!difference)
    return Outcome::OriginalRefused;
  if (!difference->empty()) {
    error = *difference;
    return Outcome::OriginalWrong;
  }
  OwningOpRef<ModuleOp> compiled = original->clone();
  error.clear();
  bool proven =
      succeeded(runPhases(*compiled, Phase::Propagate, Phase::Partition));
  bool refuted = StringRef(error).contains("verify-partition: deviates");
  if (!proven && !StringRef(error).contains("verify-partition:"))
    return Outcome::Refused;
  std::string proof = error;
  difference =
      compare(compiled->lookupSymbol<func::FuncOp>("main"), samples, true);
  if (!difference)
    return Outcome::LocalRefused;
  if (difference->empty()) {
    error = proof;
    return proven    ? Outcome::Right
           : refuted ? Outcome::RightButRefuted
                     : Outcome::RightNotProvable;
  }
  error = *difference + (proof.empty() ? "" : "; " + proof);
  return proven ? Outcome::WrongButProven : Outcome::WrongAndRefused;
}

TrialResult Trial::run() {
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && error.empty())
      error = diagnostic.str();
    return success();
  });
  result.outcome = runAll();
  result.message = error;
  return result;
}

TrialResult tessera::test::run(const Program &program, uint64_t seed,
                               MLIRContext &context) {
  return Trial(program, seed, context).run();
}
