//===- ConvertReductions.cpp - Reductions and matmuls ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Converter.h"
#include "SourceBodies.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::stablehlo;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Reduces over ascending `dims`; booleans count as 0 and 1.
static Value reduce(GraphBuilder &b, nn::ReduceKind kind, Value x,
                    ArrayRef<int64_t> dims) {
  RankedTensorType type = b.typeOf(x);
  SmallVector<int64_t> shape;
  int64_t reduced = 1;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    if (llvm::is_contained(dims, int64_t(dim)))
      reduced *= size;
    else
      shape.push_back(size);
  }
  if (reduced == 1)
    return b.reshape(x, shape);
  bool isBool = type.getElementType().isInteger(1);
  if (isBool)
    x = b.fold<arith::ExtUIOp>(type.clone(b.b.getI32Type()), x);
  Value result = b.make<nn::ReduceOp>(b.typeOf(x).clone(shape), kind, x, dims);
  if (!isBool)
    return result;
  return b.fold<arith::CmpIOp>(arith::CmpIPredicate::ne, result,
                               b.splat(result, 0));
}

/// The products over `dims`, of pairs of halves.
static Value multiplyAll(GraphBuilder &b, Value x, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> shape(b.typeOf(x).getShape()), left;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (!llvm::is_contained(dims, int64_t(dim))) {
      left.push_back(size);
      continue;
    }
    SmallVector<int64_t> sizes(b.typeOf(x).getShape());
    SmallVector<int64_t> ones(sizes.size(), 1), offsets(sizes.size(), 0);
    auto take = [&](int64_t first, int64_t count) {
      offsets[dim] = first;
      sizes[dim] = count;
      return b.slice(x, offsets, sizes, ones);
    };
    for (int64_t half = 0; size > 1; size -= half) {
      half = size / 2;
      Value product = multiply(b, take(0, half), take(half, half));
      Value both[] = {product, size % 2 ? take(2 * half, 1) : product};
      x = size % 2 ? b.make<tensor::ConcatOp>(dim, both) : product;
    }
  }
  return b.reshape(x, left);
}

static LogicalResult convertReduce(OpConversion &c) {
  if (c.operands.size() == 4 && c.op->getNumResults() == 2)
    return convertArgReduce(c);
  if (c.operands.size() != 2 || c.op->getNumResults() != 1)
    return c.error() << "expects one tensor, or a tensor and its positions";
  auto dims = c.getIntegers("dimensions");
  if (failed(dims) ||
      failed(c.checkDims(*dims, c.operandType(0).getRank(), "dimensions")))
    return failure();
  llvm::sort(*dims);
  RankedTensorType type = c.operandType(0), start = c.operandType(1);
  const Reduction *reduction =
      c.op->getNumRegions() == 1
          ? matchReduction(c.op->getRegion(0), c.isBool())
          : nullptr;
  bool isOfProducts = !reduction && c.op->getNumRegions() == 1 &&
                      isProduct(c.op->getRegion(0)) && !c.isBool();
  if (!reduction && !isOfProducts)
    return c.error() << "expects a reduction by add, multiply, maximum, "
                        "minimum, and, or";
  if (start != type.clone(ArrayRef<int64_t>()))
    return c.error() << "expects one element to start with but got " << start;
  if (isOfProducts) {
    Value product = multiplyAll(c.b, c.operands[0], *dims);
    ArrayRef<int64_t> shape = c.b.typeOf(product).getShape();
    return c.yield(
        multiply(c.b, product, c.b.broadcast(c.operands[1], shape, {})));
  }
  bool isSum = reduction->kind == nn::ReduceKind::Sum;
  Value x = isSum ? c.operands[0] : c.ordered(0);
  Value first = isSum ? c.operands[1] : c.ordered(1);
  Value result = reduce(c.b, reduction->kind, x, *dims);
  if (!isNeutral(getSplat(first), reduction->kind))
    result = combine(c.b, reduction->kind, result,
                     c.b.broadcast(first, c.b.typeOf(result).getShape(), {}));
  return c.yield(isSum ? result : c.orderedBack(result));
}

//===----------------------------------------------------------------------===//
// Matmuls
//===----------------------------------------------------------------------===//

namespace {
/// The dimensions of a matmul that its two operands share.
struct MatmulDims {
  SmallVector<int64_t> lhsBatch, rhsBatch, lhsSum, rhsSum;
};

/// The letters of a matmul: the result has the batch's, then the other ones of
/// both.
class Letters {
public:
  /// Gives two dimensions one letter.
  void share(int64_t lhs, int64_t rhs, bool isKept, int64_t size) {
    char letter = take();
    left[lhs] = right[rhs] = letter;
    if (isKept)
      keep(letter, size);
  }
  /// Gives each dimension of one operand without a letter a new one.
  void fill(std::string &letters, ArrayRef<int64_t> shape) {
    for (auto [letter, size] : llvm::zip_equal(letters, shape))
      if (letter == ' ')
        keep(letter = take(), size);
  }
  std::string spec() const { return left + "," + right + "->" + result; }

  std::string left, right, result;
  SmallVector<int64_t> shape;

private:
  char take() { return next++; }
  void keep(char letter, int64_t size) {
    result += letter;
    shape.push_back(size);
  }
  char next = 'a';
};
} // namespace

/// Casts both to the wider of their element types.
static void unifyElements(GraphBuilder &b, Value &lhs, Value &rhs) {
  Type left = b.typeOf(lhs).getElementType();
  Type right = b.typeOf(rhs).getElementType();
  if (left == right || !isa<FloatType>(left) || !isa<FloatType>(right))
    return;
  Type wide = left.getIntOrFloatBitWidth() < right.getIntOrFloatBitWidth()
                  ? right
                  : left;
  if (left.getIntOrFloatBitWidth() == right.getIntOrFloatBitWidth())
    wide = b.b.getF32Type();
  lhs = b.cast(lhs, wide);
  rhs = b.cast(rhs, wide);
}

FailureOr<Type> tessera::stablehlo::unifyFactors(const OpConversion &c,
                                                 Value &lhs, Value &rhs) {
  unifyElements(c.b, lhs, rhs);
  Type from = c.b.typeOf(lhs).getElementType();
  Type to = c.resultType().getElementType();
  bool isFloat = isa<FloatType>(from);
  if (c.b.typeOf(rhs).getElementType() != from || isFloat != isa<FloatType>(to))
    return c.error() << "expects operands and a result of floats, or of "
                        "integers, but got "
                     << c.operandType(0) << ", " << c.operandType(1) << " and "
                     << c.resultType();
  if (!isFloat && from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth()) {
    auto widen = [&](Value x, unsigned operand) {
      RankedTensorType wide = c.b.typeOf(x).clone(to);
      return c.isUnsigned(operand) ? c.b.fold<arith::ExtUIOp>(wide, x)
                                   : c.b.fold<arith::ExtSIOp>(wide, x);
    };
    lhs = widen(lhs, 0);
    rhs = widen(rhs, 1);
    return to;
  }
  if (!isFloat && from != to)
    return c.error() << "expects a result of " << from << " but got " << to;
  if (isFloat && from.getIntOrFloatBitWidth() < 16)
    return c.error() << "expects floats of 16 bits at least but got " << from;
  return from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth() ? to : from;
}

/// Builds the matmul in the element type of its operands, or of the result if
/// that is a wider float; then casts to the result's.
static LogicalResult buildMatmul(OpConversion &c, const MatmulDims &dims) {
  Value lhs = c.operands[0], rhs = c.operands[1];
  RankedTensorType left = c.operandType(0), right = c.operandType(1);
  if (left.getRank() + right.getRank() > 26)
    return c.error() << "expects at most 26 dimensions";
  Letters letters;
  letters.left.assign(left.getRank(), ' ');
  letters.right.assign(right.getRank(), ' ');
  auto share = [&](ArrayRef<int64_t> l, ArrayRef<int64_t> r, bool isKept) {
    for (auto [i, j] : llvm::zip_equal(l, r)) {
      if (left.getDimSize(i) != right.getDimSize(j))
        return false;
      letters.share(i, j, isKept, left.getDimSize(i));
    }
    return true;
  };
  if (!share(dims.lhsBatch, dims.rhsBatch, true) ||
      !share(dims.lhsSum, dims.rhsSum, false))
    return c.error() << "expects equal sizes of dimensions that are shared";
  letters.fill(letters.left, left.getShape());
  letters.fill(letters.right, right.getShape());
  FailureOr<Type> element = unifyFactors(c, lhs, rhs);
  if (failed(element))
    return failure();
  Value product = c.b.make<nn::EinsumOp>(
      RankedTensorType::get(letters.shape, *element), letters.spec(), lhs, rhs);
  return c.yield(c.b.cast(product, c.resultType().getElementType()));
}

static LogicalResult convertDotGeneral(OpConversion &c) {
  StringRef text = getText(getSourceAttr(c.op, "dot_dimension_numbers"));
  std::optional<Fields> fields =
      parseFields(text, "dot",
                  {"lhs_batching_dimensions", "rhs_batching_dimensions",
                   "lhs_contracting_dimensions", "rhs_contracting_dimensions"});
  if (!fields)
    return c.error() << "expects #stablehlo.dot<...> as dot_dimension_numbers";
  MatmulDims dims;
  dims.lhsBatch = fields->lookup("lhs_batching_dimensions");
  dims.rhsBatch = fields->lookup("rhs_batching_dimensions");
  dims.lhsSum = fields->lookup("lhs_contracting_dimensions");
  dims.rhsSum = fields->lookup("rhs_contracting_dimensions");
  if (dims.lhsBatch.size() != dims.rhsBatch.size() ||
      dims.lhsSum.size() != dims.rhsSum.size())
    return c.error() << "expects as many dimensions of lhs as of rhs";
  auto check = [&](ArrayRef<int64_t> batch, ArrayRef<int64_t> sum, unsigned i) {
    SmallVector<int64_t> all(batch);
    llvm::append_range(all, sum);
    return c.checkDims(all, c.operandType(i).getRank(),
                       "dot_dimension_numbers");
  };
  if (failed(check(dims.lhsBatch, dims.lhsSum, 0)) ||
      failed(check(dims.rhsBatch, dims.rhsSum, 1)))
    return failure();
  return buildMatmul(c, dims);
}

/// Contracts the last dimension of one with the first of the other.
static LogicalResult convertDot(OpConversion &c) {
  int64_t left = c.operandType(0).getRank(), right = c.operandType(1).getRank();
  if (left < 1 || left > 2 || right < 1 || right > 2)
    return c.error() << "expects vectors and matrices";
  MatmulDims dims;
  dims.lhsSum.push_back(left - 1);
  dims.rhsSum.push_back(0);
  return buildMatmul(c, dims);
}

void tessera::stablehlo::addReductionHandlers(HandlerTable &t) {
  t.add("stablehlo.reduce", HandlerTable::kAny, convertReduce,
        HandlerTable::kAny);
  t.add("stablehlo.dot_general", 2, convertDotGeneral);
  t.add("stablehlo.dot", 2, convertDot);
}
