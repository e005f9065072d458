//===- PlanSection.cpp - A plan's report as tables of a document ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/PlanSection.h"

using namespace tessera;
using namespace tessera::cost;

llvm::Expected<DocumentSection>
tessera::makePlanSection(const PlanReport &report, const ModelWork &work,
                         const ClusterSpec &cluster,
                         schedule::PipelinePricer &pricer) {
  DocumentSection section;
  section.kind = "plan";
  section.title = report.model;
  section.tables.emplace_back("memory", memoryTable(report));
  section.tables.emplace_back("step", stepTable(report));
  return section;
}

DocumentSection tessera::makeMinimumSection(const MinimumMemory &minimum) {
  DocumentSection section;
  section.kind = "minimum-memory";
  section.title = minimum.model;
  section.tables.emplace_back("model", categoryTable(minimum));
  section.tables.emplace_back("zero", zeroTable(minimum));
  return section;
}
