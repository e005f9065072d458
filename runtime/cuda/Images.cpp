//===- Images.cpp - Choice of a kernel image for a device -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Images.h. A cubin runs on later minor versions of its major version; PTX
// is translated for any later version.
//
//===----------------------------------------------------------------------===//

#include "Images.h"

#include <algorithm>

using namespace tessera::rt::cuda;

static bool fits(const tessera_rt_device_image &image, int32_t architecture) {
  return image.arch <= architecture &&
         (image.is_ptx || image.arch / 10 == architecture / 10);
}

std::vector<const tessera_rt_device_image *>
tessera::rt::cuda::fittingImages(const KernelImages &images,
                                 int32_t architecture) {
  std::vector<const tessera_rt_device_image *> fitting;
  for (int32_t i = 0; i < images.numImages; ++i)
    if (fits(images.images[i], architecture))
      fitting.push_back(&images.images[i]);
  std::sort(
      fitting.begin(), fitting.end(),
      [](const tessera_rt_device_image *a, const tessera_rt_device_image *b) {
        return a->is_ptx != b->is_ptx ? a->is_ptx < b->is_ptx
                                      : a->arch > b->arch;
      });
  return fitting;
}

std::string tessera::rt::cuda::describeImages(const KernelImages &images) {
  std::string texts[2];
  for (int32_t i = 0; i < images.numImages; ++i) {
    std::string &text = texts[images.images[i].is_ptx ? 1 : 0];
    text += (text.empty() ? "sm_" : ", sm_") +
            std::to_string(images.images[i].arch);
  }
  std::string cubins = texts[0].empty() ? "" : "cubins for " + texts[0];
  std::string ptx = texts[1].empty() ? "" : "PTX for " + texts[1];
  if (cubins.empty() && ptx.empty())
    return "no images";
  return cubins + (cubins.empty() || ptx.empty() ? "" : " and ") + ptx;
}
