//===- LLVMAbi.h - The packaged LLVM's ABI ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An LLVM without assertions is built with NDEBUG, and llvm::Statistic has
// another layout without it. Every file includes this header first: it selects
// the library's layout and leaves our own asserts on. An LLVM with assertions
// (TESSERA_LLVM_ASSERTIONS) has the layout that they expect.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_LLVMABI_H
#define TESSERA_SUPPORT_LLVMABI_H

#if !defined(NDEBUG) && !defined(TESSERA_LLVM_ASSERTIONS)
#define NDEBUG 1
#include "llvm/ADT/Statistic.h"
#undef NDEBUG
#endif

#endif // TESSERA_SUPPORT_LLVMABI_H
