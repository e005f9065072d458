//===- Nccl.h - Communicators of NCCL ---------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Communicators of one rank, and how ranks meet in them: over the job's shared
// memory, with timeouts. What collectives are made of is in
// NcclCommunication.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_NCCL_H
#define TESSERA_RT_CUDA_NCCL_H

#include "Communication.h"
#include "NcclApi.h"

namespace tessera::rt::cuda {

/// A communicator with its stream.
struct Communicator {
  /// What its ranks find it by: the hash of their group's axes, or of a sender,
  /// its receiver and the tag, since each tag has an order of its own.
  uint64_t key = 0;
  /// What it is announced by: no other communicator of the job has it.
  uint64_t identity = 0;
  /// For messages: "dp", "rank 0 to rank 1".
  std::string name;
  /// Its size, and this rank's number in it: of a pair, 0 sends and 1 receives.
  int ranks = 0, index = 0;
  bool isPair = false;
  /// Of a group: its first rank, which tells it from the other groups that the
  /// same split makes.
  int color = 0;
  nccl::Comm comm = nullptr;
  Stream stream;
  /// Working memory of its collectives.
  uint8_t *staging = nullptr;
  int64_t stagingBytes = 0;
};

/// NCCL as this rank uses it. Failures are recorded. Communicators do not
/// block: every wait looks for failures of other ranks and has the job's
/// timeout.
class NcclLibrary {
public:
  explicit NcclLibrary(tessera_rt_context *ctx) : ctx(ctx) {}

  /// Loads the library. `shared`: ranks of one device must seem to be on
  /// several machines.
  Status open(bool shared);
  const nccl::Api &get() const { return api; }

  /// Makes an identity for a communicator and lets the other ranks know.
  Status announceIdentity(const Communicator &comm);
  /// Begins to make a communicator of `comm.ranks` ranks, of which this is
  /// number `comm.index`. waitReady waits for it.
  Status connect(Communicator &comm);
  /// The same from a communicator: ranks with the same color come together.
  Status split(const Communicator &parent, Communicator &comm);
  /// Waits until what the communicator was informed of last is under way.
  Status waitReady(const Communicator &comm);
  /// Gives a communicator back; waits a while for the others, and no longer.
  void close(const Communicator &comm);
  /// Records a failing result of a call on `comm`; waits where it is not
  /// over.
  Status check(const Communicator &comm, const char *what, int result);
  /// What went wrong on its own, or nothing.
  std::string poll(const Communicator &comm);

private:
  std::string describe(const Communicator &comm, const char *what,
                       int result) const;

  tessera_rt_context *ctx;
  nccl::Api api = {};
};

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_NCCL_H
