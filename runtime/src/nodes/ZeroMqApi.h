//===- ZeroMqApi.h - The part of ZeroMQ that is used ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names, numbers and signatures of the functions of ZeroMQ that the runtime
// calls, of version 4.3, so that it builds without ZeroMQ's header. A test
// compares them with the header if that is found.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_ZEROMQAPI_H
#define TESSERA_RT_SRC_ZEROMQAPI_H

#include "support/Libraries.h"

#include <cstddef>
#include <cstdint>

namespace tessera::rt::zmq {

enum SocketType : int {
  Pair = 0,
  Rep = 4,
  Dealer = 5,
  Router = 6,
  Pull = 7,
  Push = 8
};

enum SocketOption : int {
  RoutingId = 5,
  Linger = 17,
  ReconnectInterval = 18,
  Backlog = 19,
  ReconnectIntervalMax = 21,
  MaxMessageSize = 22,
  SendHighWater = 23,
  ReceiveHighWater = 24,
  ReceiveTimeout = 27,
  LastEndpoint = 32,
  RouterMandatory = 33,
  Ipv6 = 42,
  PlainServer = 44,
  PlainUsername = 45,
  PlainPassword = 46,
  CurveServer = 47,
  CurvePublicKey = 48,
  CurveSecretKey = 49,
  CurveServerKey = 50,
  RouterHandover = 56,
  HandshakeInterval = 66,
  ConnectTimeout = 79
};

enum ContextOption : int { MaxSockets = 2 };

/// Options of a message, and of sending and receiving.
enum MessageOption : int { More = 1, SourceFd = 2 };
enum Flag : int { DontWait = 1, SendMore = 2 };

/// Events of a socket's connections.
enum Event : int {
  Disconnected = 0x0200,
  HandshakeFailedNoDetail = 0x0800,
  HandshakeSucceeded = 0x1000,
  HandshakeFailedProtocol = 0x2000,
  HandshakeFailedAuth = 0x4000
};

/// ETERM: the context is shut down.
inline constexpr int Terminated = 156384712 + 53;

/// zmq_msg_t
struct MessageData {
  alignas(void *) unsigned char bytes[64];
};

/// zmq_pollitem_t
struct PollItem {
  void *socket;
  int fd;
  short events, revents;
};
inline constexpr short PollIn = 1;

using Free = void(void *data, void *hint);

/// The functions of a loaded library, as the header declares them.
struct Api {
  Library library;
  int (*errorNumber)();
  const char *(*errorText)(int);
  void *(*newContext)();
  int (*setContext)(void *context, int option, int value);
  int (*shutdownContext)(void *context);
  int (*endContext)(void *context);
  void *(*newSocket)(void *context, int type);
  int (*closeSocket)(void *socket);
  int (*setSocket)(void *socket, int option, const void *value, size_t bytes);
  int (*getSocket)(void *socket, int option, void *value, size_t *bytes);
  int (*monitorSocket)(void *socket, const char *address, int events);
  int (*bindSocket)(void *socket, const char *address);
  int (*connectSocket)(void *socket, const char *address);
  int (*send)(void *socket, const void *data, size_t bytes, int flags);
  int (*poll)(PollItem *items, int count, long milliseconds);
  int (*initMessage)(MessageData *);
  int (*initMessageSize)(MessageData *, size_t bytes);
  int (*initMessageData)(MessageData *, void *data, size_t bytes, Free *,
                         void *hint);
  int (*sendMessage)(MessageData *, void *socket, int flags);
  int (*receiveMessage)(MessageData *, void *socket, int flags);
  int (*closeMessage)(MessageData *);
  void *(*messageData)(MessageData *);
  size_t (*messageSize)(const MessageData *);
  int (*getMessage)(const MessageData *, int option);
  char *(*encodeZ85)(char *text, const uint8_t *data, size_t bytes);
  uint8_t *(*decodeZ85)(uint8_t *data, const char *text);
  int (*publicKey)(char *publicText, const char *secretText);

  /// Binds all functions; see library.error.
  void bind();
};

} // namespace tessera::rt::zmq

#endif // TESSERA_RT_SRC_ZEROMQAPI_H
