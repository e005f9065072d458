//===- GPUImages.h - Kernels of a GPU to machine code -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVVM dialect becomes PTX in this process, and the toolkit's ptxas makes one
// cubin per architecture. The mathematical functions come from libdevice, also
// part of the toolkit. No GPU is needed.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_GPUIMAGES_H
#define TESSERA_CONVERSION_GPUIMAGES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tessera {

/// The GPUs and the toolkit that the kernels of a program are compiled for.
struct ImageOptions {
  /// Architectures to make cubins for: 80 is sm_80.
  std::vector<int> archs = {80, 90, 100};
  /// Adds PTX for the lowest of them, for future GPUs.
  bool ptx = true;
  /// The toolkit's folder, from findCUDAToolkit.
  std::string toolkit;
};

/// The resources of a kernel, as ptxas reports them.
struct KernelUse {
  std::string name;
  int arch = 0;
  /// Registers per thread.
  int registers = 0;
  /// Bytes of a thread's memory: the stack, and spilled registers.
  int stack = 0, spillStores = 0, spillLoads = 0;
};

/// The folder of the toolkit with ptxas and libdevice: TESSERA_CUDA_PATH or
/// else CUDA_HOME if set, then /usr/local/cuda, then the toolkit of the ptxas
/// on PATH. Fails with the searched folders.
llvm::Expected<std::string> findCUDAToolkit();

/// Parses a list such as "80,90" or "sm_80,sm_90". Fails if it is empty, has an
/// entry that is not a number of at least 80, or has one twice.
llvm::Expected<std::vector<int>> parseArchs(llvm::StringRef text);

/// Makes the images of the module's kernels, which are in NVVM dialect, defines
/// them in the module, in LLVM dialect, and removes the kernels. Returns the
/// resources that ptxas reports, by architecture and kernel. Fails if the
/// module does not translate, or if ptxas fails, with its message.
llvm::Expected<std::vector<KernelUse>>
addDeviceImages(mlir::ModuleOp module, const ImageOptions &options);

/// Prints the resources of kernels as a table with one row per kernel and one
/// column per architecture, or as a document with a row per kernel and
/// architecture, whose field "kernels" is a list of them; `command` is the
/// command line that makes it.
void printKernelUse(llvm::ArrayRef<KernelUse> uses, llvm::raw_ostream &os);
void printKernelUseAsJson(llvm::ArrayRef<KernelUse> uses,
                          llvm::StringRef command, llvm::raw_ostream &os);

} // namespace tessera

#endif // TESSERA_CONVERSION_GPUIMAGES_H
