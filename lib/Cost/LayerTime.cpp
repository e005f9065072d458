//===- LayerTime.cpp - Seconds of a layer -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums the records of a layer by pass.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/LayerTime.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <numeric>

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;

Machine::Machine(const ClusterSpec &cluster, const DeviceModel &deviceModel,
                 const Layout &layout, const Execution &howRun)
    : device(deviceModel),
      host{cluster.host.memoryBytes.value, cluster.host.linkBandwidth.value,
           cluster.host.diskBytes.value, cluster.host.diskBandwidth.value},
      execution(howRun) {
  for (PlanAxis axis : {PlanAxis::PP, PlanAxis::DP, PlanAxis::CP, PlanAxis::TP})
    mesh.names.push_back(stringify(axis));
  mesh.sizes = {layout.pp, layout.dp, layout.cp, layout.tp};
  AxisList data;
  for (PlanAxis axis : {PlanAxis::DP, PlanAxis::CP})
    if (mesh.sizes[unsigned(axis)] > 1)
      data.push_back(mesh.fullAxis(unsigned(axis)));
  if (auto parts = splitAt(data, numShards(data) / layout.expertRanks()))
    std::tie(otherAxes, expertAxes) = *parts;
  headRanks = std::max<int64_t>(layout.cpMethod.headDevices, 1);
  shardRanks = layout.shardRanks ? layout.shardRanks : layout.dp * layout.cp;
  nodeDevices = cluster.innerDevices();
  if (execution.hostLaunchMicros > 0)
    device.hostLaunch = device.hostCall = execution.hostLaunchMicros * 1e-6;
  if (execution.stepFloorMicros > 0)
    device.stepFloor = execution.stepFloorMicros * 1e-6;
  links = makeMeshLinks(cluster, mesh);
}

LinkSpans Machine::spans(ArrayRef<PlanAxis> axes) const {
  constexpr auto data = unsigned(PlanAxis::DP),
                 context = unsigned(PlanAxis::CP);
  int64_t outerHeads = mesh.sizes[context] / headRanks;
  SmallVector<AxisRef, 4> group;
  for (PlanAxis axis : axes) {
    switch (axis) {
    case PlanAxis::PP:
    case PlanAxis::DP:
    case PlanAxis::CP:
    case PlanAxis::TP:
      group.push_back(mesh.fullAxis(unsigned(axis)));
      break;
    case PlanAxis::EP:
      group.append(expertAxes);
      break;
    case PlanAxis::EDP:
      group.append(otherAxes);
      break;
    // Attention heads are split over neighbours on the context axis.
    case PlanAxis::CPHeads:
      group.push_back({context, outerHeads, headRanks});
      break;
    case PlanAxis::CPQueries:
      group.push_back({context, 1, outerHeads});
      break;
    case PlanAxis::Shard: {
      int64_t inner = std::gcd(shardRanks, mesh.sizes[context]);
      int64_t outer = shardRanks / inner;
      group.push_back({data, mesh.sizes[data] / outer, outer});
      group.push_back({context, mesh.sizes[context] / inner, inner});
      break;
    }
    }
  }
  return links.spansOf(mesh, group);
}

double Machine::seconds(CollectiveKind kind, double bytes,
                        ArrayRef<PlanAxis> axes) const {
  LinkSpans group = spans(axes);
  if (!execution.pxn)
    group = getSpansWithoutPXN(kind, std::move(group), nodeDevices);
  return getTensorCollectiveTime(kind, bytes, group, links.library);
}

bool Machine::registersBuffers(ArrayRef<PlanAxis> axes) const {
  if (!execution.registeredBuffers)
    return false;
  // A span driven by several devices of a node also has links inside nodes.
  LinkSpans group = spans(axes);
  return group.size() == 1 && group.front().parallel == 1;
}

double Machine::dataSlowdown(ArrayRef<PlanAxis> axes) const {
  return device.overlapSlowdown *
         (registersBuffers(axes) ? kRegisteredShare : 1);
}

double Machine::transferSlowdown() const {
  bool leaves = llvm::any_of(
      spans(PlanAxis::PP), [](const LinkSpan &span) { return span.level > 0; });
  return device.overlapSlowdown * (leaves ? kNetworkTransferShare : 1);
}

double Machine::seconds(const CommWork &comm) const {
  if (comm.copies > 0)
    return getDispatchTime(comm.bytes, double(comm.copies), spans(comm.axes),
                           links.library);
  return seconds(comm.kind, comm.bytes, comm.axes);
}

static double sumOf(const std::vector<AxisTime> &times) {
  double sum = 0;
  for (const AxisTime &axis : times)
    sum += axis.seconds;
  return sum;
}

double PassTime::inLineSeconds() const { return sumOf(inLine); }
double PassTime::besideSeconds() const { return sumOf(beside); }

static double busySeconds(const PassTime &pass) {
  double onDevice =
      pass.kernels.compute + pass.kernels.memory + pass.inLineSeconds();
  if (pass.hostWaits)
    return onDevice + pass.kernels.host;
  return std::max(onDevice, pass.kernels.host);
}

double PassTime::seconds(const DeviceModel &device) const {
  double busy = busySeconds(*this), hidden = besideSeconds();
  double slowdown = device.overlapSlowdown;
  if (registered > 0)
    slowdown *= 1 - (1 - Machine::kRegisteredShare) * registered / hidden;
  double slowed =
      busy + unhidden + slowdown * std::min(hidden - unhidden, busy);
  return std::max(slowed, hidden);
}

double PassTime::exposed(const DeviceModel &device) const {
  return inLineSeconds() + seconds(device) - busySeconds(*this);
}

static void addTimes(std::vector<AxisTime> &times,
                     const std::vector<AxisTime> &others) {
  for (const AxisTime &other : others) {
    auto same = llvm::find_if(
        times, [&](const AxisTime &mine) { return mine.axes == other.axes; });
    if (same == times.end())
      times.push_back(other);
    else
      same->seconds += other.seconds;
  }
}

PassTime &PassTime::operator+=(const PassTime &o) {
  kernels += o.kernels;
  hostWaits |= o.hostWaits;
  registered += o.registered;
  unhidden += o.unhidden;
  addTimes(inLine, o.inLine);
  addTimes(beside, o.beside);
  return *this;
}

/// Host seconds to issue a collective in addition to a kernel: the library
/// plans it, and the compute stream has to wait for it. The library's time does
/// not depend on the framework's time per op.
static const double kCollectiveHostSeconds = 13e-6;

/// Returns how many seconds longer an item's collective of `seconds` is than
/// the matmul that hides it.
static double unhiddenSeconds(const LayerWork &layer, size_t item,
                              double seconds, const DeviceModel &device) {
  using Beside = CommWork::Beside;
  Beside beside = layer.comms[layer.items[item].index].beside;
  if (beside == Beside::Any)
    return 0;
  auto isMatmul = [&](const WorkItem &other) {
    if (other.kind != WorkItem::Kind::Op)
      return false;
    const OpWork &op = layer.ops[other.index];
    return op.kind == OpClass::Matmul && op.weight;
  };
  ArrayRef<WorkItem> items = layer.items;
  const WorkItem *matmul = nullptr;
  if (beside == Beside::NextMatmul) {
    for (const WorkItem &other : items.drop_front(item + 1))
      if (!matmul && isMatmul(other))
        matmul = &other;
  } else {
    for (const WorkItem &other : items.take_front(item))
      if (isMatmul(other))
        matmul = &other;
  }
  if (!matmul)
    return seconds;
  KernelTime kernel;
  addKernel(kernel, device, layer.ops[matmul->index]);
  return std::max(0.0, seconds - kernel.compute - kernel.memory);
}

LayerTime tessera::cost::priceLayer(const LayerWork &layer,
                                    const Machine &machine) {
  LayerTime time;
  DeviceModel device = machine.device;
  if (layer.hostWaits)
    device.hostLaunch = device.hostCall;
  time.forward.hostWaits = layer.hostWaits;
  time.backwardInput.hostWaits = layer.backwardWaits;
  auto passOf = [&](Pass pass) -> PassTime & {
    return pass == Pass::Forward          ? time.forward
           : pass == Pass::BackwardWeight ? time.backwardWeight
                                          : time.backwardInput;
  };
  for (const OpWork &op : layer.ops) {
    addKernel(passOf(op.pass).kernels, device, op);
    if (op.pass == Pass::Recompute)
      addKernel(time.recompute, device, op);
  }
  for (auto [index, item] : enumerate(layer.items)) {
    if (item.kind != WorkItem::Kind::Comm)
      continue;
    const CommWork &comm = layer.comms[item.index];
    double seconds = machine.seconds(comm);
    if (seconds == 0)
      continue;
    PassTime &pass = passOf(comm.pass);
    pass.kernels.host += device.hostLaunch + kCollectiveHostSeconds;
    PassTime one;
    AxisTime axisTime{{}, seconds};
    if (!comm.parameter)
      axisTime.axes.assign(comm.axes.begin(), comm.axes.end());
    (comm.overlappable ? one.beside : one.inLine)
        .push_back(std::move(axisTime));
    if (comm.overlappable && comm.parameter &&
        machine.registersBuffers(comm.axes))
      one.registered = seconds;
    if (comm.overlappable)
      one.unhidden = unhiddenSeconds(layer, index, seconds, device);
    pass += one;
  }
  return time;
}
