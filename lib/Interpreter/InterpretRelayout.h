//===- InterpretRelayout.h - The linalg ops without a body ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_INTERPRETER_INTERPRETRELAYOUT_H
#define TESSERA_LIB_INTERPRETER_INTERPRETRELAYOUT_H

#include "Interpretation.h"

namespace tessera::interp {

/// Adds handlers for linalg.softmax, linalg.pack and linalg.unpack.
void addRelayoutHandlers(Registry &registry);

} // namespace tessera::interp

#endif // TESSERA_LIB_INTERPRETER_INTERPRETRELAYOUT_H
