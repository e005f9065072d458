//===- CheckpointOfTools.cpp - Checkpoints without a program --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of tessera_checkpoint.h.
//
//===----------------------------------------------------------------------===//

#include "Export.h"
#include "RunFolder.h"
#include "data/Folders.h"
#include "tessera_checkpoint.h"

#include <sys/stat.h>
#include <thread>

using namespace tessera::rt;

struct tessera_rt_checkpoints {
  std::vector<std::string> paths;
  std::string error;
};

struct tessera_rt_checkpoint {
  CheckpointReader reader;
  std::vector<const Value *> tensors;
  std::string mesh, error, message;
  ThreadPool pool{int(std::max(1u, std::thread::hardware_concurrency())), 0};
};

tessera_rt_checkpoints *tessera_rt_checkpoints_open(const char *path) {
  auto *list = new tessera_rt_checkpoints;
  std::string folder = resolvePath(path);
  if (readStepName(folder.substr(folder.rfind('/') + 1)) >= 0) {
    list->paths = {path};
    return list;
  }
  std::vector<int64_t> steps;
  list->error = exists(folder) ? findSteps(folder, steps)
                               : describeSystemError("find", path);
  for (int64_t step : steps)
    list->paths.push_back(std::string(path) + "/" + stepName(step));
  return list;
}

const char *tessera_rt_checkpoints_error(const tessera_rt_checkpoints *list) {
  return list->error.c_str();
}

const char *tessera_rt_checkpoints_path(const tessera_rt_checkpoints *list,
                                        int64_t number) {
  return size_t(number) < list->paths.size()
             ? list->paths[size_t(number)].c_str()
             : nullptr;
}

void tessera_rt_checkpoints_close(tessera_rt_checkpoints *list) { delete list; }

tessera_rt_checkpoint *tessera_rt_checkpoint_open(const char *path) {
  auto *opened = new tessera_rt_checkpoint;
  bool isForeign;
  opened->error = opened->reader.open(path, isForeign);
  if (opened->error.empty())
    opened->error = opened->reader.checkSizes();
  const Manifest &layout = opened->reader.manifest().layout;
  opened->tensors = stateOf(layout);
  opened->mesh = describeMesh(layout);
  return opened;
}

const char *tessera_rt_checkpoint_error(const tessera_rt_checkpoint *opened) {
  return opened->error.c_str();
}

void tessera_rt_checkpoint_close(tessera_rt_checkpoint *opened) {
  delete opened;
}

tessera_rt_checkpoint_facts
tessera_rt_checkpoint_describe(const tessera_rt_checkpoint *opened) {
  const CheckpointManifest &manifest = opened->reader.manifest();
  struct stat info = {};
  // The manifest is the last but one file that a commit writes.
  stat((opened->reader.path() + "/" + checkpointManifestName).c_str(), &info);
  return {manifest.position.step,
          manifest.position.dataPosition,
          manifest.position.data.c_str(),
          manifest.layout.program.c_str(),
          manifest.layout.ranks,
          opened->mesh.c_str(),
          opened->reader.bytes(),
          double(info.st_mtim.tv_sec) + 1e-9 * double(info.st_mtim.tv_nsec),
          int64_t(opened->tensors.size())};
}

tessera_rt_checkpoint_tensor
tessera_rt_checkpoint_get_tensor(const tessera_rt_checkpoint *opened,
                                 int64_t number) {
  const Value &value = *opened->tensors[size_t(number)];
  return {value.name.c_str(), roleName(value.role), dtypeName(value.dtype),
          value.logicalShape.data(), int64_t(value.logicalShape.size())};
}

const char *tessera_rt_checkpoint_verify(tessera_rt_checkpoint *opened) {
  opened->message = opened->reader.verify(opened->pool, 0, 1);
  return opened->message.c_str();
}

const char *tessera_rt_checkpoint_export(tessera_rt_checkpoint *opened,
                                         const char *path, int32_t as_folder) {
  opened->message = as_folder ? exportFolder(opened->reader, path, opened->pool)
                              : exportFile(opened->reader, path);
  return opened->message.c_str();
}
