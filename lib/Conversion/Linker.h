//===- Linker.h - Merging and linking objects -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Beside a runtime's library in a folder `link` is all that programs are linked
// with, except for the machine's libc and libm; the linker is then lld, which
// is a part of the tool `tessera`. Any other library is linked by a C++
// compiler driver on PATH.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_LINKER_H
#define TESSERA_LIB_CONVERSION_LINKER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace tessera {

/// Merges objects into one relocatable object, by the linker of the runtime's
/// library; an empty library has none, and takes a driver.
llvm::Error mergeObjects(llvm::ArrayRef<std::string> objects,
                         llvm::StringRef library, llvm::StringRef output);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_LINKER_H
