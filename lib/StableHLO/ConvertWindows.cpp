//===- ConvertWindows.cpp - Reductions of windows -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cumulative sum is a matmul with a triangle of ones; other cumulative
// reductions are a tree of log n steps, and small windows a reduction of
// shifted slices. Gradients are JAX's, also where elements are equal: JAX
// differentiates the same tree, and the first of the largest elements of a
// window gets its gradient.
//
//===----------------------------------------------------------------------===//

#include "Converter.h"
#include "Indices.h"
#include "SourceBodies.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::stablehlo;

/// The most elements of a window that is reduced slice by slice.
static constexpr int64_t kMaxWindow = 16;
/// The most elements of a cumulative sum that is a matmul.
static constexpr int64_t kMaxTriangle = 4096;

namespace {
/// The attributes of a reduction of windows, by dimension.
struct Windows {
  SmallVector<int64_t> sizes, strides, baseDilations, dilations, low, high;
};

/// A window that begins or ends at each element along one dimension.
struct Cumulative {
  int64_t dim;
  bool isReverse;
};

/// Combines two tensors, element by element.
using Combine = llvm::function_ref<Value(GraphBuilder &, Value, Value)>;
} // namespace

static FailureOr<Windows> readWindows(OpConversion &c) {
  size_t rank = c.operandType(0).getRank();
  auto read = [&](StringRef name) -> FailureOr<SmallVector<int64_t>> {
    if (!getSourceAttr(c.op, name))
      return SmallVector<int64_t>(rank, 1);
    auto list = c.getIntegers(name);
    if (failed(list))
      return failure();
    if (list->size() != rank ||
        llvm::any_of(*list, [](int64_t n) { return n < 1 || n > 1 << 20; }))
      return c.error() << "expects " << rank << " numbers above 0 as " << name;
    return list;
  };
  auto sizes = read("window_dimensions"), strides = read("window_strides"),
       base = read("base_dilations"), dilations = read("window_dilations");
  if (failed(sizes) || failed(strides) || failed(base) || failed(dilations))
    return failure();
  Windows w{*sizes, *strides, *base, *dilations, {}, {}};
  w.low.assign(rank, 0);
  w.high.assign(rank, 0);
  Attribute padding = getSourceAttr(c.op, "padding");
  if (!padding)
    return w;
  auto pairs = dyn_cast<DenseIntElementsAttr>(padding);
  if (!pairs || !pairs.getElementType().isInteger(64) ||
      pairs.getNumElements() != int64_t(2 * rank))
    return c.error() << "expects a pair of numbers for each dimension as "
                        "padding";
  for (auto [i, number] : llvm::enumerate(pairs.getValues<int64_t>())) {
    if (number < 0 || number > 1 << 20)
      return c.error() << "expects padding that adds elements but got "
                       << number;
    (i % 2 ? w.high : w.low)[i / 2] = number;
  }
  return w;
}

//===----------------------------------------------------------------------===//
// Cumulative reductions
//===----------------------------------------------------------------------===//

static std::optional<Cumulative> matchCumulative(const Windows &w,
                                                 ArrayRef<int64_t> shape) {
  std::optional<Cumulative> found;
  for (int64_t dim = 0, rank = shape.size(); dim < rank; ++dim) {
    int64_t size = w.sizes[dim], low = w.low[dim], high = w.high[dim];
    if (w.strides[dim] != 1 || w.baseDilations[dim] != 1 ||
        w.dilations[dim] != 1)
      return std::nullopt;
    if (size == 1 && low == 0 && high == 0)
      continue;
    bool isReverse = low == 0;
    if (found || size != shape[dim] || low + high != size - 1 ||
        (low != 0 && high != 0))
      return std::nullopt;
    found = Cumulative{dim, isReverse};
  }
  return found;
}

/// Multiplies by 1 what a sum has, and by 0 the others.
static Value sumCumulatively(GraphBuilder &b, Value x, Cumulative at) {
  RankedTensorType type = b.typeOf(x);
  int64_t size = type.getDimSize(at.dim);
  auto count = RankedTensorType::get(size, b.b.getI32Type());
  Value iota = b.make<nn::IotaOp>(count, Value(), nn::ZigzagAttr());
  SmallVector<int64_t> square{size, size};
  Value isSummed = b.fold<arith::CmpIOp>(
      at.isReverse ? arith::CmpIPredicate::sge : arith::CmpIPredicate::sle,
      b.broadcast(iota, square, 0), b.broadcast(iota, square, 1));
  auto triangle = RankedTensorType::get(square, type.getElementType());
  Value ones = isa<FloatType>(type.getElementType())
                   ? b.fold<arith::UIToFPOp>(triangle, isSummed)
                   : b.fold<arith::ExtUIOp>(triangle, isSummed);
  std::string letters;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    letters += char('b' + dim);
  std::string result = letters, sums{letters[at.dim], 'a'};
  result[at.dim] = 'a';
  return b.make<nn::EinsumOp>(type, letters + "," + sums + "->" + result, x,
                              ones);
}

/// Every other element along `dim` from `first` on, `count` of them.
static Value takeEveryOther(GraphBuilder &b, Value x, int64_t dim,
                            int64_t first, int64_t count, int64_t stride) {
  SmallVector<int64_t> sizes(b.typeOf(x).getShape());
  SmallVector<int64_t> offsets(sizes.size(), 0), strides(sizes.size(), 1);
  offsets[dim] = first;
  sizes[dim] = count;
  strides[dim] = stride;
  return b.slice(x, offsets, sizes, strides);
}

/// The cumulative reductions along `dim`: those of pairs are those of odd
/// positions (the prefix sums of Blelloch, "Prefix sums and their
/// applications", 1990, as jax.lax.associative_scan has them).
static Value scan(GraphBuilder &b, Value x, int64_t dim, Combine combine) {
  int64_t size = b.typeOf(x).getDimSize(dim), half = size / 2;
  if (size < 2)
    return x;
  auto take = [&](Value x, int64_t first, int64_t count, int64_t stride) {
    return takeEveryOther(b, x, dim, first, count, stride);
  };
  Value odd = scan(b, combine(b, take(x, 0, half, 2), take(x, 1, half, 2)), dim,
                   combine);
  int64_t rest = size - half - 1;
  Value even = take(x, 0, 1, 1);
  if (rest > 0) {
    Value sums = combine(b, take(odd, 0, rest, 1), take(x, 2, rest, 2));
    even = b.make<tensor::ConcatOp>(dim, ValueRange{even, sums});
  }
  // Even and odd positions take turns; a last even one follows.
  SmallVector<int64_t> shape(b.typeOf(x).getShape());
  shape[dim] = half;
  shape.insert(shape.begin() + dim + 1, 1);
  Value both[] = {b.reshape(take(even, 0, half, 1), shape),
                  b.reshape(odd, shape)};
  shape.erase(shape.begin() + dim + 1);
  shape[dim] = 2 * half;
  Value merged = b.reshape(b.make<tensor::ConcatOp>(dim + 1, both), shape);
  if (size % 2 == 0)
    return merged;
  return b.make<tensor::ConcatOp>(dim,
                                  ValueRange{merged, take(even, half, 1, 1)});
}

/// The logarithm of the sum of two exponentials, as JAX writes it.
static constexpr llvm::StringLiteral kLogAddExp =
    "select(NE(subtract(0,1),subtract(0,1)),add(0,1),add(maximum(0,1),"
    "log_plus_one(exponential(negate(abs(subtract(0,1)))))))";

static Value logAddExp(GraphBuilder &b, Value x, Value y) {
  Value difference = b.fold<arith::SubFOp>(x, y);
  Value isNaN =
      b.fold<arith::CmpFOp>(arith::CmpFPredicate::UNE, difference, difference);
  Value size = b.fold<arith::NegFOp>(b.fold<math::AbsFOp>(difference));
  Value sum =
      b.fold<arith::AddFOp>(b.fold<arith::MaximumFOp>(x, y),
                            b.fold<math::Log1pOp>(b.fold<math::ExpOp>(size)));
  return b.fold<arith::SelectOp>(isNaN, b.fold<arith::AddFOp>(x, y), sum);
}

/// Whether all elements of a constant are this number.
static bool isSplatOf(Value value, double number) {
  Attribute splat = getSplat(value);
  if (auto real = dyn_cast_or_null<FloatAttr>(splat))
    return real.getValueAsDouble() == number;
  auto integer = dyn_cast_or_null<IntegerAttr>(splat);
  return integer && integer.getValue().getSExtValue() == number;
}

/// Builds a cumulative reduction; null if it is none that is supported.
static Value buildCumulative(OpConversion &c, Value x, Value start,
                             Cumulative at, const Reduction *reduction) {
  if (reduction && !isNeutral(getSplat(start), reduction->kind))
    return Value();
  int64_t size = c.operandType(0).getDimSize(at.dim);
  if (reduction && reduction->kind == nn::ReduceKind::Sum &&
      size <= kMaxTriangle)
    return sumCumulatively(c.b, x, at);
  if (at.isReverse && failed(checkLookUp(c, x, size, size)))
    return Value();
  auto build = [&](Combine combine) {
    if (!at.isReverse)
      return scan(c.b, x, at.dim, combine);
    return reverse(c.b, scan(c.b, reverse(c.b, x, at.dim), at.dim, combine),
                   at.dim);
  };
  if (reduction)
    return build([&](GraphBuilder &b, Value x, Value y) {
      return combine(b, reduction->kind, x, y);
    });
  Region &body = c.op->getRegion(0);
  if (isProduct(body) && !c.isBool() && isSplatOf(start, 1))
    return build(multiply);
  if (spellBody(body) == kLogAddExp && isSplatOf(start, -INFINITY))
    return build(logAddExp);
  return Value();
}

//===----------------------------------------------------------------------===//
// Small windows
//===----------------------------------------------------------------------===//

/// The larger or smaller of two; of equal ones the first, which gets the
/// gradient.
static Value choose(GraphBuilder &b, nn::ReduceKind kind, Value x, Value y) {
  bool isFloat = isa<FloatType>(b.typeOf(x).getElementType());
  if (!isFloat || kind == nn::ReduceKind::Sum)
    return combine(b, kind, x, y);
  Value isFirst = b.fold<arith::CmpFOp>(kind == nn::ReduceKind::Max
                                            ? arith::CmpFPredicate::OGE
                                            : arith::CmpFPredicate::OLE,
                                        x, y);
  Value isNaN = b.fold<arith::CmpFOp>(arith::CmpFPredicate::UNE, x, x);
  return b.fold<arith::SelectOp>(b.fold<arith::OrIOp>(isFirst, isNaN), x, y);
}

/// Combines the elements of each window, which are slices of the padded tensor.
static FailureOr<Value> buildWindows(OpConversion &c, Value x, Value start,
                                     const Windows &w, Combine combine) {
  int64_t rank = c.operandType(0).getRank(), count = 1;
  for (int64_t dim = 0; dim < rank; ++dim) {
    x = dilate(c.b, x, start, dim, w.baseDilations[dim] - 1);
    x = padSide(c.b, x, start, dim, w.low[dim], /*before=*/true);
    x = padSide(c.b, x, start, dim, w.high[dim], /*before=*/false);
  }
  SmallVector<int64_t> sizes;
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t reach = (w.sizes[dim] - 1) * w.dilations[dim] + 1;
    int64_t size = c.b.typeOf(x).getDimSize(dim);
    count *= w.sizes[dim];
    if (reach > size || count > kMaxWindow)
      return c.error() << "expects a cumulative reduction, or windows of at "
                          "most "
                       << kMaxWindow << " elements inside the tensor";
    sizes.push_back((size - reach) / w.strides[dim] + 1);
  }
  Value result;
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<int64_t> offsets(rank);
    int64_t left = i;
    for (int64_t dim = rank - 1; dim >= 0; --dim) {
      offsets[dim] = left % w.sizes[dim] * w.dilations[dim];
      left /= w.sizes[dim];
    }
    Value part = c.b.slice(x, offsets, sizes, w.strides);
    result = result ? combine(c.b, result, part) : part;
  }
  return result;
}

static LogicalResult convertReduceWindow(OpConversion &c) {
  FailureOr<Windows> windows = readWindows(c);
  if (failed(windows))
    return failure();
  RankedTensorType type = c.operandType(0);
  if (c.operandType(1) != type.clone(ArrayRef<int64_t>()) ||
      c.op->getNumRegions() != 1 || type.getRank() > 24)
    return c.error() << "expects a tensor, one element to start with, and a "
                        "body";
  const Reduction *reduction = matchReduction(c.op->getRegion(0), c.isBool());
  bool isOrder = reduction && reduction->kind != nn::ReduceKind::Sum;
  Value x = isOrder ? c.ordered(0) : c.operands[0];
  Value start = isOrder ? c.ordered(1) : c.operands[1];
  auto yield = [&](Value result) {
    return c.yield(isOrder ? c.orderedBack(result) : result);
  };
  if (auto at = matchCumulative(*windows, type.getShape()))
    if (Value result = buildCumulative(c, x, start, *at, reduction))
      return yield(result);
  bool isOfProducts = isProduct(c.op->getRegion(0)) && !c.isBool();
  if (!reduction && !isOfProducts)
    return c.error() << "expects a reduction by add, multiply, maximum or "
                        "minimum";
  auto combine = [&](GraphBuilder &b, Value x, Value y) {
    return isOfProducts ? multiply(b, x, y) : choose(b, reduction->kind, x, y);
  };
  FailureOr<Value> result = buildWindows(c, x, start, *windows, combine);
  if (failed(result))
    return failure();
  bool isNothing = isOfProducts ? isSplatOf(start, 1)
                                : isNeutral(getSplat(start), reduction->kind);
  if (isNothing)
    return yield(*result);
  // The specification pads with the start; XLA leaves out what is outside.
  auto isOne = [](int64_t number) { return number == 1; };
  auto isZero = [](int64_t number) { return number == 0; };
  if (!llvm::all_of(windows->baseDilations, isOne) ||
      !llvm::all_of(windows->low, isZero) ||
      !llvm::all_of(windows->high, isZero))
    return c.error() << "expects windows inside the tensor, or to start with "
                        "what changes no result";
  Value first = c.b.broadcast(start, c.b.typeOf(*result).getShape(), {});
  return yield(combine(c.b, first, *result));
}

void tessera::stablehlo::addWindowHandlers(HandlerTable &t) {
  t.add("stablehlo.reduce_window", 2, convertReduceWindow);
}
