//===- OutlineKernels.cpp - Outlines groups of linalg ops to kernels ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that differ only in locations, such as the kernels of different
// layers, share one function.
//
//===----------------------------------------------------------------------===//

#include "dialects/RT/RT.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tessera/Codegen/GPUPlan.h"
#include "tessera/Codegen/KernelRows.h"
#include "tessera/Fusion/FusionGroups.h"
#include "tessera/Kernels/Passes.h"
#include "tessera/Kernels/StepFunction.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "tessera/Kernels/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;
using rt::RTDialect;

namespace {

/// A value inside a kernel with more bytes per row than this becomes a result:
/// it is too large for a stack.
constexpr int64_t kMaxRowBytes = 64 * 1024;

/// True for ops that are cloned into every kernel that reads them.
bool isCloned(Operation *op) {
  return op && isa<arith::ConstantOp, tensor::EmptyOp, linalg::FillOp>(op);
}

class Outliner {
public:
  explicit Outliner(ModuleOp module)
      : module(module), symbols(module),
        onGPU(rt::getTarget(module) != rt::Target::Host) {}
  LogicalResult run(func::FuncOp step);

private:
  LogicalResult outlineBlock(Block &block);
  LogicalResult outline(const FusionGroup &group);
  /// Returns the known kernel with the same body, or `func` with a new name.
  func::FuncOp unify(func::FuncOp func);
  DenseI64ArrayAttr findReuse(func::FuncOp func) const;

  ModuleOp module;
  SymbolTable symbols;
  bool onGPU;
  /// The kernels by their hash.
  llvm::DenseMap<llvm::hash_code, SmallVector<func::FuncOp, 1>> kernels;
  unsigned count = 0;
};

} // namespace

/// Returns the values that ops of the group read from outside: tensors, then
/// scalars. Fails on a scalar that is not an index.
static FailureOr<SmallVector<Value>> findInputs(const FusionGroup &group) {
  llvm::SetVector<Value> tensors, scalars;
  SmallPtrSet<Operation *, 16> members;
  for (linalg::GenericOp op : group.ops)
    members.insert(op);
  auto visit = [&](Operation *reader, linalg::GenericOp op) -> LogicalResult {
    for (Value value : reader->getOperands()) {
      if (op->isAncestor(value.getParentBlock()->getParentOp()) &&
          value.getParentBlock() != op->getBlock())
        continue;
      Operation *def = value.getDefiningOp();
      if (members.contains(def) || isCloned(def))
        continue;
      if (isa<RankedTensorType>(value.getType()))
        tensors.insert(value);
      else if (value.getType().isIndex())
        scalars.insert(value);
      else
        return op.emitError("expects tensors and index scalars from outside "
                            "but got ")
               << value.getType();
    }
    return success();
  };
  for (linalg::GenericOp op : group.ops) {
    WalkResult result = op->walk([&](Operation *inner) {
      return failed(visit(inner, op)) ? WalkResult::interrupt()
                                      : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
  }
  SmallVector<Value> inputs(tensors.begin(), tensors.end());
  inputs.append(scalars.begin(), scalars.end());
  return inputs;
}

/// Returns the values that others read, and values too large to stay inside.
static SmallVector<Value> findResults(const FusionGroup &group, bool onGPU) {
  int64_t inside = 0;
  // On a GPU all values inside share the memory of a block.
  auto isTooLarge = [&](int64_t rowBytes) {
    if (!onGPU)
      return rowBytes > kMaxRowBytes;
    if (inside + rowBytes > kMaxInsideBytes)
      return true;
    inside += rowBytes;
    return false;
  };
  SmallPtrSet<Operation *, 16> members;
  for (linalg::GenericOp op : group.ops)
    members.insert(op);
  SmallVector<Value> results;
  for (linalg::GenericOp op : group.ops)
    for (Value value : op->getResults()) {
      bool outside = llvm::any_of(value.getUsers(), [&](Operation *user) {
        while (user && user->getBlock() != op->getBlock())
          user = user->getParentOp();
        return !members.contains(user);
      });
      auto type = cast<RankedTensorType>(value.getType());
      int64_t rowBytes = group.rows ? rt::getTensorBytes(type) / group.rows : 0;
      if (outside || isTooLarge(rowBytes))
        results.push_back(value);
    }
  return results;
}

/// Clones `op` and the constants, empty tensors and fills that it reads.
static void cloneInto(OpBuilder &builder, Operation *op, IRMapping &mapping) {
  op->walk([&](Operation *inner) {
    for (Value value : inner->getOperands()) {
      Operation *def = value.getDefiningOp();
      if (!mapping.contains(value) && isCloned(def) && !op->isAncestor(def))
        cloneInto(builder, def, mapping);
    }
  });
  builder.clone(*op, mapping);
}

/// True if the map reads a tensor of `shape` element by element, in the order
/// of the op's loops.
static bool isInOrder(linalg::GenericOp op, AffineMap map,
                      ArrayRef<int64_t> shape) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  auto access = getLinearAccess(map, shape, 0);
  return access && access->offset == 0 &&
         ShapedType::getNumElements(sizes) ==
             ShapedType::getNumElements(shape) &&
         llvm::all_of(
             llvm::zip(sizes, access->strides, rt::getRowMajorStrides(sizes)),
             [](auto loop) {
               auto [size, stride, inOrder] = loop;
               return size == 1 || stride == inOrder;
             });
}

/// On a GPU the threads of a row run independently. A result with one element
/// per row must not overwrite an argument that all of them read, and an
/// overwritten argument must be read element by element, in order.
static bool mayReuseOnGPU(ArrayRef<linalg::GenericOp> ops,
                          BlockArgument argument, OpResult result) {
  int64_t largest = 1;
  for (linalg::GenericOp op : ops) {
    int64_t size = 1;
    for (int64_t loop : op.getStaticLoopRanges())
      size *= loop;
    largest = std::max(largest, size);
    for (OpOperand &operand : op->getOpOperands())
      if (operand.get() == argument &&
          !isInOrder(op, op.getMatchingIndexingMap(&operand),
                     cast<RankedTensorType>(argument.getType()).getShape()))
        return false;
  }
  return cast<RankedTensorType>(result.getType()).getNumElements() == largest;
}

/// Allows result r to overwrite argument a if each row of a is read only in
/// that row, no later than r is written, and at the same elements by the op
/// that writes r.
DenseI64ArrayAttr Outliner::findReuse(func::FuncOp func) const {
  SmallVector<linalg::GenericOp> ops;
  for (Operation &op : func.front())
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      ops.push_back(generic);
  int64_t rows =
      func->getAttrOfType<IntegerAttr>(RTDialect::kRowsAttr).getInt();
  auto allows = [&](BlockArgument argument, OpResult result) {
    auto writer = cast<linalg::GenericOp>(result.getOwner());
    if (onGPU && !mayReuseOnGPU(ops, argument, result))
      return false;
    bool written = false;
    for (linalg::GenericOp op : ops) {
      if (readsByIndex(op, argument))
        return false;
      for (OpOperand &operand : op->getOpOperands()) {
        if (operand.get() != argument)
          continue;
        AffineMap map = op.getMatchingIndexingMap(&operand);
        if (written || !staysInRow(map, *getRowLoops(op, rows)))
          return false;
        OpOperand *init = writer.getDpsInitOperand(result.getResultNumber());
        if (op == writer && (map != op.getMatchingIndexingMap(init) ||
                             op.getNumReductionLoops()))
          return false;
      }
      written |= op == writer;
    }
    return true;
  };
  SmallVector<int64_t> pairs;
  Operation *terminator = func.front().getTerminator();
  for (auto [r, value] : llvm::enumerate(terminator->getOperands()))
    for (BlockArgument argument : func.getArguments())
      if (argument.getType() == value.getType() &&
          allows(argument, cast<OpResult>(value)))
        pairs.append({int64_t(r), int64_t(argument.getArgNumber())});
  return DenseI64ArrayAttr::get(func.getContext(), pairs);
}

/// Hashes everything except locations, the name, and the identity of operands.
static llvm::hash_code hashKernel(func::FuncOp func) {
  llvm::hash_code hash = hash_value(func.getFunctionType());
  func.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    hash =
        llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                     op, OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::ignoreHashValue,
                                     OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

static bool areEqual(func::FuncOp lhs, func::FuncOp rhs) {
  return lhs.getFunctionType() == rhs.getFunctionType() &&
         lhs->getDiscardableAttrDictionary() ==
             rhs->getDiscardableAttrDictionary() &&
         OperationEquivalence::isRegionEquivalentTo(
             &lhs.getBody(), &rhs.getBody(),
             OperationEquivalence::IgnoreLocations);
}

func::FuncOp Outliner::unify(func::FuncOp func) {
  SmallVector<func::FuncOp, 1> &known = kernels[hashKernel(func)];
  auto *equal = llvm::find_if(
      known, [&](func::FuncOp other) { return areEqual(func, other); });
  if (equal != known.end()) {
    func.erase();
    return *equal;
  }
  known.push_back(func);
  func.setName("kernel_" + std::to_string(count++));
  symbols.insert(func, module.getBody()->end());
  return func;
}

LogicalResult Outliner::outline(const FusionGroup &group) {
  FailureOr<SmallVector<Value>> inputs = findInputs(group);
  if (failed(inputs))
    return failure();
  SmallVector<Value> results = findResults(group, onGPU);
  linalg::GenericOp last = group.ops.back();
  OpBuilder builder(last.getContext());
  auto func = func::FuncOp::create(
      last.getLoc(), "kernel",
      builder.getFunctionType(ValueRange(*inputs).getTypes(),
                              ValueRange(results).getTypes()));
  func.setPrivate();
  func->setAttr(RTDialect::kKernelAttr, builder.getUnitAttr());
  func->setAttr(RTDialect::kRowsAttr, builder.getI64IntegerAttr(group.rows));
  builder.setInsertionPointToStart(func.addEntryBlock());
  IRMapping mapping;
  mapping.map(*inputs, func.getArguments());
  for (linalg::GenericOp op : group.ops)
    cloneInto(builder, op, mapping);
  SmallVector<Value> returned;
  for (Value value : results)
    returned.push_back(mapping.lookup(value));
  func::ReturnOp::create(builder, last.getLoc(), returned);
  func->setAttr(RTDialect::kReuseAttr, findReuse(func));

  func = unify(func);
  builder.setInsertionPointAfter(last);
  auto call = rt::KernelOp::create(builder, last.getLoc(),
                                   ValueRange(results).getTypes(),
                                   func.getSymName(), *inputs);
  SmallPtrSet<Operation *, 16> members;
  for (linalg::GenericOp op : group.ops)
    members.insert(op);
  for (auto [value, result] : llvm::zip(results, call.getResults()))
    value.replaceAllUsesWith(result);
  for (linalg::GenericOp op : llvm::reverse(group.ops))
    op.erase();
  return success();
}

/// True if a kernel depends on scalars alone.
static bool isTable(rt::KernelOp op) {
  return llvm::none_of(op.getOperandTypes(),
                       [](Type type) { return isa<RankedTensorType>(type); });
}

/// Moves tables that are the same in each iteration before their loop.
static void hoistTables(scf::ForOp loop) {
  for (rt::KernelOp op :
       llvm::make_early_inc_range(loop.getBody()->getOps<rt::KernelOp>()))
    if (isTable(op) && llvm::all_of(op.getOperands(), [&](Value scalar) {
          return loop.isDefinedOutsideOfLoop(scalar);
        }))
      op->moveBefore(loop);
}

/// Merges tables, which depend on scalars alone (rope's cosines): the first
/// call of a kernel replaces later ones with the same scalars. Keeps kernels
/// that read tensors: a value may be recomputed on purpose.
static void mergeTables(Block &block) {
  SmallVector<rt::KernelOp> known;
  for (rt::KernelOp op :
       llvm::make_early_inc_range(block.getOps<rt::KernelOp>())) {
    // A loop or a task overwrites its start value.
    bool startsLoop = llvm::any_of(op->getUsers(), [](Operation *user) {
      return isa<scf::ForOp, rt::PipelineOp>(user);
    });
    if (!isTable(op) || startsLoop)
      continue;
    auto *first = llvm::find_if(known, [&](rt::KernelOp other) {
      return other.getCalleeAttr() == op.getCalleeAttr() &&
             llvm::equal(other.getOperands(), op.getOperands());
    });
    if (first == known.end()) {
      known.push_back(op);
      continue;
    }
    op.replaceAllUsesWith(*first);
    op.erase();
  }
}

LogicalResult Outliner::outlineBlock(Block &block) {
  FusionPlan plan = planFusion(block);
  Operation *terminator = block.getTerminator();
  for (const FusionPlan::Unit &unit : plan.order) {
    if (unit.op) {
      unit.op->moveBefore(terminator);
      continue;
    }
    for (linalg::GenericOp op : plan.groups[unit.group].ops)
      op->moveBefore(terminator);
  }
  for (const FusionGroup &group : plan.groups)
    if (failed(outline(group)))
      return failure();
  // Erase ops that only kernels read: the kernels have clones.
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
  return success();
}

LogicalResult Outliner::run(func::FuncOp step) {
  // Outline loops first: the outside values that they need are then known.
  WalkResult result = step.walk([&](scf::ForOp loop) {
    if (failed(outlineBlock(*loop.getBody())))
      return WalkResult::interrupt();
    hoistTables(loop);
    return WalkResult::advance();
  });
  if (result.wasInterrupted() || failed(outlineBlock(step.front())))
    return failure();
  mergeTables(step.front());
  return success();
}

namespace {
struct OutlineKernelsPass
    : tessera::impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  void runOnOperation() override {
    if (failed(getStepFunctions(getOperation())))
      return signalPassFailure();
    Outliner outliner(getOperation());
    for (func::FuncOp func : getFunctionsOfStep(getOperation()))
      if (failed(outliner.run(func)))
        return signalPassFailure();
  }
};
} // namespace
