//===- DeviceFigures.cpp - Tables of devices and kernels ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Planning/DeviceFigures.h"
#include "tessera/Cost/ComputeModel.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace tessera;
using namespace tessera::cost;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

/// Clusters of more devices are shown by one replica.
static constexpr int64_t kMaxShownDevices = 4096;

std::string tessera::nameLink(const Machine &machine,
                              const ClusterSpec &cluster,
                              llvm::ArrayRef<PlanAxis> axes) {
  LinkSpans spans = machine.spans(axes);
  if (spans.empty())
    return "";
  unsigned level = 0;
  for (const LinkSpan &span : spans)
    level = std::max(level, span.level);
  return cluster.levels[level].name;
}

Table tessera::makeAxisTable(const Machine &machine, const ClusterSpec &cluster,
                             const Layout &layout) {
  Table table({"axis",
               {"devices", "", 0},
               {"stride", "", 0},
               {"shown", "", 0},
               "link"});
  table.alignLeft(4);
  bool isWhole = layout.gpus() <= kMaxShownDevices;
  int64_t stride = layout.gpus();
  for (auto [axis, size] :
       {std::pair(PlanAxis::PP, layout.pp), std::pair(PlanAxis::DP, layout.dp),
        std::pair(PlanAxis::CP, layout.cp),
        std::pair(PlanAxis::TP, layout.tp)}) {
    stride /= size;
    bool isReplica = axis == PlanAxis::DP && !isWhole;
    table.addRow({stringify(axis), size, stride, isReplica ? 1 : size,
                  size > 1 ? nameLink(machine, cluster, axis) : std::string()});
  }
  return table;
}

std::string tessera::describeAxes(const Table &axes,
                                  const ClusterSpec &cluster) {
  std::vector<std::string> inner, outer;
  for (const auto &row : axes.getRows())
    if (!row[4].text.empty())
      (row[4].text == cluster.levels.front().name ? inner : outer)
          .push_back(row[0].text);
  std::string text;
  auto add = [&](const std::vector<std::string> &names, const char *one,
                 const char *many) {
    if (!names.empty())
      text += (text.empty() ? "" : ", ") + llvm::join(names, " and ") +
              (names.size() == 1 ? one : many);
  };
  add(inner, " stays in a node", " stay in a node");
  add(outer, " leaves it", " leave it");
  if (inner.empty() && !outer.empty())
    return llvm::join(outer, " and ") +
           (outer.size() == 1 ? " leaves the node" : " leave the node");
  return text;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// "matmul 8192 x 3584 x 8192", m x n x k, or the op's name.
static std::string kernelText(const OpWork &op) {
  if (op.kind != OpClass::Matmul)
    return op.name.empty() ? stringify(op.kind) : op.name;
  const MatmulDims &dims = op.matmul;
  std::string text =
      llvm::formatv("matmul {0} x {1} x {2}", dims.m, dims.n, dims.k);
  if (dims.batch > 1)
    text = llvm::formatv("{0}, batch {1}", text, dims.batch);
  return text;
}

Table tessera::makeKernelTable(const DeviceModel &device,
                               llvm::ArrayRef<OpWork> ops) {
  Table table({"kernel",
               "pass",
               "kind",
               {"GFLOP", "GFLOP", 3},
               {"MB moved", "MB", 3},
               {"us", "us", 2},
               {"FLOPs a byte", "", 2},
               {"TFLOP/s", "TFLOP/s", 2},
               {"of the peak", "%", 1, " %"}});
  for (size_t column : {1, 2})
    table.alignLeft(column);
  for (const OpWork &op : ops) {
    double bytes = op.bytesRead + op.bytesWritten;
    double seconds = kernelSeconds(device, op);
    // A pass that moves data alone has no point among FLOPs.
    if (op.flops <= 0 || bytes <= 0 || seconds <= 0)
      continue;
    double rate = op.flops / seconds;
    table.addRow({kernelText(op), stringify(op.pass), stringify(op.kind),
                  op.flops / 1e9, bytes / 1e6, seconds * 1e6, op.flops / bytes,
                  rate / 1e12, 100 * rate / device.peak(op.dtype)});
  }
  return table;
}

std::string tessera::describeKernels(const Table &kernels) {
  double least = INFINITY, most = 0;
  for (const auto &row : kernels.getRows())
    if (row[2].text == stringify(OpClass::Matmul)) {
      least = std::min(least, *row[8].value);
      most = std::max(most, *row[8].value);
    }
  if (most == 0)
    return "";
  return llvm::formatv("Matmuls of a block reach {0:f0} to {1:f0} % of the "
                       "peak",
                       least, most);
}

Table tessera::makeCeilingTable(StringRef peakType, double peak,
                                double memoryBandwidth) {
  Table table(
      {"ceiling", "kind", {"TFLOP/s", "TFLOP/s", 0}, {"GB/s", "GB/s", 1}});
  Table::Cell none("");
  table.addRow(
      {"dense " + peakType.str() + " peak", "arithmetic", peak / 1e12, none});
  table.addRow({"memory", "memory", none, memoryBandwidth / 1e9});
  return table;
}
