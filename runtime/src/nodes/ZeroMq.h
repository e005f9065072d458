//===- ZeroMq.h - ZeroMQ, loaded when needed --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds and loads libzmq when a program first meets other nodes, and owns its
// contexts, sockets and messages. Doors and links are built on it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_NODES_ZEROMQ_H
#define TESSERA_RT_NODES_ZEROMQ_H

#include "nodes/ZeroMqApi.h"

#include <string>
#include <string_view>

namespace tessera::rt {

/// Finds libzmq.so.5, of version 4.3 or later and with CURVE, and loads it. The
/// search order is: the folders of TESSERA_ZMQ_LIBRARY_PATH; the loader's own
/// search; the folder lib of CONDA_PREFIX; and Python's package pyzmq. A
/// library that is too old or lacks CURVE is skipped unless
/// TESSERA_ZMQ_LIBRARY_PATH names it. It is never unloaded.
Library findZeroMq();

namespace zmq {

/// Loads the library on the first call. Returns an error or nothing. The rest
/// of this file expects that it returned nothing.
std::string load();

/// The functions of the loaded library.
const Api &api();

/// The text of the last error of a call.
std::string lastError();

/// Owns a context with one thread for input and output. All of its sockets are
/// closed before it ends.
class Context {
public:
  Context();
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;
  ~Context();

  void *get() const { return context; }
  /// Ends all waiting calls of its sockets, with the error Terminated.
  void shutdown();

private:
  void *context;
};

/// Owns a message.
class Message {
public:
  Message();
  /// A message of `bytes` bytes, not set.
  explicit Message(size_t bytes);
  /// A message of memory that stays as it is until the context has ended.
  static Message ofMemory(const void *data, size_t bytes);
  Message(Message &&) noexcept;
  Message &operator=(Message &&) = delete;
  ~Message();

  MessageData *get() { return &message; }
  uint8_t *data();
  size_t size() const;
  std::string_view text();
  /// True if another part of the same message follows.
  bool hasMore() const;

private:
  MessageData message;
};

/// Owns a socket. Its options are set first; the first that is refused is an
/// error of bind and connect.
class Socket {
public:
  Socket() = default;
  Socket(Context &context, SocketType type);
  Socket(Socket &&) noexcept;
  Socket &operator=(Socket &&) noexcept;
  ~Socket();

  void *get() const { return socket; }
  void set(SocketOption option, int value);
  void setLong(SocketOption option, int64_t value);
  void set(SocketOption option, std::string_view value);
  /// Return an error or nothing.
  std::string bind(const std::string &endpoint);
  std::string connect(const std::string &endpoint);
  /// The endpoint that it is bound to.
  std::string endpoint() const;
  /// Makes a socket that receives events of this one.
  Socket monitor(Context &context, int events, const char *name);
  /// Return true, or false with errno.
  bool send(std::string_view data, int flags);
  bool send(Message &message, int flags);
  bool receive(Message &message, int flags);

private:
  void *socket = nullptr;
  std::string error;
};

} // namespace zmq
} // namespace tessera::rt

#endif // TESSERA_RT_NODES_ZEROMQ_H
