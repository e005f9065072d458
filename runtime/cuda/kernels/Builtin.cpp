//===- Builtin.cpp - The hand-written kernels on a device -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names, images and functions of the kernels; see Builtin.h.
//
//===----------------------------------------------------------------------===//

#include "Builtin.h"

#include <algorithm>

using namespace tessera::rt::cuda;

#define TESSERA_BUILTIN(name) extern "C" void name(const int64_t *args);
#include "Kernels.def"
#undef TESSERA_BUILTIN

static const char *const names[] = {
#define TESSERA_BUILTIN(name) #name,
#include "Kernels.def"
#undef TESSERA_BUILTIN
};
static const tessera_rt_emulated_fn functions[] = {
#define TESSERA_BUILTIN(name) name,
#include "Kernels.def"
#undef TESSERA_BUILTIN
};

#ifdef TESSERA_BUILTIN_IMAGES
extern "C" {
extern const char tessera_builtin_80[], tessera_builtin_80_end[];
extern const char tessera_builtin_90[], tessera_builtin_90_end[];
extern const char tessera_builtin_100[], tessera_builtin_100_end[];
extern const char tessera_builtin_ptx[], tessera_builtin_ptx_end[];
}
#endif

KernelImages tessera::rt::cuda::builtinImages() {
  KernelImages result;
  result.names = names;
  result.numKernels = int32_t(sizeof(names) / sizeof(names[0]));
  result.emulated = functions;
#ifdef TESSERA_BUILTIN_IMAGES
  static const tessera_rt_device_image images[] = {
      {80, 0, tessera_builtin_80, tessera_builtin_80_end - tessera_builtin_80},
      {90, 0, tessera_builtin_90, tessera_builtin_90_end - tessera_builtin_90},
      {100, 0, tessera_builtin_100,
       tessera_builtin_100_end - tessera_builtin_100},
      {80, 1, tessera_builtin_ptx,
       tessera_builtin_ptx_end - tessera_builtin_ptx}};
  result.images = images;
  result.numImages = int32_t(sizeof(images) / sizeof(images[0]));
#endif
  return result;
}

std::string BuiltinKernels::load() {
  KernelImages images = builtinImages();
  if (!device.isEmulated() && images.numImages == 0)
    return "the runtime was built without CUDA: it has no kernels for devices";
  return device.loadImages(images, module);
}

int64_t BuiltinKernels::gridFor(int64_t count, int64_t perBlock) const {
  int64_t blocks = (count + perBlock - 1) / perBlock;
  // Each block that runs costs the emulator new stacks for its threads.
  int64_t most =
      device.isEmulated() ? 3 : device.properties().multiprocessors * 8;
  return std::clamp<int64_t>(blocks, 1, most);
}

std::string BuiltinKernels::launchPacked(Stream stream, const char *name,
                                         const LaunchShape &shape,
                                         const int64_t *args, int32_t numArgs) {
  Kernel &kernel = kernels[name];
  if (!kernel.handle) {
    std::string error = device.getKernel(module, name, kernel);
    if (!error.empty())
      return error;
  }
  return device.launch(stream, kernel, shape, args, numArgs,
                       Parameters::Struct);
}
