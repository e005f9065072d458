//===- Serve.h - Steps on request -------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The side of tessera_serve.h that the ranks have.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_SERVE_H
#define TESSERA_RT_SRC_SERVE_H

#include "Options.h"
#include "data/Manifest.h"
#include "ranks/Context.h"
#include "tessera_serve.h"

#include <string>
#include <vector>

namespace tessera::rt {

/// A value in the shared memory, from byte `offset` on.
struct ServedValue {
  const Value *value;
  int64_t offset;
};

/// The parts of the memory that a program shares with its client.
struct ServedMemory {
  explicit ServedMemory(const Manifest &manifest);

  std::vector<ServedValue> inputs, results;
  int64_t window = 0;
  /// Bytes of the whole.
  int64_t bytes = 0;
};

/// Checks a message of `size` bytes, and reads it. Returns the reason for which
/// the program refuses it, or nothing.
std::string readRequest(const Manifest &manifest, const void *message,
                        size_t size, serve::Request &request);

/// Copies elements of a parameter or state to or from `window`, as a request
/// that was read asks. All ranks call it.
Status transferElements(tessera_rt_context *ctx, const Manifest &manifest,
                        const serve::Request &request, uint8_t *window);

/// Answers requests until the client stops. All ranks must have filled their
/// arguments and passed a barrier.
Status serveRequests(tessera_rt_context *ctx, const Manifest &manifest,
                     const Options &options);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_SERVE_H
