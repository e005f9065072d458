//===- CudaOpen.cpp - Preparations before the first step ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See CudaTarget.h: from the device to the communicators. Everything is loaded
// before the first collective. Ranks whose steps disagree report it here, while
// no device waits for another.
//
//===----------------------------------------------------------------------===//

#include "CudaTarget.h"
#include "Peaks.h"
#include "ProgramImages.h"
#include "ranks/Sharing.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <random>
#include <unistd.h>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

void CudaTarget::remark(const std::string &text) const {
  if (ctx->rank == 0 && !isQuiet)
    fprintf(stderr, "remark: %s\n", text.c_str());
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

/// Opens the device of a rank. Each rank of a node has another one of the
/// devices that its process sees, or sees only its own.
static std::unique_ptr<Device> openCudaDevice(const tessera_rt_context &ctx,
                                              const Options &options,
                                              std::string &error) {
  int count = countCudaDevices(error);
  if (count == 0)
    return nullptr;
  int local = ctx.rank - ctx.memory.place.firstRank();
  return createCudaDevice(options.simulateRanks ? 0 : local % count, error);
}

Status CudaTarget::openDevice(const Manifest &manifest,
                              const Options &options) {
  KernelImages images = programImages();
  std::string error;
  if (!device)
    device = images.emulated ? createEmulatedDevice(0, error)
                             : openCudaDevice(*ctx, options, error);
  if (!device)
    return fail(ctx, TESSERA_RT_INVALID, error);
  arenaBytes = manifest.arenaBytes;
  void *arena = nullptr;
  error = device->createStream(/*highPriority=*/false, compute);
  if (error.empty())
    error = device->createEvent(/*timed=*/false, end);
  // The canary of a watched block may be after the last block.
  if (error.empty())
    error = device->allocate(arenaBytes + 4096, arena);
  if (error.empty())
    error = device->allocateHost(stagingBytes, staging);
  deviceArena = static_cast<uint8_t *>(arena);
  if (error.empty())
    error = fillArena();
  return check(error);
}

std::string CudaTarget::fillArena() {
  // Pairs of bytes with any sign and fraction, and with an exponent that gives
  // numbers of up to 2 in every float type.
  auto *pattern = static_cast<uint8_t *>(staging);
  std::mt19937 random;
  for (int64_t i = 0; i < stagingBytes; i += 2) {
    uint32_t bits = random();
    pattern[i] = uint8_t(bits) & 0xBF;
    pattern[i + 1] = 0x3C | (uint8_t(bits >> 8) & 0x83);
  }
  int64_t done = std::min(stagingBytes, arenaBytes);
  std::string error = device->copyIn(compute, deviceArena, pattern, done);
  while (error.empty() && done < arenaBytes) {
    int64_t bytes = std::min(done, arenaBytes - done);
    error = device->copy(compute, deviceArena + done, deviceArena, bytes);
    done += bytes;
  }
  // The host's block will be overwritten.
  return error.empty() ? device->synchronize(compute) : error;
}

Status CudaTarget::openKernels() {
  std::string error;
  bool byHost = device->isEmulated() && !getenv("TESSERA_EMULATE_KERNELS");
  kernels = byHost ? createHostKernels(*device, ctx)
                   : createDeviceKernels(*device, error);
  if (!kernels)
    return fail(ctx, TESSERA_RT_SYSTEM, error);
  KernelImages images = programImages();
  if (images.numKernels == 0)
    return TESSERA_RT_OK;
  Module module;
  error = device->loadImages(images, module);
  generated.resize(size_t(images.numKernels));
  for (int32_t i = 0; i < images.numKernels && error.empty(); ++i)
    error = device->getKernel(module, images.names[i], generated[size_t(i)]);
  return check(error);
}

//===----------------------------------------------------------------------===//
// The work of a step
//===----------------------------------------------------------------------===//

Status CudaTarget::noteStep() {
  isNoting = true;
  Status status = program(ctx);
  isNoting = false;
  ctx->block().call.store(0);
  notedLaunches = noted.launches;
  if (status && !ctx->memory.control->aborted.load())
    return fail(ctx, status,
                format("the program failed with status %d before its first "
                       "step",
                       status));
  return status;
}

/// Floating-point operations of an attention call: two matmuls on its scores
/// forward, five backward. A causal mask over aligned queries and keys halves
/// them. A window leaves its width to all queries except the first ones.
static double flopsOf(const AttentionUse &use) {
  const tessera_rt_attention_desc &d = use.desc;
  double heads = double(d.batch) * double(d.groups * d.per_group);
  double scores = double(d.q_len) * double(d.kv_len) * (d.causal ? 0.5 : 1);
  if (d.window > 0 && d.window < d.kv_len)
    scores = double(d.window) * (double(d.q_len) - double(d.window) / 2);
  double widths = use.isBackward
                      ? 3.0 * double(d.head_dim) + 2.0 * double(d.v_head_dim)
                      : double(d.head_dim + d.v_head_dim);
  return 2 * heads * scores * widths;
}

double CudaTarget::timeAtPeak(bool tf32) const {
  const std::string &name = device->properties().name;
  double seconds = 0;
  // The rows of experts are not known.
  if (noted.routes)
    return 0;
  for (const MatmulCall &call : noted.matmuls) {
    double peak = peakFlops(name, int32_t(call.desc.dtype), tf32);
    if (peak == 0)
      return 0;
    seconds += call.flops() / peak;
  }
  for (const AttentionUse &use : noted.attentions) {
    double peak = peakFlops(name, int32_t(use.desc.dtype), tf32);
    if (peak == 0)
      return 0;
    seconds += flopsOf(use) / peak;
  }
  return seconds;
}

/// Returns the order of `op`: its group's, or that for messages of one tag from
/// one rank to another.
static GroupOrder *orderOf(RankBlock &block, const Operation &op) {
  uint64_t name = op.group->hash;
  if (isPointToPoint(op.kind)) {
    int peer = op.group->members[size_t(op.peer)];
    int self = op.group->members[size_t(op.group->index)];
    int64_t fields[3] = {op.kind == OpKind::Send ? self : peer,
                         op.kind == OpKind::Send ? peer : self, op.tag};
    name = hashBytes(fields, sizeof(fields));
  }
  for (int32_t i = 0; i < block.numOrders; ++i)
    if (block.orders[i].group == name)
      return &block.orders[i];
  if (block.numOrders == maxGroups)
    return nullptr;
  GroupOrder &order = block.orders[block.numOrders++];
  order.group = name;
  memcpy(order.axes, op.header.axes, sizeof(order.axes));
  return &order;
}

/// Adds the fields that must be equal on all members to an order.
static void extend(GroupOrder &order, const Operation &op) {
  const Header &h = op.header;
  bool isMessage = isPointToPoint(op.kind);
  int64_t fields[] = {isMessage ? 0 : h.sequenceId,
                      isMessage ? 0 : h.op,
                      h.dtype,
                      h.reduction,
                      h.count,
                      isMessage ? 0 : int64_t(h.shapeHash)};
  order.order = hashBytes(fields, sizeof(fields), order.order + 1);
  ++order.count;
}

/// Returns the first order that two ranks share but in which they differ, or
/// null.
static const GroupOrder *findDisagreement(const RankBlock &mine,
                                          const RankBlock &theirs,
                                          const GroupOrder *&other) {
  for (int32_t i = 0; i < mine.numOrders; ++i)
    for (int32_t j = 0; j < theirs.numOrders; ++j) {
      other = &theirs.orders[j];
      if (mine.orders[i].group == other->group &&
          (mine.orders[i].order != other->order ||
           mine.orders[i].count != other->count))
        return &mine.orders[i];
    }
  return nullptr;
}

Status CudaTarget::agree() {
  RankBlock &block = ctx->block();
  for (const Operation &op : noted.collectives) {
    GroupOrder *order = orderOf(block, op);
    if (!order)
      return fail(
          ctx, TESSERA_RT_INVALID,
          format("a step expects at most %d groups of ranks and tags of "
                 "messages between ranks, but this one has more",
                 maxGroups));
    extend(*order, op);
  }
  if (!device->isEmulated())
    snprintf(block.device, sizeof(block.device), "%s",
             device->properties().identity.c_str());
  if (Status status = shareMemory(
          ctx, block.orders, block.numOrders * int64_t(sizeof(GroupOrder))))
    return status;
  if (Status status =
          shareMemory(ctx, &block.numOrders, int64_t(sizeof(block.numOrders))))
    return status;
  if (Status status = shareMemory(ctx, block.device, sizeof(block.device)))
    return status;
  if (Status status = awaitShared(ctx))
    return status;
  for (int rank = 0; rank < ctx->ranks; ++rank)
    if (Status status = compareWith(rank))
      return status;
  return TESSERA_RT_OK;
}

Status CudaTarget::compareWith(int rank) {
  const RankBlock &block = ctx->block();
  const RankBlock &theirs = ctx->memory.blocks[rank];
  const GroupOrder *other = nullptr;
  const GroupOrder *order =
      rank == ctx->rank ? nullptr : findDisagreement(block, theirs, other);
  if (order)
    return fail(ctx, TESSERA_RT_MISMATCH,
                format("the steps of ranks %d and %d do not fit: %lld "
                       "collectives or messages over %s on the one, %lld on "
                       "the other, of different kinds, sizes or order",
                       ctx->rank, rank, (long long)order->count, order->axes,
                       (long long)other->count));
  if (rank < ctx->rank && *block.device && !isShared &&
      strcmp(block.device, theirs.device) == 0)
    return fail(ctx, TESSERA_RT_INVALID,
                format("expects a device for each rank, %d on each node, but "
                       "ranks %d and %d would use the same (%s); for tests see "
                       "--share-device and --simulate-ranks",
                       ctx->memory.place.perNode, rank, ctx->rank,
                       device->properties().name.c_str()));
  return TESSERA_RT_OK;
}

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

/// True if the host's code replaces libraries. A test has its own.
static bool usesHostLibraries(const Device &device) {
  return device.isEmulated() && !getenv("TESSERA_EMULATE_LIBRARIES");
}

/// The path of this program with ".tune".
static std::string defaultTuneFile() {
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
  return length > 0 ? std::string(path, size_t(length)) + ".tune"
                    : std::string();
}

/// Checks that the device has units for 8-bit matmuls, if there are any.
Status CudaTarget::checkScaledMatmuls() {
  const DeviceProperties &facts = device->properties();
  for (const MatmulCall &call : noted.matmuls)
    if (call.scaleA && !device->isEmulated() && facts.architecture < 89)
      return fail(ctx, TESSERA_RT_INVALID,
                  format("the program multiplies in 8 bits, which expects a "
                         "device of sm_89 or later but got %s, sm_%d; compiled "
                         "with --cuda-arch %d it multiplies in bf16",
                         facts.name.c_str(), int(facts.architecture),
                         int(facts.architecture)));
  return TESSERA_RT_OK;
}

Status CudaTarget::openMatmul(const Options &options) {
  std::string error;
  TuneOptions tune;
  tune.mode = TuneOptions::Mode(options.tune);
  tune.path = options.tuneFile.empty() ? defaultTuneFile() : options.tuneFile;
  tune.isFirst = ctx->rank == 0;
  tune.tf32 = options.tf32;
  tune.remark = [this](const std::string &text) { remark(text); };
  bool isHost = usesHostLibraries(*device);
  if (ctx->ranks > 1 && tune.mode != TuneOptions::Off && !isHost)
    tune.share = [this](std::string &text) -> std::string {
      return shareText(ctx, text) ? "another rank has failed" : "";
    };
  if (isHost)
    matmuls = createHostMatmul(*device, *kernels, ctx);
  else if (!noted.matmuls.empty())
    matmuls = createCublasLt(*device, *kernels, compute, tune, error);
  else if (std::string none; tune.share)
    error = tune.share(none);
  if (!error.empty())
    return fail(ctx, TESSERA_RT_INVALID, error);
  if (!matmuls)
    return TESSERA_RT_OK;
  for (const MatmulCall &call : noted.matmuls)
    if (!matmuls->supports(int32_t(call.desc.dtype),
                           int32_t(call.desc.c_dtype)))
      return fail(ctx, TESSERA_RT_INVALID,
                  matmuls->name() + " has no matmul like " + call.describe());
  if (Status status = checkScaledMatmuls())
    return status;
  error = matmuls->prepare(noted.matmuls);
  // Another rank's failure has been recorded by that rank.
  return ctx->memory.control->aborted.load() ? TESSERA_RT_ABORTED
                                             : check(error);
}

Status CudaTarget::openWorkspace() {
  workspaceBytes = noted.workspace;
  return workspaceBytes ? check(device->allocate(workspaceBytes, workspace))
                        : TESSERA_RT_OK;
}

Status CudaTarget::openCommunication(const Options &options) {
  CommunicationContext context{ctx, *device, *kernels, compute, deviceArena};
  if (options.simulateRanks)
    communication = createLocalCommunication(context);
  else if (usesHostLibraries(*device))
    communication = createHostCommunication(context);
  else
    communication = createNccl(context, isShared);
  return communication->open(noted.collectives);
}

Status CudaTarget::open(const Manifest &manifest, const Options &options,
                        ProgramStep program) {
  this->program = program;
  isShared = options.shareDevice || options.simulateRanks;
  usesGraph = !options.noGraph;
  isQuiet = options.quiet;
  if (Status status = openDevice(manifest, options))
    return status;
  if (Status status = openKernels())
    return status;
  if (Status status = noteStep())
    return status;
  if (Status status = agree())
    return status;
  if (Status status = openMatmul(options))
    return status;
  if (Status status = openAttention(options))
    return status;
  if (Status status = openWorkspace())
    return status;
  if (Status status = openCounts())
    return status;
  if (Status status = openCommunication(options))
    return status;
  usesGraph &= communication->canCapture() && !noted.readsFlags;
  if (int64_t nodes =
          noted.launches + noted.calls + int64_t(noted.collectives.size());
      usesGraph && nodes > options.maxGraphNodes) {
    usesGraph = false;
    remark(format("a step of %lld kernels, copies and collectives is enqueued "
                  "each time: --max-graph-nodes is %d",
                  (long long)nodes, options.maxGraphNodes));
  }
  bestSeconds = timeAtPeak(options.tf32);
  int64_t used = device->allocatedBytes();
  if (memoryLimit && used > memoryLimit)
    return fail(ctx, TESSERA_RT_INVALID,
                format("needs %lld bytes on its device, but --memory-limit "
                       "gives %lld",
                       (long long)used, (long long)memoryLimit));
  return check(device->synchronize(compute));
}
