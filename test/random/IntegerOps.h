//===- IntegerOps.h - Ops on integers ---------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RANDOM_INTEGEROPS_H
#define TESSERA_TEST_RANDOM_INTEGEROPS_H

#include "Scalars.h"

namespace tessera::test {

std::vector<ScalarOp> getIntegerOps();

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_INTEGEROPS_H
