//===- Registration.h - Dialects and passes, for C --------------*- C -*---===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API follows MLIR's (mlir-c/): the library has both, handles of IR are
// those of MLIR, and passes are added by their text, as
// "builtin.module(tessera-partitioner)". The IR's diagnostics go to the
// handlers of the context; a function with `onError` calls it once with one
// line if it fails. No function prints, installs a signal handler or blocks a
// signal. Threads may use different contexts at the same time.
//
// Functions and values of enumerations are only added while the ABI's number is
// the same. It is the library's name, too: libTesseraC.so.1.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_C_REGISTRATION_H
#define TESSERA_C_REGISTRATION_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

/// The number of the ABI that this header declares.
#define TESSERA_ABI_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

/// Returns the number of the library's ABI.
MLIR_CAPI_EXPORTED int tesseraAbiVersion(void);

/// Fails if the library has another ABI than `version`, which callers give as
/// TESSERA_ABI_VERSION of the header that they were compiled with.
MLIR_CAPI_EXPORTED MlirLogicalResult
tesseraCheckAbiVersion(int version, MlirStringCallback onError, void *userData);

/// Adds Tessera's dialects, and the upstream dialects of its programs, to a
/// registry. A context with a dialect of its own is created from one that has
/// both.
MLIR_CAPI_EXPORTED void tesseraRegisterDialects(MlirDialectRegistry registry);

/// Registers all passes and pipelines of Tessera in the process by their names,
/// once however often it is called. Pipelines: `tessera-partitioner`, from seed
/// shardings to a proven local program; `tessera-import`, from StableHLO in
/// MLIR's generic form; `compile-to{llvm mesh=dp=2 strategy=dp}`, the phases up
/// to one, of which `llvm` is what tesseraWriteExecutable() takes.
MLIR_CAPI_EXPORTED void tesseraRegisterPasses(void);

#ifdef __cplusplus
}
#endif

#endif // TESSERA_C_REGISTRATION_H
