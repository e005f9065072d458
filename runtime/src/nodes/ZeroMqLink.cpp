//===- ZeroMqLink.cpp - Data between nodes over ZeroMQ --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Link.h. A link has a PULL that listens and a PUSH for each other node; a
// name and the token admit a client (PLAIN). Threads that send write to the
// socket of a node themselves, under its lock, so that a message passes no
// thread but ZeroMQ's.
//
// On the wire, a message begins with the length of the header and the header.
// Short data follows in the same part, longer data is a part of its own.
//
//===----------------------------------------------------------------------===//

#include "Link.h"

#include "nodes/Admission.h"
#include "support/Support.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

using namespace tessera::rt;
using namespace tessera::rt::zmq;

namespace {
/// Bytes of the longest data that travels with its header. It is copied.
constexpr size_t shortData = 4 << 10;
/// The length of a header on the wire, padded so that the header is aligned.
using HeaderLength = uint64_t;
/// Bytes that headers are padded to, and data is aligned to.
constexpr size_t linkAlignment = 8;
/// The name of all clients.
constexpr const char *linkUser = "tessera";

size_t padToAlignment(size_t bytes) {
  return (bytes + linkAlignment - 1) / linkAlignment * linkAlignment;
}

class ZeroMqLink : public Link {
public:
  ZeroMqLink(const LinkSetup &setup, Receive receive,
             std::function<double()> idle)
      : setup(setup), receive(std::move(receive)), idle(std::move(idle)),
        admission(context, "PLAIN", {linkUser, setup.token}),
        listener(context, Pull) {}
  ~ZeroMqLink() override;

  std::string open();
  const std::string &address() const override { return boundTo; }
  std::string connect(const std::vector<std::string> &addresses) override;
  std::string send(int node, const void *header, size_t headerBytes,
                   const void *data, size_t bytes, bool copies) override;

private:
  /// A socket that several threads send by.
  struct Sender {
    std::mutex mutex;
    Socket socket;
  };

  void run();
  bool receiveMessage(int flags);
  void deliver(Message &first, Message &second);

  LinkSetup setup;
  Receive receive;
  std::function<double()> idle;
  Context context;
  Admission admission;
  Socket listener;
  std::deque<Sender> senders;
  std::string boundTo;
  /// Copies of parts that arrived at an unaligned address.
  std::vector<uint64_t> alignedFirst, alignedSecond;
  std::thread thread;
};
} // namespace

static std::string sendError() { return "cannot send: " + lastError(); }

static void setLinkOptions(Socket &socket, const std::string &endpoint) {
  socket.set(Ipv6, endpoint.find('[') != std::string::npos);
  socket.set(SendHighWater, 0);
  socket.set(ReceiveHighWater, 0);
  socket.set(Linger, 0);
  socket.set(HandshakeInterval, 5000);
  socket.limitMessages(Link::longestData + 2 * Link::longestHeader);
}

std::string ZeroMqLink::open() {
  if (setup.token.empty() || setup.token.size() > 255)
    return format("expects a token of 1 to 255 bytes but got %zu",
                  setup.token.size());
  std::string wanted, error = endpointOf(setup.address, 0, wanted);
  if (error.empty())
    error = admission.start();
  if (!error.empty())
    return error;
  setLinkOptions(listener, wanted);
  listener.set(PlainServer, 1);
  listener.set(Backlog, 1024);
  error = listener.bind(wanted);
  if (!error.empty())
    return error;
  boundTo = listener.endpoint();
  thread = startWithoutSignals([this] { run(); });
  return std::string();
}

ZeroMqLink::~ZeroMqLink() {
  context.shutdown();
  if (thread.joinable())
    thread.join();
}

std::string ZeroMqLink::connect(const std::vector<std::string> &addresses) {
  if (addresses.size() != size_t(setup.nodes))
    return format("expects %d addresses of links but got %zu", setup.nodes,
                  addresses.size());
  for (size_t i = 0; i < addresses.size(); ++i)
    senders.emplace_back();
  for (int node = 0; node < setup.nodes; ++node) {
    if (node == setup.node)
      continue;
    Socket socket(context, Push);
    setLinkOptions(socket, addresses[size_t(node)]);
    socket.set(PlainUsername, linkUser);
    socket.set(PlainPassword, setup.token);
    socket.set(ReconnectInterval, 50);
    socket.set(ReconnectIntervalMax, 200);
    socket.set(ConnectTimeout, 2000);
    std::string error = socket.connect(addresses[size_t(node)]);
    if (!error.empty())
      return error;
    senders[size_t(node)].socket = std::move(socket);
  }
  return std::string();
}

/// Copies a header, and short data, into a part.
static void fillPart(Message &part, const void *header, size_t headerBytes,
                     const void *data, size_t bytes) {
  HeaderLength length = headerBytes;
  memcpy(part.data(), &length, sizeof(length));
  memcpy(part.data() + sizeof(length), header, headerBytes);
  size_t begin = sizeof(length) + padToAlignment(headerBytes);
  memset(part.data() + sizeof(length) + headerBytes, 0,
         begin - sizeof(length) - headerBytes);
  if (bytes)
    memcpy(part.data() + begin, data, bytes);
}

std::string ZeroMqLink::send(int node, const void *header, size_t headerBytes,
                             const void *data, size_t bytes, bool copies) {
  if (headerBytes > longestHeader || bytes > longestData)
    return format("expects a header of at most %zu bytes and data of at most "
                  "%zu but got %zu and %zu",
                  longestHeader, longestData, headerBytes, bytes);
  if (node < 0 || size_t(node) >= senders.size() ||
      !senders[size_t(node)].socket.get())
    return format("expects a node that the link is connected with but got %d",
                  node);
  Sender &sender = senders[size_t(node)];
  size_t prefix = sizeof(HeaderLength) + padToAlignment(headerBytes);
  bool isShort = bytes <= shortData;
  Message first(prefix + (isShort ? bytes : 0));
  fillPart(first, header, headerBytes, data, isShort ? bytes : 0);
  if (isShort) {
    std::lock_guard<std::mutex> lock(sender.mutex);
    return sender.socket.send(first, DontWait) ? std::string() : sendError();
  }
  Message second = copies ? Message(bytes) : Message(data, bytes);
  if (copies)
    memcpy(second.data(), data, bytes);
  std::lock_guard<std::mutex> lock(sender.mutex);
  return sender.socket.send(first, DontWait | SendMore) &&
                 sender.socket.send(second, DontWait)
             ? std::string()
             : sendError();
}

//===----------------------------------------------------------------------===//
// The thread
//===----------------------------------------------------------------------===//

/// Returns `data`, or a copy in `buffer` if it is not aligned.
static const uint8_t *alignData(const uint8_t *data, size_t bytes,
                                std::vector<uint64_t> &buffer) {
  if (reinterpret_cast<uintptr_t>(data) % linkAlignment == 0)
    return data;
  buffer.resize(std::max(buffer.size(), bytes / sizeof(uint64_t) + 1));
  memcpy(buffer.data(), data, bytes);
  return reinterpret_cast<const uint8_t *>(buffer.data());
}

/// Hands a message on. One that no link sends is ignored.
void ZeroMqLink::deliver(Message &first, Message &second) {
  HeaderLength length;
  if (first.size() < sizeof(length))
    return;
  const uint8_t *part = alignData(first.data(), first.size(), alignedFirst);
  memcpy(&length, part, sizeof(length));
  size_t most = first.size() - sizeof(length);
  if (length > longestHeader || padToAlignment(length) > most)
    return;
  const uint8_t *header = part + sizeof(length);
  if (first.hasMore())
    receive(header, length,
            alignData(second.data(), second.size(), alignedSecond),
            second.size());
  else
    receive(header, length, header + padToAlignment(length),
            most - padToAlignment(length));
}

/// Receives a message. Returns false, with the library's error, if there is
/// none.
bool ZeroMqLink::receiveMessage(int flags) {
  Message first, second;
  if (!listener.receive(first, flags))
    return false;
  bool hasMore =
      first.hasMore() && listener.receive(second, DontWait) && second.hasMore();
  if (!hasMore) {
    deliver(first, second);
    return true;
  }
  while (hasMore) {
    Message ignored;
    hasMore = listener.receive(ignored, DontWait) && ignored.hasMore();
  }
  return true;
}

void ZeroMqLink::run() {
  // The most messages between two calls of `idle`.
  constexpr int batch = 16;
  int timeout = -1;
  for (;;) {
    double seconds = idle();
    int wanted =
        seconds < 1e6 ? int(std::ceil(std::max(seconds, 0.0) * 1e3)) : -1;
    if (std::exchange(timeout, wanted) != wanted)
      listener.set(ReceiveTimeout, wanted);
    bool received = receiveMessage(0);
    if (!received && api().errorNumber() == Terminated)
      return;
    for (int i = 1; received && i < batch; ++i)
      received = receiveMessage(DontWait);
  }
}

std::unique_ptr<Link> tessera::rt::openLink(const LinkSetup &setup,
                                            Link::Receive receive,
                                            std::function<double()> idle,
                                            std::string &error) {
  error = zmq::load();
  if (!error.empty())
    return nullptr;
  auto link =
      std::make_unique<ZeroMqLink>(setup, std::move(receive), std::move(idle));
  error = link->open();
  if (!error.empty())
    return nullptr;
  return link;
}
