//===- Subject.cpp - The model of a plan ----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/Subject.h"

using namespace tessera;
using namespace tessera::cost;

/// Maximum head size of the attention kernels on GPUs (runtime/cuda).
static constexpr int64_t kMostHeadElements = 256;

llvm::Expected<Subject>
Subject::readFile(llvm::StringRef path,
                  llvm::ArrayRef<llvm::StringRef> ignoredKeys) {
  auto config = readModelConfig(path, ignoredKeys, ConfigUse::Price);
  if (!config)
    return config.takeError();
  Subject subject;
  if (!config->experts) {
    subject.dense = std::move(*config);
    return subject;
  }
  auto sparse = makeMoEConfig(*config);
  if (!sparse)
    return llvm::createStringError(path + ": " +
                                   llvm::toString(sparse.takeError()));
  subject.sparse = std::move(*sparse);
  return subject;
}

llvm::Error Subject::check(const cost::ExecutedPlan &plan) const {
  if (llvm::Error error = plan.check())
    return error;
  if (sparse)
    return checkMoELayout(*sparse, plan);
  if (llvm::Error error = plan.checkModel(dense->heads, dense->kvHeads,
                                          dense->ffn, dense->layers,
                                          /*padsHeads=*/!plan.gradBuffers))
    return error;
  // A plan without gradient buffers is for a program of this compiler.
  if (!plan.gradBuffers && dense->headDim > kMostHeadElements)
    return llvm::createStringError(
        "attention: expects heads of at most " +
        llvm::Twine(kMostHeadElements) +
        " elements, as the kernels of our programs have, but got " +
        llvm::Twine(dense->headDim));
  if (plan.ep > 1)
    return llvm::createStringError(
        "ep: expects 1 for a model without experts but got " +
        std::to_string(plan.ep));
  return llvm::Error::success();
}

bool Subject::hasContextChoice(const Layout &layout) {
  return layout.cp > 1 && layout.cpMethod.kind == ContextMethod::Auto;
}

std::vector<cost::ExecutedPlan>
Subject::listContextPlans(const cost::ExecutedPlan &plan) const {
  if (!hasContextChoice(plan))
    return {plan};
  std::vector<cost::ExecutedPlan> plans;
  for (ContextMethod method : listContextMethods(plan.cp, heads() / plan.tp)) {
    plans.push_back(plan);
    plans.back().cpMethod = method;
  }
  return plans;
}

llvm::Expected<ModelWork>
Subject::readLayers(WorkReader &reader, const cost::ExecutedPlan &plan) const {
  if (dense)
    return reader.readLayers(*dense, plan);
  return makeMoEWork(*sparse, plan, experts);
}

llvm::Expected<ModelWork> Subject::read(WorkReader &reader,
                                        const cost::ExecutedPlan &plan) const {
  if (dense)
    return reader.read(*dense, plan);
  return makeMoEWork(*sparse, plan, experts);
}
