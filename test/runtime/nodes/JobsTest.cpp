//===- JobsTest.cpp - Tests of jobs of many nodes -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Jobs of 64 nodes of 8 ranks; with TESSERA_CHECK of 256, and under sanitizers
// of 16. A node is a process with its agent, the memory of its ranks, and its
// first rank, which comes to meets. The other ranks have no processes but for
// one that is to be lost. Agents talk to the root over sockets.
//
//===----------------------------------------------------------------------===//

#include "TemporaryFolder.h"

#include "runtime/src/nodes/Agent.h"
#include "runtime/src/nodes/Interfaces.h"
#include "runtime/src/nodes/Meeting.h"
#include "runtime/src/nodes/ZeroMq.h"
#include "runtime/src/ranks/Context.h"
#include "runtime/src/ranks/Launcher.h"

#include <csignal>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tessera::rt;
namespace fs = std::filesystem;

namespace {
constexpr int perNode = 8, mostNodes = 256;

bool isLong() { return getenv("TESSERA_CHECK") != nullptr; }

/// Disturbances of a job.
struct Fault {
  enum Kind {
    None,
    /// A node has another --seed.
    OtherSeed,
    /// The launcher of a node finds that a signal killed one of its ranks.
    Killed,
    /// A rank finds that another one of its node is dead.
    Dead,
    /// A rank is stopped, and the other nodes wait in a meet.
    Stopped,
    /// All processes of a node are killed.
    NodeKilled,
    /// All processes of a node are stopped, as if it had no power.
    NodeStopped
  } kind = None;
  int rank = 0;
};

/// Facts that the parent learns of the processes of nodes, in memory of all.
struct Board {
  struct Node {
    /// Meets that it came to whose result was right.
    std::atomic<int> meets{0};
    std::atomic<int> isOver{0};
    /// The line about the job's failure.
    char line[512] = {};
  };
  Node nodes[mostNodes];
};

/// A node of a job, in its own process.
class JobNode {
public:
  JobNode(Board &board, const Placement &place, const Fault &fault,
          const std::string &folder)
      : board(board), place(place), fault(fault) {
    manifest.program = "test";
    manifest.ranks = place.ranks();
    manifest.arenaBytes = 1;
    options.threads = 1;
    options.rendezvous = folder;
    options.interface = "lo";
    if (fault.kind == Fault::OtherSeed && isFaulty())
      options.seed = 1;
  }

  /// Comes to `meets` meets, or to as many as there are until the job fails.
  void run(int meets) {
    if (!createMemory(memory, manifest, place))
      return;
    for (int rank = place.firstRank(); rank < place.endRank(); ++rank)
      postSomething(memory.blocks[rank]);
    forkVictim();
    Agent agent(memory, manifest, options, "test");
    tessera_rt_context ctx;
    ctx.memory = memory;
    ctx.rank = place.firstRank();
    ctx.ranks = place.ranks();
    ctx.agentWake = agent.wake();
    // Long enough that many nodes on few processors are not late.
    ctx.timeout = fault.kind != Fault::Stopped ? 30 : isLong() ? 10 : 2;
    ctx.block().enter();
    ctx.block().state.store(RankState::Running);
    agent.start(/*prints=*/false);
    while (!memory.control->node.isJoined.load() &&
           !memory.control->aborted.load())
      usleep(20000);
    for (int number = 1; number <= meets && meet(ctx, number, meets); ++number)
      board.nodes[place.node].meets.store(number);
    agent.finish();
    Board::Node &node = board.nodes[place.node];
    snprintf(node.line, sizeof(node.line), "%s", agent.failure().c_str());
    node.isOver.store(1);
  }

private:
  bool isFaulty() const { return place.isHere(fault.rank); }

  /// Writes what a rank that runs has in its block.
  static void postSomething(RankBlock &block) {
    block.last.sequenceId = 7;
    block.last.op = int32_t(OpKind::AllReduce);
    block.last.dtype = TESSERA_RT_F32;
    block.last.reduction = TESSERA_RT_SUM;
    block.last.count = 1024;
    block.posted.store(1);
  }

  /// Starts the process of a rank that is to be lost.
  void forkVictim() {
    bool hasVictim = isFaulty() && (fault.kind == Fault::Dead ||
                                    fault.kind == Fault::Stopped);
    if (!hasVictim)
      return;
    RankBlock &block = memory.blocks[fault.rank];
    victim = fork();
    if (victim == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      block.state.store(RankState::Running);
      block.enter();
      for (;;)
        pause();
    }
    while (block.pid.load() == 0)
      usleep(1000);
  }

  bool meet(tessera_rt_context &ctx, int number, int meets) {
    if (number == meets && isFaulty() && !raise(ctx))
      return false;
    StepExchange exchange = [&](StepFacts &facts) {
      facts.cpuSeconds = number;
      facts.memoryBytes = place.node;
      facts.slowestRank = place.firstRank();
      facts.busySeconds = place.node == number % place.nodes ? 2 : 1;
    };
    if (meetNodes(&ctx, BarrierStep, &exchange) != TESSERA_RT_OK)
      return false;
    const StepFacts &facts = memory.control->node.facts.step;
    return facts.cpuSeconds == number * place.nodes &&
           facts.memoryBytes == place.nodes - 1 &&
           facts.slowestRank == number % place.nodes * place.perNode;
  }

  /// Raises the fault. False if this node comes to no further meet.
  bool raise(tessera_rt_context &ctx) {
    const RankBlock &block = memory.blocks[fault.rank];
    switch (fault.kind) {
    case Fault::Killed:
      recordFailure(memory, place.ranks(), TESSERA_RT_LOST_RANK,
                    nameRank(memory, fault.rank) +
                        " was killed by signal 9 (Killed); " +
                        block.describeWork());
      return false;
    case Fault::Dead:
    case Fault::Stopped:
      kill(victim, fault.kind == Fault::Dead ? SIGKILL : SIGSTOP);
      ctx.timeout = 60;
      ctx.block().waitingFor.store(fault.rank);
      waitForNodes(&ctx, "the barrier of this node", [] { return false; });
      return false;
    case Fault::NodeKilled:
    case Fault::NodeStopped:
      kill(getpid(), fault.kind == Fault::NodeKilled ? SIGKILL : SIGSTOP);
      return true;
    default:
      return true;
    }
  }

  Board &board;
  const Placement place;
  const Fault fault;
  Manifest manifest;
  Options options;
  SharedMemory memory;
  pid_t victim = 0;
};

class Jobs : public testing::Test {
protected:
  void SetUp() override {
    if (Library library = findZeroMq(); !library.isUsable())
      GTEST_SKIP() << library.error;
  }

  /// Runs a job. Its processes have ended, and nothing is left.
  void run(const Fault &fault, int meets) {
    std::string folder = temporary("job");
    fs::remove_all(folder);
    void *memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    board = new (memory) Board();
    std::vector<pid_t> pids;
    for (int node = 0; node < nodes; ++node) {
      pid_t pid = fork();
      if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        JobNode(*board, {node, nodes, perNode}, fault, folder).run(meets);
        _exit(0);
      }
      pids.push_back(pid);
    }
    int lost =
        fault.kind == Fault::NodeKilled || fault.kind == Fault::NodeStopped
            ? fault.rank / perNode
            : -1;
    double end = monotonicSeconds() + 60;
    auto isOver = [&] {
      for (int node = 0; node < nodes; ++node)
        if (node != lost && !board->nodes[node].isOver.load())
          return false;
      return true;
    };
    while (!isOver() && monotonicSeconds() < end)
      usleep(2000);
    EXPECT_TRUE(isOver());
    for (pid_t pid : pids)
      kill(pid, SIGKILL);
    for (pid_t pid : pids)
      waitpid(pid, nullptr, 0);
    lines.clear();
    for (int node = 0; node < nodes; ++node)
      if (node != lost)
        lines.insert(board->nodes[node].line);
  }
  void free() {
    munmap(board, sizeof(Board));
    board = nullptr;
  }

  /// Runs a job with a fault in its third meet, and expects that all nodes have
  /// the same line, which begins so.
  void expectLine(const Fault &fault, const std::string &begin) {
    run(fault, 3);
    free();
    ASSERT_EQ(lines.size(), 1u) << *lines.begin() << "\n" << *lines.rbegin();
    EXPECT_EQ(lines.begin()->substr(0, begin.size()), begin);
  }

  static std::string nodeName(int rank) {
    return format("node %d (", rank / perNode) + hostName() + ")";
  }
  static std::string rankName(int rank) {
    return format("rank %d on ", rank) + nodeName(rank);
  }

#ifdef TESSERA_SANITIZED
  const int nodes = 16;
#else
  const int nodes = isLong() ? mostNodes : 64;
#endif
  Board *board = nullptr;
  std::set<std::string> lines;
};

/// The nodes [begin, end) of a job without ranks: each comes to `meets` meets.
void runDoors(const RootAddress &root, int begin, int end, int nodes,
              uint64_t meets) {
  std::vector<std::unique_ptr<AgentDoor>> doors;
  std::vector<uint64_t> done(size_t(end - begin), 0);
  for (int node = begin; node < end; ++node) {
    std::string error;
    doors.push_back(AgentDoor::connect(root, node, error));
    Hello hello;
    hello.node = node;
    hello.nodes = nodes;
    doors.back()->send(encode(hello));
  }
  for (size_t left = doors.size(); left > 0; usleep(500))
    for (size_t i = 0; i < doors.size(); ++i) {
      DoorEvent event = doors[i]->receive();
      MessageKind kind;
      if (event.kind != DoorEvent::Message || !readKind(event.message, kind))
        continue;
      done[i] += kind == MessageKind::MeetOver;
      left -= done[i] == meets;
      MeetMessage meet;
      meet.number = done[i] + 1;
      meet.facts.step.cpuSeconds = 1;
      if (done[i] < meets)
        doors[i]->send(encode(meet, /*isOver=*/false));
    }
}

/// Seconds of processors that this process has used.
double secondsUsed() {
  rusage use;
  getrusage(RUSAGE_SELF, &use);
  auto seconds = [](const timeval &time) {
    return double(time.tv_sec) + 1e-6 * double(time.tv_usec);
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

/// Text of a line about the last collective of a rank here.
const char work[] = "its last collective is all_reduce #7 (sum f32[1024]";
} // namespace

TEST_F(Jobs, meet) {
  run({}, 20);
  int fewest = 20;
  for (int node = 0; node < nodes; ++node)
    fewest = std::min(fewest, board->nodes[node].meets.load());
  EXPECT_EQ(fewest, 20);
  EXPECT_EQ(lines, std::set<std::string>{""});
  free();
}

TEST_F(Jobs, differ_in_one_node) {
  for (int node : {1, nodes / 2 + 1, nodes - 1})
    expectLine({Fault::OtherSeed, node * perNode},
               "all nodes expect the same --seed, but " + nodeName(0) +
                   " has 0 and " + nodeName(node * perNode) + " has 1");
}

TEST_F(Jobs, name_what_is_lost_on_all_nodes) {
  std::mt19937 random(11);
  auto drawRank = [&](int first) {
    return first + int(random() % unsigned(nodes * perNode - first));
  };
  for (int i = 0; i < (isLong() ? 100 : 4); ++i) {
    auto kind = Fault::Kind(Fault::Killed + i % 4);
    // The root's node, which is lost with the root, has a test of its own.
    int rank = drawRank(kind == Fault::NodeKilled ? perNode : 0);
    // A node's first rank is the process that comes to meets.
    bool hasProcess = kind == Fault::Dead || kind == Fault::Stopped;
    rank += hasProcess && rank % perNode == 0;
    SCOPED_TRACE(format("%d, rank %d", kind, rank));
    if (kind == Fault::Killed)
      expectLine({kind, rank},
                 rankName(rank) + " was killed by signal 9 (Killed); " + work);
    else if (kind == Fault::Dead)
      expectLine({kind, rank}, rankName(rank / perNode * perNode) + ": " +
                                   rankName(rank) + " is dead; " + work);
    else if (kind == Fault::Stopped)
      expectLine({kind, rank}, rankName(rank) + " is stopped; " + work);
    else
      expectLine(
          {kind, rank},
          nodeName(rank) + " has ended its connection without a word; rank " +
              std::to_string(rank / perNode * perNode) + " there: " + work);
  }
}

TEST_F(Jobs, name_the_node_of_the_root) {
  expectLine(
      {Fault::NodeKilled, 0},
      nodeName(0) +
          " has ended its connection without a word; rank 0 there: " + work);
}

TEST_F(Jobs, name_a_node_that_is_silent) {
  if (!isLong())
    GTEST_SKIP() << "takes 15 seconds for each node";
  for (int node : {0, 1, nodes - 1})
    expectLine({Fault::NodeStopped, node * perNode},
               nodeName(node * perNode) + " has not been heard of for 1");
}

TEST_F(Jobs, meets_of_1000_nodes_leave_the_root_time) {
  if (!isLong())
    GTEST_SKIP() << "has 2000 threads";
  constexpr int many = 1000, processes = 4, meets = 50;
  JobKey key;
  ASSERT_EQ(drawKey(key), "");
  std::string error;
  auto door = RootDoor::open("127.0.0.1", 0, key, error);
  ASSERT_TRUE(door) << error;
  std::vector<pid_t> pids;
  for (int i = 0; i < processes; ++i) {
    pids.push_back(fork());
    if (pids.back() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      runDoors({door->endpoint(), key}, many * i / processes,
               many * (i + 1) / processes, many, meets);
      pause();
    }
  }
  int over = 0;
  double cpuSeconds = 0, used = 0;
  Root root(
      {0, many, 1}, {}, "token",
      [&](int node, const std::string &message) {
        MeetMessage result;
        if (node == 0 && decode(message, result)) {
          ++over;
          cpuSeconds += result.facts.step.cpuSeconds;
        }
        door->send(node, message);
      },
      monotonicSeconds());
  double end = monotonicSeconds() + 120;
  while (over < meets && monotonicSeconds() < end) {
    bool hasBegun = over > 0;
    for (DoorEvent event; (event = door->receive()).kind == DoorEvent::Message;)
      root.receive(event.node, event.message, monotonicSeconds());
    waitForDoors(door.get(), nullptr, -1, 0.1);
    // The first meet waits for all connections.
    if (!hasBegun && over > 0)
      used = secondsUsed();
  }
  double each = (secondsUsed() - used) / (meets - 1);
  for (pid_t pid : pids) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  EXPECT_EQ(over, meets);
  EXPECT_EQ(cpuSeconds, double(many) * meets);
  printf("a meet of %d nodes: %.1f ms of the root's processors\n", many,
         1e3 * each);
  // The goal is 40 ms; here all nodes share the root's processors.
  EXPECT_LT(each, 0.08);
}
