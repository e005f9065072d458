//===- FormDispatch.cpp - Sends tokens only to their experts --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens are gathered for experts by a chain of all-gathers, one for each
// dimension, and their sums scattered by a chain of reduce-scatters. A
// collective of a chain is called a hop here. A device uses the tokens of its
// block of experts. Between a hop and the experts there may be others, over
// axes of its group; so the hop sends the tokens of the blocks of that group.
//
//     experts over dp, tp:   all-gather over dp      blocks by position on {dp}
//                            all-gather over tp      by position on {dp, tp}
//                            ops on experts
//                            reduce-scatter over tp  by position on {dp, tp}
//                            reduce-scatter over dp  by position on {dp}
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "PadTokens.h"
#include "dialects/Dist/Dist.h"
#include "dialects/RT/RT.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Experts/Passes.h"
#include <cmath>

namespace tessera {
#define GEN_PASS_DEF_FORMDISPATCHPASS
#include "tessera/Experts/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// The experts that an op holds.
struct Holders {
  Value ids;
  /// Experts of a device, and all experts.
  int64_t experts = 0, all = 0;
  /// The axes whose position numbers the devices' blocks of experts.
  AxisList axes;
};

/// One collective of a chain.
struct Hop {
  int64_t dim;
  AxisList axes;
};

/// Ids of the tokens of a hop: of a device's own, and of all devices of the
/// hop.
struct SentIds {
  Value own, all;
};

class DispatchFormer {
public:
  /// `perEven` is the room of padded tokens over those of an even load.
  DispatchFormer(func::FuncOp func, Dispatch dispatch, double perEven)
      : func(func), b(func.getContext()), dispatch(dispatch), perEven(perEven),
        padder(b) {}

  void run() {
    SmallVector<nn::RoutedOpInterface> routed;
    func.walk([&](nn::RoutedOpInterface op) { routed.push_back(op); });
    for (nn::RoutedOpInterface op : routed)
      readExperts(op);
    for (nn::RoutedOpInterface op : routed) {
      std::optional<Holders> holders = findHolders(op);
      if (!holders)
        continue;
      if (OpOperand *tokens = op.getTokens())
        gatherBefore(op, *tokens, *holders);
      if (Value sum = op.getTokenSum())
        scatterAfter(sum, *holders);
    }
  }

private:
  void readExperts(nn::RoutedOpInterface op);
  std::optional<Holders> findHolders(nn::RoutedOpInterface op);
  void gatherBefore(nn::RoutedOpInterface op, OpOperand &tokens,
                    const Holders &holders);
  void scatterAfter(Value sum, const Holders &holders);
  Value sliceIds(Value ids, const Hop &hop);
  template <typename Sent, typename Whole, typename... Arguments>
  Value send(Value value, const SentIds &ids, const Hop &hop,
             const Holders &holders, ArrayRef<AxisRef> others,
             Arguments... arguments);
  std::optional<TokenHop> padHop(RankedTensorType own, const Hop &hop,
                                 int64_t experts, int64_t all,
                                 ArrayRef<AxisRef> at, IntegerAttr layer);

  func::FuncOp func;
  OpBuilder b;
  Dispatch dispatch;
  double perEven;
  TokenPadder padder;
  Mesh mesh;
  FlatSymbolRefAttr meshName;
  /// The number of all experts, by the ids that choose among them.
  llvm::DenseMap<Value, int64_t> allExperts;
  /// The number of the layer of experts, by its ids in all tasks.
  llvm::DenseMap<Value, IntegerAttr> layers;
  /// Ids of a device's own tokens, by the ids, the dimension and the axes.
  llvm::MapVector<std::tuple<Value, int64_t, Attribute>, Value> slices;
};

} // namespace

//===----------------------------------------------------------------------===//
// Held experts
//===----------------------------------------------------------------------===//

/// Returns the blocks of experts of the devices; nothing if each holds all
/// experts, or the runtime does not read such ids.
std::optional<Holders> DispatchFormer::findHolders(nn::RoutedOpInterface op) {
  Value ids = op.getIds(), offset = op.getOffset();
  auto start = offset ? offset.getDefiningOp<dist::AxisOffsetOp>() : nullptr;
  Type type = cast<RankedTensorType>(ids.getType()).getElementType();
  auto all = allExperts.find(ids);
  if (!start || all == allExperts.end() ||
      !(type.isInteger(32) || type.isInteger(64)))
    return std::nullopt;
  meshName = start.getMeshAttr();
  mesh = dist::lookupMesh(op, meshName).getMesh().toMesh();
  auto experts = static_cast<int64_t>(start.getLocalSize());
  if (experts < 1)
    return std::nullopt;
  return Holders{ids, experts, all->second, start.getAxes().toAxes(mesh)};
}

/// Adds the arguments of a chunk's tasks that are `value`: of the same source,
/// or of what the value's task keeps.
static void addSameInTasks(Value value, llvm::SetVector<Value> &same) {
  auto task = dyn_cast<dist::TaskOp>(value.getParentBlock()->getParentOp());
  if (!task)
    return;
  SmallVector<dist::SourceAttr> sources;
  // F and B receive different values under one number.
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (dist::SourceAttr source = task.getSource(argument.getArgNumber());
        source.getKind() != dist::SourceKind::Recv)
      sources.push_back(source);
  bool isForward = task.getKind() == dist::TaskKind::Forward;
  for (auto [i, kept] : llvm::enumerate(task.getYield().getKeeps()))
    if (kept == value)
      sources.push_back(dist::SourceAttr::get(
          value.getContext(),
          isForward ? dist::SourceKind::Forward : dist::SourceKind::InputGrad,
          i));
  for (auto other : task->getBlock()->getOps<dist::TaskOp>())
    if (other.getChunk() == task.getChunk())
      for (BlockArgument argument : other.getBody().getArguments())
        if (llvm::is_contained(sources,
                               other.getSource(argument.getArgNumber())))
          same.insert(argument);
}

/// Returns the value and, in a pipeline, all that are it in tasks of its chunk.
static llvm::SetVector<Value> findSame(Value value) {
  llvm::SetVector<Value> same;
  same.insert(value);
  for (size_t i = 0; i < same.size(); ++i)
    addSameInTasks(same[i], same);
  return same;
}

void DispatchFormer::readExperts(nn::RoutedOpInterface op) {
  if (std::optional<int64_t> all = op.getNumExperts())
    allExperts[op.getIds()] = *all;
  if (auto layer =
          op->getAttrOfType<IntegerAttr>(dist::DistDialect::kLayerAttr))
    for (Value ids : findSame(op.getIds()))
      layers[ids] = layer;
}

/// True if all ops that read these tokens, in later tasks too, read only the
/// tokens of the experts that `first` holds.
static bool isReadByTokens(Value tokens, nn::RoutedOpInterface first) {
  llvm::SetVector<Value> sameIds = findSame(first.getIds());
  auto isRoutedRead = [&](OpOperand &use) {
    if (auto yield = dyn_cast<dist::TaskYieldOp>(use.getOwner()))
      return llvm::is_contained(
          llvm::map_range(yield.getKeepsMutable(),
                          [](OpOperand &kept) { return &kept; }),
          &use);
    auto op = dyn_cast<nn::RoutedOpInterface>(use.getOwner());
    return op && op.getTokens() == &use && sameIds.contains(op.getIds()) &&
           isSameOffset(op.getOffset(), first.getOffset());
  };
  return llvm::all_of(findSame(tokens), [&](Value value) {
    return llvm::all_of(value.getUses(), isRoutedRead);
  });
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

/// Orders hops from outer to inner axes of the mesh. Hops along one dimension
/// do not commute, and keep their order.
static void sortHops(MutableArrayRef<Hop> hops) {
  llvm::SmallDenseSet<int64_t> dims;
  for (const Hop &hop : hops)
    if (hop.axes.empty() || !dims.insert(hop.dim).second)
      return;
  llvm::stable_sort(hops, [](const Hop &a, const Hop &c) {
    return a.axes.front() < c.axes.front();
  });
}

/// Returns the ids of the tokens that a device keeps of a gathered dimension.
Value DispatchFormer::sliceIds(Value ids, const Hop &hop) {
  auto axes = dist::AxesAttr::get(b.getContext(), mesh, hop.axes);
  auto gather = ids.getDefiningOp<dist::AllGatherOp>();
  if (gather && static_cast<int64_t>(gather.getDim()) == hop.dim &&
      gather.getAxes() == axes)
    return gather.getInput();
  Value &slice = slices[{ids, hop.dim, axes}];
  if (slice)
    return slice;
  auto type = cast<RankedTensorType>(ids.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[hop.dim] /= numShards(hop.axes);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(ids);
  slice = dist::AllSliceOp::create(b, ids.getLoc(), type.clone(shape), ids,
                                   b.getI64IntegerAttr(hop.dim), axes, meshName,
                                   dist::ShardingAttr(), dist::ShardingAttr());
  return slice;
}

/// Returns how the tokens of a hop are padded; nothing if each device has room
/// for all. `own` is the type of the ids of a device's own tokens.
std::optional<TokenHop>
DispatchFormer::padHop(RankedTensorType own, const Hop &hop, int64_t experts,
                       int64_t all, ArrayRef<AxisRef> at, IntegerAttr layer) {
  int64_t choices = own.getShape().back(), tokens = 1;
  for (int64_t size : own.getShape().drop_back())
    tokens *= size;
  double share = dist::getShareOfTokens(choices, experts, all);
  auto even = static_cast<int64_t>(std::ceil(share * double(tokens)));
  auto room = static_cast<int64_t>(std::ceil(perEven * double(even)));
  if (even < 1 || room >= tokens)
    return std::nullopt;
  return TokenHop{mesh,         meshName, hop.dim, hop.axes, experts,
                  AxisList(at), room,     even,    layer};
}

/// Builds one hop: `Sent` of the tokens of `ids`, or `Whole` where all are
/// sent. `others` are the axes of the hops between it and the experts.
template <typename Sent, typename Whole, typename... Arguments>
Value DispatchFormer::send(Value value, const SentIds &ids, const Hop &hop,
                           const Holders &holders, ArrayRef<AxisRef> others,
                           Arguments... arguments) {
  constexpr bool isGather = std::is_same_v<Sent, dist::DispatchOp>;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  int64_t devices = numShards(hop.axes);
  shape[hop.dim] =
      isGather ? shape[hop.dim] * devices : shape[hop.dim] / devices;
  Type result = type.clone(shape);
  auto axes = dist::AxesAttr::get(b.getContext(), mesh, hop.axes);
  AxisList at = prefixWithout(holders.axes, others);
  int64_t experts = holders.experts * (numShards(holders.axes) / numShards(at));
  bool isPart = experts < holders.all;
  if (isPart && dispatch == Dispatch::Padded)
    if (auto padded =
            padHop(cast<RankedTensorType>(ids.own.getType()), hop, experts,
                   holders.all, at, layers.lookup(holders.ids)))
      return isGather ? padder.dispatch(*padded, value, ids.own, ids.all)
                      : padder.combine(*padded, value, ids.own, ids.all);
  Operation *op;
  if (isPart && dispatch == Dispatch::Peers)
    op = Sent::create(
        b, value.getLoc(), result, value, isGather ? ids.all : ids.own,
        b.getI64IntegerAttr(experts), b.getI64IntegerAttr(holders.all),
        dist::AxesAttr::get(b.getContext(), mesh, at),
        b.getI64IntegerAttr(hop.dim), axes, meshName, dist::ShardingAttr(),
        dist::ShardingAttr());
  else
    op = Whole::create(b, value.getLoc(), result, value,
                       b.getI64IntegerAttr(hop.dim), arguments..., axes,
                       meshName, dist::ShardingAttr(), dist::ShardingAttr());
  return op->getResult(0);
}

/// Erases a chain of ops that nothing reads any more, from its end.
static void eraseUnused(Operation *op) {
  while (op && op->use_empty() &&
         isa<dist::AllGatherOp, dist::ReduceScatterOp>(op)) {
    Operation *before = op->getOperand(0).getDefiningOp();
    op->erase();
    op = before;
  }
}

/// True for a collective in the local form on this mesh.
template <typename Op> static bool isLocal(Op op, FlatSymbolRefAttr mesh) {
  return op && !op.getFromAttr() && op.getMeshAttr() == mesh;
}

void DispatchFormer::gatherBefore(nn::RoutedOpInterface op, OpOperand &tokens,
                                  const Holders &holders) {
  Value whole = tokens.get(), value = whole;
  SmallVector<Hop> hops;
  Operation *last = nullptr;
  while (auto gather = value.getDefiningOp<dist::AllGatherOp>()) {
    bool isOnlyRead = last ? value.hasOneUse() : isReadByTokens(value, op);
    if (!isLocal(gather, meshName) || !isOnlyRead ||
        (last && gather->getBlock() != last->getBlock()))
      break;
    if (!last)
      last = gather;
    hops.insert(hops.begin(),
                {int64_t(gather.getDim()), gather.getAxes().toAxes(mesh)});
    value = gather.getInput();
  }
  if (!last)
    return;
  sortHops(hops);
  // All readers come after the gather and after their ids.
  Operation *choice = holders.ids.getDefiningOp();
  bool isLater = choice && choice->getBlock() == last->getBlock() &&
                 last->isBeforeInBlock(choice);
  b.setInsertionPointAfter(isLater ? choice : last);
  SmallVector<Value> ids{holders.ids};
  for (const Hop &hop : llvm::reverse(hops))
    ids.push_back(dispatch == Dispatch::Padded ||
                          (dispatch == Dispatch::Peers && &hop != hops.begin())
                      ? sliceIds(ids.back(), hop)
                      : ids.back());
  for (auto [i, hop] : llvm::enumerate(hops)) {
    AxisList others;
    for (const Hop &later : llvm::drop_begin(hops, i + 1))
      others.append(later.axes.begin(), later.axes.end());
    value = send<dist::DispatchOp, dist::AllGatherOp>(
        value, {ids[hops.size() - i], ids[hops.size() - 1 - i]}, hop, holders,
        others);
  }
  whole.replaceAllUsesWith(value);
  eraseUnused(last);
}

void DispatchFormer::scatterAfter(Value sum, const Holders &holders) {
  AxisList others;
  auto takeSum = [&](auto op) {
    return op && sum.hasOneUse() && isLocal(op, meshName) &&
           op.getKind() == dist::ReductionKind::Sum;
  };
  auto next = [&] { return sum.hasOneUse() ? *sum.user_begin() : nullptr; };
  while (auto reduce = dyn_cast_or_null<dist::AllReduceOp>(next())) {
    if (!takeSum(reduce))
      return;
    llvm::append_range(others, reduce.getAxes().toAxes(mesh));
    sum = reduce.getResult();
  }
  SmallVector<Hop> hops;
  Value value = sum;
  Operation *last = nullptr;
  while (auto scatter = dyn_cast_or_null<dist::ReduceScatterOp>(next())) {
    if (!takeSum(scatter) || (last && scatter->getBlock() != last->getBlock()))
      break;
    hops.push_back({int64_t(scatter.getDim()), scatter.getAxes().toAxes(mesh)});
    last = scatter;
    sum = scatter.getResult();
  }
  if (!last)
    return;
  sortHops(hops);
  std::reverse(hops.begin(), hops.end());
  b.setInsertionPointAfter(last);
  Value ids = holders.ids;
  for (const Hop &hop : hops) {
    Value all = ids;
    if (dispatch != Dispatch::Dense)
      ids = sliceIds(ids, hop);
    value = send<dist::CombineOp, dist::ReduceScatterOp>(
        value, {ids, all}, hop, holders, others,
        dist::ReductionKindAttr::get(b.getContext(), dist::ReductionKind::Sum));
    llvm::append_range(others, hop.axes);
  }
  sum.replaceAllUsesWith(value);
  eraseUnused(last);
}

/// Returns the room that the plan gives rows over those of an even load, or 0.
static double getPerEven(func::FuncOp func) {
  auto plan = func->getParentOfType<ModuleOp>()->getAttrOfType<dist::PlanAttr>(
      dist::DistDialect::kPlanAttr);
  return plan ? plan.getPlan().moeRoom : 0;
}

namespace {
struct FormDispatchPass
    : tessera::impl::FormDispatchPassBase<FormDispatchPass> {
  using FormDispatchPassBase::FormDispatchPassBase;
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || func->hasAttr(rt::RTDialect::kKernelAttr))
      return;
    bool isHost = rt::getTarget(func) == rt::Target::Host;
    if (dispatch == Dispatch::Peers && !isHost) {
      func.emitError(
          "expects dispatch dense or auto for a target whose devices "
          "do not read each other's memory, but got peers for ")
          << rt::stringifyTarget(rt::getTarget(func));
      return signalPassFailure();
    }
    double perEven = getPerEven(func);
    if (dispatch == Dispatch::Padded && perEven <= 0) {
      func.emitError("dispatch padded expects a plan with moe-room, the room "
                     "for tokens from one device to another over those of an "
                     "even load, but got none");
      return signalPassFailure();
    }
    Dispatch chosen = dispatch;
    if (chosen == Dispatch::Auto)
      chosen = isHost        ? Dispatch::Peers
               : perEven > 0 ? Dispatch::Padded
                             : Dispatch::Dense;
    DispatchFormer(func, chosen, perEven).run();
  }
};
} // namespace
