//===- ExpandPipeline.cpp - Expands the tasks of a pipeline to functions --===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A task becomes a function whose arguments are all its memory: the values it
// reads, and for each result an argument that the result overwrites.
//
//     task F 0 (%x = recv 0) {           @step_F0(%x {activation 0},
//       ... %w from outside                       %w {captured 0},
//       yield send(%y) keep(%h, %x)               %y' {send 0},
//             add [0](%l)                         %h' {f_to_b 0},
//     }                                           %s {sum 0})
//                                          -> %y, %h, %s + %l
//
// A value that a task keeps is in the frame of the last task that reads it. A
// value only passed to the task (%x) is read at its original location.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/RT/RT.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/RegionUtils.h"
#include "tessera/Kernels/Passes.h"
#include "tessera/Schedule/ActionList.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {
#define GEN_PASS_DEF_EXPANDPIPELINEPASS
#include "tessera/Kernels/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using dist::SourceKind;
using dist::TaskKind;
using rt::PlaceKind;
using rt::RTDialect;

static_assert(int(TaskKind::Forward) == TESSERA_RT_TASK_F &&
              int(TaskKind::InputGrad) == TESSERA_RT_TASK_B &&
              int(TaskKind::WeightGrad) == TESSERA_RT_TASK_W &&
              int(TaskKind::Backward) == TESSERA_RT_TASK_BW);

namespace {

/// A place, before it is an attribute.
struct Place {
  PlaceKind kind;
  int64_t index;
};

/// Creates the functions of one pipeline, and an rt.pipeline that names them.
class Expander {
public:
  explicit Expander(dist::PipelineOp op)
      : op(op), function(op->getParentOfType<func::FuncOp>()),
        b(op.getLoc(), op) {}
  LogicalResult run();

private:
  using KeepKey = std::pair<Operation *, int64_t>;

  dist::TaskOp getTask(TaskKind kind, dist::TaskOp of) {
    return op.getTask(kind, of.getChunk());
  }
  std::optional<KeepKey> findKept(dist::TaskOp task, unsigned argument);
  void assignFrames();
  Place placeOf(dist::TaskOp task, unsigned argument);
  int64_t capture(Value value);
  Value padSlices(Value stack);
  Value dropPadding(Value padded, RankedTensorType type);

  LogicalResult expand(dist::TaskOp task);
  Value addArgument(func::FuncOp made, Type type, Place place);
  LogicalResult cloneCaptured(OpBuilder &builder, func::FuncOp made,
                              Value value, IRMapping &mapping);
  void addResult(func::FuncOp made, Value argument, Value value);

  dist::PipelineOp op;
  func::FuncOp function;
  ImplicitLocOpBuilder b;
  /// The place of each value that a task keeps and another one reads.
  llvm::DenseMap<KeepKey, Place> frames;
  llvm::SetVector<Value> captured;
  SmallVector<Attribute> tasks;
  /// Results of the task being built.
  SmallVector<Value> results;
};

} // namespace

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

/// Returns the kept value of the chunk's tasks that an argument refers to; none
/// if the argument is received, from the batch or from outside.
std::optional<Expander::KeepKey> Expander::findKept(dist::TaskOp task,
                                                    unsigned argument) {
  dist::SourceAttr source = task.getSource(argument);
  bool byForward = source.getKind() == SourceKind::Forward;
  if (!byForward && source.getKind() != SourceKind::InputGrad)
    return std::nullopt;
  dist::TaskOp keeper =
      getTask(byForward ? TaskKind::Forward : TaskKind::InputGrad, task);
  Value kept = keeper.getYield().getKeeps()[source.getIndex()];
  auto given = dyn_cast<BlockArgument>(kept);
  if (!given)
    return KeepKey{keeper, source.getIndex()};
  return given.getOwner() == &keeper.getBody().front()
             ? findKept(keeper, given.getArgNumber())
             : std::nullopt;
}

/// Assigns each kept value to the frame of its last reader. Frames are filled
/// in the order of keeps.
void Expander::assignFrames() {
  llvm::DenseSet<KeepKey> read, readByW;
  for (auto task : op.getBody().getOps<dist::TaskOp>())
    for (unsigned i = 0; i < task.getBody().getNumArguments(); ++i)
      if (std::optional<KeepKey> key = findKept(task, i)) {
        read.insert(*key);
        if (task.getKind() == TaskKind::WeightGrad)
          readByW.insert(*key);
      }
  for (auto task : op.getBody().getOps<dist::TaskOp>()) {
    int64_t counts[3] = {};
    for (int64_t i = 0, e = task.getYield().getKeeps().size(); i < e; ++i) {
      KeepKey key{task, i};
      if (!read.contains(key))
        continue;
      PlaceKind kind = task.getKind() == TaskKind::InputGrad
                           ? PlaceKind::InputGradToWeightGrad
                       : readByW.contains(key) ? PlaceKind::ForwardToWeightGrad
                                               : PlaceKind::ForwardToInputGrad;
      int64_t &count = counts[int(kind) - int(PlaceKind::ForwardToInputGrad)];
      frames[key] = {kind, count++};
    }
  }
}

Place Expander::placeOf(dist::TaskOp task, unsigned argument) {
  if (std::optional<KeepKey> key = findKept(task, argument))
    return frames.lookup(*key);
  dist::SourceAttr source = task.getSource(argument);
  switch (source.getKind()) {
  case SourceKind::Batch:
    return {PlaceKind::Batch, source.getIndex()};
  case SourceKind::Recv:
    return {task.getKind() == TaskKind::Forward ? PlaceKind::Activation
                                                : PlaceKind::Gradient,
            source.getIndex()};
  case SourceKind::Forward:
  case SourceKind::InputGrad:
    break;
  }
  bool byForward = source.getKind() == SourceKind::Forward;
  dist::TaskOp keeper =
      getTask(byForward ? TaskKind::Forward : TaskKind::InputGrad, task);
  Value kept = keeper.getYield().getKeeps()[source.getIndex()];
  auto given = cast<BlockArgument>(kept);
  if (given.getOwner() == &keeper.getBody().front())
    return placeOf(keeper, given.getArgNumber());
  return {PlaceKind::Captured, capture(kept)};
}

int64_t Expander::capture(Value value) {
  captured.insert(value);
  return llvm::find(captured, value) - captured.begin();
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// Returns the type of a stack with padding after each slice, so that all
/// slices start at an aligned address: a matrix with one row per micro-batch.
/// Returns the stack's own type if the slices are aligned anyway.
static RankedTensorType getPaddedType(RankedTensorType stack) {
  int64_t count = stack.getDimSize(0);
  int64_t bytes = rt::getTensorBytes(stack) / count;
  int64_t padded = llvm::alignTo(bytes, TESSERA_RT_ARENA_ALIGNMENT);
  Type element = stack.getElementType();
  if (bytes == padded)
    return stack;
  return RankedTensorType::get({count, padded / rt::getElementBytes(element)},
                               element);
}

/// Groups the dimensions of a stack as a matrix: the first one, and the rest.
static SmallVector<ReassociationIndices> getRows(RankedTensorType stack) {
  SmallVector<ReassociationIndices> rows{{0}, {}};
  for (int64_t i = 1; i < stack.getRank(); ++i)
    rows[1].push_back(i);
  return rows;
}

Value Expander::padSlices(Value stack) {
  auto type = cast<RankedTensorType>(stack.getType());
  RankedTensorType padded = getPaddedType(type);
  if (padded == type)
    return stack;
  Type element = type.getElementType();
  int64_t count = type.getDimSize(0), length = type.getNumElements() / count;
  auto matrix = RankedTensorType::get({count, length}, element);
  Value rows = stack;
  if (type.getRank() == 1)
    rows = tensor::ExpandShapeOp::create(
        b, matrix, stack, SmallVector<ReassociationIndices>{{0, 1}});
  else if (type.getRank() > 2)
    rows = tensor::CollapseShapeOp::create(b, matrix, stack, getRows(type));
  Value zero =
      arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(element)));
  SmallVector<OpFoldResult> low(2, b.getIndexAttr(0)), high = low;
  high[1] = b.getIndexAttr(padded.getDimSize(1) - length);
  return tensor::PadOp::create(b, padded, rows, low, high, zero);
}

/// Returns the stack of `type` whose slices, with padding, are the rows of
/// `padded`.
Value Expander::dropPadding(Value padded, RankedTensorType type) {
  if (padded.getType() == type)
    return padded;
  int64_t count = type.getDimSize(0), length = type.getNumElements() / count;
  SmallVector<OpFoldResult> offsets(2, b.getIndexAttr(0)),
      sizes{b.getIndexAttr(count), b.getIndexAttr(length)},
      strides(2, b.getIndexAttr(1));
  Value rows =
      tensor::ExtractSliceOp::create(b, padded, offsets, sizes, strides);
  if (type.getRank() == 1)
    return tensor::CollapseShapeOp::create(
        b, type, rows, SmallVector<ReassociationIndices>{{0, 1}});
  if (type.getRank() == 2)
    return rows;
  return tensor::ExpandShapeOp::create(b, type, rows, getRows(type));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Value Expander::addArgument(func::FuncOp made, Type type, Place place) {
  unsigned number = made.getNumArguments();
  auto attr = rt::PlaceAttr::get(b.getContext(), place.kind, place.index);
  (void)made.insertArgument(
      number, type,
      b.getDictionaryAttr(b.getNamedAttr(RTDialect::kPlaceAttr, attr)),
      op.getLoc());
  return made.getArgument(number);
}

/// Maps a value from outside: a tensor becomes an argument, a constant or a
/// scalar is cloned.
LogicalResult Expander::cloneCaptured(OpBuilder &builder, func::FuncOp made,
                                      Value value, IRMapping &mapping) {
  if (mapping.contains(value))
    return success();
  Operation *def = value.getDefiningOp();
  if (isa<RankedTensorType>(value.getType()) &&
      !isa_and_nonnull<arith::ConstantOp>(def)) {
    mapping.map(value, addArgument(made, value.getType(),
                                   {PlaceKind::Captured, capture(value)}));
    return success();
  }
  if (!def || def->getNumRegions() || !isMemoryEffectFree(def))
    return op.emitOpError("expects tensors, constants and arithmetic on "
                          "scalars from outside but got a value of type ")
           << value.getType();
  for (Value operand : def->getOperands())
    if (failed(cloneCaptured(builder, made, operand, mapping)))
      return failure();
  builder.clone(*def, mapping);
  return success();
}

/// Adds a result that overwrites an argument.
void Expander::addResult(func::FuncOp made, Value argument, Value value) {
  made.setArgAttr(cast<BlockArgument>(argument).getArgNumber(),
                  dist::DistDialect::kDonateAttr,
                  b.getI64IntegerAttr(results.size()));
  results.push_back(value);
}

LogicalResult Expander::expand(dist::TaskOp task) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(function);
  std::string name =
      (function.getName() + "_" + dist::stringifyTaskKind(task.getKind()) +
       Twine(task.getChunk()))
          .str();
  auto made = func::FuncOp::create(b, name, b.getFunctionType({}, {}));
  made.setPrivate();
  made->setAttr(RTDialect::kTaskAttr,
                rt::TaskAttr::get(b.getContext(), int64_t(task.getKind()),
                                  task.getChunk()));
  if (Attribute local = function->getAttr(dist::DistDialect::kLocalAttr))
    made->setAttr(dist::DistDialect::kLocalAttr, local);
  SymbolTable(function->getParentOfType<ModuleOp>()).insert(made);
  tasks.push_back(FlatSymbolRefAttr::get(made));
  b.setInsertionPointToStart(made.addEntryBlock());

  IRMapping mapping;
  for (BlockArgument argument : task.getBody().getArguments())
    mapping.map(argument, addArgument(made, argument.getType(),
                                      placeOf(task, argument.getArgNumber())));
  llvm::SetVector<Value> outside;
  getUsedValuesDefinedAbove(task.getBody(), task.getBody(), outside);
  for (Value value : outside)
    if (failed(cloneCaptured(b, made, value, mapping)))
      return failure();
  dist::TaskYieldOp yield = task.getYield();
  for (Operation &inner : task.getBody().front().without_terminator())
    b.clone(inner, mapping);

  results.clear();
  // A term is added right after the op that computes it: a gradient shard dies
  // in its sum.
  llvm::DenseMap<int64_t, std::pair<Value, Value>> sums;
  for (auto [index, value] : llvm::zip(yield.getAddTo(), yield.getAdds())) {
    auto [it, isNew] = sums.try_emplace(index);
    auto &[argument, sum] = it->second;
    if (isNew)
      argument = sum =
          addArgument(made, value.getType(), {PlaceKind::Sum, index});
    Value term = mapping.lookup(value);
    OpBuilder::InsertionGuard inner(b);
    Operation *def = term.getDefiningOp();
    Operation *before = sum.getDefiningOp();
    if (def && (!before || before->isBeforeInBlock(def)))
      b.setInsertionPointAfter(def);
    else if (before)
      b.setInsertionPointAfter(before);
    if (isa<FloatType>(getElementTypeOrSelf(sum)))
      sum = arith::AddFOp::create(b, sum, term);
    else
      sum = arith::AddIOp::create(b, sum, term);
  }
  for (int64_t index : yield.getAddTo()) {
    auto it = sums.find(index);
    if (it == sums.end())
      continue;
    addResult(made, it->second.first, it->second.second);
    sums.erase(it);
  }
  auto store = [&](Value value, Place place) {
    Value argument = addArgument(made, value.getType(), place);
    addResult(made, argument, mapping.lookup(value));
  };
  for (auto [i, value] : llvm::enumerate(yield.getSends()))
    store(value, {PlaceKind::Send, int64_t(i)});
  for (auto [i, value] : llvm::enumerate(yield.getKeeps()))
    if (auto it = frames.find({task, int64_t(i)}); it != frames.end())
      store(value, it->second);
  for (auto [index, value] : llvm::zip(yield.getStoreTo(), yield.getStores()))
    store(value, {PlaceKind::Slice, index});
  func::ReturnOp::create(b, results);
  made.setFunctionType(FunctionType::get(
      b.getContext(), made.getArgumentTypes(), ValueRange(results).getTypes()));
  return success();
}

LogicalResult Expander::run() {
  assignFrames();
  for (auto task : op.getBody().getOps<dist::TaskOp>())
    if (failed(expand(task)))
      return failure();
  llvm::SmallDenseSet<int64_t> stacked;
  for (auto task : op.getBody().getOps<dist::TaskOp>())
    stacked.insert_range(task.getYield().getStoreTo());
  SmallVector<Value> batches, inits;
  for (Value batch : op.getBatches())
    batches.push_back(padSlices(batch));
  for (auto [i, type] : llvm::enumerate(op.getResultTypes())) {
    auto stored = cast<RankedTensorType>(type);
    if (stacked.contains(i))
      stored = getPaddedType(stored);
    inits.push_back(
        arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(stored))));
  }
  auto made = rt::PipelineOp::create(b, ValueRange(inits).getTypes(),
                                     op.getPaths(), op.getMicroBatches(),
                                     op.getList(), b.getArrayAttr(tasks),
                                     batches, captured.getArrayRef(), inits);
  for (auto [before, after] : llvm::zip(op.getResults(), made.getResults()))
    before.replaceAllUsesWith(
        dropPadding(after, cast<RankedTensorType>(before.getType())));
  op.erase();
  return success();
}

/// True if micro-batches return some result as slices.
static bool stacks(dist::AccumulateOp op) {
  return llvm::any_of(op->getResults(), [&](OpResult result) {
    return op.isStacked(result.getResultNumber());
  });
}

/// Builds an equivalent pipeline with one pp rank and one stage, whose task
/// writes slices directly into the result.
static void makePipeline(dist::AccumulateOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  std::vector<schedule::Action> list;
  for (int m = 0, e = static_cast<int>(op.getCount()); m < e; ++m)
    list.push_back({schedule::ActionKind::Forward, 0, m});
  auto pipeline = dist::PipelineOp::create(
      b, op.getResultTypes(), b.getArrayAttr(b.getI64ArrayAttr({0})),
      op.getCountAttr(), b.getStringAttr(schedule::printActions(list)),
      op.getSlices());
  b.createBlock(&pipeline.getBody());
  SmallVector<Attribute> sources;
  for (unsigned i = 0; i < op.getSlices().size(); ++i)
    sources.push_back(
        dist::SourceAttr::get(b.getContext(), SourceKind::Batch, i));
  auto task = dist::TaskOp::create(b, TaskKind::Forward, /*chunk=*/0,
                                   b.getArrayAttr(sources));
  dist::YieldOp yield = op.getYield();
  SmallVector<int64_t> addTo, storeTo;
  SmallVector<Value> adds, stores;
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    bool isStacked = op.isStacked(i);
    (isStacked ? storeTo : addTo).push_back(i);
    (isStacked ? stores : adds).push_back(value);
  }
  task.getBody().takeBody(op.getBody());
  b.setInsertionPoint(yield);
  dist::TaskYieldOp::create(b, ValueRange(), ValueRange(), addTo, adds, storeTo,
                            stores);
  yield->erase();
  op.replaceAllUsesWith(pipeline.getResults());
  op.erase();
}

namespace {
struct ExpandPipelinePass
    : tessera::impl::ExpandPipelinePassBase<ExpandPipelinePass> {
  void runOnOperation() override {
    SmallVector<dist::AccumulateOp> accumulates;
    getOperation().walk([&](dist::AccumulateOp op) {
      if (stacks(op))
        accumulates.push_back(op);
    });
    for (dist::AccumulateOp op : accumulates)
      makePipeline(op);
    SmallVector<dist::PipelineOp> ops;
    getOperation().walk([&](dist::PipelineOp op) { ops.push_back(op); });
    for (dist::PipelineOp op : ops)
      if (failed(Expander(op).run()))
        return signalPassFailure();
  }
};
} // namespace
