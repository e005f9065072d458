//===- BucketRewrite.h - Replaces collectives by one bucket -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_COLLECTIVES_BUCKETREWRITE_H
#define TESSERA_LIB_COLLECTIVES_BUCKETREWRITE_H

#include "mlir/IR/Operation.h"

namespace tessera {

/// Calls `callback` for each value that an op reads, also in its regions.
void forEachRead(mlir::Operation *op,
                 llvm::function_ref<void(mlir::Value)> callback);

/// Returns the bytes that stay alive for longer if the collectives become one
/// bucket, apart from their own operands and results:
///
///     w0 = ...                      w0 = ...
///     a = all_gather x              w1 = ...
///     use a, w0                     y = ...
///     w1 = ...                      a, b = bucket x, y
///     y = ...                       use a, w0
///     b = all_gather y
///
/// Here these are the bytes of w0.
int64_t getKeptBytes(llvm::ArrayRef<mlir::Operation *> members);

/// Replaces collectives of a block, which do not need each other's results, by
/// one dist.bucket after all their operands. Ops before it that need a result
/// move after it.
void joinAsBucket(llvm::ArrayRef<mlir::Operation *> members);

} // namespace tessera

#endif // TESSERA_LIB_COLLECTIVES_BUCKETREWRITE_H
