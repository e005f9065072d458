//===- CodegenUnits.h - A program as modules compiled apart -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The step of a large model is some hundred thousand calls, each made once: it
// is only to be translated. Kernels are few, all the time goes through them,
// and none knows of another. So a program is split into the step and a fixed
// number of modules of kernels, which are compiled in parallel.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_CODEGENUNITS_H
#define TESSERA_LIB_CONVERSION_CODEGENUNITS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include <vector>

namespace tessera {

struct CodegenUnit {
  /// A module as bitcode: each unit has a context of its own.
  llvm::SmallVector<char, 0> bitcode;
  /// The unit has kernels; the other has the step.
  bool isHot = false;
};

/// Splits a module: functions marked `optnone` and data that several functions
/// read are the first unit, the others are distributed over at most `maxHot`
/// more. Functions that refer to each other stay together. Which unit a
/// function is in depends on the module alone. Symbols that other units refer
/// to get external linkage, hidden.
std::vector<CodegenUnit> splitProgram(llvm::Module &module, unsigned maxHot);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_CODEGENUNITS_H
