//===- ImagesTest.cpp - Choice of a kernel image for a device -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Images.h"
#include "runtime/cuda/Peaks.h"

#include <gtest/gtest.h>

using namespace tessera::rt::cuda;

static const tessera_rt_device_image images[] = {{80, 0, nullptr, 0},
                                                 {90, 0, nullptr, 0},
                                                 {100, 0, nullptr, 0},
                                                 {80, 1, nullptr, 0}};
static const KernelImages all = {images, 4, nullptr, 0, nullptr};

/// Formats the architectures in the order of preference: "90 ptx80".
static std::string order(const KernelImages &from, int32_t architecture) {
  std::string text;
  for (const tessera_rt_device_image *image : fittingImages(from, architecture))
    text += (text.empty() ? "" : " ") +
            std::string(image->is_ptx ? "ptx" : "") +
            std::to_string(image->arch);
  return text;
}

TEST(images, a_cubin_of_the_same_major_version_is_preferred) {
  EXPECT_EQ(order(all, 80), "80 ptx80");
  EXPECT_EQ(order(all, 86), "80 ptx80");
  EXPECT_EQ(order(all, 90), "90 ptx80");
  EXPECT_EQ(order(all, 103), "100 ptx80");
}

TEST(images, ptx_stands_in_for_other_versions) {
  EXPECT_EQ(order(all, 120), "ptx80");
  EXPECT_EQ(order(all, 75), "");
  KernelImages cubins = all;
  cubins.numImages = 3;
  EXPECT_EQ(order(cubins, 120), "");
}

TEST(images, are_described_for_errors) {
  EXPECT_EQ(describeImages(all),
            "cubins for sm_80, sm_90, sm_100 and PTX for sm_80");
  EXPECT_EQ(describeImages({}), "no images");
}

TEST(peaks, are_known_by_the_device_s_name) {
  EXPECT_EQ(peakFlops("NVIDIA H200", TESSERA_RT_BF16, false), 989.4e12);
  EXPECT_EQ(peakFlops("NVIDIA H100 PCIe", TESSERA_RT_F16, false), 756e12);
  EXPECT_EQ(peakFlops("NVIDIA A100-SXM4-80GB", TESSERA_RT_F32, false), 19.5e12);
  EXPECT_EQ(peakFlops("NVIDIA A100-SXM4-80GB", TESSERA_RT_F32, true), 156e12);
  EXPECT_EQ(peakFlops("NVIDIA H200", TESSERA_RT_F8E4M3, false), 1978.8e12);
  EXPECT_EQ(peakFlops("NVIDIA A100-SXM4-80GB", TESSERA_RT_F8E5M2, false), 0);
  EXPECT_EQ(peakFlops("emulated", TESSERA_RT_F32, false), 0);
}
