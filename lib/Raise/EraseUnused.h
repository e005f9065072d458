//===- EraseUnused.h - Erases the ops that were raised ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_RAISE_ERASEUNUSED_H
#define TESSERA_LIB_RAISE_ERASEUNUSED_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

namespace tessera {

/// Erases the ops, given in program order, whose results nothing uses any more,
/// and adds them to `erased`.
inline void eraseUnused(llvm::ArrayRef<mlir::Operation *> ops,
                        llvm::DenseSet<mlir::Operation *> &erased) {
  for (mlir::Operation *op : llvm::reverse(ops)) {
    if (!op->use_empty())
      continue;
    erased.insert(op);
    op->erase();
  }
}

} // namespace tessera

#endif // TESSERA_LIB_RAISE_ERASEUNUSED_H
