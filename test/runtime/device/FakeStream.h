//===- FakeStream.h - Streams for libraries of tests ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A test's library runs the work of a stream with a function that the test
// sets; without one, at once.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RUNTIME_DEVICE_FAKESTREAM_H
#define TESSERA_TEST_RUNTIME_DEVICE_FAKESTREAM_H

#include <functional>

/// Enqueues a function on a stream.
using FakeEnqueue = void (*)(void *stream, std::function<void()> function);

/// Defines the hook in a library.
#define FAKE_STREAM_HOOK                                                       \
  static FakeEnqueue fakeEnqueue = nullptr;                                    \
  extern "C" void tessera_fake_set_enqueue(FakeEnqueue enqueue) {              \
    fakeEnqueue = enqueue;                                                     \
  }                                                                            \
  static void enqueueFake(void *stream, std::function<void()> function) {      \
    if (fakeEnqueue)                                                           \
      fakeEnqueue(stream, std::move(function));                                \
    else                                                                       \
      function();                                                              \
  }

#endif // TESSERA_TEST_RUNTIME_DEVICE_FAKESTREAM_H
