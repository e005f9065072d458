//===- SplitTasks.cpp - The tasks of pipeline stages ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each pp rank gets a copy of the function in which a dist.pipeline takes the
// place of the dist.accumulate. Its tasks are built from the ops of their
// stage; what a task lacks it asks for:
//
//     wanted in       of                      comes by
//     F of stage s    F of an earlier stage   every boundary in between
//     B of stage s    F of stage s            kept by F, once it is there
//     B of stage s    B of a later stage      every boundary on the way back
//     W of stage s    B or F of stage s       kept by that task
//
//===----------------------------------------------------------------------===//

#include "Splitter.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tessera/Schedule/ActionList.h"

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
  OpClass kind = stages.getClass(op);
  if (kind == OpClass::Forward)
    return task.kind == TaskKind::Forward;
  if (kind != OpClass::Backward || op->use_empty())
    return false;
  bool isWeightGrad = splitsBackward && stages.isWeightGrad(op);
  return task.kind == (isWeightGrad ? TaskKind::WeightGrad : gradKind);
}

Value Splitter::addArgument(StageTask &task, SourceKind source, int64_t index,
                            Value value) {
  task.sources.push_back(
      dist::SourceAttr::get(builder.getContext(), source, index));
  Value argument = task.body->addArgument(value.getType(), value.getLoc());
  task.values.map(value, argument);
  return argument;
}

/// The index of a value among the outputs of a task, which may get one more.
int64_t Splitter::addOutput(StageTask &task, StageTask::Outputs &outputs,
                            Value value) {
  auto [it, isNew] = outputs.indices.try_emplace(value, outputs.values.size());
  int64_t index = it->second;
  if (isNew) {
    outputs.values.push_back({});
    // May add outputs, too.
    Value made = getIn(task, value);
    outputs.values[index] = made;
  }
  return index;
}

/// A value that another task makes.
Value Splitter::fetch(StageTask &task, Operation *def, Value value) {
  bool isForward = stages.getClass(def) == OpClass::Forward;
  int from = stages.getStage(def), here = task.stage;
  if (task.kind == TaskKind::Forward) {
    assert(isForward && from < here && "the forward goes along the stages");
    return addArgument(task, SourceKind::Recv,
                       addSend(getTask(TaskKind::Forward, here - 1), value),
                       value);
  }
  if (isForward && from <= here)
    return addArgument(task, SourceKind::Forward,
                       addKeep(getTask(TaskKind::Forward, here), value), value);
  if (task.kind == TaskKind::WeightGrad)
    return addArgument(task, SourceKind::InputGrad,
                       addKeep(gradTask(here), value), value);
  assert(from > here && "gradients come from later stages");
  return addArgument(task, SourceKind::Recv, addSend(gradTask(here + 1), value),
                     value);
}

/// A value of the micro-batch, or from outside, in a task.
Value Splitter::getIn(StageTask &task, Value value) {
  if (Value known = task.values.lookupOrNull(value))
    return known;
  if (value.getParentBlock() != &body)
    return ranks[getRank(task.stage)].values.lookup(value);
  Operation *def = value.getDefiningOp();
  if (!def)
    return addArgument(task, SourceKind::Batch,
                       cast<BlockArgument>(value).getArgNumber(), value);
  OpClass kind = stages.getClass(def);
  if (kind == OpClass::Forward || kind == OpClass::Backward)
    return fetch(task, def, value);
  // Made of inputs or parameters alone: it is made again here.
  fillOp(task, def);
  return task.values.lookup(value);
}

/// Clones an op into a task, with what it uses from elsewhere.
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
  for (int stage = 0; stage < stages.getNumStages(); ++stage) {
    SmallVector<TaskKind> kinds{TaskKind::Forward, gradKind};
    if (splitsBackward)
      kinds.push_back(TaskKind::WeightGrad);
    for (TaskKind kind : kinds) {
      StageTask &task = tasks[{stage, kind}];
      task.kind = kind;
      task.stage = stage;
      task.body = new Block();
    }
  }
  auto fill = [&](StageTask &task) {
    for (Operation &op : body.without_terminator())
      if (isIn(task, &op))
        fillOp(task, &op);
  };
  int last = stages.getNumStages() - 1;
  for (int stage = 0; stage <= last; ++stage)
    fill(getTask(TaskKind::Forward, stage));
  for (int stage = last; stage >= 0; --stage)
    fill(gradTask(stage));
  if (splitsBackward)
    for (int stage = 0; stage <= last; ++stage)
      fill(getTask(TaskKind::WeightGrad, stage));
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// The task that adds a term to a sum.
StageTask &Splitter::taskOf(Value term) {
  Operation *def = term.getDefiningOp();
  if (def && def->getBlock() == &body)
    for (auto &[key, task] : tasks)
      if (isIn(task, def))
        return task;
  // Made of inputs or parameters alone.
  return getTask(TaskKind::Forward, stages.getNumStages() - 1);
}

void Splitter::addTerms() {
  ValueRange yielded = body.getTerminator()->getOperands();
  contributors.resize(yielded.size());
  for (auto [sum, value] : llvm::enumerate(yielded)) {
    for (Value term : stages.getTerms(value, additions)) {
      StageTask &task = taskOf(term);
      task.adds.push_back(getIn(task, term));
      task.addTo.push_back(sum);
      auto &from = contributors[sum];
      if (llvm::none_of(from, [&](int stage) {
            return getRank(stage) == getRank(task.stage);
          }))
        from.push_back(task.stage);
    }
    llvm::sort(contributors[sum]);
  }
}

dist::TaskOp Splitter::makeTaskOp(StageTask &task,
                                  ArrayRef<int64_t> batchNumbers) {
  MLIRContext *context = builder.getContext();
  RankFunction &rank = ranks[getRank(task.stage)];
  for (Attribute &source : task.sources)
    if (auto batch = cast<dist::SourceAttr>(source);
        batch.getKind() == SourceKind::Batch)
      source = dist::SourceAttr::get(
          context, SourceKind::Batch,
          llvm::find(batchNumbers, batch.getIndex()) - batchNumbers.begin());
  SmallVector<int64_t> results;
  for (int64_t sum : task.addTo)
    results.push_back(
        llvm::count_if(llvm::seq<int64_t>(0, sum), [&](int64_t before) {
          return llvm::any_of(contributors[before], [&](int stage) {
            return &ranks[getRank(stage)] == &rank;
          });
        }));
  auto op = dist::TaskOp::create(builder, accumulate.getLoc(), task.kind,
                                 problem.slotOf(task.stage, 0).chunk,
                                 builder.getArrayAttr(task.sources));
  op.getBody().push_back(task.body);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(task.body);
  dist::TaskYieldOp::create(builder, accumulate.getLoc(), task.sends.values,
                            task.keeps.values, results, task.adds,
                            ArrayRef<int64_t>(), ValueRange());
  return op;
}

void Splitter::makePipeline(int64_t number) {
  RankFunction &rank = ranks[number];
  SmallVector<StageTask *> mine;
  for (auto &[key, task] : tasks)
    if (getRank(task.stage) == number)
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
    if (llvm::any_of(from,
                     [&](int stage) { return getRank(stage) == number; })) {
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
