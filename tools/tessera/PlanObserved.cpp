//===- PlanObserved.cpp - tessera plan --observed -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanObserved.h"

#include "tessera/Cost/MatmulFormat.h"
#include "tessera/Cost/Observe.h"
#include "tessera/Planning/PlanPricer.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace tessera;
using namespace tessera::cost;

/// Prices an observed plan on a cluster with trial constants.
static llvm::Expected<ObservedPrice> priceObserved(const Subject &subject,
                                                   const ClusterSpec &cluster,
                                                   const ExecutedPlan &plan) {
  if (llvm::Error error = cluster.checkSize(plan.gpus()))
    return std::move(error);
  if (llvm::Error error = checkPrecision(plan.precision, cluster.device))
    return std::move(error);
  auto price = PlanPricer(subject, cluster).price(plan);
  if (!price)
    return price.takeError();
  return ObservedPrice{price->step.total, price->peakBytes};
}

llvm::Error tessera::readObserved(const ParsedOptions &parsed,
                                  const Subject &subject,
                                  const ExecutedPlan &plan,
                                  ClusterSpec &cluster,
                                  PlanQuestion &question) {
  if (!parsed.has("--observed"))
    return llvm::Error::success();
  llvm::StringRef path = parsed.get("--observed");
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError("cannot read " + path + ": " +
                                   buffer.getError().message());
  auto observations = parseObservations((*buffer)->getBuffer(), path, plan);
  if (!observations)
    return observations.takeError();
  auto fit =
      observe(cluster, *observations, subject.name(),
              [&](const ClusterSpec &tried, const ExecutedPlan &observed) {
                return priceObserved(subject, tried, observed);
              });
  if (!fit)
    return fit.takeError();
  print(*fit, llvm::errs());
  question.isObserved = fit->numUsed > fit->outliers.size();
  question.memory.observed = fit->bytesFactor;
  return llvm::Error::success();
}
