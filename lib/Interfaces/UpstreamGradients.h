//===- UpstreamGradients.h - Gradients of upstream ops ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_INTERFACES_UPSTREAMGRADIENTS_H
#define TESSERA_LIB_INTERFACES_UPSTREAMGRADIENTS_H

#include "tessera/Interfaces/DifferentiableOpInterface.h"
#include "tessera/Interfaces/ElementwiseBuilder.h"

namespace tessera {

/// Implements the interface for an upstream op by one function, which builds
/// its gradients and cannot fail.
template <typename Op,
          void (*build)(Op, GradientBuilder &, ElementwiseBuilder &)>
struct GradientModel
    : DifferentiableOpInterface::ExternalModel<GradientModel<Op, build>, Op> {
  mlir::LogicalResult buildGradients(mlir::Operation *op,
                                     GradientBuilder &g) const {
    ElementwiseBuilder b{g.builder, g.loc};
    build(mlir::cast<Op>(op), g, b);
    return mlir::success();
  }
};

/// Gives `Op` the gradients that `build` builds.
template <typename Op,
          void (*build)(Op, GradientBuilder &, ElementwiseBuilder &)>
void attachGradients(mlir::MLIRContext *context) {
  Op::template attachInterface<GradientModel<Op, build>>(*context);
}

/// Registers arith and math.
void registerArithGradients(mlir::DialectRegistry &registry);
/// Registers tensor: ops that change shapes.
void registerTensorGradients(mlir::DialectRegistry &registry);

} // namespace tessera

#endif // TESSERA_LIB_INTERFACES_UPSTREAMGRADIENTS_H
