//===- ListEntries.cpp - A pp rank's list as the runtime's entries --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Memory/ListEntries.h"
#include "llvm/ADT/STLExtras.h"
#include <deque>
#include <map>

using namespace tessera;
using namespace tessera::schedule;

namespace {

class EntryWriter {
public:
  EntryWriter(const ScheduleProblem &problem, int rank,
              const ListMemory &memory)
      : problem(problem), rank(rank), memory(memory), free(memory.freeSlots) {}

  llvm::Error write(llvm::ArrayRef<Action> actions);
  std::vector<int64_t> take() { return std::move(entries); }

private:
  /// Sends on one communicator: the destination pp rank, and the tag.
  using Communicator = std::pair<int, int64_t>;
  /// The key of a receive: its tag, chunk and micro-batch.
  using ReceiveKey = std::tuple<int64_t, int, int>;

  llvm::Expected<int64_t> takeSlot();
  void wait(int64_t slot);
  llvm::Error transfer(const Action &action, size_t position);
  void waitForReceive(tessera_rt_task kind, int chunk, int microBatch);
  void call(const TaskCall &task);
  void watch(size_t position, bool begins);

  const ScheduleProblem &problem;
  int rank;
  const ListMemory &memory;
  llvm::SmallVector<int64_t> free;
  std::map<Communicator, std::deque<int64_t>> sends;
  std::map<ReceiveKey, int64_t> receives;
  std::vector<int64_t> entries;
};

} // namespace

/// Takes the first free slot in the order of freeSlots, so that slots are
/// reused early.
llvm::Expected<int64_t> EntryWriter::takeSlot() {
  if (free.empty())
    return llvm::createStringError(
        "pp rank " + std::to_string(rank) + ": expects at most " +
        std::to_string(memory.freeSlots.size()) +
        " sends and receives in flight at one time but got more");
  int64_t slot = free.front();
  free.erase(free.begin());
  return slot;
}

void EntryWriter::wait(int64_t slot) {
  entries.insert(entries.end(), {TESSERA_RT_ENTRY_WAIT, slot});
  auto order = [&](int64_t s) {
    return llvm::find(memory.freeSlots, s) - memory.freeSlots.begin();
  };
  free.insert(
      llvm::find_if(free, [&](int64_t s) { return order(s) > order(slot); }),
      slot);
}

llvm::Error EntryWriter::transfer(const Action &action, size_t position) {
  bool sends = action.kind == ActionKind::SendActivation ||
               action.kind == ActionKind::SendGradient;
  int64_t tag = action.kind == ActionKind::SendGradient ||
                action.kind == ActionKind::ReceiveGradient;
  int peer = partnerOf(problem, rank, action)->first;
  std::deque<int64_t> &inFlight = this->sends[{peer, tag}];
  if (sends && inFlight.size() == 2) {
    wait(inFlight.front());
    inFlight.pop_front();
  }
  llvm::Expected<int64_t> slot = takeSlot();
  if (!slot)
    return slot.takeError();
  if (sends)
    inFlight.push_back(*slot);
  else
    receives[{tag, action.chunk, action.microBatch}] = *slot;
  const BoundaryMemory &boundary = memory.boundaries[position];
  entries.insert(entries.end(),
                 {sends ? TESSERA_RT_ENTRY_SEND : TESSERA_RT_ENTRY_RECV, *slot,
                  /*sequence=*/0, peer, tag, boundary.bytes, boundary.offset});
  return llvm::Error::success();
}

/// Waits for the values that a task receives.
void EntryWriter::waitForReceive(tessera_rt_task kind, int chunk,
                                 int microBatch) {
  if (kind == TESSERA_RT_TASK_W)
    return;
  int64_t tag = kind != TESSERA_RT_TASK_F;
  auto it = receives.find({tag, chunk, microBatch});
  if (it == receives.end())
    return;
  wait(it->second);
  receives.erase(it);
}

void EntryWriter::call(const TaskCall &task) {
  waitForReceive(task.kind, task.chunk, task.microBatch);
  if (task.isPair()) {
    waitForReceive(TESSERA_RT_TASK_BW, task.backwardChunk,
                   task.backwardMicroBatch);
    entries.insert(entries.end(), {TESSERA_RT_ENTRY_PAIR, task.function,
                                   task.chunk, task.microBatch,
                                   task.backwardChunk, task.backwardMicroBatch,
                                   static_cast<int64_t>(task.bases.size())});
    entries.insert(entries.end(), task.bases.begin(), task.bases.end());
    return;
  }
  entries.insert(entries.end(),
                 {TESSERA_RT_ENTRY_RUN, task.function, task.kind, task.chunk,
                  task.microBatch, static_cast<int64_t>(task.bases.size())});
  entries.insert(entries.end(), task.bases.begin(), task.bases.end());
}

void EntryWriter::watch(size_t position, bool begins) {
  for (const WatchedBlock &block : memory.watched)
    if ((begins ? block.begin : block.end) == position)
      entries.insert(entries.end(),
                     {begins ? TESSERA_RT_ENTRY_BEGIN : TESSERA_RT_ENTRY_END,
                      block.offset, block.bytes, /*forget=*/1});
}

llvm::Error EntryWriter::write(llvm::ArrayRef<Action> actions) {
  for (auto [position, action] : llvm::enumerate(actions)) {
    watch(position, /*begins=*/true);
    if (isTransfer(action.kind)) {
      if (llvm::Error error = transfer(action, position))
        return error;
    }
    for (const TaskCall &task : memory.calls[position])
      call(task);
    if (position + 1 == actions.size())
      for (auto &[communicator, inFlight] : sends)
        for (int64_t slot : inFlight)
          wait(slot);
    watch(position, /*begins=*/false);
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<int64_t>>
tessera::writeEntries(const ScheduleProblem &problem, const Schedule &schedule,
                      int rank, const ListMemory &memory) {
  EntryWriter writer(problem, rank, memory);
  if (llvm::Error error = writer.write(schedule.ranks[rank]))
    return error;
  return writer.take();
}
