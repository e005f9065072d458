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

/// One dist.bucket for collectives of a block, none of which needs another's
/// result, after what they all need; ops that need one of them and are
/// before it follow it.
void joinAsBucket(llvm::ArrayRef<mlir::Operation *> members);

} // namespace tessera

#endif // TESSERA_LIB_COLLECTIVES_BUCKETREWRITE_H
