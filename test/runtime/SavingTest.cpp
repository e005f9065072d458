//===- SavingTest.cpp - Saved states --------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Saved files and initial files of a run: folders that are replaced as a whole,
// their manifests, and files that do not fit a program.
//
//===----------------------------------------------------------------------===//

#include "Programs.h"

#include "runtime/src/data/Folders.h"
#include "runtime/src/data/SavedState.h"
#include "runtime/src/data/StagedFolder.h"
#include "runtime/src/support/Hash.h"
#include "runtime/src/support/Json.h"
#include "runtime/src/support/Support.h"

#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>

using namespace tessera::rt;
namespace fs = std::filesystem;

namespace {
const std::string text(300, 'a');

Outcome run(const std::string &arguments, const std::string &before = "") {
  return runProgram(
      TRAIN2_PROGRAM,
      "--quiet --data " + writeText("train", text) + " " + arguments, before);
}

/// An empty folder for a test.
std::string freshFolder(const std::string &name) {
  std::string path = temporary(name);
  fs::remove_all(path);
  return path;
}

std::vector<std::string> list(const std::string &path) {
  std::vector<std::string> names;
  for (const fs::directory_entry &entry : fs::directory_iterator(path))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

SavedState stateOf(const std::string &folder) {
  SavedState state;
  EXPECT_EQ(readStateManifest(folder + "/manifest.json", state), "");
  return state;
}
} // namespace

TEST(saving, xxh64) {
  // Known answers of xxHash's own tests, and of the command xxhsum.
  EXPECT_EQ(xxh64("", 0), 0xef46db3751d8e999u);
  EXPECT_EQ(xxh64("a", 1), 0xd24ec4f1a98c6e5bu);
  EXPECT_EQ(xxh64("abc", 3), 0x44bc2cf5ad770999u);
  std::string long_ = "Nobody inspects the spammish repetition";
  EXPECT_EQ(xxh64(long_.data(), long_.size()), 0xfbcea83c8a378bf1u);
}

TEST(saving, manifest_of_a_state) {
  std::string root = freshFolder("manifest"), folder = root + "/a/b";
  ASSERT_EQ(run("--steps 3 --data-position 8 --save-final " + folder).status,
            0);
  EXPECT_EQ(list(folder),
            (std::vector<std::string>{"manifest.json", "step.npy", "w.m.npy",
                                      "w.master.npy", "w.npy"}));
  EXPECT_EQ(list(root + "/a"), std::vector<std::string>{"b"});
  SavedState state = stateOf(folder);
  EXPECT_EQ(state.kind, "state");
  EXPECT_EQ(state.program, "train2");
  EXPECT_EQ(state.hash, "00");
  EXPECT_EQ(state.ranks, 2);
  EXPECT_EQ(state.step, 3);
  EXPECT_EQ(state.dataPosition, 8 + 3 * 4);
  EXPECT_EQ(state.data, resolvePath(temporary("train")));
  ASSERT_EQ(state.files.size(), 4u);
  const SavedFile &w = state.files[0];
  EXPECT_EQ(w.name, "w");
  EXPECT_EQ(w.dtype, "f32");
  EXPECT_EQ(w.shape, std::vector<int64_t>{128});
  std::string content = readFile(folder + "/w.npy");
  EXPECT_EQ(w.bytes, int64_t(content.size()));
  EXPECT_EQ(w.checksum, xxh64(content.data(), content.size()));
  // The step count continues.
  ASSERT_EQ(run("--steps 2 --data-position 20 --inputs " + folder +
                " --save-final " + folder)
                .status,
            0);
  EXPECT_EQ(stateOf(folder).step, 5);
  EXPECT_EQ(stateOf(folder).dataPosition, 28);
  EXPECT_EQ(list(root + "/a"), std::vector<std::string>{"b"});
  // A run remarks on data that does not continue.
  Outcome again = runProgram(TRAIN2_PROGRAM, "--data " + temporary("train") +
                                                 " --inputs " + folder);
  EXPECT_EQ(again.status, 0);
  EXPECT_NE(again.out.find("goes on with sequence 28 of the data, but this run "
                           "begins with 0"),
            std::string::npos)
      << again.out;
  fs::remove_all(root);
}

TEST(saving, only_a_saved_state_is_replaced) {
  std::string root = freshFolder("replaced"), folder = root + "/s";
  fs::create_directories(folder);
  std::string save = "--steps 1 --save-final " + folder;
  ASSERT_EQ(run(save).status, 0) << "an empty folder";
  std::ofstream(folder + "/notes.txt") << "mine";
  expectError(run(save),
              "but got 'notes.txt', which its manifest.json does not name");
  EXPECT_EQ(readFile(folder + "/notes.txt"), "mine");
  EXPECT_EQ(stateOf(folder).step, 1);
  fs::remove(folder + "/manifest.json");
  expectError(run(save), "but got 'notes.txt' in it, and cannot open");
  EXPECT_EQ(list(folder).size(), 5u);
  expectError(run("--steps 1 --save-final " + folder + "/notes.txt"),
              "notes.txt' to be a directory");
  expectError(run("--steps 1 --save-final " + folder + "/notes.txt/x"),
              "cannot make the directory");
  expectError(run("--steps 1 --save-final /dev/shm"), "is mounted");
  expectError(run("--steps 1 --save-final ''"), "expects a path");
  expectError(run("--steps 1 --save-final " + root + "/x --save-initial " +
                  root + "/x"),
              "another run saves there");
  // A link stays, and the folder to which it points is replaced.
  fs::create_directories(root + "/there");
  fs::create_symlink("there", root + "/link");
  ASSERT_EQ(run("--steps 1 --save-final " + root + "/link").status, 0);
  EXPECT_TRUE(fs::is_symlink(root + "/link"));
  EXPECT_EQ(stateOf(root + "/there").step, 1);
  EXPECT_EQ(list(root), (std::vector<std::string>{"link", "s", "there"}));
  fs::remove_all(root);
}

TEST(saving, what_a_dead_run_left_is_mended) {
  std::string root = freshFolder("mended"), folder = root + "/s";
  ASSERT_EQ(run("--steps 1 --save-final " + folder).status, 0);
  // A dead run left half a folder at the staging path.
  fs::create_directories(folder + ".partial");
  std::ofstream(folder + ".partial/w.npy") << "half";
  // A file system without exchanges was interrupted between two renames.
  fs::rename(folder, folder + ".former");
  ASSERT_EQ(run("--steps 2 --data-position 4 --inputs " + folder +
                " --save-final " + folder)
                .status,
            0)
      << "read where it is";
  EXPECT_EQ(stateOf(folder).step, 3);
  EXPECT_EQ(list(root), std::vector<std::string>{"s"});
  // The staging folder has somebody else's file, or is in use.
  fs::create_directories(folder + ".partial");
  std::ofstream(folder + ".partial/notes.txt") << "mine";
  expectError(run("--steps 1 --save-final " + folder), "notes.txt");
  fs::remove(folder + ".partial/notes.txt");
  int fd = open((folder + ".partial").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(fd, LOCK_EX | LOCK_NB), 0);
  expectError(run("--steps 1 --save-final " + folder),
              "another run saves there");
  close(fd);
  ASSERT_EQ(run("--steps 1 --save-final " + folder).status, 0);
  EXPECT_EQ(list(root), std::vector<std::string>{"s"});
  fs::remove_all(root);
}

TEST(saving, a_signal_before_the_first_step_saves_nothing) {
  std::string folder = freshFolder("early");
  ASSERT_EQ(run("--steps 2 --save-final " + folder).status, 0);
  // The ranks sleep in the first step of an evaluation.
  Outcome outcome =
      run("--steps 9 --eval-every 9 --save-final " + folder +
              " & pid=$!; sleep 0.2; kill -TERM $pid; wait $pid; exit $?",
          "export TRAIN2_SLOW=1; ");
  EXPECT_EQ(outcome.status, 143) << outcome.err;
  EXPECT_EQ(stateOf(folder).step, 2);
  EXPECT_FALSE(fs::exists(folder + ".partial"));
  // A signal after some steps saves them.
  outcome = run("--steps 9 --save-final " + folder +
                    " & pid=$!; sleep 0.6; kill -HUP $pid; wait $pid; exit $?",
                "export TRAIN2_SLOW=1; ");
  EXPECT_EQ(outcome.status, 143) << outcome.err;
  EXPECT_GT(stateOf(folder).step, 0);
  EXPECT_LT(stateOf(folder).step, 9);
  EXPECT_EQ(stateOf(folder).dataPosition, 4 * stateOf(folder).step);
  // All steps are done, so nothing remains.
  outcome = run("--steps 1 --save-final " + folder +
                    " & pid=$!; sleep 0.2; kill -TERM $pid; wait $pid; exit $?",
                "export TRAIN2_SLOW=1; ");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  fs::remove_all(folder);
}

TEST(inputs, all_files_that_do_not_fit_are_listed) {
  std::string root = freshFolder("inputs"), folder = root + "/s";
  std::string with = "--steps 0 --inputs " + folder;
  ASSERT_EQ(run("--steps 1 --save-final " + folder).status, 0);
  ASSERT_EQ(run(with).status, 0);
  std::vector<float> values(130);
  ASSERT_EQ(writeNpy(folder + "/w.npy", TESSERA_RT_F32, {130}, values.data()),
            "");
  ASSERT_EQ(writeNpy(folder + "/v.npy", TESSERA_RT_F32, {130}, values.data()),
            "");
  fs::remove(folder + "/w.m.npy");
  fs::remove(folder + "/manifest.json");
  Outcome outcome = run(with);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(
      outcome.err,
      "tessera: error: rank 0: --inputs '" + folder +
          "' does not fit the program: 3 files\n"
          "  misshapen: 'w.npy': argument 'w' expects f32[128], but got "
          "f32[130]\n"
          "  missing: 'w.m.npy', f32[128]\n"
          "  extra: 'v.npy', which the program has no argument for\n"
          "--init-missing initializes what is missing as without --inputs\n");
  // Missing files may be initialized; misshapen files are an error.
  fs::remove(folder + "/v.npy");
  expectError(run(with + " --init-missing"), "misshapen: 'w.npy'");
  ASSERT_EQ(writeNpy(folder + "/w.npy", TESSERA_RT_F32, {128}, values.data()),
            "");
  expectError(run(with), "missing: 'w.m.npy', f32[128]; --init-missing");
  EXPECT_EQ(run(with + " --init-missing").status, 0);
  expectError(run("--init-missing"), "--init-missing expects --inputs");
  expectError(run("--inputs " + root + "/none"), "cannot read the directory");
  fs::remove_all(root);
}

TEST(inputs, files_of_two_states_are_not_mixed) {
  std::string root = freshFolder("mixed"), one = root + "/1", two = root + "/2";
  ASSERT_EQ(run("--steps 1 --save-final " + one).status, 0);
  ASSERT_EQ(run("--steps 2 --save-final " + two).status, 0);
  fs::copy(one + "/w.m.npy", two + "/w.m.npy",
           fs::copy_options::overwrite_existing);
  expectError(run("--steps 0 --inputs " + two),
              "w.m.npy' is not as it was saved");
  fs::remove(two + "/w.m.npy");
  expectError(run("--steps 0 --inputs " + two),
              "missing: 'w.m.npy', which manifest.json names");
  // The user allows missing files.
  expectError(run("--steps 0 --init-missing --inputs " + two), "w.m.npy");
  fs::remove(two + "/manifest.json");
  EXPECT_EQ(run("--steps 0 --init-missing --inputs " + two).status, 0);
  std::ofstream(one + "/manifest.json") << "{\"format\": \"else\"}";
  expectError(run("--steps 0 --inputs " + one), "no manifest of a saved state");
  fs::remove_all(root);
}

TEST(inputs, fields_of_a_state_are_known) {
  SavedState state, read;
  state.files = {{"w", "f32", {2}, 136, 1}};
  const std::string written = describeState(state);
  ASSERT_EQ(parseState(written, read), "");
  auto parseWith = [&](const char *from, const char *to) {
    std::string text = written;
    text.replace(text.find(from), strlen(from), to);
    return parseState(text, read);
  };
  const std::string fields =
      "expects the fields \"format\", \"version\", \"kind\", \"program\", "
      "\"hash\", \"ranks\", \"step\", \"data_position\", \"data\", \"files\", "
      "\"checksum\", but got ";
  EXPECT_EQ(parseWith("\"step\"", "\"epoch\": 3, \"step\""),
            fields + "\"epoch\"");
  EXPECT_EQ(parseWith("\"step\"", "\"steps\""), fields + "no \"step\"");
  EXPECT_EQ(parseWith("\"step\"", "\"step\": 3, \"step\""),
            fields + "several \"step\"");
  EXPECT_EQ(parseWith("\"bytes\"", "\"pad\": 0, \"bytes\""),
            "a file expects the fields \"name\", \"dtype\", \"shape\", "
            "\"bytes\", \"checksum\", but got \"pad\"");
  // Spacing may differ, but fields must be as saved.
  EXPECT_EQ(parseWith("\"step\": 0", "\"step\":  0"), "");
  for (auto [from, to] : {std::pair("\"step\": 0", "\"step\": 3"),
                          {"\"data_position\": 0", "\"data_position\": 8"},
                          {"\"bytes\": 136", "\"bytes\": 137"}})
    EXPECT_EQ(parseWith(from, to),
              "expects it as it was saved, but a field is another than its "
              "checksum says");
}
