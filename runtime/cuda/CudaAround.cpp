//===- CudaAround.cpp - Transfer of blocks to a device and back -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See CudaTarget.h: the work around steps. The host's arena is a mapping as
// large as the device arena, but only the pages of blocks in transit take
// memory.
//
//===----------------------------------------------------------------------===//

#include "CudaCopies.h"
#include "CudaTarget.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

/// Keeps an object forever. The list lets leak checkers find it.
template <typename T> static void keepForever(std::unique_ptr<T> object) {
  static std::mutex mutex;
  static auto *kept = new std::vector<std::unique_ptr<T>>();
  std::lock_guard<std::mutex> lock(mutex);
  kept->push_back(std::move(object));
}

CudaTarget::~CudaTarget() {
  if (!device)
    return;
  // A device that has failed or still runs is left to the end of the process,
  // because freeing anything could wait for it.
  if (ctx->memory.control->aborted.load()) {
    keepForever(std::move(communication));
    keepForever(std::move(matmuls));
    keepForever(std::move(cudnn));
    keepForever(std::move(kernels));
    keepForever(std::move(device));
    return;
  }
  device->synchronize(compute);
  // NCCL closes a communicator only after the graphs with its collectives.
  if (graph.handle)
    device->destroy(graph);
  communication.reset();
  matmuls.reset();
  cudnn.reset();
  kernels.reset();
  for (void *memory : {static_cast<void *>(deviceArena), workspace, counts})
    if (memory)
      device->release(memory);
  for (void *memory : {staging, stagedCounts})
    if (memory)
      device->releaseHost(memory);
  device->destroy(end);
  device->destroy(compute);
}

Status CudaTarget::send(const ArenaBlock &block) {
  if (block.bytes == 0)
    return TESSERA_RT_OK;
  std::string error = device->copyIn(compute, deviceArena + block.offset,
                                     ctx->arena() + block.offset, block.bytes);
  // The host may overwrite its block as soon as this returns.
  return check(error.empty() ? device->synchronize(compute) : error);
}

Status CudaTarget::createPartSender(std::unique_ptr<PartSender> &sender) {
  auto parts = std::make_unique<CudaPartSender>(ctx, *device, deviceArena);
  std::string error = device->synchronize(compute);
  if (error.empty())
    error = parts->open(arenaBytes);
  sender = std::move(parts);
  return check(error);
}

Status CudaTarget::createStateSource(std::unique_ptr<StateSource> &source) {
  auto copies = std::make_unique<CudaStateSource>(*ctx, *device, deviceArena);
  std::string error = copies->open();
  source = std::move(copies);
  return check(error);
}

Status CudaTarget::clear(const ArenaBlock &block) {
  if (block.bytes == 0)
    return TESSERA_RT_OK;
  return check(
      device->fillBytes(compute, deviceArena + block.offset, 0, block.bytes));
}

Status CudaTarget::checkCommunication() {
  std::string error = communication->poll();
  return error.empty() ? TESSERA_RT_OK
                       : failUnlessRankLost(ctx, TESSERA_RT_SYSTEM, error);
}

Status CudaTarget::waitForDevice() {
  if (Status status = check(device->record(end, compute)))
    return status;
  double begin = monotonicSeconds(), lastLook = begin;
  for (int64_t turn = 0;; ++turn) {
    bool isOver = false;
    if (Status status = check(device->query(end, isOver)))
      return status;
    if (ctx->memory.control->aborted.load()) {
      communication->abort();
      return TESSERA_RT_ABORTED;
    }
    if (isOver)
      break;
    double now = monotonicSeconds();
    Status status = TESSERA_RT_OK;
    if (now - lastLook > 0.1) {
      lastLook = now;
      status = checkCommunication();
      if (status == TESSERA_RT_OK)
        status = checkRanksLive(ctx);
      if (status == TESSERA_RT_OK && now - begin > ctx->timeout)
        status =
            reportLateDevices(ctx,
                              format("run %lld of the step",
                                     (long long)ctx->block().stepsBegun.load()),
                              now - begin);
    }
    if (status) {
      communication->abort();
      return status;
    }
    // The end of a step of a millisecond must be noticed at once.
    if (turn < 1000)
      spinPause();
    else
      usleep(20);
  }
  // Work that has ended may have been aborted.
  if (Status status = checkCommunication())
    return status;
  return noted.guardsBlocks ? check(kernels->blockFault(compute))
                            : TESSERA_RT_OK;
}

Status CudaTarget::fetch(const std::vector<ArenaBlock> &blocks) {
  Status status = fetchBlocks(blocks);
  return status ? status : takeCounts();
}

Status CudaTarget::fetchBlocks(const std::vector<ArenaBlock> &blocks) {
  int64_t total = 0;
  for (const ArenaBlock &block : blocks)
    total += block.bytes;
  bool isStaged = total <= stagingBytes;
  uint8_t *at = static_cast<uint8_t *>(staging);
  for (const ArenaBlock &block : blocks) {
    if (!isStaged)
      break;
    if (Status status = check(device->copyOut(
            compute, at, deviceArena + block.offset, block.bytes)))
      return status;
    at += block.bytes;
  }
  if (Status status = waitForDevice())
    return status;
  at = static_cast<uint8_t *>(staging);
  for (const ArenaBlock &block : blocks) {
    uint8_t *to = ctx->arena() + block.offset;
    if (isStaged)
      memcpy(to, at, size_t(block.bytes));
    else if (Status status = check(device->copyOut(
                 compute, to, deviceArena + block.offset, block.bytes)))
      return status;
    at += block.bytes;
  }
  return isStaged ? TESSERA_RT_OK : check(device->synchronize(compute));
}

Status CudaTarget::move(int64_t to, int64_t from, int64_t bytes) {
  if (bytes == 0)
    return TESSERA_RT_OK;
  return check(
      device->copy(compute, deviceArena + to, deviceArena + from, bytes));
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

void CudaTarget::measure(MemoryUse &use, const Manifest &, bool) {
  use.arenaBytes = arenaBytes;
  use.privateAtStart = 0;
  use.privateBytes = device->allocatedBytes() - arenaBytes;
  use.scratchBytes = use.privateBytes;
}

std::string CudaTarget::limitMemory(const Manifest &manifest, int64_t bytes) {
  memoryLimit = bytes;
  if (bytes == 0 || manifest.arenaBytes <= bytes)
    return std::string();
  return format("needs %lld bytes for the arena of its plan, but "
                "--memory-limit gives %lld",
                (long long)manifest.arenaBytes, (long long)bytes);
}

/// Removes special characters from a device's or library's text for JSON.
static std::string plain(const std::string &text) {
  std::string safe;
  for (char c : text)
    safe +=
        c == '"' || c == '\\' || static_cast<unsigned char>(c) < 32 ? ' ' : c;
  return safe;
}

std::string CudaTarget::describeJson() const {
  const DeviceProperties &facts = device->properties();
  double flops = 0;
  for (const MatmulCall &call : noted.matmuls)
    flops += call.flops();
  return format(
      "\"device\": {\"name\": \"%s\", \"architecture\": %d, \"memory_bytes\": "
      "%lld, \"driver\": %d, \"matmul\": \"%s\", \"attention\": \"%s\", "
      "\"collectives\": \"%s\", \"graph_nodes\": %lld, \"launches\": %lld, "
      "\"workspace_bytes\": %lld, \"allocations_after_two_steps\": %lld, "
      "\"matmul_flops\": %.0f}",
      plain(facts.name).c_str(), facts.architecture,
      (long long)facts.memoryBytes, facts.driverVersion,
      matmuls ? plain(matmuls->name()).c_str() : "",
      noted.attentions.empty()
          ? ""
          : plain(
                (cudnn ? *cudnn : *kernels).name() +
                (cudnn && !ownAttentions.empty() ? ", " + kernels->name() : ""))
                .c_str(),
      communication ? plain(communication->name()).c_str() : "",
      (long long)graphNodes, (long long)notedLaunches,
      (long long)(device->allocatedBytes() - arenaBytes),
      (long long)lateAllocations, flops);
}
