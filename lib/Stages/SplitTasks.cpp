//===- SplitTasks.cpp - The tasks of pipeline stages ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each pp rank gets a copy of the function in which a dist.pipeline replaces
// the dist.accumulate. Its tasks are built from the ops of their stage, and
// request values of other tasks:
//
//     wanted in       made by                 comes through
//     F of stage s    F of an earlier stage   every boundary in between
//     B of stage s    F of stage s            kept by F, once it is there
//     B of stage s    B of a later stage      every boundary on the way back
//     W of stage s    B or F of stage s       kept by that task
//
// BW of a stage is its B and W in one. A chunk has both if the schedule runs
// some micro-batches in one way and some in the other; B and BW then send the
// same values. If micro-batches take two paths, each path has its own tasks.
//
//===----------------------------------------------------------------------===//

#include "Splitter.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tessera/Schedule/ActionList.h"
#include "tessera/Stages/PipelineProgram.h"

using namespace mlir;
using namespace tessera;
using dist::SourceKind;
using dist::TaskKind;

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

bool Splitter::isIn(const StageTask &task, Operation *op) const {
  if (additions.contains(op) || stages.getStage(op) != task.stage)
    return false;
  TaskClass kind = stages.getClass(op);
  if (kind == TaskClass::Forward)
    return task.kind == TaskKind::Forward;
  if (kind != TaskClass::Backward || op->use_empty())
    return false;
  return task.kind == TaskKind::Backward ||
         task.kind == (stages.isWeightGrad(op) ? TaskKind::WeightGrad
                                               : TaskKind::InputGrad);
}

Value Splitter::addArgument(StageTask &task, SourceKind source, int64_t index,
                            Value value) {
  task.sources.push_back(
      dist::SourceAttr::get(builder.getContext(), source, index));
  Value argument = task.body->addArgument(value.getType(), value.getLoc());
  task.values.map(value, argument);
  return argument;
}

/// Receives a value of the neighboring stage, and gathers it if it is sliced.
Value Splitter::receive(StageTask &task, int64_t index, Value value) {
  RankedTensorType sliced = slices.getSlicedType(value);
  if (!sliced)
    return addArgument(task, SourceKind::Recv, index, value);
  task.sources.push_back(
      dist::SourceAttr::get(builder.getContext(), SourceKind::Recv, index));
  Value argument = task.body->addArgument(sliced, value.getLoc());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(task.body);
  Value whole = slices.gather(builder, value, argument);
  task.values.map(value, whole);
  return whole;
}

/// The index of a value among the outputs of a task; appends it if it is new.
int64_t Splitter::addOutput(StageTask &task, StageTask::Outputs &outputs,
                            Value value) {
  auto [it, isNew] = outputs.indices.try_emplace(value, outputs.values.size());
  int64_t index = it->second;
  if (isNew) {
    outputs.values.push_back({});
    // getIn() may append outputs, too.
    Value made = getIn(task, value);
    if (&outputs == &task.sends && slices.getSlicedType(value)) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(task.body);
      made = slices.slice(builder, value, made);
    }
    outputs.values[index] = made;
  }
  return index;
}

/// The index of a value among the values that a stage sends, from its F or from
/// each of its B and BW.
int64_t Splitter::addSend(int path, int stage, bool isForward, Value value) {
  int64_t index = 0;
  for (TaskKind kind :
       {TaskKind::Forward, TaskKind::InputGrad, TaskKind::Backward})
    if (isForward == (kind == TaskKind::Forward))
      if (auto it = tasks.find({path, stage, kind}); it != tasks.end())
        index = addOutput(it->second, it->second.sends, value);
  return index;
}

/// Gets a value that another task makes.
Value Splitter::fetch(StageTask &task, Operation *def, Value value) {
  bool isForward = stages.getClass(def) == TaskClass::Forward;
  int from = stages.getStage(def), here = task.stage, path = task.path;
  if (task.kind == TaskKind::Forward) {
    assert(isForward && from < here && "the forward goes along the stages");
    return receive(task, addSend(path, here - 1, /*isForward=*/true, value),
                   value);
  }
  if (isForward && from <= here)
    return addArgument(task, SourceKind::Forward,
                       addKeep(getTask(TaskKind::Forward, path, here), value),
                       value);
  if (task.kind == TaskKind::WeightGrad)
    return addArgument(task, SourceKind::InputGrad,
                       addKeep(getTask(TaskKind::InputGrad, path, here), value),
                       value);
  assert(from > here && "gradients come from later stages");
  return receive(task, addSend(path, here + 1, /*isForward=*/false, value),
                 value);
}

/// The copy in a task of a value of the micro-batch or from outside.
Value Splitter::getIn(StageTask &task, Value value) {
  if (Value known = task.values.lookupOrNull(value))
    return known;
  if (value.getParentBlock() != &body)
    return ranks[getRank(task)].values.lookup(value);
  Operation *def = value.getDefiningOp();
  if (!def)
    return addArgument(task, SourceKind::Batch,
                       cast<BlockArgument>(value).getArgNumber(), value);
  TaskClass kind = stages.getClass(def);
  if (kind == TaskClass::Forward || kind == TaskClass::Backward)
    return fetch(task, def, value);
  // The op depends on inputs or parameters alone, so it is cloned here.
  fillOp(task, def);
  return task.values.lookup(value);
}

/// Clones an op into a task, with its operands from elsewhere.
void Splitter::fillOp(StageTask &task, Operation *op) {
  llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  for (Value value : used)
    task.values.map(value, getIn(task, value));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(task.body);
  builder.clone(*op, task.values);
}

void Splitter::buildTasks() {
  for (auto [rank, actions] : llvm::enumerate(schedule.ranks))
    for (const schedule::Action &action : actions)
      for (auto [kind, chunk, microBatch] : getTaskRuns(action)) {
        int stage = problem.stageOf({static_cast<int>(rank), chunk});
        int path = microBatch / problem.microBatchesOf();
        StageTask &task = tasks[{path, stage, kind}];
        if (task.body)
          continue;
        task.kind = kind;
        task.path = path;
        task.stage = stage;
        task.body = new Block();
      }
  auto fill = [&](int path, int stage, ArrayRef<TaskKind> kinds) {
    for (TaskKind kind : kinds)
      if (auto it = tasks.find({path, stage, kind}); it != tasks.end())
        for (Operation &op : body.without_terminator())
          if (isIn(it->second, &op))
            fillOp(it->second, &op);
  };
  int last = stages.getNumStages() - 1;
  for (int path = 0; path < problem.numPaths(); ++path) {
    for (int stage = 0; stage <= last; ++stage)
      fill(path, stage, TaskKind::Forward);
    for (int stage = last; stage >= 0; --stage)
      fill(path, stage, {TaskKind::InputGrad, TaskKind::Backward});
    for (int stage = 0; stage <= last; ++stage)
      fill(path, stage, TaskKind::WeightGrad);
  }
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// The tasks that add a term to a sum: for each micro-batch, one of them runs.
SmallVector<StageTask *> Splitter::tasksOf(Value term) {
  SmallVector<StageTask *> found;
  Operation *def = term.getDefiningOp();
  if (def && def->getBlock() == &body)
    for (auto &[key, task] : tasks)
      if (isIn(task, def))
        found.push_back(&task);
  // The term depends on inputs or parameters alone.
  if (found.empty())
    for (int path = 0; path < problem.numPaths(); ++path)
      found.push_back(
          &getTask(TaskKind::Forward, path, stages.getNumStages() - 1));
  return found;
}

void Splitter::addTerms() {
  ValueRange yielded = body.getTerminator()->getOperands();
  contributors.resize(yielded.size());
  for (auto [sum, value] : llvm::enumerate(yielded)) {
    if (accumulate.isStacked(sum)) {
      StageTask *task = tasksOf(value).front();
      task->stores.push_back(getIn(*task, value));
      task->storeTo.push_back(sum);
      contributors[sum] = {getRank(*task)};
      continue;
    }
    SmallVector<std::pair<int, int>> from;
    for (Value term : stages.getTerms(value, additions))
      for (StageTask *task : tasksOf(term)) {
        task->adds.push_back(getIn(*task, term));
        task->addTo.push_back(sum);
        from.push_back({task->stage, getRank(*task)});
      }
    llvm::sort(from);
    for (auto [stage, rank] : from)
      if (!llvm::is_contained(contributors[sum], rank))
        contributors[sum].push_back(rank);
  }
}

dist::TaskOp Splitter::makeTaskOp(StageTask &task,
                                  ArrayRef<int64_t> batchNumbers) {
  MLIRContext *context = builder.getContext();
  int number = getRank(task);
  for (Attribute &source : task.sources)
    if (auto batch = cast<dist::SourceAttr>(source);
        batch.getKind() == SourceKind::Batch)
      source = dist::SourceAttr::get(
          context, SourceKind::Batch,
          llvm::find(batchNumbers, batch.getIndex()) - batchNumbers.begin());
  // Renumbers results to the results that this pp rank has.
  auto renumber = [&](ArrayRef<int64_t> results) {
    return llvm::map_to_vector(results, [&](int64_t result) -> int64_t {
      return llvm::count_if(llvm::seq<int64_t>(0, result), [&](int64_t before) {
        return llvm::is_contained(contributors[before], number);
      });
    });
  };
  auto op = dist::TaskOp::create(builder, accumulate.getLoc(), task.kind,
                                 getSlot(task.path, task.stage).chunk,
                                 builder.getArrayAttr(task.sources));
  op.getBody().push_back(task.body);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(task.body);
  dist::TaskYieldOp::create(builder, accumulate.getLoc(), task.sends.values,
                            task.keeps.values, renumber(task.addTo), task.adds,
                            renumber(task.storeTo), task.stores);
  return op;
}

void Splitter::makePipeline(int64_t number) {
  RankFunction &rank = ranks[number];
  SmallVector<StageTask *> mine;
  for (auto &[key, task] : tasks)
    if (getRank(task) == number)
      mine.push_back(&task);
  SmallVector<int64_t> batchNumbers;
  for (StageTask *task : mine)
    for (Attribute source : task->sources)
      if (auto batch = cast<dist::SourceAttr>(source);
          batch.getKind() == SourceKind::Batch &&
          !llvm::is_contained(batchNumbers, batch.getIndex()))
        batchNumbers.push_back(batch.getIndex());
  SmallVector<Value> batches;
  for (int64_t batch : batchNumbers)
    batches.push_back(rank.values.lookup(accumulate.getSlices()[batch]));
  SmallVector<Type> types;
  SmallVector<Value> sums;
  for (auto [sum, from] : llvm::enumerate(contributors))
    if (llvm::is_contained(from, number)) {
      types.push_back(accumulate.getResultTypes()[sum]);
      sums.push_back(accumulate.getResult(sum));
    }
  SmallVector<Attribute> paths;
  for (const auto &path : schedule::getStageRanks(problem))
    paths.push_back(builder.getI64ArrayAttr(path));
  builder.setInsertionPointToEnd(&rank.function.getBody().front());
  auto pipeline = dist::PipelineOp::create(
      builder, accumulate.getLoc(), types, builder.getArrayAttr(paths),
      builder.getI64IntegerAttr(problem.microBatches),
      builder.getStringAttr(schedule::printActions(schedule.ranks[number])),
      batches);
  builder.createBlock(&pipeline.getBody());
  for (StageTask *task : mine)
    makeTaskOp(*task, batchNumbers);
  rank.values.map(ValueRange(sums), pipeline.getResults());
}
