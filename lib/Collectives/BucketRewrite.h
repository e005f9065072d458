//===- BucketRewrite.h - Collectives become one bucket ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_COLLECTIVES_BUCKETREWRITE_H
#define TESSERA_LIB_COLLECTIVES_BUCKETREWRITE_H

#include "mlir/IR/Operation.h"

namespace tessera {

/// Values that an op reads, also in its regions.
void forEachRead(mlir::Operation *op,
                 llvm::function_ref<void(mlir::Value)> callback);

/// Bytes that stay alive for longer if the collectives become one bucket, but
/// for what they take and give themselves:
///
///     w0 = ...                      w0 = ...
///     a = all_gather x              w1 = ...
///     use a, w0                     y = ...
///     w1 = ...                      a, b = bucket x, y
///     y = ...                       use a, w0
///     b = all_gather y
///
/// Here those of w0.
int64_t getKeptBytes(llvm::ArrayRef<mlir::Operation *> members);

/// One dist.bucket for collectives of a block, none of which needs another's
/// result, after what they all need; ops that need one of them and are
/// before it follow it.
void joinAsBucket(llvm::ArrayRef<mlir::Operation *> members);

} // namespace tessera

#endif // TESSERA_LIB_COLLECTIVES_BUCKETREWRITE_H
