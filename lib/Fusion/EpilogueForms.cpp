//===- EpilogueForms.cpp - Recognizes the epilogues of a matmul -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The code that builds a GELU also defines it: a body is compared with the
// result of that code, op by op.
//
//===----------------------------------------------------------------------===//

#include "EpilogueForms.h"
#include "dialects/RT/RT.h"
#include "mlir/IR/Matchers.h"
#include "tessera/Codegen/GPUPlan.h"
#include "tessera/Codegen/GenericBuilder.h"
#include "tessera/Codegen/RowHelpers.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

/// Strips casts between floats from `value`.
static Value stripCasts(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(def))
      break;
    value = def->getOperand(0);
  }
  return value;
}

namespace {
/// An expression to compare with: its root, and its leaves, which match any
/// value.
struct Template {
  Block block;
  SmallVector<Value, 2> leaves;
  Value root;
};

/// The values bound to the leaves of a template, in their order.
using Bindings = SmallVector<Value, 2>;
} // namespace

/// True if `value` is the expression `wanted`; binds leaves. Operands of
/// commutative ops may come in either order.
static bool isSame(const Template &pattern, Value wanted, Value value,
                   Bindings &bound) {
  auto *leaf = llvm::find(pattern.leaves, wanted);
  if (leaf != pattern.leaves.end()) {
    Value &known = bound[leaf - pattern.leaves.begin()];
    if (!known)
      known = stripCasts(value);
    return known == stripCasts(value);
  }
  FloatAttr number, other;
  if (matchPattern(wanted, m_Constant(&number)))
    return matchPattern(value, m_Constant(&other)) && number == other;
  Operation *want = wanted.getDefiningOp(), *def = value.getDefiningOp();
  if (!want || !def || want->getName() != def->getName() ||
      want->getNumOperands() != def->getNumOperands())
    return false;
  Bindings before = bound;
  auto areSame = [&](auto operands) {
    return llvm::all_of_zip(
        want->getOperands(), operands,
        [&](Value a, Value b) { return isSame(pattern, a, b, bound); });
  };
  if (areSame(def->getOperands()))
    return true;
  bound = before;
  return def->hasTrait<OpTrait::IsCommutative>() &&
         areSame(llvm::reverse(def->getOperands()));
}

/// Builds `pattern` over leaves of `type`.
static void
build(Template &pattern, Location loc, Type type, unsigned leaves,
      llvm::function_ref<Value(GenericBuilder &, ArrayRef<Value>)> body) {
  for (unsigned i = 0; i < leaves; ++i)
    pattern.leaves.push_back(pattern.block.addArgument(type, loc));
  GenericBuilder b(loc, loc.getContext());
  b.setInsertionPointToEnd(&pattern.block);
  pattern.root = body(b, pattern.leaves);
}

/// Collects the body's arguments whose sum is `value`. Returns false if there
/// are other ops, or if an argument is added twice.
static bool collectTerms(Value value, SmallVector<BlockArgument> &terms) {
  value = stripCasts(value);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    bool isNew = !llvm::is_contained(terms, argument);
    terms.push_back(argument);
    return isNew;
  }
  auto add = value.getDefiningOp<arith::AddFOp>();
  return add && collectTerms(add.getLhs(), terms) &&
         collectTerms(add.getRhs(), terms);
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// Returns the strides of an operand by loop, 0 for loops of one iteration;
/// none if its offset is not 0.
static std::optional<SmallVector<int64_t>> stridesOf(linalg::GenericOp op,
                                                     OpOperand &operand) {
  auto access = getLinearAccess(
      op.getMatchingIndexingMap(&operand),
      cast<RankedTensorType>(operand.get().getType()).getShape(),
      /*dropped=*/0);
  if (!access || access->offset != 0)
    return std::nullopt;
  for (auto [stride, size] :
       llvm::zip(access->strides, op.getStaticLoopRanges()))
    if (size == 1)
      stride = 0;
  return access->strides;
}

/// Returns the strides of loops that traverse a tensor in order.
static SmallVector<int64_t> orderedStrides(linalg::GenericOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<int64_t> strides = rt::getRowMajorStrides(sizes);
  for (auto [stride, size] : llvm::zip(strides, sizes))
    if (size == 1)
      stride = 0;
  return strides;
}

/// True if the operand has one element per column, for rows of `columns`.
static bool isRow(linalg::GenericOp op, OpOperand &operand, int64_t columns) {
  auto type = cast<RankedTensorType>(operand.get().getType());
  auto strides = stridesOf(op, operand);
  if (columns == 0 || !strides || type.getNumElements() != columns)
    return false;
  return llvm::all_of_zip(orderedStrides(op), *strides,
                          [&](int64_t whole, int64_t row) {
                            return row == (whole < columns ? whole : 0);
                          });
}

/// Returns the tensors of the body's arguments that are added.
static std::optional<SumTerms> readTerms(linalg::GenericOp op, Value sum,
                                         int64_t columns) {
  SmallVector<BlockArgument> arguments;
  if (!collectTerms(sum, arguments))
    return std::nullopt;
  SumTerms terms;
  for (BlockArgument argument : arguments) {
    OpOperand *operand = op.getMatchingOpOperand(argument);
    auto type = cast<RankedTensorType>(operand->get().getType());
    if (op.isDpsInit(operand))
      return std::nullopt;
    bool isWhole = stridesOf(op, *operand) == orderedStrides(op);
    if (isWhole && type == op.getResult(0).getType()) {
      terms.tensors.push_back(operand->get());
      continue;
    }
    bool isBias = !terms.bias && isRow(op, *operand, columns) &&
                  (type.getElementType().isF32() ||
                   type.getElementType() ==
                       getElementTypeOrSelf(op.getResult(0).getType()));
    if (!isBias)
      return std::nullopt;
    terms.bias = operand->get();
  }
  return terms;
}

/// Returns the tensor of the result's type that `value`, an argument of the
/// body, reads in order; null otherwise.
static Value readWhole(linalg::GenericOp op, Value value) {
  auto argument = dyn_cast_or_null<BlockArgument>(value);
  if (!argument || argument.getOwner() != op.getBody())
    return Value();
  OpOperand *operand = op.getMatchingOpOperand(argument);
  bool isWhole = !op.isDpsInit(operand) &&
                 operand->get().getType() == op.getResult(0).getType() &&
                 stridesOf(op, *operand) == orderedStrides(op);
  return isWhole ? operand->get() : Value();
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

std::optional<EpilogueMatch> tessera::matchEpilogue(linalg::GenericOp op,
                                                    int64_t columns) {
  if (op.getNumResults() != 1 || op.getNumReductionLoops() ||
      stridesOf(op, *op.getDpsInitOperand(0)) != orderedStrides(op))
    return std::nullopt;
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  if (!isa<FloatType>(type.getElementType()))
    return std::nullopt;
  Type wide = getWideType(type.getElementType());
  Value root = op.getBody()->getTerminator()->getOperand(0);
  while (auto cast = root.getDefiningOp<arith::TruncFOp>())
    root = cast.getIn();
  EpilogueMatch match;
  if (auto terms = readTerms(op, root, columns)) {
    match.terms = *terms;
    return match;
  }
  Template gelu, gradient;
  build(gelu, op.getLoc(), wide, 1,
        [](GenericBuilder &b, ArrayRef<Value> x) { return tanhGelu(b, x[0]); });
  Bindings bound(1);
  if (isSame(gelu, gelu.root, root, bound)) {
    auto terms = readTerms(op, bound[0], columns);
    if (!terms)
      return std::nullopt;
    match.kind = EpilogueMatch::Gelu;
    match.terms = *terms;
    return match;
  }
  build(gradient, op.getLoc(), wide, 2,
        [](GenericBuilder &b, ArrayRef<Value> v) -> Value {
          return arith::MulFOp::create(b, v[0], tanhGeluSlope(b, v[1]));
        });
  bound.assign(2, Value());
  if (!isSame(gradient, gradient.root, root, bound))
    return std::nullopt;
  match.kind = EpilogueMatch::GeluGradient;
  match.gradient = readWhole(op, bound[0]);
  match.argument = readWhole(op, bound[1]);
  return match.gradient && match.argument ? std::optional(match) : std::nullopt;
}

Value tessera::matchColumnReduction(linalg::GenericOp op) {
  if (op.getNumResults() != 1 || op.getNumDpsInputs() != 1 ||
      !op.getNumReductionLoops() || !op.getNumParallelLoops())
    return Value();
  Block *body = op.getBody();
  auto add =
      body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add)
    return Value();
  Value terms[] = {add.getLhs(), add.getRhs()};
  if (terms[1] == body->getArgument(1))
    std::swap(terms[0], terms[1]);
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  if (terms[0] != body->getArgument(1) ||
      stripCasts(terms[1]) != body->getArgument(0) || !fill ||
      !matchPattern(fill.getInputs()[0], m_AnyZeroFloat()))
    return Value();
  Type element = getElementTypeOrSelf(op.getDpsInputs()[0].getType());
  Type sum = getElementTypeOrSelf(op.getResult(0).getType());
  auto from = stridesOf(op, *op.getDpsInputOperand(0));
  auto to = stridesOf(op, *op.getDpsInitOperand(0));
  if ((sum != element && !sum.isF32()) || !from || !to)
    return Value();
  int64_t columns =
      cast<RankedTensorType>(op.getResult(0).getType()).getNumElements();
  if (columns == 0)
    return Value();
  // Each element is summed once, columns in their order over whole rows.
  int64_t iterations = 1;
  for (auto [i, size] : llvm::enumerate(op.getStaticLoopRanges())) {
    iterations *= size;
    bool isColumn =
        op.getIteratorTypesArray()[i] == utils::IteratorType::parallel;
    if (size > 1 && (isColumn ? (*from)[i] != (*to)[i] || (*to)[i] == 0
                              : (*from)[i] % columns != 0 || (*from)[i] == 0))
      return Value();
  }
  auto type = cast<RankedTensorType>(op.getDpsInputs()[0].getType());
  return iterations == type.getNumElements() ? op.getDpsInputs()[0] : Value();
}
