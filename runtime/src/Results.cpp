//===-- Results.cpp - Gathering results -----------------------------------===//
//
// Part of the Tessera Project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Arguments.h. Arenas of all ranks are mapped everywhere, so one rank
// assembles a whole value by itself; values are dealt out to the ranks in turn.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "Npy.h"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>

using namespace tessera::rt;

/// Makes a directory and those above it. Returns a message, or nothing.
static std::string makeDirectories(const std::string &path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0777) != 0 && errno != EEXIST)
      return "cannot make the directory '" + part + "': " + strerror(errno);
    if (end == std::string::npos)
      return std::string();
  }
}

/// The value in its true shape.
static std::vector<uint8_t> assemble(tessera_rt_context *ctx,
                                     const Value &value) {
  int64_t size = dtypeSize(value.dtype);
  std::vector<uint8_t> whole(size_t(value.elements() * size));
  for (int owner : blockOwners(value, ctx->ranks)) {
    ShardRuns runs(value, owner);
    const uint8_t *block = ctx->memory.arena(owner) + value.offset;
    for (int64_t i = 0; i < runs.size(); ++i) {
      ShardRuns::Run run = runs[i];
      memcpy(whole.data() + run.global * size, block + run.local * size,
             size_t(run.length * size));
    }
  }
  return whole;
}

Status tessera::rt::writeResults(tessera_rt_context *ctx,
                                 const Manifest &manifest,
                                 const Options &options) {
  std::string error = makeDirectories(options.saveOutputs);
  if (!error.empty())
    return fail(ctx, TESSERA_RT_SYSTEM, error);
  for (size_t i = 0; i < manifest.results.size(); ++i) {
    if (int(i % size_t(ctx->ranks)) != ctx->rank)
      continue;
    const Value &value = manifest.results[i];
    std::vector<uint8_t> whole = assemble(ctx, value);
    error = writeNpy(options.saveOutputs + "/" + value.name + ".npy",
                     value.dtype, value.shape, whole.data());
    if (!error.empty())
      return fail(ctx, TESSERA_RT_SYSTEM, error);
  }
  return TESSERA_RT_OK;
}
