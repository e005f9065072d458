//===- NarrowFloats.h - Floats of 16 bits without instructions --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If a processor has no instruction for a cast to bf16 or f16, LLVM calls a
// function of the compiler's support library for each number. Not all of these
// libraries have the functions, and a loop with calls is not vectorized.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_NARROWFLOATS_H
#define TESSERA_CODEGEN_NARROWFLOATS_H

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

namespace tessera {

/// Computes on bf16 and f16 in f32, and casts by integer arithmetic without
/// branches. Casts round once, to nearest, ties to even; denormals are exact; a
/// NaN stays a quiet NaN with the upper bits of its payload. f16 keeps the
/// instructions of `machine`: casts if it has F16C, everything if it has
/// AVX512-FP16. bf16 is always expanded, since the instructions of AVX512-BF16
/// replace denormals by zero.
void expandNarrowFloats(llvm::Module &module,
                        const llvm::TargetMachine &machine);

} // namespace tessera

#endif // TESSERA_CODEGEN_NARROWFLOATS_H
