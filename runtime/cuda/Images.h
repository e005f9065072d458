//===- Images.h - Choice of a kernel image for a device ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_IMAGES_H
#define TESSERA_RT_CUDA_IMAGES_H

#include "Device.h"

#include <vector>

namespace tessera::rt::cuda {

/// The images that run on `architecture` (10 * major + minor), the best first:
/// cubins of the same major version, then PTX, each in descending order.
std::vector<const tessera_rt_device_image *>
fittingImages(const KernelImages &images, int32_t architecture);

/// Describes the images, such as "cubins for sm_80, sm_90 and PTX for sm_80".
std::string describeImages(const KernelImages &images);

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_IMAGES_H
