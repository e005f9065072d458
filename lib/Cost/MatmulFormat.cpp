//===- MatmulFormat.cpp - Matmuls below 16 bits ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One row per format. Sources: Transformer Engine's recipes of the same names;
// OCP Microscaling Formats 1.0 for mxfp8 (a scale byte per 32 elements);
// "Pretraining Large Language Models with NVFP4" (NVIDIA 2025) for nvfp4 (a
// scale byte per 16 elements, a sixth of the blocks in 16 bits).
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/MatmulFormat.h"
#include "tessera/Support/Errors.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace tessera;
using namespace tessera::cost;

std::optional<MatmulFormat>
tessera::cost::getMatmulFormat(Precision precision) {
  switch (precision) {
  case Precision::F32:
  case Precision::BF16:
  case Precision::F16:
    return std::nullopt;
  case Precision::FP8:
    return MatmulFormat{DType::FP8, 1, 1, 1, true, 0, 1, /*travels=*/true};
  case Precision::FP8Current:
    // Four kernels: clear and find the largest element, compute the scale, cast
    // the tensor (Float8CurrentScalingQuantizer of Transformer Engine 2.7).
    return MatmulFormat{DType::FP8, 1, 2, 4, false, 0, 1, /*travels=*/true};
  case Precision::FP8Row:
    // Columns have scales of their own, which takes a second read. Kernels that
    // scale rows while they add are slower (torchtitan's tables of both).
    return MatmulFormat{DType::FP8, 1, 2, 2, false, 0, 0.5};
  case Precision::FP8Block:
    // Sums of 128 elements are scaled outside of the matrix units.
    return MatmulFormat{DType::FP8, 1 + 4.0 / 128, 1, 1, false, 0, 0.85};
  case Precision::MXFP8:
    // Scales are loaded with the operands and laid out again for each matmul
    // (Megatron-Bridge's rows of both on B200 and GB200).
    return MatmulFormat{DType::MXFP8, 1 + 1.0 / 32, 1, 1, false, 0, 0.9};
  case Precision::NVFP4:
    // The last 15 % of the blocks stay in 16 bits, rounded to whole blocks: 5
    // of 32 and 6 of 36. TorchAO's matmuls are separate ops (torchtitan's
    // recipes).
    return MatmulFormat{
        DType::FP4,       0.5 + 1.0 / 16, 2, 2, false, 0.16, 1, false,
        /*isKnown=*/false};
  }
  return std::nullopt;
}

DType tessera::cost::unitsOf(Precision precision) {
  if (std::optional<MatmulFormat> format = getMatmulFormat(precision))
    return format->type;
  return precision == Precision::F32 ? DType::F32 : DType::BF16;
}

Error tessera::cost::checkPrecision(Precision precision,
                                    const DeviceSpec &device) {
  StringRef units = stringify(unitsOf(precision));
  bool isWide = precision == Precision::F32 || precision == Precision::F16;
  // 8 bits with one scale also run on 16-bit units, bf16 or f16.
  if (isWide || precision == Precision::FP8 || device.findPeak(units) ||
      (precision == Precision::BF16 && !device.findPeak("f16")))
    return Error::success();
  std::vector<StringRef> known;
  for (const auto &[name, peak] : device.peakFlops)
    known.push_back(name);
  return createStringError("precision: expects units of " + device.name +
                           ", which are " + join(known, ", ") + ", but got " +
                           stringify(precision) + ", whose units are " + units);
}
