//===- GpuBench.h - A device for measurements -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared by the programs of ./dev gpu: the machine's device (the emulated one
// with --emulated), a stream, the hand-written kernels, and time measurement.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_BENCH_GPUBENCH_H
#define TESSERA_BENCH_GPUBENCH_H

#include "runtime/cuda/Kernels.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace tessera::rt::cuda {

/// Ends the program on an error, after which nothing can be checked.
inline void must(const std::string &error) {
  if (error.empty())
    return;
  fprintf(stderr, "error: %s\n", error.c_str());
  exit(1);
}

/// The device, a stream on it, and the kernels.
struct GpuBench {
  std::unique_ptr<Device> device;
  Stream stream;
  std::unique_ptr<Kernels> kernels;
  /// True if a result was wrong.
  bool isOff = false;
  std::vector<std::string> flags;

  GpuBench(int argc, char **argv) : flags(argv + 1, argv + argc) {
    std::string error;
    device = has("--emulated") ? createEmulatedDevice(0, error)
                               : createCudaDevice(0, error);
    must(error);
    must(device->createStream(false, stream));
    kernels = createDeviceKernels(*device, error);
    must(error);
  }

  bool has(const char *flag) const {
    return std::find(flags.begin(), flags.end(), flag) != flags.end();
  }

  /// The median seconds of ten runs of `work`, after three warm-up runs.
  template <typename Work> double secondsOf(Work work) {
    Event begin, end;
    must(device->createEvent(true, begin));
    must(device->createEvent(true, end));
    std::vector<double> times;
    for (int i = 0; i < 13; ++i) {
      must(device->record(begin, stream));
      work();
      must(device->record(end, stream));
      must(device->synchronize(stream));
      double seconds = 0;
      must(device->elapsed(begin, end, seconds));
      if (i >= 3)
        times.push_back(seconds);
    }
    must(device->destroy(begin));
    must(device->destroy(end));
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }
};

} // namespace tessera::rt::cuda

#endif // TESSERA_BENCH_GPUBENCH_H
