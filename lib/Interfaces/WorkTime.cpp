//===- WorkTime.cpp - Rough estimate of an op's time on a device ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Interfaces/WorkTime.h"
#include "tessera/Interfaces/CostOpInterface.h"

using namespace mlir;
using namespace tessera;

static double getBytes(TypeRange types) {
  double bytes = 0;
  for (Type type : types)
    bytes += getTensorBytes(type);
  return bytes;
}

double tessera::getWorkBytes(Operation *op, const WorkRates &rates) {
  OpCost cost = getOpCost(op);
  if (cost.kind == CostKind::None)
    return 0;
  double read =
      cost.bytesRead >= 0 ? cost.bytesRead : getBytes(op->getOperandTypes());
  double written = cost.bytesWritten >= 0 ? cost.bytesWritten
                                          : getBytes(op->getResultTypes());
  bool isMatmul = cost.kind == CostKind::Matmul ||
                  cost.kind == CostKind::GroupedMatmul ||
                  cost.kind == CostKind::Attention;
  double moved = written + read;
  return moved * (isMatmul ? rates.matmulBytes : 1) +
         cost.flops / (isMatmul ? rates.matmulFlops : rates.otherFlops) +
         cost.functions * rates.functionSeconds * rates.bytesPerSecond;
}

double tessera::getKernelSeconds(Operation *op, const WorkRates &rates) {
  double seconds = getWorkTime(op, rates);
  return seconds > 0 ? getOpCost(op).kernels * rates.kernelFloor + seconds : 0;
}
