//===- Planner.cpp - The planner for an explanation -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Explanation.h"
#include "tessera/Support/Errors.h"

using namespace tessera;
using namespace tessera::cost;
using namespace tessera::explain;

ExecutedPlan Planner::makePlan(int64_t devices) const {
  ExecutedPlan plan = sizes.plan;
  plan.tp = plan.pp = 1;
  plan.dp = devices;
  plan.microBatches = 1;
  return plan;
}

llvm::Expected<ModelWork> Planner::read(const ExecutedPlan &plan) {
  if (!sizes.model.isWhole)
    return llvm::createStringError(
        "--parameters, --layers and --hidden: expects a whole model here, "
        "whose layers the planner can price; leave them out");
  if (llvm::Error error = sizes.model.subject.check(plan))
    return prefixError("--", takeFirst(std::move(error)));
  return sizes.model.subject.read(reader, plan);
}

llvm::Expected<PlanReport> Planner::report(const ExecutedPlan &plan) {
  auto work = read(plan);
  if (!work)
    return work.takeError();
  PlanQuestion question;
  question.model = sizes.model.name;
  return makePlanReport(*work, plan, plan.execution(), sizes.cluster, question,
                        pipelines);
}

llvm::Expected<DocumentSection> Planner::section(const ExecutedPlan &plan) {
  auto work = read(plan);
  if (!work)
    return work.takeError();
  auto priced = report(plan);
  if (!priced)
    return priced.takeError();
  return makePlanSection(
      *priced,
      makeMinimumMemory(sizes.model.subject, priced->plan, priced->capacity),
      *work, sizes.cluster, pipelines);
}
