//===- CompileUnits.h - Objects of a program's units ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_COMPILEUNITS_H
#define TESSERA_LIB_CONVERSION_COMPILEUNITS_H

#include "tessera/Conversion/Executable.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include <vector>

namespace tessera {

/// The bytes of an object file.
using ObjectBytes = llvm::SmallVector<char, 0>;

/// LLVM's target for this machine's architecture and the options' cpu. An error
/// for a cpu that LLVM does not know.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createMachine(const ObjectOptions &options);

/// The module's object, or those of its units where it is large: the step as it
/// is, kernels optimized, in parallel on all processors. The same module gives
/// the same objects on every machine.
llvm::Expected<std::vector<ObjectBytes>>
compileUnits(std::unique_ptr<llvm::Module> module,
             const ObjectOptions &options);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_COMPILEUNITS_H
