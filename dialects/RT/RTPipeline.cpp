//===- RTPipeline.cpp - Pipelines of task functions -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/RT/RT.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tessera/Interfaces/StageRanks.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::rt;

//===----------------------------------------------------------------------===//
// pipeline
//===----------------------------------------------------------------------===//

SmallVector<SmallVector<int64_t>> PipelineOp::getStageRanks() {
  return readStageRanks(getPaths());
}

SmallVector<func::FuncOp> PipelineOp::getTaskFunctions() {
  return llvm::map_to_vector(
      getTasks().getAsRange<FlatSymbolRefAttr>(), [&](FlatSymbolRefAttr name) {
        return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(*this, name);
      });
}

LogicalResult PipelineOp::verify() {
  if (TypeRange(getInits().getTypes()) != TypeRange(getResultTypes()))
    return emitOpError("(C2) expects an init for each result, of its type, but "
                       "got ")
           << getInits().getTypes() << " and " << getResultTypes();
  return verifyPaths(*this, "(C3)", getPaths(),
                     static_cast<int64_t>(getMicroBatches()));
}

/// Number of places of a kind that the pipeline has; none if only its tasks
/// define them.
static std::optional<int64_t> countPlaces(PipelineOp op, PlaceKind kind) {
  switch (kind) {
  case PlaceKind::Captured:
    return op.getCaptured().size();
  case PlaceKind::Batch:
    return op.getBatches().size();
  case PlaceKind::Sum:
  case PlaceKind::Slice:
    return op.getInits().size();
  default:
    return std::nullopt;
  }
}

LogicalResult PipelineOp::verifySymbolUses(SymbolTableCollection &tables) {
  for (auto name : getTasks().getAsRange<FlatSymbolRefAttr>()) {
    auto func = tables.lookupNearestSymbolFrom<func::FuncOp>(*this, name);
    if (!func || !func->hasAttr(RTDialect::kTaskAttr))
      return emitOpError("(C1) expects functions marked rt.task but got ")
             << name;
    for (unsigned i = 0; i < func.getNumArguments(); ++i) {
      auto place = func.getArgAttrOfType<PlaceAttr>(i, RTDialect::kPlaceAttr);
      if (!place)
        return emitOpError("(C1) expects an rt.place for each argument of ")
               << name << " but got none for " << i;
      std::optional<int64_t> count = countPlaces(*this, place.getKind());
      if (count && place.getIndex() >= *count)
        return emitOpError("(C1) expects an rt.place below ")
               << *count << " for argument " << i << " of " << name
               << " but got " << place;
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// run_list
//===----------------------------------------------------------------------===//

void rt::forEachEntry(ArrayRef<int64_t> entries,
                      llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  while (int64_t length =
             tessera_rt_entry_length(entries.data(), entries.size())) {
    visit(entries.take_front(length));
    entries = entries.drop_front(length);
  }
}

LogicalResult RunListOp::verify() {
  if (getAxis().size() != 2)
    return emitOpError("(C2) expects a stride and a size but got ")
           << getAxisAttr();
  return success();
}

LogicalResult RunListOp::verifySymbolUses(SymbolTableCollection &tables) {
  // Accepts functions of any dialect: tasks become LLVM functions one by one.
  for (auto name : getTasks().getAsRange<FlatSymbolRefAttr>())
    if (!tables.lookupNearestSymbolFrom<FunctionOpInterface>(*this, name))
      return emitOpError("(C1) expects functions but got ") << name;
  return success();
}

StringRef RunListOp::getCallee() { return "tessera_rt_run_list"; }

SmallVector<CallArgument> RunListOp::getCallArguments() {
  CallArgument functions{CallArgument::Functions};
  for (auto name : getTasks().getAsRange<FlatSymbolRefAttr>())
    functions.symbols.push_back(name.getValue());
  CallArgument entries{CallArgument::Array, 0,
                       SmallVector<int64_t>(getEntries())};
  CallArgument axis{CallArgument::Array, 0, SmallVector<int64_t>(getAxis())};
  return {entries,
          {CallArgument::Int64, int64_t(getEntries().size())},
          functions,
          axis,
          {CallArgument::Int32, int64_t(getAxis().size() / 2)}};
}
