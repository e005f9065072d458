//===- All.cu - All hand-written kernels for one architecture -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles all kernels as one unit, because a device loads one image.
//
//===----------------------------------------------------------------------===//

#include "AttentionBackward.cu"
#include "AttentionForward.cu"
#include "AttentionPlain.cu"
#include "Embedding.cu"
#include "Epilogue.cu"
#include "Grouped.cu"
#include "Movement.cu"
#include "Reduce.cu"
#include "Route.cu"
#include "Sort.cu"
