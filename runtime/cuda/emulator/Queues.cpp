//===- Queues.cpp - Streams, events and graphs of the emulator ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One lock guards all queues and events; work is done outside of it.
//
//===----------------------------------------------------------------------===//

#include "Queues.h"

#include "Draw.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

using namespace tessera::emu;

namespace {
/// State shared by all queues.
struct Hardware {
  std::mutex mutex;
  std::condition_variable changed;
  /// Queues in order of creation.
  std::vector<Queue *> queues;
  Draw draw{0};
  std::string error;
};
} // namespace

static Hardware &hardware() {
  static Hardware one;
  return one;
}

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

static void pass(Mark &mark) {
  mark.done = true;
  mark.time = now();
}

Queue::Queue(uint64_t seed) : seed(seed) {
  std::lock_guard<std::mutex> lock(hardware().mutex);
  hardware().queues.push_back(this);
  hardware().draw.state += seed;
}

Queue::~Queue() {
  Hardware &all = hardware();
  std::unique_lock<std::mutex> lock(all.mutex);
  // Another thread may still run the last work of this queue.
  all.changed.wait(lock, [&] { return !busy; });
  all.queues.erase(std::find(all.queues.begin(), all.queues.end(), this));
  // The last queue ends the job, and clears its error.
  if (all.queues.empty())
    all.error.clear();
}

bool Queue::canGoOn() const {
  if (busy || items.empty())
    return false;
  const Item &next = items.front();
  return !next.waits || next.waits->done;
}

bool Queue::step() {
  Hardware &all = hardware();
  Queue *chosen = nullptr;
  uint64_t best = 0;
  for (Queue *queue : all.queues) {
    if (!queue->canGoOn())
      continue;
    uint64_t draw = all.draw.next();
    if (!chosen || draw < best) {
      chosen = queue;
      best = draw;
    }
  }
  if (!chosen)
    return false;
  Item item = std::move(chosen->items.front());
  chosen->items.pop_front();
  if (item.work) {
    chosen->busy = true;
    all.mutex.unlock();
    std::string error = item.work();
    all.mutex.lock();
    chosen->busy = false;
    if (all.error.empty())
      all.error = error;
  }
  if (item.sets)
    pass(*item.sets);
  all.changed.notify_all();
  return true;
}

std::string Queue::add(Item item, Lock &lock) {
  items.push_back(std::move(item));
  return seed ? hardware().error : finish(lock);
}

std::string Queue::finish(Lock &lock) {
  Hardware &all = hardware();
  while (all.error.empty() && (busy || !items.empty()))
    if (!step())
      all.changed.wait(lock);
  return all.error;
}

std::string Queue::enqueue(Work work) {
  Lock lock(hardware().mutex);
  if (capture) {
    capture->nodes.push_back({std::move(work), after});
    after = {capture->nodes.size() - 1};
    return "";
  }
  return add({std::move(work), nullptr, nullptr}, lock);
}

std::string Queue::record(QueueEvent &event) {
  Lock lock(hardware().mutex);
  event.capture = capture;
  event.after = after;
  if (capture)
    return "";
  event.mark = std::make_shared<Mark>();
  return add({nullptr, event.mark, nullptr}, lock);
}

std::string Queue::wait(const QueueEvent &event) {
  Lock lock(hardware().mutex);
  if (event.capture) {
    if (event.capture->ended)
      return "a wait for an event that is part of a graph";
    if (capture && capture != event.capture)
      return "a wait for an event of another recording";
    if (!capture) {
      if (!items.empty() || busy)
        return "a stream with work in flight joins a recording";
      capture = event.capture;
      after.clear();
    }
    for (size_t node : event.after)
      if (std::find(after.begin(), after.end(), node) == after.end())
        after.push_back(node);
    return "";
  }
  // During recording, all earlier events have already happened.
  if (!event.mark || capture)
    return "";
  return add({nullptr, nullptr, event.mark}, lock);
}

std::string Queue::synchronize() {
  Lock lock(hardware().mutex);
  if (capture)
    return "a wait for a stream that is being recorded";
  return finish(lock);
}

std::string Queue::beginCapture() {
  Lock lock(hardware().mutex);
  if (capture)
    return "a stream that is already recorded is to be recorded";
  std::string error = finish(lock);
  capture = std::make_shared<QueueGraph>();
  isOrigin = true;
  after.clear();
  return error;
}

std::string Queue::endCapture(QueueGraph &graph) {
  Lock lock(hardware().mutex);
  if (!capture || !isOrigin)
    return "the end of a recording that did not begin here";
  // Recorded events keep the recording alive, but not its work.
  graph.nodes = std::move(capture->nodes);
  std::vector<char> joined(graph.nodes.size(), 0);
  for (size_t node : after)
    joined[node] = 1;
  for (size_t i = joined.size(); i-- > 0;)
    if (joined[i])
      for (size_t before : graph.nodes[i].after)
        joined[before] = 1;
  // Other streams leave the recording too.
  auto ended = capture;
  ended->ended = true;
  for (Queue *queue : hardware().queues)
    if (queue->capture == ended) {
      queue->capture = nullptr;
      queue->after.clear();
    }
  isOrigin = false;
  size_t lost =
      size_t(std::find(joined.begin(), joined.end(), 0) - joined.begin());
  if (lost < joined.size())
    return "work number " + std::to_string(lost) +
           " of a recording is on a stream that was not joined again";
  return "";
}

std::string Queue::launch(const QueueGraph &graph, uint64_t order) {
  auto nodes = std::make_shared<std::vector<GraphNode>>(graph.nodes);
  return enqueue([nodes, order]() -> std::string {
    Draw draw{order};
    std::vector<char> done(nodes->size(), 0);
    for (size_t count = 0; count < nodes->size(); ++count) {
      // Nodes that could run next.
      std::vector<size_t> open;
      for (size_t i = 0; i < nodes->size(); ++i) {
        const GraphNode &node = (*nodes)[i];
        if (!done[i] && std::all_of(node.after.begin(), node.after.end(),
                                    [&](size_t a) { return done[a]; }))
          open.push_back(i);
        if (!order && !open.empty())
          break;
      }
      size_t next = open[order ? size_t(draw.next() % open.size()) : 0];
      std::string error = (*nodes)[next].work();
      if (!error.empty())
        return error;
      done[next] = 1;
    }
    return "";
  });
}

std::string QueueEvent::query(bool &hasHappened) {
  Hardware &all = hardware();
  std::unique_lock<std::mutex> lock(all.mutex);
  if (capture)
    return "a question for an event that is being recorded";
  if (mark && !mark->done)
    Queue::step();
  hasHappened = !mark || mark->done;
  return all.error;
}

bool QueueEvent::time(double &seconds) const {
  std::lock_guard<std::mutex> lock(hardware().mutex);
  if (!mark || !mark->done)
    return false;
  seconds = mark->time;
  return true;
}
