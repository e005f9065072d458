//===- CollectiveModel.cpp - Seconds of a collective ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Closed forms; each algorithm is one function and the cheapest is taken.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/CollectiveModel.h"
#include <algorithm>
#include <cmath>

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;

namespace {

/// What the algorithms need to know of a group.
struct Group {
  double ranks = 1;
  /// Bytes a second that every device can send while it receives as many, when
  /// all work together.
  double bandwidth = INFINITY;
  /// Seconds of the steps of one turn around the ring.
  double ringLatency = 0;
  /// Seconds from the leaves of a tree to its root.
  double treeLatency = 0;

  explicit Group(ArrayRef<LinkSpan> spans) {
    // A turn around n devices in N groups of g crosses N - 1 outer links and
    // n - N inner ones.
    double inner = 1;
    for (const LinkSpan &span : spans)
      ranks *= span.size;
    for (const LinkSpan &span : spans) {
      bandwidth = std::min(bandwidth, span.bandwidth * inner);
      double groupsOutside = ranks / (inner * span.size);
      ringLatency += span.latency * (span.size - 1) * groupsOutside;
      bool leaf = inner == 1 && spans.size() > 1;
      treeLatency +=
          span.latency * (leaf ? span.size - 1 : std::log2(double(span.size)));
      inner *= span.size;
    }
  }
};

/// One of the two protocols.
struct Protocol {
  double base, step, share;
};

} // namespace

static double ring(const Group &group, const Protocol &protocol, double turns,
                   double bytes) {
  double moved = turns * (group.ranks - 1) / group.ranks * bytes;
  return protocol.base + turns * protocol.step * group.ringLatency +
         moved / (group.bandwidth * protocol.share);
}

static double tree(const Group &group, const Protocol &protocol, double bytes) {
  return protocol.base + 2 * protocol.step * group.treeLatency +
         2 * bytes / (group.bandwidth * protocol.share);
}

/// Each device sends to each other one; what stays inside a span and what
/// leaves it move side by side.
static double allToAll(ArrayRef<LinkSpan> spans, const Group &group,
                       const Protocol &protocol, double bytes) {
  double inner = 1, slowest = 0, latency = 0;
  for (const LinkSpan &span : spans) {
    double reached = inner * (span.size - 1);
    slowest = std::max(slowest, bytes * reached / group.ranks /
                                    (span.bandwidth * protocol.share));
    latency = std::max(latency, span.latency);
    inner *= span.size;
  }
  return protocol.base + protocol.step * latency * std::log2(group.ranks) +
         slowest;
}

/// Every device sends all it has to one other, over the slowest link.
static double shift(ArrayRef<LinkSpan> spans, const Protocol &protocol,
                    double bytes) {
  double seconds = 0;
  for (const LinkSpan &span : spans)
    seconds = std::max(seconds, protocol.step * span.latency +
                                    bytes / (span.bandwidth * protocol.share));
  return protocol.base + seconds;
}

static double oneProtocol(CollectiveKind kind, double bytes,
                          ArrayRef<LinkSpan> spans, const Group &group,
                          const Protocol &protocol) {
  switch (kind) {
  case CollectiveKind::AllReduce: {
    double seconds = ring(group, protocol, 2, bytes);
    // A tree inside one level gains nothing on a ring over a switch.
    return spans.size() > 1 || spans.front().level > 0
               ? std::min(seconds, tree(group, protocol, bytes))
               : seconds;
  }
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::Broadcast:
    return ring(group, protocol, 1, bytes);
  case CollectiveKind::AllToAll:
    return allToAll(spans, group, protocol, bytes);
  case CollectiveKind::Permute:
    return shift(spans, protocol, bytes);
  }
  return 0;
}

double tessera::cost::collectiveSeconds(CollectiveKind kind, double bytes,
                                        ArrayRef<LinkSpan> spans,
                                        const CollectiveConstants &c) {
  Group group(spans);
  if (group.ranks <= 1)
    return 0;
  Protocol low{c.baseLow, 1, c.lowShare}, bulk{c.baseBulk, c.bulkStep, 1};
  return std::min(oneProtocol(kind, bytes, spans, group, low),
                  oneProtocol(kind, bytes, spans, group, bulk));
}
