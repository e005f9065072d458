//===- EpilogueTest.cpp - Products with what follows them -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kind of what follows a product, in each element type and over odd sizes,
// against its definition in f64: by the host's code, by the runtime's kernels
// on the emulator, and by a library as cuBLASLt is. Then which of the ways to
// divide a call is chosen, and that it is kept.
//
//===----------------------------------------------------------------------===//

#include "FakeDevice.h"
#include "Matmul.h"
#include "Ranks.h"
#include "TuneFile.h"

#include <cmath>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

namespace {
/// A tensor of any float type, row after row, with numbers of a seed.
class Tensor {
public:
  Tensor(int32_t dtype, int64_t rows, int64_t columns, int seed)
      : dtype(dtype), rows(rows), columns(columns),
        lines(size_t(rows * columns * dtypeSize(dtype) / 256 + 1)) {
    for (int64_t i = 0; i < rows * columns; ++i)
      set(i, double((i * 37 + seed * 11 + i / 7) % 33 - 16) / 16);
  }
  void *data() { return lines.data(); }
  double get(int64_t i) const {
    const void *base = lines.data();
    switch (dtype) {
    case TESSERA_RT_BF16:
      return bf16ToFloat(static_cast<const uint16_t *>(base)[i]);
    case TESSERA_RT_F16:
      return double(static_cast<const _Float16 *>(base)[i]);
    case TESSERA_RT_F64:
      return static_cast<const double *>(base)[i];
    default:
      return static_cast<const float *>(base)[i];
    }
  }
  void set(int64_t i, double value) {
    void *base = lines.data();
    if (dtype == TESSERA_RT_BF16)
      static_cast<uint16_t *>(base)[i] = floatToBf16(float(value));
    else if (dtype == TESSERA_RT_F16)
      static_cast<_Float16 *>(base)[i] = _Float16(float(value));
    else if (dtype == TESSERA_RT_F64)
      static_cast<double *>(base)[i] = value;
    else
      static_cast<float *>(base)[i] = float(value);
  }
  int64_t size() const { return rows * columns; }
  /// Takes the numbers of another one, at its own place.
  void take(const Tensor &other) {
    std::copy(other.lines.begin(), other.lines.end(), lines.begin());
  }

  int32_t dtype;
  int64_t rows, columns;

private:
  /// All tensors are aligned alike, so that equal calls have equal keys.
  struct alignas(256) Line {
    uint8_t bytes[256];
  };
  std::vector<Line> lines;
};

/// What is asked for.
struct Case {
  int64_t kind;
  int32_t dtype, cDtype, biasDtype;
  bool hasBias, hasAux;
  /// 0: nothing is added; 1: C is; 2: another tensor is.
  int added;
  int64_t m, n, k;
  int64_t transA = 0, transB = 0;
};

/// Operands of a case, and the results by definition.
struct Operands {
  Tensor a, b, addend, c, bias, aux;
  std::vector<double> wantedC, wantedAux, wantedSums;
  std::vector<double> sizeOfSums;

  explicit Operands(const Case &t)
      : a(t.dtype, t.transA ? t.k : t.m, t.transA ? t.m : t.k, 1),
        b(t.dtype, t.transB ? t.n : t.k, t.transB ? t.k : t.n, 2),
        addend(t.cDtype, t.m, t.n, 3), c(t.cDtype, t.m, t.n, 4),
        bias(t.biasDtype, 1, std::max(t.m, t.n), 5), aux(t.cDtype, t.m, t.n, 6),
        wantedC(size_t(t.m * t.n)), wantedAux(wantedC),
        wantedSums(size_t(std::max(t.m, t.n))), sizeOfSums(wantedSums) {
    for (int64_t i = 0; i < t.m; ++i)
      for (int64_t j = 0; j < t.n; ++j)
        define(t, i, j);
    auto sum = [&](const Tensor &from, int64_t size) {
      for (int64_t d = 0; d < t.k; ++d)
        for (int64_t j = 0; j < size; ++j)
          add(j, from.get(d * size + j));
    };
    if (t.kind == TESSERA_RT_FUSE_LHS_SUMS)
      sum(a, t.m);
    if (t.kind == TESSERA_RT_FUSE_RHS_SUMS)
      sum(b, t.n);
  }

  MatmulCall call(const Case &t) {
    MatmulCall call;
    call.desc = {t.dtype, t.cDtype,  1,         t.m,      t.n,
                 t.k,     a.columns, b.columns, t.n,      0,
                 0,       0,         t.transA,  t.transB, t.added != 0};
    call.fusion = {t.kind, t.biasDtype, t.n};
    call.a = a.data();
    call.b = b.data();
    call.addend = t.added == 2 ? addend.data() : nullptr;
    call.c = c.data();
    call.bias = t.hasBias ? bias.data() : nullptr;
    call.aux = t.hasAux ? aux.data() : nullptr;
    return call;
  }

  /// What may have been written gets its first numbers.
  void restart(const Case &t) {
    Operands fresh(t);
    c.take(fresh.c);
    bias.take(fresh.bias);
    aux.take(fresh.aux);
  }

private:
  void add(int64_t j, double value) {
    wantedSums[size_t(j)] += value;
    sizeOfSums[size_t(j)] += std::fabs(value);
  }
  void define(const Case &t, int64_t i, int64_t j) {
    double x = 0;
    for (int64_t d = 0; d < t.k; ++d)
      x += a.get(t.transA ? d * t.m + i : i * t.k + d) *
           b.get(t.transB ? j * t.k + d : d * t.n + j);
    size_t at = size_t(i * t.n + j);
    if (t.added)
      x += (t.added == 1 ? c : addend).get(int64_t(at));
    if (t.kind == TESSERA_RT_FUSE_BIAS || t.kind == TESSERA_RT_FUSE_GELU)
      x += t.hasBias ? bias.get(j) : 0;
    wantedAux[at] = x;
    auto inner = [](double y) {
      return std::sqrt(2 / M_PI) * (y + 0.044715 * y * y * y);
    };
    if (t.kind == TESSERA_RT_FUSE_GELU)
      x = 0.5 * x * (1 + std::tanh(inner(x)));
    if (t.kind == TESSERA_RT_FUSE_GELU_GRADIENT) {
      // The derivative by a difference.
      double y = aux.get(int64_t(at)), h = 1e-5;
      auto gelu = [&](double z) { return 0.5 * z * (1 + std::tanh(inner(z))); };
      x *= (gelu(y + h) - gelu(y - h)) / (2 * h);
    }
    wantedC[at] = x;
    if (t.kind == TESSERA_RT_FUSE_GELU_GRADIENT)
      add(j, x);
  }
};

double accuracyOf(int32_t dtype) {
  return dtype == TESSERA_RT_BF16  ? 1.0 / 128
         : dtype == TESSERA_RT_F16 ? 1.0 / 1024
         : dtype == TESSERA_RT_F32 ? 1e-5
                                   : 1e-9;
}

/// The largest error of what a call has written, in units of what its types
/// allow.
double worstOf(const Case &t, const Operands &o) {
  double worst = 0, accuracy = accuracyOf(t.cDtype);
  auto compare = [&](double got, double wanted, double allowed) {
    double error = std::fabs(got - wanted) / allowed;
    worst = std::isfinite(error) ? std::max(worst, error) : 1e30;
  };
  for (int64_t i = 0; i < o.c.size(); ++i) {
    // A product that was rounded before is off by as much of itself.
    double size =
        2 + std::fabs(o.wantedC[size_t(i)]) + std::fabs(o.wantedAux[size_t(i)]);
    compare(o.c.get(i), o.wantedC[size_t(i)], accuracy * size);
    if (t.kind == TESSERA_RT_FUSE_GELU && t.hasAux)
      compare(o.aux.get(i), o.wantedAux[size_t(i)], accuracy * size);
  }
  bool ofOperand =
      t.kind == TESSERA_RT_FUSE_LHS_SUMS || t.kind == TESSERA_RT_FUSE_RHS_SUMS;
  if (t.hasBias && (ofOperand || t.kind == TESSERA_RT_FUSE_GELU_GRADIENT)) {
    double rough = std::max(accuracyOf(t.biasDtype),
                            ofOperand ? 0.0 : accuracyOf(t.cDtype));
    for (int64_t j = 0; j < (t.kind == TESSERA_RT_FUSE_LHS_SUMS ? t.m : t.n);
         ++j)
      compare(o.bias.get(j), o.wantedSums[size_t(j)],
              rough * (2 + o.sizeOfSums[size_t(j)] +
                       (ofOperand ? 0.0 : 4.0 * double(t.m))));
  }
  return worst;
}

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
  /// Calls of the library with an epilogue that `body` makes.
  int64_t callsOf(int epilogue, const std::function<void()> &body) {
    auto *count = fakeFunction<int64_t(int)>("libcublasLt.so.13",
                                             "tessera_fake_epilogue");
    int64_t before = count(epilogue);
    body();
    return count(epilogue) - before;
  }

  /// Prepares and runs a case; its error, see worstOf. With a shift the first
  /// number of the bias and that one change places.
  double run(Matmul &matmul, const Case &t, int64_t biasShift = 0) {
    Operands operands(t);
    MatmulCall call = operands.call(t);
    EXPECT_EQ(matmul.prepare({call}), "");
    // Preparing may have run it.
    operands.restart(t);
    double first = operands.bias.get(0);
    operands.bias.set(0, operands.bias.get(biasShift));
    operands.bias.set(biasShift, first);
    EXPECT_EQ(matmul.run(stream, call), "");
    EXPECT_EQ(device->synchronize(stream), "");
    return worstOf(t, operands);
  }

  SingleRank rank{1, 4096};
  std::unique_ptr<Device> device;
  Stream stream;
  std::unique_ptr<Kernels> hostKernels, emulated;
  TuneOptions options;
};

std::vector<Case> allCases() {
  const int32_t f32 = TESSERA_RT_F32, bf16 = TESSERA_RT_BF16,
                f16 = TESSERA_RT_F16, f64 = TESSERA_RT_F64;
  const int32_t types[][3] = {
      {f32, f32, f32}, {bf16, bf16, bf16}, {bf16, bf16, f32}, {bf16, f32, f32},
      {f16, f16, f16}, {f16, f16, f32},    {f64, f64, f64}};
  const int64_t sizes[][3] = {{1, 1, 1},   {5, 7, 3},    {16, 24, 8},
                              {33, 40, 5}, {70, 129, 6}, {3, 8, 100}};
  std::vector<Case> cases;
  for (auto &d : types)
    for (auto &s : sizes) {
      auto add = [&](int64_t kind, bool hasBias, bool hasAux, int added,
                     int64_t transA = 0, int64_t transB = 0) {
        cases.push_back({kind, d[0], d[1], d[2], hasBias, hasAux, added, s[0],
                         s[1], s[2], transA, transB});
      };
      add(TESSERA_RT_FUSE_NONE, false, false, 2);
      add(TESSERA_RT_FUSE_BIAS, true, false, 0, 0, 1);
      add(TESSERA_RT_FUSE_BIAS, true, false, 2);
      add(TESSERA_RT_FUSE_BIAS, true, false, 1, 1, 1);
      add(TESSERA_RT_FUSE_GELU, false, false, 0);
      add(TESSERA_RT_FUSE_GELU, true, false, 0);
      add(TESSERA_RT_FUSE_GELU, true, true, 0);
      add(TESSERA_RT_FUSE_GELU, false, true, 2);
      add(TESSERA_RT_FUSE_GELU_GRADIENT, false, true, 0, 0, 1);
      add(TESSERA_RT_FUSE_GELU_GRADIENT, true, true, 0, 0, 1);
      add(TESSERA_RT_FUSE_LHS_SUMS, true, false, 0, 1, 1);
      add(TESSERA_RT_FUSE_RHS_SUMS, true, false, 1, 1, 0);
      add(TESSERA_RT_FUSE_RHS_SUMS, true, false, 2, 0, 0);
    }
  return cases;
}
} // namespace

TEST_F(EpilogueTest, every_kind_is_as_defined) {
  std::unique_ptr<Matmul> ways[] = {
      createHostMatmul(*device, *hostKernels, rank),
      createHostMatmul(*device, *emulated, rank), library()};
  const char *names[] = {"host", "kernels", "library"};
  int done = 0;
  for (const Case &t : allCases())
    for (int way = 0; way < 3; ++way) {
      if (!ways[way]->supports(t.dtype, t.cDtype))
        continue;
      ++done;
      EXPECT_LE(run(*ways[way], t), 1)
          << names[way] << ": " << Operands(t).call(t).describe();
    }
  EXPECT_GT(done, 1000);
}

TEST_F(EpilogueTest, an_error_is_seen) {
  // Two numbers of a bias in the other's place.
  Case t{TESSERA_RT_FUSE_GELU,
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
  // The same bits with any number of blocks: by definition of the parts.
  for (int64_t rows : {1, 15, 100, 1000, 40000})
    for (int64_t columns : {1, 8, 33}) {
      Tensor from(TESSERA_RT_BF16, rows, columns, 9);
      Tensor first(TESSERA_RT_F32, 1, columns, 0), again = first;
      for (Tensor *result : {&first, &again}) {
        ColumnSums sums{TESSERA_RT_BF16, TESSERA_RT_F32, rows,          columns,
                        columns,         from.data(),    result->data()};
        void *workspace = nullptr;
        ASSERT_LE(emulated->sumsWorkspace(sums), int64_t(16) << 20);
        ASSERT_EQ(device->allocate(emulated->sumsWorkspace(sums), workspace),
                  "");
        ASSERT_EQ(emulated->sumColumns(stream, sums, workspace), "");
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

/// GELU of a bf16 product with its bias and argument, in rows of n.
static Case geluOf(int64_t n) {
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
  // Without times the library's own way is the first.
  EXPECT_GT(callsOf(withBias, [&] { run(*library(), geluOf(24)); }), 0);
  // Rows of the argument that are no multiple of 8.
  EXPECT_EQ(
      callsOf(withBias, [&] { EXPECT_LE(run(*library(), geluOf(25)), 1); }), 0);
  // Sums of another type than the result: GELU's gradient alone.
  Case sums = geluOf(24);
  sums.kind = TESSERA_RT_FUSE_GELU_GRADIENT;
  sums.biasDtype = TESSERA_RT_F32;
  EXPECT_EQ(callsOf(208, [&] { EXPECT_LE(run(*library(), sums), 1); }), 0);
  EXPECT_GT(callsOf(192, [&] { EXPECT_LE(run(*library(), sums), 1); }), 0);
  sums.biasDtype = TESSERA_RT_BF16;
  EXPECT_GT(callsOf(208, [&] { EXPECT_LE(run(*library(), sums), 1); }), 0);
}

TEST_F(EpilogueTest, the_faster_way_is_chosen_and_kept) {
  options.mode = TuneOptions::Cache;
  Case t = geluOf(24);
  Operands operands(t);
  MatmulCall call = operands.call(t);
  for (bool areSlow : {true, false}) {
    SCOPED_TRACE(areSlow);
    unlink(options.path.c_str());
    slowEpilogues(areSlow);
    // The emulator's kernels are slower than the library's own way, the host's
    // code is not, where that way takes its time.
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
    // What the file says is done, whatever would be faster.
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
    // A way that the call does not have.
    other.split = int64_t(MatmulSplit::SumsApart);
    file.entries.begin()->second = other;
    ASSERT_EQ(file.write(options.path), "");
    EXPECT_GT(callsOf(164, [&] { EXPECT_EQ(library()->prepare({call}), ""); }),
              1);
  }
}
