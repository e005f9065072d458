//===- OpPrices.cpp - Prices of ops on shards -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op is copied with the types of one device, and the copy determines the
// cost. An op with its own reduction over a sharded factor is decomposed on
// another copy. The resulting ops are priced in order, as the operands'
// shardings determine, with the reductions between them:
//
//     softmax over j, j = a      max over j     all_reduce of the maxima
//                                exp, sum       all_reduce of the sums
//                                division
//
//===----------------------------------------------------------------------===//

#include "OpPrices.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Cluster/LinksAttr.h"
#include "tessera/Interfaces/CostOpInterface.h"
#include "tessera/Interfaces/Expansion.h"
#include "tessera/Interfaces/RuleInputs.h"
#include "tessera/Partition/ReshardCost.h"
#include "tessera/Propagation/FactorProjection.h"
#include "tessera/Search/CostNetwork.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;
using search::kInfinite;

OpPrices::OpPrices(ModuleOp module, const ProgramReader &program,
                   ReshardPrices &reshards)
    : program(program), reshards(reshards), rates(getWorkRates(module)),
      scratch(ModuleOp::create(module.getLoc())) {}

/// The type of a shard; padded if the axes do not divide it.
static Type getLocalType(Type type, const Sharding &sharding) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type;
  SmallVector<int64_t> shape(tensor.getShape());
  for (auto [size, dim] : llvm::zip(shape, sharding.dims))
    size = llvm::divideCeil(size, numShards(dim.axes));
  return tensor.clone(shape);
}

static int64_t getRank(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getRank() : 0;
}

static Sharding getNeeded(const ShardingRule &rule, unsigned operand, Type type,
                          const FactorAxes &axes) {
  if (operand >= rule.operands.size())
    return Sharding::replicatedOf(getRank(type));
  return getOperandSharding(rule, rule.operands[operand], getRank(type), axes);
}

/// Seconds for the bytes that enter and leave the op's kernel.
double OpPrices::getElementwiseTime(unsigned number,
                                    const RunState &state) const {
  Operation *op = program.operations[number];
  const ShardingRule &rule =
      program.problem.rules[program.problem.ops[number].rule];
  const KernelEnds &ends = program.kernelEnds[number];
  double bytes = 0;
  for (unsigned i : ends.operands.set_bits()) {
    Type type = op->getOperand(i).getType();
    bytes += getTensorBytes(
        getLocalType(type, getNeeded(rule, i, type, state.axes)));
  }
  for (unsigned i : ends.results.set_bits())
    bytes += getTensorBytes(
        getLocalType(op->getResult(i).getType(),
                     getResultSharding(rule, rule.results[i], state.axes)));
  double seconds =
      bytes / rates.bytesPerSecond + (ends.isKernel ? rates.kernelFloor : 0);
  double functions = getOpCost(op).functions * rates.functionSeconds;
  if (functions == 0)
    return seconds;
  // Each element of the result needs the same number of functions.
  Type whole = op->getResult(0).getType();
  Type local =
      getLocalType(whole, getResultSharding(rule, rule.results[0], state.axes));
  return seconds +
         functions * getTensorElements(local) / getTensorElements(whole);
}

/// Seconds of a copy of the op on one device's types; none if copying fails.
std::optional<double> OpPrices::getLocalTime(Operation *op,
                                             const ShardingRule &rule,
                                             const FactorAxes &axes) {
  OpBuilder builder(op->getContext());
  Region region;
  Block *inside = &region.emplaceBlock();
  SmallVector<Value> operands;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    Type type = operand.getType();
    operands.push_back(inside->addArgument(
        getLocalType(type, getNeeded(rule, i, type, axes)), op->getLoc()));
  }
  SmallVector<Type> types;
  for (auto [i, type] : llvm::enumerate(op->getResultTypes()))
    types.push_back(
        getLocalType(type, getResultSharding(rule, rule.results[i], axes)));
  builder.setInsertionPointToEnd(inside);
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  FailureOr<Operation *> local =
      iface ? iface.cloneWithShapes(builder, operands, types)
            : FailureOr<Operation *>(
                  cloneWithTypes(builder, op, operands, types));
  if (failed(local))
    return std::nullopt;
  return getKernelSeconds(*local, rates);
}

/// The axes of `op`'s factors according to its operands' shardings.
static FactorAxes
projectOperands(Operation *op, const ShardingRule &rule,
                const llvm::DenseMap<Value, Sharding> &known) {
  FactorAxes axes(rule.factors.size());
  AxisList taken;
  for (auto [value, dims] : llvm::zip(op->getOperands(), rule.operands)) {
    auto it = known.find(value);
    if (it == known.end() || dims.size() != it->second.dims.size())
      continue;
    auto projected = projectTensor(rule, dims, it->second.dims);
    for (auto [mine, found] : llvm::zip(axes, projected))
      if (mine.empty() && !overlapsAny(found, taken)) {
        mine = found;
        taken.append(found);
      }
  }
  for (auto [mine, factor] : llvm::zip(axes, rule.factors))
    if (factor.kind != FactorKind::Parallel &&
        factor.kind != FactorKind::Reduction)
      mine.clear();
  return axes;
}

/// True if an op reads whole operands, like its neighbors in the kernel.
static bool passesOver(const OpCost &cost) {
  return cost.kind == CostKind::Elementwise || readsRows(cost);
}

/// True if the op that makes an operand is computed where the operand is read
/// (--rt-fuse-elementwise): it has no other reader, or costs no more than the
/// read that it replaces.
static bool isComputedAtUse(const OpOperand &use) {
  Operation *maker = use.get().getDefiningOp();
  if (!maker || maker->getNumResults() != 1)
    return false;
  OpCost cost = getOpCost(maker);
  bool isFree = isa<CastOpInterface>(maker) || cost.flops == 0;
  return cost.kind == CostKind::Elementwise &&
         passesOver(getOpCost(use.getOwner())) &&
         (isFree || use.get().hasOneUse());
}

/// The values that a kernel reads for an operand.
static void addReads(OpOperand &use, llvm::SetVector<Value> &reads) {
  if (!isComputedAtUse(use)) {
    reads.insert(use.get());
    return;
  }
  for (OpOperand &operand : use.get().getDefiningOp()->getOpOperands())
    addReads(operand, reads);
}

/// Seconds of an op in a block; none if it cannot be copied for one device. An
/// elementwise op that is computed where it is read takes only the time of its
/// arithmetic. The kernel of the reader reads its operands:
///
///     max over exp(x - m)    one kernel, which reads x and m
std::optional<double>
OpPrices::getKernelTime(Operation *part, const ShardingRule &rule,
                        const FactorAxes &axes,
                        const llvm::DenseMap<Value, Sharding> &known) {
  std::optional<double> seconds = getLocalTime(part, rule, axes);
  if (!seconds || !passesOver(getOpCost(part)))
    return seconds;
  double ownBytes = 0, readBytes = 0, madeBytes = 0;
  for (auto [i, operand] : llvm::enumerate(part->getOperands())) {
    Type type = operand.getType();
    ownBytes +=
        getTensorBytes(getLocalType(type, getNeeded(rule, i, type, axes)));
  }
  for (auto [i, type] : llvm::enumerate(part->getResultTypes()))
    madeBytes += getTensorBytes(
        getLocalType(type, getResultSharding(rule, rule.results[i], axes)));
  if (!part->use_empty() && llvm::all_of(part->getUses(), isComputedAtUse))
    return std::max(0.0, *seconds - rates.kernelFloor -
                             (ownBytes + madeBytes) / rates.bytesPerSecond);
  llvm::SetVector<Value> reads;
  for (OpOperand &operand : part->getOpOperands())
    addReads(operand, reads);
  for (Value value : reads)
    if (auto it = known.find(value); it != known.end())
      readBytes += getTensorBytes(getLocalType(value.getType(), it->second));
  return *seconds + (readBytes - ownBytes) / rates.bytesPerSecond;
}

/// Seconds of an op and of the reductions of its partial results. `known` has
/// the shardings of its operands, and gets the shardings of its results.
std::optional<double>
OpPrices::getPartTime(Operation *part, llvm::DenseMap<Value, Sharding> &known) {
  ShardingRule rule = ::getShardingRule(part);
  FactorAxes axes = projectOperands(part, rule, known);
  std::optional<double> seconds = getKernelTime(part, rule, axes, known);
  bool isConstant = llvm::none_of(part->getOperands(), [&](Value operand) {
    return known.contains(operand);
  });
  if (!seconds || isConstant)
    return seconds;
  for (OpResult result : part->getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type)
      continue;
    Sharding made =
        getResultSharding(rule, rule.results[result.getResultNumber()], axes);
    Sharding whole = made;
    whole.unreduced.clear();
    int64_t elementBytes = static_cast<int64_t>(
        getTensorBytes(type) / std::max(1.0, getTensorElements(type)));
    if (!made.unreduced.empty())
      *seconds +=
          1e-12 * static_cast<double>(reshards.getPrice(
                      reshards.number(made), reshards.number(whole),
                      reshards.numberShape(type.getShape(), elementBytes)));
    known[result] = std::move(whole);
  }
  return seconds;
}

std::optional<double> OpPrices::getDecomposedTime(Operation *op,
                                                  const ShardingRule &rule,
                                                  const RunState &state) {
  if (!isa<ShardingRuleOpInterface>(op))
    return std::nullopt;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(scratch->getBody());
  auto func =
      func::FuncOp::create(builder, op->getLoc(), "scratch",
                           builder.getFunctionType(op->getOperandTypes(), {}));
  Block *block = func.addEntryBlock();
  llvm::DenseMap<Value, Sharding> known;
  for (auto [i, argument] : llvm::enumerate(block->getArguments()))
    if (isa<RankedTensorType>(argument.getType()))
      known[argument] = getNeeded(rule, i, argument.getType(), state.axes);
  builder.setInsertionPointToEnd(block);
  IRMapping mapping;
  mapping.map(op->getOperands(), block->getArguments());
  Operation *copy = builder.clone(*op, mapping);
  llvm::SmallBitVector factors(rule.factors.size());
  for (auto [f, factor] : llvm::enumerate(rule.factors))
    factors[f] =
        factor.kind == FactorKind::Decomposed && !state.axes[f].empty();
  builder.setInsertionPoint(copy);
  bool isDone = succeeded(
      decompose(cast<ShardingRuleOpInterface>(copy), builder, factors));
  std::optional<double> seconds;
  if (isDone)
    seconds = 0;
  for (Operation &part : *block) {
    if (!seconds || &part == copy)
      break;
    std::optional<double> time = getPartTime(&part, known);
    seconds = time ? std::optional(*seconds + *time) : std::nullopt;
  }
  func.erase();
  return seconds;
}

/// The time that a loop over several micro-batches adds for a sum or a slice: a
/// kernel that writes the initial zeros of the sum, or one that copies the
/// slice of each micro-batch but the last, whose position is known. 0 for other
/// ties.
int64_t OpPrices::priceTie(unsigned number, const RunState &state) {
  auto loop = dyn_cast_or_null<dist::AccumulateOp>(program.operations[number]);
  const ShardingProblem::Op &tie = program.problem.ops[number];
  if (!loop || loop.getCount() < 2 || !tie.ports[0].isInput)
    return 0;
  bool isSum = !tie.choices.linear.empty();
  const ShardingProblem::Port &made = tie.ports[1];
  const ShardingProblem::Tensor &tensor = program.problem.tensors[made.tensor];
  Sharding sharding = program.problem.getPortSharding(tie, made, state);
  auto bytes = static_cast<double>(tensor.elementBytes);
  for (auto [size, dim] : llvm::zip(tensor.shape, sharding.dims))
    bytes *= static_cast<double>(llvm::divideCeil(size, numShards(dim.axes)));
  double each =
      rates.kernelFloor + (isSum ? 1 : 2) * bytes / rates.bytesPerSecond;
  double times = isSum ? 1 : static_cast<double>(loop.getCount() - 1);
  return toPicoseconds(each * times / static_cast<double>(tie.trips));
}

int64_t OpPrices::price(unsigned number, const RunState &state) {
  Operation *op = program.operations[number];
  if (!program.isOwn(number))
    return priceTie(number, state);
  const ShardingRule &rule =
      program.problem.rules[program.problem.ops[number].rule];
  OpCost cost = getOpCost(op);
  if (cost.kind == CostKind::Elementwise)
    return toPicoseconds(getElementwiseTime(number, state));
  std::optional<double> seconds = state.isDecomposed
                                      ? getDecomposedTime(op, rule, state)
                                      : getLocalTime(op, rule, state.axes);
  if (!seconds)
    return kInfinite;
  const KernelEnds &ends = program.kernelEnds[number];
  // Operands that a neighbor in the same kernel makes are not read.
  for (unsigned i = 0; !state.isDecomposed && i < ends.operands.size(); ++i)
    if (!ends.operands.test(i)) {
      Type type = op->getOperand(i).getType();
      *seconds -= getTensorBytes(getLocalType(
                      type, getNeeded(rule, i, type, state.axes))) /
                  rates.bytesPerSecond;
    }
  if (!ends.isKernel)
    *seconds = std::max(0.0, *seconds - rates.kernelFloor);
  return toPicoseconds(*seconds);
}
