//===- SplitStages.cpp - A local program as a pipeline program ------------===//
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
// After the pipeline an op stays on the pp ranks that have its operands.
// Scalars that come of tensors or sums are exchanged, all that are ready at one
// time, so that ops on scalars run everywhere and in their order. A sum of
// several pp ranks is exchanged after the reductions over other axes, and added
// in the order of stages. What a pp rank has no use for is removed.
//
//===----------------------------------------------------------------------===//

#include "StageAssignment.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tessera/Schedule/ActionList.h"
#include "tessera/Schedule/Generators.h"
#include "tessera/Schedule/ScheduleCsv.h"
#include "tessera/Stages/Passes.h"
#include "tessera/Stages/PipelineProgram.h"
#include "tessera/Support/PlanFields.h"
#include "llvm/Support/MemoryBuffer.h"
#include <map>
#include <numeric>

namespace tessera {
#define GEN_PASS_DEF_SPLITSTAGESPASS
#include "tessera/Stages/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using dist::DistDialect;
using dist::SourceKind;
using dist::TaskKind;
using schedule::Slot;

namespace {

/// A set of pp ranks.
using RankSet = llvm::SmallBitVector;

/// A task while it is built.
struct Task {
  TaskKind kind;
  int stage;
  Block *body = nullptr;
  /// From values of the micro-batch, and from outside, to those of the task.
  IRMapping values;
  SmallVector<Attribute> sources;
  SmallVector<Value> sends, keeps, adds;
  SmallVector<int64_t> addTo;
  /// Where a value is among those that are sent and kept.
  llvm::DenseMap<Value, int64_t> sendIndex, keepIndex;
};

/// One pp rank's function while it is built.
struct Rank {
  func::FuncOp function;
  /// From the values of the whole program.
  IRMapping values;
};

class Splitter {
public:
  Splitter(func::FuncOp whole, dist::AccumulateOp accumulate,
           const StageAssignment &stages,
           const schedule::ScheduleProblem &problem,
           const schedule::Schedule &schedule, bool splitsBackward)
      : whole(whole), accumulate(accumulate),
        body(accumulate.getBody().front()), stages(stages), problem(problem),
        schedule(schedule), splitsBackward(splitsBackward),
        builder(whole.getContext()), ranks(problem.ranks) {}

  /// Puts the functions of all pp ranks in the place of the whole one.
  LogicalResult run();

private:
  void makeFunctions();
  void buildTasks();
  void fillOp(Task &task, Operation *op);
  Value getIn(Task &task, Value value);
  Value fetch(Task &task, Operation *def, Value value);
  Value addArgument(Task &task, SourceKind source, int64_t index, Value value);
  int64_t addSend(Task &task, Value value);
  int64_t addKeep(Task &task, Value value);
  bool isIn(const Task &task, Operation *op) const;
  Task &getTask(TaskKind kind, int stage) { return tasks.at({stage, kind}); }
  Task &gradTask(int stage) { return getTask(gradKind, stage); }
  Task &taskOf(Value term);
  void addTerms();
  void makePipeline(int64_t number);
  dist::TaskOp makeTaskOp(Task &task, ArrayRef<int64_t> batchNumbers);
  int getRank(int stage) const { return problem.slotOf(stage, 0).rank; }

  LogicalResult placeEpilogue();
  LogicalResult placeOp(Operation *op);
  void emitOp(Operation *op);
  void addSum(Value value);
  void exchange(ArrayRef<Value> scalars);
  RankSet getPlace(Value value) const;
  bool isRootScalar(Value value) const;
  LogicalResult finishFunctions();
  void finishFunction(int64_t number);
  LogicalResult numberArguments(int64_t number);

  func::FuncOp whole;
  dist::AccumulateOp accumulate;
  Block &body;
  const StageAssignment &stages;
  const schedule::ScheduleProblem &problem;
  const schedule::Schedule &schedule;
  bool splitsBackward;
  TaskKind gradKind = splitsBackward ? TaskKind::InputGrad : TaskKind::Backward;
  OpBuilder builder;
  std::vector<Rank> ranks;
  std::map<std::pair<int, TaskKind>, Task> tasks;
  /// Additions that leave the micro-batch.
  llvm::SmallPtrSet<Operation *, 8> additions;
  /// By sum: the first stage of each pp rank that adds to it, ascending.
  SmallVector<SmallVector<int>> contributors;
  /// Where the values after the pipeline are; what is not in it is everywhere.
  llvm::DenseMap<Value, RankSet> places;
  /// What tensors of the pipeline's results were made into.
  llvm::DenseSet<Value> computed;
  /// By value: the sum of which each pp rank of its place has a part.
  llvm::DenseMap<Value, unsigned> parts;
  /// How many exchanges of scalars come before an op or a value.
  llvm::DenseMap<Operation *, unsigned> levels;
  llvm::DenseMap<Value, unsigned> valueLevels;
  SmallVector<Value> rootScalars;
};

} // namespace

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void Splitter::makeFunctions() {
  builder.setInsertionPoint(whole);
  for (auto [number, rank] : llvm::enumerate(ranks)) {
    rank.function = func::FuncOp::create(
        builder, whole.getLoc(), (whole.getName() + "_" + Twine(number)).str(),
        whole.getFunctionType());
    rank.function->setDiscardableAttrs(whole->getDiscardableAttrDictionary());
    rank.function->setAttr(DistDialect::kPPRankAttr,
                           builder.getI64IntegerAttr(number));
    rank.function->setAttr(
        DistDialect::kReferenceAttr,
        FlatSymbolRefAttr::get(builder.getContext(), whole.getName()));
    SmallVector<Attribute> attrs;
    for (unsigned i = 0; i < whole.getNumArguments(); ++i)
      attrs.push_back(whole.getArgAttrDict(i));
    rank.function.setAllArgAttrs(attrs);
    Block *entry = rank.function.addEntryBlock();
    rank.values.map(whole.getArguments(), entry->getArguments());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(entry);
    for (Operation &op : whole.getBody().front()) {
      if (&op == accumulate)
        break;
      builder.clone(op, rank.values);
    }
  }
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

bool Splitter::isIn(const Task &task, Operation *op) const {
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

Value Splitter::addArgument(Task &task, SourceKind source, int64_t index,
                            Value value) {
  task.sources.push_back(
      dist::SourceAttr::get(builder.getContext(), source, index));
  Value argument = task.body->addArgument(value.getType(), value.getLoc());
  task.values.map(value, argument);
  return argument;
}

int64_t Splitter::addSend(Task &task, Value value) {
  auto [it, isNew] = task.sendIndex.try_emplace(value, task.sends.size());
  int64_t index = it->second;
  if (isNew) {
    task.sends.push_back({});
    Value sent = getIn(task, value);
    task.sends[index] = sent;
  }
  return index;
}

int64_t Splitter::addKeep(Task &task, Value value) {
  auto [it, isNew] = task.keepIndex.try_emplace(value, task.keeps.size());
  int64_t index = it->second;
  if (isNew) {
    task.keeps.push_back({});
    Value kept = getIn(task, value);
    task.keeps[index] = kept;
  }
  return index;
}

/// A value that another task makes.
Value Splitter::fetch(Task &task, Operation *def, Value value) {
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
Value Splitter::getIn(Task &task, Value value) {
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
void Splitter::fillOp(Task &task, Operation *op) {
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
      Task &task = tasks[{stage, kind}];
      task.kind = kind;
      task.stage = stage;
      task.body = new Block();
    }
  }
  auto fill = [&](Task &task) {
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
Task &Splitter::taskOf(Value term) {
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
      Task &task = taskOf(term);
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

dist::TaskOp Splitter::makeTaskOp(Task &task, ArrayRef<int64_t> batchNumbers) {
  MLIRContext *context = builder.getContext();
  Rank &rank = ranks[getRank(task.stage)];
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
  dist::TaskYieldOp::create(builder, accumulate.getLoc(), task.sends,
                            task.keeps, results, task.adds, ArrayRef<int64_t>(),
                            ValueRange());
  return op;
}

void Splitter::makePipeline(int64_t number) {
  Rank &rank = ranks[number];
  SmallVector<Task *> mine;
  for (auto &[key, task] : tasks)
    if (getRank(task.stage) == number)
      mine.push_back(&task);
  SmallVector<int64_t> batchNumbers;
  for (Task *task : mine)
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
  for (Task *task : mine)
    makeTaskOp(*task, batchNumbers);
  rank.values.map(ValueRange(sums), pipeline.getResults());
}

//===----------------------------------------------------------------------===//
// After the pipeline
//===----------------------------------------------------------------------===//

static bool isScalar(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 0;
}

/// Reductions over axes of the mesh, and slices: what they make of the parts of
/// a sum are parts of what they make of the sum.
static bool isLinear(Operation *op) {
  auto collective = dyn_cast<dist::CollectiveOpInterface>(op);
  if (!collective)
    return false;
  if (isa<dist::AllSliceOp>(op))
    return true;
  if (auto reduce = dyn_cast<dist::AllReduceOp>(op))
    return reduce.getKind() == dist::ReductionKind::Sum;
  if (auto scatter = dyn_cast<dist::ReduceScatterOp>(op))
    return scatter.getKind() == dist::ReductionKind::Sum;
  return false;
}

RankSet Splitter::getPlace(Value value) const {
  auto it = places.find(value);
  return it == places.end() ? RankSet(ranks.size(), true) : it->second;
}

/// A scalar that some pp ranks compute of tensors or of micro-batches: all get
/// it.
bool Splitter::isRootScalar(Value value) const {
  return isScalar(value) && !getPlace(value).all();
}

/// Where an op runs, and after how many exchanges.
LogicalResult Splitter::placeOp(Operation *op) {
  RankSet place(ranks.size(), true);
  unsigned level = 0;
  bool isPart = false, isComputed = false;
  llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), used);
  for (Value value : used) {
    unsigned before = valueLevels.lookup(value);
    if (isRootScalar(value)) {
      level = std::max(level, before + 1);
      continue;
    }
    level = std::max(level, before);
    place &= getPlace(value);
    isComputed |= computed.contains(value);
    isPart |= parts.count(value) && value.hasOneUse() && isLinear(op);
  }
  if (place.none())
    return op->emitError("expects tensors of one pp rank to split the program "
                         "into stages but got operands of several");
  levels[op] = level;
  for (Value result : op->getResults()) {
    places[result] = place;
    valueLevels[result] = level;
    if (isComputed)
      computed.insert(result);
    if (isPart)
      parts[result] = parts.lookup(op->getOperand(0));
    else if (isRootScalar(result))
      rootScalars.push_back(result);
  }
  return success();
}

/// Makes a sum whole that several pp ranks have parts of.
void Splitter::addSum(Value value) {
  SmallVector<int64_t> from;
  for (int stage : contributors[parts.lookup(value)])
    from.push_back(getRank(stage));
  parts.erase(value);
  SmallVector<int64_t> among(from);
  llvm::sort(among);
  SmallVector<Type> types(from.size(), value.getType());
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(value.getType()));
  for (int64_t number : among) {
    Rank &rank = ranks[number];
    builder.setInsertionPointToEnd(&rank.function.getBody().front());
    auto exchange = dist::ExchangeOp::create(
        builder, value.getLoc(), types, rank.values.lookup(value), from, among);
    Value sum = exchange.getResult(0);
    for (Value part : exchange.getResults().drop_front())
      sum = isFloat ? arith::AddFOp::create(builder, value.getLoc(), sum, part)
                          .getResult()
                    : arith::AddIOp::create(builder, value.getLoc(), sum, part)
                          .getResult();
    rank.values.map(value, sum);
  }
}

/// Gives all pp ranks the scalars that some have.
void Splitter::exchange(ArrayRef<Value> scalars) {
  if (scalars.empty())
    return;
  SmallVector<int64_t> from, among;
  SmallVector<Type> types;
  for (Value scalar : scalars) {
    if (parts.count(scalar))
      addSum(scalar);
    from.push_back(getPlace(scalar).find_first());
    types.push_back(scalar.getType());
  }
  for (size_t number = 0; number < ranks.size(); ++number)
    among.push_back(number);
  for (auto [number, rank] : llvm::enumerate(ranks)) {
    SmallVector<Value> mine;
    for (auto [scalar, owner] : llvm::zip_equal(scalars, from))
      if (owner == static_cast<int64_t>(number))
        mine.push_back(rank.values.lookup(scalar));
    builder.setInsertionPointToEnd(&rank.function.getBody().front());
    auto exchange = dist::ExchangeOp::create(builder, accumulate.getLoc(),
                                             types, mine, from, among);
    for (auto [scalar, result] :
         llvm::zip_equal(scalars, exchange.getResults()))
      rank.values.map(scalar, result);
  }
}

void Splitter::emitOp(Operation *op) {
  for (Value operand : op->getOperands())
    if (parts.count(operand) && !(operand.hasOneUse() && isLinear(op)))
      addSum(operand);
  RankSet place(ranks.size(), true);
  for (Value operand : op->getOperands())
    if (!isRootScalar(operand))
      place &= getPlace(operand);
  for (unsigned number : place.set_bits()) {
    builder.setInsertionPointToEnd(&ranks[number].function.getBody().front());
    builder.clone(*op, ranks[number].values);
  }
}

LogicalResult Splitter::placeEpilogue() {
  for (auto [sum, from] : llvm::enumerate(contributors)) {
    Value value = accumulate.getResult(sum);
    RankSet place(ranks.size());
    for (int stage : from)
      place.set(getRank(stage));
    places[value] = place;
    computed.insert(value);
    if (from.size() > 1)
      parts[value] = sum;
    if (isScalar(value))
      rootScalars.push_back(value);
  }
  SmallVector<Operation *> ops;
  unsigned last = 0;
  for (Operation *op = accumulate->getNextNode();
       !op->hasTrait<OpTrait::IsTerminator>(); op = op->getNextNode()) {
    if (failed(placeOp(op)))
      return failure();
    ops.push_back(op);
    last = std::max(last, levels[op]);
  }
  for (unsigned level = 0; level <= last; ++level) {
    for (Operation *op : ops)
      if (levels[op] == level)
        emitOp(op);
    SmallVector<Value> scalars;
    for (Value scalar : rootScalars)
      if (valueLevels.lookup(scalar) == level)
        scalars.push_back(scalar);
    exchange(scalars);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Boundary
//===----------------------------------------------------------------------===//

/// Removes ops without use, the last ones first.
static void removeDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// The results that a pp rank has: scalars everywhere, else what it computes;
/// what is made of arguments alone is the first one's.
void Splitter::finishFunction(int64_t number) {
  Rank &rank = ranks[number];
  Operation *terminator = whole.getBody().front().getTerminator();
  SmallVector<Value> operands;
  SmallVector<Attribute> attrs;
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    bool isHere =
        isScalar(value) ||
        (computed.contains(value) ? getPlace(value).test(number) : number == 0);
    if (!isHere)
      continue;
    operands.push_back(rank.values.lookup(value));
    NamedAttrList list(whole.getResultAttrDict(i));
    list.set(DistDialect::kNumberAttr, builder.getI64IntegerAttr(i));
    attrs.push_back(list.getDictionary(builder.getContext()));
  }
  Block &block = rank.function.getBody().front();
  builder.setInsertionPointToEnd(&block);
  func::ReturnOp::create(builder, terminator->getLoc(), operands);
  removeDead(block);
  rank.function.setFunctionType(builder.getFunctionType(
      rank.function.getArgumentTypes(), ValueRange(operands).getTypes()));
  rank.function.setAllResultAttrs(attrs);
}

/// Numbers the arguments that are left, and says which results take their place
/// here.
LogicalResult Splitter::numberArguments(int64_t number) {
  func::FuncOp function = ranks[number].function;
  llvm::BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    if (argument.use_empty()) {
      unused.set(i);
      continue;
    }
    function.setArgAttr(i, DistDialect::kNumberAttr,
                        builder.getI64IntegerAttr(i));
    auto donated =
        function.getArgAttrOfType<IntegerAttr>(i, DistDialect::kDonateAttr);
    if (!donated)
      continue;
    int64_t result = 0, results = function.getNumResults();
    while (result < results &&
           getResultNumber(function, result) != donated.getInt())
      ++result;
    if (result == results)
      return whole.emitError("argument ")
             << i << ": expects its update on each pp rank that uses it, but "
             << "pp rank " << number << " has none";
    function.setArgAttr(i, DistDialect::kDonateAttr,
                        builder.getI64IntegerAttr(result));
  }
  return function.eraseArguments(unused);
}

LogicalResult Splitter::finishFunctions() {
  for (Value value : whole.getBody().front().getTerminator()->getOperands())
    if (parts.count(value))
      addSum(value);
  for (size_t number = 0; number < ranks.size(); ++number) {
    finishFunction(number);
    if (failed(numberArguments(number)))
      return failure();
  }
  whole.erase();
  return success();
}

LogicalResult Splitter::run() {
  for (Value value : body.getTerminator()->getOperands())
    (void)stages.getTerms(value, additions);
  makeFunctions();
  buildTasks();
  addTerms();
  for (size_t number = 0; number < ranks.size(); ++number)
    makePipeline(number);
  if (failed(placeEpilogue()))
    return failure();
  return finishFunctions();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// Blocks of each stage: as given, or evenly, where earlier stages get what
/// does not divide.
static llvm::Expected<SmallVector<int64_t>>
getLayers(const Plan &plan, int64_t stages, int64_t blocks) {
  if (plan.stageLayers.empty()) {
    if (blocks < stages)
      return llvm::createStringError("pp: expects at most " + Twine(blocks) +
                                     " stages, the blocks of the model, but "
                                     "got " +
                                     Twine(stages));
    SmallVector<int64_t> layers;
    for (int64_t stage = 0; stage < stages; ++stage)
      layers.push_back(blocks / stages + (stage < blocks % stages));
    return layers;
  }
  SmallVector<int64_t> layers(plan.stageLayers.begin(), plan.stageLayers.end());
  int64_t sum = std::accumulate(layers.begin(), layers.end(), int64_t(0));
  if (sum != blocks || static_cast<int64_t>(layers.size()) != stages)
    return llvm::createStringError(
        "stage-layers: expects " + Twine(stages) +
        " numbers that add up to the " + Twine(blocks) +
        " blocks of the model but got " + Twine(layers.size()) +
        " that add up to " + Twine(sum));
  return layers;
}

/// The lists of a plan's schedule, by name or in a file, with transfers posted
/// as programs run them.
static llvm::Expected<schedule::ListedSchedule> makeSchedule(const Plan &plan,
                                                             int64_t count) {
  schedule::ListedSchedule made;
  auto microBatches = static_cast<int>(count);
  if (plan.scheduleFile.empty()) {
    auto problem =
        schedule::makeProblem(plan.schedule, static_cast<int>(plan.pp),
                              static_cast<int>(plan.vpp), microBatches);
    if (!problem)
      return problem.takeError();
    made.problem = *problem;
    made.schedule = schedule::generate(plan.schedule, *problem);
  } else {
    auto buffer = llvm::MemoryBuffer::getFile(plan.scheduleFile);
    if (!buffer)
      return llvm::createStringError("cannot read " + plan.scheduleFile + ": " +
                                     buffer.getError().message());
    auto read =
        schedule::readScheduleCsv((*buffer)->getBuffer(), plan.scheduleFile);
    if (!read)
      return read.takeError();
    made = std::move(*read);
    if (made.problem.ranks != plan.pp ||
        made.problem.microBatches != microBatches)
      return llvm::createStringError(
          plan.scheduleFile + ": expects " + Twine(plan.pp) + " ranks and " +
          Twine(microBatches) + " micro-batches but got " +
          Twine(made.problem.ranks) + " and " +
          Twine(made.problem.microBatches));
  }
  if (made.problem.numPaths() > 1)
    return llvm::createStringError(
        "expects one copy of the model to be compiled but got " +
        stringify(plan.schedule));
  schedule::insertTransfers(made.problem, made.schedule);
  schedule::postReceives(made.problem, made.schedule);
  return made;
}

/// Whether B and W are apart in a schedule; an error if only in some actions.
static llvm::Expected<bool> splitsBackward(const schedule::Schedule &schedule) {
  bool isSplit = false, isWhole = false;
  for (const auto &actions : schedule.ranks)
    for (const schedule::Action &action : actions) {
      isSplit |= action.kind == schedule::ActionKind::InputGrad;
      isWhole |= action.kind == schedule::ActionKind::Backward ||
                 action.kind == schedule::ActionKind::Overlapped;
    }
  if (isSplit && isWhole)
    return llvm::createStringError("expects B and W of all chunks and "
                                   "micro-batches, or BW of all, but got both");
  return isSplit;
}

namespace {
struct SplitStagesPass : tessera::impl::SplitStagesPassBase<SplitStagesPass> {
  LogicalResult split(func::FuncOp function, const Plan &plan) {
    auto accumulates = function.getBody().getOps<dist::AccumulateOp>();
    if (!llvm::hasSingleElement(accumulates))
      return function.emitError("expects several micro-batches of a training "
                                "step to split into pipeline stages");
    dist::AccumulateOp accumulate = *accumulates.begin();
    auto made = makeSchedule(plan, accumulate.getCount());
    if (!made)
      return function.emitError("schedule: ")
             << llvm::toString(made.takeError());
    auto isSplit = splitsBackward(made->schedule);
    if (!isSplit)
      return function.emitError("schedule: ")
             << llvm::toString(isSplit.takeError());
    auto layers = getLayers(plan, made->problem.stages(),
                            StageAssignment::countBlocks(accumulate));
    if (!layers)
      return function.emitError(llvm::toString(layers.takeError()));
    StageAssignment stages(accumulate, *layers);
    return Splitter(function, accumulate, stages, made->problem, made->schedule,
                    *isSplit)
        .run();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto attr = module->getAttrOfType<dist::PlanAttr>(DistDialect::kPlanAttr);
    if (!attr || attr.getPlan().pp == 1)
      return;
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function->hasAttr(DistDialect::kLocalAttr) &&
          !isPipelineFunction(function) && function.isPublic() &&
          failed(split(function, attr.getPlan())))
        return signalPassFailure();
  }
};
} // namespace
