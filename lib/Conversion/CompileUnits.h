//===- CompileUnits.h - Compiles a program's units to objects ---*- C++ -*-===//
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

/// Returns LLVM's target for this machine's architecture and the options' cpu.
/// Fails if LLVM does not know the cpu.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createMachine(const ObjectOptions &options);

/// Returns the module's object, or the objects of its units if it is large: the
/// step unoptimized, kernels optimized, in parallel on all processors. The same
/// module gives the same objects on every machine.
llvm::Expected<std::vector<ObjectBytes>>
compileUnits(std::unique_ptr<llvm::Module> module,
             const ObjectOptions &options);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_COMPILEUNITS_H
