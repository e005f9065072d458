//===- Interfaces.h - Addresses of this machine -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the address by which other nodes reach this one.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_INTERFACES_H
#define TESSERA_RT_SRC_INTERFACES_H

#include <string>

namespace tessera::rt {

/// Finds the IPv4 address of the interface with this name. Without a name: that
/// which the host's name points to, unless it is a loopback address; else that
/// of the only other interface. Returns a message, or nothing.
std::string findOwnAddress(const std::string &interface, std::string &address);

/// Finds the IPv4 address of the interface with this name; without a name, of
/// the one from which a packet to `target`, a host or an address, leaves.
/// Returns a message, or nothing.
std::string findAddressTowards(const std::string &target,
                               const std::string &interface,
                               std::string &address);

/// The name of the interface that has an IPv4 address; empty: none has it.
std::string findInterface(const std::string &address);

/// The name of this machine.
std::string hostName();

/// Resolves a host to an IPv4 address. Returns a message, or nothing.
std::string resolveHost(const std::string &host, std::string &address);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_INTERFACES_H
