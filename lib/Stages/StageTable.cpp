//===- StageTable.cpp - The stages of a pipeline program ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Stages/StageTable.h"
#include "StageSplit.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "tessera/Report/Table.h"
#include "tessera/Stages/PipelineProgram.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace tessera;
using dist::TaskKind;
using schedule::Slot;

/// Milliseconds of a task; "-" if there is none.
static std::string printTime(dist::TaskOp task) {
  if (!task)
    return "-";
  WorkRates rates = getTargetRates(task);
  double seconds = 0;
  for (Operation &op : task.getBody().front())
    seconds += getTaskSeconds(&op, rates);
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.3g", seconds * 1e3);
  return text;
}

static double getBytes(ValueRange values) {
  double bytes = 0;
  for (Value value : values)
    bytes += getTensorBytes(value.getType());
  return bytes;
}

static std::string printBytes(double bytes) {
  return std::to_string(static_cast<int64_t>(bytes));
}

/// Bytes that the tasks of a micro-batch keep for later tasks.
static std::string printKept(dist::TaskOp forward, dist::TaskOp grad) {
  double bytes = getBytes(forward.getYield().getKeeps());
  return printBytes(grad ? bytes + getBytes(grad.getYield().getKeeps())
                         : bytes);
}

/// "2", "2.5"; "-" if the plan does not have it.
static std::string printBlocks(const Layout &layout, int stage) {
  if (static_cast<size_t>(stage) >= layout.stageLayers.size())
    return "-";
  double blocks = layout.stageLayers[stage];
  auto whole = static_cast<int64_t>(blocks);
  return std::to_string(whole) + (double(whole) == blocks ? "" : ".5");
}

static void printProgram(const PipelineProgram &program, const Layout &layout,
                         llvm::raw_ostream &os) {
  Table table;
  table.addRow({"stage", "pp rank", "blocks", "F ms", "B ms", "W ms",
                "bytes forward", "back", "kept"});
  const schedule::ScheduleProblem &problem = program.problem;
  for (int path = 0; path < problem.numPaths(); ++path)
    for (int stage = 0; stage < problem.stages(); ++stage) {
      Slot slot = problem.slotOf(stage, path * problem.microBatchesOf());
      dist::TaskOp forward = program.getTask(TaskKind::Forward, slot),
                   grad = program.getGradTask(slot);
      table.addRow(
          {std::to_string(stage), std::to_string(slot.rank),
           printBlocks(layout, stage), printTime(forward), printTime(grad),
           printTime(program.getTask(TaskKind::WeightGrad, slot)),
           printBytes(getBytes(forward.getYield().getSends())),
           grad ? printBytes(getBytes(grad.getYield().getSends())) : "-",
           printKept(forward, grad)});
    }
  table.print(os);
}

void tessera::printStages(ModuleOp module, llvm::raw_ostream &os) {
  auto plan =
      module->getAttrOfType<dist::PlanAttr>(dist::DistDialect::kPlanAttr);
  llvm::SmallPtrSet<Attribute, 2> seen;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!isPipelineFunction(function) ||
        !seen.insert(function->getAttr(dist::DistDialect::kReferenceAttr))
             .second)
      continue;
    FailureOr<PipelineProgram> program = readPipelineProgram(function);
    if (succeeded(program))
      printProgram(*program, plan ? plan.getPlan() : Plan(), os);
  }
}
