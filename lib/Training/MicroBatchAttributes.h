//===- MicroBatchAttributes.h - Attributes with micro-batches ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRAINING_MICROBATCHATTRIBUTES_H
#define TESSERA_LIB_TRAINING_MICROBATCHATTRIBUTES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tessera {

/// The attributes of an argument or result with the micro-batches as a new
/// first dimension in dimension names and sharding.
mlir::DictionaryAttr withMicroBatches(mlir::DictionaryAttr attrs);

/// A tensor of `microBatches` such tensors, along a new first dimension.
mlir::RankedTensorType withMicroBatches(mlir::RankedTensorType part,
                                        int64_t microBatches);

} // namespace tessera

#endif // TESSERA_LIB_TRAINING_MICROBATCHATTRIBUTES_H
