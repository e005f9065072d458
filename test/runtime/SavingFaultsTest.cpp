//===- SavingFaultsTest.cpp - Saves that are interrupted ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A run continues from a state and replaces it by the next one. At each file
// operation of the save in turn, all ranks are killed, or the disk is full or
// broken. Afterwards the folder has the complete old state or the complete new
// one, and a run continues from there with the same bits.
//
//===----------------------------------------------------------------------===//

#include "Programs.h"

#include "runtime/src/data/Inputs.h"
#include "runtime/src/data/StagedFolder.h"
#include "runtime/src/ranks/Control.h"
#include "runtime/src/support/Support.h"

#include <cerrno>
#include <filesystem>

using namespace tessera::rt;
namespace fs = std::filesystem;

namespace {
/// The steps of a complete state; -1: there is none.
int64_t wholeState(const std::string &folder) {
  if (!fs::exists(readablePath(folder)))
    return -1;
  InputFolder inputs;
  EXPECT_EQ(inputs.open(folder), "");
  EXPECT_TRUE(inputs.state()) << folder;
  if (!inputs.state())
    return -1;
  ThreadPool pool(1, 0);
  EXPECT_EQ(inputs.verify(pool, 0, 1), "");
  EXPECT_EQ(inputs.state()->files.size(), 4u);
  return inputs.state()->step;
}

class SavingFaults : public testing::Test {
protected:
  void SetUp() override {
    fs::remove_all(root);
    fs::create_directories(root + "/below");
    std::ofstream(root + "/text") << std::string(300, 'a');
    ASSERT_EQ(run("--steps 2 --save-final " + old).status, 0);
    ASSERT_EQ(run("--steps 5 --save-final " + wanted).status, 0);
  }
  void TearDown() override { fs::remove_all(root); }

  Outcome run(const std::string &arguments, const std::string &before = "") {
    return runProgram(
        TRAIN2_PROGRAM,
        "--quiet --threads 1 --data " + root + "/text " + arguments, before);
  }

  /// Runs two steps to step four.
  Outcome goOn(const std::string &environment) {
    return run("--steps 2 --data-position 8 --inputs " + old +
                   " --save-final " + folder,
               "export LD_PRELOAD=" FAULT_INJECTOR " FAULT_BELOW=" + root +
                   "/below FAULT_LOG=" + log + " " + environment + ";");
  }

  /// Puts the old state at the path of the next save, or nothing.
  void begin(bool isOver) {
    fs::remove_all(root + "/below");
    fs::create_directories(root + "/below");
    fs::remove(log);
    if (isOver)
      fs::copy(old, folder);
  }

  /// Checks the files of a run that should replace the state of `before` steps.
  void check(int64_t before, const std::string &where) {
    SCOPED_TRACE(where);
    int64_t steps = wholeState(folder);
    EXPECT_TRUE(steps == before || steps == 4) << steps;
    // The next run continues from there, and ends with the same bits.
    std::string from = steps < 0 ? old : folder;
    steps = steps < 0 ? 2 : steps;
    EXPECT_EQ(run(format("--steps %lld --data-position %lld",
                         (long long)(5 - steps), (long long)(4 * steps)) +
                  " --inputs " + from + " --save-final " + folder)
                  .status,
              0);
    EXPECT_EQ(wholeState(folder), 5);
    EXPECT_FALSE(fs::exists(folder + ".partial"));
    EXPECT_FALSE(fs::exists(folder + ".former"));
    for (const char *name : {"w.npy", "w.m.npy", "step.npy"})
      EXPECT_EQ(readFile(folder + "/" + name), readFile(wanted + "/" + name))
          << name;
  }

  /// Makes operations fail in turn: all with TESSERA_CHECK=1, otherwise every
  /// seventh. Runs end with `status`. Returns the number of operations.
  int faultEach(const std::string &kind, int status, bool isOver,
                const std::string &more = "") {
    int first = int(hashBytes(more.data(), more.size()) % 7) + (isOver ? 0 : 3);
    int stride = getenv("TESSERA_CHECK") ? 1 : 7;
    for (int at = stride == 1 ? 1 : 1 + first % 7;; at += stride) {
      begin(isOver);
      Outcome outcome =
          goOn(format("FAULT_AT=%d FAULT_KIND=", at) + kind + " " + more);
      std::vector<std::string> operations = linesOf(readFile(log));
      if (int(operations.size()) < at) {
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        return int(operations.size());
      }
      std::string where =
          kind + format(" at %d, ", at) + operations[size_t(at) - 1];
      EXPECT_EQ(outcome.status, status) << where;
      EXPECT_NE(outcome.err, "") << where;
      check(isOver ? 2 : -1, where);
      if (HasFailure())
        return at;
    }
  }

  std::string root = temporary("faults"), folder = root + "/below/s",
              old = root + "/old", wanted = root + "/wanted",
              log = root + "/log";
};
} // namespace

TEST_F(SavingFaults, killed_over_a_state) {
  EXPECT_GT(faultEach("kill", exitMayRestart, true), 30);
}

TEST_F(SavingFaults, killed_without_an_exchange_of_folders) {
  EXPECT_GT(faultEach("kill", exitMayRestart, true, "FAULT_NO_EXCHANGE=1"), 30);
}

TEST_F(SavingFaults, killed_in_the_first_save) {
  EXPECT_GT(faultEach("kill", exitMayRestart, false), 30);
}

TEST_F(SavingFaults, full_disk) {
  EXPECT_GT(faultEach(std::to_string(ENOSPC), 1, true), 30);
}

TEST_F(SavingFaults, broken_disk) {
  EXPECT_GT(faultEach(std::to_string(EIO), exitMayRestart, true), 30);
}

TEST_F(SavingFaults, files_are_on_the_disk_before_they_count) {
  begin(true);
  ASSERT_EQ(goOn("").status, 0);
  std::vector<std::string> operations = linesOf(readFile(log));
  auto find = [&](const std::string &operation, size_t from = 0) {
    auto found = std::find(operations.begin() + int64_t(from), operations.end(),
                           operation);
    EXPECT_NE(found, operations.end()) << operation;
    return size_t(found - operations.begin());
  };
  // Order in the last save (--save-final): files, their folder, the exchange,
  // the parent folder, and only then the removal of the old files.
  size_t exchange = find("exchange " + folder + ".partial");
  for (const char *name : {"w.npy", "w.m.npy", "w.master.npy", "step.npy"}) {
    std::string path = folder + ".partial/" + name;
    size_t create = find("create " + path), synced = find("fsync " + path);
    EXPECT_LT(create, synced);
    // The manifest comes after all files.
    EXPECT_LT(synced, find("create " + folder + ".partial/manifest.json"));
    EXPECT_GT(find("unlink " + path, exchange),
              find("fsync " + root + "/below", exchange));
  }
  EXPECT_LT(find("fsync " + folder + ".partial/manifest.json"), exchange);
  EXPECT_EQ(operations[exchange - 1].find("open"), 0u)
      << "what is replaced is looked at";
  EXPECT_LT(find("fsync " + folder + ".partial"), exchange);
}
