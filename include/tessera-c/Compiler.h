//===- Compiler.h - Models and executables, for C ---------------*- C -*---===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two ends of a compilation: a model's graph from its config, and an
// executable from LLVM dialect. Pipelines are between (Registration.h).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_C_COMPILER_H
#define TESSERA_C_COMPILER_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The settings of a model that its config does not have.
struct TesseraModelOptions {
  void *ptr;
};
typedef struct TesseraModelOptions TesseraModelOptions;

/// Returns options for a batch of one sequence as long as the config allows, in
/// f32, without a loss. The caller destroys them.
MLIR_CAPI_EXPORTED TesseraModelOptions tesseraModelOptionsCreate(void);

/// Destroys options; null does nothing.
MLIR_CAPI_EXPORTED void tesseraModelOptionsDestroy(TesseraModelOptions options);

/// Sets the number of sequences in a batch.
MLIR_CAPI_EXPORTED void tesseraModelOptionsSetBatch(TesseraModelOptions options,
                                                    int64_t sequences);

/// Sets the number of tokens in a sequence.
MLIR_CAPI_EXPORTED void
tesseraModelOptionsSetSequence(TesseraModelOptions options, int64_t tokens);

/// Replaces the config's number of layers.
MLIR_CAPI_EXPORTED void
tesseraModelOptionsSetLayers(TesseraModelOptions options, int64_t layers);

/// Sets whether the graph takes labels and returns the loss, which makes it a
/// training step.
MLIR_CAPI_EXPORTED void tesseraModelOptionsSetTrain(TesseraModelOptions options,
                                                    bool trains);

/// Sets the type of parameters and activations: "f32", "bf16" or "f16". Fails
/// for others.
MLIR_CAPI_EXPORTED MlirLogicalResult tesseraModelOptionsSetElementType(
    TesseraModelOptions options, MlirStringRef type, MlirStringCallback onError,
    void *userData);

/// Returns the graph of a model: a module with the function `forward`, as
/// `tessera model` prints it, which the caller destroys. `config` is the path
/// of a config.json, or the name of a model that comes with Tessera, as "gpt2".
/// Returns null and calls `onError` if there is no such file, if it cannot be
/// read, or if the options do not fit it.
MLIR_CAPI_EXPORTED MlirModule tesseraModelCreate(MlirContext context,
                                                 MlirStringRef config,
                                                 TesseraModelOptions options,
                                                 MlirStringCallback onError,
                                                 void *userData);

/// Writes the executable of a module of phase `llvm` for the host. `cpu` is the
/// processor by LLVM's name; empty: this machine's. `runtimeLibrary` is the
/// path of libtessera_rt_host.a; empty: the one that is installed with this
/// library. Fails for a module that is not of this phase or for another target,
/// an unknown processor, a missing runtime, a missing C++ compiler driver on
/// PATH, and a file that cannot be written.
MLIR_CAPI_EXPORTED MlirLogicalResult tesseraWriteExecutable(
    MlirModule module, MlirStringRef cpu, MlirStringRef runtimeLibrary,
    MlirStringRef path, MlirStringCallback onError, void *userData);

#ifdef __cplusplus
}
#endif

#endif // TESSERA_C_COMPILER_H
