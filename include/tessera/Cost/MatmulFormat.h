//===- MatmulFormat.h - Matmuls below 16 bits -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The effect of a precision below 16 bits on the matmuls of linear layers: the
// units that compute them, the bytes of operands and scales, the passes that
// cast, and the blocks that keep 16 bits.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COST_MATMULFORMAT_H
#define TESSERA_COST_MATMULFORMAT_H

#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Cost/Work.h"
#include "tessera/Plan/Plan.h"

namespace tessera::cost {

/// Storage of matmul operands below 16 bits.
struct MatmulFormat {
  /// The type of the units that compute it.
  DType type = DType::FP8;
  /// Bytes of an element, including its share of the scales. Two copies are
  /// written: one for each of the matmuls that read a tensor.
  double elementBytes = 1;
  /// Reads of a tensor per cast: two if the scale comes from the tensor's own
  /// largest element, which a first pass finds.
  double reads = 1;
  /// Kernels of a cast.
  int64_t castKernels = 1;
  /// The norm that produces a tensor also casts it, so that the cast needs no
  /// read of its own.
  bool isFused = true;
  /// Share of the blocks whose linear layers stay in 16 bits.
  double wideBlocks = 0;
  /// Rate of its matmuls relative to those with one scale for each tensor.
  double rate = 1;
  /// Operands are cast before they are gathered, over tp and, for parameters,
  /// over the data axes: with one scale per tensor all ranks cast alike.
  bool travels = false;
  /// Recompute::Matmuls can also keep results of these matmuls, which requires
  /// ops that it knows.
  bool isKnown = true;
};

/// The format of a precision; none if its matmuls have 16 bits or more.
std::optional<MatmulFormat> getMatmulFormat(Precision precision);

/// The type of the units that multiply at a precision.
DType unitsOf(Precision precision);

/// Fails if a device has no units for the precision of a plan. The 16-bit units
/// compute 8-bit matmuls with one scale per tensor if there are no 8-bit units.
llvm::Error checkPrecision(Precision precision, const DeviceSpec &device);

} // namespace tessera::cost

#endif // TESSERA_COST_MATMULFORMAT_H
