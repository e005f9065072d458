//===- CudaCopies.cpp - Parameters and state to a device and back ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See CudaCopies.h.
//
//===----------------------------------------------------------------------===//

#include "CudaCopies.h"

#include "ranks/Context.h"

#include <algorithm>
#include <unistd.h>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

//===----------------------------------------------------------------------===//
// To the device
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Back, beside steps
//===----------------------------------------------------------------------===//

CudaStateSource::~CudaStateSource() {
  // A device that has failed or still runs is left to the end of the process.
  if (ctx.memory.control->aborted.load())
    return;
  if (memory)
    device.releaseHost(memory);
  device.destroy(end);
  device.destroy(stream);
}

std::string CudaStateSource::open() {
  std::string error = device.createStream(/*highPriority=*/false, stream);
  return error.empty() ? device.createEvent(/*timed=*/false, end) : error;
}

std::string CudaStateSource::allocate(int64_t bytes, uint8_t *&allocated) {
  std::string error = device.allocateHost(bytes, memory);
  allocated = static_cast<uint8_t *>(memory);
  return error;
}

std::string CudaStateSource::enter() {
  std::string error;
  own = device.createForThread(error);
  return error;
}

std::string CudaStateSource::copy(uint8_t *to, int64_t offset, int64_t bytes) {
  return own->copyOut(stream, to, arena + offset, bytes);
}

std::string CudaStateSource::wait() {
  std::string error = own->record(end, stream);
  for (bool isOver = false; error.empty() && !isOver;) {
    error = own->query(end, isOver);
    if (isOver)
      break;
    // The rank's thread reports a device that does not answer.
    if (ctx.memory.control->aborted.load())
      return "the run ends";
    usleep(20);
  }
  return error;
}

int64_t CudaStateSource::pieceBytes() const {
  // Long enough for a link's full rate. The small pieces of an emulated device
  // let tests copy several.
  return own->isEmulated() ? int64_t(4) << 10 : int64_t(16) << 20;
}
