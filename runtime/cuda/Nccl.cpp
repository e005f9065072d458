//===- Nccl.cpp - Communicators of NCCL -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Nccl.h.
//
//===----------------------------------------------------------------------===//

#include "Nccl.h"

#include "nodes/Interfaces.h"
#include "ranks/Sharing.h"

#include <cstdlib>
#include <optional>
#include <unistd.h>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

/// Sets NCCL's environment variables that the user does not set.
static void setDefaults(const tessera_rt_context &ctx, bool shared) {
  // Other nodes reach this one by its agent's interface. If all ranks are on
  // this machine, no other machine may connect.
  std::string interface = ctx.memory.place.isAcrossNodes()
                              ? findInterface(ctx.memory.control->node.address)
                              : "lo";
  // The "=" asks for this name; NCCL takes one alone for a prefix.
  if (!interface.empty())
    setenv("NCCL_SOCKET_IFNAME", ("=" + interface).c_str(), /*overwrite=*/0);
  if (!shared)
    return;
  // NCCL refuses two ranks of one machine on one device, so each rank claims to
  // be a machine of its own, wherever it is. They take turns on the device,
  // with as few of its resources as possible.
  setenv("NCCL_HOSTID", format("tessera-rank-%d", ctx.rank).c_str(), 1);
  setenv("NCCL_NET", "Socket", 0);
  setenv("NCCL_IB_DISABLE", "1", 0);
  setenv("NCCL_NVLS_ENABLE", "0", 0);
  setenv("NCCL_MAX_CTAS", "1", 0);
  setenv("NCCL_ALGO", "Ring", 0);
  setenv("NCCL_PROTO", "Simple", 0);
}

Status NcclLibrary::open(bool shared) {
  setDefaults(*ctx, shared);
  api.library = findLibrary(LibraryKind::Nccl);
  if (api.library.error.empty())
    api.bind();
  return api.library.error.empty()
             ? TESSERA_RT_OK
             : fail(ctx, TESSERA_RT_INVALID, api.library.error);
}

std::string NcclLibrary::describe(const Communicator &comm, const char *what,
                                  int result) const {
  std::string text =
      format("NCCL %s, %s over %s: %s", api.library.version.c_str(), what,
             comm.name.c_str(), api.errorString(result));
  const char *more = comm.comm ? api.lastError(comm.comm) : nullptr;
  return more && *more ? text + " (" + more + ")" : text;
}

/// Polls until `ask` gives a status. Fails if a rank is lost meanwhile, or at
/// the timeout of `what`.
template <typename AskFn>
static Status awaitAnswer(tessera_rt_context *ctx, AskFn ask,
                          const std::string &what) {
  double begin = monotonicSeconds(), lastLook = begin;
  for (;;) {
    if (std::optional<Status> answer = ask())
      return *answer;
    if (ctx->memory.control->aborted.load())
      return TESSERA_RT_ABORTED;
    double now = monotonicSeconds();
    if (now - lastLook > 0.1) {
      lastLook = now;
      if (Status status = checkRanksLive(ctx))
        return status;
    }
    if (now - begin > ctx->timeout)
      return reportLateDevices(ctx, what, now - begin);
    usleep(100);
  }
}

Status NcclLibrary::waitReady(const Communicator &comm) {
  auto ask = [&]() -> std::optional<Status> {
    int state = nccl::Success;
    int result = api.asyncError(comm.comm, &state);
    if (result == nccl::Success)
      result = state;
    if (result == nccl::InProgress)
      return std::nullopt;
    return result == nccl::Success
               ? TESSERA_RT_OK
               : failUnlessRankLost(ctx, TESSERA_RT_SYSTEM,
                                    describe(comm, "connecting", result));
  };
  return awaitAnswer(ctx, ask, "the connection of NCCL over " + comm.name);
}

void NcclLibrary::close(const Communicator &comm) {
  constexpr double patience = 5;
  double begin = monotonicSeconds();
  int state = api.finalize(comm.comm);
  while (state == nccl::InProgress && monotonicSeconds() - begin < patience) {
    usleep(100);
    if (api.asyncError(comm.comm, &state) != nccl::Success)
      break;
  }
  if (state == nccl::Success)
    api.destroy(comm.comm);
  else
    api.abort(comm.comm);
}

Status NcclLibrary::check(const Communicator &comm, const char *what,
                          int result) {
  if (result == nccl::Success)
    return TESSERA_RT_OK;
  if (result == nccl::InProgress)
    return waitReady(comm);
  return failUnlessRankLost(ctx, TESSERA_RT_SYSTEM,
                            describe(comm, what, result));
}

std::string NcclLibrary::poll(const Communicator &comm) {
  int state = nccl::Success;
  int result = api.asyncError(comm.comm, &state);
  if (result == nccl::Success &&
      (state == nccl::Success || state == nccl::InProgress))
    return std::string();
  return describe(comm, "a collective",
                  result != nccl::Success ? result : state);
}

Status NcclLibrary::announceIdentity(const Communicator &comm) {
  nccl::UniqueId identity = {};
  int result = api.getUniqueId(&identity);
  if (result != nccl::Success)
    return fail(ctx, TESSERA_RT_SYSTEM,
                format("NCCL %s gives no identity for a communicator: %s",
                       api.library.version.c_str(), api.errorString(result)));
  return announce(ctx, comm.identity, &identity, sizeof(identity),
                  comm.members);
}

Status NcclLibrary::connect(Communicator &comm) {
  nccl::UniqueId identity = {};
  int first = comm.members.front();
  if (!findAnnouncement(ctx, first, comm.identity, &identity, sizeof(identity)))
    return fail(ctx, TESSERA_RT_MISMATCH,
                format("expects a communicator over %s, but the step of rank "
                       "%d has none",
                       comm.name.c_str(), first));
  nccl::Config config;
  config.blocking = 0;
  // A receive that waits for its sender occupies that many multiprocessors
  // while tasks compute on the others.
  if (comm.isPair)
    config.maxCTAs = 4;
  int result = api.initRank(&comm.comm, int(comm.members.size()), identity,
                            comm.index, &config);
  return result == nccl::InProgress
             ? TESSERA_RT_OK
             : check(comm, "making a communicator", result);
}

Status NcclLibrary::split(const Communicator &parent, Communicator &comm) {
  nccl::Config config;
  config.blocking = 0;
  int result = api.split(parent.comm, /*color=*/comm.members.front(),
                         comm.index, &comm.comm, &config);
  if (result != nccl::Success && result != nccl::InProgress)
    return check(parent, "splitting a communicator", result);
  // The parent is busy until its child exists.
  if (Status status = waitReady(parent))
    return status;
  return comm.comm ? TESSERA_RT_OK
                   : fail(ctx, TESSERA_RT_SYSTEM,
                          "NCCL gives no communicator over " + comm.name);
}
