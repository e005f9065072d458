//===- EraseStopGradients.cpp - Erases nn.stop_gradient -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Dist/Dist.h"
#include "dialects/NN/NN.h"
#include "tessera/Training/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_ERASESTOPGRADIENTSPASS
#include "tessera/Training/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct EraseStopGradientsPass
    : tessera::impl::EraseStopGradientsPassBase<EraseStopGradientsPass> {
  void runOnOperation() override {
    getOperation().walk([](nn::StopGradientOp op) {
      Value x = op.getX();
      if (dist::ShardingAttr seed = dist::getSharding(op.getResult())) {
        OpBuilder builder(op);
        x = dist::ConstraintOp::create(builder, op.getLoc(), x, seed);
      }
      op.getResult().replaceAllUsesWith(x);
      op.erase();
    });
  }
};
} // namespace
