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

#include "support/Libraries.h"

namespace tessera::rt::cuda {

using rt::Library;

enum class LibraryKind { Driver, CublasLt, Cudnn, Nccl };

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
