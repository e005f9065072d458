//===- ModuleText.h - What MLIR's parser cannot take ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's parser calls itself for each bracket inside of another one, and makes
// room for as many results as the text says: a damaged file can exhaust the
// stack or the memory. It crashes on array<index: ...>. Such files are refused
// before they are parsed; ParserGuard.h is for what else the parser crashes on.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_MODULETEXT_H
#define TESSERA_SUPPORT_MODULETEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// The most brackets around a place of a module, and the most results of an op.
constexpr int64_t kMaxBracketDepth = 1000, kMaxOpResults = 100000;

/// An error "PATH:LINE:COLUMN: expects ..." where the text of a module
/// has more of either, or an array of index; bytecode has none of these.
llvm::Error checkModuleText(llvm::StringRef path, llvm::StringRef text);

} // namespace tessera

#endif // TESSERA_SUPPORT_MODULETEXT_H
