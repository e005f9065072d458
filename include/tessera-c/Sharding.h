//===- Sharding.h - Sharding attributes, for C ------------------*- C -*---===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds and reads `#dist.sharding<@mesh, [{"dp"}, {"tp", ?}]>`, the value of
// `dist.sharding` on arguments and results and an element of `dist.shardings`
// on ops. Functions that read take any attribute, null too: of one that is not
// what they read they return -1, false or a null attribute.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_C_SHARDING_H
#define TESSERA_C_SHARDING_H

#include "mlir-c/IR.h"
#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The operation that combines partial values.
enum TesseraReduction {
  TesseraReductionSum = 0,
  TesseraReductionMax = 1,
  TesseraReductionMin = 2
};

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

/// Returns the mesh axis `name`; or, with a size of at least 2, the part of it
/// that has `preSize` groups on its major side and `size` devices. A size of 0
/// is the whole axis. Returns null and calls `onError` for other sizes.
MLIR_CAPI_EXPORTED MlirAttribute tesseraAxisGet(MlirContext context,
                                                MlirStringRef name,
                                                int64_t preSize, int64_t size,
                                                MlirStringCallback onError,
                                                void *userData);

/// Returns whether the attribute is an axis.
MLIR_CAPI_EXPORTED bool tesseraAttributeIsAxis(MlirAttribute attribute);

/// Returns the name of an axis, which lives as long as the context; empty for
/// other attributes.
MLIR_CAPI_EXPORTED MlirStringRef tesseraAxisGetName(MlirAttribute axis);

/// Returns the number of groups on the major side of a part of an axis; 1 for a
/// whole axis.
MLIR_CAPI_EXPORTED int64_t tesseraAxisGetPreSize(MlirAttribute axis);

/// Returns the number of devices of a part of an axis; 0 for a whole axis.
MLIR_CAPI_EXPORTED int64_t tesseraAxisGetSize(MlirAttribute axis);

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

/// Returns the sharding of one dimension over `axes`, major first. Propagation
/// may add axes to it if it is open. Returns null and calls `onError` if an
/// axis is null, no axis, or of another context.
MLIR_CAPI_EXPORTED MlirAttribute tesseraDimShardingGet(
    MlirContext context, intptr_t numAxes, MlirAttribute const *axes,
    bool isOpen, MlirStringCallback onError, void *userData);

/// Returns whether the attribute is the sharding of one dimension.
MLIR_CAPI_EXPORTED bool tesseraAttributeIsDimSharding(MlirAttribute attribute);

/// Returns the number of axes of a dimension.
MLIR_CAPI_EXPORTED intptr_t
tesseraDimShardingGetNumAxes(MlirAttribute dimension);

/// Returns an axis of a dimension, 0 being the major one; null if there is none
/// of this number.
MLIR_CAPI_EXPORTED MlirAttribute
tesseraDimShardingGetAxis(MlirAttribute dimension, intptr_t position);

/// Returns whether propagation may add axes to a dimension.
MLIR_CAPI_EXPORTED bool tesseraDimShardingIsOpen(MlirAttribute dimension);

/// Returns the sharding of a tensor over the mesh of this symbol name, by
/// dimension. Over `replicated` axes the tensor is whole and stays so; over
/// `unreduced` axes each device has a partial value. Returns null and calls
/// `onError` if an attribute is null, of another kind or another context, or if
/// an axis is used twice. The mesh is looked up where the sharding is attached.
MLIR_CAPI_EXPORTED MlirAttribute tesseraShardingGet(
    MlirContext context, MlirStringRef mesh, intptr_t numDimensions,
    MlirAttribute const *dimensions, intptr_t numReplicated,
    MlirAttribute const *replicated, intptr_t numUnreduced,
    MlirAttribute const *unreduced, enum TesseraReduction reduction,
    MlirStringCallback onError, void *userData);

/// Returns whether the attribute is the sharding of a tensor.
MLIR_CAPI_EXPORTED bool tesseraAttributeIsSharding(MlirAttribute attribute);

/// Returns the symbol name of a sharding's mesh, which lives as long as the
/// context; empty for other attributes.
MLIR_CAPI_EXPORTED MlirStringRef tesseraShardingGetMesh(MlirAttribute sharding);

/// Returns the number of dimensions of the sharded tensor.
MLIR_CAPI_EXPORTED intptr_t
tesseraShardingGetNumDimensions(MlirAttribute sharding);

/// Returns the sharding of a dimension; null if there is none of this number.
MLIR_CAPI_EXPORTED MlirAttribute
tesseraShardingGetDimension(MlirAttribute sharding, intptr_t position);

/// Returns the number of axes over which the tensor is whole and stays so.
MLIR_CAPI_EXPORTED intptr_t
tesseraShardingGetNumReplicated(MlirAttribute sharding);

/// Returns such an axis; null if there is none of this number.
MLIR_CAPI_EXPORTED MlirAttribute
tesseraShardingGetReplicated(MlirAttribute sharding, intptr_t position);

/// Returns the number of axes over which values are partial.
MLIR_CAPI_EXPORTED intptr_t
tesseraShardingGetNumUnreduced(MlirAttribute sharding);

/// Returns such an axis; null if there is none of this number.
MLIR_CAPI_EXPORTED MlirAttribute
tesseraShardingGetUnreduced(MlirAttribute sharding, intptr_t position);

/// Returns the operation that combines partial values; TesseraReductionSum for
/// other attributes.
MLIR_CAPI_EXPORTED enum TesseraReduction
tesseraShardingGetReduction(MlirAttribute sharding);

#ifdef __cplusplus
}
#endif

#endif // TESSERA_C_SHARDING_H
