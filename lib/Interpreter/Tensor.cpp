//===- Tensor.cpp - The values of the interpreter -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interpreter/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/Format.h"
#include <algorithm>
#include <cassert>
#include <cmath>

using namespace mlir;
using namespace tessera::interp;

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

ElementType::ElementType(Type elementType) : type(elementType) {
  if (isa<IndexType>(type)) {
    kind = Kind::Integer;
    width = 64;
  } else if (auto integer = dyn_cast<IntegerType>(type)) {
    width = integer.getWidth();
    if (width >= 1 && width <= 64 && integer.isSignless())
      kind = Kind::Integer;
  } else if (auto real = dyn_cast<FloatType>(type)) {
    width = real.getWidth();
    const llvm::fltSemantics &semantics = real.getFloatSemantics();
    if (width > 64)
      return;
    kind = real.isF64()   ? Kind::F64
           : real.isF32() ? Kind::F32
                          : Kind::SmallFloat;
    mantissaBits = real.getFPMantissaWidth() - 1;
    minExponent = llvm::APFloat::semanticsMinExponent(semantics);
    largest = llvm::APFloat::getLargest(semantics).convertToDouble();
    hasInfinity = llvm::APFloat::semanticsHasInf(semantics);
  }
}

/// Returns a number in [0, 1), by SplitMix64 (Steele, Lea, Flood 2014).
static double drawUniform(uint64_t &state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

RandomRounding::RandomRounding(uint64_t seed)
    : wasRandom(ElementType::isRandom), formerState(ElementType::randomState) {
  ElementType::isRandom = true;
  ElementType::randomState = seed;
}

RandomRounding::~RandomRounding() {
  ElementType::isRandom = wasRandom;
  ElementType::randomState = formerState;
}

Cell ElementType::roundSlow(Cell value) const {
  if (kind == Kind::Integer) {
    if (width == 64)
      return value;
    if (width == 1)
      return intCell(value.i & 1);
    unsigned shift = 64 - width;
    return intCell(
        static_cast<int64_t>(static_cast<uint64_t>(value.i) << shift) >> shift);
  }
  double x = value.f;
  if (x == 0 || !std::isfinite(x))
    return std::isinf(x) && !hasInfinity ? floatCell(NAN) : value;
  // The spacing of this type's numbers around x is a power of two; rounding to
  // a multiple of it is exact in double and ties to even.
  int exponent = std::max(std::ilogb(x), minExponent);
  double spacing = std::ldexp(1.0, exponent - mantissaBits);
  double steps = x / spacing;
  double rounded = (isRandom ? std::floor(steps + drawUniform(randomState))
                             : std::nearbyint(steps)) *
                   spacing;
  if (std::fabs(rounded) > largest)
    return floatCell(hasInfinity ? std::copysign(INFINITY, x) : NAN);
  return floatCell(rounded);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static int64_t productOf(ArrayRef<int64_t> shape) {
  int64_t n = 1;
  for (int64_t size : shape)
    n *= size;
  return n;
}

SmallVector<int64_t> tessera::interp::stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t d = static_cast<int64_t>(shape.size()) - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * shape[d + 1];
  return strides;
}

Tensor::Tensor(ElementType elementType, ArrayRef<int64_t> shape)
    : elementType(elementType), shape(shape.begin(), shape.end()),
      cells(productOf(shape), intCell(0)) {}

static ArrayRef<int64_t> shapeOf(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? shaped.getShape() : ArrayRef<int64_t>();
}

Tensor::Tensor(Type type)
    : Tensor(ElementType(getElementTypeOrSelf(type)), shapeOf(type)) {}

SmallVector<int64_t> Tensor::getStrides() const { return stridesOf(shape); }

int64_t Tensor::flatten(ArrayRef<int64_t> index) const {
  assert(index.size() == shape.size() && "one index a dimension");
  int64_t flat = 0;
  for (auto [i, size] : llvm::zip_equal(index, shape)) {
    assert(i >= 0 && i < size && "index out of bounds");
    flat = flat * size + i;
  }
  return flat;
}

void Tensor::fill(Cell value) { std::fill(cells.begin(), cells.end(), value); }

Tensor Tensor::reshaped(ArrayRef<int64_t> newShape) const {
  assert(productOf(newShape) == getNumElements() && "as many elements");
  Tensor result = *this;
  result.shape.assign(newShape.begin(), newShape.end());
  return result;
}

/// Copies a block between two row-major buffers, row by row of the last
/// dimension.
static void copyBlock(Cell *to, ArrayRef<int64_t> toStrides, const Cell *from,
                      ArrayRef<int64_t> fromStrides, ArrayRef<int64_t> sizes) {
  if (sizes.empty()) {
    *to = *from;
    return;
  }
  int64_t row = sizes.back();
  forEachIndex(sizes.drop_back(), [&](ArrayRef<int64_t> index) {
    int64_t a = 0, b = 0;
    for (auto [d, i] : llvm::enumerate(index)) {
      a += i * toStrides[d];
      b += i * fromStrides[d];
    }
    std::copy_n(from + b, row, to + a);
  });
}

static int64_t offsetOf(ArrayRef<int64_t> offsets, ArrayRef<int64_t> strides) {
  int64_t flat = 0;
  for (auto [o, s] : llvm::zip_equal(offsets, strides))
    flat += o * s;
  return flat;
}

Tensor Tensor::slice(ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes) const {
  Tensor result(elementType, sizes);
  if (result.cells.empty())
    return result;
  SmallVector<int64_t> strides = getStrides();
  copyBlock(result.data(), result.getStrides(),
            data() + offsetOf(offsets, strides), strides, sizes);
  return result;
}

void Tensor::insert(const Tensor &block, ArrayRef<int64_t> offsets) {
  if (block.cells.empty())
    return;
  SmallVector<int64_t> strides = getStrides();
  copyBlock(data() + offsetOf(offsets, strides), strides, block.data(),
            block.getStrides(), block.getShape());
}

bool Tensor::sameAs(const Tensor &o) const {
  if (!(elementType == o.elementType) || shape != o.shape)
    return false;
  auto same = [&](Cell a, Cell b) {
    if (!elementType.isFloat())
      return a.i == b.i;
    return a.f == b.f || (std::isnan(a.f) && std::isnan(b.f));
  };
  return std::equal(cells.begin(), cells.end(), o.cells.begin(), same);
}

static void printCell(llvm::raw_ostream &os, const ElementType &type, Cell c) {
  if (!type.isFloat())
    os << c.i;
  else if (std::isnan(c.f))
    os << "nan";
  else if (std::isinf(c.f))
    os << (c.f < 0 ? "-inf" : "inf");
  else
    os << llvm::format("%.6g", c.f == 0 ? 0.0 : c.f);
}

/// Prints dimension `dim` from `data` on and returns the data after it.
static const Cell *printDim(llvm::raw_ostream &os, const Tensor &tensor,
                            int64_t dim, const Cell *data) {
  if (dim == tensor.getRank()) {
    printCell(os, tensor.getElementType(), *data);
    return data + 1;
  }
  os << '[';
  for (int64_t i = 0; i < tensor.getShape()[dim]; ++i) {
    if (i)
      os << ", ";
    data = printDim(os, tensor, dim + 1, data);
  }
  os << ']';
  return data;
}

void Tensor::print(llvm::raw_ostream &os) const {
  if (cells.empty() && getRank() > 1)
    os << "[]";
  else
    printDim(os, *this, 0, data());
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

static Cell cellOf(const ElementType &type, const APInt &value) {
  return type.round(intCell(value.getBitWidth() == 1 ? value.getZExtValue()
                                                     : value.getSExtValue()));
}

static Cell cellOf(APFloat value) {
  bool ignored;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &ignored);
  return floatCell(value.convertToDouble());
}

/// Returns a resource's blob as a dense attribute; null if its bytes are
/// missing.
static DenseElementsAttr resolve(DenseResourceElementsAttr attr) {
  AsmResourceBlob *blob = attr.getRawHandle().getBlob();
  if (!blob || attr.getType().getElementType().isInteger(1))
    return {};
  bool splat = false;
  if (!DenseElementsAttr::isValidRawBuffer(attr.getType(), blob->getData(),
                                           splat))
    return {};
  return DenseElementsAttr::getFromRawBuffer(attr.getType(), blob->getData());
}

TensorRef tessera::interp::fromAttribute(Attribute attr) {
  if (auto resource = dyn_cast_or_null<DenseResourceElementsAttr>(attr))
    attr = resolve(resource);
  auto typed = dyn_cast_or_null<TypedAttr>(attr);
  if (!typed)
    return nullptr;
  auto result = std::make_shared<Tensor>(typed.getType());
  const ElementType &type = result->getElementType();
  if (!type.isValid())
    return nullptr;
  if (auto real = dyn_cast<FloatAttr>(attr)) {
    (*result)[0] = cellOf(real.getValue());
  } else if (auto integer = dyn_cast<IntegerAttr>(attr)) {
    (*result)[0] = cellOf(type, integer.getValue());
  } else if (auto dense = dyn_cast<DenseElementsAttr>(attr)) {
    int64_t i = 0;
    if (dense.isSplat() && result->getNumElements())
      result->fill(type.isFloat() ? cellOf(dense.getSplatValue<APFloat>())
                                  : cellOf(type, dense.getSplatValue<APInt>()));
    else if (type.getType().isF32())
      // Handles most constants, without an APFloat for each number.
      for (float value : dense.getValues<float>())
        (*result)[i++] = floatCell(value);
    else if (type.isFloat())
      for (APFloat value : dense.getValues<APFloat>())
        (*result)[i++] = cellOf(value);
    else
      for (const APInt &value : dense.getValues<APInt>())
        (*result)[i++] = cellOf(type, value);
  } else {
    return nullptr;
  }
  return result;
}
