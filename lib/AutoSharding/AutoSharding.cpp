//===- AutoSharding.cpp - The choice of --strategy auto as IR -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/AutoSharding/AutoSharding.h"
#include "CandidatePrograms.h"
#include "mlir/IR/Remarks.h"
#include "tessera/ShardingSearch/Passes.h"
#include "tessera/Support/Bytes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;

llvm::Expected<int64_t> tessera::parseMemoryLimit(StringRef name,
                                                  StringRef text) {
  constexpr int64_t kMost = 100'000'000'000'000'000;
  std::optional<int64_t> bytes = parseBytes(text);
  if (!bytes || *bytes < 1 || *bytes > kMost)
    return llvm::createStringError(
        name + " expects bytes above 0, as 450MB, but got '" + text + "'");
  return *bytes;
}

std::string tessera::describeChoice(const ShardingChoice &choice) {
  std::string on = choice.mesh ? " on " + print(*choice.mesh) : "";
  return (choice.found.solution ? "the search" : print(choice.strategy)) + on;
}

void tessera::printChoice(const ShardingChoice &choice, llvm::raw_ostream &os) {
  os << llvm::formatv("shardings of {0}: {1:f2} us, best of {2} tried",
                      describeChoice(choice), choice.seconds * 1e6,
                      choice.tried);
  if (choice.found.solution && choice.seconds > 0) {
    double network = double(choice.found.cost) * 1e-12;
    double apart = network / choice.seconds - 1;
    os << llvm::formatv(
        "; its network {0:f2} us, {1:f1} % {2} the program's; "
        "at least {3:f2} us, gap {4:f2} % of the network",
        network * 1e6, std::abs(apart) * 100, apart < 0 ? "below" : "above",
        double(choice.found.bound) * 1e-6, choice.found.gap() * 100);
  }
  os << "\n";
}

/// Writes the file of the options. A named strategy without decisions gets
/// those that it leads to.
static LogicalResult recordDecisions(ModuleOp module,
                                     const ShardingChoice &choice,
                                     const PipelineOptions &phases,
                                     const AutoShardingOptions &options) {
  if (options.decisionsOut.empty())
    return success();
  FailureOr<std::string> text = choice.decisions;
  if (text->empty())
    text = describeNamed(module, phases, /*known=*/"");
  if (failed(text))
    return failure();
  std::error_code code;
  llvm::raw_fd_ostream os(options.decisionsOut, code);
  if (code)
    return module.emitError("decisions: cannot write ")
           << options.decisionsOut << ": " << code.message();
  os << *text;
  return success();
}

LogicalResult tessera::takeShardings(ModuleOp module,
                                     const ShardingChoice &choice,
                                     const PipelineOptions &phases,
                                     const AutoShardingOptions &options) {
  PipelineOptions chosen = getPhases(choice, phases);
  if (failed(recordDecisions(module, choice, chosen, options)))
    return failure();
  setDecisions(module, "");
  if (failed(runPhase(module, Phase::Plan, chosen)))
    return failure();
  setDecisions(module, choice.decisions);
  return success();
}

/// Returns the fastest shardings, with remarks.
static FailureOr<ShardingChoice> findAndExplain(ModuleOp module,
                                                const PipelineOptions &phases,
                                                AutoShardingOptions options) {
  // Creates a remark to find out whether remarks are enabled.
  auto remark = remark::passed(
      module.getLoc(),
      remark::RemarkOpts::name("ChosenShardings").category("propagation"));
  options.search.explains = bool(remark);
  auto found = findShardings(module, phases, options);
  if (failed(found)) {
    remark << remark::add("no shardings");
    return failure();
  }
  const ShardingChoice &choice = found->front();
  remark << remark::add("shardings of {0}", describeChoice(choice))
         << remark::metric("us", choice.seconds * 1e6)
         << remark::metric("tried", choice.tried);
  return choice;
}

FailureOr<ShardingChoice>
tessera::chooseShardings(ModuleOp module, const PipelineOptions &phases,
                         const AutoShardingOptions &options) {
  FailureOr<ShardingChoice> choice = findAndExplain(module, phases, options);
  if (failed(choice) || failed(takeShardings(module, *choice, phases, options)))
    return failure();
  return choice;
}

namespace {
class ChooseShardingsPass
    : public PassWrapper<ChooseShardingsPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ChooseShardingsPass)

  ChooseShardingsPass(const PipelineOptions &phases,
                      const AutoShardingOptions &options)
      : phases(phases), options(options) {}

  StringRef getName() const override { return "ChooseShardingsPass"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager pm(ModuleOp::getOperationName());
    buildPhasesUpTo(pm, Phase::Schedule, phases);
    pm.addPass(createSearchShardingsPass());
    pm.getDependentDialects(registry);
  }
  void runOnOperation() override {
    if (failed(chooseShardings(getOperation(), phases, options)))
      signalPassFailure();
  }

private:
  PipelineOptions phases;
  AutoShardingOptions options;
};
} // namespace

std::unique_ptr<Pass>
tessera::createChooseShardingsPass(const PipelineOptions &phases,
                                   const AutoShardingOptions &options) {
  return std::make_unique<ChooseShardingsPass>(phases, options);
}
