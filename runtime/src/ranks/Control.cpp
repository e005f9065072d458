//===- Control.cpp - Shared memory of a job -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Control.h.
//
//===----------------------------------------------------------------------===//

#include "Control.h"

#include "Operation.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

using namespace tessera::rt;

bool Header::matches(const Header &other, bool pointToPoint) const {
  if (dtype != other.dtype || count != other.count ||
      groupHash != other.groupHash)
    return false;
  return pointToPoint ||
         (sequenceId == other.sequenceId && op == other.op &&
          reduction == other.reduction && shapeHash == other.shapeHash);
}

std::string Header::describe() const {
  std::string axesText(axes, strnlen(axes, sizeof(axes)));
  if (OpKind(op) == OpKind::Barrier)
    return format("the barrier \"%s\"", barrierName(sequenceId));
  return format("%s #%lld (%s%s%s[%lld]%s%s, shape %04x)", opName(OpKind(op)),
                (long long)sequenceId,
                isReduction(OpKind(op)) ? reductionName(reduction) : "",
                isReduction(OpKind(op)) ? " " : "", dtypeName(dtype),
                (long long)count, axesText.empty() ? "" : " over ",
                axesText.c_str(), unsigned(shapeHash & 0xffff));
}

static int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

static constexpr int64_t pageBytes = 4096;
/// Arenas begin at multiples of a huge page, so that huge pages may back them.
static constexpr int64_t arenaAlignment = int64_t(2) << 20;

int64_t SharedMemory::controlBytesFor(int ranks) {
  return roundUp(roundUp(sizeof(ControlBlock), 64) + ranks * sizeof(RankBlock),
                 arenaAlignment);
}

static int64_t arenaStrideFor(int64_t arenaBytes) {
  return roundUp(arenaBytes + pageBytes, arenaAlignment);
}

static int64_t stampStrideFor(int64_t stamps) {
  return roundUp(stamps * int64_t(sizeof(Stamp)), pageBytes);
}

static int64_t loadStrideFor(const TableSizes &tables) {
  return roundUp(tables.bytesOfLoads(), pageBytes);
}

static int64_t hashStrideFor(const TableSizes &tables) {
  return roundUp(tables.values * int64_t(sizeof(uint64_t)), pageBytes);
}

int64_t SharedMemory::bytesFor(int ranks, int64_t arenaBytes,
                               const TableSizes &tables) {
  return controlBytesFor(ranks) +
         ranks * (arenaStrideFor(arenaBytes) + stampStrideFor(tables.stamps) +
                  loadStrideFor(tables) + hashStrideFor(tables) +
                  numSlots * tables.inbox);
}

Stamp *SharedMemory::stamps(int rank) const {
  int ranks = control->ranks;
  return reinterpret_cast<Stamp *>(arena(ranks) +
                                   rank * stampStrideFor(tables.stamps));
}

LayerLoads *SharedMemory::loads(int rank, int64_t layer) const {
  if (layer < 0 || layer >= tables.layers)
    return nullptr;
  auto *first = reinterpret_cast<uint8_t *>(stamps(control->ranks));
  return reinterpret_cast<LayerLoads *>(first + rank * loadStrideFor(tables) +
                                        layer * tables.bytesOfLayer());
}

uint64_t *SharedMemory::hashes(int rank) const {
  auto *loads = reinterpret_cast<uint8_t *>(stamps(control->ranks));
  return reinterpret_cast<uint64_t *>(loads +
                                      control->ranks * loadStrideFor(tables) +
                                      rank * hashStrideFor(tables));
}

uint8_t *SharedMemory::inbox(int rank, int slot) const {
  auto *first = reinterpret_cast<uint8_t *>(hashes(control->ranks));
  return first + (int64_t(rank) * numSlots + slot) * tables.inbox;
}

bool SharedMemory::map(int fd, const Placement &placement, int64_t arenaBytes,
                       const TableSizes &sizes) {
  int ranks = placement.ranks();
  place = placement;
  bytes = bytesFor(ranks, arenaBytes, sizes);
  void *address = mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (address == MAP_FAILED) {
    base = nullptr;
    return false;
  }
  // Huge pages reduce page faults and TLB misses; if the system refuses them,
  // nothing breaks.
  madvise(address, size_t(bytes), MADV_HUGEPAGE);
  base = static_cast<uint8_t *>(address);
  control = reinterpret_cast<ControlBlock *>(base);
  blocks =
      reinterpret_cast<RankBlock *>(base + roundUp(sizeof(ControlBlock), 64));
  arenas = base + controlBytesFor(ranks);
  arenaStride = arenaStrideFor(arenaBytes);
  tables = sizes;
  return true;
}

std::vector<ByteRange> SharedMemory::ownControl() const {
  auto offset = [this](const void *at) {
    return static_cast<const uint8_t *>(at) - base;
  };
  return {
      {0, offset(blocks)},
      {offset(blocks + place.firstRank()), offset(blocks + place.endRank())}};
}

void SharedMemory::initialise(int64_t arenaBytes, uint64_t programHash,
                              int64_t replicaPageBytes) {
  new (control) ControlBlock();
  for (int rank = place.firstRank(); rank < place.endRank(); ++rank)
    new (&blocks[rank]) RankBlock();
  control->magic = 0x7465737365726131ull;
  control->version = TESSERA_RT_ABI_VERSION;
  control->ranks = place.ranks();
  control->arenaBytes = arenaBytes;
  control->replicaPageBytes = replicaPageBytes;
  control->programHash = programHash;
  control->ready.store(1);
}

// A program may lack them.
#pragma weak tessera_program_calls
#pragma weak tessera_program_call_texts

/// Returns the text of a call; null if it is not known.
static const char *findCallText(int64_t call) {
  if (!tessera_program_calls || !tessera_program_call_texts || call < 1 ||
      call > tessera_program_calls[0])
    return nullptr;
  return tessera_program_call_texts + tessera_program_calls[call];
}

std::string RankBlock::describeWork() const {
  std::string text;
  if (const char *work = findCallText(call.load(std::memory_order_relaxed)))
    text = format("it was at %s; ", work);
  return text + (posted.load() == 0
                     ? "it has not reached any collective"
                     : "its last collective is " + last.describe());
}

void RankBlock::enter() {
  start.store(tessera::rt::findProcess(getpid()).start);
  pid.store(getpid());
}

Process RankBlock::findProcess() const {
  int known = pid.load();
  Process process = known ? tessera::rt::findProcess(known) : Process();
  uint64_t began = start.load();
  return began == 0 || began == process.start ? process : Process();
}

Process tessera::rt::findProcess(int pid) {
  Process process;
  FILE *file = fopen(format("/proc/%d/stat", pid).c_str(), "r");
  if (!file)
    return process;
  char text[1024];
  size_t length = fread(text, 1, sizeof(text) - 1, file);
  fclose(file);
  text[length] = 0;
  // The second field, the name in parentheses, may contain anything. The state
  // is the third field, the start the 22nd.
  const char *end = strrchr(text, ')');
  unsigned long long start;
  if (end && sscanf(end + 1,
                    " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                    "%*s %*s %*s %*s %*s %llu",
                    &process.state, &start) == 2)
    process.start = start;
  return process;
}

bool SharedMemory::shareReplicas(int fd, std::vector<ReplicatedPages> pages) {
  replicas = std::move(pages);
  for (const ReplicatedPages &one : replicas) {
    size_t length = size_t(one.range.end - one.range.begin);
    off_t from = arena(one.ranks.front()) + one.range.begin - base;
    for (size_t i = 1; i < one.ranks.size(); ++i) {
      void *to = arena(one.ranks[i]) + one.range.begin;
      if (mmap(to, length, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, from) == MAP_FAILED)
        return false;
      madvise(to, length, MADV_HUGEPAGE);
    }
  }
  return true;
}

/// The share of `range`, in whole pages, that the rank at `index` of `ranks`
/// fills.
static ByteRange getShare(ByteRange range, size_t index, size_t ranks) {
  int64_t pages = (range.end - range.begin) / pageBytes;
  auto boundary = [&](size_t i) {
    return range.begin + pages * int64_t(i) / int64_t(ranks) * pageBytes;
  };
  return {boundary(index),
          index + 1 == ranks ? range.end : boundary(index + 1)};
}

std::vector<ByteRange> SharedMemory::rangesToFill(int rank,
                                                  ByteRange range) const {
  std::vector<ByteRange> ranges;
  auto add = [&](int64_t begin, int64_t end) {
    begin = std::max(begin, range.begin);
    end = std::min(end, range.end);
    if (begin >= end)
      return;
    if (!ranges.empty() && ranges.back().end == begin)
      ranges.back().end = end;
    else
      ranges.push_back({begin, end});
  };
  int64_t own = range.begin;
  for (const ReplicatedPages &pages : replicas) {
    auto it = std::lower_bound(pages.ranks.begin(), pages.ranks.end(), rank);
    if (it == pages.ranks.end() || *it != rank)
      continue;
    add(own, pages.range.begin);
    ByteRange share = getShare(pages.range, size_t(it - pages.ranks.begin()),
                               pages.ranks.size());
    add(share.begin, share.end);
    own = std::max(own, pages.range.end);
  }
  add(own, range.end);
  return ranges;
}

void SharedMemory::forgetOtherNodes() {
  for (int rank = 0; rank < control->ranks; ++rank)
    if (!place.isHere(rank))
      madvise(arena(rank), size_t(arenaStride), MADV_REMOVE);
}

void SharedMemory::unmap() {
  if (base)
    munmap(base, size_t(bytes));
  base = nullptr;
}

void tessera::rt::ringDoorbell(RankBlock &block) {
  block.doorbell.fetch_add(1);
  if (block.sleeping.load())
    futexWakeAll(block.doorbell);
}

bool tessera::rt::recordFailure(SharedMemory &memory, int owner, Status status,
                                const std::string &text) {
  ControlBlock &control = *memory.control;
  int32_t expected = 0;
  bool first =
      control.failureOwner.compare_exchange_strong(expected, owner + 1);
  if (first) {
    size_t length = std::min(text.size(), sizeof(control.failure) - 1);
    memcpy(control.failure, text.data(), length);
    control.failure[length] = 0;
    control.failureStatus = status;
    control.aborted.store(1);
  }
  for (int rank = memory.place.firstRank(); rank < memory.place.endRank();
       ++rank)
    ringDoorbell(memory.blocks[rank]);
  return first;
}

int tessera::rt::failureExitCode(const ControlBlock &control, Status own) {
  Status status = control.node.isJudged.load()
                      ? control.node.verdictStatus.load()
                  : control.aborted.load() ? control.failureStatus
                                           : own;
  return status == TESSERA_RT_LOST_RANK || status == TESSERA_RT_SYSTEM
             ? exitMayRestart
             : 1;
}

uint64_t tessera::rt::hashBytes(const void *data, size_t bytes, uint64_t seed) {
  const unsigned char *p = static_cast<const unsigned char *>(data);
  for (size_t i = 0; i < bytes; ++i)
    seed = (seed ^ p[i]) * 0x100000001b3ull;
  return seed;
}
