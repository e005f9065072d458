//===- Share.cpp - Files that come with the tools -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Share.h"
#include "tessera/Support/Spelling.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <dlfcn.h>
#include <link.h>

using namespace llvm;
using namespace tessera;

static std::string joinPath(StringRef folder, StringRef name) {
  SmallString<128> path(folder);
  sys::path::append(path, name);
  return path.str().str();
}

std::string tessera::findOwnFile() {
  void *code = reinterpret_cast<void *>(&findOwnFile);
  Dl_info info;
  link_map *file = nullptr;
  // The executable's own entry has no name.
  if (!dladdr1(code, &info, reinterpret_cast<void **>(&file),
               RTLD_DL_LINKMAP) ||
      !file || !*file->l_name)
    return sys::fs::getMainExecutable(nullptr, code);
  SmallString<128> path;
  return sys::fs::real_path(file->l_name, path) ? file->l_name
                                                : path.str().str();
}

/// The path of share/`folder`, or "" if there is none.
static std::string findSharedFolder(StringRef folder) {
  std::string self = findOwnFile();
  StringRef above = sys::path::parent_path(self);
  SmallVector<std::string> candidates;
  for (int level = 0; level < 2; ++level) {
    above = sys::path::parent_path(above);
    candidates.push_back(joinPath(above, "share/tessera"));
    candidates.push_back(joinPath(above, "share"));
  }
  for (const std::string &share : candidates)
    if (std::string path = joinPath(share, folder); sys::fs::is_directory(path))
      return path;
  return "";
}

/// The path of `folder`/`name`.json, or "" if there is no such file.
static std::string findJsonFile(StringRef folder, StringRef name) {
  if (name.empty() || name.contains('/'))
    return "";
  std::string path = joinPath(folder, (name + ".json").str());
  return sys::fs::exists(path) ? path : "";
}

std::string tessera::findShared(StringRef folder, StringRef name) {
  std::string found = findSharedFolder(folder);
  return found.empty() ? "" : findJsonFile(found, name);
}

std::string tessera::findNear(StringRef folder, StringRef shared,
                              StringRef name) {
  std::string path = findJsonFile(folder, name);
  return path.empty() ? findShared(shared, name) : path;
}

std::vector<std::string> tessera::listShared(StringRef folder) {
  return listJsonFiles(findSharedFolder(folder));
}

std::vector<std::string> tessera::listJsonFiles(StringRef folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (sys::fs::directory_iterator it(folder, error), end; it != end && !error;
       it.increment(error))
    if (sys::path::extension(it->path()) == ".json")
      names.push_back(sys::path::stem(it->path()).str());
  llvm::sort(names);
  return names;
}

Expected<std::string> tessera::resolveShared(StringRef folder, StringRef value,
                                             StringRef expected) {
  if (value.contains('/') || value.ends_with(".json"))
    return value.str();
  std::string path = findShared(folder, value);
  if (!path.empty())
    return path;
  if (sys::fs::is_regular_file(value))
    return value.str();
  std::vector<std::string> names = listShared(folder);
  SmallVector<StringRef> known(names.begin(), names.end());
  return createStringError(expected + " expects a file, or one of " +
                           join(names, ", ") + ", but got '" + value + "'" +
                           didYouMean(value, known));
}
