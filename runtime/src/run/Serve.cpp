//===- Serve.cpp - Steps on request ---------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Serve.h. Rank 0 sleeps in the socket, the others on their doorbells; what
// rank 0 refuses, they never see. Every rank maps the memory, reads its blocks
// of the inputs from there, and writes the blocks that it owns of results.
//
//===----------------------------------------------------------------------===//

#include "Serve.h"

#include "StepRunner.h"
#include "data/Elements.h"
#include "data/Inputs.h"
#include "data/ShardRuns.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

using namespace tessera;
using namespace tessera::rt;

//===----------------------------------------------------------------------===//
// Memory and requests
//===----------------------------------------------------------------------===//

static bool isInput(const Value &value) {
  return isData(value) || value.role == Role::Input;
}

static bool isKept(const Value &value) {
  return value.role == Role::Param || value.role == Role::State;
}

static int64_t align(int64_t bytes) {
  return (bytes + serve::kAlignment - 1) / serve::kAlignment *
         serve::kAlignment;
}

ServedMemory::ServedMemory(const Manifest &manifest) {
  auto add = [&](std::vector<ServedValue> &values, const Value &value) {
    values.push_back({&value, bytes});
    bytes = align(bytes + value.elements() * dtypeSize(value.dtype));
  };
  for (const Value &value : manifest.arguments)
    if (isInput(value))
      add(inputs, value);
  std::vector<bool> isReturned(manifest.results.size());
  for (const Value &value : manifest.arguments)
    if (value.donate >= 0)
      isReturned[size_t(value.donate)] = true;
  for (size_t i = 0; i < manifest.results.size(); ++i)
    if (!isReturned[i])
      add(results, manifest.results[i]);
  window = bytes;
  bytes = align(bytes + serve::kWindowBytes);
}

std::string tessera::rt::readRequest(const Manifest &manifest,
                                     const void *message, size_t size,
                                     serve::Request &request) {
  if (size != sizeof(request))
    return format("a request expects %zu bytes, but got %zu", sizeof(request),
                  size);
  memcpy(&request, message, sizeof(request));
  if (request.kind > serve::kStop)
    return format("a request expects a kind from 0 to %u, but got %u",
                  unsigned(serve::kStop), request.kind);
  if (request.kind != serve::kGet && request.kind != serve::kSet)
    return std::string();
  if (request.value >= manifest.arguments.size() ||
      !isKept(manifest.arguments[request.value]))
    return format("a request expects a parameter or state, but got argument "
                  "%u of %zu",
                  request.value, manifest.arguments.size());
  const Value &value = manifest.arguments[request.value];
  int64_t elements = value.elements();
  int64_t most =
      std::min(elements, serve::kWindowBytes / dtypeSize(value.dtype));
  if (request.first < 0 || request.first > elements || request.count < 0 ||
      request.count > std::min(elements - request.first, most))
    return format("a request for '%s' expects at most %lld of its %lld "
                  "elements, but got %lld from %lld on",
                  value.name.c_str(), (long long)most, (long long)elements,
                  (long long)request.count, (long long)request.first);
  return std::string();
}

/// True if this rank is the lowest one with its block of `value`.
static bool isOwner(const tessera_rt_context *ctx, const Value &value) {
  std::vector<int> owners = blockOwners(value, ctx->ranks);
  return std::find(owners.begin(), owners.end(), ctx->rank) != owners.end();
}

Status tessera::rt::transferElements(tessera_rt_context *ctx,
                                     const Manifest &manifest,
                                     const serve::Request &request,
                                     uint8_t *window) {
  const Value &value = manifest.arguments[request.value];
  ElementRange range{request.first, request.count};
  bool isSet = request.kind == serve::kSet;
  if (!value.isOn(ctx->rank) || (!isSet && !isOwner(ctx, value)))
    return TESSERA_RT_OK;
  // A block is sent as a whole, with the elements that it keeps.
  ArenaBlock block = value.blockOn(ctx->rank);
  if (Status status = ctx->target->fetch({block}))
    return status;
  if (!isSet) {
    copyFromBlock(ctx, value, range, window);
    return TESSERA_RT_OK;
  }
  copyToBlock(ctx, value, range, window);
  return ctx->target->send(block);
}

//===----------------------------------------------------------------------===//
// The server
//===----------------------------------------------------------------------===//

namespace {
class Server {
public:
  Server(tessera_rt_context *ctx, const Manifest &manifest,
         const Options &options)
      : ctx(ctx), manifest(manifest), options(options), layout(manifest),
        runner(ctx, manifest) {}
  ~Server() {
    if (memory)
      munmap(memory, size_t(layout.bytes));
  }

  /// Maps the memory.
  Status open();
  Status run();

private:
  std::string map();
  /// Waits for the next request that is not refused.
  Status next(serve::Request &request);
  /// Rank 0's part of it.
  serve::Request receive();
  /// Returns the reason for which a call is refused, or nothing.
  std::string checkInputs() const;
  Status call(double &seconds);
  /// Sends a reply, on rank 0.
  void reply(const serve::Request &request, double seconds,
             const std::string &refusal = std::string()) const;

  tessera_rt_context *ctx;
  const Manifest &manifest;
  const Options &options;
  ServedMemory layout;
  StepRunner runner;
  uint8_t *memory = nullptr;
  /// This rank's blocks of the results that the client reads.
  std::vector<ArenaBlock> blocks;
  /// The results of which this rank writes its block.
  std::vector<ServedValue> owned;
  uint64_t served = 0;
  int64_t calls = 0;
};
} // namespace

std::string Server::map() {
  int type = 0;
  socklen_t length = sizeof(type);
  if (getsockopt(options.serve.socket, SOL_SOCKET, SO_TYPE, &type, &length) ||
      type != SOCK_SEQPACKET)
    return format("--serve expects a socket that keeps messages apart "
                  "(SOCK_SEQPACKET), but descriptor %d is none",
                  options.serve.socket);
  struct stat facts;
  constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  int sealed = fcntl(options.serve.memory, F_GET_SEALS);
  if (fstat(options.serve.memory, &facts) || sealed < 0 ||
      (sealed & seals) != seals || facts.st_size != layout.bytes)
    return format("--serve expects memory of %lld bytes, sealed against other "
                  "sizes, but descriptor %d is none",
                  (long long)layout.bytes, options.serve.memory);
  void *address = mmap(nullptr, size_t(layout.bytes), PROT_READ | PROT_WRITE,
                       MAP_SHARED, options.serve.memory, 0);
  if (address == MAP_FAILED)
    return format("cannot map the memory of --serve: %s", strerror(errno));
  memory = static_cast<uint8_t *>(address);
  return std::string();
}

Status Server::open() {
  std::string error = map();
  if (!error.empty())
    return fail(ctx, TESSERA_RT_INVALID, error);
  for (const ServedValue &one : layout.results) {
    if (!one.value->isOn(ctx->rank) || !isOwner(ctx, *one.value))
      continue;
    blocks.push_back(one.value->blockOn(ctx->rank));
    owned.push_back(one);
  }
  return barrier(ctx, BarrierReady);
}

void Server::reply(const serve::Request &request, double seconds,
                   const std::string &refusal) const {
  serve::Reply reply;
  reply.kind = request.kind;
  reply.isRefused = !refusal.empty();
  reply.number = request.number;
  reply.seconds = seconds;
  std::string message(reinterpret_cast<const char *>(&reply), sizeof(reply));
  message += refusal;
  // A client that does not read its replies learns of nothing.
  while (send(options.serve.socket, message.data(), message.size(),
              MSG_NOSIGNAL) < 0 &&
         errno == EINTR)
    continue;
}

std::string Server::checkInputs() const {
  for (const ServedValue &one : layout.inputs) {
    NpyArray array;
    array.dtype = one.value->dtype;
    array.isUnsigned = one.value->isUnsigned;
    array.elements = memory + one.offset;
    std::string error = checkIds(*one.value, array);
    if (!error.empty())
      return error;
  }
  return std::string();
}

serve::Request Server::receive() {
  for (;;) {
    char message[sizeof(serve::Request) + 1];
    ssize_t size = recv(options.serve.socket, message, sizeof(message), 0);
    serve::Request request;
    if (size < 0 && errno == EINTR)
      continue;
    // The client has left.
    if (size <= 0) {
      request.kind = serve::kStop;
      return request;
    }
    std::string refusal = readRequest(manifest, message, size_t(size), request);
    if (refusal.empty() && request.kind == serve::kCall)
      refusal = checkInputs();
    if (refusal.empty() && request.kind != serve::kSync)
      return request;
    reply(request, 0, refusal);
  }
}

Status Server::next(serve::Request &request) {
  ControlBlock &control = *ctx->memory.control;
  if (ctx->rank == 0) {
    request = receive();
    control.request = request;
    control.requests.store(++served);
    for (int rank = 1; rank < ctx->ranks; ++rank)
      ringDoorbell(ctx->memory.blocks[rank]);
    return control.aborted.load() ? TESSERA_RT_ABORTED : TESSERA_RT_OK;
  }
  if (Status status = awaitRequest(ctx, served))
    return status;
  ++served;
  request = control.request;
  return TESSERA_RT_OK;
}

Status Server::call(double &seconds) {
  for (const ServedValue &one : layout.inputs) {
    const Value &value = *one.value;
    if (!value.isOn(ctx->rank))
      continue;
    // The program may have reused the block, padding included.
    ArenaBlock block = value.blockOn(ctx->rank);
    memset(ctx->arena() + block.offset, 0, size_t(block.bytes));
    copyToBlock(ctx, value, {0, value.elements()}, memory + one.offset);
    if (Status status = ctx->target->send(block))
      return status;
  }
  if (Status status = runner.run(++calls, blocks))
    return status;
  for (const ServedValue &one : owned)
    copyFromBlock(ctx, *one.value, {0, one.value->elements()},
                  memory + one.offset);
  if (Status status = barrier(ctx, BarrierStep))
    return status;
  seconds = monotonicSeconds() - ctx->block().numbers.stepBegan;
  ctx->timeout = options.timeouts.step;
  return TESSERA_RT_OK;
}

Status Server::run() {
  serve::Request request;
  if (ctx->rank == 0)
    reply(request, 0);
  for (;;) {
    if (Status status = next(request))
      return status;
    double seconds = 0;
    if (request.kind == serve::kCall) {
      if (Status status = call(seconds))
        return status;
    } else if (request.kind != serve::kStop) {
      if (Status status =
              transferElements(ctx, manifest, request, memory + layout.window))
        return status;
      if (Status status = barrier(ctx, BarrierStep))
        return status;
    }
    if (ctx->rank == 0)
      reply(request, seconds);
    if (request.kind == serve::kStop)
      return barrier(ctx, BarrierEnd);
  }
}

Status tessera::rt::serveRequests(tessera_rt_context *ctx,
                                  const Manifest &manifest,
                                  const Options &options) {
  Server server(ctx, manifest, options);
  if (Status status = server.open())
    return status;
  return server.run();
}
