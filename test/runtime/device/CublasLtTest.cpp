//===- CublasLtTest.cpp - Matmuls by cuBLASLt -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Uses a library that implements cuBLASLt's documentation on the host. Tests
// that operands are swapped and described correctly, and that algorithms are
// chosen and kept. The reference is the host target's matmul.
//
//===----------------------------------------------------------------------===//

#include "FakeDevice.h"
#include "Ranks.h"
#include "runtime/cuda/Matmul.h"
#include "runtime/cuda/TuneFile.h"
#include "runtime/src/host/HostTarget.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

namespace {
class CublasLtTest : public testing::Test {
protected:
  void SetUp() override {
    std::string error;
    device = createEmulatedDevice(0, error);
    ASSERT_TRUE(device) << error;
    ASSERT_EQ(device->createStream(false, stream), "");
    useFakes(device.get());
    kernels = createHostKernels(*device, rank);
    options.path = testing::TempDir() + "tessera-cublaslt-" +
                   std::to_string(getpid()) + ".tune";
    unlink(options.path.c_str());
    options.remark = [this](const std::string &text) {
      remarks += text + "\n";
    };
  }
  void TearDown() override {
    unlink(options.path.c_str());
    setenv("TESSERA_CUDA_LIBRARY_PATH", FAKES "/good", 1);
  }

  std::unique_ptr<Matmul> open() {
    std::string error;
    std::unique_ptr<Matmul> matmul =
        createCublasLt(*device, *kernels, stream, options, error);
    EXPECT_EQ(error, "");
    return matmul;
  }
  /// Number of matmuls that `body` requests from the library.
  int64_t matmulsOf(const std::function<void()> &body) {
    auto *count =
        fakeFunction<int64_t()>("libcublasLt.so.13", "tessera_fake_matmuls");
    int64_t before = count();
    body();
    return count() - before;
  }

  SingleRank rank{1, 4096};
  std::unique_ptr<Device> device;
  Stream stream;
  std::unique_ptr<Kernels> kernels;
  TuneOptions options;
  std::string remarks;
};

/// Numbers that are exact in bf16, with exact sums of their products in f32.
template <typename T> std::vector<T> numbers(size_t count, int seed) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) {
    float x = float(int((i * 7 + size_t(seed) * 5) % 9) - 4) / 2;
    if constexpr (sizeof(T) == 2)
      values[i] = T(floatToBf16(x));
    else
      values[i] = T(x);
  }
  return values;
}
} // namespace

template <typename In, typename Out>
static void compare(Matmul &matmul, Device &device, Stream stream,
                    tessera_rt_matmul_desc d) {
  size_t batch = size_t(d.batch);
  auto extent = [&](int64_t stride, int64_t rows, int64_t ld) {
    return (batch - 1) * size_t(stride) + size_t(rows * ld);
  };
  std::vector<In> a =
      numbers<In>(extent(d.stride_a, d.trans_a ? d.k : d.m, d.lda), 1);
  std::vector<In> b =
      numbers<In>(extent(d.stride_b, d.trans_b ? d.n : d.k, d.ldb), 2);
  std::vector<Out> c = numbers<Out>(extent(d.stride_c, d.m, d.ldc), 3);
  std::vector<Out> expected = c;
  SingleRank rank(1, 4096);
  host::matmul(rank, d, a.data(), b.data(), expected.data(), nullptr, nullptr);
  MatmulCall call;
  call.desc = d;
  call.a = a.data();
  call.b = b.data();
  call.c = c.data();
  std::vector<Out> before = c;
  ASSERT_EQ(matmul.prepare({call}), "");
  c = before;
  ASSERT_EQ(matmul.run(stream, call), "");
  ASSERT_EQ(device.synchronize(stream), "");
  EXPECT_TRUE(c == expected) << call.describe();
}

TEST_F(CublasLtTest, matmuls_are_those_of_the_host) {
  options.mode = TuneOptions::Off;
  std::unique_ptr<Matmul> matmul = open();
  ASSERT_TRUE(matmul);
  for (int64_t bits = 0; bits < 16; ++bits) {
    int64_t transA = bits & 1, transB = bits >> 1 & 1,
            accumulate = bits >> 2 & 1;
    int64_t batch = bits & 8 ? 3 : 1, m = 5, n = 7, k = 4;
    int64_t lda = (transA ? m : k) + 2, ldb = (transB ? k : n) + 1, ldc = n + 3;
    tessera_rt_matmul_desc d = {TESSERA_RT_F32,
                                TESSERA_RT_F32,
                                batch,
                                m,
                                n,
                                k,
                                lda,
                                ldb,
                                ldc,
                                lda * 5,
                                ldb * 7,
                                ldc * 5,
                                transA,
                                transB,
                                accumulate};
    // Half of the cases share B between the batches.
    if (transA)
      d.stride_b = 0;
    compare<float, float>(*matmul, *device, stream, d);
    d.dtype = d.c_dtype = TESSERA_RT_F64;
    compare<double, double>(*matmul, *device, stream, d);
    d.dtype = d.c_dtype = TESSERA_RT_BF16;
    compare<uint16_t, uint16_t>(*matmul, *device, stream, d);
    d.c_dtype = TESSERA_RT_F32;
    compare<uint16_t, float>(*matmul, *device, stream, d);
  }
}

TEST_F(CublasLtTest, matmuls_in_8_bits_have_scales) {
  options.mode = TuneOptions::Off;
  std::unique_ptr<Matmul> matmul = open();
  ASSERT_TRUE(matmul);
  SingleRank rank(1, 4096);
  constexpr int64_t m = 16, n = 32, k = 48;
  std::vector<uint8_t> a(m * k), b(n * k);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = uint8_t(0x30 + i % 7 + (i % 3 ? 0x80 : 0));
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = uint8_t(0x38 + i % 5 + (i % 4 ? 0 : 0x80));
  float scaleA = 0.5f, scaleB = 8;
  for (int64_t typeA : {TESSERA_RT_F8E4M3, TESSERA_RT_F8E5M2})
    for (int64_t typeC : {TESSERA_RT_F32, TESSERA_RT_BF16})
      for (int64_t accumulate : {0, 1}) {
        MatmulCall call;
        call.desc = {typeA, typeC, 1, m, n, k, k,         k,
                     n,     0,     0, 0, 0, 1, accumulate};
        call.dtypeB = TESSERA_RT_F8E4M3;
        std::vector<float> c = numbers<float>(m * n, 3), expected = c;
        call.a = a.data();
        call.b = b.data();
        call.c = c.data();
        call.scaleA = &scaleA;
        call.scaleB = &scaleB;
        host::scaledMatmul(rank, {call.desc, call.dtypeB, a.data(), b.data(),
                                  &scaleA, &scaleB, expected.data()});
        std::vector<float> before = c;
        ASSERT_TRUE(matmul->supports(int32_t(typeA), int32_t(typeC)));
        ASSERT_EQ(matmul->prepare({call}), "");
        c = before;
        ASSERT_EQ(matmul->run(stream, call), "");
        ASSERT_EQ(device->synchronize(stream), "");
        EXPECT_TRUE(memcmp(c.data(), expected.data(), c.size() * 4) == 0)
            << call.describe();
      }
  // An operand that is not contiguous along the contracted dimension is refused
  // by name.
  MatmulCall call;
  call.desc = {
      TESSERA_RT_F8E4M3, TESSERA_RT_F32, 1, m, n, k, k, n, n, 0, 0, 0, 0, 0, 0};
  call.dtypeB = TESSERA_RT_F8E5M2;
  std::vector<float> c(m * n);
  call.a = a.data();
  call.b = b.data();
  call.c = c.data();
  call.scaleA = call.scaleB = &scaleA;
  EXPECT_NE(
      matmul->prepare({call}).find("f8e4m3[1 x 16 x 32 x 48]^nn by f8e5m2"),
      std::string::npos);
}

/// One small matmul.
static MatmulCall smallCall(std::vector<float> &memory) {
  memory.assign(48, 1);
  MatmulCall call;
  call.desc = {
      TESSERA_RT_F32, TESSERA_RT_F32, 1, 4, 4, 4, 4, 4, 4, 0, 0, 0, 0, 0, 0};
  call.a = memory.data();
  call.b = memory.data() + 16;
  call.c = memory.data() + 32;
  return call;
}

TEST_F(CublasLtTest, the_fastest_way_is_found_and_kept) {
  std::vector<float> memory;
  MatmulCall call = smallCall(memory);
  EXPECT_GT(matmulsOf([&] { EXPECT_EQ(open()->prepare({call, call}), ""); }),
            10);
  EXPECT_NE(remarks.find("1 matmuls timed"), std::string::npos) << remarks;
  TuneFile file;
  ASSERT_EQ(file.read(options.path), "");
  ASSERT_EQ(file.entries.size(), 1u);
  // Number 2 is the fastest, and number 3 cannot run.
  EXPECT_EQ(file.entries.begin()->second.algo.data[0], 0xA162u);
  EXPECT_EQ(file.entries.begin()->second.workspaceBytes, 2048);

  // The next run times nothing, and runs each matmul once. --tune=on times
  // again, and so does another matmul.
  remarks.clear();
  EXPECT_EQ(matmulsOf([&] { EXPECT_EQ(open()->prepare({call}), ""); }), 1);
  EXPECT_EQ(remarks, "");
  options.mode = TuneOptions::On;
  EXPECT_GT(matmulsOf([&] { EXPECT_EQ(open()->prepare({call}), ""); }), 10);
  options.mode = TuneOptions::Cache;
  MatmulCall other = call;
  other.desc.accumulate = 1;
  EXPECT_GT(matmulsOf([&] { EXPECT_EQ(open()->prepare({call, other}), ""); }),
            10);
  ASSERT_EQ(file.read(options.path), "");
  EXPECT_EQ(file.entries.size(), 2u);
  // Off ignores the file and uses the library's first algorithm.
  options.mode = TuneOptions::Off;
  unlink(options.path.c_str());
  EXPECT_EQ(matmulsOf([&] { EXPECT_EQ(open()->prepare({call}), ""); }), 1);
  EXPECT_NE(access(options.path.c_str(), F_OK), 0);
}

TEST_F(CublasLtTest, a_file_of_no_use_is_replaced) {
  std::vector<float> memory;
  MatmulCall call = smallCall(memory);
  EXPECT_EQ(open()->prepare({call}), "");
  TuneFile file;
  ASSERT_EQ(file.read(options.path), "");

  auto expectTuned = [&](const char *why) {
    remarks.clear();
    EXPECT_GT(matmulsOf([&] { EXPECT_EQ(open()->prepare({call}), ""); }), 10);
    EXPECT_NE(remarks.find(why), std::string::npos) << remarks;
    EXPECT_EQ(matmulsOf([&] { EXPECT_EQ(open()->prepare({call}), ""); }), 1);
  };
  // A file of another version or device.
  TuneFile other = file;
  other.subject.libraryVersion = 120000;
  ASSERT_EQ(other.write(options.path), "");
  expectTuned("is not used: it is for version 120000 on ");
  other = file;
  other.subject.device = "another";
  ASSERT_EQ(other.write(options.path), "");
  expectTuned("on another");
  // A changed file.
  std::ofstream(options.path, std::ios::app) << "x";
  expectTuned("its checksum does not match");
  // An algorithm that the library refuses.
  other = file;
  other.entries.begin()->second.algo.data[0] = 1;
  ASSERT_EQ(other.write(options.path), "");
  expectTuned("1 matmuls timed");
}

TEST_F(CublasLtTest, a_place_that_cannot_be_written_is_a_remark) {
  std::vector<float> memory;
  MatmulCall call = smallCall(memory);
  options.path = "/proc/tessera.tune";
  EXPECT_EQ(open()->prepare({call}), "");
  EXPECT_NE(remarks.find("they cannot be kept in '/proc/tessera.tune': "),
            std::string::npos)
      << remarks;
}

TEST_F(CublasLtTest, other_ranks_take_the_first_one_s_choices) {
  std::vector<float> memory;
  MatmulCall call = smallCall(memory);
  // Also where nobody can write a file.
  options.path = "/proc/tessera.tune";
  std::string given;
  options.share = [&](std::string &text) -> std::string {
    given = text;
    return "";
  };
  EXPECT_EQ(open()->prepare({call}), "");
  TuneFile file;
  ASSERT_EQ(file.parse(given), "");
  EXPECT_EQ(file.entries.begin()->second.algo.data[0], 0xA162u);

  options.isFirst = false;
  options.share = [&](std::string &text) -> std::string {
    EXPECT_EQ(text, "");
    text = given;
    return "";
  };
  auto *heuristics =
      fakeFunction<int64_t()>("libcublasLt.so.13", "tessera_fake_heuristics");
  int64_t before = heuristics();
  EXPECT_EQ(matmulsOf([&] { EXPECT_EQ(open()->prepare({call}), ""); }), 1);
  EXPECT_EQ(heuristics(), before) << "it has chosen by itself";
  // A rank with another device chooses by itself, and so does one to which the
  // first gives nothing.
  file.subject.device = "another";
  for (const std::string &text : {file.text(), std::string()}) {
    given = text;
    before = heuristics();
    EXPECT_EQ(matmulsOf([&] { EXPECT_EQ(open()->prepare({call}), ""); }), 1);
    EXPECT_GT(heuristics(), before);
  }
  options.share = [](std::string &) { return "another rank has failed"; };
  EXPECT_EQ(open()->prepare({call}), "another rank has failed");
}

TEST_F(CublasLtTest, errors_name_the_matmul) {
  options.mode = TuneOptions::Off;
  std::vector<float> memory;
  MatmulCall call = smallCall(memory), wrong = call;
  wrong.desc.lda = 2;
  std::unique_ptr<Matmul> matmul = open();
  EXPECT_EQ(
      matmul->prepare({wrong}),
      "cuBLASLt 13.1, algorithms: CUBLAS_STATUS_INVALID_VALUE for f32[1 x "
      "4 x 4 x 4]^nn");
  EXPECT_EQ(matmul->run(stream, call),
            "a matmul that was not seen before the first step: f32[1 x 4 x 4 "
            "x 4]^nn");
}
