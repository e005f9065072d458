//===- GpuBench.h - A device for measurements -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared by the programs of ./dev gpu: the machine's device (the emulated one
// with --emulated), a stream, memory, the hand-written kernels, and time
// measurement.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_BENCH_GPUBENCH_H
#define TESSERA_BENCH_GPUBENCH_H

#include "runtime/cuda/Kernels.h"
#include "runtime/cuda/Matmul.h"
#include "runtime/cuda/TuneFile.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
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

/// A block of device memory.
class DeviceMemory {
public:
  DeviceMemory(GpuBench &bench, int64_t bytes) : bench(bench), bytes(bytes) {
    must(bench.device->allocate(std::max<int64_t>(bytes, 1), memory));
    must(bench.device->fillBytes(bench.stream, memory, 0xFF, bytes));
  }
  template <typename T>
  DeviceMemory(GpuBench &bench, const std::vector<T> &values)
      : DeviceMemory(bench, int64_t(values.size() * sizeof(T))) {
    must(bench.device->copyIn(bench.stream, memory, values.data(), bytes));
    must(bench.device->synchronize(bench.stream));
  }
  DeviceMemory(const DeviceMemory &) = delete;
  ~DeviceMemory() { bench.device->release(memory); }

  template <typename T> T *data() { return static_cast<T *>(memory); }
  template <typename T> std::vector<T> fetch() {
    std::vector<T> values(size_t(bytes) / sizeof(T));
    must(bench.device->copyOut(bench.stream, values.data(), memory, bytes));
    must(bench.device->synchronize(bench.stream));
    return values;
  }

private:
  GpuBench &bench;
  int64_t bytes;
  void *memory = nullptr;
};

/// Times a matmul with all algorithms of cuBLASLt, and returns what a tune file
/// has of it.
inline TuneEntry tune(GpuBench &bench, const MatmulCall &call) {
  TuneOptions options;
  options.mode = TuneOptions::On;
  options.path = "gpu_bench." + std::to_string(getpid()) + ".tune";
  options.remark = [](const std::string &) {};
  std::string error;
  auto matmul = createCublasLt(*bench.device, *bench.kernels, bench.stream,
                               options, error);
  must(error);
  must(matmul->prepare({call}));
  TuneFile file;
  must(file.read(options.path));
  unlink(options.path.c_str());
  return file.entries.begin()->second;
}

} // namespace tessera::rt::cuda

#endif // TESSERA_BENCH_GPUBENCH_H
