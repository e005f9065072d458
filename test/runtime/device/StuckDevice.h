//===- StuckDevice.h - A device whose steps do not end ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An emulated device that can be told to let no event happen any more, to
// report an error instead, or to claim that it is real.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RUNTIME_DEVICE_STUCKDEVICE_H
#define TESSERA_TEST_RUNTIME_DEVICE_STUCKDEVICE_H

#include "runtime/cuda/Device.h"

namespace tessera::rt::cuda {

class StuckDevice final : public Device {
public:
  explicit StuckDevice(std::unique_ptr<Device> real) : real(std::move(real)) {}

  bool isStuck = false;
  /// The error that a query reports.
  std::string fault;

  /// Makes it claim to be a device with this identity.
  void claim(const std::string &identity) {
    claimed = real->properties();
    claimed.identity = identity;
  }
  const DeviceProperties &properties() const override {
    return isEmulated() ? real->properties() : claimed;
  }
  bool isEmulated() const override { return claimed.identity.empty(); }
  std::unique_ptr<Device> createForThread(std::string &error) const override {
    return real->createForThread(error);
  }
  std::string allocate(int64_t bytes, void *&memory) override {
    return real->allocate(bytes, memory);
  }
  std::string release(void *memory) override { return real->release(memory); }
  std::string allocateHost(int64_t bytes, void *&memory) override {
    return real->allocateHost(bytes, memory);
  }
  std::string releaseHost(void *memory) override {
    return real->releaseHost(memory);
  }
  std::string copyIn(Stream s, void *to, const void *from, int64_t n) override {
    return real->copyIn(s, to, from, n);
  }
  std::string copyOut(Stream s, void *to, const void *from,
                      int64_t n) override {
    return real->copyOut(s, to, from, n);
  }
  std::string copy(Stream s, void *to, const void *from, int64_t n) override {
    return real->copy(s, to, from, n);
  }
  std::string fillBytes(Stream s, void *to, uint8_t v, int64_t n) override {
    return real->fillBytes(s, to, v, n);
  }
  int64_t allocatedBytes() const override { return real->allocatedBytes(); }
  int64_t numAllocations() const override { return real->numAllocations(); }
  std::string createStream(bool high, Stream &stream) override {
    return real->createStream(high, stream);
  }
  std::string createEvent(bool timed, Event &event) override {
    return real->createEvent(timed, event);
  }
  std::string destroy(Stream stream) override { return real->destroy(stream); }
  std::string destroy(Event event) override { return real->destroy(event); }
  std::string record(Event event, Stream stream) override {
    return real->record(event, stream);
  }
  std::string wait(Stream stream, Event event) override {
    return real->wait(stream, event);
  }
  std::string query(Event event, bool &hasHappened) override {
    std::string error = real->query(event, hasHappened);
    hasHappened &= !isStuck;
    return fault.empty() ? error : fault;
  }
  std::string synchronize(Stream stream) override {
    return real->synchronize(stream);
  }
  std::string elapsed(Event from, Event to, double &seconds) override {
    return real->elapsed(from, to, seconds);
  }
  std::string loadImages(const KernelImages &images, Module &module) override {
    return real->loadImages(images, module);
  }
  std::string getKernel(Module module, const char *name,
                        Kernel &kernel) override {
    return real->getKernel(module, name, kernel);
  }
  std::string launch(Stream stream, Kernel kernel, const LaunchShape &shape,
                     const int64_t *args, int32_t numArgs,
                     Parameters parameters) override {
    return real->launch(stream, kernel, shape, args, numArgs, parameters);
  }
  std::string call(Stream stream, std::function<void()> function) override {
    return real->call(stream, std::move(function));
  }
  std::string beginCapture(Stream stream) override {
    return real->beginCapture(stream);
  }
  std::string endCapture(Stream stream, Graph &graph) override {
    return real->endCapture(stream, graph);
  }
  std::string graphSize(Graph graph, int64_t &nodes) override {
    return real->graphSize(graph, nodes);
  }
  std::string launchGraph(Stream stream, Graph graph) override {
    return real->launchGraph(stream, graph);
  }
  std::string destroy(Graph graph) override { return real->destroy(graph); }

private:
  std::unique_ptr<Device> real;
  DeviceProperties claimed;
};

} // namespace tessera::rt::cuda

#endif // TESSERA_TEST_RUNTIME_DEVICE_STUCKDEVICE_H
