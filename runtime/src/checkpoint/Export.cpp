//===- Export.cpp - Whole tensors of a checkpoint -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Export.h.
//
//===----------------------------------------------------------------------===//

#include "Export.h"

#include "data/Folders.h"
#include "data/Safetensors.h"
#include "data/SavedState.h"
#include "data/StagedFolder.h"

#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

using namespace tessera::rt;

/// Writes the tensors to an open file, part by part.
static std::string writeTensors(const CheckpointReader &checkpoint,
                                const std::vector<const Value *> &tensors,
                                const std::string &path, int fd) {
  constexpr int64_t most = 4 << 20;
  std::vector<uint8_t> part(most);
  for (const Value *tensor : tensors) {
    int64_t size = dtypeSize(tensor->dtype), count = tensor->elements();
    for (int64_t at = 0; at < count; at += most / size) {
      int64_t some = std::min(most / size, count - at);
      std::string error = checkpoint.read(*tensor, at, some, part.data());
      if (!error.empty())
        return error;
      if (!writeAll(fd, part.data(), size_t(some * size)))
        return describeSystemError("write", path);
    }
  }
  return fsync(fd) == 0 ? std::string() : describeSystemError("sync", path);
}

std::string tessera::rt::exportFile(const CheckpointReader &checkpoint,
                                    const std::string &path) {
  std::vector<const Value *> tensors = stateOf(checkpoint.manifest().layout);
  SafetensorsHeader header;
  header.metadata = {{"format", "pt"}};
  int64_t end = 0;
  for (const Value *tensor : tensors) {
    int64_t begin = end;
    end += tensor->elements() * dtypeSize(tensor->dtype);
    header.entries.push_back({tensor->name, safetensorsName(tensor->dtype),
                              tensor->logicalShape, begin, end});
  }
  std::string target = resolvePath(path), partial = target + ".partial";
  std::string text = describeSafetensors(header);
  int fd =
      open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0)
    return describeSystemError("make", partial);
  std::string error = writeAll(fd, text.data(), text.size())
                          ? writeTensors(checkpoint, tensors, partial, fd)
                          : describeSystemError("write", partial);
  if (close(fd) != 0 && error.empty())
    error = describeSystemError("close", partial);
  if (error.empty() && rename(partial.c_str(), target.c_str()) != 0)
    error = describeSystemError("rename to", target);
  if (!error.empty())
    unlink(partial.c_str());
  return error.empty() ? syncFolder(parentOf(target)) : error;
}

std::string tessera::rt::exportFolder(const CheckpointReader &checkpoint,
                                      const std::string &path,
                                      ThreadPool &pool) {
  const CheckpointManifest &manifest = checkpoint.manifest();
  std::vector<const Value *> tensors = stateOf(manifest.layout);
  int64_t bytes = 0;
  for (const Value *tensor : tensors)
    bytes += npyBytes(tensor->dtype, tensor->logicalShape);
  StagedFolder folder;
  std::string error = folder.open(path, bytes);
  std::string staging = stagingPath(folder.path());
  for (const Value *tensor : tensors) {
    if (!error.empty())
      return error;
    int64_t count = tensor->elements();
    std::vector<uint8_t> whole(size_t(count * dtypeSize(tensor->dtype)));
    error = checkpoint.read(*tensor, 0, count, whole.data());
    if (error.empty())
      error = writeNpy(staging + "/" + tensor->name + ".npy", tensor->dtype,
                       tensor->logicalShape, whole.data());
  }
  SavedState saved;
  saved.kind = "state";
  saved.program = manifest.layout.program;
  saved.hash = manifest.layout.hash;
  saved.ranks = manifest.layout.ranks;
  saved.step = manifest.position.step;
  saved.dataPosition = manifest.position.dataPosition;
  saved.data = manifest.position.data;
  if (error.empty())
    error = writeStateManifest(staging, tensors, pool, saved);
  return error.empty() ? folder.publish() : error;
}
