//===- FakeNccl.cpp - NCCL on the host, for tests -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of NCCL that the runtime calls, between processes or threads of
// one machine. A communicator is a block of shared memory named by its
// identity; messages go through mailboxes in it. Creating a communicator does
// not block, as in NCCL. Each of its ranks has to come once, and all with the
// same number of ranks.
//
// FAKE_NCCL_FOLDER=DIR: the folder of these blocks (/dev/shm).
// FAKE_NCCL_LOG=FILE: gets a line for each communicator that is made by its
// identity, with NCCL_SOCKET_IFNAME.
// FAKE_NCCL_ERROR=N: the N-th collective reports an asynchronous error, as NCCL
// does. The first message of a pair blocks until both ranks have begun it.
// FAKE_NCCL_PATIENCE=S: a rank that has waited S seconds for another reports
// such an error and goes on. FAKE_NCCL_STUCK=1: communicators are never
// completed. It is an error to close
// a communicator whose collectives are still in a recorded step, for which NCCL
// would wait. FAKE_NCCL_SLOW_CLOSE=R: rank R needs half a second to close one.
//
//===----------------------------------------------------------------------===//

#include "FakeStream.h"
#include "runtime/cuda/NcclApi.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace tessera::rt::cuda;
using namespace tessera::rt::cuda::nccl;

#ifndef FAKE_VERSION
#define FAKE_VERSION 22809
#endif

FAKE_STREAM_HOOK

static constexpr int maxRanks = 8;
static constexpr size_t mailBytes = 4 << 20;

namespace {
/// Mailbox from one rank to another.
struct Mailbox {
  std::atomic<uint32_t> isFull;
  size_t bytes;
  char data[mailBytes];
};
struct Shared {
  std::atomic<int> joined;
  /// The number of ranks, and which of them have come.
  std::atomic<int> ranks;
  std::atomic<bool> isHere[maxRanks];
  std::atomic<bool> hasFailed;
  /// Ranks that have begun their first message outside a group.
  std::atomic<int> met;
  Mailbox mail[maxRanks][maxRanks];
};
} // namespace

namespace tessera::rt::cuda::nccl {
struct CommT {
  std::string name;
  Shared *shared = nullptr;
  int ranks = 0, rank = 0, splits = 0;
  bool isAborted = false;
  /// True if its kernels occupy few of a device's multiprocessors.
  bool isNarrow = false;
  /// Number of queries that still report it as closing.
  int looksLeft = 0;
  int error = Success;
  bool hasMet = false;
  /// Each enqueued function has a copy.
  std::shared_ptr<int> uses = std::make_shared<int>();
};
} // namespace tessera::rt::cuda::nccl

/// Enqueues a function that uses a communicator.
static void enqueueOn(CommT *comm, void *stream,
                      std::function<void()> function) {
  enqueueFake(stream, [uses = comm->uses, function = std::move(function)] {
    function();
  });
}

static int numAborted = 0, numCollectives = 0;
extern "C" int tessera_fake_aborted() { return numAborted; }

static CommT *join(const std::string &name, int ranks, int rank) {
  const char *folder = getenv("FAKE_NCCL_FOLDER");
  std::string path = std::string(folder ? folder : "/dev/shm") + "/" + name;
  int fd = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(Shared)) != 0)
    return nullptr;
  void *memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_NORESERVE, fd, 0);
  close(fd);
  auto *comm = new CommT{name, static_cast<Shared *>(memory), ranks, rank};
  int none = 0;
  comm->shared->ranks.compare_exchange_strong(none, ranks);
  if (rank < 0 || rank >= ranks || comm->shared->ranks != ranks ||
      comm->shared->isHere[rank].exchange(true)) {
    fprintf(stderr, "fake NCCL: rank %d of %d does not fit\n", rank, ranks);
    ::abort();
  }
  // The last rank to arrive removes the name.
  if (++comm->shared->joined == ranks)
    unlink(path.c_str());
  return comm;
}

static void log(int ranks, int rank) {
  const char *path = getenv("FAKE_NCCL_LOG");
  const char *interface = getenv("NCCL_SOCKET_IFNAME");
  FILE *file = path ? fopen(path, "a") : nullptr;
  if (!file)
    return;
  fprintf(file, "rank %d of %d by %s\n", rank, ranks,
          interface ? interface : "any");
  fclose(file);
}

static bool isTogether(const CommT *comm) {
  const char *stuck = getenv("FAKE_NCCL_STUCK");
  return !stuck && comm->shared->joined.load() >= comm->ranks;
}

/// Waits until a mailbox is full or empty. Returns false if the communicator
/// fails or is aborted before. One that fails makes those of its ranks fail.
static bool await(CommT *comm, const Mailbox &box, uint32_t isFull) {
  static std::atomic<bool> hasFailed{false};
  const char *patience = getenv("FAKE_NCCL_PATIENCE");
  auto begin = std::chrono::steady_clock::now();
  for (;;) {
    std::chrono::duration<double> waited =
        std::chrono::steady_clock::now() - begin;
    if (hasFailed || comm->shared->hasFailed ||
        (patience && waited.count() > atof(patience))) {
      hasFailed = true;
      comm->shared->hasFailed = true;
      comm->error = 6;
      return false;
    }
    if (box.isFull.load() == isFull || comm->isAborted)
      return !comm->isAborted;
    usleep(20);
  }
}

static void post(CommT *comm, int to, const void *data, size_t bytes) {
  if (bytes > mailBytes) {
    fprintf(stderr, "fake NCCL: a message of %zu bytes, more than %zu\n", bytes,
            mailBytes);
    ::abort();
  }
  Mailbox &box = comm->shared->mail[comm->rank][to];
  if (!await(comm, box, 0))
    return;
  memcpy(box.data, data, bytes);
  box.bytes = bytes;
  box.isFull.store(1);
}

static std::vector<char> take(CommT *comm, int from, size_t bytes) {
  std::vector<char> data(bytes);
  Mailbox &box = comm->shared->mail[from][comm->rank];
  if (!await(comm, box, 1))
    return data;
  if (box.bytes != bytes) {
    fprintf(stderr, "fake NCCL: %zu bytes sent, %zu received\n", box.bytes,
            bytes);
    ::abort();
  }
  memcpy(data.data(), box.data, bytes);
  box.isFull.store(0);
  return data;
}

static size_t sizeOf(int type) {
  switch (type) {
  case Int8:
  case Uint8:
    return 1;
  case Float16:
  case Bfloat16:
    return 2;
  case Int32:
  case Float32:
    return 4;
  default:
    return 8;
  }
}

template <typename T>
static void combineAs(char *into, const char *from, size_t count, int how) {
  T *a = reinterpret_cast<T *>(into);
  const T *b = reinterpret_cast<const T *>(from);
  for (size_t i = 0; i < count; ++i)
    a[i] = how == Sum   ? T(a[i] + b[i])
           : how == Max ? (a[i] > b[i] ? a[i] : b[i])
                        : (a[i] < b[i] ? a[i] : b[i]);
}

/// A bf16 number.
struct Brain {
  uint16_t bits;
  explicit Brain(float value) {
    uint32_t wide;
    memcpy(&wide, &value, 4);
    bits = uint16_t((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
  }
  operator float() const {
    uint32_t wide = uint32_t(bits) << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
  }
};

static void combine(char *into, const char *from, size_t count, int type,
                    int how) {
  switch (type) {
  case Float32:
    return combineAs<float>(into, from, count, how);
  case Float64:
    return combineAs<double>(into, from, count, how);
  case Int32:
    return combineAs<int32_t>(into, from, count, how);
  case Bfloat16:
    return combineAs<Brain>(into, from, count, how);
  case Uint8:
    return combineAs<uint8_t>(into, from, count, how);
  default:
    fprintf(stderr, "fake NCCL: no reduction of type %d\n", type);
    ::abort();
  }
}

/// Exchanges a block of `bytes`, the same size for all, between all ranks.
static std::vector<std::vector<char>> share(CommT *comm, const void *data,
                                            size_t bytes) {
  for (int to = 0; to < comm->ranks; ++to)
    post(comm, to, data, bytes);
  std::vector<std::vector<char>> all;
  for (int from = 0; from < comm->ranks; ++from)
    all.push_back(take(comm, from, bytes));
  return all;
}

static std::vector<char> reduceAll(CommT *comm, const void *data, size_t count,
                                   int type, int how) {
  auto all = share(comm, data, count * sizeOf(type));
  for (int i = 1; i < comm->ranks; ++i)
    combine(all[0].data(), all[size_t(i)].data(), count, type, how);
  return all[0];
}

/// Counts a collective, and makes the one in the environment fail.
static int count(CommT *comm) {
  const char *which = getenv("FAKE_NCCL_ERROR");
  if (++numCollectives == (which ? atoi(which) : -1))
    comm->error = 6;
  return Success;
}

namespace {
/// A send or receive between groupStart and groupEnd.
struct Message {
  CommT *comm;
  bool isSend;
  int peer;
  void *data;
  size_t bytes;
  void *stream;
};
} // namespace
static thread_local int groupDepth = 0;
static thread_local std::vector<Message> group;

static void runGroup() {
  std::vector<Message> messages;
  messages.swap(group);
  if (messages.empty())
    return;
  enqueueOn(messages.front().comm, messages.front().stream, [messages] {
    for (const Message &m : messages)
      if (m.isSend)
        post(m.comm, m.peer, m.data, m.bytes);
    for (const Message &m : messages)
      if (!m.isSend)
        memcpy(m.data, take(m.comm, m.peer, m.bytes).data(), m.bytes);
  });
}

extern "C" {
int ncclGetVersion(int *version) {
  *version = FAKE_VERSION;
  return Success;
}
int ncclGetUniqueId(UniqueId *identity) {
  static std::atomic<int> number{0};
  char host[64] = {};
  gethostname(host, sizeof(host) - 1);
  memset(identity, 0, sizeof(*identity));
  snprintf(identity->internal, sizeof(identity->internal),
           "tessera-fake-nccl-%s-%d-%d", host, int(getpid()), ++number);
  return Success;
}
const char *ncclGetErrorString(int result) {
  return result == 6 ? "remote process exited or there was a network error"
                     : "invalid usage";
}
const char *ncclGetLastError(Comm) { return ""; }

int ncclCommInitRankConfig(Comm *comm, int ranks, UniqueId identity, int rank,
                           Config *config) {
  if (config->size != sizeof(Config) || config->magic != 0xcafebeef ||
      config->blocking != 0 || ranks > maxRanks)
    return 5;
  log(ranks, rank);
  *comm = join(identity.internal, ranks, rank);
  if (!*comm)
    return 2;
  (*comm)->isNarrow = config->maxCTAs != Config::undefined;
  return InProgress;
}

#ifndef FAKE_WITHOUT_SPLIT
int ncclCommSplit(Comm parent, int color, int key, Comm *child, Config *) {
  // Sends each rank's color to all ranks.
  ++parent->splits;
  int mine[2] = {color, key};
  auto all = share(parent, mine, sizeof(mine));
  int ranks = 0, rank = 0;
  for (auto &sent : all) {
    int theirs[2];
    memcpy(theirs, sent.data(), sizeof(theirs));
    ranks += theirs[0] == color;
    rank += theirs[0] == color && theirs[1] < key;
  }
  *child = join(parent->name + "-" + std::to_string(parent->splits) + "-" +
                    std::to_string(color),
                ranks, rank);
  return InProgress;
}
#endif

int ncclCommFinalize(Comm comm) {
  if (comm->uses.use_count() > 1) {
    fprintf(stderr, "fake NCCL: a communicator of a recorded step is closed\n");
    ::abort();
  }
  const char *slow = getenv("FAKE_NCCL_SLOW_CLOSE");
  if (!slow || atoi(slow) != comm->rank)
    return Success;
  comm->looksLeft = 5000;
  return InProgress;
}
int ncclCommDestroy(Comm comm) {
  munmap(comm->shared, sizeof(Shared));
  delete comm;
  return Success;
}
int ncclCommAbort(Comm comm) {
  comm->isAborted = true;
  ++numAborted;
  return Success;
}
int ncclCommGetAsyncError(Comm comm, int *result) {
  *result = comm->error != Success                      ? comm->error
            : comm->hasMet && comm->shared->met < 2     ? InProgress
            : isTogether(comm) && --comm->looksLeft < 0 ? Success
                                                        : InProgress;
  return Success;
}
int ncclGroupStart() {
  ++groupDepth;
  return Success;
}
int ncclGroupEnd() {
  if (--groupDepth == 0)
    runGroup();
  return Success;
}

int ncclAllReduce(const void *from, void *to, size_t elements, int type,
                  int how, Comm comm, void *stream) {
  enqueueOn(comm, stream, [=] {
    std::vector<char> sum = reduceAll(comm, from, elements, type, how);
    memcpy(to, sum.data(), sum.size());
  });
  return count(comm);
}
int ncclReduceScatter(const void *from, void *to, size_t elements, int type,
                      int how, Comm comm, void *stream) {
  enqueueOn(comm, stream, [=] {
    std::vector<char> sum =
        reduceAll(comm, from, elements * size_t(comm->ranks), type, how);
    size_t bytes = elements * sizeOf(type);
    memcpy(to, sum.data() + bytes * size_t(comm->rank), bytes);
  });
  return count(comm);
}
int ncclAllGather(const void *from, void *to, size_t elements, int type,
                  Comm comm, void *stream) {
  enqueueOn(comm, stream, [=] {
    size_t bytes = elements * sizeOf(type);
    auto all = share(comm, from, bytes);
    for (size_t i = 0; i < all.size(); ++i)
      memcpy(static_cast<char *>(to) + i * bytes, all[i].data(), bytes);
  });
  return count(comm);
}
int ncclBroadcast(const void *from, void *to, size_t elements, int type,
                  int root, Comm comm, void *stream) {
  enqueueOn(comm, stream, [=] {
    auto all = share(comm, from, elements * sizeOf(type));
    memcpy(to, all[size_t(root)].data(), all[size_t(root)].size());
  });
  return count(comm);
}
static int addMessage(const Message &message) {
  // A message of a pair may wait long for its partner.
  if (groupDepth == 0 && !message.comm->isNarrow)
    return 5;
  group.push_back(message);
  if (groupDepth > 0)
    return count(message.comm);
  runGroup();
  if (message.comm->hasMet)
    return count(message.comm);
  message.comm->hasMet = true;
  ++message.comm->shared->met;
  return InProgress;
}
int ncclSend(const void *from, size_t elements, int type, int peer, Comm comm,
             void *stream) {
  return addMessage({comm, true, peer, const_cast<void *>(from),
                     elements * sizeOf(type), stream});
}
int ncclRecv(void *to, size_t elements, int type, int peer, Comm comm,
             void *stream) {
  return addMessage({comm, false, peer, to, elements * sizeOf(type), stream});
}
}
