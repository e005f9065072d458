//===- Nccl.h - Communicators of NCCL ---------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Communicators of one rank, and their creation by the ranks, with timeouts.
// NcclCommunication.cpp implements the collectives.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_NCCL_H
#define TESSERA_RT_CUDA_NCCL_H

#include "Communication.h"
#include "NcclApi.h"

namespace tessera::rt::cuda {

/// A communicator with its stream.
struct Communicator {
  /// Key under which its ranks find it: the hash of their group's axes, or of a
  /// sender, its receiver and the tag, because each tag has an order of its
  /// own.
  uint64_t key = 0;
  /// Name under which it is announced; unique among the job's communicators.
  uint64_t identity = 0;
  /// For messages: "dp", "rank 0 to rank 1".
  std::string name;
  /// Its ranks, and this rank's number among them. In a pair, 0 sends and 1
  /// receives.
  std::vector<int> members;
  int index = 0;
  bool isPair = false;
  nccl::Comm comm = nullptr;
  Stream stream;
  /// Working memory of its collectives.
  uint8_t *staging = nullptr;
  int64_t stagingBytes = 0;
};

/// This rank's use of NCCL. Failures are recorded. Communicators do not block:
/// every wait checks for failures of other ranks and has the job's timeout.
class NcclLibrary {
public:
  explicit NcclLibrary(tessera_rt_context *ctx) : ctx(ctx) {}

  /// Loads the library. `shared`: ranks of one device must seem to be on
  /// several machines.
  Status open(bool shared);
  const nccl::Api &get() const { return api; }

  /// Creates an identity for a communicator whose first member this rank is,
  /// and announces it to the others.
  Status announceIdentity(const Communicator &comm);
  /// Begins to create a communicator by the identity that its first member has
  /// announced. waitReady waits for it.
  Status connect(Communicator &comm);
  /// The same by splitting a communicator: all of its ranks call it, each with
  /// the part that it is in.
  Status split(const Communicator &parent, Communicator &comm);
  /// Waits until the communicator's last call is under way.
  Status waitReady(const Communicator &comm);
  /// Frees a communicator; waits for the others only a limited time.
  void close(const Communicator &comm);
  /// Records an error of a call on `comm`; waits if the call is in progress.
  Status check(const Communicator &comm, const char *what, int result);
  /// Returns an asynchronous error, or nothing.
  std::string poll(const Communicator &comm);

private:
  std::string describe(const Communicator &comm, const char *what,
                       int result) const;

  tessera_rt_context *ctx;
  nccl::Api api = {};
};

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_NCCL_H
