//===- ConvertScatter.cpp - Rows that are written at indices --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scatter is an nn.scatter: its matrix has a row for each position of the
// indexed dimensions, and an id is the sum of the coordinates, each times its
// stride. Dimensions that updates have whole are the columns. An update whose
// indices are out of range is left out, as scatter does: it has no row.
//
// Integers are written as floats that hold them.
//
//===----------------------------------------------------------------------===//

#include "Converter.h"
#include "Coordinates.h"
#include "Indices.h"
#include "SourceBodies.h"

#include "tessera/Raise/Evaluate.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::stablehlo;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

namespace {
/// The attributes of a scatter; the sizes are those of an update.
struct ScatterDims : IndexDims {
  SmallVector<int64_t> window;
};
} // namespace

/// The shape of the indices without the coordinates.
static SmallVector<int64_t> getBatchShape(OpConversion &c,
                                          const ScatterDims &dims) {
  SmallVector<int64_t> shape(c.operandType(1).getShape());
  if (dims.indexVector < int64_t(shape.size()))
    shape.erase(shape.begin() + dims.indexVector);
  return shape;
}

/// Fails unless the updates have the indices' dimensions and a window of the
/// operand's, whose sizes it sets.
static LogicalResult checkUpdates(OpConversion &c, ScatterDims &dims) {
  ArrayRef<int64_t> x = c.operandType(0).getShape();
  ArrayRef<int64_t> updates = c.operandType(2).getShape();
  SmallVector<int64_t> batch = getBatchShape(c, dims), found;
  if (failed(c.checkDims(dims.window, updates.size(), "update_window_dims")))
    return failure();
  for (auto [dim, size] : llvm::enumerate(updates))
    if (!llvm::is_contained(dims.window, int64_t(dim)))
      found.push_back(size);
  size_t next = 0;
  for (auto [dim, size] : llvm::enumerate(x)) {
    bool isDropped = dims.isDropped(dim), isThere = next < dims.window.size();
    dims.sizes.push_back(!isDropped && isThere ? updates[dims.window[next]]
                                               : 1);
    next += !isDropped;
    if (dims.sizes.back() > size)
      return c.error() << "expects updates inside the operand but got "
                       << dims.sizes.back() << " of " << size;
  }
  if (next != dims.window.size() || !llvm::is_sorted(dims.window) ||
      found != batch)
    return c.error() << "expects updates with the dimensions of the indices "
                        "and "
                     << next << " ascending update_window_dims but got "
                     << c.operandType(2);
  return success();
}

static FailureOr<ScatterDims> readScatterDims(OpConversion &c) {
  static constexpr IndexNames names = {
      "inserted_window_dims", "input_batching_dims",
      "scatter_indices_batching_dims", "scatter_dims_to_operand_dims"};
  std::optional<Fields> fields = parseFields(
      getText(getSourceAttr(c.op, "scatter_dimension_numbers")), "scatter",
      {"update_window_dims", names.dropped, names.operandBatch,
       names.indexBatch, names.map, "index_vector_dim"});
  if (!fields || !isa<IntegerType>(c.operandType(1).getElementType()) ||
      c.operandType(1).getElementType().isInteger(1))
    return c.error()
           << "expects #stablehlo.scatter<...> and indices of integers";
  ScatterDims dims;
  dims.window = fields->lookup("update_window_dims");
  if (failed(dims.read(c, *fields, names)) || failed(checkUpdates(c, dims)))
    return failure();
  return dims;
}

/// The scatter of a body that adds, or that returns the update.
static FailureOr<nn::ScatterKind> matchBody(OpConversion &c) {
  std::string spelled =
      c.op->getNumRegions() == 1 ? spellBody(c.op->getRegion(0)) : "";
  if (spelled == "1")
    return nn::ScatterKind::Set;
  if ((spelled == "add(0,1)" || spelled == "add(1,0)") && !c.isBool())
    return nn::ScatterKind::Add;
  return c.error() << "expects a body that adds numbers or returns the update";
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

/// Coordinate `i`, taken from the operands of a clamp of all coordinates.
static Value takeClamped(GraphBuilder &b, const ScatterDims &dims,
                         Value indices, int64_t i) {
  auto take = [&](Value x) { return takeClamped(b, dims, x, i); };
  if (auto min = indices.getDefiningOp<arith::MinSIOp>())
    return b.fold<arith::MinSIOp>(take(min.getLhs()), take(min.getRhs()));
  if (auto max = indices.getDefiningOp<arith::MaxSIOp>())
    return b.fold<arith::MaxSIOp>(take(max.getLhs()), take(max.getRhs()));
  return takeCoordinate(b, indices, dims.indexVector, dims.map.size(), i);
}

/// Whether a value follows from constants and has all numbers in [0, size).
static bool isBound(Value bound, int64_t size) {
  interp::TensorRef numbers = evaluateConstant(bound);
  return numbers &&
         llvm::all_of(llvm::seq(numbers->getNumElements()), [&](int64_t i) {
           int64_t number = (*numbers)[i].i;
           return number >= 0 && number < size;
         });
}

/// Whether an index is known to be in [0, size), or clamped to it.
static bool isInside(Value index, int64_t size) {
  if (isInRange(index, size) || isBound(index, size))
    return true;
  auto min = stripShape(index).getDefiningOp<arith::MinSIOp>();
  auto max =
      min ? min.getLhs().getDefiningOp<arith::MaxSIOp>() : arith::MaxSIOp();
  return max && isBound(min.getRhs(), size) && isBound(max.getRhs(), size);
}

namespace {
/// The coordinates of the indexed dimensions of the operand, and the others.
struct ScatterIndices {
  SmallVector<Coordinate> coordinates;
  SmallVector<int64_t> others;
};
} // namespace

/// The first element of updates along dimension `dim` of the operand; null for
/// a dimension that they have whole.
static Value findStart(OpConversion &c, const ScatterDims &dims, int64_t dim,
                       ArrayRef<int64_t> batch) {
  Value indices = c.positions(1);
  int64_t size = c.operandType(0).getDimSize(dim);
  const int64_t *mapped = llvm::find(dims.map, dim);
  if (mapped != dims.map.end())
    return takeClamped(c.b, dims, indices, mapped - dims.map.begin());
  const int64_t *shared = llvm::find(dims.operandBatch, dim);
  if (shared != dims.operandBatch.end()) {
    int64_t at = dims.indexBatch[shared - dims.operandBatch.begin()];
    at -= at > dims.indexVector;
    return c.b.broadcast(countTo(c.b, size, widenIndex(c.b, indices, size)),
                         batch, at);
  }
  if (dims.sizes[dim] == size && !dims.isDropped(dim))
    return {};
  return c.b.splatOf(RankedTensorType::get(batch, c.b.b.getI32Type()), 0);
}

/// Divides the dimensions of the operand. Fails if a window may be partly
/// outside of it.
static FailureOr<ScatterIndices> findIndices(OpConversion &c,
                                             const ScatterDims &dims) {
  ScatterIndices found;
  SmallVector<int64_t> batch = getBatchShape(c, dims);
  for (auto [dim, size] : llvm::enumerate(c.operandType(0).getShape())) {
    int64_t count = dims.sizes[dim];
    Value start = findStart(c, dims, dim, batch);
    if (count > 1 && start && !isInside(start, size - count + 1))
      return c.error() << "expects indices of windows that are constants or "
                          "clamped, so that no window is partly outside of "
                       << c.operandType(0);
    if (!start || (count == size && count > 1))
      found.others.push_back(dim);
    else
      found.coordinates.push_back({int64_t(dim), size, count, start, Value()});
  }
  return found;
}

/// The ids of rows; -1 for an update with a coordinate that is out of range.
static Labelled findRows(OpConversion &c, ArrayRef<Coordinate> coordinates,
                         ArrayRef<int64_t> shape) {
  SmallVector<int64_t> batch;
  for (size_t k = 0; k < shape.size(); ++k)
    batch.push_back(-1 - int64_t(k));

  // Updates of all elements are those of one row.
  if (coordinates.empty())
    return {c.b.splatOf(RankedTensorType::get(shape, c.b.b.getI32Type()), 0),
            SmallVector<int64_t>(batch)};
  Labelled ids = joinCoordinates(c.b, coordinates, batch);
  if (coordinates.size() == 1)
    return ids;
  Value isRow;
  for (const Coordinate &at : coordinates) {
    if (isInside(at.start, at.size - at.count + 1))
      continue;
    auto require = [&](Value holds) {
      isRow = isRow ? c.b.fold<arith::AndIOp>(isRow, holds) : holds;
    };
    require(c.b.fold<arith::CmpIOp>(arith::CmpIPredicate::sge, at.start,
                                    c.b.splat(at.start, 0)));
    Value wide = widenIndex(c.b, at.start, at.size);
    require(c.b.fold<arith::CmpIOp>(arith::CmpIPredicate::slt, wide,
                                    c.b.splat(wide, double(at.size))));
  }
  if (!isRow)
    return ids;
  auto outer = llvm::to_vector(llvm::seq<int64_t>(0, batch.size()));
  isRow = c.b.broadcast(isRow, c.b.typeOf(ids.value).getShape(), outer);
  ids.value =
      c.b.fold<arith::SelectOp>(isRow, ids.value, c.b.splat(ids.value, -1));
  return ids;
}

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

/// Casts integers to floats that hold them; 64 bits are two columns, the upper
/// and the lower halves. Sums of 2^20 of them are exact too.
static Value toFloats(GraphBuilder &b, Value x) {
  RankedTensorType type = b.typeOf(x), wide = type.clone(b.b.getF64Type());
  Type element = type.getElementType();
  if (isa<FloatType>(element))
    return x;
  if (element.isInteger(1))
    return b.fold<arith::UIToFPOp>(wide, x);
  if (element.getIntOrFloatBitWidth() <= 32)
    return b.fold<arith::SIToFPOp>(wide, x);
  constexpr int64_t lower = (int64_t(1) << 32) - 1;
  Value halves[] = {b.fold<arith::ShRSIOp>(x, b.splat(x, 32)),
                    b.fold<arith::AndIOp>(x, b.splat(x, double(lower)))};
  for (Value &half : halves)
    half = b.fold<arith::SIToFPOp>(wide, half);
  return b.make<tensor::ConcatOp>(type.getRank() - 1, halves);
}

/// Casts the rows of toFloats() back; sums wrap around.
static Value fromFloats(GraphBuilder &b, Value x, Type element) {
  if (isa<FloatType>(element))
    return x;
  if (element.isInteger(1))
    return b.fold<arith::CmpFOp>(arith::CmpFPredicate::UNE, x, b.splat(x, 0));
  RankedTensorType type = b.typeOf(x);
  Value wide = b.fold<arith::FPToSIOp>(type.clone(b.b.getI64Type()), x);
  unsigned width = element.getIntOrFloatBitWidth();
  if (width <= 32)
    return b.fold<arith::TruncIOp>(type.clone(element), wide);
  int64_t columns = type.getDimSize(1) / 2;
  auto half = [&](int64_t from) {
    return b.slice(wide, {0, from}, {type.getDimSize(0), columns}, {1, 1});
  };
  Value upper = half(0);
  upper = b.fold<arith::ShLIOp>(upper, b.splat(upper, 32));
  return b.fold<arith::AddIOp>(upper, half(columns));
}

/// Brings the updates to the order of the ids and the columns.
static Value arrangeUpdates(OpConversion &c, const ScatterDims &dims,
                            const Labelled &ids, ArrayRef<int64_t> others,
                            int64_t width) {
  Labelled updates{c.operands[2], {}};
  SmallVector<int64_t> window, order(ids.labels);
  for (int64_t dim = 0, rank = dims.sizes.size(); dim < rank; ++dim)
    if (!dims.isDropped(dim))
      window.push_back(dim);
  int64_t batch = 0, next = 0;
  for (int64_t dim = 0, rank = c.operandType(2).getRank(); dim < rank; ++dim)
    updates.labels.push_back(
        llvm::is_contained(dims.window, dim) ? window[next++] : -1 - batch++);
  llvm::append_range(order, others);
  // Windows of one element stay where they are.
  for (int64_t dim : window)
    if (!llvm::is_contained(order, dim))
      order.push_back(dim);
  SmallVector<int64_t> shape(c.b.typeOf(ids.value).getShape());
  shape.push_back(width);
  return c.b.reshape(arrange(c.b, updates, order), shape);
}

static LogicalResult convertScatter(OpConversion &c) {
  FailureOr<ScatterDims> dims = readScatterDims(c);
  if (failed(dims))
    return failure();
  FailureOr<nn::ScatterKind> kind = matchBody(c);
  if (failed(kind))
    return failure();
  Type element = c.operandType(0).getElementType();
  if (element != c.operandType(2).getElementType())
    return c.error() << "expects updates of " << element << " but got "
                     << c.operandType(2);
  FailureOr<ScatterIndices> found = findIndices(c, *dims);
  if (failed(found))
    return failure();
  // The last update of a row is the last in row-major order of the indices.
  Labelled ids = findRows(c, found->coordinates, getBatchShape(c, *dims));
  SmallVector<int64_t> order;
  Labelled x{c.operands[0],
             llvm::to_vector(llvm::seq<int64_t>(0, dims->sizes.size()))};
  for (const Coordinate &coordinate : found->coordinates)
    order.push_back(coordinate.dim);
  int64_t rows = product(sizesOf(x, order));
  int64_t width = product(sizesOf(x, found->others));
  llvm::append_range(order, found->others);
  Value moved = arrange(c.b, x, order);
  Value table = toFloats(c.b, c.b.reshape(moved, {rows, width}));
  Value updates =
      toFloats(c.b, arrangeUpdates(c, *dims, ids, found->others, width));
  Value result =
      c.b.make<nn::ScatterOp>(table.getType(), *kind, table, ids.value, updates,
                              Value(), IntegerAttr());
  result = c.b.reshape(fromFloats(c.b, result, element),
                       c.b.typeOf(moved).getShape());
  Labelled labelled{result, order};
  return c.yield(arrange(c.b, labelled, x.labels));
}

void tessera::stablehlo::addScatterHandlers(HandlerTable &t) {
  t.add("stablehlo.scatter", 3, convertScatter);
}
