//===- Libraries.h - Libraries that are loaded when needed ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds and loads cuBLASLt, cuDNN and NCCL. Programs are not linked with them,
// so that they start, and say what is missing, where these are not installed.
//
// Searched are, in this order: the folders of TESSERA_CUDA_LIBRARY_PATH; what
// the loader finds by itself; CUDA_HOME, CUDA_PATH and /usr/local/cuda; and the
// nvidia packages of Python (of PYTHONPATH, VIRTUAL_ENV, the python3 on PATH,
// the user's and the system's).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_LIBRARIES_H
#define TESSERA_RT_CUDA_LIBRARIES_H

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::rt::cuda {

enum class LibraryKind { Driver, CublasLt, Cudnn, Nccl };

/// "cuBLASLt"
const char *libraryName(LibraryKind kind);

/// A library that was looked for.
struct Library {
  LibraryKind kind = LibraryKind::CublasLt;
  /// Null: see `error`.
  void *handle = nullptr;
  std::string path;
  /// "13.1.0", and the number that the library gives itself.
  std::string version;
  int64_t versionNumber = 0;
  /// Why it is not there, or cannot be used; empty: it is usable.
  std::string error;

  /// A file was found, but the loader refuses it.
  bool isRefused = false;

  /// Whether a file was found.
  bool isFound() const { return !path.empty(); }
  bool isUsable() const { return handle && error.empty(); }
  /// The address of a function. Null, with a message in `error`, if the library
  /// does not have it.
  void *symbol(const char *name);
  template <typename Function>
  void bind(Function *&function, const char *name) {
    function = reinterpret_cast<Function *>(symbol(name));
  }
};

/// Looks for a library, loads it, asks for its version, and checks that against
/// what Tessera needs. One that is too old is passed over, unless
/// TESSERA_CUDA_LIBRARY_PATH names it; if no other is there, its error is the
/// answer. None is ever unloaded: these libraries have threads.
Library findLibrary(LibraryKind kind);

/// The folders that are searched beside the loader's, those of
/// TESSERA_CUDA_LIBRARY_PATH first.
std::vector<std::string> libraryFolders();

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_LIBRARIES_H
