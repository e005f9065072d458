//===- ExpandExchange.cpp - Expands exchanges to one gather ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If all pp ranks take part, each concatenates its values of one type to a row,
// and all ranks gather the rows:
//
//     pp rank 0   a b c        a b c | d - -     (-: padding)
//     pp rank 1   d      ->    a b c | d - -
//
// An exchange of some pp ranks stays one, with these rows as its values and
// without padding.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/RT/RT.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tessera/CollectiveLists/CollectiveList.h"
#include "tessera/Kernels/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace tessera {
#define GEN_PASS_DEF_EXPANDEXCHANGEPASS
#include "tessera/Kernels/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// Padding must be less than this many bytes, or than the padded values.
constexpr int64_t kSmallBytes = 64 << 10;

/// The values of one element type: numbers of results, by pp rank.
using RankValues = SmallVector<SmallVector<unsigned>>;

/// Returns the number of elements of the longest row.
int64_t getRowLength(dist::ExchangeOp op, const RankValues &values) {
  int64_t longest = 0;
  for (const SmallVector<unsigned> &ofRank : values) {
    int64_t length = 0;
    for (unsigned result : ofRank)
      length += cast<RankedTensorType>(op.getOutputs()[result].getType())
                    .getNumElements();
    longest = std::max(longest, length);
  }
  return longest;
}

/// Returns the vector of a value's elements.
Value flatten(ImplicitLocOpBuilder &b, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto flat =
      RankedTensorType::get({type.getNumElements()}, type.getElementType());
  if (type.getRank() == 0)
    return tensor::ExpandShapeOp::create(b, flat, value,
                                         ArrayRef<ReassociationIndices>());
  if (type.getRank() == 1)
    return value;
  ReassociationIndices all;
  for (int64_t i = 0; i < type.getRank(); ++i)
    all.push_back(i);
  return tensor::CollapseShapeOp::create(
      b, flat, value, SmallVector<ReassociationIndices>{all});
}

/// Returns a tensor of `type` with the elements of a vector from `begin` on.
Value unflatten(ImplicitLocOpBuilder &b, Value flat, RankedTensorType type,
                int64_t begin) {
  Value slice = tensor::ExtractSliceOp::create(
      b, flat, SmallVector<OpFoldResult>{b.getIndexAttr(begin)},
      SmallVector<OpFoldResult>{b.getIndexAttr(type.getNumElements())},
      SmallVector<OpFoldResult>{b.getIndexAttr(1)});
  if (type.getRank() == 0)
    return tensor::CollapseShapeOp::create(b, type, slice,
                                           ArrayRef<ReassociationIndices>());
  if (type.getRank() == 1)
    return slice;
  ReassociationIndices all;
  for (int64_t i = 0; i < type.getRank(); ++i)
    all.push_back(i);
  return tensor::ExpandShapeOp::create(b, type, slice,
                                       SmallVector<ReassociationIndices>{all});
}

/// Concatenates vectors to a row of `length` elements; returns the only vector
/// itself.
Value join(ImplicitLocOpBuilder &b, ArrayRef<Value> vectors, int64_t length) {
  if (vectors.size() == 1)
    return vectors.front();
  Type element = getElementTypeOrSelf(vectors.front().getType());
  return rt::ConcatOp::create(b, RankedTensorType::get({length}, element),
                              vectors, /*dim=*/0);
}

/// Replaces results by their elements in a row, which are one after the other
/// from `begin` on.
void replaceResults(ImplicitLocOpBuilder &b, dist::ExchangeOp op,
                    ArrayRef<unsigned> results, Value row, int64_t begin) {
  for (unsigned result : results) {
    Value output = op.getOutputs()[result];
    auto type = cast<RankedTensorType>(output.getType());
    output.replaceAllUsesWith(unflatten(b, row, type, begin));
    begin += type.getNumElements();
  }
}

/// Gathers the values of one type, and replaces the results by them.
void gather(ImplicitLocOpBuilder &b, dist::ExchangeOp op, const Mesh &mesh,
            StringAttr meshName, Type element, ValueRange mine,
            const RankValues &values) {
  int64_t length = getRowLength(op, values);
  SmallVector<Value> parts;
  int64_t filled = 0;
  for (Value value : mine) {
    parts.push_back(flatten(b, value));
    filled += cast<RankedTensorType>(value.getType()).getNumElements();
  }
  if (filled < length)
    parts.push_back(arith::ConstantOp::create(
        b, cast<TypedAttr>(b.getZeroAttr(
               RankedTensorType::get({length - filled}, element)))));
  Value row = join(b, parts, length);
  int64_t ranks = values.size();
  AxisList axes{mesh.fullAxis(*mesh.stageAxis)};
  Value all = dist::AllGatherOp::create(
      b, RankedTensorType::get({ranks * length}, element), row,
      b.getI64IntegerAttr(0), dist::AxesAttr::get(b.getContext(), mesh, axes),
      FlatSymbolRefAttr::get(meshName), /*from=*/dist::ShardingAttr(),
      /*to=*/dist::ShardingAttr());
  for (int64_t rank = 0; rank < ranks; ++rank)
    replaceResults(b, op, values[rank], all, rank * length);
}

/// Exchanges one vector of all values of an element type and a pp rank, where
/// there are several.
void pack(dist::ExchangeOp op, int64_t rank) {
  llvm::MapVector<std::pair<Type, int64_t>, SmallVector<unsigned>> vectors;
  for (auto [i, from] : llvm::enumerate(op.getFrom()))
    vectors[{getElementTypeOrSelf(op.getOutputs()[i].getType()), from}]
        .push_back(i);
  if (vectors.size() == op.getFrom().size())
    return;
  ImplicitLocOpBuilder b(op.getLoc(), op);
  // Numbers of the own values among the operands.
  llvm::DenseMap<unsigned, unsigned> own;
  for (auto [i, from] : llvm::enumerate(op.getFrom()))
    if (from == rank)
      own.try_emplace(i, own.size());
  SmallVector<Value> mine;
  SmallVector<Type> types;
  SmallVector<int64_t> from;
  for (auto &[key, results] : vectors) {
    auto [element, owner] = key;
    int64_t length = 0;
    SmallVector<Value> parts;
    for (unsigned i : results) {
      length +=
          cast<RankedTensorType>(op.getOutputs()[i].getType()).getNumElements();
      if (owner == rank)
        parts.push_back(flatten(b, op.getInputs()[own.lookup(i)]));
    }
    types.push_back(RankedTensorType::get({length}, element));
    from.push_back(owner);
    if (!parts.empty())
      mine.push_back(join(b, parts, length));
  }
  auto packed = dist::ExchangeOp::create(b, types, mine, from, op.getAmong());
  for (auto [vector, entry] : llvm::zip_equal(packed.getOutputs(), vectors))
    replaceResults(b, op, entry.second, vector, /*begin=*/0);
  op.erase();
}

/// Expands an exchange among all pp ranks to one gather per element type,
/// unless most of the sent bytes would be padding.
void expand(dist::ExchangeOp op, dist::MeshOp meshOp) {
  Mesh mesh = meshOp.getMesh().toMesh();
  int64_t ranks = mesh.sizes[*mesh.stageAxis];
  auto rank = op->getParentOfType<func::FuncOp>()->getAttrOfType<IntegerAttr>(
      dist::DistDialect::kPPRankAttr);
  if (!rank)
    return;
  if (static_cast<int64_t>(op.getAmong().size()) != ranks)
    return pack(op, rank.getInt());
  llvm::MapVector<Type, RankValues> byType;
  llvm::MapVector<Type, SmallVector<Value>> mine;
  size_t own = 0;
  int64_t useful = 0;
  for (auto [i, from] : llvm::enumerate(op.getFrom())) {
    auto type = cast<RankedTensorType>(op.getOutputs()[i].getType());
    RankValues &values = byType[type.getElementType()];
    values.resize(ranks);
    values[from].push_back(i);
    if (from == rank.getInt())
      mine[type.getElementType()].push_back(op.getInputs()[own++]);
    useful += rt::getTensorBytes(type);
  }
  int64_t sent = 0;
  for (auto &[element, values] : byType)
    sent += ranks * getRowLength(op, values) * rt::getElementBytes(element);
  if (sent > 2 * useful && sent > kSmallBytes)
    return pack(op, rank.getInt());
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto axes = dist::AxesAttr::get(op.getContext(), mesh,
                                  {mesh.fullAxis(*mesh.stageAxis)});
  for (auto &[element, values] : byType)
    addExpected(op, listNew<dist::AllGatherOp>(
                        {b.getNamedAttr("axes", axes),
                         b.getNamedAttr("dim", b.getI64IntegerAttr(0))},
                        getRowLength(op, values), element));
  for (auto &[element, values] : byType)
    gather(b, op, mesh, meshOp.getSymNameAttr(), element, mine[element],
           values);
  op.erase();
}

struct ExpandExchangePass
    : tessera::impl::ExpandExchangePassBase<ExpandExchangePass> {
  void runOnOperation() override {
    SmallVector<dist::ExchangeOp> ops;
    getOperation().walk([&](dist::ExchangeOp op) { ops.push_back(op); });
    if (ops.empty())
      return;
    FailureOr<dist::MeshOp> mesh = dist::getOnlyMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    if (!mesh->getMesh().toMesh().stageAxis) {
      ops.front().emitError("expects a mesh with a stage axis but got @")
          << mesh->getSymName() << " without one";
      return signalPassFailure();
    }
    for (dist::ExchangeOp op : ops)
      expand(op, *mesh);
  }
};

} // namespace
