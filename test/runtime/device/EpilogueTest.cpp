//===- EpilogueTest.cpp - Matmuls with epilogues --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kind of epilogue, in each element type and over odd sizes, compared with
// its definition in f64: by the host's code, by the runtime's kernels on the
// emulator, and by a replacement of cuBLASLt. Also tests which split of a call
// is chosen, and that it is kept.
//
//===----------------------------------------------------------------------===//

#include "EpilogueCases.h"
#include "FakeDevice.h"
#include "Ranks.h"
#include "runtime/cuda/Matmul.h"
#include "runtime/cuda/TuneFile.h"

#include <gtest/gtest.h>
#include <unistd.h>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

namespace {
class EpilogueTest : public testing::Test {
protected:
  void SetUp() override {
    std::string error;
    device = createEmulatedDevice(0, error);
    ASSERT_TRUE(device) << error;
    ASSERT_EQ(device->createStream(false, stream), "");
    useFakes(device.get());
    hostKernels = createHostKernels(*device, rank);
    emulated = createDeviceKernels(*device, error);
    ASSERT_TRUE(emulated) << error;
    options.mode = TuneOptions::Off;
    options.remark = [](const std::string &) {};
    options.path = testing::TempDir() + "tessera-epilogue-" +
                   std::to_string(getpid()) + ".tune";
    unlink(options.path.c_str());
  }
  void TearDown() override {
    slowEpilogues(false);
    unlink(options.path.c_str());
  }

  std::unique_ptr<Matmul> library() { return library(*emulated); }
  std::unique_ptr<Matmul> library(Kernels &kernels) {
    std::string error;
    auto matmul = createCublasLt(*device, kernels, stream, options, error);
    EXPECT_EQ(error, "");
    return matmul;
  }
  void slowEpilogues(bool areSlow) {
    fakeFunction<void(int)>("libcublasLt.so.13",
                            "tessera_fake_slow_epilogues")(areSlow);
  }
  /// Number of library calls with an epilogue that `body` makes.
  int64_t callsOf(int epilogue, const std::function<void()> &body) {
    auto *count = fakeFunction<int64_t(int)>("libcublasLt.so.13",
                                             "tessera_fake_epilogue");
    int64_t before = count(epilogue);
    body();
    return count(epilogue) - before;
  }

  /// Prepares and runs a case; returns its error, see worstEpilogueError. A
  /// shift exchanges the first number of the bias with that one.
  double run(Matmul &matmul, const EpilogueCase &t, int64_t biasShift = 0) {
    EpilogueOperands operands(t);
    MatmulCall call = operands.call(t);
    EXPECT_EQ(matmul.prepare({call}), "");
    // Preparing may have run the call.
    operands.restart(t);
    double first = operands.bias.get(0);
    operands.bias.set(0, operands.bias.get(biasShift));
    operands.bias.set(biasShift, first);
    EXPECT_EQ(matmul.run(stream, call), "");
    EXPECT_EQ(device->synchronize(stream), "");
    return worstEpilogueError(t, operands);
  }

  SingleRank rank{1, 4096};
  std::unique_ptr<Device> device;
  Stream stream;
  std::unique_ptr<Kernels> hostKernels, emulated;
  TuneOptions options;
};

} // namespace

TEST_F(EpilogueTest, every_kind_is_as_defined) {
  std::unique_ptr<Matmul> ways[] = {
      createHostMatmul(*device, *hostKernels, rank),
      createHostMatmul(*device, *emulated, rank), library()};
  const char *names[] = {"host", "kernels", "library"};
  int done = 0;
  for (const EpilogueCase &t : epilogueCases())
    for (int way = 0; way < 3; ++way) {
      if (!ways[way]->supports(t.dtype, t.cDtype))
        continue;
      ++done;
      EXPECT_LE(run(*ways[way], t), 1)
          << names[way] << ": " << EpilogueOperands(t).call(t).describe();
    }
  EXPECT_GT(done, 1000);
}

TEST_F(EpilogueTest, an_error_is_seen) {
  // Exchanges two numbers of a bias.
  EpilogueCase t{TESSERA_RT_FUSE_GELU,
                 TESSERA_RT_BF16,
                 TESSERA_RT_BF16,
                 TESSERA_RT_BF16,
                 true,
                 true,
                 0,
                 33,
                 40,
                 5};
  EXPECT_LE(run(*library(), t), 1);
  EXPECT_GT(run(*library(), t, 9), 5);
  EXPECT_GT(run(*createHostMatmul(*device, *emulated, rank), t, 9), 5);
}

TEST_F(EpilogueTest, columns_are_summed_in_one_order) {
  // The bits do not depend on the number of blocks, because the chunks do not.
  for (int64_t rows : {1, 15, 100, 1000, 40000})
    for (int64_t columns : {1, 8, 33}) {
      FloatTensor from(TESSERA_RT_BF16, rows, columns, 9);
      FloatTensor first(TESSERA_RT_F32, 1, columns, 0), again = first;
      for (FloatTensor *result : {&first, &again}) {
        ColumnReduction sums{TESSERA_RT_BF16, TESSERA_RT_F32, rows,
                             columns,         columns,        from.data(),
                             result->data()};
        void *workspace = nullptr;
        ASSERT_LE(emulated->reductionWorkspace(sums), int64_t(16) << 20);
        ASSERT_EQ(
            device->allocate(emulated->reductionWorkspace(sums), workspace),
            "");
        ASSERT_EQ(emulated->reduceColumns(stream, sums, workspace), "");
        ASSERT_EQ(device->synchronize(stream), "");
        ASSERT_EQ(device->release(workspace), "");
      }
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (int64_t i = 0; i < rows; ++i)
          sum += from.get(i * columns + j);
        EXPECT_NEAR(first.get(j), sum, 1e-3);
        EXPECT_EQ(first.get(j), again.get(j));
      }
    }
}

/// GELU of a bf16 matmul with its bias and argument, in rows of n.
static EpilogueCase geluOf(int64_t n) {
  return {TESSERA_RT_FUSE_GELU,
          TESSERA_RT_BF16,
          TESSERA_RT_BF16,
          TESSERA_RT_BF16,
          true,
          true,
          0,
          16,
          n,
          8};
}

TEST_F(EpilogueTest, what_the_library_does_not_take_runs_apart) {
  constexpr int withBias = 164;
  // The library's own epilogue is the first choice if nothing is timed.
  EXPECT_GT(callsOf(withBias, [&] { run(*library(), geluOf(24)); }), 0);
  // Rows of the argument that are not a multiple of 8.
  EXPECT_EQ(
      callsOf(withBias, [&] { EXPECT_LE(run(*library(), geluOf(25)), 1); }), 0);
  // The sums have another type than the result, so only GELU's gradient is
  // fused.
  EpilogueCase sums = geluOf(24);
  sums.kind = TESSERA_RT_FUSE_GELU_GRADIENT;
  sums.biasDtype = TESSERA_RT_F32;
  EXPECT_EQ(callsOf(208, [&] { EXPECT_LE(run(*library(), sums), 1); }), 0);
  EXPECT_GT(callsOf(192, [&] { EXPECT_LE(run(*library(), sums), 1); }), 0);
  sums.biasDtype = TESSERA_RT_BF16;
  EXPECT_GT(callsOf(208, [&] { EXPECT_LE(run(*library(), sums), 1); }), 0);
}

TEST_F(EpilogueTest, what_cannot_run_after_all_runs_apart) {
  auto *refuse = fakeFunction<void(int)>("libcublasLt.so.13",
                                         "tessera_fake_refuse_epilogues");
  refuse(1);
  EXPECT_LE(run(*library(), geluOf(24)), 1);
  options.mode = TuneOptions::Cache;
  EXPECT_LE(run(*library(), geluOf(24)), 1);
  TuneFile file;
  EXPECT_EQ(file.read(options.path), "");
  EXPECT_EQ(file.entries.begin()->second.split, int64_t(MatmulSplit::Apart));
  refuse(0);
}

TEST_F(EpilogueTest, the_faster_way_is_chosen_and_kept) {
  options.mode = TuneOptions::Cache;
  EpilogueCase t = geluOf(24);
  EpilogueOperands operands(t);
  MatmulCall call = operands.call(t);
  for (bool areSlow : {true, false}) {
    SCOPED_TRACE(areSlow);
    unlink(options.path.c_str());
    slowEpilogues(areSlow);
    // The emulator's kernels are slower than the library's epilogue. The host's
    // code is not, if that epilogue is made slow.
    Kernels &kernels = areSlow ? *hostKernels : *emulated;
    ASSERT_EQ(library(kernels)->prepare({call}), "");
    TuneFile file;
    ASSERT_EQ(file.read(options.path), "");
    ASSERT_EQ(file.entries.size(), 1u);
    const TuneEntry &entry = file.entries.begin()->second;
    EXPECT_GT(entry.bySplit[0], 0);
    EXPECT_EQ(entry.bySplit[1], 0);
    EXPECT_GT(entry.bySplit[2], 0);
    EXPECT_EQ(entry.what,
              "bf16[1 x 16 x 24 x 8]^nn + gelu of bias, its argument");
    EXPECT_EQ(entry.split,
              int64_t(areSlow ? MatmulSplit::Apart : MatmulSplit::Whole));
    EXPECT_EQ(entry.seconds, entry.bySplit[size_t(entry.split)]);
    // The file's choice is used, even if another one is faster.
    TuneEntry other = entry;
    for (MatmulSplit split : {MatmulSplit::Whole, MatmulSplit::Apart}) {
      other.split = int64_t(split);
      file.entries.begin()->second = other;
      ASSERT_EQ(file.write(options.path), "");
      std::unique_ptr<Matmul> matmul = library();
      ASSERT_EQ(matmul->prepare({call}), "");
      EXPECT_EQ(callsOf(164, [&] { EXPECT_EQ(matmul->run(stream, call), ""); }),
                split == MatmulSplit::Whole ? 1 : 0);
    }
    // A split that the call does not have.
    other.split = int64_t(MatmulSplit::SumsApart);
    file.entries.begin()->second = other;
    ASSERT_EQ(file.write(options.path), "");
    EXPECT_GT(callsOf(164, [&] { EXPECT_EQ(library()->prepare({call}), ""); }),
              1);
  }
}
