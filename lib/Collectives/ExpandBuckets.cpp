//===- ExpandBuckets.cpp - Expands buckets to one collective --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The collective works on one buffer of all members. An all-reduce needs no
// order in it. A reduce-scatter and an all-gather split the buffer into one row
// per device of a group, so the buffer is a matrix with a column block per
// member.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "runtime/include/tessera_rt.h"
#include "tessera/CollectiveLists/CollectiveList.h"
#include "tessera/Collectives/Passes.h"
#include "tessera/Interfaces/CostOpInterface.h"

namespace tessera {
#define GEN_PASS_DEF_EXPANDBUCKETSPASS
#include "tessera/Collectives/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

class BucketExpansion {
public:
  BucketExpansion(dist::BucketOp bucket, const Mesh &mesh)
      : bucket(bucket), mesh(mesh), b(bucket.getLoc(), bucket) {}

  void run();

private:
  Value reshape(Value value, ArrayRef<int64_t> shape);
  Value concat(ArrayRef<Value> chunks, int64_t dim);
  Value getColumns(Value matrix, int64_t begin, int64_t count);
  Value swapFirst(Value value);

  void expect();
  void expandAllReduce();
  void expandReduceScatter();
  void expandAllGather();

  dist::BucketOp bucket;
  const Mesh &mesh;
  ImplicitLocOpBuilder b;
};

} // namespace

static RankedTensorType getType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Moving elements
//===----------------------------------------------------------------------===//

/// Reshapes in row-major order, through one dimension: any shape can be
/// collapsed to it and expanded from it.
Value BucketExpansion::reshape(Value value, ArrayRef<int64_t> shape) {
  RankedTensorType type = getType(value);
  if (type.getShape() == shape)
    return value;
  auto all = [](int64_t rank) {
    SmallVector<ReassociationIndices> groups;
    if (rank > 0)
      groups.push_back(llvm::to_vector<2>(llvm::seq<int64_t>(0, rank)));
    return groups;
  };
  int64_t count = type.getNumElements();
  auto flat = RankedTensorType::get({count}, type.getElementType());
  if (type.getRank() == 0)
    value = tensor::ExpandShapeOp::create(b, flat, value,
                                          ArrayRef<ReassociationIndices>());
  else if (type.getRank() > 1)
    value =
        tensor::CollapseShapeOp::create(b, flat, value, all(type.getRank()));
  auto target = RankedTensorType::get(shape, type.getElementType());
  if (shape.empty())
    return tensor::CollapseShapeOp::create(b, target, value,
                                           ArrayRef<ReassociationIndices>());
  if (shape.size() == 1)
    return value;
  return tensor::ExpandShapeOp::create(b, target, value, all(shape.size()));
}

Value BucketExpansion::concat(ArrayRef<Value> chunks, int64_t dim) {
  return tensor::ConcatOp::create(b, dim, chunks);
}

/// Returns columns [begin, begin + count) of a matrix, or elements of a vector.
/// An empty slice starts at 0, since an offset must be in range.
Value BucketExpansion::getColumns(Value matrix, int64_t begin, int64_t count) {
  RankedTensorType type = getType(matrix);
  SmallVector<int64_t> offsets(type.getRank(), 0), sizes(type.getShape()),
      strides(type.getRank(), 1);
  offsets.back() = count ? begin : 0;
  sizes.back() = count;
  return tensor::ExtractSliceOp::create(b, type.clone(sizes), matrix,
                                        ValueRange(), ValueRange(),
                                        ValueRange(), offsets, sizes, strides);
}

/// Swaps the first two of three dimensions.
Value BucketExpansion::swapFirst(Value value) {
  RankedTensorType type = getType(value);
  int64_t first = type.getDimSize(0), second = type.getDimSize(1);
  if (first == 1 || second == 1)
    return reshape(value, {second, first, type.getDimSize(2)});
  return nn::TransposeOp::create(
      b, type.clone({second, first, type.getDimSize(2)}), value,
      ArrayRef<int64_t>{1, 0, 2});
}

//===----------------------------------------------------------------------===//
// The collectives
//===----------------------------------------------------------------------===//

void BucketExpansion::expandAllReduce() {
  auto first = cast<dist::AllReduceOp>(*bucket.getMembers().front());
  // Aligned members come first: a value at a multiple of the alignment needs no
  // copy.
  auto isAligned = [](Value value) {
    auto bytes = static_cast<int64_t>(getTensorBytes(value.getType()));
    return bytes % TESSERA_RT_ARENA_ALIGNMENT == 0;
  };
  auto order = llvm::to_vector(llvm::seq<size_t>(0, bucket.getInputs().size()));
  llvm::stable_sort(order, [&](size_t i, size_t j) {
    return isAligned(bucket.getInputs()[i]) > isAligned(bucket.getInputs()[j]);
  });
  SmallVector<Value> chunks;
  for (size_t i : order) {
    Value input = bucket.getInputs()[i];
    chunks.push_back(reshape(input, {getType(input).getNumElements()}));
  }
  Value packed = concat(chunks, 0);
  Value reduced = dist::AllReduceOp::create(
      b, packed.getType(), packed, first.getKind(), first.getAxes(),
      first.getMesh(), /*from=*/dist::ShardingAttr(),
      /*to=*/dist::ShardingAttr());
  int64_t begin = 0;
  for (size_t i : order) {
    Value result = bucket.getResult(i);
    int64_t count = getType(result).getNumElements();
    result.replaceAllUsesWith(
        reshape(getColumns(reduced, begin, count), getType(result).getShape()));
    begin += count;
  }
}

/// Returns the products of the dimension sizes before `dim`, and from `dim` on.
static std::pair<int64_t, int64_t> getOuterAndInner(ArrayRef<int64_t> shape,
                                                    int64_t dim) {
  return {ShapedType::getNumElements(shape.take_front(dim)),
          ShapedType::getNumElements(shape.drop_front(dim))};
}

void BucketExpansion::expandReduceScatter() {
  auto first = cast<dist::ReduceScatterOp>(*bucket.getMembers().front());
  int64_t n = numShards(first.getAxes().toAxes(mesh));
  SmallVector<Value> chunks;
  for (auto [member, input] :
       llvm::zip(bucket.getMembers(), bucket.getInputs())) {
    int64_t dim = cast<dist::ReduceScatterOp>(*member).getDim();
    int64_t count = getType(input).getNumElements();
    auto [outer, inner] = getOuterAndInner(getType(input).getShape(), dim);
    Value byDevice = swapFirst(reshape(input, {outer, n, inner / n}));
    chunks.push_back(reshape(byDevice, {n, count / n}));
  }
  Value packed = concat(chunks, 1);
  RankedTensorType type = getType(packed);
  Value shard = dist::ReduceScatterOp::create(
      b, type.clone({1, type.getDimSize(1)}), packed, /*dim=*/0,
      first.getKind(), first.getAxes(), first.getMesh(),
      /*from=*/dist::ShardingAttr(), /*to=*/dist::ShardingAttr());
  Value flat = reshape(shard, {type.getDimSize(1)});
  int64_t begin = 0;
  for (Value result : bucket.getResults()) {
    int64_t count = getType(result).getNumElements();
    result.replaceAllUsesWith(
        reshape(getColumns(flat, begin, count), getType(result).getShape()));
    begin += count;
  }
}

void BucketExpansion::expandAllGather() {
  auto first = cast<dist::AllGatherOp>(*bucket.getMembers().front());
  int64_t n = numShards(first.getAxes().toAxes(mesh));
  SmallVector<Value> chunks;
  for (Value input : bucket.getInputs())
    chunks.push_back(reshape(input, {getType(input).getNumElements()}));
  Value packed = concat(chunks, 0);
  int64_t columns = getType(packed).getNumElements();
  Value row = reshape(packed, {1, columns});
  Value gathered = dist::AllGatherOp::create(
      b, getType(row).clone({n, columns}), row, /*dim=*/0, first.getAxes(),
      first.getMesh(), /*from=*/dist::ShardingAttr(),
      /*to=*/dist::ShardingAttr());
  int64_t begin = 0;
  for (auto [member, input, result] : llvm::zip(
           bucket.getMembers(), bucket.getInputs(), bucket.getResults())) {
    int64_t dim = cast<dist::AllGatherOp>(*member).getDim();
    int64_t count = getType(input).getNumElements();
    auto [outer, inner] = getOuterAndInner(getType(input).getShape(), dim);
    Value byDevice =
        reshape(getColumns(gathered, begin, count), {n, outer, inner});
    result.replaceAllUsesWith(
        reshape(swapFirst(byDevice), getType(result).getShape()));
    begin += count;
  }
}

/// Lists one collective with the members' attributes, on all their elements in
/// one dimension.
void BucketExpansion::expect() {
  ListedCollective listed = listOp(*bucket.getMembers().begin());
  for (NamedAttribute &attr : listed.attributes)
    if (attr.getName() == "dim")
      attr.setValue(b.getI64IntegerAttr(0));
  listed.numElements = 0;
  for (Value input : bucket.getInputs())
    listed.numElements += getType(input).getNumElements();
  addExpected(bucket, listed);
}

void BucketExpansion::run() {
  expect();
  Operation *first = *bucket.getMembers().begin();
  if (isa<dist::AllReduceOp>(first))
    expandAllReduce();
  else if (isa<dist::ReduceScatterOp>(first))
    expandReduceScatter();
  else
    expandAllGather();
  bucket.erase();
}

namespace {
struct ExpandBucketsPass
    : tessera::impl::ExpandBucketsPassBase<ExpandBucketsPass> {
  void runOnOperation() override {
    SmallVector<dist::BucketOp> buckets;
    getOperation().walk([&](dist::BucketOp op) { buckets.push_back(op); });
    for (dist::BucketOp op : buckets) {
      dist::CollectiveOpInterface first = op.getMembers().front();
      Mesh mesh = dist::lookupMesh(op, first.getMeshAttr()).getMesh().toMesh();
      BucketExpansion(op, mesh).run();
    }
  }
};
} // namespace
