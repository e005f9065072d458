//===- Interfaces.cpp - Addresses of this machine -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Interfaces.h.
//
//===----------------------------------------------------------------------===//

#include "Interfaces.h"

#include "support/Support.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

using namespace tessera::rt;

namespace {
struct Interface {
  std::string name, address;
  bool isLoopback = false;
};
} // namespace

static std::string textOf(const sockaddr_in &address) {
  char text[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text));
  return text;
}

/// Finds the interfaces that are up and have an IPv4 address.
static std::string listInterfaces(std::vector<Interface> &interfaces) {
  ifaddrs *first = nullptr;
  if (getifaddrs(&first) != 0)
    return std::string("cannot list the interfaces of this machine: ") +
           strerror(errno);
  for (ifaddrs *one = first; one; one = one->ifa_next) {
    if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET ||
        !(one->ifa_flags & IFF_UP))
      continue;
    sockaddr_in address;
    memcpy(&address, one->ifa_addr, sizeof(address));
    interfaces.push_back(
        {one->ifa_name, textOf(address), (one->ifa_flags & IFF_LOOPBACK) != 0});
  }
  freeifaddrs(first);
  return std::string();
}

/// "eth0 (10.0.0.1), lo (127.0.0.1)"
static std::string describe(const std::vector<Interface> &interfaces) {
  std::string text;
  for (const Interface &one : interfaces)
    text += (text.empty() ? "" : ", ") + one.name + " (" + one.address + ")";
  return text.empty() ? "none" : text;
}

static std::string findByName(const std::vector<Interface> &interfaces,
                              const std::string &name, std::string &address) {
  for (const Interface &one : interfaces)
    if (one.name == name) {
      address = one.address;
      return std::string();
    }
  return "--interface expects an interface that is up and has an IPv4 "
         "address, of " +
         describe(interfaces) + ", but got '" + name + "'";
}

std::string tessera::rt::hostName() {
  char host[256] = "?";
  gethostname(host, sizeof(host) - 1);
  return host;
}

std::string tessera::rt::resolveHost(const std::string &host,
                                     std::string &address) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error)
    return "cannot find the address of host '" + host +
           "': " + gai_strerror(error);
  sockaddr_in first;
  memcpy(&first, found->ai_addr, sizeof(first));
  address = textOf(first);
  freeaddrinfo(found);
  return std::string();
}

std::string tessera::rt::findInterface(const std::string &address) {
  std::vector<Interface> interfaces;
  listInterfaces(interfaces);
  for (const Interface &one : interfaces)
    if (one.address == address)
      return one.name;
  return std::string();
}

std::string tessera::rt::findOwnAddress(const std::string &interface,
                                        std::string &address) {
  std::vector<Interface> interfaces;
  std::string error = listInterfaces(interfaces);
  if (!error.empty())
    return error;
  if (!interface.empty())
    return findByName(interfaces, interface, address);
  std::string named;
  resolveHost(hostName(), named);
  std::vector<Interface> others;
  for (const Interface &one : interfaces) {
    if (one.isLoopback)
      continue;
    others.push_back(one);
    if (one.address == named)
      address = named;
  }
  if (address.empty() && others.size() == 1)
    address = others.front().address;
  return !address.empty()
             ? std::string()
             : "expects --interface NAME, the interface by which other nodes "
               "reach this one, as the host's name '" +
                   hostName() +
                   "' points to none of them: " + describe(interfaces);
}

std::string tessera::rt::findAddressTowards(const std::string &target,
                                            const std::string &interface,
                                            std::string &address) {
  if (!interface.empty())
    return findOwnAddress(interface, address);
  std::string numeric;
  std::string error = resolveHost(target, numeric);
  if (!error.empty())
    return error;
  // A datagram socket that is connected sends nothing, but has an address.
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in to = {}, from = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(9);
  inet_pton(AF_INET, numeric.c_str(), &to.sin_addr);
  socklen_t length = sizeof(from);
  if (fd < 0 || connect(fd, reinterpret_cast<sockaddr *>(&to), sizeof(to)) ||
      getsockname(fd, reinterpret_cast<sockaddr *>(&from), &length))
    error = "cannot find the interface that leads to '" + target +
            "': " + strerror(errno);
  if (fd >= 0)
    close(fd);
  address = textOf(from);
  return error;
}
