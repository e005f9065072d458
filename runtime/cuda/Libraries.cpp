//===- Libraries.cpp - Libraries that are loaded when needed --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Libraries.h. This uses nothing of LLVM or the rest of the runtime,
// because tessera doctor uses it too.
//
//===----------------------------------------------------------------------===//

#include "Libraries.h"

#include <algorithm>
#include <cstdlib>
#include <sys/stat.h>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

namespace {
struct Spec {
  const char *name;
  /// Names of its file, the preferred one first.
  std::vector<const char *> files;
  /// The Python package that contains it; null: none.
  const char *package;
  /// The smallest version number that is accepted.
  int64_t least;
  const char *leastText;
};
} // namespace

static const Spec &specOf(LibraryKind kind) {
  static const Spec specs[] = {
      {"the NVIDIA driver", {"libcuda.so.1"}, nullptr, 12000, "12.0"},
      {"cuBLASLt",
       {"libcublasLt.so.13", "libcublasLt.so.12"},
       "nvidia-cublas",
       120000,
       "12.0"},
      {"cuDNN", {"libcudnn.so.9"}, "nvidia-cudnn-cu13", 90000, "9.0"},
      {"NCCL", {"libnccl.so.2"}, "nvidia-nccl-cu13", 22809, "2.28.9"},
  };
  return specs[size_t(kind)];
}

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

static bool isFolder(const std::string &path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

/// Folders other than the user's and the loader's.
static std::vector<std::string> furtherFolders() {
  std::vector<std::string> roots, folders;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *root = getenv(variable))
      roots.push_back(root);
  roots.push_back("/usr/local/cuda");
  for (const std::string &root : roots)
    for (const char *folder : {"/lib64", "/lib"})
      folders.push_back(root + folder);
  for (const std::string &package : pythonPackages())
    for (const std::string &name : listLibraries(package + "/nvidia", ""))
      folders.push_back(package + "/nvidia/" + name + "/lib");
  std::vector<std::string> existing;
  for (const std::string &folder : folders)
    if (isFolder(folder) &&
        std::find(existing.begin(), existing.end(), folder) == existing.end())
      existing.push_back(folder);
  return existing;
}

std::vector<std::string> tessera::rt::cuda::libraryFolders() {
  std::vector<std::string> folders = splitPaths("TESSERA_CUDA_LIBRARY_PATH");
  for (const std::string &folder : furtherFolders())
    folders.push_back(folder);
  return folders;
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// Formats 90201 as "9.2.1": `major` and `minor` are the weights of one major
/// and one minor version.
static std::string decode(int64_t number, int64_t major, int64_t minor) {
  std::string text = std::to_string(number / major) + "." +
                     std::to_string(number % major / minor);
  return number % minor && minor > 1
             ? text + "." + std::to_string(number % minor)
             : text;
}

static void askVersion(LibraryKind kind, Library &library) {
  if (kind == LibraryKind::CublasLt || kind == LibraryKind::Cudnn) {
    size_t (*get)() = nullptr;
    library.bind(get, kind == LibraryKind::CublasLt ? "cublasLtGetVersion"
                                                    : "cudnnGetVersion");
    library.versionNumber = get ? int64_t(get()) : 0;
    library.version = decode(library.versionNumber, 10000, 100);
    return;
  }
  int (*get)(int *) = nullptr;
  int number = 0;
  bool isDriver = kind == LibraryKind::Driver;
  library.bind(get, isDriver ? "cuDriverGetVersion" : "ncclGetVersion");
  if (get && get(&number) != 0)
    library.error = "its version cannot be asked for";
  library.versionNumber = number;
  library.version =
      isDriver ? decode(number, 1000, 10) : decode(number, 10000, 100);
}

/// Asks a loaded library for its version; an error if it is too low.
static void checkVersion(LibraryKind kind, Library &library) {
  const Spec &spec = specOf(kind);
  askVersion(kind, library);
  if (library.error.empty() && library.versionNumber < spec.least)
    library.error = std::string("expects ") + spec.name + " " + spec.leastText +
                    " or later, but got " + library.version + " (" +
                    library.path + ")";
}

/// Describes a library that has no loadable file.
static std::string describeMissing(const Spec &spec,
                                   const std::string &refused) {
  std::string text = std::string(spec.name) + " (" + spec.files[0] + ") ";
  if (!refused.empty())
    return text + "cannot be loaded: " + refused;
  if (!spec.package)
    return text + "is not there";
  return text +
         "is found neither by the loader nor in TESSERA_CUDA_LIBRARY_PATH, "
         "CUDA_HOME, /usr/local/cuda or Python's package " +
         spec.package;
}

Library tessera::rt::cuda::findLibrary(LibraryKind kind) {
  const Spec &spec = specOf(kind);
  std::vector<std::string> folders;
  for (const std::string &folder : splitPaths("TESSERA_CUDA_LIBRARY_PATH"))
    folders.push_back(folder + "/");
  size_t named = folders.size();
  folders.push_back("");
  for (const std::string &folder : furtherFolders())
    folders.push_back(folder + "/");
  Library first;
  std::string refused;
  for (size_t i = 0; i < folders.size(); ++i)
    for (const char *file : spec.files) {
      Library library;
      library.name = spec.name;
      if (!loadLibrary(folders[i] + file, library, refused))
        continue;
      checkVersion(kind, library);
      // An unusable library is skipped unless its folder is the user's choice.
      if (library.isUsable() || i < named)
        return library;
      if (!first.isFound())
        first = library;
    }
  if (first.isFound())
    return first;
  first.name = spec.name;
  first.isRefused = !refused.empty();
  first.error = describeMissing(spec, refused);
  return first;
}
