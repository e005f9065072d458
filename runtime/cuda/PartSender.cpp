//===- PartSender.cpp - Sending blocks to a device ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See PartSender.h.
//
//===----------------------------------------------------------------------===//

#include "PartSender.h"

#include "ranks/Context.h"

#include <algorithm>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

CudaPartSender::~CudaPartSender() {
  for (Way &way : ways) {
    device.synchronize(way.stream);
    if (way.memory)
      device.releaseHost(way.memory);
    device.destroy(way.stream);
  }
}

std::string CudaPartSender::open(int64_t arenaBytes) {
  // The small parts of an emulated device let tests send several.
  int64_t most = device.isEmulated() ? int64_t(4) << 10 : int64_t(32) << 20;
  bytes = std::min(most, (arenaBytes + 63) / 64 * 64);
  std::string error;
  for (Way &way : ways) {
    if (error.empty())
      error = device.createStream(/*highPriority=*/false, way.stream);
    if (error.empty())
      error = device.allocateHost(bytes, way.memory);
  }
  return error;
}

Status CudaPartSender::next(uint8_t *&part) {
  part = static_cast<uint8_t *>(current().memory);
  std::string error = device.synchronize(current().stream);
  return error.empty() ? TESSERA_RT_OK : fail(ctx, TESSERA_RT_SYSTEM, error);
}

Status CudaPartSender::send(const ArenaBlock &block) {
  Way &way = current();
  ++number;
  std::string error =
      device.copyIn(way.stream, arena + block.offset, way.memory, block.bytes);
  return error.empty() ? TESSERA_RT_OK : fail(ctx, TESSERA_RT_SYSTEM, error);
}
