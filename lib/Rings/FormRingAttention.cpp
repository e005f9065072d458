//===- FormRingAttention.cpp - Merges attention and its key exchange ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Merges an attention with `dist.ring`, the gathers of its keys and values, and
// the scatters of their gradients into one op. A gather over more axes than the
// ring's becomes a gather over the other axes and one around the ring. A
// gradient that is summed for all devices, or that has no reader, is scattered
// first. If other ops are between them (ops that also move heads), the
// attention runs after its gathers.
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "tessera/Rings/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_FORMRINGATTENTIONPASS
#include "tessera/Rings/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// An attention to run around a ring.
class RingFormer {
public:
  RingFormer(Operation *attention, const Mesh &mesh)
      : attention(attention), mesh(mesh), b(attention),
        axes(attention->getAttrOfType<dist::AxesAttr>(
            dist::DistDialect::kRingAttr)) {}

  void form();

private:
  void runPlainly();
  void scatterSums();
  bool collect();
  void narrowGather(dist::AllGatherOp &gather);
  void narrowScatter(dist::ReduceScatterOp &scatter);
  std::optional<dist::AxesAttr> getOthers(dist::AxesAttr all) const;
  void build();

  Operation *attention;
  const Mesh &mesh;
  OpBuilder b;
  dist::AxesAttr axes;
  SmallVector<dist::AllGatherOp, 2> gathers;
  SmallVector<dist::ReduceScatterOp, 2> scatters;
};

} // namespace

/// The axes of a collective that are minor to the ring's; none if the ring's
/// are not the major ones.
std::optional<dist::AxesAttr> RingFormer::getOthers(dist::AxesAttr all) const {
  AxisList ring = axes.toAxes(mesh), list = all.toAxes(mesh);
  if (!isPrefix(ring, list))
    return std::nullopt;
  return dist::AxesAttr::get(b.getContext(), mesh, dropPrefix(ring, list));
}

/// Rewrites an all-reduce of a gradient of keys or values to a scatter and a
/// gather.
void RingFormer::scatterSums() {
  auto first = attention->getOperand(2).getDefiningOp<dist::AllGatherOp>();
  if (attention->getNumResults() != 3 || !first)
    return;
  for (OpResult gradient : attention->getResults().drop_front()) {
    b.setInsertionPointAfter(attention);
    auto type = cast<RankedTensorType>(gradient.getType());
    auto sum = gradient.hasOneUse()
                   ? dyn_cast<dist::AllReduceOp>(*gradient.user_begin())
                   : dist::AllReduceOp();
    bool isSummed = sum && sum.getKind() == dist::ReductionKind::Sum &&
                    getOthers(sum.getAxes());
    if (!isSummed && !gradient.use_empty())
      continue;
    SmallVector<int64_t> shape(type.getShape());
    shape[first.getDim()] /= numShards(axes.toAxes(mesh));
    auto kind =
        dist::ReductionKindAttr::get(b.getContext(), dist::ReductionKind::Sum);
    Value part = dist::ReduceScatterOp::create(
        b, attention->getLoc(), type.clone(shape), gradient, first.getDimAttr(),
        kind, axes, first.getMeshAttr(), dist::ShardingAttr(),
        dist::ShardingAttr());
    if (!sum)
      continue;
    dist::AxesAttr others = *getOthers(sum.getAxes());
    if (!others.getRefs().empty())
      part = dist::AllReduceOp::create(
          b, sum.getLoc(), part.getType(), part, kind, others,
          sum.getMeshAttr(), dist::ShardingAttr(), dist::ShardingAttr());
    sum.replaceAllUsesWith(
        dist::AllGatherOp::create(b, sum.getLoc(), type, part,
                                  first.getDimAttr(), axes, sum.getMeshAttr(),
                                  dist::ShardingAttr(), dist::ShardingAttr())
            .getResult());
    sum.erase();
  }
  b.setInsertionPoint(attention);
}

/// Finds the collectives; false if there are unexpected ones. Other operands,
/// as the bias, are gathered before the ring.
bool RingFormer::collect() {
  bool hasBackward = attention->getNumResults() == 3;
  for (Value operand : attention->getOperands().slice(hasBackward ? 2 : 1, 2))
    if (auto gather = operand.getDefiningOp<dist::AllGatherOp>())
      if (getOthers(gather.getAxes()) && !llvm::is_contained(gathers, gather))
        gathers.push_back(gather);
  for (OpResult result : attention->getResults())
    if (result.hasOneUse())
      if (auto scatter = dyn_cast<dist::ReduceScatterOp>(*result.user_begin()))
        scatters.push_back(scatter);
  return gathers.size() == 2 && scatters.size() == (hasBackward ? 2 : 0) &&
         llvm::all_of(scatters,
                      [&](auto op) { return getOthers(op.getAxes()); });
}

/// Splits off a gather over the other axes, which comes first.
void RingFormer::narrowGather(dist::AllGatherOp &gather) {
  dist::AxesAttr others = *getOthers(gather.getAxes());
  if (others.getRefs().empty())
    return;
  auto type = cast<RankedTensorType>(gather.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[gather.getDim()] /= numShards(axes.toAxes(mesh));
  Value inner = dist::AllGatherOp::create(
      b, gather.getLoc(), type.clone(shape), gather.getInput(),
      gather.getDimAttr(), others, gather.getMeshAttr(), dist::ShardingAttr(),
      dist::ShardingAttr());
  gather = dist::AllGatherOp::create(
      b, gather.getLoc(), type, inner, gather.getDimAttr(), axes,
      gather.getMeshAttr(), dist::ShardingAttr(), dist::ShardingAttr());
}

/// Splits off a scatter over the other axes, which comes last.
void RingFormer::narrowScatter(dist::ReduceScatterOp &scatter) {
  dist::AxesAttr others = *getOthers(scatter.getAxes());
  if (others.getRefs().empty())
    return;
  auto type = cast<RankedTensorType>(scatter.getInput().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[scatter.getDim()] /= numShards(axes.toAxes(mesh));
  b.setInsertionPoint(scatter);
  auto outer = dist::ReduceScatterOp::create(
      b, scatter.getLoc(), type.clone(shape), scatter.getInput(),
      scatter.getDimAttr(), scatter.getKindAttr(), axes, scatter.getMeshAttr(),
      dist::ShardingAttr(), dist::ShardingAttr());
  scatter.getInputMutable().assign(outer.getResult());
  scatter.setAxesAttr(others);
  scatter = outer;
  b.setInsertionPoint(attention);
}

void RingFormer::build() {
  llvm::SetVector<Value> inputs;
  llvm::SetVector<Operation *> offsets;
  for (Value operand : attention->getOperands()) {
    if (auto gather = operand.getDefiningOp<dist::AllGatherOp>();
        gather && llvm::is_contained(gathers, gather))
      inputs.insert(gather.getInput());
    else if (isa<RankedTensorType>(operand.getType()))
      inputs.insert(operand);
    else
      offsets.insert(operand.getDefiningOp());
  }
  SmallVector<Value> outputs(attention->getResults());
  for (dist::ReduceScatterOp scatter : scatters)
    *llvm::find(outputs, scatter.getInput()) = scatter.getResult();

  auto op = dist::RingAttentionOp::create(b, attention->getLoc(),
                                          ValueRange(outputs).getTypes(),
                                          inputs.getArrayRef());
  op->setDiscardableAttrs(attention->getDiscardableAttrDictionary());
  op->removeAttr(dist::DistDialect::kRingAttr);
  Block *body = b.createBlock(&op.getBody());
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
  for (Operation *offset : offsets)
    b.clone(*offset, mapping);
  for (dist::AllGatherOp gather : gathers)
    b.clone(*gather, mapping);
  b.clone(*attention, mapping)->removeAttr(dist::DistDialect::kRingAttr);
  for (dist::ReduceScatterOp scatter : scatters)
    b.clone(*scatter, mapping);
  dist::YieldOp::create(b, attention->getLoc(),
                        llvm::map_to_vector(outputs, [&](Value output) {
                          return mapping.lookup(output);
                        }));
  for (auto [output, result] : llvm::zip_equal(outputs, op.getResults()))
    output.replaceAllUsesWith(result);
  for (dist::ReduceScatterOp scatter : scatters)
    scatter->erase();
  attention->erase();
  SmallVector<Operation *> before(offsets.begin(), offsets.end());
  before.append(gathers.begin(), gathers.end());
  for (Operation *operand : before)
    if (operand->use_empty())
      operand->erase();
}

/// Keeps the collectives, so that the attention runs after them.
void RingFormer::runPlainly() {
  attention->removeAttr(dist::DistDialect::kRingAttr);
  std::string text;
  llvm::raw_string_ostream(text) << axes;
  remark::missed(attention->getLoc(),
                 remark::RemarkOpts::name("Ring").category("partition"))
      << remark::add("{0} runs around no ring: it expects keys and values that "
                     "are gathered, and gradients of both that are scattered, "
                     "next to it over {1}",
                     attention->getName().getStringRef(), text);
}

void RingFormer::form() {
  auto isOffset = [](Value value) {
    return isa<RankedTensorType>(value.getType()) ||
           value.getDefiningOp<dist::AxisOffsetOp>();
  };
  scatterSums();
  if (!collect() || !llvm::all_of(attention->getOperands(), isOffset))
    return runPlainly();
  SmallVector<dist::AllGatherOp, 2> before = gathers;
  for (auto [gather, was] : llvm::zip(gathers, before)) {
    narrowGather(gather);
    attention->replaceUsesOfWith(was.getResult(), gather.getResult());
    if (was->use_empty())
      was->erase();
  }
  for (dist::ReduceScatterOp &scatter : scatters)
    narrowScatter(scatter);
  build();
}

namespace {
struct FormRingAttentionPass
    : tessera::impl::FormRingAttentionPassBase<FormRingAttentionPass> {
  void runOnOperation() override {
    SmallVector<Operation *> attentions;
    getOperation().walk([&](Operation *op) {
      if (op->hasAttr(dist::DistDialect::kRingAttr))
        attentions.push_back(op);
    });
    if (attentions.empty())
      return;
    FailureOr<dist::MeshOp> mesh = dist::getOnlyMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    Mesh plain = mesh->getMesh().toMesh();
    for (Operation *attention : attentions)
      RingFormer(attention, plain).form();
  }
};
} // namespace
