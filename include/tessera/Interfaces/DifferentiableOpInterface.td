//===- DifferentiableOpInterface.td - Differentiation ------*- tablegen -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD
#define TESSERA_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::tessera";
  let description = [{
    An op that builds the ops of its own gradient (reverse mode). An op without
    this interface whose result depends on a parameter and matters to the loss is
    an error of BuildBackward, with the op named.
  }];
  let methods = [
    InterfaceMethod<[{
      Whether the results count as constants: no gradient passes the op.
    }], "bool", "stopsGradient", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
      Rewrites the op so that it also returns what its gradient needs and it
      computes anyway (statistics). Returns the op that took its place, with the
      same results first; itself if there is nothing to save.
    }], "::mlir::Operation *", "saveForBackward",
      (ins "::mlir::OpBuilder &":$builder), "",
      [{ return $_op; }]>,
    InterfaceMethod<[{
      Builds the gradients of the needed operands from those of the results.
      Failure, with an error on the op: it cannot be differentiated so.
    }], "::llvm::LogicalResult", "buildGradients",
      (ins "::tessera::GradientBuilder &":$gradients)>,
  ];
}

#endif // TESSERA_INTERFACES_DIFFERENTIABLEOPINTERFACE_TD
