//===- FakeDevice.h - Emulated devices with libraries for tests -*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes the replacements of CUDA's libraries run their work in the streams of
// an emulated device.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RUNTIME_DEVICE_FAKEDEVICE_H
#define TESSERA_TEST_RUNTIME_DEVICE_FAKEDEVICE_H

#include "FakeStream.h"
#include "runtime/cuda/Device.h"

#include <cstdlib>
#include <dlfcn.h>

namespace tessera::rt::cuda {

/// The device in whose streams the libraries run.
inline Device *&streamDevice() {
  static Device *device = nullptr;
  return device;
}

/// A function of a library in FAKES/good.
template <typename Function>
Function *fakeFunction(const char *library, const char *name) {
  void *handle =
      dlopen((std::string(FAKES "/good/") + library).c_str(), RTLD_NOW);
  return reinterpret_cast<Function *>(handle ? dlsym(handle, name) : nullptr);
}

/// Lets programs find the libraries of FAKES/`folder`, and makes those in
/// FAKES/good use the streams of `device`.
inline void useFakes(Device *device, const char *folder = "good") {
  setenv("TESSERA_EMULATE_LIBRARIES", "1", 1);
  setenv("TESSERA_CUDA_LIBRARY_PATH", (std::string(FAKES "/") + folder).c_str(),
         1);
  streamDevice() = device;
  for (const char *library : {"libcublasLt.so.13", "libnccl.so.2"})
    fakeFunction<void(FakeEnqueue)>(library, "tessera_fake_set_enqueue")(
        [](void *stream, std::function<void()> function) {
          if (streamDevice())
            streamDevice()->call(Stream{stream}, std::move(function));
          else
            function();
        });
}

} // namespace tessera::rt::cuda

#endif // TESSERA_TEST_RUNTIME_DEVICE_FAKEDEVICE_H
