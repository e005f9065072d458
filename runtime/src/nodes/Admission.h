//===- Admission.h - Who may connect with a listener ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Answers ZeroMQ's questions about clients that want to connect: each names
// itself in the way of the socket's mechanism (ZeroMQ RFC 27, "ZAP").
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_ADMISSION_H
#define TESSERA_RT_SRC_ADMISSION_H

#include "nodes/ZeroMq.h"

#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace tessera::rt {

/// Admits the clients of a context's listeners that have the only accepted
/// credentials. A thread of its own answers, so that clients do not wait for
/// the listener's. Starts before a listener does.
class Admission {
public:
  /// The mechanism, "CURVE" or "PLAIN", and the credentials: the 32 bytes of a
  /// public key; or a name and a password.
  Admission(zmq::Context &context, std::string mechanism,
            std::vector<std::string> credentials);
  /// Expects that the context is shut down.
  ~Admission();

  /// Starts to answer. Returns an error or nothing.
  std::string start();

private:
  void run();
  bool isAdmitted(const std::vector<std::string> &request) const;

  zmq::Socket socket;
  std::string mechanism;
  std::vector<std::string> credentials;
  std::thread thread;
};

/// Starts a thread that gets no signals.
std::thread startWithoutSignals(std::function<void()> run);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_ADMISSION_H
