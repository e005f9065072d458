//===- Share.cpp - Clusters and models by name ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Share.h"

#include "tessera/Support/Spelling.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace tessera;
using llvm::StringRef;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static std::string findFolder(StringRef folder) {
  std::string tool = fs::getMainExecutable(
      nullptr, reinterpret_cast<void *>(&tessera::listShared));
  llvm::SmallString<128> found(path::parent_path(path::parent_path(tool)));
  path::append(found, "share", folder);
  if (!fs::is_directory(found)) {
    found = TESSERA_SHARE;
    path::append(found, folder);
  }
  return found.str().str();
}

std::vector<std::string> tessera::listShared(StringRef folder) {
  std::vector<std::string> names;
  std::error_code code;
  for (fs::directory_iterator file(findFolder(folder), code), end;
       !code && file != end; file.increment(code))
    if (path::extension(file->path()) == ".json")
      names.push_back(path::stem(file->path()).str());
  llvm::sort(names);
  return names;
}

llvm::Expected<std::string>
tessera::findShared(StringRef folder, StringRef value, StringRef expected) {
  bool isFile = fs::exists(value) && !fs::is_directory(value);
  if (value.contains('/') || value.ends_with(".json") || isFile)
    return value.str();
  llvm::SmallString<128> file(findFolder(folder));
  path::append(file, value + ".json");
  if (!value.empty() && fs::exists(file))
    return file.str().str();
  std::vector<std::string> names = listShared(folder);
  std::vector<StringRef> known(names.begin(), names.end());
  return llvm::createStringError(expected + " expects a file, or one of " +
                                 llvm::join(names, ", ") + ", but got '" +
                                 value + "'" + didYouMean(value, known));
}
