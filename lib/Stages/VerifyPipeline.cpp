//===- VerifyPipeline.cpp - Proof of pipeline programs --------------------===//
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

#include "tessera/Stages/VerifyPipeline.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "tessera/Validation/VerifyPartition.h"
#include <map>

using namespace mlir;
using namespace tessera;
using dist::DistDialect;
using dist::TaskKind;
using schedule::Slot;

namespace {

class Joiner {
public:
  Joiner(const PipelineProgram &program, unsigned choice)
      : program(program), choice(choice),
        builder(func::FuncOp(program.functions.front()).getContext()) {}

  /// The joined function, at the end of the module; a failure, with an error,
  /// if it cannot be written down.
  FailureOr<func::FuncOp> join();

private:
  void makeFunction();
  void advance(int64_t rank);
  LogicalResult joinExchange(ArrayRef<int64_t> members);
  LogicalResult joinSum(ArrayRef<int64_t> members);
  Value addToAccumulate(ArrayRef<Value> terms);
  void rebuildAccumulate(ArrayRef<Value> yielded, ArrayRef<unsigned> kept);
  void mapSums();
  void dropUnused();
  Value add(Location loc, Value a, Value b);
  LogicalResult joinPipelines();
  void cloneTask(TaskKind kind, int stage, const Slot *neighbour);
  void finish();

  const PipelineProgram &program;
  /// Of the pp ranks that have a result, which one's is taken; the last for
  /// greater numbers.
  unsigned choice;
  OpBuilder builder;
  func::FuncOp joined;
  SmallVector<IRMapping> values;
  SmallVector<Block::iterator> next;
  /// What the tasks of the generic micro-batch send and keep.
  struct Outputs {
    SmallVector<Value> sends, keeps;
  };
  std::map<std::tuple<int, int, TaskKind>, Outputs> outputs;
  /// By pp rank and result: what is added in one micro-batch.
  std::map<std::pair<int64_t, int64_t>, Value> added;
  /// The micro-batches of the joined function, and the results of each pp
  /// rank's pipeline, which are its results in order.
  dist::AccumulateOp accumulate;
  SmallVector<SmallVector<Value>> pipelineResults;
  /// Additions of exchanged parts, which were made in the micro-batch.
  llvm::SmallPtrSet<Operation *, 4> skipped;
  /// Arguments of the body of a pp rank's batch operands.
  SmallVector<SmallVector<Value>> slices;
};

} // namespace

//===----------------------------------------------------------------------===//
// Boundary
//===----------------------------------------------------------------------===//

/// By number in the reference, the pp ranks that have an argument or result,
/// with its index there.
using Holders = std::map<int64_t, SmallVector<std::pair<int64_t, unsigned>>>;

static Holders findArguments(const PipelineProgram &program) {
  Holders holders;
  for (int64_t rank = 0; rank < program.getNumRanks(); ++rank) {
    func::FuncOp function = program.functions[rank];
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      holders[getArgumentNumber(function, i)].push_back({rank, i});
  }
  return holders;
}

static Holders findResults(const PipelineProgram &program) {
  Holders holders;
  for (int64_t rank = 0; rank < program.getNumRanks(); ++rank) {
    func::FuncOp function = program.functions[rank];
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      holders[getResultNumber(function, i)].push_back({rank, i});
  }
  return holders;
}

static unsigned countChoices(const PipelineProgram &program) {
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

void Joiner::makeFunction() {
  func::FuncOp first = program.functions.front();
  SmallVector<Type> argumentTypes, resultTypes;
  SmallVector<Attribute> argumentAttrs, resultAttrs;
  Holders arguments = findArguments(program), results = findResults(program);
  for (const auto &[number, holders] : arguments) {
    func::FuncOp function = program.functions[holders.front().first];
    unsigned i = holders.front().second;
    argumentTypes.push_back(function.getArgumentTypes()[i]);
    argumentAttrs.push_back(
        withoutNumber(function.getArgAttrDict(i), function));
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

void Joiner::advance(int64_t rank) {
  Block::iterator &op = next[rank];
  for (; !isa<dist::PipelineOp, dist::ExchangeOp, func::ReturnOp>(*op); ++op)
    if (!skipped.contains(&*op))
      builder.clone(*op, values[rank]);
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

/// The ops that lead from a sum over micro-batches to a value, one operand
/// each; none if they do not.
static std::optional<SmallVector<Operation *>>
findChain(Value value, dist::AccumulateOp accumulate) {
  SmallVector<Operation *> chain;
  while (Operation *def = value.getDefiningOp()) {
    if (def == accumulate) {
      std::reverse(chain.begin(), chain.end());
      return chain;
    }
    if (!isa<dist::CollectiveOpInterface>(def) || def->getNumOperands() != 1)
      return std::nullopt;
    chain.push_back(def);
    value = def->getOperand(0);
  }
  return std::nullopt;
}

/// The additions of an exchange's results, in their order; empty if they are
/// used otherwise.
static SmallVector<Operation *> findAdditions(Operation *exchange) {
  SmallVector<Operation *> additions;
  Value sum = exchange->getResult(0);
  for (Value part : exchange->getResults().drop_front()) {
    if (!sum.hasOneUse() || !part.hasOneUse())
      return {};
    Operation *add = *sum.user_begin();
    if (!isa<arith::AddFOp, arith::AddIOp>(add) || add->getOperand(0) != sum ||
        add->getOperand(1) != part)
      return {};
    additions.push_back(add);
    sum = add->getResult(0);
  }
  return additions;
}

/// Parts of one sum, which each pp rank has reduced alike and now adds up: sums
/// are linear, so they are added in the micro-batch instead, in the order in
/// which it makes them, and reduced once.
LogicalResult Joiner::joinSum(ArrayRef<int64_t> members) {
  auto first = cast<dist::ExchangeOp>(*next[members.front()]);
  auto fail = [&] {
    return first.emitOpError(
        "not provable: what pp ranks exchange is no sum of "
        "their gradients");
  };
  if (!accumulate || first.getFrom().size() != members.size())
    return fail();
  SmallVector<Value> terms;
  SmallVector<Operation *> chain;
  for (int64_t rank : members) {
    Operation *exchange = &*next[rank];
    SmallVector<Operation *> additions = findAdditions(exchange);
    if (exchange->getNumOperands() != 1 ||
        additions.size() + 1 != members.size())
      return fail();
    Value part = values[rank].lookup(exchange->getOperand(0));
    auto mine = findChain(part, accumulate);
    if (!mine || (!terms.empty() &&
                  !llvm::equal(*mine, chain, [](Operation *a, Operation *b) {
                    return a->getName() == b->getName() &&
                           a->getPropertiesAsAttribute() ==
                               b->getPropertiesAsAttribute();
                  })))
      return fail();
    chain = *mine;
    Value sum = chain.empty() ? part : chain.front()->getOperand(0);
    terms.push_back(accumulate.getBody().front().getTerminator()->getOperand(
        cast<OpResult>(sum).getResultNumber()));
    skipped.insert(additions.begin(), additions.end());
  }
  Value whole = addToAccumulate(terms);
  for (Operation *op : chain) {
    IRMapping map;
    map.map(op->getOperand(0), whole);
    whole = builder.clone(*op, map)->getResult(0);
  }
  for (int64_t rank : members)
    values[rank].map(findAdditions(&*next[rank]).back()->getResult(0), whole);
  return success();
}

/// The joined accumulate with other yielded values, of which the first are
/// those of its results `kept`.
void Joiner::rebuildAccumulate(ArrayRef<Value> yielded,
                               ArrayRef<unsigned> kept) {
  Operation *yield = accumulate.getBody().front().getTerminator();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(accumulate);
  auto rebuilt = dist::AccumulateOp::create(
      builder, accumulate.getLoc(), ValueRange(yielded).getTypes(),
      accumulate.getCountAttr(), accumulate.getReduceEachAttr(),
      accumulate.getSlices());
  rebuilt.getBody().takeBody(accumulate.getBody());
  yield->setOperands(yielded);
  for (auto [now, before] : llvm::enumerate(kept))
    accumulate.getResult(before).replaceAllUsesWith(rebuilt.getResult(now));
  accumulate.erase();
  accumulate = rebuilt;
}

/// A new result: the sum of terms of a micro-batch.
Value Joiner::addToAccumulate(ArrayRef<Value> terms) {
  Operation *yield = accumulate.getBody().front().getTerminator();
  SmallVector<Value> ordered(terms);
  llvm::sort(ordered, [](Value a, Value b) {
    return a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp());
  });
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(yield);
  Value sum = ordered.front();
  for (Value term : ArrayRef(ordered).drop_front())
    sum = add(term.getLoc(), sum, term);
  SmallVector<Value> yielded(yield->getOperands());
  SmallVector<unsigned> kept(
      llvm::to_vector(llvm::seq<unsigned>(0, accumulate.getNumResults())));
  yielded.push_back(sum);
  rebuildAccumulate(yielded, kept);
  mapSums();
  return accumulate->getResults().back();
}

/// Maps the results of pipelines to those of the accumulate.
void Joiner::mapSums() {
  unsigned number = 0;
  for (int64_t rank = 0; rank < program.getNumRanks(); ++rank)
    for (Value result : pipelineResults[rank])
      values[rank].map(result, accumulate.getResult(number++));
}

Value Joiner::add(Location loc, Value a, Value b) {
  if (isa<FloatType>(getElementTypeOrSelf(a.getType())))
    return arith::AddFOp::create(builder, loc, a, b);
  return arith::AddIOp::create(builder, loc, a, b);
}

/// Parts of sums that were added in the micro-batch are used no more.
void Joiner::dropUnused() {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(joined.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  SmallVector<Value> yielded;
  SmallVector<unsigned> kept;
  Operation *yield = accumulate.getBody().front().getTerminator();
  for (OpResult result : accumulate->getResults())
    if (!result.use_empty()) {
      kept.push_back(result.getResultNumber());
      yielded.push_back(yield->getOperand(result.getResultNumber()));
    }
  rebuildAccumulate(yielded, kept);
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
    sum = sum ? add(task.getLoc(), sum, term) : term;
  }
}

/// All tasks of one micro-batch, along the stages and back.
LogicalResult Joiner::joinPipelines() {
  dist::PipelineOp first = program.pipelines.front();
  if (first.getPaths().size() > 1)
    return first.emitOpError("not provable: micro-batches take several paths");
  for (dist::PipelineOp pipeline : program.pipelines)
    for (auto task : pipeline.getBody().getOps<dist::TaskOp>())
      if (!task.getYield().getStores().empty())
        return task.emitOpError("not provable: it stores slices of a result");
  SmallVector<Value> batches;
  SmallVector<SmallVector<unsigned>> numbers;
  SmallVector<Type> types;
  for (int64_t rank = 0; rank < program.getNumRanks(); ++rank) {
    dist::PipelineOp pipeline = program.pipelines[rank];
    auto &mine = numbers.emplace_back();
    for (Value batch : pipeline.getBatches()) {
      Value value = values[rank].lookup(batch);
      mine.push_back(llvm::find(batches, value) - batches.begin());
      if (mine.back() == batches.size())
        batches.push_back(value);
    }
    llvm::append_range(types, pipeline.getResultTypes());
  }
  // In the order of the arguments, as a micro-batch of the whole program.
  auto position = [](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? argument.getArgNumber() : ~0u;
  };
  SmallVector<Value> ordered(batches);
  llvm::stable_sort(
      ordered, [&](Value a, Value b) { return position(a) < position(b); });
  for (auto &mine : numbers)
    for (unsigned &number : mine)
      number = llvm::find(ordered, batches[number]) - ordered.begin();
  batches = std::move(ordered);
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
  for (const auto &mine : numbers) {
    auto &arguments = slices.emplace_back();
    for (unsigned number : mine)
      arguments.push_back(body->getArgument(number));
  }
  const schedule::ScheduleProblem &problem = program.problem;
  int stages = problem.stages();
  auto has = [&](TaskKind kind, int stage) {
    return bool(program.getTask(kind, problem.slotOf(stage, 0)));
  };
  for (int stage = 0; stage < stages; ++stage) {
    Slot before = problem.slotOf(std::max(stage - 1, 0), 0);
    cloneTask(TaskKind::Forward, stage, &before);
  }
  for (int stage = stages - 1; stage >= 0; --stage) {
    Slot after = problem.slotOf(std::min(stage + 1, stages - 1), 0);
    for (TaskKind kind : {TaskKind::InputGrad, TaskKind::Backward})
      if (has(kind, stage))
        cloneTask(kind, stage, &after);
    if (has(TaskKind::WeightGrad, stage))
      cloneTask(TaskKind::WeightGrad, stage, nullptr);
  }
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
  dist::YieldOp::create(builder, first.getLoc(), yielded);
  return success();
}

FailureOr<func::FuncOp> Joiner::join() {
  makeFunction();
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

LogicalResult tessera::verifyPipeline(const PipelineProgram &program,
                                      FunctionOpInterface reference) {
  func::FuncOp first = program.functions.front();
  FailureOr<dist::MeshOp> mesh =
      dist::getOnlyMesh(first->getParentOfType<ModuleOp>());
  if (failed(mesh))
    return failure();
  for (unsigned choice = 0, e = countChoices(program); choice < e; ++choice) {
    FailureOr<func::FuncOp> joined = Joiner(program, choice).join();
    if (failed(joined))
      return failure();
    LogicalResult proven =
        verifyPartition(*joined, mesh->getMesh().toMesh(), reference).report();
    joined->erase();
    if (failed(proven))
      return failure();
  }
  return success();
}
