//===- CheckpointTest.cpp - Tests of checkpoints --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Programs.h"

#include "runtime/src/checkpoint/Reader.h"
#include "runtime/src/checkpoint/RunFolder.h"
#include "runtime/src/support/Hash.h"
#include "runtime/src/support/Support.h"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <set>
#include <thread>

using namespace tessera::rt;
namespace fs = std::filesystem;

namespace {
class Checkpoint : public testing::Test {
protected:
  void SetUp() override {
    fs::remove_all(root);
    fs::create_directories(root);
    std::ofstream(root + "/text") << std::string(300, 'a') << "bcd";
  }
  void TearDown() override { fs::remove_all(root); }

  Outcome run(const std::string &arguments, const std::string &before = "") {
    return runProgram(TRAIN2_PROGRAM,
                      "--threads 1 --data " + root + "/text " + arguments,
                      before);
  }
  /// A run up to each step in turn, which ends with a checkpoint. Within a run
  /// steps are too fast for one after each.
  Outcome save(int steps, const std::string &more = "", int first = 1) {
    Outcome outcome;
    for (int step = first; step <= steps; ++step)
      outcome = run(format("--quiet --steps %d --checkpoint ", step) + folder +
                    " " + more);
    return outcome;
  }

  std::vector<int64_t> steps() {
    std::vector<int64_t> found;
    EXPECT_EQ(findSteps(folder, found), "");
    return found;
  }

  /// Describes the damage of a checkpoint; nothing if it is whole.
  std::string findDamage(int64_t step) {
    CheckpointReader reader;
    ThreadPool pool(1, 0);
    bool isForeign;
    std::string fault = reader.open(folder + "/" + stepName(step), isForeign);
    return fault.empty() ? reader.verify(pool, 0, 1) : fault;
  }

  std::string root = temporary("checkpoints"), folder = root + "/ck";
};
using List = std::vector<int64_t>;
} // namespace

TEST_F(Checkpoint, goes_on_with_the_same_bits) {
  ASSERT_EQ(run("--quiet --steps 6 --save-final " + root + "/all").status, 0);
  ASSERT_EQ(save(3).status, 0);
  EXPECT_EQ(steps(), (List{2, 3}));
  ASSERT_EQ(save(6, "--save-final " + root + "/parts", 4).status, 0);
  EXPECT_EQ(steps(), (List{5, 6}));
  for (const char *name : {"manifest.json", "w.npy", "w.m.npy", "step.npy"})
    EXPECT_EQ(readFile(root + "/all/" + name),
              readFile(root + "/parts/" + name))
        << name;
  // The same command again has nothing to do.
  Outcome again = run("--steps 6 --checkpoint " + folder);
  EXPECT_EQ(again.status, 0);
  EXPECT_NE(again.err.find("step 6 is reached"), std::string::npos)
      << again.err;
  EXPECT_EQ(steps(), (List{5, 6}));
}

TEST_F(Checkpoint, some_stay) {
  ASSERT_EQ(save(9, "--keep 1 --keep-every 4").status, 0);
  EXPECT_EQ(steps(), (List{4, 8, 9}));
  EXPECT_EQ(stepsToRemove({1, 2, 3, 4, 5}, {3, 0}), (List{1, 2}));
  EXPECT_EQ(stepsToRemove({2, 4, 5}, {1, 2}), List{});
}

TEST_F(Checkpoint, an_interval_counts_steps_of_all_runs) {
  std::string every3 = "--quiet --checkpoint-interval 3 --keep 9 --checkpoint ";
  // A step takes 0.4 s.
  std::string slow = "export TRAIN2_SLOW=0;";
  ASSERT_EQ(run(every3 + folder + " --steps 4", slow).status, 0);
  ASSERT_EQ(run(every3 + folder + " --steps 8", slow).status, 0);
  EXPECT_EQ(steps(), (List{3, 4, 6, 8}));
}

TEST_F(Checkpoint, begins_with_that_of_another_folder) {
  ASSERT_EQ(save(3).status, 0);
  std::string other = root + "/other";
  Outcome back = run("--steps 4 --log=jsonl --checkpoint " + other +
                     " --load " + folder + "/step-00000002");
  EXPECT_EQ(back.status, 0) << back.err;
  EXPECT_NE(back.out.find("\"step\": 3,"), std::string::npos) << back.out;
  // Once it has a checkpoint of its own, it goes on from that.
  Outcome on = run("--steps 5 --log=jsonl --checkpoint " + other + " --load " +
                   folder + "/step-00000002");
  EXPECT_EQ(on.out.find("\"step\": 4, \"loss"), std::string::npos) << on.out;
  EXPECT_NE(on.out.find("\"step\": 5,"), std::string::npos) << on.out;
  // Without --checkpoint it runs so many steps more; parameters alone begin
  // with the state of a new run.
  ASSERT_EQ(run("--quiet --steps 0 --save-final " + root +
                "/p --load "
                "parameters=" +
                folder)
                .status,
            0);
  ASSERT_EQ(
      run("--quiet --steps 0 --save-final " + root + "/a --load " + folder)
          .status,
      0);
  ASSERT_EQ(run("--quiet --steps 0 --save-final " + root + "/n").status, 0);
  EXPECT_EQ(readFile(root + "/p/w.npy"), readFile(root + "/a/w.npy"));
  EXPECT_NE(readFile(root + "/p/w.npy"), readFile(root + "/n/w.npy"));
  EXPECT_EQ(readFile(root + "/p/w.m.npy"), readFile(root + "/n/w.m.npy"));
  EXPECT_NE(readFile(root + "/a/w.m.npy"), readFile(root + "/n/w.m.npy"));
}

TEST_F(Checkpoint, mistakes_are_one_line) {
  ASSERT_EQ(save(3).status, 0);
  std::string again = "--quiet --checkpoint " + folder;
  expectError(run(again + " --steps 2"), "--steps expects at least 3");
  expectError(run(again + " --steps 4 --seed 1"), "expects --seed 0, which");
  expectError(run(again + " --steps 4 --data-position 4"),
              "expects --data-position 0, which the run began with, but got 4");
  std::ofstream(root + "/text2") << std::string(300, 'a');
  expectError(runProgram(TRAIN2_PROGRAM,
                         again + " --steps 4 --data " + root + "/text2"),
              "expects the data '");
  expectError(run(again + " --steps 4 --load " + folder + "/step-00000002"),
              "to go back, name a new folder");
  expectError(run("--load " + root + "/none"), "expects a checkpoint at");
  expectError(run("--load " + folder + "/step-00000009"),
              "expects a checkpoint at");
  expectError(run("--load " + root), "expects '");
  expectError(run("--steps 1 --checkpoint " + root), "but got 'ck' in it");
  expectError(run("--checkpoint-interval 0 --checkpoint " + folder),
              "--checkpoint-interval expects steps (50), seconds (60s) or "
              "auto, more than 0, but got '0'");
  expectError(run("--checkpoint-memory 1000 --checkpoint " + folder),
              "--checkpoint-memory expects bytes, at least 64KiB");
  expectError(run("--keep 3"), "--keep expects --checkpoint DIR");
  expectError(run("--steps 2 --checkpoint " + root + "/new --load " + folder),
              "--steps expects at least 3, the step that the run has reached");
  for (const char *other : {"--weights", "--inputs"})
    expectError(run("--load " + folder + " " + other + " " + root),
                (std::string("from --load or from ") + other).c_str());
  expectError(runProgram(MESH4_PROGRAM, "--checkpoint " + folder),
              "--checkpoint expects a training step");
  // Nothing was changed by any of them.
  EXPECT_EQ(steps(), (List{2, 3}));
  EXPECT_EQ(findDamage(3), "");
}

TEST_F(Checkpoint, of_another_model_or_version) {
  ASSERT_EQ(save(2).status, 0);
  std::string path = folder + "/step-00000002/manifest.json";
  auto change = [&](const std::string &from, const std::string &to) {
    std::string text = readFile(path);
    size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    std::ofstream(path) << text.replace(at, from.size(), to);
    std::string sums = readFile(folder + "/step-00000002/XXH64SUMS");
    std::string whole = readFile(path);
    sums.replace(0, 16, describeChecksum(xxh64(whole.data(), whole.size())));
    std::ofstream(folder + "/step-00000002/XXH64SUMS") << sums;
  };
  change("\"version\": 1", "\"version\": 2");
  expectError(save(3, "", 3), "expects version 1, but got 2");
  EXPECT_EQ(steps(), (List{1, 2}));
  change("\"version\": 2", "\"version\": 1");
  // Names are as long, so that the files' bytes stay those of the manifest.
  change("\"name\": \"w.m\"", "\"name\": \"w.n\"");
  std::string file = folder + "/step-00000002/rank-00000.safetensors";
  EXPECT_NE(findDamage(2).find("expects the header that the manifest implies"),
            std::string::npos)
      << findDamage(2);
}

TEST_F(Checkpoint, one_run_at_a_time) {
  ASSERT_EQ(save(1).status, 0);
  int fd = open((folder + "/lock").c_str(), O_RDWR | O_CLOEXEC);
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  ASSERT_EQ(fcntl(fd, F_OFD_SETLK, &whole), 0);
  Outcome second = save(2, "--timeout 2", 2);
  EXPECT_EQ(second.status, 1);
  EXPECT_NE(second.err.find("but another one writes to '"), std::string::npos)
      << second.err;
  EXPECT_NE(second.err.find("host "), std::string::npos) << second.err;
  EXPECT_EQ(steps(), List{1});
  close(fd);
  EXPECT_EQ(save(2, "", 2).status, 0);
}

TEST_F(Checkpoint, without_locks_the_first_run_ends) {
  ASSERT_EQ(save(1).status, 0);
  // Another run writes its number once this one has a checkpoint.
  std::thread other([&] {
    while (!fs::exists(folder + "/step-00000002") &&
           !fs::exists(folder + "/step-00000003"))
      usleep(10000);
    std::ofstream(folder + "/lock")
        << "host x, process 1, job none, number 1\n";
  });
  Outcome first =
      run("--quiet --steps 20 --checkpoint-interval 1 --checkpoint " + folder,
          "export TRAIN2_SLOW=0 FAULT_NO_LOCKS=1 "
          "LD_PRELOAD=" FAULT_INJECTOR ";");
  other.join();
  EXPECT_NE(first.status, 0);
  EXPECT_NE(first.err.find("another run writes to '"), std::string::npos)
      << first.err;
  EXPECT_NE(first.err.find("host x, process 1"), std::string::npos);
  EXPECT_EQ(linesOf(first.err).size(), 1u) << first.err;
  EXPECT_LT(steps().back(), 20);
  for (int64_t step : steps())
    EXPECT_EQ(findDamage(step), "");
}

TEST_F(Checkpoint, signals_ask_for_one) {
  // A step takes 0.4 s; the interval alone would never begin one.
  std::string found = "ls " + folder + " 2>/dev/null | grep -q ";
  Outcome outcome = run(
      "--quiet --steps 100 --checkpoint-interval 1000 --keep 9 --checkpoint " +
          folder,
      "start() { TRAIN2_SLOW=0 \"$@\" & until " + found +
          "lock; do sleep 0.05; done; kill -USR1 $!; until " + found +
          "'step-[0-9]*$'; do sleep 0.05; done; kill -TERM $!; wait $!; }; "
          "start");
  EXPECT_EQ(outcome.status, 143) << outcome.err;
  ASSERT_EQ(steps().size(), 2u);
  EXPECT_LT(steps()[0], steps()[1]);
  EXPECT_LT(steps()[1], 100);
}

TEST_F(Checkpoint, damage_is_found_and_named) {
  ASSERT_EQ(save(2).status, 0);
  std::mt19937 random(1);
  std::string step = folder + "/step-00000002/";
  std::vector<std::string> names;
  for (const fs::directory_entry &entry : fs::directory_iterator(step))
    names.push_back(entry.path().filename());
  ASSERT_EQ(names.size(), 4u);
  std::sort(names.begin(), names.end());
  int flips = getenv("TESSERA_CHECK") ? 10000 : 1000;
  for (int i = 0; i < flips; ++i) {
    const std::string &name = names[size_t(i) % names.size()];
    std::string whole = readFile(step + name), damaged = whole;
    size_t bit = random() % (whole.size() * 8);
    damaged[bit / 8] = char(damaged[bit / 8] ^ 1 << bit % 8);
    std::ofstream(step + name, std::ios::binary) << damaged;
    std::string fault = findDamage(2);
    // What is wrong with the sums is wrong with the file that they name.
    EXPECT_TRUE(fault.find(name) != std::string::npos ||
                (name == "XXH64SUMS" && !fault.empty()))
        << name << ", bit " << bit << ": " << fault;
    std::ofstream(step + name, std::ios::binary) << whole;
  }
  for (const std::string &name : names) {
    std::string whole = readFile(step + name);
    for (size_t size = 0; size < whole.size(); size += 512) {
      fs::resize_file(step + name, size);
      EXPECT_NE(findDamage(2).find(name), std::string::npos)
          << name << " of " << size << " bytes: " << findDamage(2);
      std::ofstream(step + name, std::ios::binary) << whole;
    }
    // Files of two steps are exchanged.
    std::string other = readFile(folder + "/step-00000001/" + name);
    if (other == whole)
      continue;
    std::ofstream(step + name, std::ios::binary) << other;
    EXPECT_NE(findDamage(2), "") << name;
    std::ofstream(step + name, std::ios::binary) << whole;
  }
  EXPECT_EQ(findDamage(2), "");
}

TEST_F(Checkpoint, a_damaged_one_is_passed_over) {
  ASSERT_EQ(run("--quiet --steps 4 --save-final " + root + "/all").status, 0);
  ASSERT_EQ(save(3).status, 0);
  std::string file = folder + "/step-00000003/rank-00001.safetensors";
  fs::resize_file(file, fs::file_size(file) - 1);
  Outcome on = run("--steps 3 --checkpoint " + folder);
  EXPECT_EQ(on.status, 0) << on.err;
  EXPECT_NE(on.err.find("damaged checkpoint: '" + fs::canonical(file).string()),
            std::string::npos)
      << on.err;
  EXPECT_NE(on.out.find("goes on after step 2"), std::string::npos) << on.out;
  // Its step was written again.
  EXPECT_EQ(steps(), (List{2, 3}));
  EXPECT_EQ(findDamage(3), "");
  ASSERT_EQ(save(4, "--save-final " + root + "/end", 4).status, 0);
  EXPECT_EQ(readFile(root + "/all/w.npy"), readFile(root + "/end/w.npy"));
  // Without a whole one the run ends, and nothing is deleted.
  for (int64_t step : steps())
    fs::remove(folder + "/" + stepName(step) + "/XXH64SUMS");
  Outcome none = save(5, "", 5);
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.err.find("all 2 are damaged; nothing was deleted"),
            std::string::npos)
      << none.err;
  EXPECT_EQ(steps(), (List{3, 4}));
}
