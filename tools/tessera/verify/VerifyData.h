//===- VerifyData.h - Files of tessera verify -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data files that tessera verify reads and writes, named as for `tessera run`.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_VERIFYDATA_H
#define TESSERA_TOOLS_VERIFYDATA_H

#include "tessera/Interpreter/Verify.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// Reads FOLDER/NAME.npy for each argument of `function`; null for arguments
/// without a file. One error lists all wrong files: no argument of that name,
/// another type or shape, an id out of range. A folder without files is an
/// error too.
llvm::Expected<interp::RankTensors> readInputs(mlir::func::FuncOp function,
                                               llvm::StringRef folder);

/// Reads the initial values of parameters and their master copies from weights
/// (a safetensors file, an index, a folder), except for arguments that `given`
/// has already. Errors: a missing tensor, a wrong shape. Remarks go to stderr.
llvm::Error readWeights(mlir::func::FuncOp function, llvm::StringRef path,
                        interp::RankTensors &given);

/// Writes the inputs of a report to FOLDER/NAME.npy and the results of the
/// original to FOLDER/expected/NAME.npy.
llvm::Error writeData(mlir::func::FuncOp original,
                      const interp::VerifyReport &report,
                      llvm::StringRef folder);

} // namespace tessera

#endif // TESSERA_TOOLS_VERIFYDATA_H
