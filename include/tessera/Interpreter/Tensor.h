//===- Tensor.h - The values of the interpreter -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dense tensor of any element type in one buffer of eight-byte cells. After
// every op its elements are rounded to the element type; within an op that sums
// (einsum, reduce, attention, the norms, a linalg reduction) sums are kept in
// double and rounded once, at the end.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERPRETER_TENSOR_H
#define TESSERA_INTERPRETER_TENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace tessera::interp {

/// One element: `f` for a float type, `i` for an integer or index type.
/// Integers are sign-extended from their width; i1 is 0 or 1.
union Cell {
  double f;
  int64_t i;
};

/// A cell that holds a float.
inline Cell floatCell(double value) {
  Cell c;
  c.f = value;
  return c;
}
/// A cell that holds an integer, sign-extended from the width of its type.
inline Cell intCell(int64_t value) {
  Cell c;
  c.i = value;
  return c;
}

/// An element type, prepared for rounding.
class ElementType {
public:
  ElementType() = default;
  /// Takes a float, signless integer or index type. `isValid` is false for
  /// other types (complex numbers, integers above 64 bits).
  explicit ElementType(mlir::Type type);

  bool isValid() const { return kind != Kind::Invalid; }
  bool isFloat() const { return kind >= Kind::F64; }
  bool isInteger() const { return kind == Kind::Integer; }
  /// Bits of an integer; 64 for index.
  unsigned getWidth() const { return width; }
  mlir::Type getType() const { return type; }
  /// Bits of a float's significand, including the implicit one.
  unsigned getPrecision() const { return mantissaBits + 1; }

  /// The nearest value of this type: ties to even, infinity beyond the range
  /// (NaN if the type has no infinity); integers wrap. See RandomRounding.
  Cell round(Cell value) const {
    if (kind == Kind::F32 && !isRandom)
      return floatCell(static_cast<float>(value.f));
    if (kind == Kind::F64)
      return value;
    return roundSlow(value);
  }
  /// Reinterprets an integer of this width as unsigned.
  uint64_t toUnsigned(int64_t value) const {
    return width >= 64 ? static_cast<uint64_t>(value)
                       : static_cast<uint64_t>(value) & ((1ULL << width) - 1);
  }
  bool operator==(const ElementType &o) const { return type == o.type; }

private:
  friend class RandomRounding;
  enum class Kind { Invalid, Integer, F64, F32, SmallFloat };
  Cell roundSlow(Cell value) const;

  /// Whether this thread rounds at random, and its generator's state.
  inline static thread_local bool isRandom = false;
  inline static thread_local uint64_t randomState = 0;

  Kind kind = Kind::Invalid;
  unsigned width = 0;
  mlir::Type type;
  /// Fields of a small float: explicit mantissa bits, least exponent, largest
  /// value.
  int mantissaBits = 0;
  int minExponent = 0;
  double largest = 0;
  bool hasInfinity = true;
};

/// While an object lives, this thread rounds floats of up to 32 bits at random
/// to one of the two nearest values, with the probability that makes the mean
/// exact. Representable values do not change. The seed determines the random
/// numbers.
class RandomRounding {
public:
  explicit RandomRounding(uint64_t seed);
  ~RandomRounding();
  RandomRounding(const RandomRounding &) = delete;
  RandomRounding &operator=(const RandomRounding &) = delete;

private:
  bool wasRandom;
  uint64_t formerState;
};

/// A dense tensor, row-major. A scalar is a tensor of rank 0.
class Tensor {
public:
  /// Fills the tensor with zeros.
  Tensor(ElementType elementType, llvm::ArrayRef<int64_t> shape);
  /// Takes a scalar type or a ranked tensor type of static shape.
  explicit Tensor(mlir::Type type);

  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getRank() const { return shape.size(); }
  int64_t getNumElements() const { return cells.size(); }
  const ElementType &getElementType() const { return elementType; }

  Cell *data() { return cells.data(); }
  const Cell *data() const { return cells.data(); }
  Cell &operator[](int64_t i) { return cells[i]; }
  const Cell &operator[](int64_t i) const { return cells[i]; }
  Cell &at(llvm::ArrayRef<int64_t> index) { return cells[flatten(index)]; }
  /// Read access. `index` has one entry per dimension.
  const Cell &at(llvm::ArrayRef<int64_t> index) const {
    return cells[flatten(index)];
  }
  /// Row-major strides, in elements.
  llvm::SmallVector<int64_t> getStrides() const;

  /// Sets all elements to `value`, which must be rounded to the type.
  void fill(Cell value);
  /// The same elements with another shape of equal size.
  Tensor reshaped(llvm::ArrayRef<int64_t> newShape) const;
  /// The block of `sizes` at `offsets`, which must be inside the tensor.
  Tensor slice(llvm::ArrayRef<int64_t> offsets,
               llvm::ArrayRef<int64_t> sizes) const;
  /// Writes `block` at `offsets`; it must be inside and have this rank.
  void insert(const Tensor &block, llvm::ArrayRef<int64_t> offsets);

  /// True for the same type, shape and bits; any two NaNs are equal, and so are
  /// 0 and -0.
  bool sameAs(const Tensor &other) const;
  /// Nested lists: `[[1, 2], [3, 4]]`, six significant digits.
  void print(llvm::raw_ostream &os) const;

private:
  int64_t flatten(llvm::ArrayRef<int64_t> index) const;

  ElementType elementType;
  llvm::SmallVector<int64_t, 4> shape;
  std::vector<Cell> cells;
};

/// Values are immutable and shared: ranks with equal data may hold one tensor.
using TensorRef = std::shared_ptr<const Tensor>;

/// One rank's arguments or results.
using RankTensors = std::vector<TensorRef>;

/// Row-major strides of a shape, in elements.
llvm::SmallVector<int64_t> stridesOf(llvm::ArrayRef<int64_t> shape);

/// Calls `fn(index)` for every index of a shape, in row-major order.
template <typename Fn>
void forEachIndex(llvm::ArrayRef<int64_t> shape, Fn &&fn) {
  llvm::SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t size : shape)
    if (size == 0)
      return;
  while (true) {
    fn(llvm::ArrayRef<int64_t>(index));
    int64_t d = static_cast<int64_t>(shape.size()) - 1;
    for (; d >= 0 && ++index[d] == shape[d]; --d)
      index[d] = 0;
    if (d < 0)
      return;
  }
}

/// The value of a float, integer, dense or dense-resource attribute; null for
/// other attributes.
TensorRef fromAttribute(mlir::Attribute attr);

} // namespace tessera::interp

#endif // TESSERA_INTERPRETER_TENSOR_H
