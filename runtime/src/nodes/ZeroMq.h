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

#ifndef TESSERA_RT_SRC_ZEROMQ_H
#define TESSERA_RT_SRC_ZEROMQ_H

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
  /// Makes a message of `bytes` bytes that are not set.
  explicit Message(size_t bytes);
  /// Makes a message of memory that stays as it is until the message has left,
  /// or its context has ended.
  Message(const void *memory, size_t bytes);
  Message(const Message &) = delete;
  Message &operator=(const Message &) = delete;
  ~Message();

  MessageData *get() { return &message; }
  uint8_t *data();
  size_t size() const;
  std::string_view text();
  /// True if another part of the same message follows.
  bool hasMore() const;
  /// The descriptor of the connection that it came by.
  int source() const;

private:
  MessageData message;
};

/// Owns a socket. The first option that is refused is an error of bind and
/// connect.
class Socket {
public:
  Socket() = default;
  Socket(Context &context, SocketType type);
  Socket(Socket &&) noexcept;
  Socket &operator=(Socket &&) noexcept;
  ~Socket();

  void *get() const { return socket; }
  void set(SocketOption option, int value);
  void set(SocketOption option, std::string_view value);
  /// Ends connections that send a longer part of a message.
  void limitMessages(int64_t bytes);

  /// Return an error or nothing.
  std::string bind(const std::string &endpoint);
  std::string connect(const std::string &endpoint);
  /// The endpoint that it is bound to.
  std::string endpoint() const;

  /// Makes a socket that receives events of this one; an error is one of bind
  /// and connect. A context has one monitor.
  Socket monitor(Context &context, int events);
  /// Returns the next event of a monitor, and its value; 0: none.
  int nextEvent(int &value);

  /// Return true, or false: see lastError.
  bool send(std::string_view data, int flags);
  bool send(Message &message, int flags);
  bool receive(Message &message, int flags);

private:
  void setBytes(SocketOption option, const void *value, size_t bytes);

  void *socket = nullptr;
  std::string error;
};

/// The endpoint of a numeric address, "tcp://10.0.0.1:4711" or
/// "tcp://[::1]:4711"; port 0: "*", a free one. Returns an error if it is no
/// address of one interface.
std::string endpointOf(const std::string &address, int port,
                       std::string &endpoint);

/// The 32 bytes of a secret key's public key.
std::string publicKeyOf(const uint8_t (&secret)[32]);

} // namespace zmq
} // namespace tessera::rt

#endif // TESSERA_RT_SRC_ZEROMQ_H
