//===- Coordinates.cpp - Indices of several dimensions --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Coordinates.h"
#include "Indices.h"

#include <numeric>

using namespace mlir;
using namespace tessera;
using namespace tessera::stablehlo;

LogicalResult IndexDims::read(OpConversion &c, const Fields &fields,
                              const IndexNames &names) {
  dropped = fields.lookup(names.dropped);
  operandBatch = fields.lookup(names.operandBatch);
  indexBatch = fields.lookup(names.indexBatch);
  map = fields.lookup(names.map);
  SmallVector<int64_t> vector = fields.lookup("index_vector_dim");
  indexVector = vector.empty() ? 0 : vector.front();
  ArrayRef<int64_t> x = c.operandType(0).getShape();
  ArrayRef<int64_t> indices = c.operandType(1).getShape();
  int64_t rank = x.size(), indexRank = indices.size();
  SmallVector<int64_t> missing(dropped), mapped(map);
  llvm::append_range(missing, operandBatch);
  llvm::append_range(mapped, operandBatch);
  if (failed(
          c.checkDims(missing, rank,
                      (names.dropped + " and " + names.operandBatch).str())) ||
      failed(c.checkDims(mapped, rank, names.map)) ||
      failed(c.checkDims(indexBatch, indexRank, names.indexBatch)))
    return failure();
  if (indexVector < 0 || indexVector > indexRank ||
      (hasVector(c) ? indices[indexVector] : 1) != int64_t(map.size()))
    return c.error() << "expects " << map.size()
                     << " coordinates along index_vector_dim";
  if (operandBatch.size() != indexBatch.size())
    return c.error() << "expects as many batching dimensions of the indices as "
                        "of the operand";
  for (auto [from, to] : llvm::zip_equal(operandBatch, indexBatch))
    if (to == indexVector || x[from] != indices[to])
      return c.error() << "expects batching dimensions of equal sizes";
  return success();
}

Value tessera::stablehlo::takeCoordinate(GraphBuilder &b, Value indices,
                                         int64_t indexVector, int64_t count,
                                         int64_t i) {
  SmallVector<int64_t> sizes(b.typeOf(indices).getShape());
  int64_t dim = indexVector;
  if (dim == int64_t(sizes.size()))
    return indices;
  sizes[dim] = 1;
  auto concat = indices.getDefiningOp<tensor::ConcatOp>();
  bool isOwn = concat && int64_t(concat.getDim()) == dim &&
               int64_t(concat.getInputs().size()) == count;
  SmallVector<int64_t> offsets(sizes.size(), 0), ones(sizes.size(), 1);
  offsets[dim] = i;
  Value part =
      isOwn ? concat.getInputs()[i] : b.slice(indices, offsets, sizes, ones);
  sizes.erase(sizes.begin() + dim);
  return b.reshape(part, sizes);
}

Value tessera::stablehlo::arrange(GraphBuilder &b, const Labelled &x,
                                  ArrayRef<int64_t> labels) {
  SmallVector<int64_t> permutation;
  for (int64_t label : labels)
    permutation.push_back(llvm::find(x.labels, label) - x.labels.begin());
  return b.transpose(x.value, permutation);
}

SmallVector<int64_t> tessera::stablehlo::sizesOf(const Labelled &x,
                                                 ArrayRef<int64_t> labels) {
  SmallVector<int64_t> sizes;
  ArrayRef<int64_t> shape = GraphBuilder::typeOf(x.value).getShape();
  for (int64_t label : labels)
    sizes.push_back(shape[llvm::find(x.labels, label) - x.labels.begin()]);
  return sizes;
}

int64_t tessera::stablehlo::product(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                         std::multiplies<>());
}

Labelled tessera::stablehlo::joinCoordinates(GraphBuilder &b,
                                             ArrayRef<Coordinate> coordinates,
                                             ArrayRef<int64_t> batch) {
  int64_t rows = 1;
  for (const Coordinate &coordinate : coordinates)
    rows *= coordinate.size;
  Labelled natural;
  for (size_t k = 0; k < batch.size(); ++k)
    natural.labels.push_back(-1 - int64_t(k));
  Labelled ids{Value(), SmallVector<int64_t>(batch)};
  SmallVector<int64_t> shape;
  auto arrangeStart = [&](const Coordinate &coordinate) {
    natural.value = coordinate.start;
    return arrange(b, natural, batch);
  };
  llvm::append_range(shape,
                     b.typeOf(arrangeStart(coordinates.front())).getShape());
  for (const Coordinate &coordinate : coordinates)
    if (coordinate.count > 1) {
      ids.labels.push_back(coordinate.dim);
      shape.push_back(coordinate.count);
    }
  auto outer = llvm::to_vector(llvm::seq<int64_t>(0, batch.size()));
  int64_t stride = rows;
  for (const Coordinate &coordinate : coordinates) {
    stride /= coordinate.size;
    Value start = arrangeStart(coordinate);
    if (shape.size() > batch.size() || coordinates.size() > 1)
      start = widenIndex(b, start, rows);
    Value id = b.broadcast(start, shape, outer);
    if (coordinate.count > 1) {
      int64_t at = llvm::find(ids.labels, coordinate.dim) - ids.labels.begin();
      Value steps = countTo(b, coordinate.count, start);
      id = b.fold<arith::AddIOp>(id, b.broadcast(steps, shape, at));
    }
    if (stride != 1)
      id = b.fold<arith::MulIOp>(id, b.splat(id, stride));
    ids.value = ids.value ? b.fold<arith::AddIOp>(ids.value, id) : id;
  }
  return ids;
}
