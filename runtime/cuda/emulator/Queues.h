//===- Queues.h - Streams, events and graphs of the emulator ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A queue does its work in order; events add other orderings. Without a seed,
// work is done when it is enqueued. With one, it is deferred until somebody
// waits, and a draw decides which queue continues: every order that the events
// allow can occur. All queues of the process belong to one piece of hardware.
// Several threads may use queues of their own and wait for events of others.
//
// Functions return a message, or nothing. Every later call on any queue also
// returns the message of failed work.
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

/// An item of work; returns a message, or nothing.
using Work = std::function<std::string()>;

/// A point in a queue that may have passed.
struct Mark {
  bool done = false;
  /// Clock time in seconds, once done.
  double time = 0;
};

/// Work, and the numbers of the earlier nodes that must precede it.
struct GraphNode {
  Work work;
  std::vector<size_t> after;
};

/// A recorded graph.
class QueueGraph {
public:
  int64_t size() const { return int64_t(nodes.size()); }

private:
  friend class Queue;
  std::vector<GraphNode> nodes;
  /// True if the recording has ended.
  bool ended = false;
};

class QueueEvent {
public:
  /// Runs other work, and sets `hasHappened` if the last mark has passed (true
  /// if there is none).
  std::string query(bool &hasHappened);
  bool time(double &seconds) const;

private:
  friend class Queue;
  std::shared_ptr<Mark> mark;
  /// The graph into which it was recorded, and the nodes before it.
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

  /// Starts recording of work until the end, on this queue and on queues that
  /// wait for an event of it; these must be waited for before the end.
  std::string beginCapture();
  std::string endCapture(QueueGraph &graph);
  /// Runs the nodes of a graph in an order drawn from the seed; 0: as recorded.
  std::string launch(const QueueGraph &graph, uint64_t seed);

private:
  friend class QueueEvent;
  struct Item {
    Work work;
    /// The mark that this item sets or waits for, if it is not work.
    std::shared_ptr<Mark> sets, waits;
  };

  /// The lock of all queues, which every function below needs. It is released
  /// while work runs or is waited for.
  using Lock = std::unique_lock<std::mutex>;
  /// Adds an item; without a seed it runs at once.
  std::string add(Item item, Lock &lock);
  /// Waits until nothing is left to do.
  std::string finish(Lock &lock);
  bool canGoOn() const;
  /// Runs one item of some ready queue; false: there is none.
  static bool step();

  uint64_t seed;
  std::deque<Item> items;
  /// True if an item of this queue is running.
  bool busy = false;
  /// During recording: the graph, and the nodes that precede the next one.
  std::shared_ptr<QueueGraph> capture;
  bool isOrigin = false;
  std::vector<size_t> after;
};

} // namespace tessera::emu

#endif // TESSERA_RT_CUDA_EMULATOR_QUEUES_H
