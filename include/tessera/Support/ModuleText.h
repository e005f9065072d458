//===- ModuleText.h - Texts that crash MLIR's parser ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's parser recurses on each nested bracket and allocates as many results
// as the text asks for, so a damaged file can exhaust the stack or the memory.
// It also crashes on array<index: ...>. These checks refuse such files before
// parsing; tools handle other crashes of the parser
// (tools/common/ParserGuard.h).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_MODULETEXT_H
#define TESSERA_SUPPORT_MODULETEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// The deepest nesting of brackets in a module, and the most results of an op.
constexpr int64_t kMaxBracketDepth = 1000, kMaxOpResults = 100000;

/// Fails with "PATH:LINE:COLUMN: expects ..." if the text of a module exceeds
/// either limit, or has an array of index. Bytecode passes.
llvm::Error checkModuleText(llvm::StringRef path, llvm::StringRef text);

} // namespace tessera

#endif // TESSERA_SUPPORT_MODULETEXT_H
