//===- CollectiveTime.cpp - Seconds of a collective -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Closed forms: each algorithm is one function, and the cheapest one is taken.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cluster/CollectiveTime.h"
#include "tessera/Cluster/RootedCollectives.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <algorithm>
#include <cmath>

using namespace tessera;
using llvm::ArrayRef;
using Kind = CollectiveKind;

namespace {

/// The properties of a group that the algorithms need.
struct Group {
  ArrayRef<LinkSpan> spans;
  double ranks = 1;
  /// Bytes per second that every device sends and receives at once while all
  /// devices communicate.
  double bandwidth = INFINITY;
  /// Seconds of latency of one turn around the ring.
  double ringLatency = 0;

  explicit Group(ArrayRef<LinkSpan> spans) : spans(spans) {
    // A turn around n devices in N groups of g devices crosses N - 1 outer
    // links and n - N inner links.
    double inner = 1;
    for (const LinkSpan &span : spans)
      ranks *= static_cast<double>(span.size);
    for (const LinkSpan &span : spans) {
      auto size = static_cast<double>(span.size);
      bandwidth = std::min(bandwidth, span.bandwidth * inner * span.parallel);
      ringLatency += span.latency * (size - 1) * (ranks / (inner * size));
      inner *= size;
    }
  }

  /// Latency in seconds from the leaves of a tree to its root.
  double treeLatency() const {
    double seconds = 0;
    for (const LinkSpan &span : spans) {
      auto size = static_cast<double>(span.size);
      bool leaf = &span == spans.begin() && spans.size() > 1;
      seconds += span.latency * (leaf ? size - 1 : std::log2(size));
    }
    return seconds;
  }
};

/// The constants of a protocol: low-latency or bulk.
struct Protocol {
  double base, step, share;
};

} // namespace

static double ring(const Group &group, const Protocol &protocol, Kind kind,
                   double bytes) {
  double turns = kind == Kind::AllReduce ? 2 : 1;
  double moved = turns * (group.ranks - 1) / group.ranks * bytes;
  return protocol.base + turns * protocol.step * group.ringLatency +
         moved / (group.bandwidth * protocol.share);
}

static double tree(const Group &group, double treeLatency,
                   const Protocol &protocol, double bytes) {
  return protocol.base + 2 * protocol.step * treeLatency +
         2 * bytes / (group.bandwidth * protocol.share);
}

/// Each device sends to every other one. Transfers inside a span and transfers
/// that leave it run concurrently.
static double allToAll(const Group &group, const Protocol &protocol,
                       double bytes) {
  double inner = 1, slowest = 0, latency = 0;
  for (const LinkSpan &span : group.spans) {
    double reached = inner * (static_cast<double>(span.size) - span.parallel);
    slowest = std::max(slowest, bytes * reached / group.ranks /
                                    (span.bandwidth * protocol.share));
    latency = std::max(latency, span.latency);
    inner *= static_cast<double>(span.size);
  }
  return protocol.base + protocol.step * latency * std::log2(group.ranks) +
         slowest;
}

/// Implements getDispatchTime() for one protocol.
static double dispatch(const Group &group, const Protocol &protocol,
                       double bytes, double copies) {
  double inner = 1, slowest = 0, latency = 0;
  for (const LinkSpan &span : group.spans) {
    auto size = static_cast<double>(span.size);
    double units = group.ranks / inner;
    double reached = units * (1 - std::pow(1 - 1 / units, copies));
    // Copies for the device's own unit are already there.
    double sent = bytes * reached * (1 - span.parallel / size);
    slowest = std::max(slowest, sent / (span.bandwidth * protocol.share));
    latency = std::max(latency, span.latency);
    inner *= size;
  }
  return protocol.base + protocol.step * latency * std::log2(group.ranks) +
         slowest;
}

/// Every device sends all its data to one other device, over the slowest link.
static double permute(const Group &group, const Protocol &protocol,
                      double bytes) {
  double seconds = 0;
  for (const LinkSpan &span : group.spans)
    seconds = std::max(seconds, protocol.step * span.latency +
                                    bytes / (span.bandwidth * protocol.share));
  return protocol.base + seconds;
}

static double oneProtocol(Kind kind, double bytes, const Group &group,
                          const Protocol &protocol) {
  switch (kind) {
  case Kind::AllReduce: {
    double seconds = ring(group, protocol, kind, bytes);
    // Over a switch, a tree inside one level gains nothing over a ring.
    return group.spans.size() > 1 || group.spans.front().level > 0
               ? std::min(seconds,
                          tree(group, group.treeLatency(), protocol, bytes))
               : seconds;
  }
  case Kind::AllGather:
  case Kind::ReduceScatter:
  case Kind::Broadcast:
    return ring(group, protocol, kind, bytes);
  case Kind::AllToAll:
    return allToAll(group, protocol, bytes);
  case Kind::Permute:
    return permute(group, protocol, bytes);
  }
  return 0;
}

/// The seconds of the cheaper protocol; 0 for a group of one.
static double
cheaperProtocol(const Group &group, const CollectiveConstants &library,
                llvm::function_ref<double(const Protocol &protocol)> price) {
  if (group.ranks <= 1)
    return 0;
  double seconds = price({library.baseBulk, library.bulkStep, 1});
  // The library has only one protocol.
  if (library.baseLow == library.baseBulk && library.bulkStep == 1)
    return seconds;
  return std::min(seconds, price({library.baseLow, 1, library.lowShare}));
}

static double getTime(Kind kind, double tensorBytes, const Group &group,
                      const CollectiveConstants &library) {
  return cheaperProtocol(group, library, [&](const Protocol &protocol) {
    return oneProtocol(kind, tensorBytes, group, protocol);
  });
}

double tessera::getCollectiveTime(Kind kind, double localBytes,
                                  ArrayRef<LinkSpan> spans,
                                  const CollectiveConstants &library) {
  Group group(spans);
  double bytes =
      kind == Kind::AllGather ? localBytes * group.ranks : localBytes;
  return getTime(kind, bytes, group, library);
}

double tessera::getDispatchTime(double bytes, double copies,
                                ArrayRef<LinkSpan> spans,
                                const CollectiveConstants &library) {
  Group group(spans);
  return cheaperProtocol(group, library, [&](const Protocol &protocol) {
    return dispatch(group, protocol, bytes, copies);
  });
}

double tessera::getTensorCollectiveTime(Kind kind, double tensorBytes,
                                        ArrayRef<LinkSpan> spans,
                                        const CollectiveConstants &library) {
  return getTime(kind, tensorBytes, Group(spans), library);
}

/// Each rank adds the chunks that pass it on their way to the root.
static double chain(const Group &group, const Protocol &protocol,
                    double bytes) {
  return protocol.base + protocol.step * group.ringLatency +
         bytes / (group.bandwidth * protocol.share);
}

TrafficShares tessera::getRootedShares(RootedCollective kind, double n) {
  if (n <= 1)
    return {};
  switch (kind) {
  case RootedCollective::Scatter:
    return {(n - 1) / n, 1 / n};
  case RootedCollective::Gather:
    return {1 / n, (n - 1) / n};
  case RootedCollective::Reduce:
    return {1, 1};
  }
  return {};
}

double tessera::getRootedCollectiveTime(RootedCollective kind,
                                        double tensorBytes,
                                        ArrayRef<LinkSpan> spans,
                                        const CollectiveConstants &library) {
  Group group(spans);
  return cheaperProtocol(group, library, [&](const Protocol &protocol) {
    return kind == RootedCollective::Reduce
               ? chain(group, protocol, tensorBytes)
               : allToAll(group, protocol, tensorBytes);
  });
}

/// Share of the network cards' bandwidth for a ring without PXN. The share is
/// the same in vTrain's runs with groups of 4 and of 2 out of a node's 8
/// devices, and in BLOOM's with groups of 2, both with four cards per node.
static constexpr double kProcessorShare = 0.25;

LinkSpans tessera::getSpansWithoutPXN(Kind kind, LinkSpans spans,
                                      int64_t nodeDevices) {
  // Only these kinds run along rings or trees.
  if (kind == Kind::AllToAll || kind == Kind::Permute)
    return spans;
  double inside = 1;
  for (LinkSpan &span : spans) {
    double drivers = inside * span.parallel;
    if (span.level > 0 && drivers > 1 && drivers < double(nodeDevices))
      span.bandwidth *= kProcessorShare;
    inside *= double(span.size);
  }
  return spans;
}

double tessera::getCollectiveTime(const MeshLinks &links, const Mesh &mesh,
                                  Kind kind, double localBytes,
                                  ArrayRef<AxisRef> axes) {
  return getCollectiveTime(kind, localBytes, links.spansOf(mesh, axes),
                           links.library);
}
