//===- Doors.cpp - Control messages between nodes -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Doors.h. The root has a ROUTER, agents a DEALER. On the wire, a message
// is a kind and the text, in as many parts as its length needs; ZeroMQ delivers
// all parts or none. An empty message tells the root which agent connected, and
// is what the root tries a connection with.
//
// An agent's routing id is "node N" and a drawn number. A connection with the
// same id is that agent's, which found the last one broken: it takes over. One
// of the same node with another number is another process, and is refused.
//
//===----------------------------------------------------------------------===//

#include "Doors.h"

#include "nodes/Admission.h"
#include "support/Support.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>

using namespace tessera::rt;
using namespace tessera::rt::zmq;

namespace {
/// The kind of a message, its first byte.
enum WireKind : char { WireText = 'm', WireRefused = 'r' };

/// Bytes of the longest part of a message, and what encryption adds at most.
constexpr size_t longestPart = 63 << 10, partOverhead = 1 << 10;
/// Seconds without a connection after which its node is gone.
constexpr double goneSeconds = 0.5;
/// Seconds between two looks at a connection that may have ended, and for how
/// long these go on: ZeroMQ tells of an end before it forgets the connection.
constexpr double lookInterval = 0.05, lookSeconds = 0.3;
constexpr double never = std::numeric_limits<double>::infinity();

/// Sets what doors of both sides have in common.
void setDoorOptions(Socket &socket, const std::string &endpoint) {
  // IPv6 is off by default.
  socket.set(Ipv6, endpoint.find('[') != std::string::npos);
  socket.limitMessages(int64_t(longestPart + partOverhead));
  socket.set(SendHighWater, 0);
  socket.set(ReceiveHighWater, 0);
  // Milliseconds in which a client has to prove itself.
  socket.set(HandshakeInterval, 5000);
  // Milliseconds that a closed socket may take to send what it still has.
  socket.set(Linger, 1000);
}

/// Sends a message in parts; the first was preceded by an id at the root.
void sendParts(Socket &socket, WireKind kind, const std::string &text) {
  size_t begin = 0;
  do {
    size_t kindBytes = begin == 0,
           bytes = std::min(text.size() - begin, longestPart - kindBytes);
    Message part(kindBytes + bytes);
    if (kindBytes)
      part.data()[0] = uint8_t(kind);
    memcpy(part.data() + kindBytes, text.data() + begin, bytes);
    begin += bytes;
    socket.send(part, begin < text.size() ? DontWait | SendMore : DontWait);
  } while (begin < text.size());
}

/// Receives the parts that follow `part`, and joins them. Longer messages than
/// a door sends are cut. The result has the kind in front.
std::string joinParts(Socket &socket, Message &part) {
  std::string text(part.text());
  for (bool hasMore = part.hasMore(); hasMore;) {
    Message next;
    if (!socket.receive(next, DontWait))
      break;
    if (text.size() <= longestDoorMessage)
      text += next.text();
    hasMore = next.hasMore();
  }
  return text;
}

/// The bytes of a secret key.
std::string_view keyBytes(const uint8_t (&secret)[32]) {
  return {reinterpret_cast<const char *>(secret), sizeof(secret)};
}

/// The prefix of the routing ids of a node's agents.
std::string routingPrefix(int node) { return format("node %d ", node); }

/// Returns the node of a routing id; -1: it is none of an agent.
int nodeOfRoutingId(const std::string &id) {
  if (id.rfind("node ", 0) != 0)
    return -1;
  char *end;
  errno = 0;
  long node = strtol(id.c_str() + 5, &end, 10);
  bool isNode = errno == 0 && node >= 0 && node <= INT_MAX &&
                id.rfind(routingPrefix(int(node)), 0) == 0;
  return isNode ? int(node) : -1;
}

//===----------------------------------------------------------------------===//
// The root's door
//===----------------------------------------------------------------------===//

class RouterDoor : public RootDoor {
public:
  explicit RouterDoor(const JobKey &key)
      : admission(context, "CURVE", {publicKeyOf(key.member)}),
        socket(context, Router) {}
  ~RouterDoor() override { context.shutdown(); }

  std::string listen(const std::string &address, int port, const JobKey &key);
  const std::string &endpoint() const override { return boundTo; }
  void send(int node, const std::string &message) override;
  DoorEvent receive() override;

  /// Adds what is polled. Returns the seconds after which to look without it.
  double addPolled(std::vector<PollItem> &items) const;

private:
  /// An agent that is, or lately was, connected.
  struct Peer {
    std::string id;
    /// Time at which its connection was found to have ended.
    double lostSince = never;
    /// Times of the next look at it, and of the last one.
    double nextLook = never, lastLook = never;
    /// False after its connection came back, until a message comes by it: the
    /// end of the new one would go unnoticed.
    bool isWatched = true;
  };

  bool receiveMessage();
  void handleMessage(const std::string &id, int source, std::string text);
  bool admitPeer(int node, const std::string &id);
  void lookAfter(Peer &peer, double seconds);
  void lookAtPeer(int node, Peer &peer, double now);
  void lookAtPeers();
  bool isConnected(const Peer &peer);
  void reportGone(int node);

  Context context;
  Admission admission;
  Socket socket, monitor;
  std::string boundTo;
  std::map<int, Peer> peers;
  /// The node that last sent by a connection, by its descriptor. Entries may be
  /// old: they only say whom to look at when a connection ends.
  std::unordered_map<int, int> nodeOfSource;
  std::deque<DoorEvent> events;
  double nextLook = never;
};
} // namespace

std::string RouterDoor::listen(const std::string &address, int port,
                               const JobKey &key) {
  std::string wanted, error = endpointOf(address, port, wanted);
  if (error.empty())
    error = admission.start();
  if (!error.empty())
    return error;
  setDoorOptions(socket, wanted);
  socket.set(CurveServer, 1);
  socket.set(CurveSecretKey, keyBytes(key.root));
  // A message to nobody is an error instead of nothing; see above for ids.
  socket.set(RouterMandatory, 1);
  socket.set(RouterHandover, 1);
  socket.set(Backlog, 1024);
  monitor = socket.monitor(context, Disconnected);
  error = socket.bind(wanted);
  boundTo = socket.endpoint();
  return error;
}

void RouterDoor::send(int node, const std::string &message) {
  auto found = peers.find(node);
  if (found == peers.end() || message.size() > longestDoorMessage)
    return;
  if (socket.send(found->second.id, DontWait | SendMore))
    sendParts(socket, WireText, message);
  else
    lookAfter(found->second, 0);
}

/// Sends an empty message, which fails if the connection has ended.
bool RouterDoor::isConnected(const Peer &peer) {
  return socket.send(peer.id, DontWait | SendMore) && socket.send("", DontWait);
}

/// Looks at a peer some times, first in `seconds`.
void RouterDoor::lookAfter(Peer &peer, double seconds) {
  double from = monotonicSeconds() + seconds;
  peer.nextLook = std::min(peer.nextLook, from);
  peer.lastLook = from + lookSeconds;
  nextLook = std::min(nextLook, peer.nextLook);
}

void RouterDoor::reportGone(int node) {
  events.push_back({DoorEvent::Gone, node, std::string()});
}

/// Returns true if messages with this id are those of the node.
bool RouterDoor::admitPeer(int node, const std::string &id) {
  auto [found, isNew] = peers.try_emplace(node);
  Peer &peer = found->second;
  if (!isNew && peer.id != id) {
    if (isConnected(peer)) {
      if (socket.send(id, DontWait | SendMore))
        sendParts(socket, WireRefused, std::string());
      return false;
    }
    reportGone(node);
    peer = Peer();
    isNew = true;
  }
  peer.id = id;
  // Its connection may have ended before this message was read.
  if (isNew)
    lookAfter(peer, lookInterval);
  return true;
}

void RouterDoor::handleMessage(const std::string &id, int source,
                               std::string text) {
  int node = nodeOfRoutingId(id);
  if (node < 0 || !admitPeer(node, id))
    return;
  auto [found, isNew] = nodeOfSource.try_emplace(source, node);
  if (!isNew && found->second != node) {
    found->second = node;
    isNew = true;
  }
  Peer &peer = peers[node];
  peer.isWatched = true;
  if (isNew)
    lookAfter(peer, lookInterval);
  if (!text.empty() && text[0] == WireText)
    events.push_back({DoorEvent::Message, node, text.substr(1)});
}

/// Takes a message from the socket, if there is one.
bool RouterDoor::receiveMessage() {
  Message id, part;
  if (!socket.receive(id, DontWait))
    return false;
  if (id.hasMore() && socket.receive(part, DontWait)) {
    std::string sender(id.text());
    int source = part.source();
    handleMessage(sender, source, joinParts(socket, part));
  }
  return true;
}

void RouterDoor::lookAtPeer(int node, Peer &peer, double now) {
  bool wasLost = peer.lostSince != never, isLost = !isConnected(peer);
  if (isLost != wasLost) {
    peer.lostSince = isLost ? now : never;
    peer.isWatched = isLost;
  }
  bool goesOn = isLost || !peer.isWatched || now < peer.lastLook;
  peer.nextLook = goesOn ? now + lookInterval : never;
}

/// Looks at the peers whose time has come, and forgets those that are gone.
void RouterDoor::lookAtPeers() {
  double now = monotonicSeconds();
  if (now < nextLook)
    return;
  nextLook = never;
  for (auto it = peers.begin(); it != peers.end();) {
    auto &[node, peer] = *it;
    if (now >= peer.nextLook)
      lookAtPeer(node, peer, now);
    bool isGone = now - peer.lostSince >= goneSeconds;
    if (isGone)
      reportGone(node);
    else
      nextLook = std::min(nextLook, peer.nextLook);
    it = isGone ? peers.erase(it) : std::next(it);
  }
}

DoorEvent RouterDoor::receive() {
  // A node's messages come before the news that it is gone.
  while (events.empty() && receiveMessage())
    ;
  int source;
  while (events.empty() && monitor.nextEvent(source))
    if (auto found = nodeOfSource.find(source); found != nodeOfSource.end())
      if (auto peer = peers.find(found->second); peer != peers.end())
        lookAfter(peer->second, 0);
  if (events.empty())
    lookAtPeers();
  if (events.empty())
    return DoorEvent();
  DoorEvent event = std::move(events.front());
  events.pop_front();
  return event;
}

double RouterDoor::addPolled(std::vector<PollItem> &items) const {
  items.push_back({socket.get(), 0, PollIn, 0});
  items.push_back({monitor.get(), 0, PollIn, 0});
  return events.empty() ? nextLook - monotonicSeconds() : 0;
}

std::unique_ptr<RootDoor> RootDoor::open(const std::string &address, int port,
                                         const JobKey &key,
                                         std::string &error) {
  error = zmq::load();
  if (!error.empty())
    return nullptr;
  auto door = std::make_unique<RouterDoor>(key);
  error = door->listen(address, port, key);
  if (!error.empty())
    return nullptr;
  return door;
}

//===----------------------------------------------------------------------===//
// An agent's door
//===----------------------------------------------------------------------===//

namespace {
class DealerDoor : public AgentDoor {
public:
  std::string connect(const RootAddress &root, int node);
  void send(const std::string &message) override;
  DoorEvent receive() override;
  bool isRefused() const override { return refused; }
  double addPolled(std::vector<PollItem> &items) const;

private:
  void handleEvents();
  bool receiveMessage(DoorEvent &event);

  Context context;
  Socket socket{context, Dealer}, monitor;
  bool connected = false, refused = false;
  /// The root has another agent of this node.
  bool turnedAway = false;
  /// Time at which the connection ended; never: it stands, or was reported as
  /// gone.
  double lostSince = never;
};
} // namespace

std::string DealerDoor::connect(const RootAddress &root, int node) {
  uint8_t drawn[8];
  if (getrandom(drawn, sizeof(drawn), 0) != ssize_t(sizeof(drawn)))
    return std::string("cannot draw random numbers: ") + strerror(errno);
  std::string id = routingPrefix(node);
  for (uint8_t byte : drawn)
    id += format("%02x", byte);
  setDoorOptions(socket, root.endpoint);
  socket.set(RoutingId, id);
  socket.set(CurveServerKey, publicKeyOf(root.key.root));
  socket.set(CurvePublicKey, publicKeyOf(root.key.member));
  socket.set(CurveSecretKey, keyBytes(root.key.member));
  socket.set(ReconnectInterval, 50);
  socket.set(ReconnectIntervalMax, 200);
  // Milliseconds after which a lost first packet is sent by a new try.
  socket.set(ConnectTimeout, 2000);
  monitor = socket.monitor(
      context, HandshakeSucceeded | Disconnected | HandshakeFailedNoDetail |
                   HandshakeFailedProtocol | HandshakeFailedAuth);
  return socket.connect(root.endpoint);
}

void DealerDoor::handleEvents() {
  int value;
  while (int event = monitor.nextEvent(value)) {
    bool wasConnected = std::exchange(connected, event == HandshakeSucceeded);
    if (connected) {
      refused = false;
      lostSince = never;
      socket.send("", DontWait);
    } else if (wasConnected) {
      lostSince = monotonicSeconds();
    } else if (event != Disconnected) {
      refused = true;
    }
  }
}

void DealerDoor::send(const std::string &message) {
  if (message.size() <= longestDoorMessage)
    sendParts(socket, WireText, message);
}

/// Takes messages from the socket until one is an event.
bool DealerDoor::receiveMessage(DoorEvent &event) {
  Message part;
  while (socket.receive(part, DontWait)) {
    std::string text = joinParts(socket, part);
    if (text.empty())
      continue;
    bool wasTurnedAway = std::exchange(turnedAway, text[0] == WireRefused);
    if (turnedAway && wasTurnedAway)
      continue;
    event.kind = turnedAway ? DoorEvent::Gone : DoorEvent::Message;
    event.message = text.substr(1);
    return true;
  }
  return false;
}

DoorEvent DealerDoor::receive() {
  DoorEvent event;
  handleEvents();
  if (receiveMessage(event) || monotonicSeconds() - lostSince < goneSeconds)
    return event;
  lostSince = never;
  event.kind = DoorEvent::Gone;
  return event;
}

double DealerDoor::addPolled(std::vector<PollItem> &items) const {
  items.push_back({socket.get(), 0, PollIn, 0});
  items.push_back({monitor.get(), 0, PollIn, 0});
  return lostSince + goneSeconds - monotonicSeconds();
}

std::unique_ptr<AgentDoor> AgentDoor::connect(const RootAddress &root, int node,
                                              std::string &error) {
  error = zmq::load();
  if (!error.empty())
    return nullptr;
  auto door = std::make_unique<DealerDoor>();
  error = door->connect(root, node);
  if (!error.empty())
    return nullptr;
  return door;
}

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

Door::~Door() = default;

void tessera::rt::waitForDoors(RootDoor *root, AgentDoor *agent, int wake,
                               double seconds) {
  std::vector<PollItem> items;
  if (root)
    seconds =
        std::min(seconds, static_cast<RouterDoor *>(root)->addPolled(items));
  if (agent)
    seconds =
        std::min(seconds, static_cast<DealerDoor *>(agent)->addPolled(items));
  // Polls count milliseconds in an int.
  int milliseconds = int(std::ceil(std::clamp(seconds, 0.0, 1e6) * 1e3));
  if (items.empty()) {
    // The library need not be loaded. A negative descriptor is ignored.
    pollfd item = {wake, POLLIN, 0};
    ::poll(&item, 1, milliseconds);
    return;
  }
  if (wake >= 0)
    items.push_back({nullptr, wake, PollIn, 0});
  api().poll(items.data(), int(items.size()), milliseconds);
}
