//===- DistCollectives.cpp - Effects of collectives on shardings ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One set of methods per collective: the resulting sharding and the local type.
// The verifier is the same for all.
//
//===----------------------------------------------------------------------===//

#include "CollectiveVerifier.h"
#include "tessera/Interfaces/Limits.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::dist;

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

LogicalResult dist::verifyCollective(CollectiveOpInterface op) {
  if (failed(verifyAxes(op, op.getAxes(), op.getMeshAttr(), "(C1)")))
    return failure();
  Mesh mesh = lookupMesh(op, op.getMeshAttr()).getMesh().toMesh();
  int64_t groupSize = numShards(op.getAxes().toAxes(mesh));
  for (Type type : {op->getOperand(0).getType(), op->getResult(0).getType()}) {
    if (!getElementTypeOrSelf(type).isIntOrIndexOrFloat())
      return op->emitOpError("(C1) expects floats, integers or index but got ")
             << type;
    if (isTooLarge(cast<RankedTensorType>(type).getShape()))
      return op->emitOpError(
                 "(C1) expects a tensor of at most 2^48 elements but got ")
             << type;
  }
  auto in = cast<RankedTensorType>(op->getOperand(0).getType());
  auto out = cast<RankedTensorType>(op->getResult(0).getType());
  if (bool(op.getFromAttr()) != bool(op.getToAttr()))
    return op->emitOpError("(C2) expects both shardings, from and to, or none");
  if (!op.getFromAttr()) {
    RankedTensorType expected = op.getLocalResultType(in, groupSize);
    if (!expected)
      return op->emitOpError("(C1) expects dimensions that ")
             << groupSize << " devices divide but got " << in;
    if (expected != out)
      return op->emitOpError("(C1) expects a result of type ")
             << expected << " over " << groupSize << " devices but got " << out;
    return success();
  }
  auto emitError = [&] { return op->emitOpError("(C2) "); };
  if (failed(op.getFromAttr().verifyFor(op, in, emitError)) ||
      failed(op.getToAttr().verifyFor(op, out, emitError)))
    return failure();
  if (in != out)
    return op->emitOpError("(C2) expects one global type but got ")
           << in << " and " << out;
  llvm::Expected<Sharding> to =
      op.applyTo(mesh, op.getFromAttr().toSharding(mesh));
  if (!to)
    return op->emitOpError("(C2) cannot be applied: ")
           << llvm::toString(to.takeError());
  if (!to->samePlacement(op.getToAttr().toSharding(mesh))) {
    std::string text;
    llvm::raw_string_ostream os(text);
    to->print(os, mesh);
    return op->emitOpError("(C2) expects the sharding ")
           << text << " after it but got " << op.getToAttr();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Shared steps
//===----------------------------------------------------------------------===//

static int64_t bytesOf(RankedTensorType type) {
  Type element = type.getElementType();
  unsigned bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  return type.getNumElements() * llvm::divideCeil(bits, 8);
}

int64_t CollectiveOpInterface::getBytesReceived(RankedTensorType operand,
                                                int64_t groupSize) {
  std::optional<CollectiveKind> kind = getCollectiveKind();
  if (!kind)
    return 0;
  int64_t whole = tessera::getBytesReceived(*kind, bytesOf(operand), groupSize);
  double share = getShareSent();
  return share == 1 ? whole : std::llround(double(whole) * share);
}

RankedTensorType dist::resizeDim(RankedTensorType type, int64_t dim,
                                 int64_t mul, int64_t div) {
  if (dim < 0 || dim >= type.getRank() || type.getDimSize(dim) % div != 0)
    return {};
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = shape[dim] / div * mul;
  return RankedTensorType::get(shape, type.getElementType());
}

static std::string print(const Mesh &mesh, ArrayRef<AxisRef> axes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  mesh.print(os, axes);
  return text;
}

static llvm::Error checkDim(const Sharding &s, int64_t dim) {
  if (dim >= 0 && dim < s.rank())
    return llvm::Error::success();
  return llvm::createStringError("there is no dimension " + Twine(dim));
}

/// Removes minor axes of a dimension.
static llvm::Error gather(Sharding &s, int64_t dim, const Mesh &mesh,
                          ArrayRef<AxisRef> axes) {
  if (llvm::Error error = checkDim(s, dim))
    return error;
  std::optional<AxisList> left = dropSuffix(s.dims[dim].axes, axes);
  if (!left)
    return llvm::createStringError(
        "dimension " + Twine(dim) + " is sharded over " +
        print(mesh, s.dims[dim].axes) + ", whose minor axes are not " +
        print(mesh, axes));
  s.dims[dim].axes = *left;
  return llvm::Error::success();
}

/// Adds minor axes to a dimension.
static llvm::Error split(Sharding &s, int64_t dim, const Mesh &mesh,
                         ArrayRef<AxisRef> axes) {
  if (llvm::Error error = checkDim(s, dim))
    return error;
  AxisList used = s.dimAxes();
  used.append(s.unreduced);
  if (overlapsAny(used, axes))
    return llvm::createStringError(print(mesh, axes) + " is in use already");
  AxisList &dimAxes = s.dims[dim].axes;
  dimAxes.append(axes.begin(), axes.end());
  dimAxes = mergeAdjacent(dimAxes);
  return llvm::Error::success();
}

/// Reduces partial values over axes.
static llvm::Error reduce(Sharding &s, const Mesh &mesh, ArrayRef<AxisRef> axes,
                          ::tessera::ReductionKind kind) {
  std::optional<AxisList> left = subtractAxes(s.unreduced, axes);
  if (!left)
    return llvm::createStringError("the value is not partial over " +
                                   print(mesh, axes));
  if (s.reduction != kind)
    return llvm::createStringError("the value is partial by " +
                                   stringifyReduction(s.reduction) + ", not " +
                                   stringifyReduction(kind));
  s.unreduced = *left;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The collectives
//===----------------------------------------------------------------------===//

#define TESSERA_VERIFY_COLLECTIVE(OP)                                          \
  LogicalResult OP::verifySymbolUses(SymbolTableCollection &) {                \
    return verifyCollective(*this);                                            \
  }
TESSERA_VERIFY_COLLECTIVE(AllGatherOp)
TESSERA_VERIFY_COLLECTIVE(ReduceScatterOp)
TESSERA_VERIFY_COLLECTIVE(AllReduceOp)
TESSERA_VERIFY_COLLECTIVE(AllToAllOp)
TESSERA_VERIFY_COLLECTIVE(AllSliceOp)
#undef TESSERA_VERIFY_COLLECTIVE

llvm::Expected<Sharding> AllGatherOp::applyTo(const Mesh &mesh,
                                              const Sharding &from) {
  Sharding s = from;
  if (llvm::Error error = gather(s, getDim(), mesh, getAxes().toAxes(mesh)))
    return std::move(error);
  return s;
}
RankedTensorType AllGatherOp::getLocalResultType(RankedTensorType operand,
                                                 int64_t n) {
  return resizeDim(operand, getDim(), n, 1);
}

llvm::Expected<Sharding> ReduceScatterOp::applyTo(const Mesh &mesh,
                                                  const Sharding &from) {
  Sharding s = from;
  AxisList axes = getAxes().toAxes(mesh);
  if (llvm::Error error = reduce(s, mesh, axes, toPlain(getKind())))
    return std::move(error);
  if (llvm::Error error = split(s, getDim(), mesh, axes))
    return std::move(error);
  return s;
}
RankedTensorType ReduceScatterOp::getLocalResultType(RankedTensorType operand,
                                                     int64_t n) {
  return resizeDim(operand, getDim(), 1, n);
}

llvm::Expected<Sharding> AllReduceOp::applyTo(const Mesh &mesh,
                                              const Sharding &from) {
  Sharding s = from;
  if (llvm::Error error =
          reduce(s, mesh, getAxes().toAxes(mesh), toPlain(getKind())))
    return std::move(error);
  return s;
}
RankedTensorType AllReduceOp::getLocalResultType(RankedTensorType operand,
                                                 int64_t) {
  return operand;
}

LogicalResult AllToAllOp::verify() {
  if (getGatherDim() == getSplitDim())
    return emitOpError("(C3) expects two dimensions but got ")
           << getGatherDim() << " twice";
  return success();
}
llvm::Expected<Sharding> AllToAllOp::applyTo(const Mesh &mesh,
                                             const Sharding &from) {
  Sharding s = from;
  AxisList axes = getAxes().toAxes(mesh);
  if (llvm::Error error = gather(s, getGatherDim(), mesh, axes))
    return std::move(error);
  if (llvm::Error error = split(s, getSplitDim(), mesh, axes))
    return std::move(error);
  return s;
}
RankedTensorType AllToAllOp::getLocalResultType(RankedTensorType operand,
                                                int64_t n) {
  RankedTensorType grown = resizeDim(operand, getGatherDim(), n, 1);
  return grown ? resizeDim(grown, getSplitDim(), 1, n) : grown;
}

LogicalResult CollectivePermuteOp::verifySymbolUses(SymbolTableCollection &) {
  if (failed(verifyCollective(*this)))
    return failure();
  Mesh mesh = lookupMesh(*this, getMeshAttr()).getMesh().toMesh();
  int64_t n = numShards(getAxes().toAxes(mesh));
  llvm::SmallBitVector seen(n);
  for (int64_t t : getTargets())
    if (t >= 0 && t < n)
      seen.set(t);
  if (static_cast<int64_t>(getTargets().size()) != n || !seen.all())
    return emitOpError("(C3) expects a permutation of ")
           << n << " members but got [" << getTargets() << "]";
  return success();
}
llvm::Expected<Sharding> CollectivePermuteOp::applyTo(const Mesh &mesh,
                                                      const Sharding &from) {
  Sharding to = getTo()->toSharding(mesh);
  AxisList axes = getAxes().toAxes(mesh);
  ArrayRef<int64_t> targets = getTargets();
  int64_t size = numShards(axes);
  if (static_cast<int64_t>(targets.size()) != size ||
      llvm::any_of(targets, [&](int64_t t) { return t < 0 || t >= size; }))
    return to; // C3 reports it
  for (int64_t first = 0; first < mesh.numDevices(); ++first) {
    if (mesh.shardIndex(first, axes) != 0)
      continue;
    SmallVector<int64_t> group = mesh.group(first, axes);
    for (auto [device, index] : llvm::zip_equal(group, targets)) {
      int64_t target = group[index];
      for (auto [f, t] : llvm::zip(from.dims, to.dims))
        if (numShards(f.axes) != numShards(t.axes) ||
            mesh.shardIndex(device, f.axes) != mesh.shardIndex(target, t.axes))
          return llvm::createStringError(
              "device " + Twine(target) +
              " would get a block that is not its own");
    }
  }
  return to;
}
RankedTensorType
CollectivePermuteOp::getLocalResultType(RankedTensorType operand, int64_t) {
  return operand;
}

llvm::Expected<Sharding> AllSliceOp::applyTo(const Mesh &mesh,
                                             const Sharding &from) {
  Sharding s = from;
  if (llvm::Error error = split(s, getDim(), mesh, getAxes().toAxes(mesh)))
    return std::move(error);
  return s;
}
RankedTensorType AllSliceOp::getLocalResultType(RankedTensorType operand,
                                                int64_t n) {
  return resizeDim(operand, getDim(), 1, n);
}

LogicalResult BroadcastOp::verifySymbolUses(SymbolTableCollection &) {
  if (failed(verifyCollective(*this)))
    return failure();
  Mesh mesh = lookupMesh(*this, getMeshAttr()).getMesh().toMesh();
  int64_t n = numShards(getAxes().toAxes(mesh));
  int64_t root = getRoot();
  if (root < 0 || root >= n)
    return emitOpError("(C3) expects a root in [0, ")
           << n << ") but got " << root;
  return success();
}
llvm::Expected<Sharding> BroadcastOp::applyTo(const Mesh &mesh,
                                              const Sharding &from) {
  AxisList used = from.dimAxes();
  used.append(from.unreduced);
  if (overlapsAny(used, getAxes().toAxes(mesh)))
    return llvm::createStringError(
        "the members of a group hold different parts of the value");
  return from;
}
RankedTensorType BroadcastOp::getLocalResultType(RankedTensorType operand,
                                                 int64_t) {
  return operand;
}
