//===- CudaDevice.cpp - A device of CUDA ----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Device.h. This uses only the runtime API, which is linked statically and
// loads the driver at its first use. So a program starts on a machine without
// either and reports what is missing.
//
//===----------------------------------------------------------------------===//

#include "Images.h"
#include "support/Support.h"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <map>
#include <vector>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

/// Dynamic shared memory that every kernel may have.
static constexpr int32_t defaultSharedBytes = 48 << 10;

/// Returns a message about a failed call of the runtime API, or nothing.
static std::string check(const char *what, cudaError_t error) {
  if (error == cudaSuccess)
    return std::string();
  // Clears the error, so that no later call reports it.
  cudaGetLastError();
  return std::string(what) + ": " + cudaGetErrorString(error) + " (" +
         cudaGetErrorName(error) + ")";
}

namespace {
/// The handles of a loaded image.
struct LoadedModule {
  cudaLibrary_t library = nullptr;
  KernelImages images;
};

class CudaDevice final : public Device {
public:
  explicit CudaDevice(int number) : number(number) {}
  ~CudaDevice() override;

  /// Selects the device for this thread, and queries its properties.
  std::string open();

  const DeviceProperties &properties() const override { return facts; }
  bool isEmulated() const override { return false; }
  std::unique_ptr<Device> createForThread(std::string &error) const override;

  std::string allocate(int64_t bytes, void *&memory) override;
  std::string release(void *memory) override;
  std::string allocateHost(int64_t bytes, void *&memory) override;
  std::string releaseHost(void *memory) override;
  std::string copyIn(Stream stream, void *device, const void *host,
                     int64_t bytes) override;
  std::string copyOut(Stream stream, void *host, const void *device,
                      int64_t bytes) override;
  std::string copy(Stream stream, void *to, const void *from,
                   int64_t bytes) override;
  std::string fillBytes(Stream stream, void *device, uint8_t value,
                        int64_t bytes) override;
  int64_t allocatedBytes() const override { return bytesAllocated; }
  int64_t numAllocations() const override { return allocations; }

  std::string createStream(bool highPriority, Stream &stream) override;
  std::string createEvent(bool timed, Event &event) override;
  std::string destroy(Stream stream) override;
  std::string destroy(Event event) override;
  std::string record(Event event, Stream stream) override;
  std::string wait(Stream stream, Event event) override;
  std::string query(Event event, bool &hasHappened) override;
  std::string synchronize(Stream stream) override;
  std::string elapsed(Event from, Event to, double &seconds) override;

  std::string loadImages(const KernelImages &images, Module &module) override;
  std::string getKernel(Module module, const char *name,
                        Kernel &kernel) override;
  std::string launch(Stream stream, Kernel kernel, const LaunchShape &shape,
                     const int64_t *args, int32_t numArgs,
                     Parameters parameters) override;
  std::string call(Stream stream, std::function<void()> function) override;

  std::string beginCapture(Stream stream) override;
  std::string endCapture(Stream stream, Graph &graph) override;
  std::string graphSize(Graph graph, int64_t &nodes) override;
  std::string launchGraph(Stream stream, Graph graph) override;
  std::string destroy(Graph graph) override;

private:
  struct Recorded {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t instance = nullptr;
  };

  /// Allows a kernel more shared memory than the default.
  std::string allowShared(Kernel kernel, int32_t bytes);

  int number;
  DeviceProperties facts;
  /// Allowed bytes by kernel, if more than the default.
  std::map<void *, int32_t> sharedBytes;
  int64_t bytesAllocated = 0, allocations = 0;
  std::vector<std::unique_ptr<LoadedModule>> modules;
  /// Functions that streams or graphs may call; a graph calls them repeatedly.
  std::vector<std::unique_ptr<std::function<void()>>> functions;
};

cudaStream_t native(Stream stream) {
  return static_cast<cudaStream_t>(stream.handle);
}
cudaEvent_t native(Event event) {
  return static_cast<cudaEvent_t>(event.handle);
}
} // namespace

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

/// Formats the 16 bytes of a UUID.
static std::string describeUuid(const cudaUUID_t &uuid) {
  std::string text;
  for (int i = 0; i < 16; ++i)
    text += format(i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                   unsigned(static_cast<unsigned char>(uuid.bytes[i])));
  return text;
}

std::string CudaDevice::open() {
  std::string error = check("cudaSetDevice", cudaSetDevice(number));
  cudaDeviceProp properties;
  if (error.empty())
    error = check("cudaGetDeviceProperties",
                  cudaGetDeviceProperties(&properties, number));
  if (!error.empty())
    return format("CUDA device %d cannot be used: ", number) + error;
  facts.name = properties.name;
  facts.architecture = properties.major * 10 + properties.minor;
  facts.identity = describeUuid(properties.uuid);
  facts.memoryBytes = int64_t(properties.totalGlobalMem);
  facts.multiprocessors = properties.multiProcessorCount;
  facts.sharedBytesPerBlock = int64_t(properties.sharedMemPerBlockOptin);
  int driver = 0;
  cudaDriverGetVersion(&driver);
  facts.driverVersion = driver;
  return std::string();
}

std::unique_ptr<Device> CudaDevice::createForThread(std::string &error) const {
  auto device = std::make_unique<CudaDevice>(number);
  error = device->open();
  return error.empty() ? std::move(device) : nullptr;
}

CudaDevice::~CudaDevice() {
  for (std::unique_ptr<LoadedModule> &module : modules)
    cudaLibraryUnload(module->library);
}

int tessera::rt::cuda::countCudaDevices(std::string &error) {
  // Gives each stream a hardware queue of its own. If kernels and transfers
  // shared one queue, the later ones would wait for a receive that is posted
  // early.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*overwrite=*/0);
  int driver = 0, count = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    cudaGetLastError();
    error = "there is no NVIDIA driver (libcuda.so.1) on this machine";
    return 0;
  }
  cudaError_t status = cudaGetDeviceCount(&count);
  error = check("cudaGetDeviceCount", status);
  if (status == cudaErrorInsufficientDriver)
    error = format("the NVIDIA driver is for CUDA %d.%d, but the program needs "
                   "one for %d.%d or later",
                   driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000,
                   CUDART_VERSION % 1000 / 10);
  if (error.empty() && count == 0)
    error = "the NVIDIA driver is there, but no device";
  return error.empty() ? count : 0;
}

std::unique_ptr<Device>
tessera::rt::cuda::createCudaDevice(int number, std::string &error) {
  int count = countCudaDevices(error);
  if (count == 0)
    return nullptr;
  if (number < 0 || number >= count) {
    error = format("expects CUDA device %d, but this process sees %d device%s",
                   number, count, count == 1 ? "" : "s");
    return nullptr;
  }
  auto device = std::make_unique<CudaDevice>(number);
  error = device->open();
  if (!error.empty())
    return nullptr;
  return device;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

std::string CudaDevice::allocate(int64_t bytes, void *&memory) {
  memory = nullptr;
  ++allocations;
  std::string error =
      check("cudaMalloc", cudaMalloc(&memory, size_t(bytes > 0 ? bytes : 1)));
  if (error.empty()) {
    bytesAllocated += bytes;
    return error;
  }
  size_t left = 0, total = 0;
  cudaMemGetInfo(&left, &total);
  return format("cannot get %s on %s, which has %s free of %s: ",
                readableBytes(bytes).c_str(), facts.name.c_str(),
                readableBytes(int64_t(left)).c_str(),
                readableBytes(int64_t(total)).c_str()) +
         error;
}

std::string CudaDevice::release(void *memory) {
  return check("cudaFree", cudaFree(memory));
}

std::string CudaDevice::allocateHost(int64_t bytes, void *&memory) {
  memory = nullptr;
  ++allocations;
  return check("cudaMallocHost",
               cudaMallocHost(&memory, size_t(bytes > 0 ? bytes : 1)));
}

std::string CudaDevice::releaseHost(void *memory) {
  return check("cudaFreeHost", cudaFreeHost(memory));
}

std::string CudaDevice::copyIn(Stream stream, void *device, const void *host,
                               int64_t bytes) {
  return check("cudaMemcpyAsync",
               cudaMemcpyAsync(device, host, size_t(bytes),
                               cudaMemcpyHostToDevice, native(stream)));
}

std::string CudaDevice::copyOut(Stream stream, void *host, const void *device,
                                int64_t bytes) {
  return check("cudaMemcpyAsync",
               cudaMemcpyAsync(host, device, size_t(bytes),
                               cudaMemcpyDeviceToHost, native(stream)));
}

std::string CudaDevice::copy(Stream stream, void *to, const void *from,
                             int64_t bytes) {
  return check("cudaMemcpyAsync",
               cudaMemcpyAsync(to, from, size_t(bytes),
                               cudaMemcpyDeviceToDevice, native(stream)));
}

std::string CudaDevice::fillBytes(Stream stream, void *device, uint8_t value,
                                  int64_t bytes) {
  return check("cudaMemsetAsync",
               cudaMemsetAsync(device, value, size_t(bytes), native(stream)));
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

std::string CudaDevice::createStream(bool highPriority, Stream &stream) {
  int least = 0, greatest = 0;
  cudaDeviceGetStreamPriorityRange(&least, &greatest);
  cudaStream_t made = nullptr;
  std::string error =
      check("cudaStreamCreate",
            cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking,
                                         highPriority ? greatest : least));
  stream.handle = made;
  return error;
}

std::string CudaDevice::createEvent(bool timed, Event &event) {
  cudaEvent_t made = nullptr;
  std::string error =
      check("cudaEventCreate",
            cudaEventCreateWithFlags(&made, timed ? cudaEventDefault
                                                  : cudaEventDisableTiming));
  event.handle = made;
  return error;
}

std::string CudaDevice::destroy(Stream stream) {
  return check("cudaStreamDestroy", cudaStreamDestroy(native(stream)));
}

std::string CudaDevice::destroy(Event event) {
  return check("cudaEventDestroy", cudaEventDestroy(native(event)));
}

std::string CudaDevice::record(Event event, Stream stream) {
  return check("cudaEventRecord",
               cudaEventRecord(native(event), native(stream)));
}

std::string CudaDevice::wait(Stream stream, Event event) {
  return check("cudaStreamWaitEvent",
               cudaStreamWaitEvent(native(stream), native(event), 0));
}

std::string CudaDevice::query(Event event, bool &hasHappened) {
  cudaError_t status = cudaEventQuery(native(event));
  hasHappened = status == cudaSuccess;
  if (status != cudaErrorNotReady)
    return check("a kernel of the step", status);
  // Clears the "not ready" status, so that no later call reports it.
  cudaGetLastError();
  return std::string();
}

std::string CudaDevice::synchronize(Stream stream) {
  return check("a kernel of the step", cudaStreamSynchronize(native(stream)));
}

std::string CudaDevice::elapsed(Event from, Event to, double &seconds) {
  float milliseconds = 0;
  std::string error =
      check("cudaEventElapsedTime",
            cudaEventElapsedTime(&milliseconds, native(from), native(to)));
  seconds = double(milliseconds) * 1e-3;
  return error;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

std::string CudaDevice::loadImages(const KernelImages &images, Module &module) {
  std::string refused;
  for (const tessera_rt_device_image *image :
       fittingImages(images, facts.architecture)) {
    auto loaded = std::make_unique<LoadedModule>();
    loaded->images = images;
    std::string error =
        check("cudaLibraryLoadData",
              cudaLibraryLoadData(&loaded->library, image->data, nullptr,
                                  nullptr, 0, nullptr, nullptr, 0));
    if (error.empty()) {
      module.handle = loaded.get();
      modules.push_back(std::move(loaded));
      return error;
    }
    refused = format("; the %s for sm_%d was refused, ",
                     image->is_ptx ? "PTX" : "cubin", image->arch) +
              error;
  }
  return format("the kernels do not run on %s (sm_%d): the program has ",
                facts.name.c_str(), facts.architecture) +
         describeImages(images) + refused;
}

std::string CudaDevice::getKernel(Module module, const char *name,
                                  Kernel &kernel) {
  cudaKernel_t found = nullptr;
  cudaLibrary_t library = static_cast<LoadedModule *>(module.handle)->library;
  std::string error = check(name, cudaLibraryGetKernel(&found, library, name));
  // The query loads the kernel. A kernel that is loaded at its first launch
  // could wait for a collective that waits for that launch.
  cudaFuncAttributes attributes;
  if (error.empty())
    error = check(name, cudaFuncGetAttributes(&attributes, found));
  kernel.handle = found;
  return error;
}

std::string CudaDevice::allowShared(Kernel kernel, int32_t bytes) {
  int32_t &allowed = sharedBytes[kernel.handle];
  if (bytes <= allowed)
    return std::string();
  std::string error =
      check("cudaKernelSetAttributeForDevice",
            cudaKernelSetAttributeForDevice(
                static_cast<cudaKernel_t>(kernel.handle),
                cudaFuncAttributeMaxDynamicSharedMemorySize, bytes, number));
  if (error.empty())
    allowed = bytes;
  return error;
}

std::string CudaDevice::launch(Stream stream, Kernel kernel,
                               const LaunchShape &shape, const int64_t *args,
                               int32_t numArgs, Parameters parameters) {
  if (shape.grid == 0)
    return std::string();
  if (shape.sharedBytes > defaultSharedBytes) {
    std::string error = allowShared(kernel, shape.sharedBytes);
    if (!error.empty())
      return error;
  }
  // CUDA reads the arguments during the call.
  void *whole = const_cast<int64_t *>(args);
  std::vector<void *> separate;
  void **arguments = &whole;
  if (parameters == Parameters::Separate) {
    separate.resize(size_t(numArgs) + 1);
    for (int32_t i = 0; i < numArgs; ++i)
      separate[size_t(i)] = const_cast<int64_t *>(args + i);
    arguments = separate.data();
  }
  return check("cudaLaunchKernel",
               cudaLaunchKernel(kernel.handle, dim3(unsigned(shape.grid)),
                                dim3(unsigned(shape.block)), arguments,
                                size_t(shape.sharedBytes), native(stream)));
}

std::string CudaDevice::call(Stream stream, std::function<void()> function) {
  functions.push_back(
      std::make_unique<std::function<void()>>(std::move(function)));
  return check(
      "cudaLaunchHostFunc",
      cudaLaunchHostFunc(
          native(stream),
          [](void *data) { (*static_cast<std::function<void()> *>(data))(); },
          functions.back().get()));
}

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

std::string CudaDevice::beginCapture(Stream stream) {
  // Other threads (of libraries, or of other ranks) continue meanwhile.
  return check(
      "cudaStreamBeginCapture",
      cudaStreamBeginCapture(native(stream), cudaStreamCaptureModeThreadLocal));
}

std::string CudaDevice::endCapture(Stream stream, Graph &graph) {
  auto recorded = std::make_unique<Recorded>();
  std::string error =
      check("cudaStreamEndCapture",
            cudaStreamEndCapture(native(stream), &recorded->graph));
  if (error.empty())
    error =
        check("cudaGraphInstantiate",
              cudaGraphInstantiate(&recorded->instance, recorded->graph, 0));
  graph.handle = error.empty() ? recorded.release() : nullptr;
  return error;
}

std::string CudaDevice::graphSize(Graph graph, int64_t &nodes) {
  size_t count = 0;
  std::string error =
      check("cudaGraphGetNodes",
            cudaGraphGetNodes(static_cast<Recorded *>(graph.handle)->graph,
                              nullptr, &count));
  nodes = int64_t(count);
  return error;
}

std::string CudaDevice::launchGraph(Stream stream, Graph graph) {
  return check("cudaGraphLaunch",
               cudaGraphLaunch(static_cast<Recorded *>(graph.handle)->instance,
                               native(stream)));
}

std::string CudaDevice::destroy(Graph graph) {
  std::unique_ptr<Recorded> recorded(static_cast<Recorded *>(graph.handle));
  if (!recorded)
    return std::string();
  std::string error =
      check("cudaGraphExecDestroy", cudaGraphExecDestroy(recorded->instance));
  cudaGraphDestroy(recorded->graph);
  return error;
}
