//===- RootPlace.h - How nodes find the root of their job -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The root is found by a file in a folder that all nodes see, which the root
// writes, or at HOST:PORT with a key that all nodes have been given.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_ROOTPLACE_H
#define TESSERA_RT_SRC_ROOTPLACE_H

#include "Doors.h"
#include "run/Options.h"

#include <string>

namespace tessera::rt {

class RootPlace {
public:
  /// Reads --rendezvous, --key and TESSERA_KEY, or takes the folder of
  /// --checkpoint. `job` is the same on all nodes, and different for another
  /// job; it may be empty. Returns a message, or nothing.
  std::string read(const Options &options, const std::string &job);

  /// True if the root has a file.
  bool isFolder() const { return port == 0; }
  /// Address and port at which the root listens; the address is empty and the
  /// port 0 if it may choose.
  const std::string &hostName() const { return host; }
  int portNumber() const { return port; }
  /// The key of HOST:PORT.
  const JobKey &givenKey() const { return key; }

  /// Writes the root's file, for its user alone. Returns a message, or nothing.
  std::string publish(const RootAddress &address);
  /// Removes the file that `publish` wrote, unless another root has replaced
  /// it.
  void remove();
  /// Finds the root. `isThere` is false if its file is not there yet. Returns a
  /// message, or nothing.
  std::string find(RootAddress &address, bool &isThere) const;
  /// Describes where the root is looked for.
  std::string describe() const;

private:
  std::string folder, path, job, host, published;
  int port = 0;
  JobKey key;
};

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_ROOTPLACE_H
