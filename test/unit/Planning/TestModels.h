//===- TestModels.h - Models and clusters of the tests ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_PLANNING_TESTMODELS_H
#define TESSERA_TEST_UNIT_PLANNING_TESTMODELS_H

#include "tessera/Cluster/ClusterSpec.h"
#include "tessera/Planning/Subject.h"

namespace tessera {

inline ModelConfig llama() {
  ModelConfig config = getFamilyDefaults("llama");
  config.name = "llama";
  config.vocab = 32000;
  config.hidden = 4096;
  config.layers = 32;
  config.heads = 32;
  config.kvHeads = 8;
  config.headDim = 128;
  config.ffn = 11008;
  config.maxPositions = 4096;
  return config;
}

/// A tied head and biases, and blocks that do not divide evenly over stages.
inline ModelConfig gpt() {
  ModelConfig config = getFamilyDefaults("gpt2");
  config.name = "gpt";
  config.vocab = 50304;
  config.hidden = 2048;
  config.layers = 23;
  config.heads = config.kvHeads = 16;
  config.headDim = 128;
  config.ffn = 8192;
  config.maxPositions = 2048;
  return config;
}

/// A first dense layer, experts in the others, and latent attention.
inline MoEConfig mixture() {
  MoEConfig config;
  config.name = "mixture";
  config.vocab = 32000;
  config.hidden = 2048;
  config.layers = 16;
  config.heads = config.kvHeads = 16;
  config.headDim = 128;
  config.denseFfn = 8192;
  config.expertFfn = 1408;
  config.sharedFfn = 2816;
  config.denseLayers = 1;
  config.experts = 64;
  config.expertsPerToken = 6;
  config.maxPositions = 4096;
  return config;
}

/// A cluster with nodes of `inner` devices with `memory` bytes each.
inline ClusterSpec cluster(int64_t inner = 8, double memory = 80e9,
                           double bandwidth = 50e9) {
  auto number = [](double value) {
    return Quantity{value, Provenance::Datasheet, ""};
  };
  ClusterSpec spec;
  spec.name = "test";
  spec.device.name = "device";
  spec.device.peakFlops = {{"bf16", number(1000e12)}};
  spec.device.memoryBytes = number(memory);
  spec.device.memoryBandwidth = number(3e12);
  spec.device.multiprocessors = number(128);
  spec.levels = {
      {"nvlink", inner, number(1e-6), number(450e9), number(0.8), {}},
      {"ib", 1024, number(5e-6), number(bandwidth), number(0.9), {}}};
  return spec;
}

} // namespace tessera

#endif // TESSERA_TEST_UNIT_PLANNING_TESTMODELS_H
