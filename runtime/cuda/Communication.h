//===- Communication.h - Collectives between devices ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface of collectives on device memory, with three implementations:
// NCCL; the host's shared memory, for ranks with emulated devices; and copies
// within one device, for simulated ranks.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_COMMUNICATION_H
#define TESSERA_RT_CUDA_COMMUNICATION_H

#include "Kernels.h"
#include "ranks/Context.h"

namespace tessera::rt::cuda {

/// State that collectives use.
struct CommunicationContext {
  tessera_rt_context *ctx;
  Device &device;
  Kernels &kernels;
  /// The stream of all other work. A collective begins after the work that was
  /// enqueued before its start, and the work enqueued after the wait begins
  /// after it.
  Stream compute;
  /// The arena on the device.
  uint8_t *arena;

  /// Records an error of a device, if there is one, as this rank's failure.
  Status check(const std::string &error) const {
    return error.empty() ? TESSERA_RT_OK : fail(ctx, TESSERA_RT_SYSTEM, error);
  }
};

class Communication {
public:
  virtual ~Communication() = default;

  /// The name in reports: "nccl 2.28.9".
  virtual std::string name() const = 0;
  /// Prepares the collectives of a step, in their order; nothing is allocated
  /// later. All ranks call it. Failures are recorded.
  virtual Status open(const std::vector<Operation> &operations) = 0;
  /// Enqueues a collective; records failures.
  virtual Status start(int32_t slot, Operation &op) = 0;
  virtual Status finish(int32_t slot, Operation &op) = 0;
  /// True if start and finish may be recorded in a graph.
  virtual bool canCapture() const = 0;
  /// True if it counts traffic by itself.
  virtual bool countsTraffic() const { return false; }
  /// Returns an asynchronous error, or nothing. Does not wait.
  virtual std::string poll() { return std::string(); }
  /// Ends the operations in flight; no rank waits for this one any more.
  virtual void abort() {}
};

/// For ranks with emulated devices: blocks are copied through the shared arenas
/// with the host target's collectives.
std::unique_ptr<Communication>
createHostCommunication(const CommunicationContext &context);

/// For ranks that are threads of this process and share one device.
std::unique_ptr<Communication>
createLocalCommunication(const CommunicationContext &context);

/// For ranks with devices of their own. `shared`: some ranks have the same
/// device, which NCCL accepts only if they seem to be on several machines.
std::unique_ptr<Communication> createNccl(const CommunicationContext &context,
                                          bool shared);

/// Bytes that member i of `op`'s group receives.
int64_t receivedBytes(const Operation &op);

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_COMMUNICATION_H
