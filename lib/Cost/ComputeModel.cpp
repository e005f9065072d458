//===- ComputeModel.cpp - Seconds of a kernel -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Closed forms over the records of Work.h, independent of layers.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/ComputeModel.h"
#include <algorithm>
#include <cmath>

using namespace tessera::cost;

namespace {

struct Tile {
  double m, n;
};

} // namespace

static const Tile kTiles[] = {{256, 128}, {128, 256}, {128, 128},
                              {128, 64},  {64, 128},  {64, 64}};
static const double kSplits[] = {1, 2, 4, 8};

/// Elements of a tile's operands that a multiprocessor can load while it
/// multiplies one row of a full tile. It determines how much slower small tiles
/// are.
static const double kTileReuse = 10;

/// Returns the rate of a tile relative to the largest tile.
static double tileRate(const Tile &tile) {
  double reuse = tile.m * tile.n / (tile.m + tile.n);
  double best = 256.0 * 128.0 / (256.0 + 128.0);
  return reuse / (reuse + kTileReuse) * (best + kTileReuse) / best;
}

/// Share of the rate for rows that are not a multiple of 16 bytes.
static const double kUnalignedRate = 1.0 / 3;

static bool isAligned(const MatmulDims &dims, DType type) {
  auto step = static_cast<int64_t>(16 / byteWidth(type));
  return dims.n % step == 0 && dims.k % step == 0;
}

static double matmulRate(const DeviceModel &device, DType type) {
  switch (type) {
  case DType::FP8:
  case DType::MXFP8:
  case DType::I8:
    return device.peak(type) * device.matmulRateFP8;
  case DType::FP4:
    return device.peak(type) * device.matmulRateFP4;
  default:
    return device.peak(type) * device.matmulRate;
  }
}

double tessera::cost::matmulSeconds(const DeviceModel &device,
                                    const MatmulDims &dims, DType type) {
  double rate = matmulRate(device, type) / device.multiprocessors;
  // Filling a tile's pipeline, and storing its results in 16 bits, takes as
  // long as with 16-bit operands.
  double fill =
      device.matmulFill *
      std::max(1.0, matmulRate(device, type) / matmulRate(device, DType::BF16));
  double best = INFINITY;
  for (const Tile &tile : kTiles) {
    double tiles = double(dims.batch) * std::ceil(dims.m / tile.m) *
                   std::ceil(dims.n / tile.n);
    double tileFlops = 2 * tile.m * tile.n;
    for (double splits : kSplits) {
      if (splits > 1 && (dims.k < 1024 * splits || dims.batch > 1))
        break;
      double waves = std::ceil(tiles * splits / device.multiprocessors);
      double depth = dims.k / splits + fill;
      double seconds = waves * tileFlops * depth / (rate * tileRate(tile));
      best = std::min(best, seconds);
    }
  }
  return isAligned(dims, type) ? best : best / kUnalignedRate;
}

/// Rate of the first FlashAttention in Triton relative to FlashAttention-2 (Dao
/// 2023, figures 4 to 6: 1.3 to 2.5 times slower).
static const double kFirstRate = 0.6;

/// Slowdown of a head dimension of 64 in kernels without the device's newest
/// instructions (Dao 2023, figures 4 to 6).
static const double kPortableNarrow = 0.06;

/// FLOPs of the backward of attention over the FLOPs of its forward: five
/// matmuls to two.
static const double kBackwardFlops = 2.5;

/// Returns the average number of keys per query: half of all under a causal
/// mask.
static double averageKeys(const OpWork &op, bool backward) {
  const MatmulDims &d = op.matmul;
  double forward = op.flops / (backward ? kBackwardFlops : 1);
  return forward / (4.0 * double(d.batch) * double(d.m) * double(d.k));
}

OpWork tessera::cost::makeMatmulOp(const MatmulDims &dims, DType type) {
  OpWork op;
  op.kind = OpClass::Matmul;
  op.dtype = type;
  op.matmul = dims;
  auto [batch, m, n, k] = std::tuple<double, double, double, double>(
      dims.batch, dims.m, dims.n, dims.k);
  double width = byteWidth(type);
  op.flops = 2 * batch * m * n * k;
  op.bytesRead = width * batch * (m * k + k * n);
  op.bytesWritten = width * batch * m * n;
  return op;
}

double tessera::cost::attentionSeconds(const DeviceModel &device,
                                       const OpWork &op) {
  bool backward = op.pass == Pass::BackwardInput;
  double share =
      op.portable
          ? (backward ? device.portableBackwardRate : device.portableRate)
          : (backward ? device.attentionBackwardRate : device.attentionRate);
  double rate = device.peakBF16 * share * (op.isFirst ? kFirstRate : 1);
  // Softmax on the vector units costs the same for every head dimension, so
  // narrow heads are slower.
  double slower = op.portable ? kPortableNarrow : device.attentionNarrow;
  double narrow = 1 + slower * (128.0 / op.matmul.k - 1);
  double keys = averageKeys(op, backward);
  double filled = keys > 0 ? 1 + device.attentionFill / keys : 1;
  double blocks = double(op.matmul.batch) * std::ceil(op.matmul.m / 128.0);
  double waves = blocks / device.multiprocessors;
  double quantised = std::ceil(waves) / waves;
  // Longer runs of blocks even out the quantisation loss.
  double idle = waves >= 4 ? 1 : quantised;
  return op.flops / rate * narrow * filled * idle;
}

double tessera::cost::kernelSeconds(const DeviceModel &device,
                                    const OpWork &op) {
  double bandwidth = device.memoryBandwidth * device.memoryRate;
  double memory = (op.bytesRead + op.bytesWritten) / bandwidth;
  double arithmetic = 0;
  auto matmul = [&](DType type) {
    if (!op.isApart)
      return matmulSeconds(device, op.matmul, type);
    MatmulDims one = op.matmul;
    one.batch = 1;
    return double(op.matmul.batch) * matmulSeconds(device, one, type);
  };
  if (op.kind == OpClass::Matmul)
    arithmetic = matmul(op.dtype) / op.rate;
  else if (op.kind == OpClass::Attention)
    arithmetic = attentionSeconds(device, op);
  if (op.wideShare > 0)
    arithmetic += op.wideShare * (matmul(DType::BF16) - arithmetic);
  return std::max(arithmetic, memory) + op.epilogueBytes / bandwidth +
         op.kernels * device.kernelFloor;
}

/// Seconds of the driver to launch a kernel, if one call of the framework
/// launches many.
static const double kDriverLaunch = 4e-6;

void tessera::cost::addKernel(KernelTime &time, const DeviceModel &device,
                              const OpWork &op) {
  if (op.isEpilogue && (op.pass == Pass::Forward || op.pass == Pass::Recompute))
    return;
  double seconds = kernelSeconds(device, op);
  if (op.kind == OpClass::Matmul || op.kind == OpClass::Attention)
    time.compute += seconds;
  else
    time.memory += seconds;
  if (!op.isGraphed)
    time.host += op.isBatched ? device.hostLaunch + op.kernels * kDriverLaunch
                              : op.kernels * device.hostLaunch;
}
