//===- DeviceModel.cpp - The constants of a device --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the constants of the model from a cluster's device.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/DeviceModel.h"

using namespace tessera;
using namespace tessera::cost;

const std::vector<NamedConstant> &tessera::cost::deviceConstants() {
  static const std::vector<NamedConstant> list = {
      {"matmul_rate", &DeviceModel::matmulRate},
      {"matmul_rate_fp8", &DeviceModel::matmulRateFP8},
      {"matmul_rate_fp4", &DeviceModel::matmulRateFP4},
      {"matmul_fill", &DeviceModel::matmulFill},
      {"memory_rate", &DeviceModel::memoryRate},
      {"attention_rate", &DeviceModel::attentionRate},
      {"attention_backward_rate", &DeviceModel::attentionBackwardRate},
      {"portable_attention_rate", &DeviceModel::portableRate},
      {"portable_attention_backward_rate", &DeviceModel::portableBackwardRate},
      {"attention_fill", &DeviceModel::attentionFill},
      {"attention_narrow", &DeviceModel::attentionNarrow},
      {"kernel_floor_s", &DeviceModel::kernelFloor},
      {"host_launch_s", &DeviceModel::hostLaunch},
      {"host_call_s", &DeviceModel::hostCall},
      {"overlap_slowdown", &DeviceModel::overlapSlowdown},
      {"step_floor_s", &DeviceModel::stepFloor},
  };
  return list;
}

DType DeviceModel::unitType(DType type) const {
  bool isNarrow = type == DType::FP8 || type == DType::I8;
  return isNarrow && peakFP8 == 0 ? DType::BF16 : type;
}

double DeviceModel::peak(DType type) const {
  switch (unitType(type)) {
  case DType::F32:
  case DType::I32:
    return peakF32;
  case DType::BF16:
  case DType::F16:
    return peakBF16;
  case DType::FP8:
  case DType::I8:
    return peakFP8;
  case DType::MXFP8:
    return peakMXFP8;
  case DType::FP4:
    return peakFP4;
  }
  return peakBF16;
}

DeviceModel tessera::cost::makeDeviceModel(const DeviceSpec &device) {
  DeviceModel model;
  auto peakOf = [&](const char *name, double otherwise) {
    const Quantity *peak = device.findPeak(name);
    return peak ? peak->value : otherwise;
  };
  model.peakF32 = peakOf("f32", peakOf("bf16", 0) / 2);
  model.peakBF16 = peakOf("bf16", peakOf("f16", model.peakF32));
  model.peakFP8 = peakOf("fp8", 0);
  model.peakMXFP8 = peakOf("mxfp8", 0);
  model.peakFP4 = peakOf("fp4", 0);
  model.memoryBytes = device.memoryBytes.value;
  model.memoryBandwidth = device.memoryBandwidth.value;
  model.multiprocessors = device.multiprocessors.value;
  for (const NamedConstant &constant : deviceConstants())
    if (const Quantity *quantity = device.findConstant(constant.name))
      model.*constant.field = quantity->value;
  return model;
}
