//===- CollectiveTime.cpp - What a collective costs to choose by ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cluster/CollectiveTime.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tessera;
using llvm::ArrayRef;
using Kind = CollectiveKind;

static double stepsOf(int64_t n) {
  return static_cast<double>(llvm::Log2_64_Ceil(n));
}

/// Outermost level first, with the data growing on the way in.
static double timeOfGather(double bytes, ArrayRef<LinkSpan> spans) {
  double time = 0;
  for (const LinkSpan &span : llvm::reverse(spans)) {
    time += stepsOf(span.size) * span.latency +
            bytes * (span.size - 1) / span.bandwidth;
    bytes *= span.size;
  }
  return time;
}

/// Each device sends to all others at once; what goes to a device crosses the
/// outermost level on which the two differ.
static double timeOfAllToAll(double bytes, ArrayRef<LinkSpan> spans) {
  double devices = 1, time = 0;
  for (const LinkSpan &span : spans)
    devices *= span.size;
  double inside = 1;
  for (const LinkSpan &span : spans) {
    time += span.latency +
            bytes * inside * (span.size - 1) / devices / span.bandwidth;
    inside *= span.size;
  }
  return time;
}

double tessera::getCollectiveTime(CollectiveKind kind, double bytes,
                                  ArrayRef<LinkSpan> spans) {
  if (spans.empty())
    return 0;
  double devices = 1;
  for (const LinkSpan &span : spans)
    devices *= span.size;
  switch (kind) {
  case Kind::AllGather:
    return timeOfGather(bytes, spans);
  case Kind::ReduceScatter:
    // The same transfers backwards.
    return timeOfGather(bytes / devices, spans);
  case Kind::AllReduce:
    return 2 * timeOfGather(bytes / devices, spans);
  case Kind::AllToAll:
    return timeOfAllToAll(bytes, spans);
  case Kind::Permute: {
    double time = 0;
    for (const LinkSpan &span : spans)
      time = std::max(time, span.latency + bytes / span.bandwidth);
    return time;
  }
  case Kind::Broadcast: {
    double time = 0;
    for (const LinkSpan &span : spans)
      time += stepsOf(span.size) * span.latency + bytes / span.bandwidth;
    return time;
  }
  }
  return 0;
}

double tessera::getCollectiveTime(const MeshLinks &links, const Mesh &mesh,
                                  CollectiveKind kind, double bytes,
                                  ArrayRef<AxisRef> axes) {
  return getCollectiveTime(kind, bytes, links.spansOf(mesh, axes));
}
