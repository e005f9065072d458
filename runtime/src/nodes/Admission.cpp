//===- Admission.cpp - Who may connect with a listener --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Admission.h.
//
//===----------------------------------------------------------------------===//

#include "Admission.h"

#include <cerrno>
#include <csignal>

using namespace tessera::rt;
using namespace tessera::rt::zmq;

namespace {
/// Parts of a request: version, request, domain, address, routing id,
/// mechanism, and the credentials. Their sizes are those that ZeroMQ accepted.
enum { RequestVersion, RequestId, RequestMechanism = 5, RequestCredentials };
constexpr const char *admissionVersion = "1.0";
} // namespace

std::thread tessera::rt::startWithoutSignals(std::function<void()> run) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  std::thread thread(std::move(run));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

/// Compares secrets in a time that depends on their lengths alone.
static bool areSameSecrets(const std::string &a, const std::string &b) {
  if (a.size() != b.size())
    return false;
  unsigned different = 0;
  for (size_t i = 0; i < a.size(); ++i)
    different |= unsigned(uint8_t(a[i]) ^ uint8_t(b[i]));
  return different == 0;
}

Admission::Admission(Context &context, std::string mechanism,
                     std::vector<std::string> credentials)
    : socket(context, Rep), mechanism(std::move(mechanism)),
      credentials(std::move(credentials)) {
  socket.set(Linger, 0);
}

Admission::~Admission() {
  if (thread.joinable())
    thread.join();
}

std::string Admission::start() {
  std::string error = socket.bind("inproc://zeromq.zap.01");
  if (error.empty())
    thread = startWithoutSignals([this] { run(); });
  return error;
}

bool Admission::isAdmitted(const std::vector<std::string> &request) const {
  if (request.size() != RequestCredentials + credentials.size() ||
      request[RequestVersion] != admissionVersion ||
      request[RequestMechanism] != mechanism)
    return false;
  bool areSame = true;
  for (size_t i = 0; i < credentials.size(); ++i)
    areSame &= areSameSecrets(request[RequestCredentials + i], credentials[i]);
  return areSame;
}

void Admission::run() {
  for (;;) {
    std::vector<std::string> request;
    bool hasMore = true, isWhole = true;
    while (hasMore && isWhole) {
      Message part;
      isWhole = socket.receive(part, 0);
      request.emplace_back(part.text());
      hasMore = part.hasMore();
    }
    if (!isWhole && api().errorNumber() == EINTR)
      continue;
    if (!isWhole)
      return; // The context is shut down.
    bool admitted = isAdmitted(request);
    request.resize(RequestId + 1);
    socket.send(admissionVersion, SendMore);
    socket.send(request[RequestId], SendMore);
    socket.send(admitted ? "200" : "400", SendMore);
    socket.send(admitted ? "admitted" : "not admitted", SendMore);
    socket.send("", SendMore); // the client's name
    socket.send("", 0);        // more properties of it
  }
}
