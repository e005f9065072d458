//===- CollectiveRows.cpp - Measured collectives ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectiveRows.h"
#include "Devices.h"
#include "tessera/Cluster/CollectiveTime.h"
#include "tessera/Cluster/Placement.h"
#include <cmath>

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;
using namespace tessera::validate;

bool tessera::validate::isCollectiveTable(const Table &table) {
  return table.has("op") && table.has("n_ranks");
}

static std::optional<CollectiveKind> kindOf(StringRef op) {
  std::string name;
  for (char c : op.lower())
    if (c != '_' && c != '-')
      name += c;
  StringRef text = name;
  if (text.starts_with("allreduce"))
    return CollectiveKind::AllReduce;
  if (text.starts_with("allgather"))
    return CollectiveKind::AllGather;
  if (text.starts_with("reducescatter"))
    return CollectiveKind::ReduceScatter;
  if (text.starts_with("alltoall") || text.starts_with("all2all"))
    return CollectiveKind::AllToAll;
  if (text.starts_with("p2p") || text.starts_with("ppsize"))
    return CollectiveKind::Permute;
  return std::nullopt;
}

static const char *sizeClass(double bytes) {
  if (bytes < 64 * 1024)
    return "below_64kib";
  if (bytes < 1 << 20)
    return "to_1mib";
  return bytes < 64 << 20 ? "to_64mib" : "above";
}

static void addSample(SourceScore &score, double bytes, double measured,
                      double predicted) {
  Sample sample;
  sample.measured = measured;
  sample.predicted = predicted;
  score.collectives[sizeClass(bytes)].push_back(sample);
  if (bytes >= 1 << 20)
    score.largeCollectives.push_back(sample);
}

/// Spans of ranks that are spread evenly over nodes; the last devices of a node
/// are idle.
static LinkSpans spansOf(const ClusterSpec &spec, int64_t ranks,
                         int64_t nodes) {
  std::vector<int64_t> devices;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t node = rank * nodes / ranks;
    int64_t first = (node * ranks + nodes - 1) / nodes;
    devices.push_back(node * spec.innerDevices() + rank - first);
  }
  return placeDevices(spec, devices);
}

/// Sizes at which the formulas of a tuning table are compared.
static std::vector<double> tableSizes() {
  std::vector<double> sizes;
  for (int i = 15; i <= 32; ++i)
    sizes.push_back(std::ldexp(1.0, i));
  return sizes;
}

/// Parses "1GB", ">=32MB"; none for anything else. A line that was fitted
/// through all sizes ("0B") is evaluated at 1 GiB.
static std::optional<double> statedSize(StringRef text) {
  text.consume_front(">=");
  double unit = 1;
  if (text.consume_back("GB"))
    unit = 1 << 30;
  else if (text.consume_back("MB"))
    unit = 1 << 20;
  else if (!text.consume_back("B"))
    return std::nullopt;
  std::optional<double> value = number(text);
  if (!value)
    return std::nullopt;
  return *value > 0 ? *value * unit : double(1 << 30);
}

/// Scores the library's own model: latency + bytes / bandwidth for each
/// algorithm and protocol; the library uses the fastest.
static void scoreTuningTable(const Table &table, Evaluator &evaluator,
                             SourceScore &score) {
  struct Curve {
    CollectiveKind kind;
    int64_t ranks, nodes;
    std::string preset;
    std::vector<std::pair<double, double>> lines;
    /// The size at which the line was measured; none: the line is a model for
    /// all sizes.
    std::optional<double> size;
  };
  std::map<std::string, Curve> curves;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    ++score.rows;
    auto latency = number(table.get(row, "latency_us"));
    auto rate = number(table.get(row, "algbw_gb_s"));
    auto kind = kindOf(table.get(row, "op"));
    if (!latency || !rate || !kind) {
      ++score.skipped["no value"];
      continue;
    }
    ++score.complete;
    ++score.used;
    ++score.usedComplete;
    std::string key =
        (table.get(row, "kind") + table.get(row, "op") + "," +
         table.get(row, "n_nodes") + "," + table.get(row, "n_ranks"))
            .str();
    Curve &curve = curves[key];
    curve.kind = *kind;
    curve.ranks = number(table.get(row, "n_ranks")).value_or(1);
    curve.nodes = number(table.get(row, "n_nodes")).value_or(1);
    curve.preset = presetOf(table.get(row, "gpu"));
    curve.lines.emplace_back(*latency * 1e-6, *rate * 1e9);
    curve.size = statedSize(table.get(row, "size"));
  }
  for (const auto &[key, curve] : curves) {
    Expected<const ClusterSpec *> spec = evaluator.cluster(curve.preset);
    if (!spec) {
      consumeError(spec.takeError());
      continue;
    }
    LinkSpans spans = spansOf(**spec, curve.ranks, curve.nodes);
    std::vector<double> sizes = tableSizes();
    if (curve.size)
      sizes = {*curve.size};
    for (double bytes : sizes) {
      double best = INFINITY;
      for (const auto &[latency, rate] : curve.lines)
        best = std::min(best, latency + bytes / rate);
      addSample(score, bytes, best,
                getTensorCollectiveTime(curve.kind, bytes, spans));
    }
  }
}

void tessera::validate::scoreCollectives(const Table &table,
                                         Evaluator &evaluator,
                                         SourceScore &score) {
  if (table.has("latency_us"))
    return scoreTuningTable(table, evaluator, score);
  for (size_t row = 0; row < table.rows.size(); ++row) {
    ++score.rows;
    auto skip = [&](const char *why) { ++score.skipped[why]; };
    auto kind = kindOf(table.get(row, "op"));
    auto ranks = number(table.get(row, "n_ranks"));
    int64_t nodes = number(table.get(row, "n_nodes")).value_or(1);
    auto micros = number(table.get(row, "time_us"));
    auto bus = number(table.get(row, "busbw_gb_s"));
    auto size = number(table.get(row, "size_bytes"));
    if (!ranks || (!micros && !bus)) {
      skip("no value");
      continue;
    }
    ++score.complete;
    if (!kind) {
      skip("operation");
      continue;
    }
    std::string preset = presetOf(table.get(row, "gpu"));
    if (preset.empty()) {
      skip("unknown device");
      continue;
    }
    Expected<const ClusterSpec *> spec = evaluator.cluster(preset);
    if (!spec) {
      consumeError(spec.takeError());
      skip("no preset");
      continue;
    }
    if (*ranks > (*spec)->innerDevices() * double(nodes)) {
      skip("more ranks than devices");
      continue;
    }
    ++score.used;
    ++score.usedComplete;
    double bytes = size.value_or(double(1 << 30));
    double measured =
        micros ? *micros * 1e-6
               : getShareReceived(*kind, *ranks) * bytes / (*bus * 1e9);
    addSample(
        score, bytes, measured,
        getTensorCollectiveTime(*kind, bytes, spansOf(**spec, *ranks, nodes)));
  }
}
