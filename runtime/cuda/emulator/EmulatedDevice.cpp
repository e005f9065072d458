//===- EmulatedDevice.cpp - A device on the processor ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements Device.h with the queues of Queues.h and the emulator of kernels.
// Memory is host memory between guard pages without access.
//
//===----------------------------------------------------------------------===//

#include "EmulatedDevice.h"

#include "Emulator.h"
#include "GuardedMemory.h"
#include "Queues.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

using namespace tessera;
using namespace tessera::rt::cuda;
using emu::Queue;
using emu::QueueEvent;
using emu::QueueGraph;
using emu::Work;

namespace {
struct EmulatedKernel {
  std::string name;
  tessera_rt_emulated_fn function;
};
struct EmulatedModule {
  std::vector<EmulatedKernel> kernels;
};

class EmulatedDevice : public Device {
public:
  explicit EmulatedDevice(const EmulatedDeviceOptions &options)
      : options(options) {
    info.name = "emulated";
    info.identity = "emulated";
    info.memoryBytes =
        options.memoryBytes ? options.memoryBytes : int64_t(1) << 62;
    info.multiprocessors = 1;
    info.sharedBytesPerBlock = 227 << 10;
  }

  ~EmulatedDevice() override {
    // The queues' work may use the memory, so they are destroyed first.
    queues.clear();
    for (const auto &block : blocks)
      emu::freeGuarded(block.first);
  }

  const DeviceProperties &properties() const override { return info; }
  bool isEmulated() const override { return true; }
  std::unique_ptr<Device> createForThread(std::string &) const override {
    return std::make_unique<EmulatedDevice>(options);
  }

  // Memory.

  std::string allocate(int64_t bytes, void *&memory) override {
    if (capturing)
      return "an allocation while a stream is recorded";
    if (bytes > info.memoryBytes - inUse)
      return "the emulated device has " + std::to_string(info.memoryBytes) +
             " bytes, of which " + std::to_string(inUse) +
             " are in use, and was asked for " + std::to_string(bytes);
    return take(bytes, memory, bytes);
  }
  std::string allocateHost(int64_t bytes, void *&memory) override {
    return take(bytes, memory, 0);
  }
  std::string release(void *memory) override {
    auto found = blocks.find(memory);
    if (found == blocks.end())
      return memory ? "release of memory that was not allocated" : "";
    inUse -= found->second;
    blocks.erase(found);
    return emu::freeGuarded(memory);
  }
  std::string releaseHost(void *memory) override { return release(memory); }

  std::string copyIn(Stream stream, void *device, const void *host,
                     int64_t bytes) override {
    return copy(stream, device, host, bytes);
  }
  std::string copyOut(Stream stream, void *host, const void *device,
                      int64_t bytes) override {
    return copy(stream, host, device, bytes);
  }
  std::string copy(Stream stream, void *to, const void *from,
                   int64_t bytes) override {
    return enqueue(stream, [=] {
      if (bytes > 0)
        memmove(to, from, size_t(bytes));
      return std::string();
    });
  }
  std::string fillBytes(Stream stream, void *device, uint8_t value,
                        int64_t bytes) override {
    return enqueue(stream, [=] {
      if (bytes > 0)
        memset(device, value, size_t(bytes));
      return std::string();
    });
  }
  int64_t allocatedBytes() const override { return allocated; }
  int64_t numAllocations() const override { return allocations; }

  // Streams and events.

  std::string createStream(bool, Stream &stream) override {
    stream.handle = keep(queues, std::make_unique<Queue>(options.seed));
    return "";
  }
  std::string createEvent(bool, Event &event) override {
    event.handle = keep(events, std::make_unique<QueueEvent>());
    return "";
  }
  std::string destroy(Stream stream) override {
    std::string error = queue(stream).synchronize();
    drop(queues, stream.handle);
    return error;
  }
  std::string destroy(Event event) override {
    drop(events, event.handle);
    return "";
  }
  std::string record(Event event, Stream stream) override {
    return queue(stream).record(*static_cast<QueueEvent *>(event.handle));
  }
  std::string wait(Stream stream, Event event) override {
    return queue(stream).wait(*static_cast<QueueEvent *>(event.handle));
  }
  std::string query(Event event, bool &hasHappened) override {
    return static_cast<QueueEvent *>(event.handle)->query(hasHappened);
  }
  std::string synchronize(Stream stream) override {
    return queue(stream).synchronize();
  }
  std::string elapsed(Event from, Event to, double &seconds) override {
    double begin, end;
    if (!static_cast<QueueEvent *>(from.handle)->time(begin) ||
        !static_cast<QueueEvent *>(to.handle)->time(end))
      return "the time of an event that has not happened";
    seconds = end - begin;
    return "";
  }

  // Work.

  std::string loadImages(const KernelImages &images, Module &module) override {
    if (!images.emulated)
      return "the kernels were not made for an emulated device";
    auto loaded = std::make_unique<EmulatedModule>();
    for (int32_t i = 0; i < images.numKernels; ++i)
      loaded->kernels.push_back({images.names[i], images.emulated[i]});
    module.handle = keep(modules, std::move(loaded));
    return "";
  }
  std::string getKernel(Module module, const char *name,
                        Kernel &kernel) override {
    for (EmulatedKernel &k :
         static_cast<EmulatedModule *>(module.handle)->kernels)
      if (k.name == name) {
        kernel.handle = &k;
        return "";
      }
    return std::string("no kernel is named ") + name;
  }
  std::string launch(Stream stream, Kernel kernel, const LaunchShape &shape,
                     const int64_t *args, int32_t numArgs,
                     Parameters) override {
    const auto *k = static_cast<const EmulatedKernel *>(kernel.handle);
    if (shape.sharedBytes > info.sharedBytesPerBlock)
      return k->name + " expects at most " +
             std::to_string(info.sharedBytesPerBlock) +
             " bytes of shared memory but got " +
             std::to_string(shape.sharedBytes);
    std::vector<int64_t> held(args, args + numArgs);
    uint64_t order = options.seed ? options.seed + uint64_t(++launches) : 0;
    return enqueue(stream, [=] {
      emu::Launch run;
      run.name = k->name.c_str();
      run.function = k->function;
      run.args = held.data();
      run.grid = shape.grid;
      run.block = shape.block;
      run.sharedBytes = shape.sharedBytes;
      run.seed = order;
      return emu::run(run);
    });
  }
  std::string call(Stream stream, std::function<void()> function) override {
    return enqueue(stream, [function = std::move(function)] {
      function();
      return std::string();
    });
  }

  // Recording.

  std::string beginCapture(Stream stream) override {
    capturing = true;
    return queue(stream).beginCapture();
  }
  std::string endCapture(Stream stream, Graph &graph) override {
    capturing = false;
    auto made = std::make_unique<QueueGraph>();
    std::string error = queue(stream).endCapture(*made);
    graph.handle = error.empty() ? keep(graphs, std::move(made)) : nullptr;
    return error;
  }
  std::string graphSize(Graph graph, int64_t &nodes) override {
    nodes = static_cast<QueueGraph *>(graph.handle)->size();
    return "";
  }
  std::string launchGraph(Stream stream, Graph graph) override {
    uint64_t order = options.seed ? options.seed + uint64_t(++launches) : 0;
    return queue(stream).launch(*static_cast<QueueGraph *>(graph.handle),
                                order);
  }
  std::string destroy(Graph graph) override {
    drop(graphs, graph.handle);
    return "";
  }

private:
  /// Objects that were created and not destroyed. They end with the device, as
  /// the objects of a CUDA context do.
  template <typename T> using Owned = std::vector<std::unique_ptr<T>>;
  template <typename T> static T *keep(Owned<T> &list, std::unique_ptr<T> one) {
    list.push_back(std::move(one));
    return list.back().get();
  }
  template <typename T> static void drop(Owned<T> &list, const void *one) {
    auto it = std::find_if(list.begin(), list.end(),
                           [&](const auto &held) { return held.get() == one; });
    if (it != list.end())
      list.erase(it);
  }

  static Queue &queue(Stream stream) {
    return *static_cast<Queue *>(stream.handle);
  }
  static std::string enqueue(Stream stream, Work work) {
    return queue(stream).enqueue(std::move(work));
  }
  std::string take(int64_t bytes, void *&memory, int64_t counted) {
    memory = emu::allocateGuarded(size_t(bytes), 256);
    if (!memory)
      return "the host has no " + std::to_string(bytes) + " bytes";
    blocks[memory] = counted;
    inUse += counted;
    allocated += counted;
    ++allocations;
    return "";
  }

  DeviceProperties info;
  const EmulatedDeviceOptions options;
  int64_t launches = 0, inUse = 0, allocated = 0, allocations = 0;
  bool capturing = false;
  /// Bytes by address, used for lookups only.
  std::map<void *, int64_t> blocks;
  Owned<EmulatedModule> modules;
  Owned<Queue> queues;
  Owned<QueueEvent> events;
  Owned<QueueGraph> graphs;
};
} // namespace

std::unique_ptr<Device>
tessera::rt::cuda::createEmulatedDevice(const EmulatedDeviceOptions &options) {
  return std::make_unique<EmulatedDevice>(options);
}

std::unique_ptr<Device>
tessera::rt::cuda::createEmulatedDevice(int64_t memoryBytes,
                                        std::string &error) {
  EmulatedDeviceOptions options;
  options.memoryBytes = memoryBytes;
  if (const char *text = getenv("TESSERA_EMULATOR_SEED")) {
    char *end;
    options.seed = strtoull(text, &end, 10);
    if (*end || !*text) {
      error =
          std::string("TESSERA_EMULATOR_SEED expects a number but got ") + text;
      return nullptr;
    }
  }
  return createEmulatedDevice(options);
}
