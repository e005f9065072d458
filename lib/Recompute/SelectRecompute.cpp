//===- SelectRecompute.cpp - Recomputes ops instead of keeping values -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Works on one device's program. Recompute.h decides which values are kept and
// which ops are recomputed. This pass reads the problem from the IR and writes
// the result back: a recomputed op is a copy before its first use in the
// backward.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Cluster/CollectiveTime.h"
#include "tessera/Cluster/LinksAttr.h"
#include "tessera/Interfaces/ChoiceTrait.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "tessera/Interfaces/ModelBlocks.h"
#include "tessera/Plan/PlanFields.h"
#include "tessera/Recompute/Passes.h"
#include "tessera/Recompute/Recompute.h"
#include "llvm/ADT/StringExtras.h"

namespace tessera {
#define GEN_PASS_DEF_SELECTRECOMPUTEPASS
#include "tessera/Recompute/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// The policy for keeping values for the backward.
struct Policy {
  Recompute kind = Recompute::None;
  /// Under Auto: the bytes that may be kept, per memory or one limit for all.
  SmallVector<int64_t> limits;
  std::string print() const {
    if (limits.size() > 1)
      return "auto";
    Plan plan;
    plan.recompute = kind;
    plan.recomputeBytes = limits.empty() ? 0 : limits.front();
    return findField<Plan>("recompute")->print(plan);
  }
};

/// Forward and backward of one micro-batch: a block that contains gradients.
class BlockRecompute {
public:
  BlockRecompute(Block &block, Operation *firstBackward, const Policy &policy)
      : block(block), firstBackward(firstBackward), policy(policy) {}

  LogicalResult run();
  /// The fewest and the most bytes that can be kept, per memory.
  std::vector<KeptRange> getRanges();
  /// The recomputed ops that take time.
  std::vector<Operation *> getRepeated();

private:
  void buildProblem();
  void placeValue(Operation *op, RecomputeProblem::Value &value);
  bool isRepeatable(Operation *op) const;
  bool isFree(Operation *op) const;
  bool leavesStage(Value value) const;
  FailureOr<RecomputeChoice> choose() const;
  void rewrite(const RecomputeChoice &choice);
  Operation *findEqual(Operation *op) const;
  Value repeat(Value value, Operation *before, const RecomputeChoice &choice);
  void report(const RecomputeChoice &choice) const;

  Block &block;
  Operation *firstBackward;
  Policy policy;
  RecomputeProblem problem;
  /// Only looked up.
  llvm::DenseMap<Operation *, unsigned> opNumbers;
  llvm::DenseMap<Value, unsigned> valueNumbers;
  /// The model's block of each op; 0 if none.
  std::vector<unsigned> stages;
  /// True if the program will be split into stages.
  bool isStaged = false;
  /// The copy of each op in the backward.
  std::vector<Operation *> copies;
};

} // namespace

//===----------------------------------------------------------------------===//
// Stages of the model
//===----------------------------------------------------------------------===//

/// True if another stage of the forward uses the value.
bool BlockRecompute::leavesStage(Value value) const {
  unsigned stage = stages[opNumbers.lookup(value.getDefiningOp())];
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    auto it = opNumbers.find(block.findAncestorOpInBlock(*user));
    return it != opNumbers.end() && stages[it->second] != stage;
  });
}

//===----------------------------------------------------------------------===//
// Problem
//===----------------------------------------------------------------------===//

/// Bytes of all tensors of these types.
static double getBytes(TypeRange types) {
  double bytes = 0;
  for (Type type : types)
    bytes += getTensorBytes(type);
  return bytes;
}

/// Converts bytes, or the time of moving them, to an integer. Values above any
/// device's memory count as 2^48, so that sums do not overflow.
static int64_t toWhole(double bytes) {
  return static_cast<int64_t>(std::min(bytes, 0x1p48));
}

/// True if the op moves bytes between devices.
static bool communicates(Operation *op) {
  auto collective = dyn_cast<dist::CollectiveOpInterface>(op);
  return collective && collective.getCollectiveKind();
}

/// Whether `selective` recomputes the op: it is cheap for the bytes of its
/// results. Excludes matmuls, attention and reductions between devices. A
/// gather of a device's shard is recomputed.
static bool isCheap(Operation *op) {
  if (communicates(op))
    return getBytes(op->getResultTypes()) > getBytes(op->getOperandTypes());
  CostKind kind = getOpCost(op).kind;
  return kind == CostKind::None || kind == CostKind::Collective ||
         kind == CostKind::Elementwise || kind == CostKind::RowReduction;
}

namespace {
/// The memory that holds results, and for how many micro-batches at once.
struct Held {
  int64_t place, microBatches;
};
} // namespace

/// None if the program will not be split into stages, or if each stage
/// recomputes the results.
static std::optional<Held> getHeld(Operation *op) {
  auto attr =
      op->getAttrOfType<DenseI64ArrayAttr>(dist::DistDialect::kHeldAttr);
  return attr ? std::optional(Held{attr[0], attr[1]}) : std::nullopt;
}

bool BlockRecompute::isRepeatable(Operation *op) const {
  if (!isMemoryEffectFree(op) || op->getNumRegions() != 0 ||
      op->hasTrait<MakesChoice>())
    return false;
  // The embedding and the head occur once: recomputing them costs time but
  // frees nothing at the peak. With several micro-batches in flight it does.
  std::optional<Held> held = getHeld(op);
  bool isInStage =
      stages[opNumbers.lookup(op)] != 0 || (held && held->microBatches > 1);
  if (policy.kind == Recompute::Selective)
    return isCheap(op) && (isInStage || !communicates(op));
  if (!isInStage)
    return false;
  return policy.kind != Recompute::Full ||
         llvm::none_of(op->getResults(),
                       [&](Value value) { return leavesStage(value); });
}

/// Whether the op is computed elementwise, in the forward and before each use
/// in the backward, and fused with these uses.
bool BlockRecompute::isFree(Operation *op) const {
  auto isElementwise = [](Operation *each) {
    return each->getNumRegions() == 0 && isMemoryEffectFree(each) &&
           getOpCost(each).kind == CostKind::Elementwise;
  };
  if (op->getNumResults() != 1 || !isElementwise(op))
    return false;
  bool isRead = false;
  for (Operation *user : op->getUsers()) {
    if (block.findAncestorOpInBlock(*user)->isBeforeInBlock(firstBackward))
      continue;
    if (user->getBlock() != &block || !isElementwise(user))
      return false;
    isRead = true;
  }
  return isRead;
}

/// Time of a collective on the links of its mesh, in the bytes of getWorkBytes.
static double getCollectiveBytes(dist::CollectiveOpInterface op) {
  dist::MeshOp meshOp = dist::lookupMesh(op, op.getMeshAttr());
  Mesh mesh = meshOp.getMesh().toMesh();
  double seconds = getCollectiveTime(
      getMeshLinks(meshOp), mesh, *op.getCollectiveKind(),
      getTensorBytes(op->getOperand(0).getType()), op.getAxes().toAxes(mesh));
  return seconds * getWorkRates(op).bytesPerSecond;
}

/// Time to recompute an op, in units of moving one byte through memory.
static int64_t getTime(Operation *op) {
  return toWhole(communicates(op)
                     ? getCollectiveBytes(cast<dist::CollectiveOpInterface>(op))
                     : getWorkBytes(op, getWorkRates(op)));
}

/// Sets the memory that holds a value, and for how many micro-batches.
void BlockRecompute::placeValue(Operation *op, RecomputeProblem::Value &value) {
  if (std::optional<Held> held = getHeld(op)) {
    value.place = static_cast<unsigned>(held->place);
    value.bytes *= held->microBatches;
  } else if (isStaged) {
    value.bytes = 0;
  }
}

void BlockRecompute::buildProblem() {
  stages = numberModelBlocks(block, firstBackward);
  for (Operation &op : block)
    if (std::optional<Held> held = getHeld(&op)) {
      isStaged = true;
      problem.numPlaces =
          std::max(problem.numPlaces, static_cast<unsigned>(held->place) + 1);
    }
  for (Operation &op : block) {
    if (&op == firstBackward)
      break;
    opNumbers[&op] = problem.ops.size();
    problem.ops.emplace_back();
    for (Value result : op.getResults()) {
      valueNumbers[result] = problem.values.size();
      RecomputeProblem::Value &value = problem.values.emplace_back();
      value.op = opNumbers[&op];
      // A constant or a position costs nothing to keep.
      if (isa<RankedTensorType>(result.getType()) &&
          !matchPattern(&op, m_Constant()))
        value.bytes = toWhole(getTensorBytes(result.getType()));
      placeValue(&op, value);
      // Values that the block yields live to its end in any case.
      value.isNeeded = llvm::any_of(result.getUsers(), [&](Operation *user) {
        Operation *here = block.findAncestorOpInBlock(*user);
        return here != block.getTerminator() &&
               !here->isBeforeInBlock(firstBackward);
      });
    }
  }
  for (Operation &op : block) {
    if (&op == firstBackward)
      break;
    RecomputeProblem::Op &entry = problem.ops[opNumbers[&op]];
    entry.isRepeatable = isRepeatable(&op);
    entry.isFree = isFree(&op);
    entry.time = entry.isFree ? 0 : getTime(&op);
    for (Value operand : op.getOperands())
      if (auto it = valueNumbers.find(operand); it != valueNumbers.end())
        entry.operands.push_back(it->second);
  }
}

FailureOr<RecomputeChoice> BlockRecompute::choose() const {
  if (policy.kind == Recompute::None)
    return repeatFree(problem, keepAll(problem));
  if (policy.kind != Recompute::Auto)
    return keepLeast(problem);
  SmallVector<int64_t> limits(policy.limits);
  limits.resize(problem.numPlaces, limits.front());
  if (std::optional<RecomputeChoice> choice = keepWithin(problem, limits))
    return repeatFree(problem, *choice);
  return block.getParentOp()->emitError("recompute: expects auto=")
         << *llvm::max_element(keepLeast(problem).keptBytes)
         << " at least, the bytes that a "
         << "device must keep of a micro-batch for the backward, but got "
         << policy.print();
}

//===----------------------------------------------------------------------===//
// Rewrite
//===----------------------------------------------------------------------===//

/// An op of the backward that computes the same as `op` from the same values,
/// such as the gather of a parameter.
Operation *BlockRecompute::findEqual(Operation *op) const {
  if (op->getNumOperands() == 0)
    return nullptr;
  for (Operation *user : op->getOperand(0).getUsers())
    if (user->getBlock() == &block && !user->isBeforeInBlock(firstBackward) &&
        user->getName() == op->getName() &&
        user->getOperands() == op->getOperands() &&
        user->getResultTypes() == op->getResultTypes() &&
        user->getPropertiesAsAttribute() == op->getPropertiesAsAttribute())
      return user;
  return nullptr;
}

/// The copy of a recomputed op's result. Builds missing copies, with their
/// operands, before `before`.
Value BlockRecompute::repeat(Value value, Operation *before,
                             const RecomputeChoice &choice) {
  auto it = valueNumbers.find(value);
  if (it == valueNumbers.end())
    return value;
  unsigned number = problem.values[it->second].op;
  if (!choice.isRepeated[number])
    return value;
  unsigned result = cast<OpResult>(value).getResultNumber();
  if (!copies[number]) {
    Operation *op = value.getDefiningOp();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(repeat(operand, before, choice));
    OpBuilder builder(before);
    Operation *equal =
        llvm::equal(operands, op->getOperands()) ? findEqual(op) : nullptr;
    if (equal && before->isBeforeInBlock(equal))
      equal->moveBefore(before);
    copies[number] =
        equal ? equal
              : cloneWithTypes(builder, op, operands, op->getResultTypes());
    copies[number]->setDiscardableAttr(dist::DistDialect::kRecomputeAttr,
                                       builder.getUnitAttr());
  }
  return copies[number]->getResult(result);
}

void BlockRecompute::rewrite(const RecomputeChoice &choice) {
  copies.assign(problem.ops.size(), nullptr);
  SmallVector<Operation *> backward;
  for (Operation *op = firstBackward; op != block.getTerminator();
       op = op->getNextNode())
    backward.push_back(op);
  for (Operation *op : backward)
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        operand.set(repeat(operand.get(), op, choice));
    });
}

/// Bytes per memory: "128", or "128, 64" for two pp ranks.
static std::string printBytes(ArrayRef<int64_t> bytes) {
  return llvm::join(
      llvm::map_range(bytes, [](int64_t b) { return std::to_string(b); }),
      ", ");
}

void BlockRecompute::report(const RecomputeChoice &choice) const {
  remark::passed(block.getParentOp()->getLoc(),
                 remark::RemarkOpts::name("Recompute").category("training"))
      << remark::add("{0}: keeps {1} of {2} bytes{3} for the backward and "
                     "repeats {4} ops",
                     policy.print(), printBytes(choice.keptBytes),
                     printBytes(keepAll(problem).keptBytes),
                     problem.numPlaces > 1 ? " of the pp ranks" : "",
                     llvm::count(choice.isRepeated, true));
}

LogicalResult BlockRecompute::run() {
  buildProblem();
  assert(!problem.check() && "the forward is in program order");
  FailureOr<RecomputeChoice> choice = choose();
  if (failed(choice))
    return failure();
  for (Operation &op : block)
    op.removeDiscardableAttr(dist::DistDialect::kHeldAttr);
  if (policy.kind == Recompute::None &&
      llvm::none_of(choice->isRepeated, [](bool repeated) { return repeated; }))
    return success();
  rewrite(*choice);
  report(*choice);
  return success();
}

std::vector<KeptRange> BlockRecompute::getRanges() {
  buildProblem();
  std::vector<KeptRange> ranges;
  RecomputeChoice all = repeatFree(problem, keepAll(problem));
  for (auto [least, most] :
       llvm::zip_equal(keepLeast(problem).keptBytes, all.keptBytes))
    ranges.push_back({least, std::max(least, most)});
  return ranges;
}

std::vector<Operation *> BlockRecompute::getRepeated() {
  buildProblem();
  RecomputeChoice choice = keepLeast(problem);
  std::vector<Operation *> repeated;
  for (Operation &op : block)
    if (auto it = opNumbers.find(&op); it != opNumbers.end())
      if (choice.isRepeated[it->second] && !problem.ops[it->second].isFree)
        repeated.push_back(&op);
  return repeated;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// Calls `visit` for each block with gradients and the first op of its
/// backward.
static LogicalResult
forEachBackward(ModuleOp module,
                function_ref<LogicalResult(Block &, Operation *)> visit) {
  for (auto func : module.getOps<FunctionOpInterface>()) {
    if (func.isExternal())
      continue;
    for (Block *block : dist::getBlocks(func))
      if (Operation *first = dist::findBackward(*block))
        if (failed(visit(*block, first)))
          return failure();
  }
  return success();
}

std::vector<KeptRange> tessera::getKeptRanges(ModuleOp module) {
  std::vector<KeptRange> all;
  (void)forEachBackward(module, [&](Block &block, Operation *first) {
    Policy policy{Recompute::Auto, {}};
    std::vector<KeptRange> ranges =
        BlockRecompute(block, first, policy).getRanges();
    all.resize(std::max(all.size(), ranges.size()));
    for (auto [range, other] : llvm::zip(all, ranges))
      range = {std::max(range.least, other.least),
               std::max(range.most, other.most)};
    return success();
  });
  return all;
}

std::vector<Operation *> tessera::getRepeatedOps(ModuleOp module) {
  std::vector<Operation *> all;
  auto attr =
      module->getAttrOfType<dist::PlanAttr>(dist::DistDialect::kPlanAttr);
  Recompute kind = attr ? attr.getPlan().recompute : Recompute::None;
  if (kind != Recompute::Selective && kind != Recompute::Full)
    return all;
  (void)forEachBackward(module, [&](Block &block, Operation *first) {
    Policy policy{kind, {}};
    llvm::append_range(all, BlockRecompute(block, first, policy).getRepeated());
    return success();
  });
  return all;
}

namespace {
struct SelectRecomputePass
    : tessera::impl::SelectRecomputePassBase<SelectRecomputePass> {
  using SelectRecomputePassBase::SelectRecomputePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto attr =
        module->getAttrOfType<dist::PlanAttr>(dist::DistDialect::kPlanAttr);
    Plan plan = attr ? attr.getPlan() : Plan();
    bool isKnown =
        policy.empty() || findField<Plan>("recompute")->parse(policy, plan);
    if (!isKnown || plan.recompute == Recompute::Matmuls) {
      module.emitError("expects recompute none, selective, full or "
                       "auto=<bytes> but got '")
          << (isKnown ? stringify(plan.recompute) : StringRef(policy)) << "'";
      return signalPassFailure();
    }
    Policy chosen{plan.recompute, {plan.recomputeBytes}};
    if (!limits.empty())
      chosen.limits.assign(limits.begin(), limits.end());
    if (failed(forEachBackward(module, [&](Block &block, Operation *first) {
          return BlockRecompute(block, first, chosen).run();
        })))
      signalPassFailure();
  }
};
} // namespace
