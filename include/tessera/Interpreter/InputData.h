//===- InputData.h - Deterministic input data -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each element is a function of the seed, the argument's name and the element's
// global index, and of nothing else: the same under every mesh.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERPRETER_INPUTDATA_H
#define TESSERA_INTERPRETER_INPUTDATA_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tessera/Interpreter/Tensor.h"
#include <string>

namespace tessera::interp {

struct InputOptions {
  uint64_t seed = 0;
  /// Floats are integers from -2 to 2: sums and products of them are exact.
  bool integers = false;
};

/// Name of an argument: its `nn.param`, `nn.state` or `nn.input`, else "arg<index>".
std::string getArgumentName(mlir::func::FuncOp function, unsigned index);
/// Name of a result: its `nn.output`, else that of the argument whose place it
/// takes (`dist.donate`), else "result<index>".
std::string getResultName(mlir::func::FuncOp function, unsigned index);

/// Global tensors for the arguments of a global function.
///
/// Floats are normal: of a parameter with the deviation of its `nn.init`, but
/// at least n^(-1/4) for n elements, so that the layers of a small model pass
/// something on; around 0 and 1 with deviation 0.1 for `zeros` and `ones`,
/// which would hide a bias added twice; of other arguments with deviation 1.
/// State that starts as zeros is not negative; state of no parameter (a count)
/// is what its `nn.init` says.
/// Integers are below the bound that their uses as ids, labels or indices set
/// (one label in eight is the ignored one), else below 8; booleans are even.
mlir::FailureOr<RankTensors> makeInputs(mlir::func::FuncOp function,
                                        const InputOptions &options);

} // namespace tessera::interp

#endif // TESSERA_INTERPRETER_INPUTDATA_H
