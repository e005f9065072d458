//===- GivenLayout.cpp - A layout as a user gives it ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Training/GivenLayout.h"
#include "tessera/Training/TrainingPlan.h"

using namespace tessera;

llvm::Error GivenLayout::complete() {
  if (llvm::Error error = plan.complete())
    return error;
  if (llvm::Error error = checkCompiled(plan.plan))
    return error;
  if (mesh || !strategy.isNone())
    return llvm::Error::success();
  mesh = getMesh(plan.plan);
  strategy = getStrategy(plan.plan);
  return llvm::Error::success();
}
