//===- WeightsOfTools.cpp - Files of weights without a program ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of tessera_weights.h. They use a manifest that has only
// parameters.
//
//===----------------------------------------------------------------------===//

#include "Weights.h"
#include "tessera_weights.h"

using namespace tessera::rt;

struct tessera_rt_weights {
  WeightFiles files;
  Manifest parameters;
  std::string error;
};

static Value makeParameter(const tessera_rt_weight &weight) {
  Value value;
  value.name = weight.name;
  value.role = Role::Param;
  value.logicalShape.assign(weight.shape, weight.shape + weight.rank);
  value.source.tensor = weight.tensor;
  value.source.shape.assign(weight.tensor_shape,
                            weight.tensor_shape + weight.tensor_rank);
  value.source.offset = weight.offset;
  value.source.strides.assign(weight.strides, weight.strides + weight.rank);
  return value;
}

tessera_rt_weights *tessera_rt_weights_open(const char *path,
                                            const tessera_rt_weight *weights,
                                            int64_t count) {
  auto *opened = new tessera_rt_weights;
  for (int64_t i = 0; i < count; ++i)
    opened->parameters.arguments.push_back(makeParameter(weights[i]));
  opened->error = opened->files.open(path);
  if (opened->error.empty())
    opened->error =
        opened->files.bind(opened->parameters, /*initMissing=*/false);
  return opened;
}

const char *tessera_rt_weights_error(const tessera_rt_weights *files) {
  return files->error.c_str();
}

const char *tessera_rt_weights_remark(const tessera_rt_weights *files,
                                      int64_t number) {
  const std::vector<std::string> &remarks = files->files.remarks();
  return size_t(number) < remarks.size() ? remarks[size_t(number)].c_str()
                                         : nullptr;
}

void tessera_rt_weights_read(const tessera_rt_weights *files, int64_t number,
                             float *out) {
  const Value &value = files->parameters.arguments[size_t(number)];
  int64_t elements = 1;
  for (int64_t size : value.logicalShape)
    elements *= size;
  readElements(*files->files.find(value), value.logicalShape, TESSERA_RT_F32, 0,
               elements, reinterpret_cast<uint8_t *>(out));
}

void tessera_rt_weights_close(tessera_rt_weights *files) { delete files; }
