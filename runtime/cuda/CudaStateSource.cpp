//===- CudaStateSource.cpp - Copies of a device's state -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See CudaStateSource.h.
//
//===----------------------------------------------------------------------===//

#include "CudaStateSource.h"

#include "ranks/Context.h"

#include <unistd.h>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

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
