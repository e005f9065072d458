//===- DeviceModel.cpp - The constants of a device --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The constants of the model with their defaults. A cluster file may have other
// values for its device.
//
//===----------------------------------------------------------------------===//

#include "tessera/Cost/DeviceModel.h"
#include "tessera/Cost/HostCalibration.h"
#include "tessera/Support/Spelling.h"
#include "llvm/ADT/STLExtras.h"

using namespace tessera;
using namespace tessera::cost;

const std::vector<NamedConstant> &tessera::cost::deviceConstants() {
  static const std::vector<NamedConstant> list = {
      {"matmul_rate", &DeviceModel::matmulRate, 0.8},
      {"matmul_rate_fp8", &DeviceModel::matmulRateFP8, 0.7},
      {"matmul_rate_fp4", &DeviceModel::matmulRateFP4, 0.6},
      {"matmul_fill", &DeviceModel::matmulFill, 128},
      {"memory_rate", &DeviceModel::memoryRate, 0.8},
      {"attention_rate", &DeviceModel::attentionRate, 0.5},
      {"attention_backward_rate", &DeviceModel::attentionBackwardRate, 0.4},
      {"portable_attention_rate", &DeviceModel::portableRate, 0.35},
      {"portable_attention_backward_rate", &DeviceModel::portableBackwardRate,
       0.3},
      {"attention_fill", &DeviceModel::attentionFill, 225},
      {"attention_narrow", &DeviceModel::attentionNarrow, 0.3},
      {"kernel_floor_s", &DeviceModel::kernelFloor, 3e-6},
      {"host_launch_s", &DeviceModel::hostLaunch, 8e-6},
      {"host_call_s", &DeviceModel::hostCall, 122e-6},
      {"overlap_slowdown", &DeviceModel::overlapSlowdown, 0.2},
      {"step_floor_s", &DeviceModel::stepFloor, 5e-3},
  };
  return list;
}

DeviceModel::DeviceModel() {
  for (const NamedConstant &constant : deviceConstants())
    this->*constant.field = constant.byDefault;
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

llvm::Error tessera::cost::checkConstants(const DeviceSpec &device) {
  llvm::SmallVector<llvm::StringRef> known(processorConstants());
  for (const NamedConstant &constant : deviceConstants())
    known.push_back(constant.name);
  for (const auto &[name, quantity] : device.constants)
    if (!llvm::is_contained(known, name))
      return llvm::createStringError("device.constants." + name +
                                     ": expects a known constant" +
                                     didYouMean(name, known));
  return llvm::Error::success();
}
