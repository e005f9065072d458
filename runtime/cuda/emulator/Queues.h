//===- Queues.h - Streams, events and graphs of the emulator ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A queue does its work in order; what else is ordered, events say. Without a
// seed work is done when it is enqueued. With one it is put off until somebody
// waits, and a draw decides which queue goes on: any order that events leave
// open can come. All queues of the process belong to one piece of hardware.
// Several threads may use queues of their own and wait for events of others.
//
// Functions return a message, or nothing. A message of work that failed is
// returned by every later call on any queue.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_CUDA_EMULATOR_QUEUES_H
#define TESSERA_RT_CUDA_EMULATOR_QUEUES_H

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tessera::emu {

/// Something to do; returns a message, or nothing.
using Work = std::function<std::string()>;

/// A point in a queue that has passed or has not.
struct Mark {
  bool done = false;
  /// Seconds of a clock, once done.
  double time = 0;
};

/// Work with what must come before it, by number; all before it in the list.
struct GraphNode {
  Work work;
  std::vector<size_t> after;
};

/// What was recorded.
class QueueGraph {
public:
  int64_t size() const { return int64_t(nodes.size()); }

private:
  friend class Queue;
  std::vector<GraphNode> nodes;
  /// The recording is over.
  bool ended = false;
};

class QueueEvent {
public:
  /// Lets other work go on, and says whether the last mark has passed (true
  /// without one).
  std::string query(bool &hasHappened);
  bool time(double &seconds) const;

private:
  friend class Queue;
  std::shared_ptr<Mark> mark;
  /// Where it was recorded into a graph: that graph and the nodes before it.
  std::shared_ptr<QueueGraph> capture;
  std::vector<size_t> after;
};

class Queue {
public:
  explicit Queue(uint64_t seed);
  ~Queue();
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;

  std::string enqueue(Work work);
  std::string record(QueueEvent &event);
  std::string wait(const QueueEvent &event);
  std::string synchronize();

  /// From here to the end work is recorded, here and on queues that wait for an
  /// event of it; these must be waited for before the end.
  std::string beginCapture();
  std::string endCapture(QueueGraph &graph);
  /// Does the nodes of a graph, in an order of the seed; 0: as recorded.
  std::string launch(const QueueGraph &graph, uint64_t seed);

private:
  friend class QueueEvent;
  struct Item {
    Work work;
    /// Sets this mark, or waits for it, in place of work.
    std::shared_ptr<Mark> sets, waits;
  };

  /// The lock of all queues, which every function below is called with. It is
  /// released while work is done or waited for.
  using Lock = std::unique_lock<std::mutex>;
  /// Adds an item; does it at once without a seed.
  std::string add(Item item, Lock &lock);
  /// Waits until nothing is left to do.
  std::string finish(Lock &lock);
  bool canGoOn() const;
  /// Does one piece of work of some queue that can go on; false: there is none.
  static bool step();

  uint64_t seed;
  std::deque<Item> items;
  /// An item of this queue is being done.
  bool busy = false;
  /// While recording: the graph and what the next node comes after.
  std::shared_ptr<QueueGraph> capture;
  bool isOrigin = false;
  std::vector<size_t> after;
};

} // namespace tessera::emu

#endif // TESSERA_RT_CUDA_EMULATOR_QUEUES_H
