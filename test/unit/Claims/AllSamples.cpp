//===- AllSamples.cpp - Samples of every op with a rule -------------------===//
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
#include "llvm/ADT/MapVector.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::claims;

MLIRContext &claims::getContext() {
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

/// Leaves out dist.foreign, whose rule is its user's claim.
std::vector<std::string> claims::getOps() {
  std::vector<std::string> names;
  for (RegisteredOperationName op : getContext().getRegisteredOperations())
    if (op.hasInterface<ShardingRuleOpInterface>() &&
        op.getStringRef() != dist::ForeignOp::getOperationName())
      names.push_back(op.getStringRef().str());
  return names;
}

/// The samples of the table, by op.
static llvm::MapVector<StringRef, std::vector<Sample>> readTable() {
  llvm::MapVector<StringRef, std::vector<Sample>> table;
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

ArrayRef<Sample> claims::getSamples(StringRef name) {
  static llvm::MapVector<StringRef, std::vector<Sample>> samples = readTable();
  std::vector<Sample> &found =
      samples[RegisteredOperationName::lookup(name, &getContext())
                  ->getStringRef()];
  if (found.empty())
    found = name.starts_with("linalg.") ? findNamedLinalg(getContext(), name)
                                        : findElementwise(getContext(), name);
  EXPECT_FALSE(found.empty())
      << name.str() << " has a sharding rule but no sample: add one to "
      << "SampleTable.cpp";
  return found;
}
