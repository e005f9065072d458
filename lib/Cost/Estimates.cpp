//===- Estimates.cpp - A model's needs before any plan ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/Estimates.h"
#include <algorithm>
#include <cmath>

using namespace tessera::cost;

double tessera::cost::roughActivationBytes(int64_t layers, double batch,
                                           double seq, int64_t hidden,
                                           double bytes, double k) {
  return k * double(layers) * batch * seq * double(hidden) * bytes;
}

int64_t tessera::cost::minimumDevices(double bytes, double memoryBytes,
                                      double usable) {
  return std::max<int64_t>(1,
                           int64_t(std::ceil(bytes / (memoryBytes * usable))));
}

double tessera::cost::largestModel(const StateBytes &each, double devices,
                                   double memoryBytes) {
  return devices * memoryBytes / each.sum();
}

double tessera::cost::ringBytesPerRank(CollectiveKind kind, double bytes,
                                       int64_t ranks) {
  return getShareReceived(kind, double(ranks)) * bytes;
}

double tessera::cost::parameterServerBytes(double bytes, int64_t workers) {
  return 2 * bytes * double(workers);
}

double tessera::cost::dataAxisBytes(double parameters, int zero,
                                    int64_t ranks) {
  double once =
      ringBytesPerRank(CollectiveKind::AllGather, 2 * parameters, ranks);
  return (zero == 3 ? 3 : 2) * once;
}

double tessera::cost::trainedFlopsShare(const Numerics &numerics) {
  return numerics.loraRank > 0 ? 2.0 / 3 : 1;
}

double tessera::cost::trainingFlops(double parameters, double tokens) {
  return 6 * parameters * tokens;
}

double tessera::cost::trainingSeconds(double flops, double devices, double peak,
                                      double utilization) {
  return flops / (devices * peak * utilization);
}

double tessera::cost::wastedShare(double reached, double possible) {
  return 1 - reached / possible;
}

int64_t tessera::cost::leastMemoryCheckpoint(int64_t layers) {
  return std::max<int64_t>(1, int64_t(std::lround(std::sqrt(double(layers)))));
}
