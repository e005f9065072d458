//===- PhasePipelines.h - The phases as named pipelines ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_REGISTRATION_PHASEPIPELINES_H
#define TESSERA_LIB_REGISTRATION_PHASEPIPELINES_H

namespace tessera {

/// Registers one pipeline per phase (`--tessera-partition`) and `--compile-to`.
void registerPhasePipelines();

} // namespace tessera

#endif // TESSERA_LIB_REGISTRATION_PHASEPIPELINES_H
