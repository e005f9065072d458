//===- Collectives.cpp - Explains collectives, the ring, the server -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs collectives on small integers. Bytes and seconds are those of the
// planner's prices (CollectiveTime.h, Estimates.h).
//
//===----------------------------------------------------------------------===//

#include "Explanation.h"
#include "RingRun.h"
#include "tessera/Cluster/CollectiveTime.h"
#include "tessera/Cluster/Placement.h"
#include "tessera/Cluster/RootedCollectives.h"
#include "tessera/Cost/Estimates.h"
#include <numeric>
#include <variant>

using namespace tessera;
using namespace tessera::cost;
using namespace tessera::explain;
using llvm::formatv;

//===----------------------------------------------------------------------===//
// collectives
//===----------------------------------------------------------------------===//

namespace {
/// Blocks of each rank; none: the rank does not have it.
using Holdings = std::vector<std::vector<std::optional<int64_t>>>;

/// A collective: what ranks have before, and what it does.
struct CollectiveRow {
  const char *name, *text;
  Holdings (*begin)(size_t ranks);
  void (*run)(Holdings &holdings);
  /// The kind that has a price.
  std::variant<CollectiveKind, RootedCollective> kind;
};
} // namespace

/// The value of a block of a rank: "23" is block 3 of rank 2.
static int64_t valueOf(size_t rank, size_t block) {
  return int64_t(10 * (rank + 1) + block);
}

static Holdings holdWhere(size_t ranks,
                          bool (*has)(size_t rank, size_t block)) {
  Holdings holdings(ranks, std::vector<std::optional<int64_t>>(ranks));
  for (size_t rank = 0; rank < ranks; ++rank)
    for (size_t block = 0; block < ranks; ++block)
      if (has(rank, block))
        holdings[rank][block] = valueOf(rank, block);
  return holdings;
}

static Holdings holdAll(size_t ranks) {
  return holdWhere(ranks, [](size_t, size_t) { return true; });
}
static Holdings holdAtFirst(size_t ranks) {
  return holdWhere(ranks, [](size_t rank, size_t) { return rank == 0; });
}
static Holdings holdOwn(size_t ranks) {
  return holdWhere(ranks,
                   [](size_t rank, size_t block) { return rank == block; });
}

/// The sum of a block over all ranks.
static int64_t sumOf(const Holdings &holdings, size_t block) {
  int64_t sum = 0;
  for (const auto &blocks : holdings)
    sum += *blocks[block];
  return sum;
}

static void runSend(Holdings &holdings) {
  if (holdings.size() > 1)
    holdings[1] = holdings[0];
}
static void runBroadcast(Holdings &holdings) {
  for (auto &blocks : holdings)
    blocks = holdings[0];
}
static void runScatter(Holdings &holdings) {
  for (size_t rank = 1; rank < holdings.size(); ++rank)
    std::swap(holdings[rank][rank], holdings[0][rank]);
}
static void runGather(Holdings &holdings) {
  for (size_t rank = 1; rank < holdings.size(); ++rank)
    holdings[0][rank] = holdings[rank][rank];
}
static void runReduce(Holdings &holdings) {
  const Holdings before = holdings;
  for (size_t block = 0; block < holdings.size(); ++block)
    holdings[0][block] = sumOf(before, block);
}
static void runAllGather(Holdings &holdings) {
  for (auto &blocks : holdings)
    for (size_t block = 0; block < blocks.size(); ++block)
      blocks[block] = holdings[block][block];
}
static void runAllReduce(Holdings &holdings) {
  const Holdings before = holdings;
  for (auto &blocks : holdings)
    for (size_t block = 0; block < blocks.size(); ++block)
      blocks[block] = sumOf(before, block);
}
static void runReduceScatter(Holdings &holdings) {
  const Holdings before = holdings;
  for (size_t rank = 0; rank < holdings.size(); ++rank)
    for (size_t block = 0; block < holdings.size(); ++block)
      holdings[rank][block] =
          rank == block ? std::optional(sumOf(before, block)) : std::nullopt;
}
static void runAllToAll(Holdings &holdings) {
  const Holdings before = holdings;
  for (size_t rank = 0; rank < holdings.size(); ++rank)
    for (size_t block = 0; block < holdings.size(); ++block)
      holdings[rank][block] = before[block][rank];
}

static constexpr CollectiveRow kCollectives[] = {
    {"send", "rank 0 sends its blocks to rank 1", holdAtFirst, runSend,
     CollectiveKind::Permute},
    {"broadcast", "all get the blocks of rank 0", holdAtFirst, runBroadcast,
     CollectiveKind::Broadcast},
    {"scatter", "each gets one block of rank 0", holdAtFirst, runScatter,
     RootedCollective::Scatter},
    {"gather", "rank 0 gets a block of each", holdOwn, runGather,
     RootedCollective::Gather},
    {"reduce", "rank 0 gets the sums", holdAll, runReduce,
     RootedCollective::Reduce},
    {"all-gather", "all get a block of each", holdOwn, runAllGather,
     CollectiveKind::AllGather},
    {"all-reduce", "all get the sums", holdAll, runAllReduce,
     CollectiveKind::AllReduce},
    {"all-to-all", "block i of rank k becomes block k of rank i", holdAll,
     runAllToAll, CollectiveKind::AllToAll},
    {"reduce-scatter", "each gets the sum of one block", holdAll,
     runReduceScatter, CollectiveKind::ReduceScatter},
};

static Table holdingsTable(size_t ranks) {
  std::vector<Table::Column> columns{"collective", "rank"};
  for (size_t block = 0; block < ranks; ++block)
    columns.emplace_back("block " + std::to_string(block));
  Table table(std::move(columns));
  for (const CollectiveRow &collective : kCollectives) {
    Holdings holdings = collective.begin(ranks);
    auto addRows = [&](const char *time) {
      for (auto [rank, blocks] : llvm::enumerate(holdings)) {
        std::vector<Table::Cell> row{collective.name,
                                     formatv("rank {0} {1}", rank, time).str()};
        for (const auto &block : blocks)
          row.emplace_back(block ? std::to_string(*block) : std::string(),
                           block ? std::optional(double(*block))
                                 : std::nullopt);
        table.addRow(std::move(row));
      }
    };
    addRows("before");
    collective.run(holdings);
    addRows("after");
  }
  return table;
}

/// The links of the first devices of a cluster.
static LinkSpans spansOf(const ClusterSpec &cluster, int64_t ranks) {
  std::vector<int64_t> devices(ranks);
  std::iota(devices.begin(), devices.end(), 0);
  return placeDevices(cluster, devices);
}

namespace {
/// Bytes of a collective, and its seconds.
struct CollectivePrice {
  TrafficShares shares;
  double seconds = 0;
};
} // namespace

static CollectivePrice priceOf(const CollectiveRow &row, double bytes,
                               int64_t ranks, const LinkSpans &spans) {
  if (const auto *rooted = std::get_if<RootedCollective>(&row.kind))
    return {getRootedShares(*rooted, double(ranks)),
            getRootedCollectiveTime(*rooted, bytes, spans)};
  auto kind = std::get<CollectiveKind>(row.kind);
  // Some rank sends as much as some rank receives.
  double share = getShareReceived(kind, double(ranks));
  return {{share, share}, getTensorCollectiveTime(kind, bytes, spans)};
}

static Table priceTable(const ExplainSizes &sizes, int64_t ranks) {
  Table table({"collective",
               "does",
               {"most sent by a rank", "GB", 2},
               {"most received by a rank", "GB", 2},
               {"ms", "ms", 2}});
  table.alignLeft(1);
  LinkSpans spans = spansOf(sizes.cluster, ranks);
  for (const CollectiveRow &row : kCollectives) {
    CollectivePrice price = priceOf(row, sizes.bytes, ranks, spans);
    table.addRow({row.name, row.text, price.shares.sent * sizes.bytes / kGB,
                  price.shares.received * sizes.bytes / kGB,
                  price.seconds * 1e3});
  }
  return table;
}

Section tessera::explain::explainCollectives(const ExplainSizes &sizes) {
  int64_t ranks = sizes.ranks.value_or(4);
  if (llvm::Error error = checkSize("collectives", "--ranks", ranks, 16))
    return std::move(error);
  if (llvm::Error error = sizes.cluster.checkSize(ranks))
    return std::move(error);
  Holdings whole = holdAll(ranks), halves = whole;
  runAllReduce(whole);
  runReduceScatter(halves);
  runAllGather(halves);
  if (whole != halves)
    return llvm::createStringError("collectives: expects an all-reduce to be a "
                                   "reduce-scatter and an all-gather");
  Explanation text("collectives",
                   formatv("Nine ways for {0} ranks to exchange blocks; an "
                           "all-reduce is a reduce-scatter, then an all-gather",
                           ranks));
  text.add({"who holds what",
            "cells",
            "Who holds what before and after",
            "Block i of rank r is 10 (r + 1) + i. All-to-all has block k of "
            "each rank on rank k.",
            holdingsTable(ranks),
            {"all-reduce"}});
  text.add({"prices", "table",
            formatv("Bytes and times of a tensor of {0:f2} GB on {1} devices "
                    "of {2}",
                    sizes.bytes / kGB, ranks, sizes.cluster.name),
            "The planner's price of each collective that layouts use. No "
            "layout uses scatter, gather and reduce: the root of the first two "
            "sends or receives each block directly, and a reduce adds along a "
            "chain of ranks. The tensor is the whole one of a group.",
            priceTable(sizes, ranks)});
  return std::move(text).finish();
}

//===----------------------------------------------------------------------===//
// ring
//===----------------------------------------------------------------------===//

/// Elements of the rings that are run: few ranks divide them.
static constexpr int64_t kRingElements = 1009;

static llvm::Expected<Table> ringSteps(int64_t ranks) {
  std::vector<Table::Column> columns{"step", "rank"};
  for (int64_t chunk = 0; chunk < ranks; ++chunk)
    columns.emplace_back("chunk " + std::to_string(chunk));
  Table table(std::move(columns));
  RingRun ring(ranks, ranks);
  auto addStep = [&](int64_t done) {
    std::string step = done == 0 ? "begin"
                       : done < ranks
                           ? formatv("reduce-scatter {0}", done).str()
                           : formatv("all-gather {0}", done - ranks + 1).str();
    for (int64_t rank = 0; rank < ranks; ++rank) {
      std::vector<Table::Cell> row{step, "rank " + std::to_string(rank)};
      for (int64_t i = 0; i < ranks; ++i) {
        RingChunk chunk = ring.chunkOf(rank, i);
        row.emplace_back((chunk.terms < ranks ? "Σ" : "") +
                             std::to_string(chunk.first),
                         double(chunk.first));
      }
      table.addRow(std::move(row));
    }
  };
  if (llvm::Error error = ring.run(addStep))
    return std::move(error);
  return table;
}

static llvm::Expected<Table> ringBytes(const ExplainSizes &sizes,
                                       int64_t most) {
  Table table({{"ranks", "", 0},
               {"GB sent by a rank", "GB", 3},
               {"elements sent by all", "", 0},
               {"ms", "ms", 2}});
  for (int64_t ranks = 1; ranks <= most; ++ranks) {
    RingRun ring(ranks, kRingElements);
    if (llvm::Error error = ring.run([](int64_t) {}))
      return std::move(error);
    int64_t all = 0;
    for (int64_t rank = 0; rank < ranks; ++rank)
      all += ring.sentBy(rank);
    table.addRow(
        {ranks,
         ringBytesPerRank(CollectiveKind::AllReduce, sizes.bytes, ranks) / kGB,
         all,
         getTensorCollectiveTime(CollectiveKind::AllReduce, sizes.bytes,
                                 spansOf(sizes.cluster, ranks)) *
             1e3});
  }
  return table;
}

Section tessera::explain::explainRing(const ExplainSizes &sizes) {
  constexpr int64_t kMostRanks = 64, kMostShown = 16;
  int64_t ranks = sizes.ranks.value_or(4);
  if (llvm::Error error = checkSize("ring", "--ranks", ranks, kMostRanks))
    return std::move(error);
  if (llvm::Error error = sizes.cluster.checkSize(kMostRanks))
    return std::move(error);
  Explanation text(
      "ring",
      formatv("In a ring of {0} ranks each sends {1:f2} GB for an all-reduce "
              "of {2:f2} GB, in {3} steps",
              ranks,
              ringBytesPerRank(CollectiveKind::AllReduce, sizes.bytes, ranks) /
                  kGB,
              sizes.bytes / kGB, 2 * (ranks - 1)));
  if (ranks <= kMostShown) {
    auto steps = ringSteps(ranks);
    if (!steps)
      return steps.takeError();
    text.add({"steps",
              "cells",
              "Each rank sends a chunk to the next one at every step",
              "A sigma marks a sum that is not complete. The first steps add, "
              "the others replace.",
              std::move(*steps),
              {""}});
  } else {
    text.say(formatv("Steps are shown of at most {0} ranks.", kMostShown));
  }
  auto bytes = ringBytes(sizes, kMostRanks);
  if (!bytes)
    return bytes.takeError();
  text.add({"bytes", "table",
            "2 (n - 1)/n of the tensor: nearly the same for every ring",
            formatv("Each ring ran with {0} integers, was compared with their "
                    "sums, and all ranks together sent 2 (n - 1) times the "
                    "tensor. Times are the planner's.",
                    kRingElements),
            std::move(*bytes)});
  return std::move(text).finish();
}

//===----------------------------------------------------------------------===//
// server
//===----------------------------------------------------------------------===//

/// Bytes per second that large transfers over the outermost links reach.
static double outerBandwidth(const ClusterSpec &cluster) {
  const LevelSpec &outer = cluster.levels.back();
  return outer.bandwidth.value * outer.efficiency.value;
}

static Table serverBytes(double bytes, int64_t ranks) {
  Table table({{"workers", "", 0},
               {"GB at the server", "GB", 2},
               {"GB at a rank of the ring", "GB", 2}});
  for (int64_t count : listDoubles(1, ranks, ranks))
    table.addRow(
        {count, parameterServerBytes(bytes, count) / kGB,
         ringBytesPerRank(CollectiveKind::AllReduce, bytes, count) / kGB});
  return table;
}

static Table serverTimes(const ClusterSpec &cluster, double bytes,
                         int64_t ranks) {
  Table table({"workers", {"server", "ms", 1}, {"ring", "ms", 1}});
  for (int64_t count : listDoubles(1, ranks, ranks))
    // The server receives and sends at once.
    table.addRow(
        {std::to_string(count),
         parameterServerBytes(bytes, count) / 2 / outerBandwidth(cluster) * 1e3,
         getTensorCollectiveTime(CollectiveKind::AllReduce, bytes,
                                 spansOf(cluster, count)) *
             1e3});
  return table;
}

Section tessera::explain::explainServer(const ExplainSizes &sizes) {
  int64_t ranks = sizes.ranks.value_or(64);
  if (llvm::Error error = checkSize("server", "--ranks", ranks, 4096))
    return std::move(error);
  if (llvm::Error error = sizes.cluster.checkSize(ranks))
    return std::move(error);
  ChoiceTable table({"bytes of the gradients"});
  ChoiceTable times({"bytes of the gradients"});
  for (const auto &[name, bytes] :
       listSizes({1e8, 1e9, 4e9, 1.6e10, 6.4e10}, sizes.bytes)) {
    table.add({name}, serverBytes(bytes, ranks));
    times.add({name}, serverTimes(sizes.cluster, bytes, ranks));
  }
  Explanation text(
      "server",
      formatv("{0} workers move {1:f2} GB through a server; in a ring no rank "
              "sends more than {2:f2} GB",
              ranks, parameterServerBytes(sizes.bytes, ranks) / kGB,
              2 * sizes.bytes / kGB));
  text.add({"bytes",
            "curves",
            "A server's bytes grow with the workers, a ring's do not",
            "GB of a step, by workers that each have all gradients.",
            std::move(table).finish(),
            {sizeText(sizes.bytes)}});
  text.add({"times",
            "table",
            "Time on the outermost links of the cluster",
            formatv("The server by its link of {0:f1} GB/s alone; the ring by "
                    "the planner's price.",
                    outerBandwidth(sizes.cluster) / 1e9),
            std::move(times).finish(),
            {sizeText(sizes.bytes)}});
  return std::move(text).finish();
}
