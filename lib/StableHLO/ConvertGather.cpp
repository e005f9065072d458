//===- ConvertGather.cpp - Rows of tables and elements of rows ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A gather is an embedding: its table has a row for each position of the
// indexed dimensions, and an id is the sum of the coordinates, each times its
// stride. If the operand and the indices share dimensions, it is a
// take_along_axis, whose rows are the indexed dimensions.
//
// An index that is an input, also shifted by constants in range, is assumed to
// be in range, which the argument's range states, and one that an nn.top_k
// chose is in range: JAX's wrapping of negative ones is dropped. Other indices
// are clamped to the range, as gather does.
//
//===----------------------------------------------------------------------===//

#include "Converter.h"
#include "Coordinates.h"
#include "Indices.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::stablehlo;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

namespace {
/// The attributes of a gather.
struct GatherDims : IndexDims {
  SmallVector<int64_t> offset;

  /// Whether a dimension of the operand is indexed by several values.
  bool isIndexed(int64_t dim, ArrayRef<int64_t> table) const {
    return llvm::is_contained(map, dim) && sizes[dim] < table[dim];
  }
};
} // namespace

/// Fails unless the slices fit the operand and the result.
static LogicalResult checkSlices(OpConversion &c, const GatherDims &dims) {
  ArrayRef<int64_t> table = c.operandType(0).getShape();
  int64_t rank = table.size();
  if (int64_t(dims.sizes.size()) != rank)
    return c.error() << "expects " << rank << " slice_sizes but got "
                     << dims.sizes.size();
  for (auto [dim, part, size] : llvm::enumerate(dims.sizes, table))
    if (part < 1 || part > size || (part > 1 && dims.isDropped(dim)))
      return c.error() << "expects slice_sizes inside the operand, 1 of a "
                          "dimension that is dropped, but got "
                       << part << " of " << size;
  int64_t kept = rank - dims.dropped.size() - dims.operandBatch.size();
  int64_t batch = c.operandType(1).getRank() - dims.hasVector(c);
  if (failed(c.checkDims(dims.offset, kept + batch, "offset_dims")))
    return failure();
  if (int64_t(dims.offset.size()) != kept || !llvm::is_sorted(dims.offset))
    return c.error() << "expects " << kept << " ascending offset_dims";
  return success();
}

static FailureOr<GatherDims> readDims(OpConversion &c) {
  static constexpr IndexNames names = {
      "collapsed_slice_dims", "operand_batching_dims",
      "start_indices_batching_dims", "start_index_map"};
  std::optional<Fields> fields =
      parseFields(getText(getSourceAttr(c.op, "dimension_numbers")), "gather",
                  {"offset_dims", names.dropped, names.operandBatch,
                   names.indexBatch, names.map, "index_vector_dim"});
  auto sizes = c.getIntegers("slice_sizes");
  if (failed(sizes))
    return failure();
  if (!fields || !isa<IntegerType>(c.operandType(1).getElementType()))
    return c.error()
           << "expects #stablehlo.gather<...> and indices of integers";
  GatherDims dims;
  dims.offset = fields->lookup("offset_dims");
  dims.sizes = *sizes;
  if (failed(dims.read(c, *fields, names)) || failed(checkSlices(c, dims)))
    return failure();
  return dims;
}

//===----------------------------------------------------------------------===//
// Indices that are inputs
//===----------------------------------------------------------------------===//

/// Returns the arguments whose elements `x` has, next to constants in [0,
/// size), up to casts; none for computed numbers.
static SmallVector<Value> findInputs(Value x, int64_t size) {
  SmallVector<Value> inputs;
  llvm::SetVector<Value> values;
  values.insert(x);
  for (size_t i = 0; i < values.size(); ++i) {
    Value value = values[i];
    Operation *op = value.getDefiningOp();
    if (!op)
      inputs.push_back(value);
    else if (isa<tensor::ConcatOp, tensor::ExpandShapeOp,
                 tensor::CollapseShapeOp, tensor::ExtractSliceOp,
                 nn::BroadcastOp, nn::TransposeOp, arith::ExtSIOp,
                 arith::TruncIOp>(op))
      values.insert_range(op->getOperands());
    else if (!isInRange(value, size))
      return {};
  }
  return inputs;
}

/// Whether `x` are positions in a dimension of at most `size` elements.
static bool isChoice(Value x, int64_t size) {
  auto choice = x.getDefiningOp<nn::TopKOp>();
  return choice &&
         GraphBuilder::typeOf(choice.getX()).getShape().back() <= size;
}

/// Drops the wrapping of an index that is in range: an input or a choice.
static void unwrap(OpConversion &c, Coordinate &coordinate) {
  // Dimensions of size 1 may be between the index and its wrapping.
  Value index = coordinate.start, core = stripShape(index);
  int64_t size = coordinate.size;
  Value source = matchWrap(core, size);
  Value plain = source ? source : core;
  SmallVector<Value> inputs = findInputs(plain, size);
  bool isInput = !inputs.empty();
  if (isInRange(index, size))
    coordinate.wrapped = core;
  if (!isInput && !isChoice(plain, size))
    return;
  coordinate.wrapped = core;
  coordinate.start = c.b.reshape(plain, c.b.typeOf(index).getShape());
  if (!isInput)
    return;
  for (Value input : inputs) {
    auto [vocabulary, isNew] = c.converter.vocabularies.insert({input, size});
    if (!isNew)
      vocabulary->second = std::min(vocabulary->second, size);
  }
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

/// The coordinates along the dimensions of several parts, by dimension.
static SmallVector<Coordinate> findCoordinates(OpConversion &c,
                                               const GatherDims &dims) {
  ArrayRef<int64_t> table = c.operandType(0).getShape();
  SmallVector<Coordinate> coordinates;
  for (auto [i, dim] : llvm::enumerate(dims.map)) {
    if (!dims.isIndexed(dim, table))
      continue;
    Coordinate coordinate{dim, table[dim], dims.sizes[dim],
                          takeCoordinate(c.b, c.positions(1), dims.indexVector,
                                         dims.map.size(), i),
                          Value()};
    if (coordinate.count == 1)
      unwrap(c, coordinate);
    coordinates.push_back(coordinate);
  }
  bool isOnly = coordinates.size() == 1;
  for (Coordinate &coordinate : coordinates)
    if (!isOnly || !coordinate.wrapped)
      coordinate.start = clampIndex(c.b, coordinate.start,
                                    coordinate.size - coordinate.count + 1);
  llvm::sort(coordinates, [](const Coordinate &a, const Coordinate &b) {
    return a.dim < b.dim;
  });
  return coordinates;
}

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

/// The labels of the dimensions of the indices that the operand shares, in the
/// order of `operandBatch`.
static SmallVector<int64_t> sharedLabels(const GatherDims &dims) {
  SmallVector<int64_t> labels;
  for (int64_t dim : dims.indexBatch)
    labels.push_back(-1 - (dim - (dim > dims.indexVector)));
  return labels;
}

/// The operand, of whose dimensions without an index only the slice is left,
/// which begins at 0.
static Labelled sliceOperand(OpConversion &c, const GatherDims &dims) {
  Labelled operand;
  SmallVector<int64_t> shape(c.operandType(0).getShape()), sizes(shape);
  SmallVector<int64_t> shared = sharedLabels(dims);
  for (int64_t dim = 0, rank = shape.size(); dim < rank; ++dim) {
    const int64_t *batch = llvm::find(dims.operandBatch, dim);
    bool isShared = batch != dims.operandBatch.end();
    operand.labels.push_back(
        isShared ? shared[batch - dims.operandBatch.begin()] : dim);
    if (!isShared && !dims.isIndexed(dim, shape))
      sizes[dim] = dims.sizes[dim];
  }
  SmallVector<int64_t> zeros(shape.size(), 0), ones(shape.size(), 1);
  operand.value = c.b.slice(c.operands[0], zeros, sizes, ones);
  return operand;
}

/// Takes rows of the indexed dimensions, whose elements are the `others`.
static Labelled buildEmbedding(GraphBuilder &b, const Labelled &operand,
                               const Labelled &ids, ArrayRef<int64_t> indexed,
                               ArrayRef<int64_t> others) {
  SmallVector<int64_t> order(indexed), kept = sizesOf(operand, others);
  llvm::append_range(order, others);
  int64_t rows = product(sizesOf(operand, indexed)), width = product(kept);
  Value table = b.reshape(arrange(b, operand, order), {rows, width});
  Value result = lookUpRows(b, table, ids.value);
  SmallVector<int64_t> shape(b.typeOf(ids.value).getShape());
  llvm::append_range(shape, kept);
  Labelled taken{b.reshape(result, shape), ids.labels};
  llvm::append_range(taken.labels, others);
  return taken;
}

/// Takes elements of rows of the indexed dimensions, for each index of the
/// `shared` dimensions, the first ones of `ids`, and of the `others`.
static Labelled buildTakeAlongAxis(GraphBuilder &b, const Labelled &operand,
                                   const Labelled &ids,
                                   ArrayRef<int64_t> shared,
                                   ArrayRef<int64_t> indexed,
                                   ArrayRef<int64_t> others) {
  SmallVector<int64_t> outer(shared);
  llvm::append_range(outer, others);
  SmallVector<int64_t> order(outer), sizes = sizesOf(operand, outer);
  llvm::append_range(order, indexed);
  ArrayRef<int64_t> chosen =
      b.typeOf(ids.value).getShape().drop_front(shared.size());
  int64_t count = product(chosen);
  SmallVector<int64_t> rows(sizes), lists(sizes), same;
  rows.push_back(product(sizesOf(operand, indexed)));
  // One element of each row has no dimension of its own.
  SmallVector<int64_t> own(ArrayRef(sizes).take_front(shared.size()));
  same = llvm::to_vector(llvm::seq<int64_t>(0, shared.size()));
  if (count > 1) {
    lists.push_back(count);
    own.push_back(count);
    same.push_back(outer.size());
  }
  Value index = b.broadcast(b.reshape(ids.value, own), lists, same);
  Value x = b.reshape(arrange(b, operand, order), rows);
  Value result = b.make<nn::TakeAlongAxisOp>(b.typeOf(x).clone(lists), x, index,
                                             Value(), IntegerAttr());
  llvm::append_range(sizes, chosen);
  Labelled taken{b.reshape(result, sizes), outer};
  llvm::append_range(taken.labels,
                     ArrayRef(ids.labels).drop_front(shared.size()));
  return taken;
}

/// Brings what was taken to the order of the result, without dropped
/// dimensions.
static Value finish(OpConversion &c, const GatherDims &dims, Labelled taken) {
  SmallVector<int64_t> kept, order;
  for (int64_t label : taken.labels)
    if (label < 0 || !dims.isDropped(label))
      kept.push_back(label);
  taken.value = c.b.reshape(taken.value, sizesOf(taken, kept));
  taken.labels = kept;
  int64_t batch = 0, dim = 0;
  for (int64_t i = 0, rank = kept.size(); i < rank; ++i) {
    if (!llvm::is_contained(dims.offset, i)) {
      order.push_back(-1 - batch++);
      continue;
    }
    while (dims.isDropped(dim))
      ++dim;
    order.push_back(dim++);
  }
  return arrange(c.b, taken, order);
}

/// Repeats the operand for each index: it has one slice.
static Labelled repeat(OpConversion &c, const Labelled &operand,
                       ArrayRef<int64_t> batch, ArrayRef<int64_t> sizes,
                       ArrayRef<int64_t> others, size_t numShared) {
  Labelled result;
  SmallVector<int64_t> order(batch.take_front(numShared)), shape(sizes), from;
  llvm::append_range(order, others);
  llvm::append_range(shape, sizesOf(operand, others));
  llvm::append_range(result.labels, batch);
  llvm::append_range(result.labels, others);
  for (int64_t label : order)
    from.push_back(llvm::find(result.labels, label) - result.labels.begin());
  result.value = c.b.broadcast(arrange(c.b, operand, order), shape, from);
  return result;
}

static LogicalResult convertGather(OpConversion &c) {
  FailureOr<GatherDims> dims = readDims(c);
  if (failed(dims))
    return failure();
  // Dimensions that the operand shares come first.
  SmallVector<int64_t> batch = sharedLabels(*dims), shared = batch, sizes;
  SmallVector<int64_t> all(c.operandType(1).getShape());
  if (dims->indexVector < int64_t(all.size()))
    all.erase(all.begin() + dims->indexVector);
  for (size_t k = 0; k < all.size(); ++k)
    if (!llvm::is_contained(shared, -1 - int64_t(k)))
      batch.push_back(-1 - int64_t(k));
  for (int64_t label : batch)
    sizes.push_back(all[-1 - label]);
  SmallVector<Coordinate> coordinates = findCoordinates(c, *dims);
  Labelled operand = sliceOperand(c, *dims);
  SmallVector<int64_t> indexed, others;
  for (const Coordinate &coordinate : coordinates)
    indexed.push_back(coordinate.dim);
  for (int64_t label : operand.labels)
    if (label >= 0 && !llvm::is_contained(indexed, label))
      others.push_back(label);
  Labelled taken;
  if (coordinates.empty()) {
    taken = repeat(c, operand, batch, sizes, others, shared.size());
  } else if (!shared.empty() && !c.isFloat()) {
    return c.error() << "expects floats of a batch but got "
                     << c.operandType(0);
  } else {
    Labelled ids = joinCoordinates(c.b, coordinates, batch);
    if (failed(checkLookUp(c, c.operands[0], product(sizesOf(operand, indexed)),
                           c.b.typeOf(ids.value).getNumElements())))
      return failure();
    taken = shared.empty() ? buildEmbedding(c.b, operand, ids, indexed, others)
                           : buildTakeAlongAxis(c.b, operand, ids, shared,
                                                indexed, others);
  }
  // A dimension of which one element is taken may be kept.
  for (const Coordinate &coordinate : coordinates)
    if (coordinate.count == 1 && !dims->isDropped(coordinate.dim)) {
      SmallVector<int64_t> shape(c.b.typeOf(taken.value).getShape());
      shape.push_back(1);
      taken.value = c.b.reshape(taken.value, shape);
      taken.labels.push_back(coordinate.dim);
    }
  Value result = finish(c, *dims, taken);
  if (coordinates.size() == 1 && coordinates[0].wrapped)
    c.converter.gathers.push_back(
        {stripShape(result), coordinates[0].wrapped, coordinates[0].size});
  return c.yield(result);
}

void tessera::stablehlo::addGatherHandlers(HandlerTable &t) {
  t.add("stablehlo.gather", 2, convertGather);
}
