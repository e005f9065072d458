//===- CheckpointFaultsTest.cpp - Checkpoints that are interrupted --------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A run goes on from a checkpoint and writes the next one. At each file
// operation in turn, all ranks are killed, the power is cut, or the disk is
// full or broken. Afterwards every checkpoint in the folder is whole, and the
// same command goes on from the newest and ends with the bits of a run that
// nothing disturbed.
//
//===----------------------------------------------------------------------===//

#include "Programs.h"

#include "runtime/src/checkpoint/Reader.h"
#include "runtime/src/checkpoint/RunFolder.h"
#include "runtime/src/ranks/Control.h"
#include "runtime/src/support/Support.h"

#include <cerrno>
#include <filesystem>
#include <random>
#include <set>
#include <sstream>

using namespace tessera::rt;
namespace fs = std::filesystem;

namespace {

/// Undoes operations that no fsync has covered, as a loss of power may.
class PowerCut {
public:
  /// Reads what a run did; see FAULT_POWER in FaultInjector.c.
  explicit PowerCut(const std::string &log) {
    for (const std::string &line : linesOf(readFile(log))) {
      std::istringstream words(line);
      Operation op;
      words >> op.kind >> op.path >> op.more;
      if (op.kind == "synced")
        cover(op);
      else
        operations.push_back(op);
      if (op.kind == "create")
        sizes[op.path] = 0;
    }
  }

  /// Keeps of the operations that may be undone those that `keeps` says.
  template <typename Keeps> void cut(Keeps keeps) {
    // Bytes that were not synced are lost, wherever the file is now.
    for (auto it = operations.rbegin(); it != operations.rend(); ++it)
      if (!it->isCovered && !keeps())
        undo(*it);
    for (auto &[path, size] : sizes)
      if (fs::exists(path) && int64_t(fs::file_size(path)) > size && !keeps())
        fs::resize_file(path, size_t(size));
  }

private:
  struct Operation {
    std::string kind, path, more;
    bool isCovered = false;
  };

  void cover(const Operation &sync) {
    // Sizes follow the names that files had when they were synced, which are
    // those that they have if the rename of their folder is undone, too.
    if (sizes.count(sync.path))
      sizes[sync.path] = std::stoll(sync.more);
    for (Operation &op : operations)
      op.isCovered |= fs::path(op.path).parent_path() == sync.path;
  }

  static void undo(const Operation &op) {
    std::error_code ignored;
    if (op.kind == "create" || op.kind == "mkdir")
      fs::remove_all(op.path, ignored);
    else if (op.kind == "rename")
      fs::rename(op.more, op.path, ignored);
    else if (op.kind == "unlink")
      fs::copy(op.more, op.path, ignored);
    else if (op.kind == "rmdir")
      fs::create_directory(op.path, ignored);
  }

  std::vector<Operation> operations;
  std::map<std::string, int64_t> sizes;
};

class CheckpointFaults : public testing::Test {
protected:
  void SetUp() override {
    fs::remove_all(root);
    fs::create_directories(root);
    std::ofstream(root + "/text") << std::string(300, 'a');
    ASSERT_EQ(run(1, old).status, 0);
    ASSERT_EQ(run(2, old).status, 0);
    ASSERT_EQ(run(4, root + "/undisturbed", "--save-final " + wanted).status,
              0);
  }
  void TearDown() override { fs::remove_all(root); }

  Outcome run(int steps, const std::string &checkpoints,
              const std::string &more = "", const std::string &before = "") {
    return runProgram(
        TRAIN2_PROGRAM,
        format("--quiet --threads 1 --steps %d --checkpoint ", steps) +
            checkpoints + " --data " + root + "/text " + more,
        before);
  }

  /// Runs up to step three with faults.
  Outcome goOn(const std::string &environment) {
    return run(3, folder, "",
               "export LD_PRELOAD=" FAULT_INJECTOR " FAULT_BELOW=" + root +
                   "/below FAULT_LOG=" + log + " " + environment + ";");
  }

  void begin(bool isOver) {
    fs::remove_all(root + "/below");
    fs::create_directories(root + "/below");
    fs::remove(log);
    fs::remove(power);
    if (isOver)
      fs::copy(old, folder, fs::copy_options::recursive);
  }

  /// Returns the steps in the folder, and checks that each is whole.
  std::vector<int64_t> wholeSteps() {
    std::vector<int64_t> steps;
    EXPECT_EQ(findSteps(folder, steps), "");
    for (int64_t step : steps) {
      CheckpointReader reader;
      ThreadPool pool(1, 0);
      bool isForeign;
      EXPECT_EQ(reader.open(folder + "/" + stepName(step), isForeign), "");
      EXPECT_EQ(reader.verify(pool, 0, 1), "");
      EXPECT_EQ(reader.manifest().position.step, step);
    }
    return steps;
  }

  void check(bool isOver, const std::string &where) {
    SCOPED_TRACE(where);
    std::vector<int64_t> steps = wholeSteps();
    EXPECT_TRUE(!isOver || !steps.empty());
    Outcome outcome = run(4, folder, "--save-final " + root + "/end");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(wholeSteps().back(), 4);
    for (const fs::directory_entry &entry : fs::directory_iterator(folder))
      EXPECT_NE(entry.path().extension(), ".partial") << entry.path();
    for (const char *name : {"w.npy", "w.m.npy", "step.npy"})
      EXPECT_EQ(readFile(root + "/end/" + name), readFile(wanted + "/" + name))
          << name;
  }

  /// Makes operations fail in turn: all with TESSERA_CHECK=1, otherwise every
  /// eleventh. `afterwards` runs after each. Returns the number of operations.
  template <typename Afterwards>
  int faultEach(const std::string &kind, bool isOver, Afterwards afterwards) {
    int stride = getenv("TESSERA_CHECK") ? 1 : 11;
    for (int at = 1 + int(kind.size()) % stride;; at += stride) {
      begin(isOver);
      Outcome outcome = goOn(format("FAULT_AT=%d FAULT_KIND=", at) + kind +
                             " FAULT_POWER=" + power);
      std::vector<std::string> operations = linesOf(readFile(log));
      if (int(operations.size()) < at) {
        EXPECT_EQ(outcome.status, 0) << outcome.err;
        return int(operations.size());
      }
      std::string where =
          kind + format(" at %d, ", at) + operations[size_t(at) - 1];
      // A checkpoint that cannot be read is passed over.
      bool isPassedOver =
          outcome.err.find("damaged checkpoint") != std::string::npos;
      EXPECT_TRUE(isPassedOver || outcome.status != 0) << where << outcome.err;
      EXPECT_EQ(linesOf(outcome.err).size(), 1u) << where << outcome.err;
      afterwards();
      check(isOver, where);
      if (HasFailure())
        return at;
    }
  }
  int faultEach(const std::string &kind, bool isOver) {
    return faultEach(kind, isOver, [] {});
  }

  std::string root = temporary("checkpointFaults"), folder = root + "/below/ck",
              old = root + "/old", wanted = root + "/wanted",
              log = root + "/log", power = root + "/power";
};
} // namespace

TEST_F(CheckpointFaults, killed_over_checkpoints) {
  EXPECT_GT(faultEach("kill", true), 30);
}

TEST_F(CheckpointFaults, killed_in_the_first) {
  EXPECT_GT(faultEach("kill", false), 30);
}

TEST_F(CheckpointFaults, power_cut_with_nothing_kept) {
  EXPECT_GT(faultEach("kill", true,
                      [&] { PowerCut(power).cut([] { return false; }); }),
            30);
}

TEST_F(CheckpointFaults, power_cut_with_a_part_kept) {
  std::mt19937 random(1);
  EXPECT_GT(faultEach("kill", true,
                      [&] {
                        PowerCut(power).cut([&] { return random() % 2 == 0; });
                      }),
            30);
}

TEST_F(CheckpointFaults, full_disk) {
  EXPECT_GT(faultEach(std::to_string(ENOSPC), true), 30);
}

TEST_F(CheckpointFaults, broken_disk) {
  EXPECT_GT(faultEach(std::to_string(EIO), true), 30);
}

TEST_F(CheckpointFaults, a_rank_that_ends_awaits_its_writer) {
  begin(false);
  std::string arguments =
      " --quiet --threads 1 --steps 3 --checkpoint-interval 1 --checkpoint " +
      folder + " --data " + root + "/text ";
  std::string faults =
      "LD_PRELOAD=" FAULT_INJECTOR " FAULT_BELOW=" + root + "/below ";
  // Ranks of no launcher, whose exit code would hide that of a rank. One is
  // lost at its first file, the other takes long to write its own.
  Outcome outcome = runProgram(
      "RANK=0 FAULT_SLOW=400000 FAULT_SLOW_SYNC=400000 " + faults +
          TRAIN2_PROGRAM,
      arguments + "; code=$?; wait $!; exit $code",
      format("export WORLD_SIZE=2 TESSERA_RT_JOB_ID=faults-%d; ", getpid()) +
          "setsid env RANK=1 FAULT_AT=1 FAULT_KIND=kill " + faults +
          TRAIN2_PROGRAM + arguments + "& ");
  expectError(outcome, "rank 1 is dead", exitMayRestart);
}

TEST_F(CheckpointFaults, a_folder_without_room_or_renames_is_refused) {
  begin(true);
  Outcome outcome = goOn("FAULT_ROOM=0");
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_NE(outcome.err.find(" in '" + folder +
                             "' beside the files there, but it has 0 B"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("expects room for "), std::string::npos);
  EXPECT_EQ(linesOf(outcome.err).size(), 1u) << outcome.err;
  // The first rename is that of a folder without files, before the first step.
  std::vector<std::string> operations = linesOf(readFile(log));
  auto renamed = std::find_if(
      operations.begin(), operations.end(),
      [](const std::string &line) { return line.rfind("rename ", 0) == 0; });
  ASSERT_NE(renamed, operations.end());
  int at = int(renamed - operations.begin()) + 1;
  for (int kind : {ENOSYS, EOPNOTSUPP}) {
    begin(true);
    outcome = goOn(format("FAULT_AT=%d FAULT_KIND=%d", at, kind));
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_NE(outcome.err.find("a checkpoint appears by a rename"),
              std::string::npos)
        << outcome.err;
    EXPECT_EQ(linesOf(outcome.err).size(), 1u) << outcome.err;
    EXPECT_EQ(wholeSteps(), (std::vector<int64_t>{1, 2}));
  }
}

TEST_F(CheckpointFaults, files_are_on_the_disk_before_they_count) {
  begin(true);
  ASSERT_EQ(goOn("").status, 0);
  std::vector<std::string> operations = linesOf(readFile(log));
  auto find = [&](const std::string &operation) {
    auto found = std::find(operations.begin(), operations.end(), operation);
    EXPECT_NE(found, operations.end()) << operation;
    return size_t(found - operations.begin());
  };
  std::string partial = folder + "/step-00000003.partial";
  size_t published = find("rename " + partial);
  for (const char *name : {"rank-00000.safetensors", "rank-00001.safetensors",
                           "manifest.json", "XXH64SUMS"}) {
    size_t created = find("create " + partial + "/" + name);
    size_t synced = find("fsync " + partial + "/" + name);
    EXPECT_LT(created, synced);
    EXPECT_LT(synced, published);
  }
  // The folder is synced after its last file, and its parent after the rename.
  EXPECT_EQ(operations[published + 2], "fsync " + folder);
  EXPECT_EQ(operations[published - 1], "open " + folder + "/lock");
  EXPECT_EQ(operations[published - 2], "fsync " + partial);
}
