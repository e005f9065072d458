//===- Device.h - A device as the runtime uses it ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The few things that the runtime asks of a device: memory, streams, events,
// generated kernels, and recording what streams do. One implementation is a
// CUDA device, another a device that is emulated on the host. What libraries do
// on a device (matmuls, attention, collectives) is elsewhere.
//
// Every function returns a message, or nothing. A Device belongs to one rank
// and is used by its thread alone; streams and events of several Devices that
// stand for one piece of hardware may be mixed.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_DEVICE_H
#define TESSERA_RT_CUDA_DEVICE_H

#include "tessera_rt_cuda.h"

#include <functional>
#include <memory>
#include <string>

namespace tessera::rt::cuda {

/// Handles; what they point to is the implementation's.
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
  /// What tells this device from others of its kind: the UUID, as text.
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
  /// Names, and for an emulated device the functions beside them.
  const char *const *names = nullptr;
  int32_t numKernels = 0;
  const tessera_rt_emulated_fn *emulated = nullptr;
};

/// How a kernel takes its arguments: each as a parameter (generated kernels),
/// or all as one struct by value (hand-written ones).
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
  /// Whether device addresses are host addresses, and library calls are to be
  /// made by the host.
  virtual bool isEmulated() const = 0;

  //===--------------------------------------------------------------------===//
  // Memory. Copies and fills are enqueued; a host block must live, and stay as
  // it is, until the stream has come there. `copyIn` from and `copyOut` to
  // pageable memory may wait for the stream.
  //===--------------------------------------------------------------------===//

  /// Memory of the device, aligned to 256 bytes. The contents are anything.
  virtual std::string allocate(int64_t bytes, void *&memory) = 0;
  virtual std::string release(void *memory) = 0;
  /// Host memory that the device reads and writes at full speed.
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

  /// A stream runs what is enqueued on it in order. One of high priority is
  /// preferred when there is a choice.
  virtual std::string createStream(bool highPriority, Stream &stream) = 0;
  virtual std::string createEvent(bool timed, Event &event) = 0;
  virtual std::string destroy(Stream stream) = 0;
  virtual std::string destroy(Event event) = 0;
  /// Marks what the stream has been given so far.
  virtual std::string record(Event event, Stream stream) = 0;
  /// What the stream is given from now on runs after the event. An event that
  /// was never recorded is no wait.
  virtual std::string wait(Stream stream, Event event) = 0;
  /// Whether an event has happened; does not wait.
  virtual std::string query(Event event, bool &hasHappened) = 0;
  /// Waits until the stream is empty.
  virtual std::string synchronize(Stream stream) = 0;
  /// Seconds between two timed events that have happened.
  virtual std::string elapsed(Event from, Event to, double &seconds) = 0;

  //===--------------------------------------------------------------------===//
  // Work
  //===--------------------------------------------------------------------===//

  /// Loads the image that fits this device best. A message names the images and
  /// the device when none fits.
  virtual std::string loadImages(const KernelImages &images,
                                 Module &module) = 0;
  /// Finds a kernel of a module by name.
  virtual std::string getKernel(Module module, const char *name,
                                Kernel &kernel) = 0;
  /// Enqueues a launch. `args` are read before the call returns. With grid 0
  /// nothing runs.
  virtual std::string launch(Stream stream, Kernel kernel,
                             const LaunchShape &shape, const int64_t *args,
                             int32_t numArgs, Parameters parameters) = 0;
  /// Calls a function of the host when the stream comes there; what follows on
  /// the stream waits for it. It must not use the device.
  virtual std::string call(Stream stream, std::function<void()> function) = 0;

  //===--------------------------------------------------------------------===//
  // Recording. Between begin and end nothing that is given to `stream`, or to a
  // stream that waits for an event of it, is done; it becomes a graph. Other
  // streams must be joined to `stream` (by a wait) before the end.
  //===--------------------------------------------------------------------===//

  virtual std::string beginCapture(Stream stream) = 0;
  virtual std::string endCapture(Stream stream, Graph &graph) = 0;
  /// Number of nodes, for reports.
  virtual std::string graphSize(Graph graph, int64_t &nodes) = 0;
  virtual std::string launchGraph(Stream stream, Graph graph) = 0;
  virtual std::string destroy(Graph graph) = 0;
};

/// The device with that number among those that the process sees. Null with a
/// message that says what is missing: a driver, a device, or this library was
/// built without CUDA.
std::unique_ptr<Device> createCudaDevice(int number, std::string &error);

/// Number of CUDA devices; 0 with a message when there are none.
int countCudaDevices(std::string &error);

/// A device that runs on the host's threads, with emulated kernels.
/// `memoryBytes` is what it claims to have; 0: no limit.
std::unique_ptr<Device> createEmulatedDevice(int64_t memoryBytes,
                                             std::string &error);

} // namespace tessera::rt::cuda

#endif // TESSERA_RT_CUDA_DEVICE_H
