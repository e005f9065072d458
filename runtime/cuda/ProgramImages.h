//===- ProgramImages.h - The program's kernels ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_PROGRAMIMAGES_H
#define TESSERA_RT_CUDA_PROGRAMIMAGES_H

#include "Device.h"

namespace tessera::rt::cuda {

/// The images that the program defines; see tessera_rt_cuda.h.
inline KernelImages programImages() {
  return {tessera_program_images, tessera_program_num_images,
          tessera_program_kernels, tessera_program_num_kernels,
          tessera_program_emulated_kernels};
}

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_PROGRAMIMAGES_H
