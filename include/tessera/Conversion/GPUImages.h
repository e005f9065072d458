//===- GPUImages.h - Kernels of a GPU to machine code -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVVM dialect becomes PTX in this process and a cubin an architecture by the
// toolkit's ptxas. libdevice, which the mathematical functions are from, is the
// toolkit's too. No GPU is needed.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_GPUIMAGES_H
#define TESSERA_CONVERSION_GPUIMAGES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tessera {

/// Which GPUs the kernels of a program are compiled for, and with which
/// toolkit.
struct ImageOptions {
  /// Architectures to make cubins for: 80 is sm_80.
  std::vector<int> archs = {80, 90, 100};
  /// PTX for the lowest of them goes along, for GPUs to come.
  bool ptx = true;
  /// The toolkit's folder, of findCUDAToolkit.
  std::string toolkit;
};

/// What ptxas says of a kernel.
struct KernelUse {
  std::string name;
  int arch = 0;
  /// Of a thread.
  int registers = 0;
  /// Bytes of a thread's memory: the stack, what does not fit into registers.
  int stack = 0, spillStores = 0, spillLoads = 0;
};

/// The toolkit with ptxas and libdevice: of TESSERA_CUDA_PATH, CUDA_HOME,
/// /usr/local/cuda and where ptxas is on PATH, the first that is one. An
/// error that says where was looked.
llvm::Expected<std::string> findCUDAToolkit();

/// Architectures from a list as "80,90" or "sm_80,sm_90". Errors: none, one
/// that is no number of at least 80, one twice.
llvm::Expected<std::vector<int>> parseArchs(llvm::StringRef text);

/// Makes the images of the module's kernels, which are in NVVM dialect, defines
/// them in the module, in LLVM dialect, and removes the kernels. Gives what
/// ptxas says, by architecture and kernel. Errors: a module that does not
/// translate, a ptxas that refuses, with what it says.
llvm::Expected<std::vector<KernelUse>>
addDeviceImages(mlir::ModuleOp module, const ImageOptions &options);

/// A table of what kernels use, a row a kernel and a column an architecture;
/// or the same as JSON.
void printKernelUse(llvm::ArrayRef<KernelUse> uses, llvm::raw_ostream &os);
void printKernelUseAsJson(llvm::ArrayRef<KernelUse> uses,
                          llvm::raw_ostream &os);

} // namespace tessera

#endif // TESSERA_CONVERSION_GPUIMAGES_H
