//===- FloatOps.h - Ops on floats -------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RANDOM_FLOATOPS_H
#define TESSERA_TEST_RANDOM_FLOATOPS_H

#include "Scalars.h"

namespace tessera::test {

std::vector<ScalarOp> getFloatOps();

} // namespace tessera::test

#endif // TESSERA_TEST_RANDOM_FLOATOPS_H
