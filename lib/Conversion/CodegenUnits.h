//===- CodegenUnits.h - Splits a program into units -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The step of a large model is some hundred thousand calls, each made once, so
// it is only translated. Kernels are few and independent, and take nearly all
// of the time. So a program is split into the step and a fixed number of
// modules of kernels, which are compiled in parallel.
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
  /// True for a unit of kernels; the other unit has the step.
  bool isHot = false;
};

/// Splits a module. Functions marked `optnone` and data that several functions
/// read are the first unit; the others are distributed over at most `maxHot`
/// more. Functions that refer to each other stay together. The unit of a
/// function depends on the module alone. Symbols that other units refer to get
/// external linkage and are hidden.
std::vector<CodegenUnit> splitProgram(llvm::Module &module, unsigned maxHot);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_CODEGENUNITS_H
