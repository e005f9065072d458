//===- ProgramParts.h - A program as modules compiled apart -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The step of a large model is some hundred thousand calls, each made once: it
// is only to be translated. Kernels are few, all the time goes through them,
// and none knows of another. So a program is cut into the step and a fixed
// number of modules of kernels, which are compiled in parallel.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_PROGRAMPARTS_H
#define TESSERA_LIB_CONVERSION_PROGRAMPARTS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include <vector>

namespace tessera {

struct ProgramPart {
  /// A module as bitcode: each part has a context of its own.
  llvm::SmallVector<char, 0> bitcode;
  /// The part has kernels; the other has the step.
  bool isHot = false;
};

/// Cuts a module: functions marked `optnone` and data that several functions
/// read are the first part, the others are spread over at most `maxHot` more.
/// Functions that refer to each other stay together. Which part a function is
/// in depends on the module alone. Symbols that other parts refer to get
/// external linkage, hidden.
std::vector<ProgramPart> splitProgram(llvm::Module &module, unsigned maxHot);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_PROGRAMPARTS_H
