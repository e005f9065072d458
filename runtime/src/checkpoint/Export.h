//===- Export.h - Whole tensors of a checkpoint -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_EXPORT_H
#define TESSERA_RT_SRC_EXPORT_H

#include "Reader.h"

#include <string>

namespace tessera::rt {

/// Writes the tensors of a checkpoint to one safetensors file, in the order of
/// its manifest. An existing file is replaced once all is written. Returns a
/// message, or nothing.
std::string exportFile(const CheckpointReader &checkpoint,
                       const std::string &path);

/// Writes them as --save-final does, for --inputs. Returns a message, or
/// nothing.
std::string exportFolder(const CheckpointReader &checkpoint,
                         const std::string &path, ThreadPool &pool);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_EXPORT_H
