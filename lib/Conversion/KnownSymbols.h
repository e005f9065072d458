//===- KnownSymbols.h - What generated code may call ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a processor lacks an instruction, LLVM calls a function instead. Which
// of them a machine has depends on its libraries, so a program might compile
// and not link. This is the home of the list of those that every machine has.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_KNOWNSYMBOLS_H
#define TESSERA_LIB_CONVERSION_KNOWNSYMBOLS_H

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"

namespace tessera {

/// Whether generated code may refer to a function that it does not define: the
/// runtime's, and some of libc's and libm's.
bool isKnownSymbol(llvm::StringRef name);

/// An error that names the undefined symbols of an object, made for `cpu`, that
/// are not known.
llvm::Error checkSymbols(llvm::MemoryBufferRef object, llvm::StringRef cpu);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_KNOWNSYMBOLS_H
