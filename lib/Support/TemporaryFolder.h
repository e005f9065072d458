//===- TemporaryFolder.h - The folder of temporary files --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_SUPPORT_TEMPORARYFOLDER_H
#define TESSERA_LIB_SUPPORT_TEMPORARYFOLDER_H

#include "llvm/Support/Error.h"

#include <string>

namespace tessera {

/// The path of this process's folder, created at first use.
llvm::Expected<std::string> useTemporaryFolder();
/// Ends a use. The last one removes the folder with its contents.
void leaveTemporaryFolder();

} // namespace tessera

#endif // TESSERA_LIB_SUPPORT_TEMPORARYFOLDER_H
