//===- Libraries.h - Libraries that are loaded when needed ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads libraries that programs are not linked with, so that they start without
// these and report what is missing. cuda/Libraries.h and nodes/ZeroMq.h know
// which there are and where to look for them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_LIBRARIES_H
#define TESSERA_RT_SRC_LIBRARIES_H

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::rt {

/// Result of a search for a library.
struct Library {
  /// The name of the library for messages, such as "cuBLASLt".
  std::string name;
  /// Null: see `error`.
  void *handle = nullptr;
  std::string path;
  /// Version text "13.1.0", and the library's own number of it.
  std::string version;
  int64_t versionNumber = 0;
  /// Reason why it is missing or cannot be used; empty: it is usable.
  std::string error;

  /// A file was found, but the loader refuses it.
  bool isRefused = false;

  /// True if a file was found.
  bool isFound() const { return !path.empty(); }
  bool isUsable() const { return handle && error.empty(); }
  /// Returns the address of a function. Null, with a message in `error`, if the
  /// library does not have it.
  void *symbol(const char *name);
  template <typename Function>
  void bind(Function *&function, const char *name) {
    function = reinterpret_cast<Function *>(symbol(name));
  }
};

/// Loads `file` for library.handle and library.path. Returns false if that is
/// not possible; `refused` then gets the loader's message if the file exists
/// and `refused` is empty.
bool loadLibrary(const std::string &file, Library &library,
                 std::string &refused);

/// Names in a folder that begin with `prefix`, sorted.
std::vector<std::string> listLibraries(const std::string &folder,
                                       const char *prefix);

/// The paths of a variable of the environment that separates them by colons.
std::vector<std::string> splitPaths(const char *variable);

/// Folders that may have Python's packages: of PYTHONPATH, VIRTUAL_ENV, the
/// python3 on PATH, the user's and the system's.
std::vector<std::string> pythonPackages();

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_LIBRARIES_H
