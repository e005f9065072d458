//===- Device.h - The runtime's interface to a device -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The few operations that the runtime needs from a device: memory, streams,
// events, generated kernels, and recording of streams. One implementation is a
// CUDA device, another a device emulated on the host. Libraries on a device
// (matmuls, attention, collectives) have interfaces of their own.
//
// Every function returns a message, or nothing. A Device belongs to one thread
// of a rank, which alone uses it. Streams and events may be mixed between
// Devices that represent one piece of hardware.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_DEVICE_H
#define TESSERA_RT_CUDA_DEVICE_H

#include "tessera_rt_cuda.h"

#include <functional>
#include <memory>
#include <string>

namespace tessera::rt::cuda {

/// Handles; the implementation defines their targets.
struct Stream {
  void *handle = nullptr;
};
struct Event {
  void *handle = nullptr;
};
struct Graph {
  void *handle = nullptr;
};
struct Module {
  void *handle = nullptr;
};
struct Kernel {
  void *handle = nullptr;
};

struct DeviceProperties {
  std::string name;
  /// 10 * major + minor of the compute capability; 0 when emulated.
  int32_t architecture = 0;
  /// Identifies this device among others of its kind: the UUID, as text.
  std::string identity;
  int64_t memoryBytes = 0;
  int32_t multiprocessors = 0;
  /// Dynamic shared memory that a block can be given.
  int64_t sharedBytesPerBlock = 0;
  /// Version of the driver, as 1000 * major + 10 * minor.
  int32_t driverVersion = 0;
};

/// A set of kernels: a program's (see tessera_rt_cuda.h) or the runtime's own.
struct KernelImages {
  const tessera_rt_device_image *images = nullptr;
  int32_t numImages = 0;
  /// Names, and for an emulated device the functions for them.
  const char *const *names = nullptr;
  int32_t numKernels = 0;
  const tessera_rt_emulated_fn *emulated = nullptr;
};

/// Convention for a kernel's arguments: each as a parameter (generated
/// kernels), or all as one struct by value (hand-written ones).
enum class Parameters { Separate, Struct };

/// The size of a launch; blocks and grids have one dimension.
struct LaunchShape {
  int64_t grid = 1;
  int32_t block = 1;
  int32_t sharedBytes = 0;
};

class Device {
public:
  virtual ~Device() = default;

  virtual const DeviceProperties &properties() const = 0;
  /// True if device addresses are host addresses and the host makes library
  /// calls.
  virtual bool isEmulated() const = 0;
  /// Creates a Device of the same hardware for the calling thread. Null with a
  /// message if that fails.
  virtual std::unique_ptr<Device> createForThread(std::string &error) const = 0;

  //===--------------------------------------------------------------------===//
  // Memory. Copies and fills are enqueued. A host block must live and not
  // change until the stream has reached its operation. `copyIn` from and
  // `copyOut` to pageable memory may wait for the stream.
  //===--------------------------------------------------------------------===//

  /// Allocates device memory, aligned to 256 bytes, with arbitrary contents.
  virtual std::string allocate(int64_t bytes, void *&memory) = 0;
  virtual std::string release(void *memory) = 0;
  /// Allocates host memory that the device reads and writes at full speed.
  virtual std::string allocateHost(int64_t bytes, void *&memory) = 0;
  virtual std::string releaseHost(void *memory) = 0;
  virtual std::string copyIn(Stream stream, void *device, const void *host,
                             int64_t bytes) = 0;
  virtual std::string copyOut(Stream stream, void *host, const void *device,
                              int64_t bytes) = 0;
  virtual std::string copy(Stream stream, void *to, const void *from,
                           int64_t bytes) = 0;
  virtual std::string fillBytes(Stream stream, void *device, uint8_t value,
                                int64_t bytes) = 0;
  /// Bytes of device memory that this process has allocated so far, and the
  /// number of allocations (device and host).
  virtual int64_t allocatedBytes() const = 0;
  virtual int64_t numAllocations() const = 0;

  //===--------------------------------------------------------------------===//
  // Streams and events
  //===--------------------------------------------------------------------===//

  /// Creates a stream, which runs its work in order. The device prefers streams
  /// of high priority.
  virtual std::string createStream(bool highPriority, Stream &stream) = 0;
  virtual std::string createEvent(bool timed, Event &event) = 0;
  virtual std::string destroy(Stream stream) = 0;
  virtual std::string destroy(Event event) = 0;
  /// Marks the work enqueued on the stream so far.
  virtual std::string record(Event event, Stream stream) = 0;
  /// Makes later work of the stream wait for the event. An event that was never
  /// recorded causes no wait.
  virtual std::string wait(Stream stream, Event event) = 0;
  /// Tests whether an event has happened; does not wait.
  virtual std::string query(Event event, bool &hasHappened) = 0;
  /// Waits until the stream is empty.
  virtual std::string synchronize(Stream stream) = 0;
  /// Seconds between two timed events that have happened.
  virtual std::string elapsed(Event from, Event to, double &seconds) = 0;

  //===--------------------------------------------------------------------===//
  // Work
  //===--------------------------------------------------------------------===//

  /// Loads the image that fits this device best. If none fits, the message
  /// names the images and the device.
  virtual std::string loadImages(const KernelImages &images,
                                 Module &module) = 0;
  /// Finds a kernel of a module by name.
  virtual std::string getKernel(Module module, const char *name,
                                Kernel &kernel) = 0;
  /// Enqueues a launch. `args` are read before the call returns. A grid of 0
  /// runs nothing.
  virtual std::string launch(Stream stream, Kernel kernel,
                             const LaunchShape &shape, const int64_t *args,
                             int32_t numArgs, Parameters parameters) = 0;
  /// Calls a host function when the stream reaches it; later work on the stream
  /// waits for it. It must not use the device.
  virtual std::string call(Stream stream, std::function<void()> function) = 0;

  //===--------------------------------------------------------------------===//
  // Recording. Between begin and end, work that is enqueued on `stream`, or on
  // a stream that waits for an event of it, does not run but becomes a graph.
  // Other streams must be joined to `stream` (by a wait) before the end.
  //===--------------------------------------------------------------------===//

  virtual std::string beginCapture(Stream stream) = 0;
  virtual std::string endCapture(Stream stream, Graph &graph) = 0;
  /// Returns the number of nodes, for reports.
  virtual std::string graphSize(Graph graph, int64_t &nodes) = 0;
  virtual std::string launchGraph(Stream stream, Graph graph) = 0;
  virtual std::string destroy(Graph graph) = 0;
};

/// Creates the device with that number among those that the process sees. Null
/// with a message if the driver or the device is missing, or if this library
/// was built without CUDA.
std::unique_ptr<Device> createCudaDevice(int number, std::string &error);

/// Number of CUDA devices; 0 with a message if there are none.
int countCudaDevices(std::string &error);

/// Creates a device that runs emulated kernels on the host's threads.
/// `memoryBytes` is its reported memory; 0: no limit.
std::unique_ptr<Device> createEmulatedDevice(int64_t memoryBytes,
                                             std::string &error);

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_DEVICE_H
