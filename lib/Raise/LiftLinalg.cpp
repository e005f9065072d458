//===- LiftLinalg.cpp - Lifts linalg to nn, arith and math ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A linalg op consists of loops and a scalar body. Each scalar of the body
// becomes a tensor with one dimension per loop that it depends on. Its op
// becomes the same op on tensors, with operands transposed and broadcast to
// these loops. Reduction loops become nn.reduce, and a sum of products becomes
// a matmul.
//
//===----------------------------------------------------------------------===//

#include "TensorTypes.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Interfaces/ElementwiseBuilder.h"
#include "tessera/Interfaces/LinalgBodies.h"
#include "tessera/Interfaces/NeutralElements.h"
#include "tessera/Raise/Passes.h"

#include <set>

namespace tessera {
#define GEN_PASS_DEF_LIFTLINALGPASS
#include "tessera/Raise/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// The most loops: each one has a letter in a matmul.
static constexpr int64_t kMaxLoops = 26;

static SmallVector<int64_t> sorted(ArrayRef<int64_t> loops) {
  SmallVector<int64_t> result(loops);
  llvm::sort(result);
  return result;
}

//===----------------------------------------------------------------------===//
// One op
//===----------------------------------------------------------------------===//

namespace {

/// A value and the loop of each of its dimensions.
struct Placed {
  Value value;
  SmallVector<int64_t> loops;
};

/// Lifts an op. If this fails, the ops built so far are dead.
class Lifting {
public:
  explicit Lifting(linalg::LinalgOp op)
      : op(op), builder(op), b{builder, op.getLoc()},
        sizes(op.getStaticLoopRanges()) {}

  /// Returns the new results; none if nn has no such op.
  std::optional<SmallVector<Value>> lift();

private:
  bool isLiftable();
  SmallVector<int64_t> sizesOf(ArrayRef<int64_t> loops) const;
  SmallVector<int64_t> allLoops() const;
  std::optional<Placed> place(Value value, AffineMap map);
  Value reshape(Value value, ArrayRef<int64_t> shape);
  Value transpose(const Placed &placed, ArrayRef<int64_t> loops);
  Value spread(const Placed &placed, ArrayRef<int64_t> loops);
  Type liftType(Type scalar, ArrayRef<int64_t> loops) const;

  std::optional<Placed> lookUp(Value scalar);
  bool enterArguments();
  bool liftBody(const llvm::DenseSet<Operation *> &combiners);
  bool liftOp(Operation &scalar);
  Value liftCast(Value value, Type type);
  std::optional<Placed> liftExtract(tensor::ExtractOp extract);
  std::optional<Placed> positionsOf(Value index);

  std::optional<Value> liftResult(unsigned output,
                                  std::optional<ReductionKind> kind);
  std::optional<Value> liftMatmul(unsigned output, ArrayRef<int64_t> result);
  Value combine(Value value, Value init, ReductionKind kind);

  linalg::LinalgOp op;
  OpBuilder builder;
  ElementwiseBuilder b;
  SmallVector<int64_t> sizes;
  /// Lifted values of the body.
  DenseMap<Value, Placed> mapping;
};

} // namespace

bool Lifting::isLiftable() {
  auto isStatic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !isa<ShapedType>(type) || (tensor && tensor.hasStaticShape());
  };
  return op.hasPureTensorSemantics() && int64_t(sizes.size()) <= kMaxLoops &&
         llvm::all_of(op->getOperandTypes(), isStatic) &&
         llvm::none_of(sizes, ShapedType::isDynamic) &&
         llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) {
           return map.isProjectedPermutation(/*allowZeroInResults=*/true);
         });
}

SmallVector<int64_t> Lifting::sizesOf(ArrayRef<int64_t> loops) const {
  SmallVector<int64_t> shape;
  for (int64_t loop : loops)
    shape.push_back(sizes[loop]);
  return shape;
}

SmallVector<int64_t> Lifting::allLoops() const {
  return llvm::to_vector(llvm::seq<int64_t>(0, int64_t(sizes.size())));
}

/// Converts a scalar type to a tensor type; an index becomes an i64.
Type Lifting::liftType(Type scalar, ArrayRef<int64_t> loops) const {
  if (scalar.isIndex())
    scalar = IntegerType::get(scalar.getContext(), 64);
  return RankedTensorType::get(sizesOf(loops), scalar);
}

Value Lifting::reshape(Value value, ArrayRef<int64_t> shape) {
  RankedTensorType from = findTensorType(value), to = from.clone(shape);
  if (from == to)
    return value;
  auto groups = getReassociationIndicesForReshape(from, to);
  return b.make<tensor::CollapseShapeOp>(to, value, *groups);
}

/// Maps the dimensions of an operand to loops; dimensions of size 1 without a
/// loop are dropped.
std::optional<Placed> Lifting::place(Value value, AffineMap map) {
  Placed placed{value, {}};
  SmallVector<int64_t> shape;
  for (auto [i, result] : llvm::enumerate(map.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(result)) {
      placed.loops.push_back(dim.getPosition());
      shape.push_back(findTensorType(value).getDimSize(i));
    }
  if (!getReassociationIndicesForReshape(findTensorType(value),
                                         findTensorType(value).clone(shape)) &&
      findTensorType(value).getShape() != ArrayRef(shape))
    return std::nullopt;
  placed.value = reshape(value, shape);
  return placed;
}

/// Transposes the value so that its dimensions follow `loops`.
Value Lifting::transpose(const Placed &placed, ArrayRef<int64_t> loops) {
  if (ArrayRef(placed.loops) == loops)
    return placed.value;
  SmallVector<int64_t> permutation;
  for (int64_t loop : loops)
    permutation.push_back(llvm::find(placed.loops, loop) -
                          placed.loops.begin());
  return b.make<nn::TransposeOp>(
      findTensorType(placed.value).clone(sizesOf(loops)), placed.value,
      permutation);
}

/// Broadcasts the value to `loops`, in this order, which contain all of its
/// own. A single number becomes a constant of that shape.
Value Lifting::spread(const Placed &placed, ArrayRef<int64_t> loops) {
  SmallVector<int64_t> own, dims;
  for (auto [dim, loop] : llvm::enumerate(loops))
    if (llvm::is_contained(placed.loops, loop)) {
      own.push_back(loop);
      dims.push_back(dim);
    }
  Value value = transpose(placed, own);
  if (ArrayRef(own) == loops)
    return value;
  RankedTensorType type = findTensorType(value).clone(sizesOf(loops));
  SplatElementsAttr splat;
  if (matchPattern(value, m_Constant(&splat)))
    return b.make<arith::ConstantOp>(
        cast<TypedAttr>(Attribute(splat.resizeSplat(type))));
  return b.make<nn::BroadcastOp>(type, value, dims);
}

/// The union of the values' loops: in the order of the first value that has all
/// of them, else ascending.
static SmallVector<int64_t> uniteLoops(ArrayRef<Placed> values) {
  std::set<int64_t> found;
  for (const Placed &value : values)
    found.insert(value.loops.begin(), value.loops.end());
  for (const Placed &value : values)
    if (value.loops.size() == found.size())
      return value.loops;
  return SmallVector<int64_t>(found.begin(), found.end());
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

/// The lifted value of a scalar of the body; constants are rebuilt. None for
/// other values from outside the body.
std::optional<Placed> Lifting::lookUp(Value scalar) {
  auto found = mapping.find(scalar);
  if (found != mapping.end())
    return found->second;
  Attribute constant;
  if (!matchPattern(scalar, m_Constant(&constant)) ||
      !isa<FloatAttr, IntegerAttr>(constant))
    return std::nullopt;
  if (scalar.getType().isIndex())
    constant = builder.getI64IntegerAttr(cast<IntegerAttr>(constant).getInt());
  auto type = cast<RankedTensorType>(liftType(scalar.getType(), {}));
  Placed made{b.make<arith::ConstantOp>(cast<TypedAttr>(
                  Attribute(DenseElementsAttr::get(type, ArrayRef(constant))))),
              {}};
  mapping[scalar] = made;
  return made;
}

/// Maps the arguments of the body that it reads.
bool Lifting::enterArguments() {
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    // Skips the running value of a reduction: only its combiner reads it.
    if (argument.use_empty() ||
        (op.isDpsInit(&operand) && op.getNumReductionLoops() != 0))
      continue;
    auto placed =
        findTensorType(operand.get())
            ? place(operand.get(), op.getMatchingIndexingMap(&operand))
            : lookUp(operand.get());
    if (!placed)
      return false;
    mapping[argument] = *placed;
  }
  return true;
}

/// Casts between integer widths.
Value Lifting::liftCast(Value value, Type type) {
  unsigned before = findTensorType(value).getElementTypeBitWidth();
  unsigned after = cast<RankedTensorType>(type).getElementTypeBitWidth();
  if (before == after)
    return value;
  if (before < after)
    return b.make<arith::ExtSIOp>(type, value);
  return b.make<arith::TruncIOp>(type, value);
}

/// The loop of a linalg.index; none of another value.
static std::optional<int64_t> getLoop(Value value) {
  auto index = value.getDefiningOp<linalg::IndexOp>();
  return index ? std::optional<int64_t>(index.getDim()) : std::nullopt;
}

/// Lifts an operand that is read as an index.
std::optional<Placed> Lifting::positionsOf(Value index) {
  auto cast = index.getDefiningOp<arith::IndexCastOp>();
  auto argument =
      cast ? dyn_cast<BlockArgument>(cast.getIn()) : BlockArgument();
  if (!argument || argument.getOwner() != op.getBlock())
    return std::nullopt;
  OpOperand &operand = op->getOpOperand(argument.getArgNumber());
  if (!findTensorType(operand.get()))
    return std::nullopt;
  return place(operand.get(), op.getMatchingIndexingMap(&operand));
}

/// Lifts an extract to an embedding lookup, or to one element of each row.
std::optional<Placed> Lifting::liftExtract(tensor::ExtractOp extract) {
  Value table = extract.getTensor();
  RankedTensorType type = findTensorType(table);
  ValueRange indices = extract.getIndices();
  if (table.getParentBlock() != op->getBlock() || !type.hasStaticShape() ||
      indices.empty())
    return std::nullopt;
  bool isTable = indices.size() == 2 && !getLoop(indices[0]);
  auto positions = positionsOf(isTable ? indices[0] : indices.back());
  if (!positions)
    return std::nullopt;
  SmallVector<int64_t> loops;
  for (auto [i, index] : llvm::enumerate(indices)) {
    if (i == (isTable ? 0 : indices.size() - 1))
      continue;
    std::optional<int64_t> loop = getLoop(index);
    if (!loop || sizes[*loop] != type.getDimSize(i))
      return std::nullopt;
    loops.push_back(*loop);
  }
  if (isTable) {
    if (llvm::is_contained(positions->loops, loops[0]))
      return std::nullopt;
    Placed rows = *positions;
    rows.loops.push_back(loops[0]);
    rows.value =
        b.make<nn::EmbeddingOp>(type.clone(sizesOf(rows.loops)), table,
                                positions->value, Value(), IntegerAttr());
    return rows;
  }
  if (sorted(loops) != sorted(positions->loops))
    return std::nullopt;
  Value index = transpose(*positions, loops);
  return Placed{
      b.make<nn::TakeAlongAxisOp>(type.clone(type.getShape().drop_back()),
                                  table, index, Value(), IntegerAttr()),
      loops};
}

/// Builds an op of the body on tensors; false if it has no tensor form.
bool Lifting::liftOp(Operation &scalar) {
  // Drops the assertion: ids are valid rows of their table.
  if (isa<cf::AssertOp>(scalar))
    return true;
  // Constants are rebuilt at their use.
  if (scalar.hasTrait<OpTrait::ConstantLike>())
    return true;
  if (auto index = dyn_cast<linalg::IndexOp>(scalar)) {
    int64_t loop = index.getDim();
    Type type = liftType(index.getType(), {loop});
    mapping[index] = {b.make<nn::IotaOp>(type, Value(), nn::ZigzagAttr()),
                      {loop}};
    return true;
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(scalar)) {
    auto placed = liftExtract(extract);
    if (placed)
      mapping[extract] = *placed;
    return placed.has_value();
  }
  SmallVector<Placed> placed;
  for (Value operand : scalar.getOperands()) {
    auto value = lookUp(operand);
    if (!value)
      return false;
    placed.push_back(*value);
  }
  if (scalar.getNumResults() != 1 || scalar.getNumRegions() != 0 ||
      !OpTrait::hasElementwiseMappableTraits(&scalar))
    return false;
  SmallVector<int64_t> loops = uniteLoops(placed);
  SmallVector<Value> operands;
  for (const Placed &operand : placed)
    operands.push_back(spread(operand, loops));
  Value result = scalar.getResult(0);
  Type type = liftType(result.getType(), loops);
  if (isa<arith::IndexCastOp>(scalar)) {
    mapping[result] = {liftCast(operands[0], type), loops};
    return true;
  }
  Operation *made = builder.clone(scalar);
  made->setOperands(operands);
  made->getResult(0).setType(type);
  mapping[result] = {made->getResult(0), loops};
  return true;
}

bool Lifting::liftBody(const llvm::DenseSet<Operation *> &combiners) {
  if (!enterArguments())
    return false;
  for (Operation &scalar : op.getBlock()->without_terminator())
    if (!combiners.contains(&scalar) && !liftOp(scalar))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Combines the reduction with its initial value, unless that is neutral.
Value Lifting::combine(Value value, Value init, ReductionKind kind) {
  if (isNeutral(init, kind))
    return value;
  bool isFloat = isa<FloatType>(findTensorType(value).getElementType());
  switch (kind) {
  case ReductionKind::Sum:
    return isFloat ? b.add(value, init) : b.make<arith::AddIOp>(value, init);
  case ReductionKind::Max:
    return isFloat ? b.make<arith::MaximumFOp>(value, init)
                   : b.make<arith::MaxSIOp>(value, init);
  case ReductionKind::Min:
    return isFloat ? b.make<arith::MinimumFOp>(value, init)
                   : b.make<arith::MinSIOp>(value, init);
  }
  llvm_unreachable("a kind of reduction");
}

static std::string lettersOf(ArrayRef<int64_t> loops) {
  std::string letters;
  for (int64_t loop : loops)
    letters += char('a' + loop);
  return letters;
}

/// Lifts a sum of products of two values to a matmul; `result` has its loops.
std::optional<Value> Lifting::liftMatmul(unsigned output,
                                         ArrayRef<int64_t> result) {
  auto product = getAdded(op, output).get().getDefiningOp<arith::MulFOp>();
  if (!product)
    return std::nullopt;
  auto lhs = lookUp(product.getLhs()), rhs = lookUp(product.getRhs());
  if (!lhs || !rhs)
    return std::nullopt;
  // In a matmul, both factors have each summed loop, and some loop of the
  // result belongs to one factor only: elementwise products of rows are no
  // matmul.
  bool isMatmul = false;
  for (int64_t loop : allLoops()) {
    bool isLeft = llvm::is_contained(lhs->loops, loop);
    bool isRight = llvm::is_contained(rhs->loops, loop);
    bool isKept = llvm::is_contained(result, loop);
    if (isKept ? !isLeft && !isRight : !isLeft || !isRight)
      return std::nullopt;
    isMatmul |= isLeft != isRight;
  }
  if (!isMatmul)
    return std::nullopt;
  std::string spec = lettersOf(lhs->loops) + "," + lettersOf(rhs->loops) +
                     "->" + lettersOf(result);
  return b.make<nn::EinsumOp>(findTensorType(op.getDpsInits()[output]), spec,
                              lhs->value, rhs->value);
}

/// Lifts an output, with its dimensions in the order of its own loops.
std::optional<Value> Lifting::liftResult(unsigned output,
                                         std::optional<ReductionKind> kind) {
  OpOperand &init = op.getDpsInitsMutable()[output];
  AffineMap map = op.getMatchingIndexingMap(&init);
  if (!map.isProjectedPermutation())
    return std::nullopt;
  SmallVector<int64_t> result, reduced;
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    result.push_back(map.getDimPosition(i));
  for (int64_t loop : allLoops())
    if (!llvm::is_contained(result, loop))
      reduced.push_back(loop);
  if (kind == ReductionKind::Sum)
    if (auto product = liftMatmul(output, result))
      return combine(*product, init.get(), *kind);
  auto value =
      lookUp(kind ? getAdded(op, output).get()
                  : op.getBlock()->getTerminator()->getOperand(output));
  if (!value || (!kind && !reduced.empty()))
    return std::nullopt;
  if (!kind)
    return spread(*value, result);
  SmallVector<int64_t> loops =
      uniteLoops({*value, Placed{Value(), allLoops()}});
  Value all = spread(*value, loops);
  SmallVector<int64_t> kept, dims;
  for (auto [dim, loop] : llvm::enumerate(loops))
    if (llvm::is_contained(reduced, loop))
      dims.push_back(dim);
    else
      kept.push_back(loop);
  nn::ReduceKind name = *kind == ReductionKind::Sum   ? nn::ReduceKind::Sum
                        : *kind == ReductionKind::Max ? nn::ReduceKind::Max
                                                      : nn::ReduceKind::Min;
  Value sum = b.make<nn::ReduceOp>(findTensorType(all).clone(sizesOf(kept)),
                                   name, all, dims);
  return combine(transpose({sum, kept}, result), init.get(), *kind);
}

std::optional<SmallVector<Value>> Lifting::lift() {
  if (!isLiftable())
    return std::nullopt;
  std::optional<ReductionKind> kind;
  if (op.getNumReductionLoops() != 0 && !(kind = getReductionKind(op)))
    return std::nullopt;
  llvm::DenseSet<Operation *> combiners;
  if (kind)
    for (Value yielded : op.getBlock()->getTerminator()->getOperands())
      combiners.insert(yielded.getDefiningOp());
  if (!liftBody(combiners))
    return std::nullopt;
  SmallVector<Value> results;
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i) {
    auto result = liftResult(i, kind);
    if (!result)
      return std::nullopt;
    results.push_back(*result);
  }
  return results;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
class LiftLinalgPass
    : public tessera::impl::LiftLinalgPassBase<LiftLinalgPass> {
public:
  void runOnOperation() override;
};
} // namespace

static void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

void LiftLinalgPass::runOnOperation() {
  for (Block &block : getOperation().getBody()) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto softmax = dyn_cast<linalg::SoftmaxOp>(op);
          softmax && findTensorType(softmax.getInput()) &&
          softmax->getNumResults()) {
        OpBuilder builder(softmax);
        softmax.getResult()[0].replaceAllUsesWith(
            nn::SoftmaxOp::create(builder, softmax.getLoc(), softmax.getInput(),
                                  softmax.getDimension()));
        continue;
      }
      auto structured = dyn_cast<linalg::LinalgOp>(op);
      if (!structured)
        continue;
      if (auto results = Lifting(structured).lift())
        op.replaceAllUsesWith(*results);
      else
        remark::missed(op.getLoc(),
                       remark::RemarkOpts::name("NotLifted").category("import"))
            << remark::add("{0}", op.getName().getStringRef());
    }
    eraseDead(block);
  }
}
