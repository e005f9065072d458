//===- JoinPipeline.cpp - The functions of pp ranks as one ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Joins the functions of all pp ranks to one. Tasks follow each other along the
// stages in the body of one dist.accumulate, for one generic micro-batch; what
// comes before and after is joined at the exchanges:
//
//     pp rank 0:  F0 --x--> .  . --dx--> BW0, sum a        body: F0, F1, BW1,
//     pp rank 1:          F1, BW1, sum b                   BW0, yield a, b
//
// A received value is the sender's, and so is the result of an exchange. Where
// several pp ranks have a result, the program is joined as often, each time
// with another one's.
//
//===----------------------------------------------------------------------===//

#include "JoinPipeline.h"
#include "SumOps.h"

using namespace mlir;
using namespace tessera;
using dist::DistDialect;
using dist::TaskKind;
using schedule::Slot;

//===----------------------------------------------------------------------===//
// Boundary
//===----------------------------------------------------------------------===//

/// By number in the reference, the pp ranks that have an argument or result,
/// with its index there.
using Holders = std::map<int64_t, SmallVector<std::pair<int64_t, unsigned>>>;

/// Of `count(function)` arguments or results that have numbers.
static Holders
findHolders(const PipelineProgram &program,
            llvm::function_ref<unsigned(func::FuncOp)> count,
            llvm::function_ref<int64_t(func::FuncOp, unsigned)> getNumber) {
  Holders holders;
  for (int64_t rank = 0; rank < program.getNumRanks(); ++rank) {
    func::FuncOp function = program.functions[rank];
    for (unsigned i = 0; i < count(function); ++i)
      holders[getNumber(function, i)].push_back({rank, i});
  }
  return holders;
}

static Holders findArguments(const PipelineProgram &program) {
  return findHolders(
      program, [](func::FuncOp f) { return f.getNumArguments(); },
      getArgumentNumber);
}

static Holders findResults(const PipelineProgram &program) {
  return findHolders(
      program, [](func::FuncOp f) { return f.getNumResults(); },
      getResultNumber);
}

unsigned tessera::countChoices(const PipelineProgram &program) {
  size_t most = 1;
  for (const auto &[number, holders] : findResults(program))
    most = std::max(most, holders.size());
  return most;
}

/// Attributes of a boundary value, without its number; a donation names the
/// result by its number.
static DictionaryAttr withoutNumber(DictionaryAttr attrs,
                                    func::FuncOp function) {
  NamedAttrList list(attrs);
  list.erase(DistDialect::kNumberAttr);
  if (auto donated = list.get(DistDialect::kDonateAttr)) {
    unsigned result = cast<IntegerAttr>(donated).getInt();
    list.set(DistDialect::kDonateAttr,
             function.getResultAttr(result, DistDialect::kNumberAttr));
  }
  return list.getDictionary(function.getContext());
}

LogicalResult Joiner::makeFunction() {
  func::FuncOp first = program.functions.front();
  SmallVector<Type> argumentTypes, resultTypes;
  SmallVector<Attribute> argumentAttrs, resultAttrs;
  Holders arguments = findArguments(program), results = findResults(program);
  for (const auto &[number, holders] : arguments) {
    func::FuncOp function = program.functions[holders.front().first];
    unsigned i = holders.front().second;
    argumentTypes.push_back(function.getArgumentTypes()[i]);
    DictionaryAttr attrs = withoutNumber(function.getArgAttrDict(i), function);
    argumentAttrs.push_back(attrs);
    // The joined function has one of them for all.
    for (auto [rank, index] : holders) {
      func::FuncOp other = program.functions[rank];
      if (withoutNumber(other.getArgAttrDict(index), other) != attrs)
        return other.emitError("argument ")
               << index << " of pp rank " << rank
               << ": expects the sharding and the donation that it has on pp "
               << "rank " << holders.front().first;
    }
  }
  for (const auto &[number, holders] : results) {
    auto [rank, i] = holders[std::min<size_t>(choice, holders.size() - 1)];
    func::FuncOp function = program.functions[rank];
    resultTypes.push_back(function.getResultTypes()[i]);
    resultAttrs.push_back(
        withoutNumber(function.getResultAttrDict(i), function));
  }
  auto module = first->getParentOfType<ModuleOp>();
  builder.setInsertionPointToEnd(module.getBody());
  joined = func::FuncOp::create(
      builder, first.getLoc(), (first.getName() + ".joined").str(),
      builder.getFunctionType(argumentTypes, resultTypes));
  joined.setPrivate();
  joined->setAttr(DistDialect::kLocalAttr, builder.getUnitAttr());
  joined.setAllArgAttrs(argumentAttrs);
  joined.setAllResultAttrs(resultAttrs);
  Block *entry = joined.addEntryBlock();
  values.resize(program.getNumRanks());
  for (auto [argument, entryOf] :
       llvm::zip_equal(entry->getArguments(), arguments))
    for (auto [rank, i] : entryOf.second) {
      func::FuncOp function = program.functions[rank];
      values[rank].map(function.getArgument(i), argument);
    }
  for (func::FuncOp function : program.functions)
    next.push_back(function.getBody().front().begin());
  builder.setInsertionPointToStart(entry);
  return success();
}

void Joiner::finish() {
  SmallVector<Value> operands;
  for (const auto &[number, holders] : findResults(program)) {
    auto [rank, i] = holders[std::min<size_t>(choice, holders.size() - 1)];
    operands.push_back(values[rank].lookup(next[rank]->getOperand(i)));
  }
  func::ReturnOp::create(builder, joined.getLoc(), operands);
}

//===----------------------------------------------------------------------===//
// Body
//===----------------------------------------------------------------------===//

/// A bucket's collectives, one by one: that is what it says.
void Joiner::cloneMembers(dist::BucketOp bucket, IRMapping &map) {
  map.map(bucket.getBody().getArguments(),
          llvm::map_to_vector(bucket.getInputs(),
                              [&](Value input) { return map.lookup(input); }));
  for (auto [result, member] :
       llvm::zip_equal(bucket.getResults(), bucket.getMembers()))
    map.map(result, builder.clone(*member, map)->getResult(0));
}

void Joiner::advance(int64_t rank) {
  Block::iterator &op = next[rank];
  for (; !isa<dist::PipelineOp, dist::ExchangeOp, func::ReturnOp>(*op); ++op) {
    if (auto bucket = dyn_cast<dist::BucketOp>(*op))
      cloneMembers(bucket, values[rank]);
    else if (!skipped.contains(&*op))
      builder.clone(*op, values[rank]);
  }
}

LogicalResult Joiner::joinExchange(ArrayRef<int64_t> members) {
  auto first = cast<dist::ExchangeOp>(*next[members.front()]);
  if (llvm::any_of(first.getResultTypes(), [](Type type) {
        return cast<RankedTensorType>(type).getRank() > 0;
      }))
    return joinSum(members);
  llvm::DenseMap<int64_t, unsigned> used;
  for (auto [i, from] : llvm::enumerate(first.getFrom())) {
    Value value = values[from].lookup(next[from]->getOperand(used[from]++));
    for (int64_t rank : members)
      values[rank].map(next[rank]->getResult(i), value);
  }
  return success();
}

/// Clones a task after those that it takes values from.
void Joiner::cloneTask(TaskKind kind, int stage, const Slot *neighbour) {
  Slot slot = program.problem.slotOf(stage, 0);
  dist::TaskOp task = program.getTask(kind, slot);
  IRMapping &map = values[slot.rank];
  auto neighbourKind = [&] {
    if (kind == TaskKind::Forward)
      return kind;
    return program.getTask(TaskKind::InputGrad, *neighbour)
               ? TaskKind::InputGrad
               : TaskKind::Backward;
  };
  for (BlockArgument argument : task.getBody().getArguments()) {
    dist::SourceAttr source = task.getSource(argument.getArgNumber());
    Value value;
    switch (source.getKind()) {
    case dist::SourceKind::Recv:
      value = outputs[{neighbour->rank, neighbour->chunk, neighbourKind()}]
                  .sends[source.getIndex()];
      break;
    case dist::SourceKind::Batch:
      value = slices[slot.rank][source.getIndex()];
      break;
    case dist::SourceKind::Forward:
      value = outputs[{slot.rank, slot.chunk, TaskKind::Forward}]
                  .keeps[source.getIndex()];
      break;
    case dist::SourceKind::InputGrad:
      value = outputs[{slot.rank, slot.chunk, TaskKind::InputGrad}]
                  .keeps[source.getIndex()];
      break;
    }
    map.map(argument, value);
  }
  for (Operation &op : task.getBody().front().without_terminator())
    builder.clone(op, map);
  dist::TaskYieldOp yield = task.getYield();
  Outputs &mine = outputs[{slot.rank, slot.chunk, kind}];
  for (Value value : yield.getSends())
    mine.sends.push_back(map.lookupOrDefault(value));
  for (Value value : yield.getKeeps())
    mine.keeps.push_back(map.lookupOrDefault(value));
  for (auto [to, value] : llvm::zip_equal(yield.getAddTo(), yield.getAdds())) {
    Value term = map.lookupOrDefault(value);
    Value &sum = added[{slot.rank, to}];
    sum = sum ? addValues(builder, task.getLoc(), sum, term) : term;
  }
}

/// What a generic micro-batch of one body can say.
static LogicalResult checkJoinable(const PipelineProgram &program) {
  dist::PipelineOp first = program.pipelines.front();
  if (first.getPaths().size() > 1)
    return first.emitOpError("not provable: micro-batches take several paths");
  for (dist::PipelineOp pipeline : program.pipelines)
    for (auto task : pipeline.getBody().getOps<dist::TaskOp>())
      if (!task.getYield().getStores().empty())
        return task.emitOpError("not provable: it stores slices of a result");
  return success();
}

/// The accumulate over the batches of all pp ranks, in the order of the
/// function's arguments, as the whole program has them. Its body is empty.
void Joiner::makeAccumulate() {
  SmallVector<Value> batches;
  SmallVector<Type> types;
  for (int64_t rank = 0; rank < program.getNumRanks(); ++rank) {
    dist::PipelineOp pipeline = program.pipelines[rank];
    for (Value batch : pipeline.getBatches()) {
      Value value = values[rank].lookup(batch);
      if (!llvm::is_contained(batches, value))
        batches.push_back(value);
    }
    llvm::append_range(types, pipeline.getResultTypes());
  }
  auto position = [](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? argument.getArgNumber() : ~0u;
  };
  llvm::stable_sort(
      batches, [&](Value a, Value b) { return position(a) < position(b); });
  dist::PipelineOp first = program.pipelines.front();
  accumulate = dist::AccumulateOp::create(
      builder, first.getLoc(), types,
      builder.getI64IntegerAttr(first.getMicroBatches()),
      /*reduce_each=*/UnitAttr(), batches);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&accumulate.getBody());
  for (Value batch : batches) {
    auto type = cast<RankedTensorType>(batch.getType());
    body->addArgument(RankedTensorType::get(type.getShape().drop_front(),
                                            type.getElementType()),
                      batch.getLoc());
  }
  for (int64_t rank = 0; rank < program.getNumRanks(); ++rank) {
    dist::PipelineOp pipeline = program.pipelines[rank];
    auto &arguments = slices.emplace_back();
    for (Value batch : pipeline.getBatches())
      arguments.push_back(body->getArgument(
          llvm::find(batches, values[rank].lookup(batch)) - batches.begin()));
  }
}

/// All tasks of one micro-batch, along the stages and back.
void Joiner::cloneTasks() {
  const schedule::ScheduleProblem &problem = program.problem;
  int stages = problem.stages();
  for (int stage = 0; stage < stages; ++stage) {
    Slot before = problem.slotOf(std::max(stage - 1, 0), 0);
    cloneTask(TaskKind::Forward, stage, &before);
  }
  for (int stage = stages - 1; stage >= 0; --stage) {
    Slot after = problem.slotOf(std::min(stage + 1, stages - 1), 0);
    for (TaskKind kind :
         {TaskKind::InputGrad, TaskKind::Backward, TaskKind::WeightGrad})
      if (program.getTask(kind, problem.slotOf(stage, 0)))
        cloneTask(kind, stage, &after);
  }
}

LogicalResult Joiner::joinPipelines() {
  if (failed(checkJoinable(program)))
    return failure();
  makeAccumulate();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&accumulate.getBody().front());
  cloneTasks();
  SmallVector<Value> yielded;
  pipelineResults.resize(program.getNumRanks());
  for (int64_t rank = 0; rank < program.getNumRanks(); ++rank) {
    dist::PipelineOp pipeline = program.pipelines[rank];
    for (unsigned i = 0; i < pipeline.getNumResults(); ++i) {
      yielded.push_back(added[{rank, i}]);
      pipelineResults[rank].push_back(pipeline.getResult(i));
    }
  }
  mapSums();
  dist::YieldOp::create(builder, accumulate.getLoc(), yielded);
  return success();
}

FailureOr<func::FuncOp> Joiner::join() {
  if (failed(makeFunction()))
    return failure();
  while (true) {
    SmallVector<Operation *> byRank;
    for (int64_t rank = 0; rank < program.getNumRanks(); ++rank) {
      advance(rank);
      byRank.push_back(&*next[rank]);
    }
    auto *meeting = llvm::find_if(byRank, [&](Operation *op) {
      return !isa<func::ReturnOp>(op) && isOneMeeting(byRank, getMembers(op));
    });
    // readPipelineProgram() has seen that all meetings take place.
    if (meeting == byRank.end())
      break;
    SmallVector<int64_t> members = getMembers(*meeting);
    LogicalResult result = isa<dist::ExchangeOp>(*meeting)
                               ? joinExchange(members)
                               : joinPipelines();
    if (failed(result)) {
      joined.erase();
      return failure();
    }
    for (int64_t rank : members)
      ++next[rank];
  }
  finish();
  dropUnused();
  return joined;
}
