//===- Strangers.h - Clients that do not belong to a job --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain TCP clients that try to get past a listener: with random bytes, with
// what a proper client said (whole, cut, or with changed bytes), and with a
// byte from time to time. They run in a thread until they are destroyed.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_RUNTIME_NODES_STRANGERS_H
#define TESSERA_TEST_RUNTIME_NODES_STRANGERS_H

#include <arpa/inet.h>
#include <atomic>
#include <netinet/in.h>
#include <poll.h>
#include <random>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

/// The port of "tcp://127.0.0.1:4711".
inline int portOf(const std::string &endpoint) {
  return atoi(endpoint.c_str() + endpoint.rfind(':') + 1);
}

/// A TCP socket that is connected with a port of `address`, or -1. Its own
/// address is the loopback interface's of that number: one address has ports
/// for some 28000 connections a minute, and those of the first are for others.
inline int connectTo(int port, const char *address = "127.0.0.1",
                     unsigned own = 0) {
  int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in from = {}, to = {};
  from.sin_family = to.sin_family = AF_INET;
  from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + own);
  bind(file, reinterpret_cast<sockaddr *>(&from), sizeof(from));
  to.sin_port = htons(uint16_t(port));
  inet_pton(AF_INET, address, &to.sin_addr);
  if (connect(file, reinterpret_cast<sockaddr *>(&to), sizeof(to)) == 0)
    return file;
  close(file);
  return -1;
}

/// Stands between a client and a listener, and records what the client says.
class Recorder {
public:
  explicit Recorder(int port) : port(port) {
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in own = {};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(own);
    bind(listener, reinterpret_cast<sockaddr *>(&own), size);
    listen(listener, 1);
    getsockname(listener, reinterpret_cast<sockaddr *>(&own), &size);
    ownPort = ntohs(own.sin_port);
    thread = std::thread([this] { relay(); });
  }
  /// Ends when the client has.
  std::string finish() {
    thread.join();
    return said;
  }
  std::string endpoint() const {
    return "tcp://127.0.0.1:" + std::to_string(ownPort);
  }

private:
  void relay() {
    int client = accept(listener, nullptr, nullptr), server = connectTo(port);
    close(listener);
    pollfd ends[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
    for (bool isOpen = true; isOpen;) {
      poll(ends, 2, -1);
      for (int i = 0; i < 2; ++i) {
        if (!ends[i].revents)
          continue;
        char bytes[4096];
        ssize_t count = recv(ends[i].fd, bytes, sizeof(bytes), 0);
        if (count <= 0) {
          isOpen = false;
          continue;
        }
        if (i == 0)
          said.append(bytes, size_t(count));
        send(ends[1 - i].fd, bytes, size_t(count), MSG_NOSIGNAL);
      }
    }
    close(client);
    close(server);
  }

  int port, ownPort = 0, listener = -1;
  std::string said;
  std::thread thread;
};

/// Tries connections one after another, while others stay open that send a byte
/// at a time.
class Strangers {
public:
  Strangers(int port, std::string proper, int slow, unsigned seed)
      : port(port), proper(std::move(proper)), random(seed) {
    for (int i = 0; i < slow; ++i)
      slowOnes.push_back(connectTo(port));
    thread = std::thread([this] { run(); });
  }
  ~Strangers() {
    stop = true;
    thread.join();
    for (int file : slowOnes)
      close(file);
  }
  /// Connections that were tried.
  int tried() const { return count; }

private:
  std::string makeText() {
    // The greeting of ZeroMQ has 64 bytes.
    std::string text;
    int kind = int(random() % 4);
    if (kind >= 2)
      text = proper;
    if (kind == 1)
      text = proper.substr(0, 64);
    if (kind == 2)
      text.resize(random() % (text.size() + 1));
    if (kind == 3)
      for (unsigned i = random() % 4; i > 0 && !text.empty(); --i)
        text[random() % text.size()] = char(random());
    if (kind < 3)
      for (unsigned i = random() % 600; i > 0; --i)
        text += char(random());
    return text;
  }

  void run() {
    while (!stop) {
      if (count % 100 == 0)
        for (int &file : slowOnes)
          if (send(file, "\xff", 1, MSG_NOSIGNAL) < 0) {
            close(file);
            file = connectTo(port);
          }
      int file = connectTo(port, "127.0.0.1", 10 + unsigned(count) / 5000);
      if (file < 0)
        continue;
      ++count;
      std::string text = makeText();
      send(file, text.data(), text.size(), MSG_NOSIGNAL);
      // Some wait for an answer, which the listener takes a while to give.
      pollfd answer = {file, POLLIN, 0};
      if (random() % 8 == 0)
        poll(&answer, 1, 2);
      close(file);
    }
  }

  int port;
  std::string proper;
  std::mt19937 random;
  std::vector<int> slowOnes;
  std::atomic<bool> stop{false};
  std::atomic<int> count{0};
  std::thread thread;
};

#endif // TESSERA_TEST_RUNTIME_NODES_STRANGERS_H
