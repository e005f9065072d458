//===- PadFactors.cpp - Pads what a mesh does not divide ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FactorSizes says how large everything becomes; this rewrites the types and
// masks the padding where it would change a result. Arguments are zero-filled
// in their padding; that a value's padding is zero is followed through linear
// ops, so that no mask is put where none is needed.
//
//===----------------------------------------------------------------------===//

#include "FactorSizes.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Interfaces/NeutralElements.h"
#include "tessera/Partition/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_PADFACTORSPASS
#include "tessera/Partition/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// Pads one function.
class Padder {
public:
  Padder(FunctionOpInterface func, const Mesh &mesh, int64_t multiple)
      : func(func), sizes(func, mesh, multiple) {}

  LogicalResult run();

private:
  /// What the mask of a padded dimension needs to know.
  struct Padding {
    int64_t dim;
    int64_t size;
  };

  LogicalResult reportConflict();
  void remarkAlignment();
  void setBoundaryTypes();
  LogicalResult absorbOwnReductions(Operation *op, const ShardingRule &rule);
  LogicalResult padOp(Operation *op);
  LogicalResult padBlock(Block &block);
  LogicalResult padAccumulate(dist::AccumulateOp op);
  /// Sets the operands of a block's last op.
  void padTerminator(Operation *op, SmallVector<Value> operands);
  /// Gives the arguments of a block that were padded back to it, once nothing
  /// uses the old ones.
  void takeArguments(Block &block, unsigned numArguments);
  /// The operands for the padded op: masked where the op reduces over padding.
  SmallVector<Value> maskOperands(Operation *op, const ShardingRule &rule);
  Value mask(OpBuilder &builder, Value value, dist::ShardingAttr sharding,
             Padding padding, ReductionKind kind);
  /// Records which dimensions of the results have zeros as padding.
  void trackZeros(Operation *op, const ShardingRule &rule);
  bool isZeroPadded(Value value, int64_t dim) const {
    return zeros.contains({value, dim});
  }

  FunctionOpInterface func;
  FactorSizes sizes;
  /// Keyed by original values; only looked up.
  DenseMap<Value, Value> padded;
  /// Ops that a padded copy has replaced, in order; and the blocks whose
  /// arguments have stand-ins behind them, with their number.
  SmallVector<Operation *> replaced;
  SmallVector<std::pair<Block *, unsigned>> blocks;
  llvm::DenseSet<std::pair<Value, int64_t>> zeros;
  int64_t trueElements = 0, allElements = 0;
};

} // namespace

/// The dimension of `tensor` whose major factor is `factor`.
static std::optional<int64_t> findDim(const TensorFactors &tensor,
                                      unsigned factor) {
  for (auto [dim, factors] : llvm::enumerate(tensor))
    if (!factors.empty() && factors.front() == factor)
      return dim;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Value Padder::mask(OpBuilder &builder, Value value, dist::ShardingAttr sharding,
                   Padding padding, ReductionKind kind) {
  auto type = cast<RankedTensorType>(value.getType());
  Value masked = nn::MaskPaddingOp::create(
      builder, value.getLoc(), type, value, /*offset=*/Value(), padding.dim,
      padding.size, getNeutralElement(type.getElementType(), kind));
  if (sharding)
    dist::setSharding(masked, sharding);
  return masked;
}

SmallVector<Value> Padder::maskOperands(Operation *op,
                                        const ShardingRule &rule) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(padded.contains(operand) ? padded.lookup(operand)
                                                : operand);
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  OpBuilder builder(op);
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    if (factor.kind != FactorKind::Reduction ||
        sizes.getPadded(op, index) == factor.size ||
        iface.absorbPadding(index, factor.size))
      continue;
    for (auto [i, tensor] : llvm::enumerate(rule.operands)) {
      std::optional<int64_t> dim = findDim(tensor, index);
      bool neutral = dim && factor.reduction == ReductionKind::Sum &&
                     isZeroPadded(op->getOperand(i), *dim);
      if (!dim || neutral)
        continue;
      int64_t size =
          cast<RankedTensorType>(op->getOperand(i).getType()).getDimSize(*dim);
      // The operand may be a stand-in for an argument, which carries none.
      operands[i] =
          mask(builder, operands[i], dist::getSharding(op->getOperand(i)),
               {*dim, size}, factor.reduction);
    }
  }
  return operands;
}

/// Where all operands that have the dimension are zero, so may be the results.
/// The op is told of the padding first.
void Padder::trackZeros(Operation *op, const ShardingRule &rule) {
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  if (!iface)
    return;
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    if (sizes.getPadded(op, index) == factor.size)
      continue;
    // Of those of other kinds it was told before.
    bool absorbed = factor.kind == FactorKind::Parallel &&
                    iface.absorbPadding(index, factor.size);
    llvm::SmallBitVector zero(op->getNumOperands());
    bool allZero = true;
    for (auto [i, operand] : llvm::enumerate(rule.operands))
      if (std::optional<int64_t> dim = findDim(operand, index)) {
        zero.set(i);
        allZero &= isZeroPadded(op->getOperand(i), *dim);
      }
    if (!allZero || (!absorbed && !keepsZeros(op, zero)))
      continue;
    for (auto [result, tensor] : llvm::zip(op->getResults(), rule.results))
      if (std::optional<int64_t> dim = findDim(tensor, index))
        zeros.insert({result, *dim});
  }
}

//===----------------------------------------------------------------------===//
// Rewrite
//===----------------------------------------------------------------------===//

/// A constant that is no splat, with zeros behind its elements.
static FailureOr<Operation *> padConstant(OpBuilder &builder, Operation *op,
                                          Type type) {
  auto constant = dyn_cast<arith::ConstantOp>(op);
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                           : DenseElementsAttr();
  if (!elements)
    return failure();
  auto from = cast<RankedTensorType>(elements.getType());
  auto to = cast<RankedTensorType>(type);
  SmallVector<Attribute> values(to.getNumElements(),
                                builder.getZeroAttr(to.getElementType()));
  SmallVector<int64_t> strides = computeStrides(to.getShape());
  SmallVector<int64_t> fromStrides = computeStrides(from.getShape());
  for (auto [i, value] : llvm::enumerate(elements.getValues<Attribute>()))
    values[linearize(delinearize(i, fromStrides), strides)] = value;
  auto clone = cast<arith::ConstantOp>(builder.clone(*op));
  clone.setValueAttr(DenseElementsAttr::get(to, values));
  clone.getResult().setType(to);
  return clone.getOperation();
}

LogicalResult Padder::reportConflict() {
  const FactorSizes::Conflict &c = *sizes.getConflict();
  return c.op->emitOpError("expects dimension ")
         << c.dim << " of " << c.value.getType()
         << " to divide under the shardings around it but got a factor of size "
         << c.size << ", which would be padded to " << c.padded << "; "
         << c.why;
}

/// Arguments and results: their padded types, and their true shapes kept.
void Padder::setBoundaryTypes() {
  Block &block = func.getFunctionBody().front();
  MLIRContext *context = func.getContext();
  auto note = [&](RankedTensorType from, Type to) {
    trueElements += from.getNumElements();
    allElements += cast<RankedTensorType>(to).getNumElements();
    return DenseI64ArrayAttr::get(context, from.getShape());
  };
  SmallVector<Type> inputs, outputs;
  for (BlockArgument arg : block.getArguments()) {
    Type type = sizes.getPaddedType(arg);
    inputs.push_back(type);
    if (type == arg.getType())
      continue;
    auto from = cast<RankedTensorType>(arg.getType());
    func.setArgAttr(arg.getArgNumber(), dist::DistDialect::kGlobalShapeAttr,
                    note(from, type));
    for (int64_t dim = 0; dim < from.getRank(); ++dim)
      zeros.insert({arg, dim});
  }
  for (auto [i, value] :
       llvm::enumerate(block.getTerminator()->getOperands())) {
    Type type = sizes.getPaddedType(value);
    outputs.push_back(type);
    if (type != value.getType())
      func.setResultAttr(i, dist::DistDialect::kGlobalShapeAttr,
                         note(cast<RankedTensorType>(value.getType()), type));
  }
  func.setType(func.cloneTypeWith(inputs, outputs));
}

/// A reduction of the op's own must know of padding: no mask of an operand is
/// neutral in every such reduction.
LogicalResult Padder::absorbOwnReductions(Operation *op,
                                          const ShardingRule &rule) {
  for (auto [index, factor] : llvm::enumerate(rule.factors)) {
    if (factor.kind != FactorKind::Decomposed ||
        sizes.getPadded(op, index) == factor.size ||
        cast<ShardingRuleOpInterface>(op).absorbPadding(index, factor.size))
      continue;
    return op->emitOpError("expects to be decomposed before its reduction over "
                           "a dimension of size ")
           << factor.size << " is padded to " << sizes.getPadded(op, index);
  }
  return success();
}

/// What is donated is an argument of the next run, whose padding is zero.
void Padder::padTerminator(Operation *op, SmallVector<Value> operands) {
  OpBuilder builder(op);
  for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i) {
    auto donated =
        func.getArgAttrOfType<IntegerAttr>(i, dist::DistDialect::kDonateAttr);
    if (!donated || op->getParentOp() != func.getOperation())
      continue;
    unsigned number = donated.getInt();
    Value value = op->getOperand(number);
    auto type = dyn_cast<RankedTensorType>(value.getType());
    for (int64_t dim = 0, rank = type ? type.getRank() : 0; dim < rank; ++dim)
      if (sizes.getPadded(value, dim) != type.getDimSize(dim) &&
          !isZeroPadded(value, dim))
        operands[number] =
            mask(builder, operands[number], dist::getSharding(value),
                 {dim, type.getDimSize(dim)}, ReductionKind::Sum);
  }
  op->setOperands(operands);
}

LogicalResult Padder::padOp(Operation *op) {
  if (auto accumulate = dyn_cast<dist::AccumulateOp>(op))
    return padAccumulate(accumulate);
  ShardingRule rule = getShardingRule(op);
  if (failed(absorbOwnReductions(op, rule)))
    return failure();
  SmallVector<Value> operands = maskOperands(op, rule);
  trackZeros(op, rule);
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    padTerminator(op, operands);
    return success();
  }
  SmallVector<Type> types;
  for (Value result : op->getResults())
    types.push_back(sizes.getPaddedType(result));
  bool isSame = llvm::equal(types, op->getResultTypes()) &&
                llvm::equal(operands, op->getOperands()) &&
                llvm::all_of(op->getOperands(), [&](Value value) {
                  return sizes.getPaddedType(value) == value.getType();
                });
  if (isSame)
    return success();
  OpBuilder builder(op);
  auto iface = dyn_cast<ShardingRuleOpInterface>(op);
  FailureOr<Operation *> clone =
      iface ? iface.cloneWithShapes(builder, operands, types)
            : FailureOr<Operation *>(
                  cloneWithTypes(builder, op, operands, types));
  if (failed(clone) && op->getNumOperands() == 0)
    clone = padConstant(builder, op, types.front());
  if (failed(clone))
    return op->emitOpError("expects a shape that the shardings around it "
                           "divide: it cannot be padded from ")
           << op->getResultTypes() << " to " << TypeRange(types);
  for (auto [from, to] : llvm::zip(op->getResults(), (*clone)->getResults()))
    padded[from] = to;
  replaced.push_back(op);
  return success();
}

/// The body is padded in its place and moves to an op of the padded types.
LogicalResult Padder::padAccumulate(dist::AccumulateOp op) {
  Block &body = op.getBody().front();
  auto toPadded = [&](Value value) {
    return padded.contains(value) ? padded.lookup(value) : value;
  };
  for (auto [whole, slice] : llvm::zip(op.getSlices(), body.getArguments()))
    for (int64_t dim = 0;
         dim < cast<RankedTensorType>(slice.getType()).getRank(); ++dim)
      if (isZeroPadded(whole, dim + 1))
        zeros.insert({slice, dim});
  SmallVector<Value> yielded(op.getYield().getValues());
  if (failed(padBlock(body)))
    return failure();
  SmallVector<Value> operands = llvm::map_to_vector(op.getSlices(), toPadded);
  SmallVector<Type> types;
  for (auto [value, sum] : llvm::zip(yielded, op.getSums())) {
    types.push_back(sizes.getPaddedType(sum));
    for (int64_t dim = 0; dim < cast<RankedTensorType>(sum.getType()).getRank();
         ++dim)
      if (isZeroPadded(value, dim))
        zeros.insert({sum, dim});
  }
  OpBuilder builder(op);
  OperationState state(op.getLoc(), op->getName(), operands, types,
                       op->getAttrs());
  state.addRegion()->takeBody(op.getBody());
  Operation *copy = builder.create(state);
  for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
    padded[from] = to;
  replaced.push_back(op);
  return success();
}

/// Until the ops are rewritten padded arguments stand behind the old ones.
LogicalResult Padder::padBlock(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  unsigned numArguments = block.getNumArguments();
  blocks.push_back({&block, numArguments});
  for (unsigned i = 0; i < numArguments; ++i) {
    BlockArgument arg = block.getArgument(i);
    if (Type type = sizes.getPaddedType(arg); type != arg.getType())
      padded[arg] = block.addArgument(type, arg.getLoc());
  }
  for (Operation *op : ops)
    if (failed(padOp(op)))
      return failure();
  return success();
}

void Padder::takeArguments(Block &block, unsigned numArguments) {
  for (unsigned i = 0; i < numArguments; ++i) {
    BlockArgument arg = block.getArgument(i);
    if (Value standIn = padded.lookup(arg)) {
      arg.setType(standIn.getType());
      standIn.replaceAllUsesWith(arg);
    }
  }
  block.eraseArguments(numArguments, block.getNumArguments() - numArguments);
}

/// What is rounded up because a product has it as its minor dimension, and what
/// cannot be.
void Padder::remarkAlignment() {
  for (const FactorSizes::Unaligned &dim : sizes.getUnaligned()) {
    if (dim.why)
      remark::missed(
          func.getLoc(),
          remark::RemarkOpts::name("Alignment").category("partition"))
          << remark::add("a product's minor dimension stays {0}: {1}", dim.size,
                         dim.why);
    else
      remark::passed(
          func.getLoc(),
          remark::RemarkOpts::name("Alignment").category("partition"))
          << remark::add("a product's minor dimension {0} is padded to {1} "
                         "({2:F2} %)",
                         dim.size, dim.padded,
                         100.0 * (dim.padded - dim.size) / dim.size);
  }
}

LogicalResult Padder::run() {
  remarkAlignment();
  if (!sizes.any())
    return success();
  if (sizes.getConflict())
    return reportConflict();
  setBoundaryTypes();
  if (failed(padBlock(func.getFunctionBody().front())))
    return failure();
  for (Operation *op : llvm::reverse(replaced))
    op->erase();
  for (auto [block, numArguments] : blocks)
    takeArguments(*block, numArguments);
  if (allElements > trueElements)
    remark::analysis(func.getLoc(),
                     remark::RemarkOpts::name("Padding").category("partition"))
        << remark::add("{0}: padded arguments and results hold {1} elements "
                       "for {2} true ones ({3:F1} % waste)",
                       func.getName().str(), allElements, trueElements,
                       100.0 * (allElements - trueElements) / trueElements);
  return success();
}

namespace {
struct PadFactorsPass : tessera::impl::PadFactorsPassBase<PadFactorsPass> {
  using PadFactorsPassBase::PadFactorsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Mesh mesh;
    if (!module.getOps<dist::MeshOp>().empty()) {
      FailureOr<dist::MeshOp> meshOp = dist::getOnlyMesh(module);
      if (failed(meshOp))
        return signalPassFailure();
      mesh = meshOp->getMesh().toMesh();
    } else if (multiple == 0) {
      return;
    }
    for (auto func : module.getOps<FunctionOpInterface>())
      if (!func.isExternal() &&
          failed(Padder(func, mesh, getMultiple(func)).run()))
        return signalPassFailure();
  }

  /// A function of one device has the sizes that it has, one that is called
  /// those of its callers.
  int64_t getMultiple(FunctionOpInterface func) {
    bool isOpen = multiple != 0 &&
                  !func->hasAttr(dist::DistDialect::kLocalAttr) &&
                  SymbolTable::symbolKnownUseEmpty(func, getOperation());
    return isOpen ? multiple : 0;
  }
};
} // namespace
