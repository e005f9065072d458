//===- KnownSymbols.h - Functions that generated code may call --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If a processor lacks an instruction, LLVM calls a function instead. Not every
// machine's libraries have it, so a program might compile and not link. This
// list has the functions that every machine has.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_KNOWNSYMBOLS_H
#define TESSERA_LIB_CONVERSION_KNOWNSYMBOLS_H

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"

namespace tessera {

/// True if generated code may refer to a function without defining it: those in
/// the runtime, and some in libc and libm.
bool isKnownSymbol(llvm::StringRef name);

/// Returns an error with the unknown undefined symbols of an object made for
/// `cpu`.
llvm::Error checkSymbols(llvm::MemoryBufferRef object, llvm::StringRef cpu);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_KNOWNSYMBOLS_H
