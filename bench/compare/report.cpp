//===- report.cpp - Seconds to price the layouts of a space ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The floor of `tessera plan --explore`, for report.py: prices the plans of all
// combinations of options, one after the other. Arguments: a model, a cluster,
// and NAME=VALUES for each option. Prints the seconds, the number of plans and
// of those that are valid.
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/Explore.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>

using namespace tessera;
using llvm::StringRef;

/// Reads the space of the arguments; options of one value are set in `base`.
static ExploredSpace readSpace(llvm::ArrayRef<const char *> arguments,
                               const ClusterSpec &cluster,
                               cost::GivenExecutedPlan &base) {
  std::vector<ExploredOption> options;
  for (StringRef argument : arguments) {
    auto [name, text] = argument.split('=');
    const auto *field = findField<cost::ExecutedPlan>(name);
    if (!field)
      llvm::reportFatalUsageError("expects the name of an option but got " +
                                  name);
    auto values =
        llvm::cantFail(llvm::cantFail(FieldChoice::parse(*field, text))
                           .listTexts(cluster.numDevices()));
    if (values.size() == 1)
      llvm::cantFail(base.set(name, values.front()));
    else
      options.push_back({field, std::move(values)});
  }
  return llvm::cantFail(ExploredSpace::make(std::move(options)));
}

/// The plans of the combinations that complete() accepts.
static std::vector<cost::ExecutedPlan>
listPlans(const ExploredSpace &space, const cost::GivenExecutedPlan &base) {
  std::vector<cost::ExecutedPlan> plans;
  for (size_t i = 0; i < space.size(); ++i) {
    cost::GivenExecutedPlan given = base;
    for (auto [option, value] :
         llvm::zip(space.getOptions(), space.getValues(i)))
      llvm::cantFail(given.set(option.field->name, value == "on"    ? "true"
                                                   : value == "off" ? "false"
                                                                    : value));
    if (llvm::Error error = given.complete())
      llvm::consumeError(std::move(error));
    else
      plans.push_back(given.plan);
  }
  return plans;
}

int main(int argc, char **argv) {
  if (argc < 4)
    llvm::reportFatalUsageError("expects MODEL CLUSTER NAME=VALUES...");
  auto config = llvm::cantFail(readModelConfig(
      std::string(TESSERA_SHARE "/models/") + argv[1] + ".json", {}));
  ClusterSpec cluster = llvm::cantFail(readClusterSpec(
      std::string(TESSERA_SHARE "/clusters/") + argv[2] + ".json"));
  cost::GivenExecutedPlan base;
  base.plan.precision = Precision::BF16;
  base.plan.seq = config.maxPositions;
  std::vector<cost::ExecutedPlan> plans = listPlans(
      readSpace(llvm::ArrayRef(argv + 3, argc - 3), cluster, base), base);
  size_t valid = 0;
  PlanPricer pricer(config, cluster);
  auto start = std::chrono::steady_clock::now();
  for (const cost::ExecutedPlan &plan : plans)
    if (auto price = pricer.price(plan))
      ++valid;
    else
      llvm::consumeError(price.takeError());
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  llvm::outs() << llvm::formatv(
      "{{\"plans\": {0}, \"valid\": {1}, \"seconds\": {2:f3}}\n", plans.size(),
      valid, seconds.count());
}
