//===- tessera_serve.h - Requests to a program that stays -------*- C++ -*-===//
//
// Part of the Tessera Project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `PROGRAM --serve SOCKET,MEMORY` starts the ranks once and runs a step for
// each request. Both are descriptors that it inherits.
//
// SOCKET is one end of socketpair(AF_UNIX, SOCK_SEQPACKET). Each message to the
// program is a `Request`. Each has one answer, a `Reply`, in their order; the
// text of a refusal follows the reply in the same message. The first reply, to
// request 0 that nobody sends, says that the program is ready. At the end of
// the socket, and of the process that started the program, all ranks end.
//
// MEMORY is a memfd of exactly `bytes of memory`, with the seals F_SEAL_SHRINK,
// F_SEAL_GROW and F_SEAL_SEAL. It has, each at the next multiple of
// `kAlignment` bytes, in this order:
//
//   inputs   of each argument with the role tokens, labels, starts or input, in
//            the order of the manifest, the whole value in its logical shape
//   results  of each result that replaces no argument, the same
//   window   kWindowBytes, for parts of parameters and state
//
// and ends at the next multiple of kAlignment. Elements have the types of the
// manifest (bf16 2 bytes, i1 one), in row-major order.
//
// Ranks read the inputs only during a call. An answered call has written the
// results. A refused request has changed nothing. A failure of a rank ends the
// program as it ends any run: the socket ends, one line is on standard error.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SERVE_H
#define TESSERA_SERVE_H

#include <cstdint>

namespace tessera::serve {

inline constexpr int64_t kAlignment = 64;
inline constexpr int64_t kWindowBytes = 64 << 20;

/// Kinds of requests.
enum Kind : uint32_t {
  /// Does nothing: its reply follows those of all requests before.
  kSync = 0,
  /// Runs a step.
  kCall = 1,
  /// Copies elements of a parameter or state to the begin of the window.
  kGet = 2,
  /// Copies elements from the begin of the window to a parameter or state.
  kSet = 3,
  /// Ends all ranks, after its reply.
  kStop = 4,
};

/// A message to the program.
struct Request {
  uint32_t kind = kSync;
  /// Get and set: the index of an argument of the role param or state in the
  /// manifest's "arguments".
  uint32_t value = 0;
  /// Get and set: the first element, in row-major order of the logical shape,
  /// and their number, at most what the window has room for.
  int64_t first = 0, count = 0;
  /// Any number; the reply repeats it.
  uint64_t number = 0;
};
static_assert(sizeof(Request) == 32, "requests have a fixed size");

/// The answer to a request.
struct Reply {
  uint32_t kind = kSync;
  /// 1 if the request was refused; its reason follows.
  uint32_t isRefused = 0;
  uint64_t number = 0;
  /// Seconds of the step of a call, as `run` reports them.
  double seconds = 0;
  int64_t reserved = 0;
};
static_assert(sizeof(Reply) == 32, "replies have a fixed size");

} // namespace tessera::serve

#endif // TESSERA_SERVE_H
