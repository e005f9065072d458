//===- MatmulFormat.h - Matmuls below 16 bits -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a precision below 16 bits means for the matmuls of linear layers: the
// units that compute them, the bytes of operands and scales, the passes that
// cast, and the blocks that keep 16 bits.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_MATMULFORMAT_H
#define TESSERA_COST_MATMULFORMAT_H

#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Cost/Work.h"
#include "tessera/Support/Plan.h"

namespace tessera::cost {

/// How operands of matmuls are stored below 16 bits.
struct MatmulFormat {
  /// Whose units compute it.
  DType type = DType::FP8;
  /// Bytes of an element, with its part of the scales. Two copies of it are
  /// written: one for each of the matmuls that read a tensor.
  double elementBytes = 1;
  /// Times that a tensor is read to be cast: twice where its scale is that of
  /// its largest element, which is found first.
  double reads = 1;
  /// Kernels of a cast.
  int64_t castKernels = 1;
  /// The norm that makes a tensor casts it too, so that it is not read again
  /// for that.
  bool isFused = true;
  /// Share of the blocks whose linear layers stay in 16 bits.
  double wideBlocks = 0;
  /// Rate of its matmuls relative to those with one scale for each tensor.
  double rate = 1;
  /// Operands are cast before they are gathered, over tp and, of parameters,
  /// over the data axes: with one scale for a tensor all ranks cast alike.
  bool travels = false;
  /// Recompute::Matmuls keeps results of its matmuls too, for which they must
  /// be ops that it knows.
  bool isKnown = true;
};

/// The format of a precision; none if its matmuls have 16 bits or more.
std::optional<MatmulFormat> getMatmulFormat(Precision precision);

/// The type of the units that multiply at a precision.
DType unitsOf(Precision precision);

/// An error if a device has no units for the precision of a plan. 8 bits with
/// one scale for each tensor are computed by the units for 16 where there are
/// no others.
llvm::Error checkPrecision(Precision precision, const DeviceSpec &device);

} // namespace tessera::cost

#endif // TESSERA_COST_MATMULFORMAT_H
