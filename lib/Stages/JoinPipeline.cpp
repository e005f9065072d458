//===- JoinPipeline.cpp - Joins the functions of pp ranks -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Joins the functions of all pp ranks into one. The tasks of one generic
// micro-batch follow each other along the stages in the body of one
// dist.accumulate. The ops before and after it are joined at the exchanges:
//
//     pp rank 0:  F0 --x--> .  . --dx--> BW0, sum a        body: F0, F1, BW1,
//     pp rank 1:          F1, BW1, sum b                   BW0, yield a, b
//
// A received value is the sender's value; likewise for the result of an
// exchange. If a chunk has BW as well as B and W, or micro-batches take two
// paths, all variants are joined. If value numbering shows that they compute
// the same, one is kept; otherwise each way can be joined separately to find
// the wrong one. A result of several pp ranks is one value if they compute the
// same; otherwise the program is joined once per different value.
//
//===----------------------------------------------------------------------===//

#include "JoinPipeline.h"
#include "SumOps.h"
#include <set>

using namespace mlir;
using namespace tessera;
using dist::DistDialect;
using dist::TaskKind;
using schedule::Slot;

//===----------------------------------------------------------------------===//
// Boundary
//===----------------------------------------------------------------------===//

/// Maps numbers in the reference to the pp ranks that have the argument or
/// result, with its index there.
using Holders = std::map<int64_t, SmallVector<std::pair<int64_t, unsigned>>>;

/// Finds the holders of `count(function)` arguments or results with numbers.
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

/// Attributes of a boundary value without its number; a donation refers to the
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

using GetAttrs = llvm::function_ref<DictionaryAttr(func::FuncOp, unsigned)>;

/// The attributes on which all pp ranks with an argument or result agree.
static FailureOr<DictionaryAttr>
getCommonAttrs(const PipelineProgram &program,
               ArrayRef<std::pair<int64_t, unsigned>> holders, StringRef what,
               GetAttrs getAttrs) {
  DictionaryAttr common;
  for (auto [rank, index] : holders) {
    func::FuncOp function = program.functions[rank];
    DictionaryAttr attrs = withoutNumber(getAttrs(function, index), function);
    if (!common)
      common = attrs;
    else if (attrs != common)
      return function.emitError()
             << what << " " << index << " of pp rank " << rank
             << ": expects the sharding and the donation that it has on pp "
             << "rank " << holders.front().first;
  }
  return common;
}

LogicalResult Joiner::makeFunction() {
  func::FuncOp first = program.functions.front();
  SmallVector<Type> argumentTypes, resultTypes;
  SmallVector<Attribute> argumentAttrs, resultAttrs;
  Holders arguments = findArguments(program);
  for (const auto &[number, holders] : arguments) {
    auto [rank, i] = holders.front();
    func::FuncOp function = program.functions[rank];
    auto attrs = getCommonAttrs(
        program, holders, "argument",
        [](func::FuncOp f, unsigned i) { return f.getArgAttrDict(i); });
    if (failed(attrs))
      return failure();
    argumentTypes.push_back(function.getArgumentTypes()[i]);
    argumentAttrs.push_back(*attrs);
  }
  for (const auto &[number, holders] : findResults(program)) {
    auto [rank, i] = holders.front();
    func::FuncOp function = program.functions[rank];
    auto attrs = getCommonAttrs(
        program, holders, "result",
        [](func::FuncOp f, unsigned i) { return f.getResultAttrDict(i); });
    if (failed(attrs))
      return failure();
    resultTypes.push_back(function.getResultTypes()[i]);
    resultAttrs.push_back(*attrs);
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
  numbers.add(joined.getBody().front());
  SmallVector<Value> operands;
  for (const auto &[number, holders] : findResults(program)) {
    SmallVector<Value> different;
    for (auto [rank, i] : holders) {
      Value value = values[rank].lookup(next[rank]->getOperand(i));
      if (llvm::none_of(different, [&](Value other) {
            return numbers.get(other) == numbers.get(value);
          }))
        different.push_back(value);
    }
    choices = std::max<unsigned>(choices, different.size());
    operands.push_back(
        different[std::min<size_t>(choice, different.size() - 1)]);
  }
  func::ReturnOp::create(builder, joined.getLoc(), operands);
}

//===----------------------------------------------------------------------===//
// Body
//===----------------------------------------------------------------------===//

LogicalResult Joiner::giveUp(Operation *op, const Twine &why) {
  doubt = {PartitionAnswer::NotProvable, op, why.str(), std::nullopt};
  return failure();
}

/// The task of a chunk that sends gradients.
dist::TaskOp Joiner::getGradTask(Slot slot) const {
  dist::TaskOp backward = program.getTask(TaskKind::Backward, slot);
  return way && way->whole && backward ? backward : program.getGradTask(slot);
}

/// Clones the collectives of a bucket one by one, which is equivalent.
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
  bool isSum = llvm::any_of(first.getResultTypes(), [](Type type) {
    return cast<RankedTensorType>(type).getRank() > 0;
  });
  for (int64_t rank : members)
    for (Value operand : next[rank]->getOperands())
      isSum |= isPart(values[rank].lookup(operand));
  if (isSum)
    return joinSums(members);
  llvm::DenseMap<int64_t, unsigned> used;
  for (auto [i, from] : llvm::enumerate(first.getFrom())) {
    Value value = values[from].lookup(next[from]->getOperand(used[from]++));
    for (int64_t rank : members)
      values[rank].map(next[rank]->getResult(i), value);
  }
  return success();
}

/// Clones a task after the tasks from which it takes values.
void Joiner::cloneTask(TaskKind kind, Slot slot, const Slot &neighbour) {
  dist::TaskOp task = program.getTask(kind, slot);
  IRMapping &map = values[slot.rank];
  auto getOutputs = [&](Slot of, TaskKind by) -> Outputs & {
    return outputs[{of.rank, of.chunk, by}];
  };
  for (BlockArgument argument : task.getBody().getArguments()) {
    dist::SourceAttr source = task.getSource(argument.getArgNumber());
    int64_t index = source.getIndex();
    Value value;
    switch (source.getKind()) {
    case dist::SourceKind::Recv: {
      TaskKind sender =
          kind == TaskKind::Forward ? kind : getGradTask(neighbour).getKind();
      value = getOutputs(neighbour, sender).sends[index];
      break;
    }
    case dist::SourceKind::Batch:
      value = slices[slot.rank][index];
      break;
    case dist::SourceKind::Forward:
      value = getOutputs(slot, TaskKind::Forward).keeps[index];
      break;
    case dist::SourceKind::InputGrad:
      value = getOutputs(slot, TaskKind::InputGrad).keeps[index];
      break;
    }
    map.map(argument, value);
  }
  for (Operation &op : task.getBody().front().without_terminator())
    builder.clone(op, map);
  dist::TaskYieldOp yield = task.getYield();
  Outputs &mine = getOutputs(slot, kind);
  for (Value value : yield.getSends())
    mine.sends.push_back(map.lookupOrDefault(value));
  for (Value value : yield.getKeeps())
    mine.keeps.push_back(map.lookupOrDefault(value));
  for (Value value : yield.getAdds())
    mine.adds.push_back(map.lookupOrDefault(value));
  llvm::append_range(mine.addTo, yield.getAddTo());
  for (Value value : yield.getStores())
    mine.adds.push_back(map.lookupOrDefault(value));
  llvm::append_range(mine.addTo, yield.getStoreTo());
}

/// Builds the accumulate over the batches of all pp ranks, in the order of the
/// function's arguments, as in the whole program. Its body is empty.
void Joiner::makeAccumulate() {
  SmallVector<Value> batches;
  SmallVector<Type> types;
  std::set<unsigned> known;
  for (int64_t rank = 0; rank < program.getNumRanks(); ++rank) {
    dist::PipelineOp pipeline = program.pipelines[rank];
    for (Value batch : pipeline.getBatches()) {
      Value value = values[rank].lookup(batch);
      if (!known.count(numbers.get(value))) {
        known.insert(numbers.get(value));
        batches.push_back(value);
      }
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
    body->addArgument(dist::getSliceType(type), batch.getLoc());
  }
  for (int64_t rank = 0; rank < program.getNumRanks(); ++rank) {
    dist::PipelineOp pipeline = program.pipelines[rank];
    auto &arguments = slices.emplace_back();
    for (Value batch : pipeline.getBatches()) {
      unsigned number = numbers.get(values[rank].lookup(batch));
      auto *same = llvm::find_if(
          batches, [&](Value value) { return numbers.get(value) == number; });
      arguments.push_back(body->getArgument(same - batches.begin()));
    }
  }
}

/// Clones all tasks of one micro-batch of a path, along the stages and back.
void Joiner::cloneTasks(int path) {
  const schedule::ScheduleProblem &problem = program.problem;
  int last = problem.stages() - 1;
  auto getSlot = [&](int stage) {
    return problem.slotOf(std::clamp(stage, 0, last),
                          path * problem.microBatchesOf());
  };
  for (int stage = 0; stage <= last; ++stage)
    cloneTask(TaskKind::Forward, getSlot(stage), getSlot(stage - 1));
  for (int stage = last; stage >= 0; --stage)
    for (TaskKind kind :
         {TaskKind::InputGrad, TaskKind::Backward, TaskKind::WeightGrad})
      if (program.getTask(kind, getSlot(stage)))
        cloneTask(kind, getSlot(stage), getSlot(stage + 1));
}

/// Checks that a chunk with BW as well as B and W sends the same from BW and B,
/// and adds the same in both variants: then either can run for a micro-batch.
LogicalResult Joiner::checkAlternatives() {
  if (way)
    return success();
  for (auto &[key, whole] : outputs) {
    auto [rank, chunk, kind] = key;
    auto inputGrad = outputs.find({rank, chunk, TaskKind::InputGrad});
    if (kind != TaskKind::Backward || inputGrad == outputs.end())
      continue;
    const Outputs &weightGrad = outputs.at({rank, chunk, TaskKind::WeightGrad});
    std::set<int64_t> sums(whole.addTo.begin(), whole.addTo.end());
    auto getAdds = [&](const Outputs &from, int64_t to) {
      SmallVector<Value> adds;
      for (auto [number, value] : llvm::zip_equal(from.addTo, from.adds))
        if (number == to)
          adds.push_back(value);
      return adds;
    };
    sums.insert(inputGrad->second.addTo.begin(), inputGrad->second.addTo.end());
    sums.insert(weightGrad.addTo.begin(), weightGrad.addTo.end());
    bool isSame = llvm::equal(
        whole.sends, inputGrad->second.sends,
        [&](Value a, Value b) { return numbers.get(a) == numbers.get(b); });
    for (int64_t to : sums) {
      SmallVector<Value> apart = getAdds(inputGrad->second, to);
      llvm::append_range(apart, getAdds(weightGrad, to));
      isSame &=
          numbers.getSorted(getAdds(whole, to)) == numbers.getSorted(apart);
    }
    if (!isSame)
      return giveUp(program.getTask(kind, Slot{rank, chunk}),
                    "pp rank " + Twine(rank) + ": expects BW " + Twine(chunk) +
                        " to send and add what its B and W do");
  }
  return success();
}

/// Collects the terms of each pp rank's results. A chunk with BW as well as B
/// and W contributes the terms of B and W, unless a way requires BW.
void Joiner::gatherTerms() {
  const schedule::ScheduleProblem &problem = program.problem;
  for (int64_t rank = 0; rank < program.getNumRanks(); ++rank) {
    size_t first = terms.size();
    dist::PipelineOp pipeline = program.pipelines[rank];
    terms.resize(first + pipeline.getNumResults());
    for (size_t i = first; i < terms.size(); ++i)
      terms[i].resize(problem.numPaths());
    for (int path = 0; path < problem.numPaths(); ++path)
      for (int chunk = 0; chunk < problem.chunks; ++chunk)
        for (TaskKind kind : {TaskKind::Forward, TaskKind::InputGrad,
                              TaskKind::WeightGrad, TaskKind::Backward}) {
          Slot slot{static_cast<int>(rank), chunk};
          bool isGrad = kind != TaskKind::Forward;
          dist::TaskOp grad = isGrad ? getGradTask(slot) : dist::TaskOp();
          if (!problem.passes(slot, path * problem.microBatchesOf()) ||
              (grad && (grad.getKind() == TaskKind::Backward) !=
                           (kind == TaskKind::Backward)))
            continue;
          const Outputs &from = outputs[{rank, chunk, kind}];
          for (auto [to, value] : llvm::zip_equal(from.addTo, from.adds))
            terms[first + to][path].push_back(value);
        }
  }
}

/// True if a result of the accumulate is a sum over all micro-batches: each
/// path adds the same to it or, with a given way, adds anything at all.
bool Joiner::isWhole(unsigned result) {
  return result >= terms.size() ||
         llvm::all_of(terms[result], [&](ValueRange ofPath) {
           if (way)
             return !ofPath.empty();
           return numbers.getSorted(ofPath) ==
                  numbers.getSorted(terms[result].front());
         });
}

/// The contribution of a micro-batch to a result: the sum of its terms in
/// program order, as the whole program adds them.
FailureOr<Value> Joiner::addTerms(OpResult result) {
  ArrayRef<SmallVector<Value>> ofPath = terms[result.getResultNumber()];
  // A sum over some micro-batches only is not a result: see dropUnused().
  const auto *some =
      way ? &ofPath[way->path] : llvm::find_if(ofPath, [](const auto &values) {
        return !values.empty();
      });
  if (some == ofPath.end() || some->empty())
    return buildZero(builder, result.getLoc(), result.getType());
  SmallVector<Value> ordered(*some);
  Block *body = builder.getInsertionBlock();
  llvm::stable_sort(ordered, [&](Value a, Value b) {
    bool isInside = a.getParentBlock() == body && a.getDefiningOp();
    if (b.getParentBlock() != body || !b.getDefiningOp())
      return false;
    return !isInside || a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp());
  });
  if (ordered.size() > 1 && ordered.front().getType() != result.getType())
    return giveUp(program.pipelines.front(),
                  "several tasks store the same slices of a result");
  Value sum = ordered.front();
  for (Value term : ArrayRef(ordered).drop_front())
    sum = addValues(builder, term.getLoc(), sum, term);
  return sum;
}

LogicalResult Joiner::joinPipelines() {
  numbers.add(joined.getBody().front());
  makeAccumulate();
  OpBuilder::InsertionGuard guard(builder);
  Block &body = accumulate.getBody().front();
  builder.setInsertionPointToEnd(&body);
  for (int path = 0; path < program.problem.numPaths(); ++path)
    cloneTasks(path);
  numbers.add(body);
  if (failed(checkAlternatives()))
    return failure();
  gatherTerms();
  SmallVector<Value> yielded;
  for (OpResult result : accumulate->getResults()) {
    FailureOr<Value> sum = addTerms(result);
    if (failed(sum))
      return failure();
    yielded.push_back(*sum);
  }
  for (dist::PipelineOp pipeline : program.pipelines)
    pipelineResults.emplace_back(pipeline.getResults());
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
    auto *found = llvm::find_if(byRank, [&](Operation *op) {
      return !isa<func::ReturnOp>(op) && isSameJointOp(byRank, getMembers(op));
    });
    // readPipelineProgram() has checked that all joint ops can run.
    if (found == byRank.end())
      break;
    SmallVector<int64_t> members = getMembers(*found);
    LogicalResult result =
        isa<dist::ExchangeOp>(*found) ? joinExchange(members) : joinPipelines();
    if (failed(result)) {
      joined.erase();
      return failure();
    }
    for (int64_t rank : members)
      ++next[rank];
  }
  finish();
  if (failed(dropUnused())) {
    joined.erase();
    return failure();
  }
  return joined;
}
