//===- VerifyData.h - Files of tessera verify -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data that come from files and go to files, named as for `tessera run`.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_VERIFYDATA_H
#define TESSERA_TOOLS_VERIFYDATA_H

#include "tessera/Interpreter/Verify.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// The arguments of `function` that FOLDER/NAME.npy gives; null for those
/// without a file. Error: a file that no argument is named after or that is not
/// of its type and shape, or no file at all; all of them are listed.
llvm::Expected<interp::RankTensors> readInputs(mlir::func::FuncOp function,
                                               llvm::StringRef folder);

/// Adds what parameters and their master copies begin with in files of weights
/// (a safetensors file, an index, a folder) where nothing is given. Error: a
/// tensor that is missing or misshapen; remarks go to stderr.
llvm::Error readWeights(mlir::func::FuncOp function, llvm::StringRef path,
                        interp::RankTensors &given);

/// Writes the data of a report to FOLDER/NAME.npy and what the original
/// computed to FOLDER/expected/NAME.npy.
llvm::Error writeData(mlir::func::FuncOp original,
                      const interp::VerifyReport &report,
                      llvm::StringRef folder);

} // namespace tessera

#endif // TESSERA_TOOLS_VERIFYDATA_H
