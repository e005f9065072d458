//===- Libraries.h - Libraries that are loaded when needed ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds and loads cuBLASLt, cuDNN and NCCL. Programs are not linked with them,
// so that they start without these libraries and report what is missing.
//
// The search order is: the folders of TESSERA_CUDA_LIBRARY_PATH; the loader's
// own search; CUDA_HOME, CUDA_PATH and /usr/local/cuda; and the nvidia packages
// of Python (of PYTHONPATH, VIRTUAL_ENV, the python3 on PATH, the user's and
// the system's).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_LIBRARIES_H
#define TESSERA_RT_CUDA_LIBRARIES_H

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::rt::cuda {

enum class LibraryKind { Driver, CublasLt, Cudnn, Nccl };

/// The name of a library, such as "cuBLASLt".
const char *libraryName(LibraryKind kind);

/// Result of a search for a library.
struct Library {
  LibraryKind kind = LibraryKind::CublasLt;
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

/// Finds a library, loads it, and compares its version with the one that
/// Tessera needs. A library that is too old is skipped unless
/// TESSERA_CUDA_LIBRARY_PATH names it; if there is no other, its error is
/// returned. No library is ever unloaded, because these libraries have threads.
Library findLibrary(LibraryKind kind);

/// The folders that are searched in addition to the loader's, first those in
/// TESSERA_CUDA_LIBRARY_PATH.
std::vector<std::string> libraryFolders();

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_LIBRARIES_H
