//===- WriterTest.cpp - Writing a rank's files ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TemporaryFolder.h"

#include "runtime/src/checkpoint/Writer.h"
#include "runtime/src/support/Hash.h"

#include <atomic>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

using namespace tessera::rt;

namespace {

/// Copies at once, and can be told to fail or to hang.
class OwnSource : public StateSource {
public:
  explicit OwnSource(const uint8_t *arena) : arena(arena) {}

  std::atomic<bool> hangs = false;
  /// The copy that fails, counted from 1.
  int failsAt = 0;

  std::string allocate(int64_t bytes, uint8_t *&allocated) override {
    memory.resize(size_t(bytes));
    allocated = memory.data();
    return "";
  }
  std::string enter() override { return ""; }
  std::string copy(uint8_t *to, int64_t offset, int64_t bytes) override {
    memcpy(to, arena + offset, size_t(bytes));
    return ++copies == failsAt ? "the device fell off" : "";
  }
  std::string wait() override {
    while (hangs.load())
      usleep(1000);
    return "";
  }
  int64_t pieceBytes() const override { return 1000; }

private:
  const uint8_t *arena;
  std::vector<uint8_t> memory;
  int copies = 0;
};

/// A writer of one value of 10,007 numbers.
class CheckpointWriterTest : public testing::Test {
protected:
  void SetUp() override {
    std::filesystem::remove_all(folder);
    value.name = "w";
    value.dtype = TESSERA_RT_F32;
    value.shape = value.logicalShape = value.paddedShape =
        value.localShape = {count};
    value.sharding = {{}};
    value.offsets = {64};
    value.bytes = count * 4;
    for (int64_t i = 0; i < count; ++i)
      numbers()[i] = float(i);
    std::vector<std::vector<CheckpointFile>> all;
    ASSERT_EQ(layoutFiles({&value}, 1, all), "");
    files = all.front();
    auto own = std::make_unique<OwnSource>(arena.data());
    source = own.get();
    writer = std::make_unique<CheckpointWriter>(files, arena.data(),
                                                std::move(own), 0, 10);
    // Elements are at the ring's end and at its start.
    ASSERT_EQ(writer->allocate(4999), "");
  }

  float *numbers() { return reinterpret_cast<float *>(arena.data() + 64); }
  void begin() {
    writer->begin(folder, /*isBesideSteps=*/true, [this] {
      isFinished = true;
      return std::string();
    });
  }
  std::string written() {
    std::ifstream file(folder + "/" + files.front().name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string expected() {
    return files.front().header +
           std::string(reinterpret_cast<char *>(numbers()), size_t(count) * 4);
  }

  static constexpr int64_t count = 10007;
  const std::string folder = temporary("writer");
  std::vector<uint8_t> arena = std::vector<uint8_t>(64 + count * 4);
  Value value;
  std::vector<CheckpointFile> files;
  std::unique_ptr<CheckpointWriter> writer;
  OwnSource *source = nullptr;
  bool isFinished = false;
};

TEST_F(CheckpointWriterTest, elements_pass_a_small_ring) {
  begin();
  EXPECT_TRUE(writer->waitFor(10));
  std::string text = expected();
  // The state may change as soon as it has been copied.
  memset(arena.data(), 1, arena.size());
  EXPECT_EQ(writer->end(), "");
  EXPECT_TRUE(isFinished);
  EXPECT_EQ(written(), text);
  EXPECT_EQ(writer->sums().front(), xxh64(text.data(), text.size()));
}

TEST_F(CheckpointWriterTest, a_wait_ends_when_the_copies_do) {
  source->hangs = true;
  begin();
  EXPECT_FALSE(writer->waitFor(0));
  EXPECT_FALSE(writer->waitFor(0.02));
  EXPECT_GT(writer->secondsWaited(), 0.01);
  source->hangs = false;
  EXPECT_TRUE(writer->waitFor(10));
  EXPECT_EQ(writer->end(), "");
  EXPECT_EQ(written(), expected());
}

TEST_F(CheckpointWriterTest, a_copy_that_fails_ends_the_checkpoint) {
  source->failsAt = 5;
  begin();
  // A step goes on; the run learns of it after the step.
  EXPECT_TRUE(writer->waitFor(10));
  EXPECT_EQ(writer->end(), "the device fell off");
  EXPECT_FALSE(isFinished);
}

} // namespace
