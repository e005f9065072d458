//===- ZeroMq.cpp - ZeroMQ, loaded when needed ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See ZeroMq.h.
//
//===----------------------------------------------------------------------===//

#include "ZeroMq.h"

#include "support/Support.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/resource.h>
#include <utility>

using namespace tessera::rt;
using namespace tessera::rt::zmq;

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

static constexpr const char *zeroMqFile = "libzmq.so.5";

/// The files to try, in order; the first `named` are the user's choice.
static std::vector<std::string> listZeroMqFiles(size_t &named) {
  std::vector<std::string> files;
  for (const std::string &folder : splitPaths("TESSERA_ZMQ_LIBRARY_PATH"))
    files.push_back(folder + "/" + zeroMqFile);
  named = files.size();
  files.push_back(zeroMqFile);
  if (const char *conda = getenv("CONDA_PREFIX"); conda && *conda)
    files.push_back(std::string(conda) + "/lib/" + zeroMqFile);
  // The wheels of pyzmq have it as pyzmq.libs/libzmq-HASH.so.5.2.5.
  for (const std::string &package : pythonPackages()) {
    std::string folder = package + "/pyzmq.libs";
    for (const std::string &name : listLibraries(folder, "libzmq-"))
      if (name.find(".so.5") != std::string::npos)
        files.push_back(folder + "/" + name);
  }
  return files;
}

/// Asks a loaded library for its version, and whether it can encrypt.
static void checkZeroMq(Library &library) {
  void (*getVersion)(int *, int *, int *) = nullptr;
  int (*has)(const char *) = nullptr;
  library.bind(getVersion, "zmq_version");
  library.bind(has, "zmq_has");
  if (!library.error.empty())
    return;
  int major = 0, minor = 0, patch = 0;
  getVersion(&major, &minor, &patch);
  library.version = format("%d.%d.%d", major, minor, patch);
  library.versionNumber = major * 10000 + minor * 100 + patch;
  if (library.versionNumber < 40300)
    library.error = format("expects ZeroMQ 4.3 or later, but got %s (%s)",
                           library.version.c_str(), library.path.c_str());
  else if (!has("curve"))
    library.error =
        format("expects ZeroMQ with encryption (CURVE), but %s (%s) is built "
               "without it; Debian's libzmq5, conda's zeromq and Python's "
               "pyzmq have it",
               library.version.c_str(), library.path.c_str());
}

Library tessera::rt::findZeroMq() {
  size_t named;
  std::vector<std::string> files = listZeroMqFiles(named);
  Library first;
  std::string refused;
  for (size_t i = 0; i < files.size(); ++i) {
    Library library;
    library.name = "ZeroMQ";
    if (!loadLibrary(files[i], library, refused))
      continue;
    checkZeroMq(library);
    // An unusable library is skipped unless its folder is the user's choice.
    if (library.isUsable() || i < named)
      return library;
    if (!first.isFound())
      first = library;
  }
  if (first.isFound())
    return first;
  first.name = "ZeroMQ";
  first.isRefused = !refused.empty();
  first.error = std::string("ZeroMQ (") + zeroMqFile + ") ";
  first.error +=
      refused.empty()
          ? "is found neither by the loader nor in TESSERA_ZMQ_LIBRARY_PATH, "
            "CONDA_PREFIX or Python's package pyzmq; install Debian's libzmq5, "
            "conda's zeromq or, by pip, pyzmq"
          : "cannot be loaded: " + refused;
  return first;
}

void Api::bind() {
  library.bind(errorNumber, "zmq_errno");
  library.bind(errorText, "zmq_strerror");
  library.bind(newContext, "zmq_ctx_new");
  library.bind(setContext, "zmq_ctx_set");
  library.bind(shutdownContext, "zmq_ctx_shutdown");
  library.bind(endContext, "zmq_ctx_term");
  library.bind(newSocket, "zmq_socket");
  library.bind(closeSocket, "zmq_close");
  library.bind(setSocket, "zmq_setsockopt");
  library.bind(getSocket, "zmq_getsockopt");
  library.bind(monitorSocket, "zmq_socket_monitor");
  library.bind(bindSocket, "zmq_bind");
  library.bind(connectSocket, "zmq_connect");
  library.bind(send, "zmq_send");
  library.bind(poll, "zmq_poll");
  library.bind(initMessage, "zmq_msg_init");
  library.bind(initMessageSize, "zmq_msg_init_size");
  library.bind(initMessageData, "zmq_msg_init_data");
  library.bind(sendMessage, "zmq_msg_send");
  library.bind(receiveMessage, "zmq_msg_recv");
  library.bind(closeMessage, "zmq_msg_close");
  library.bind(messageData, "zmq_msg_data");
  library.bind(messageSize, "zmq_msg_size");
  library.bind(getMessage, "zmq_msg_get");
  library.bind(encodeZ85, "zmq_z85_encode");
  library.bind(decodeZ85, "zmq_z85_decode");
  library.bind(publicKey, "zmq_curve_public");
}

/// The functions, loaded by the first call.
static const Api &loadedApi() {
  static const Api loaded = [] {
    Api api = {};
    api.library = findZeroMq();
    if (api.library.isUsable())
      api.bind();
    return api;
  }();
  return loaded;
}

std::string tessera::rt::zmq::load() { return loadedApi().library.error; }

const Api &tessera::rt::zmq::api() { return loadedApi(); }

std::string tessera::rt::zmq::lastError() {
  return api().errorText(api().errorNumber());
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

/// Lets this process open as many files as its user may: a link has three for
/// each other node, and shells allow 1024.
static void raiseFileLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

Context::Context() : context(api().newContext()) {
  raiseFileLimit();
  // A link has one for each node.
  api().setContext(context, MaxSockets, 16384);
}

Context::~Context() {
  // Signals interrupt it.
  while (api().endContext(context) != 0 && api().errorNumber() == EINTR)
    ;
}

void Context::shutdown() { api().shutdownContext(context); }

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

static void keepZeroMqMemory(void *, void *) {}

Message::Message() { api().initMessage(&message); }

Message::Message(size_t bytes) {
  if (api().initMessageSize(&message, bytes) != 0)
    abort(); // Out of memory, as operator new does.
}

Message::Message(const void *memory, size_t bytes) {
  if (api().initMessageData(&message, const_cast<void *>(memory), bytes,
                            keepZeroMqMemory, nullptr) != 0)
    abort();
}

Message::~Message() { api().closeMessage(&message); }

uint8_t *Message::data() {
  return static_cast<uint8_t *>(api().messageData(&message));
}

size_t Message::size() const { return api().messageSize(&message); }

std::string_view Message::text() {
  return {reinterpret_cast<char *>(data()), size()};
}

bool Message::hasMore() const { return api().getMessage(&message, More) == 1; }

int Message::source() const { return api().getMessage(&message, SourceFd); }

//===----------------------------------------------------------------------===//
// Sockets
//===----------------------------------------------------------------------===//

Socket::Socket(Context &context, SocketType type)
    : socket(api().newSocket(context.get(), type)) {
  if (!socket)
    error = "cannot make a socket of ZeroMQ: " + lastError();
}

Socket::Socket(Socket &&other) noexcept
    : socket(std::exchange(other.socket, nullptr)),
      error(std::move(other.error)) {}

Socket &Socket::operator=(Socket &&other) noexcept {
  std::swap(socket, other.socket);
  std::swap(error, other.error);
  return *this;
}

Socket::~Socket() {
  if (socket)
    api().closeSocket(socket);
}

void Socket::setBytes(SocketOption option, const void *value, size_t bytes) {
  if (error.empty() && api().setSocket(socket, option, value, bytes) != 0)
    error =
        format("cannot set option %d of a socket of ZeroMQ: ", int(option)) +
        lastError();
}

void Socket::set(SocketOption option, int value) {
  setBytes(option, &value, sizeof(value));
}

void Socket::set(SocketOption option, std::string_view value) {
  setBytes(option, value.data(), value.size());
}

void Socket::limitMessages(int64_t bytes) {
  setBytes(MaxMessageSize, &bytes, sizeof(bytes));
}

std::string Socket::bind(const std::string &endpoint) {
  if (error.empty() && api().bindSocket(socket, endpoint.c_str()) != 0)
    error = "cannot listen on " + endpoint + ": " + lastError();
  return error;
}

std::string Socket::connect(const std::string &endpoint) {
  if (error.empty() && api().connectSocket(socket, endpoint.c_str()) != 0)
    error = "cannot connect with " + endpoint + ": " + lastError();
  return error;
}

std::string Socket::endpoint() const {
  char text[256];
  size_t bytes = sizeof(text);
  return api().getSocket(socket, LastEndpoint, text, &bytes) == 0
             ? std::string(text)
             : std::string();
}

Socket Socket::monitor(Context &context, int events) {
  static constexpr const char *name = "inproc://events";
  Socket monitor(context, Pair);
  // An event that finds no room would stop the thread of input and output.
  monitor.set(ReceiveHighWater, 0);
  monitor.set(Linger, 0);
  if (error.empty() && api().monitorSocket(socket, name, events) != 0)
    error = "cannot watch a socket of ZeroMQ: " + lastError();
  if (error.empty())
    error = monitor.connect(name);
  return monitor;
}

int Socket::nextEvent(int &value) {
  // The first part has the number in 16 bits and the value in 32 bits.
  Message event, endpoint;
  if (!receive(event, DontWait) || event.size() < 6)
    return 0;
  uint16_t number;
  memcpy(&number, event.data(), sizeof(number));
  memcpy(&value, event.data() + sizeof(number), sizeof(value));
  if (event.hasMore())
    receive(endpoint, DontWait);
  return number;
}

bool Socket::send(std::string_view data, int flags) {
  return api().send(socket, data.data(), data.size(), flags) >= 0;
}

bool Socket::send(Message &message, int flags) {
  return api().sendMessage(message.get(), socket, flags) >= 0;
}

bool Socket::receive(Message &message, int flags) {
  return api().receiveMessage(message.get(), socket, flags) >= 0;
}

//===----------------------------------------------------------------------===//
// Addresses and keys
//===----------------------------------------------------------------------===//

std::string tessera::rt::zmq::endpointOf(const std::string &address, int port,
                                         std::string &endpoint) {
  in_addr four = {};
  in6_addr six = {};
  bool isFour = inet_pton(AF_INET, address.c_str(), &four) == 1;
  // Addresses of a link have the name of an interface: fe80::1%eth0.
  bool isSix = !isFour &&
               inet_pton(AF_INET6, address.substr(0, address.find('%')).c_str(),
                         &six) == 1;
  if ((isFour && four.s_addr == INADDR_ANY) ||
      (isSix && IN6_IS_ADDR_UNSPECIFIED(&six)) || (!isFour && !isSix))
    return "expects the numeric address of an interface but got '" + address +
           "'";
  if (port < 0 || port > 65535)
    return "expects a port of at most 65535 but got " + std::to_string(port);
  endpoint = "tcp://" + (isSix ? "[" + address + "]" : address) + ":" +
             (port ? std::to_string(port) : "*");
  return std::string();
}

std::string tessera::rt::zmq::publicKeyOf(const uint8_t (&secret)[32]) {
  // Texts of ZeroMQ's own encoding, Z85.
  char secretText[41], publicText[41];
  uint8_t bytes[32];
  api().encodeZ85(secretText, secret, sizeof(secret));
  api().publicKey(publicText, secretText);
  api().decodeZ85(bytes, publicText);
  explicit_bzero(secretText, sizeof(secretText));
  return std::string(reinterpret_cast<char *>(bytes), sizeof(bytes));
}
