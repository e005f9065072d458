//===- JoiningTest.cpp - Ranks of another launcher ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks that are started one by one: their comparison before the first step,
// and the file in shared memory that they join.
//
//===----------------------------------------------------------------------===//

#include "Programs.h"

#include "runtime/src/ranks/Control.h"
#include "runtime/src/run/OptionTable.h"

#include <cerrno>
#include <dirent.h>
#include <filesystem>
#include <set>
#include <sstream>
#include <sys/stat.h>

using namespace tessera::rt;
namespace fs = std::filesystem;

namespace {
std::string job() { return "joining-" + std::to_string(getpid()); }

/// Path of the file that the ranks of these tests join.
std::string meetingPath() { return meetingPathOf(job()); }

std::string dataFile(const std::string &name, size_t size = 300) {
  return writeText(name, std::string(size, 'a'));
}

/// Runs the two ranks of Train2, each with its own arguments; `before` sets
/// variables of the second.
Outcome runBoth(const std::string &first, const std::string &second,
                const std::string &before = "") {
  std::string common = " --quiet --timeout 5 ";
  return runProgram(
      "RANK=0 " TRAIN2_PROGRAM,
      common + first + "; code=$?; wait $! || code=$?; exit $code",
      "export WORLD_SIZE=2 TESSERA_RT_JOB_ID=" + job() + "; RANK=1 " + before +
          " " TRAIN2_PROGRAM + common + second + " & ");
}

/// Runs one rank of two, which waits for the other.
Outcome runAlone(int rank, const std::string &arguments,
                 const std::string &before = "") {
  return runProgram(TRAIN2_PROGRAM, "--quiet --random-data " + arguments,
                    before + " export RANK=" + std::to_string(rank) +
                        " WORLD_SIZE=2 TESSERA_RT_JOB_ID=" + job() + ";");
}

bool isLeft() { return access(meetingPath().c_str(), F_OK) == 0; }
} // namespace

TEST(joining, options_that_change_results_are_compared) {
  std::string data = "--data " + dataFile("data");
  EXPECT_EQ(runBoth(data, data).status, 0);
  struct Case {
    const char *first, *second, *expected;
  };
  for (const Case &c : std::initializer_list<Case>{
           {"--seed 3", "--seed 4",
            "rank 0: all ranks expect the same --seed, but rank 0 has 3 and "
            "rank 1 has 4"},
           {"", "--data-position 4",
            "the same --data-position, but rank 0 has nothing and rank 1 has "
            "4"},
           {"--steps 2", "--steps 3", "the same --steps, but rank 0 has 2"},
           {"--on-nan=skip", "",
            "the same --on-nan, but rank 0 has skip and rank 1 has stop"},
           {"--eval-every 2", "", "the same --eval-every"},
           {"", "--data-format bytes",
            "the same --data-format, but rank 0 has nothing and rank 1 has "
            "'bytes'"},
           {"--save-final /nowhere/a", "--save-final /nowhere/b",
            "the same --save-final, but rank 0 has '/nowhere/a' and rank 1 has "
            "'/nowhere/b'"}})
    expectError(runBoth(data + " " + c.first, data + " " + c.second),
                c.expected);
  expectError(runBoth(data, "--data " + dataFile("other")),
              "all ranks expect the same --data, but rank 0 has '");
  // Two spellings of one value, and options that do not change results.
  EXPECT_EQ(runBoth(data + " --seed 0 --threads 1",
                    data + " --seed=00 --threads 2 --timeout 9 --report json")
                .status,
            0);
}

TEST(joining, files_are_compared) {
  std::string root = temporary("compared");
  fs::remove_all(root);
  fs::create_directories(root + "/other");
  std::string data = dataFile("data"), rest = "--steps 1 --data " + data;
  // The same name in two folders is not the same file.
  std::ofstream(root + "/text") << std::string(300, 'a');
  std::ofstream(root + "/other/text") << std::string(300, 'a');
  Outcome outcome = runProgram(
      "RANK=0 env -C " + root + " " TRAIN2_PROGRAM,
      "--quiet --data text; code=$?; wait $! || code=$?; exit $code",
      "export WORLD_SIZE=2 TESSERA_RT_JOB_ID=" + job() + "; RANK=1 env -C " +
          root + "/other " TRAIN2_PROGRAM " --quiet --data text & ");
  expectError(outcome, "/text' and rank 1 has '");
  // The second rank uses kernels of another processor.
  expectError(runBoth(rest, rest, "TESSERA_RT_ISA=baseline"),
              "the same instruction set (TESSERA_RT_ISA), but rank 0 has ");
  fs::remove_all(root);
}

TEST(joining, every_option_is_compared_or_said_to_change_nothing) {
  // A new option is compared unless its row says otherwise.
  std::set<std::string> compared;
  for (const Fact &fact : comparedOptions(Options()))
    compared.insert(fact.name);
  for (const OptionSpec &spec : optionTable()) {
    if (!spec.help || !isOffered(spec))
      continue;
    EXPECT_EQ(compared.count(spec.name), spec.mayDiffer ? 0u : 1u) << spec.name;
    ASSERT_TRUE(spec.show) << spec.name;
    EXPECT_NE(spec.show(spec, Options()), "") << spec.name;
  }
  for (const char *name : {"--seed", "--data", "--inputs", "--data-position",
                           "--save-final", "--init-missing"})
    EXPECT_TRUE(compared.count(name)) << name;
  EXPECT_LE(compared.size() + 8, size_t(maxFacts));
}

TEST(joining, nothing_is_left_when_a_rank_is_missing) {
  for (int rank : {0, 1}) {
    Outcome outcome = runAlone(rank, "--timeout 0.3");
    EXPECT_EQ(outcome.status, exitMayRestart);
    EXPECT_NE(outcome.err.find(format("rank %d has not started", 1 - rank)),
              std::string::npos)
        << outcome.err;
    EXPECT_FALSE(isLeft());
  }
}

TEST(joining, a_file_whose_maker_died_is_replaced) {
  std::ofstream(meetingPath()).flush();
  ASSERT_EQ(chmod(meetingPath().c_str(), 0600), 0);
  Outcome outcome = runAlone(0, "--timeout 2");
  EXPECT_EQ(outcome.status, exitMayRestart);
  EXPECT_NE(outcome.err.find("rank 1 has not started"), std::string::npos)
      << outcome.err;
  EXPECT_FALSE(isLeft());
}

/// Starts rank `rank` of four, which runs until it is stopped.
static pid_t startRank(int rank, const std::string &err) {
  std::string name = job();
  pid_t pid = fork();
  if (pid != 0)
    return pid;
  setenv("RANK", std::to_string(rank).c_str(), 1);
  setenv("WORLD_SIZE", "4", 1);
  setenv("TESSERA_RT_JOB_ID", name.c_str(), 1);
  freopen("/dev/null", "w", stdout);
  freopen(err.c_str(), "a", stderr);
  execl(MESH4_PROGRAM, MESH4_PROGRAM, "--quiet", "--random-data", "--steps",
        "100000000", "--timeout", "5", nullptr);
  _exit(127);
}

// A rank is killed at any point. The others wait for ranks that have not
// acknowledged, and do not always know which these are.
TEST(joining, a_rank_that_is_killed_is_named) {
  for (int trial = 0; trial < 8; ++trial) {
    std::string err = temporary("killed");
    fs::remove(err);
    std::vector<pid_t> pids;
    for (int rank = 0; rank < 4; ++rank)
      pids.push_back(startRank(rank, err));
    int victim = trial % 4;
    usleep(20000 + 30000 * trial);
    kill(pids[size_t(victim)], SIGKILL);
    // Nobody waits for the victim before the others have ended.
    for (int rank = 0; rank < 4; ++rank)
      if (rank != victim)
        waitpid(pids[size_t(rank)], nullptr, 0);
    waitpid(pids[size_t(victim)], nullptr, 0);
    std::string text = readFile(err), name = format("rank %d ", victim);
    EXPECT_TRUE(text.find(name + "is dead") != std::string::npos ||
                text.find(name + "has not started") != std::string::npos)
        << text;
    EXPECT_FALSE(isLeft());
  }
}

TEST(joining, blocks_of_other_nodes_take_no_memory) {
  // The first rank of node 1 waits for the second one. The file has the blocks
  // of these two, and not its whole size.
  std::string path = meetingPathOf(job() + "/node-1");
  Outcome outcome = runProgram(
      MESH4_PROGRAM,
      "--quiet --random-data & pid=$!; for i in 1 2 3 4 5 6 7 8 9; do [ -s " +
          path + " ] || sleep 0.1; done; sleep 0.1; stat -c '%b %s' " + path +
          "; kill $pid; wait $pid",
      "export RANK=2 WORLD_SIZE=4 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 "
      "TESSERA_RT_JOB_ID=" +
          job() + ";");
  std::istringstream numbers(outcome.out);
  int64_t blocks = 0, size = 0, control = SharedMemory::controlBytesFor(4);
  numbers >> blocks >> size;
  EXPECT_GT(size, control) << outcome.err;
  EXPECT_GE(blocks * 512,
            int64_t(sizeof(ControlBlock)) + 2 * int64_t(sizeof(RankBlock)));
  EXPECT_LT(blocks * 512, control / 2);
}

TEST(joining, nothing_is_left_by_a_signal) {
  for (const char *signal : {"TERM", "HUP", "INT"}) {
    Outcome outcome =
        runAlone(1,
                 std::string("& pid=$!; for i in 1 2 3 4 5 6 7 8 9; do [ -e ") +
                     meetingPath() + " ] || sleep 0.1; done; kill -" + signal +
                     " $pid; wait $pid; exit $?",
                 "ulimit -c 0; exec 3>&2;");
    // A shell ignores SIGINT in background jobs.
    EXPECT_FALSE(isLeft()) << signal;
    int number = strcmp(signal, "TERM") == 0  ? 15
                 : strcmp(signal, "HUP") == 0 ? 1
                                              : 2;
    EXPECT_EQ(outcome.status, 128 + number) << outcome.err;
  }
  // nohup: the rank continues until its timeout.
  Outcome ignored = runAlone(1,
                             "--timeout 0.6 & pid=$!; sleep 0.3; kill -HUP "
                             "$pid; wait $pid; exit $?",
                             "exec 3>&2; trap '' HUP;");
  EXPECT_EQ(ignored.status, exitMayRestart) << ignored.err;
  EXPECT_NE(ignored.err.find("rank 0 has not started"), std::string::npos)
      << ignored.err;
}

TEST(joining, a_file_of_somebody_else_is_not_used) {
  std::string path = meetingPath(), target = temporary("target");
  auto refuse = [&](const char *text) {
    expectError(runAlone(0, "--timeout 0.5"), text);
    EXPECT_TRUE(fs::exists(fs::symlink_status(path))) << "it is not ours";
    fs::remove(path);
  };
  fs::remove(target);
  ASSERT_EQ(symlink(target.c_str(), path.c_str()), 0);
  refuse("but got a symbolic link");
  EXPECT_FALSE(fs::exists(target)) << "made through the link";
  std::ofstream(path) << "x";
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  refuse("alone may use, but got one of user");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  refuse("alone may use");
  if (geteuid() == 0) {
    std::ofstream(path) << "x";
    ASSERT_EQ(chmod(path.c_str(), 0600), 0);
    ASSERT_EQ(chown(path.c_str(), 1, 1), 0);
    refuse("but got one of user 1");
  }
  std::ofstream(path) << "x";
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  refuse("another program is running under this job's name");
}

TEST(joining, a_file_operation_that_fails) {
  // Faults all operations of the rank that creates the file, on a full or
  // broken disk.
  std::string log = temporary("log");
  for (int error : {ENOSPC, EIO})
    for (int at = 1;; ++at) {
      fs::remove(log);
      Outcome outcome =
          runAlone(0, "--timeout 0.1",
                   format("export LD_PRELOAD=%s FAULT_BELOW=/dev/shm/tessera "
                          "FAULT_AT=%d FAULT_KIND=%d FAULT_LOG=%s;",
                          FAULT_INJECTOR, at, error, log.c_str()));
      // Without a fault it waits for the other rank.
      bool isRefused = outcome.err.find("cannot join") != std::string::npos;
      EXPECT_EQ(outcome.status, isRefused ? 1 : exitMayRestart) << at;
      EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1)
          << outcome.err;
      std::vector<std::string> operations = linesOf(readFile(log));
      if (int(operations.size()) < at) {
        EXPECT_GT(at, 5);
        break;
      }
      bool isRemoval = operations[size_t(at) - 1].find("unlink") == 0;
      EXPECT_EQ(isLeft(), isRemoval) << operations[size_t(at) - 1];
      fs::remove(meetingPath());
    }
}
