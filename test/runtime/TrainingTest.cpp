//===- TrainingTest.cpp - Consecutive training steps ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs programs/Train2.c, a training step, and compares it with the same model
// trained here.
//
//===----------------------------------------------------------------------===//

#include "Programs.h"

#include "runtime/src/kernels/CpuKernels.h"
#include "runtime/src/support/Json.h"
#include "runtime/src/support/Random.h"
#include "runtime/src/support/Support.h"

#include <cmath>

using namespace tessera::rt;

namespace {
/// 31 sequences of 8 bytes, and some remaining bytes.
const std::string text =
    "It was the best of times, it was the worst of times, it was the age of "
    "wisdom, it was the age of foolishness, it was the epoch of belief, it was "
    "the epoch of incredulity, it was the season of Light, it was the season "
    "of Darkness, it was the spring of h";

Outcome run(const std::string &arguments, const std::string &before = "") {
  return runProgram(TRAIN2_PROGRAM,
                    "--data " + writeText("train", text) + " " + arguments,
                    before);
}

/// The model of Train2.c on one rank, in f64 except for the stored state.
struct Reference {
  std::vector<float> w = std::vector<float>(128), m = w;

  Reference() {
    cpuKernels().normal(randomKey(0, "w"), 0, 128, 0.0f, 0.5f, w.data());
  }
  /// Loss of the batch that begins with `sequence`, of `sequences` sequences.
  double loss(int64_t sequence, int64_t sequences) const {
    double sum = 0, total = 0;
    for (float x : w)
      sum += std::exp(double(x));
    for (int64_t i = 0; i < 32; ++i)
      total += std::log(sum) - double(w[label(sequence, sequences, i)]);
    return total / 32;
  }
  void step(int64_t sequence, int64_t sequences) {
    std::vector<double> gradient(128);
    double sum = 0;
    for (float x : w)
      sum += std::exp(double(x));
    for (size_t i = 0; i < 128; ++i)
      gradient[i] = std::exp(double(w[i])) / sum;
    for (int64_t i = 0; i < 32; ++i)
      gradient[label(sequence, sequences, i)] -= 1.0 / 32;
    for (size_t i = 0; i < 128; ++i) {
      m[i] = float(0.5 * double(m[i]) + gradient[i]);
      w[i] -= m[i];
    }
  }
  static size_t label(int64_t sequence, int64_t sequences, int64_t i) {
    int64_t row = (sequence + i / 8) % sequences;
    return size_t(text[size_t(row * 8 + i % 8 + 1)]);
  }
};

/// The JSON objects of a log with that event.
std::vector<Json> events(const Outcome &outcome, const char *event) {
  std::vector<Json> found;
  for (size_t begin = 0; begin < outcome.out.size();) {
    size_t end = outcome.out.find('\n', begin);
    Json json;
    std::string error;
    EXPECT_TRUE(parseJson(outcome.out.substr(begin, end - begin), json, error))
        << error;
    if (json.getString("event") == event)
      found.push_back(json);
    begin = end + 1;
  }
  return found;
}

std::vector<double> losses(const Outcome &outcome, const char *event = "step") {
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::vector<double> values;
  for (const Json &json : events(outcome, event))
    values.push_back(json.getNumber("loss", NAN));
  return values;
}

void expectNear(const std::vector<double> &a, const std::vector<double> &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], 2e-6) << "element " << i;
}

std::vector<float> saved(const std::string &directory, const char *name) {
  NpyArray array;
  EXPECT_EQ(array.open(directory + "/" + name + ".npy"), "");
  return floatsOf(array);
}
} // namespace

TEST(training, steps_follow_each_other) {
  // The run reads 64 sequences: the 31 twice, and two more.
  Reference reference;
  std::vector<double> wanted;
  for (int64_t step = 0; step < 16; ++step) {
    wanted.push_back(reference.loss(4 * step, 31));
    reference.step(4 * step, 31);
  }
  std::string directory = temporary("trained");
  Outcome outcome = run("--steps 16 --log=jsonl --save-outputs " + directory);
  expectNear(losses(outcome), wanted);
  EXPECT_LT(wanted.back(), wanted.front() - 1);
  std::vector<float> w = saved(directory, "w"), m = saved(directory, "w.m");
  for (size_t i = 0; i < 128; ++i) {
    EXPECT_NEAR(w[i], reference.w[i], 1e-5);
    EXPECT_NEAR(m[i], reference.m[i], 1e-5);
  }
  EXPECT_EQ(saved(directory, "step"), std::vector<float>{16});
  // A remark is printed each time that the data restarts.
  std::vector<Json> remarks = events(outcome, "remark");
  ASSERT_EQ(remarks.size(), 2u);
  EXPECT_EQ(remarks[0].getInteger("step", 0), 8);
  EXPECT_EQ(remarks[1].getInteger("step", 0), 16);
  EXPECT_NE(remarks[0].getString("text").find("all 31 sequences"),
            std::string::npos);
  // A second run gives the same bits.
  EXPECT_EQ(losses(run("--steps 16 --log=jsonl")), losses(outcome));
}

TEST(training, numbers_of_a_step) {
  Outcome outcome = run("--steps 2 --log=jsonl", "TRAIN2_SLOW=1");
  std::vector<Json> steps = events(outcome, "step");
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[1].getInteger("step", 0), 2);
  EXPECT_EQ(steps[1].getInteger("data_position", 0), 8);
  EXPECT_EQ(steps[1].getNumber("lr", 0), 1);
  EXPECT_GT(steps[1].getNumber("grad_norm", 0), 0);
  // Rank 0 may begin a step a little later than the rank that sleeps for 400
  // ms.
  EXPECT_GT(steps[1].getNumber("ms", 0), 350);
  EXPECT_EQ(steps[1].getInteger("slowest_rank", -1), 1);
  EXPECT_NEAR(steps[1].getNumber("tokens_per_second", 0) *
                  steps[1].getNumber("ms", 0),
              32e3, 200);
  std::vector<Json> memory = events(outcome, "memory");
  ASSERT_EQ(memory.size(), 1u);
  EXPECT_EQ(memory[0].getInteger("planned_bytes", 0), 3072);
}

TEST(training, lines_for_readers) {
  Outcome outcome = run("--steps 2");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "");
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < outcome.out.size();) {
    size_t end = outcome.out.find('\n', begin);
    lines.push_back(outcome.out.substr(begin, end - begin));
    begin = end + 1;
  }
  ASSERT_GE(lines.size(), 5u);
  EXPECT_EQ(lines[0], "plan: mesh dp=2");
  // Columns line up.
  EXPECT_EQ(lines[1].find("slowest"), lines[2].find("rank "));
  EXPECT_EQ(lines[1].find(" MFU ") + 1, lines[2].find(" N/A ") + 1);
  EXPECT_EQ(lines[2].size(), lines[3].size());
  EXPECT_EQ(lines[4].find("memory per rank after 2 steps: plan 3.07 kB,"), 0u);
}

TEST(training, data_position) {
  Outcome all = run("--steps 5 --log=jsonl");
  std::vector<double> whole = losses(all);
  Reference reference;
  std::vector<double> wanted{reference.loss(12, 31)};
  expectNear(losses(run("--data-position 12 --log=jsonl")), wanted);
}

TEST(training, evaluation_changes_nothing) {
  // Two batches of four sequences are held out, so 23 remain.
  Outcome outcome =
      run("--steps 7 --eval-every 3 --eval-batches 2 --log=jsonl");
  Reference reference;
  std::vector<double> wanted, held;
  auto evaluate = [&] {
    // Sequences 23..30 of all 31.
    held.push_back((reference.loss(23, 31) + reference.loss(27, 31)) / 2);
  };
  evaluate();
  for (int64_t step = 1; step <= 7; ++step) {
    wanted.push_back(reference.loss(4 * (step - 1), 23));
    reference.step(4 * (step - 1), 23);
    if (step % 3 == 0 || step == 7)
      evaluate();
  }
  expectNear(losses(outcome), wanted);
  expectNear(losses(outcome, "eval"), held);
  std::vector<Json> evals = events(outcome, "eval");
  EXPECT_EQ(evals[1].getInteger("step", 0), 3);
  EXPECT_EQ(evals[3].getInteger("step", 0), 7);
  // Nothing is held out under --eval-data: the training has the same bits.
  std::string other = writeText("other", text.substr(40));
  Outcome apart =
      run("--steps 7 --eval-every 3 --eval-data " + other + " --log=jsonl");
  EXPECT_EQ(losses(apart), losses(run("--steps 7 --log=jsonl")));
  expectError(run("--eval-every 1 --eval-batches 7 --quiet"),
              "at least 32 sequences of 8");
}

TEST(training, a_loss_that_is_no_number) {
  Outcome stopped = run("--steps 5 --quiet", "TRAIN2_NAN=3");
  expectError(stopped, "rank 0: step 3: the loss is nan");
  // A skipped step leaves the state as if the third batch did not exist.
  std::string directory = temporary("skipped");
  Outcome skipped =
      run("--steps 5 --on-nan=skip --log=jsonl --save-outputs " + directory,
          "TRAIN2_NAN=3");
  ASSERT_EQ(skipped.status, 0) << skipped.err;
  Reference reference;
  for (int64_t batch : {0, 1, 3, 4})
    reference.step(4 * batch, 31);
  std::vector<float> w = saved(directory, "w");
  for (size_t i = 0; i < 128; ++i)
    EXPECT_NEAR(w[i], reference.w[i], 1e-5);
  EXPECT_EQ(saved(directory, "step"), std::vector<float>{4});
  std::vector<Json> steps = events(skipped, "step");
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps[2].find("loss")->kind, Json::Null);
  EXPECT_TRUE(steps[2].find("undone")->boolean);
  EXPECT_FALSE(steps[3].find("undone")->boolean);
  EXPECT_EQ(events(skipped, "remark").size(), 1u);
  // A loss of -infinity is below every limit: the program changes its state.
  expectError(run("--steps 5 --quiet", "TRAIN2_BELOW=3"),
              "rank 0: step 3: the loss is -inf\n");
  expectError(
      run("--steps 5 --quiet --on-nan=skip", "TRAIN2_BELOW=3"),
      "rank 0: step 3: the loss is -inf; --on-nan=skip cannot go on, as "
      "the step has changed its state\n");
  // No step changed anything.
  Outcome nothing = run("--steps 1 --on-nan=skip --quiet", "TRAIN2_NAN=1");
  EXPECT_EQ(nothing.status, 3);
  EXPECT_EQ(nothing.err,
            "tessera: error: expects a step that changes parameters, but of 1 "
            "steps 0 were skipped because their gradients overflow, and 1 "
            "undone because loss or gradient norm were not finite\n");
}

TEST(training, state_that_starts_as_a_parameter) {
  std::string directory = temporary("initial");
  ASSERT_EQ(
      run("--quiet --steps 0 --seed 3 --save-initial " + directory).status, 0);
  std::vector<float> wanted(128);
  cpuKernels().normal(randomKey(3, "w"), 0, 128, 0.0f, 0.5f, wanted.data());
  EXPECT_EQ(saved(directory, "w"), wanted);
  EXPECT_EQ(saved(directory, "w.master"), wanted);
  EXPECT_EQ(saved(directory, "w.m"), std::vector<float>(128));
  // The master copy also starts from the parameter's file.
  std::vector<float> ours(128, 0.25f);
  std::string inputs = temporary("parameter");
  ASSERT_EQ(system(("mkdir -p " + inputs).c_str()), 0);
  ASSERT_EQ(writeNpy(inputs + "/w.npy", TESSERA_RT_F32, {128}, ours.data()),
            "");
  ASSERT_EQ(run("--quiet --steps 0 --init-missing --inputs " + inputs +
                " --save-initial " + directory)
                .status,
            0);
  EXPECT_EQ(saved(directory, "w"), ours);
  EXPECT_EQ(saved(directory, "w.master"), ours);
  EXPECT_EQ(saved(directory, "w.m"), std::vector<float>(128));
}

TEST(training, errors_before_the_first_step) {
  auto with = [](const std::string &data) {
    return runProgram(TRAIN2_PROGRAM, "--quiet --data " + data);
  };
  expectError(with(writeText("short", text.substr(0, 32))),
              "at least 33 tokens (4 sequences of 8, and one), but got 32");
  std::string strange = text;
  strange[20] = '\xe9';
  expectError(with(writeText("strange", strange)),
              "ids below 128, the vocabulary");
  expectError(with("/nonexistent"), "cannot open '/nonexistent'");
  expectError(run("--quiet --steps 0 --save-outputs x"), "--steps 0");
  expectError(run("--quiet --eval-data x"), "expects --eval-every");
}

TEST(training, memory_is_limited) {
  Outcome free = run("--steps 4 --report json --threads 1 --quiet");
  Json json;
  std::string error;
  ASSERT_TRUE(parseJson(free.out, json, error)) << error;
  const Json *memory = json.find("memory");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->getInteger("planned_bytes", 0), 3072);
  EXPECT_EQ(memory->getInteger("arena_bytes", 0), 4096);
  EXPECT_EQ(memory->getInteger("scratch_bytes", -1), 0);
  int64_t start = memory->getInteger("private_bytes_at_start", 0);
  EXPECT_GT(start, 0);
  // One megabyte more than an empty program needs is enough, but not for the
  // working memory of a matmul.
  std::string limit = "--steps 4 --quiet --threads 1 --memory-limit " +
                      std::to_string(start + 1000000);
  EXPECT_EQ(run(limit).status, 0);
  expectError(run(limit, "TRAIN2_MULTIPLY=3"), "bytes of --memory-limit");
  EXPECT_EQ(run("--steps 4 --quiet", "TRAIN2_MULTIPLY=3").status, 0);
  expectError(run("--quiet --memory-limit 3000"),
              "a rank needs 3072 bytes for the arena of its plan, but "
              "--memory-limit gives 3000");
  for (const char *bytes : {"40K", "40kB", "39KiB"})
    expectError(run(std::string("--quiet --memory-limit ") + bytes),
                "3072 of them for the arena");
  expectError(run("--quiet --memory-limit 0"), "bytes, at least 1");
}
