//===- ScalarNumbers.h - Integer scalars on each device ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PROOF_SCALARNUMBERS_H
#define TESSERA_LIB_PROOF_SCALARNUMBERS_H

#include "mlir/IR/Operation.h"
#include <optional>
#include <vector>

namespace tessera {

/// Folds an op on integer scalars for each of `count` devices with the op's own
/// folder; none if it is another op or does not fold.
std::optional<std::vector<int64_t>>
foldNumbers(mlir::Operation *op, llvm::ArrayRef<std::vector<int64_t>> operands,
            int64_t count);

} // namespace tessera

#endif // TESSERA_LIB_PROOF_SCALARNUMBERS_H
