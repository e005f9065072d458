//===- MatmulFormatTest.cpp - Matmuls in 8 and 4 bits ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestWork.h"
#include "tessera/Cost/ComputeModel.h"
#include "gtest/gtest.h"

using namespace tessera;
using namespace tessera::cost;

namespace {

TEST(MatmulFormat, norms_cast_what_they_write) {
  LayerWork layer;
  OpWork norm;
  norm.kind = OpClass::RowReduction;
  layer.add(norm);
  layer.add(weightMatmul(512, 256, 128));
  layer.add(norm);
  quantizeMatmuls(layer, *getMatmulFormat(Precision::FP8));
  ASSERT_EQ(layer.ops.size(), 3u);
  EXPECT_EQ(layer.ops[1].dtype, DType::FP8);
  EXPECT_EQ(layer.ops[1].castGradientRead, 0);
}

TEST(MatmulFormat, activations_are_cast_apart) {
  LayerWork layer;
  layer.add(weightMatmul(512, 256, 128));
  OpWork activation;
  activation.kind = OpClass::Elementwise;
  layer.add(activation);
  layer.add(weightMatmul(512, 128, 256));
  quantizeMatmuls(layer, *getMatmulFormat(Precision::FP8));
  ASSERT_EQ(layer.ops.size(), 5u);
  // The cast reads 16 bits and writes 8, both as is and transposed.
  EXPECT_EQ(layer.ops[3].name, "cast");
  EXPECT_EQ(layer.ops[3].bytesRead, 2 * 512 * 256);
  EXPECT_EQ(layer.ops[3].bytesWritten, 2 * 512 * 256);
  // The activation's gradient for the first matmul is cast, too.
  EXPECT_EQ(layer.ops[1].castGradientRead, 2);
}

/// Bytes per element that the casts of a matmul's 512 x 128 operand move.
static std::pair<double, double> castBytes(Precision precision) {
  LayerWork layer;
  layer.add(weightMatmul(512, 256, 128));
  quantizeMatmuls(layer, *getMatmulFormat(precision));
  double elements = 512 * 128;
  return {layer.ops[0].bytesRead / elements,
          layer.ops[0].bytesWritten / elements};
}

TEST(MatmulFormat, activations_travel_over_tp_in_8_bits) {
  LayerWork layer;
  for (CollectiveKind kind :
       {CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
    CommWork comm;
    comm.kind = kind;
    comm.bytes = 1000;
    comm.axes = {PlanAxis::TP};
    layer.add(comm);
  }
  narrowGathers(layer, *getMatmulFormat(Precision::FP8), /*weightBytes=*/0);
  appendBackward(layer, Recompute::None, 2, /*frozen=*/false);
  ASSERT_EQ(layer.comms.size(), 4u);
  // Gathers move 8 bits in forward and backward, scatters move 16.
  for (const CommWork &comm : layer.comms)
    EXPECT_EQ(comm.bytes, comm.kind == CollectiveKind::AllGather ? 500 : 1000);
}

TEST(MatmulFormat, formats_differ_in_casts_and_scales) {
  using Bytes = std::pair<double, double>;
  EXPECT_EQ(castBytes(Precision::FP8), Bytes(2, 2));
  // The largest element is found first.
  EXPECT_EQ(castBytes(Precision::FP8Current), Bytes(4, 2));
  // One byte per 32 elements, four per 128.
  EXPECT_EQ(castBytes(Precision::MXFP8), Bytes(2, 2 + 2.0 / 32));
  EXPECT_EQ(castBytes(Precision::FP8Block), Bytes(2, 2 + 8.0 / 128));
  // One byte per 16 elements of half a byte, in 84 % of the blocks.
  EXPECT_EQ(castBytes(Precision::NVFP4), Bytes(4 * 0.84, 0.84 * 1.125));
  EXPECT_FALSE(getMatmulFormat(Precision::BF16));
}

TEST(MatmulFormat, a_cast_by_the_largest_element_is_four_kernels_of_one_call) {
  auto casts = [](Precision precision) {
    LayerWork layer;
    layer.add(weightMatmul(8192, 8192, 8192));
    quantizeMatmuls(layer, *getMatmulFormat(precision));
    appendBackward(layer, Recompute::None, 2, /*frozen=*/false);
    std::vector<std::pair<int64_t, bool>> list;
    for (const OpWork &op : layer.ops)
      if (op.name == "cast")
        list.emplace_back(op.kernels, op.isBatched);
    return list;
  };
  using List = std::vector<std::pair<int64_t, bool>>;
  EXPECT_EQ(casts(Precision::FP8Current), (List{{4, true}, {4, true}}));
  EXPECT_EQ(casts(Precision::MXFP8), (List{{1, false}, {1, false}}));
  EXPECT_EQ(casts(Precision::NVFP4), (List{{2, true}, {2, true}}));
}

TEST(MatmulFormat, some_blocks_of_nvfp4_stay_in_16_bits) {
  DeviceModel device;
  device.peakBF16 = 1e15;
  device.peakFP4 = 4e15;
  device.memoryBandwidth = 1e15;
  device.multiprocessors = 1;
  LayerWork layer;
  layer.add(weightMatmul(8192, 8192, 8192));
  quantizeMatmuls(layer, *getMatmulFormat(Precision::NVFP4));
  const OpWork &op = layer.ops[1];
  double narrow = matmulSeconds(device, op.matmul, DType::FP4);
  double wide = matmulSeconds(device, op.matmul, DType::BF16);
  EXPECT_GT(wide, 2 * narrow);
  EXPECT_NEAR(kernelSeconds(device, op) - device.kernelFloor,
              0.84 * narrow + 0.16 * wide, 1e-12);
}

/// A policy that keeps every second matmul's result keeps none of unknown ops.
TEST(MatmulFormat, results_in_4_bits_are_computed_again) {
  auto build = [](Precision precision) {
    ExecutedPlan plan;
    plan.precision = precision;
    plan.recompute = Recompute::Matmuls;
    ModelWork work;
    work.kinds.resize(1);
    LayerWork &layer = work.kinds[0];
    layer.name = "block";
    layer.add(weightMatmul(1024, 6400, 1024));
    layer.keptResults = {{"nn.einsum", 1000, false},
                         {"nn.attention", 100, false}};
    work.layers = {{0, 1}};
    buildTrainingWork(work, plan, plan);
    return work.kinds[0];
  };
  auto columnsAgain = [](const LayerWork &layer) {
    int64_t columns = 0;
    for (const OpWork &op : layer.ops)
      if (op.pass == Pass::Recompute && op.kind == OpClass::Matmul)
        columns += op.matmul.n;
    return columns;
  };
  LayerWork eight = build(Precision::MXFP8), four = build(Precision::NVFP4);
  EXPECT_EQ(columnsAgain(eight), 0);
  EXPECT_EQ(eight.keptResults[0].bytes, 1000);
  // All but 16 % of the blocks, in whole vectors.
  EXPECT_EQ(columnsAgain(four), 6400 - 1024);
  EXPECT_DOUBLE_EQ(four.keptResults[0].bytes, 160);
  EXPECT_EQ(four.keptResults[1].bytes, 100);
}

TEST(MatmulFormat, a_device_needs_the_units) {
  DeviceSpec hopper;
  hopper.name = "H";
  hopper.peakFlops = {{"bf16", {}}, {"fp8", {}}};
  EXPECT_EQ(llvm::toString(checkPrecision(Precision::FP8Block, hopper)), "");
  EXPECT_EQ(llvm::toString(checkPrecision(Precision::MXFP8, hopper)),
            "precision: expects units of H, which are bf16, fp8, but got "
            "mxfp8, whose units are mxfp8");
  EXPECT_EQ(llvm::toString(checkPrecision(Precision::NVFP4, hopper)),
            "precision: expects units of H, which are bf16, fp8, but got "
            "nvfp4, whose units are fp4");
  DeviceSpec volta;
  volta.name = "V";
  volta.peakFlops = {{"f16", {}}, {"f32", {}}};
  EXPECT_EQ(llvm::toString(checkPrecision(Precision::F16, volta)), "");
  EXPECT_NE(llvm::toString(checkPrecision(Precision::BF16, volta)), "");
}

TEST(MatmulFormat, eight_bit_matmuls_are_cast) {
  LayerWork layer;
  layer.add(weightMatmul(512, 256, 128));
  quantizeMatmuls(layer, *getMatmulFormat(Precision::FP8));
  ASSERT_EQ(layer.ops.size(), 2u);
  EXPECT_EQ(layer.ops[1].castGradientRead, 2);
  EXPECT_EQ(layer.ops[1].castGradientWritten, 2);
  EXPECT_EQ(layer.ops[1].dtype, DType::FP8);
  EXPECT_EQ(layer.ops[1].bytesRead, 512 * 128 + 128 * 256);
  appendBackward(layer, Recompute::None, 4, false);
  EXPECT_EQ(flopsOf(layer, OpClass::Matmul, Pass::BackwardWeight),
            layer.ops[1].flops);
}

} // namespace
