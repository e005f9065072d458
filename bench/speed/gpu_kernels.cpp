//===- gpu_kernels.cpp - The hand-written kernels on a device -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the kernels, and cuDNN's attention, on the machine's device and compares
// the results with the definition on the host, as the tests do on the emulator.
// Measures their time at the sizes of models, too, with --times. Prints one
// JSON line per case; exit status 1 if a result is wrong. --emulated: runs on
// the emulated device.
//
//===----------------------------------------------------------------------===//

#include "AttentionCases.h"
#include "GpuBench.h"

#include "runtime/src/kernels/CpuKernels.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

namespace {
/// Replaces characters that JSON strings cannot contain.
std::string plain(std::string text) {
  for (char &c : text)
    if (c == '"' || c == '\\' || c < ' ')
      c = ' ';
  return text;
}

/// The device, a stream on it, and cuDNN's attention.
struct Bench : GpuBench {
  std::unique_ptr<Attention> cudnn;

  using GpuBench::GpuBench;

  void report(const char *name, double difference, double allowed) {
    bool good = difference <= allowed;
    isOff |= !good;
    printf("{\"kernel\": \"%s\", \"difference\": %.3g, \"good\": %s}\n", name,
           std::isfinite(difference) ? difference : 1e30,
           good ? "true" : "false");
    fflush(stdout);
  }
};

using Memory = DeviceMemory;

uint64_t hashOf(uint64_t x) {
  x = (x ^ (x >> 31)) * 0x7fb5d329728ea185u;
  return x ^ (x >> 27);
}

//===----------------------------------------------------------------------===//
// Movement, reductions, embedding
//===----------------------------------------------------------------------===//

void checkCopy(Bench &bench) {
  // A transpose with partial tiles, a slice, a broadcast.
  struct Case {
    std::vector<int64_t> shape, from, to;
  };
  const Case cases[] = {{{3, 130, 70}, {9100, 1, 130}, {9100, 70, 1}},
                        {{200, 40}, {64, 1}, {40, 1}},
                        {{50, 33}, {0, 1}, {33, 1}}};
  std::vector<uint16_t> source(30000);
  for (size_t i = 0; i < source.size(); ++i)
    source[i] = uint16_t(hashOf(i));
  for (const Case &c : cases) {
    std::vector<uint16_t> wanted(30000, 0xFFFF);
    int64_t total = 1;
    for (int64_t extent : c.shape)
      total *= extent;
    for (int64_t i = 0; i < total; ++i) {
      int64_t rest = i, from = 0, to = 0;
      for (size_t d = c.shape.size(); d-- > 0; rest /= c.shape[d]) {
        from += rest % c.shape[d] * c.from[d];
        to += rest % c.shape[d] * c.to[d];
      }
      wanted[size_t(to)] = source[size_t(from)];
    }
    Memory from(bench, source), to(bench, 60000);
    must(bench.kernels->copyStrided(bench.stream,
                                    {2, int32_t(c.shape.size()), c.shape.data(),
                                     from.data<void>(), c.from.data(),
                                     to.data<void>(), c.to.data()}));
    bench.report("copy", to.fetch<uint16_t>() != wanted, 0);
  }
}

void checkFill(Bench &bench) {
  Memory memory(bench, 1001);
  std::vector<uint8_t> wanted(1001, 0xFF);
  std::fill(wanted.begin() + 3, wanted.end() - 2, 0x5A);
  must(bench.kernels->fill(bench.stream, 1, memory.data<uint8_t>() + 3, 996,
                           0x5A));
  bench.report("fill", memory.fetch<uint8_t>() != wanted, 0);
}

void checkReduce(Bench &bench, int32_t dtype) {
  constexpr int64_t count = 5003;
  int64_t size = dtypeSize(dtype);
  std::vector<std::vector<uint8_t>> values;
  std::vector<std::unique_ptr<Memory>> memory;
  std::vector<const void *> host, sources;
  for (uint64_t s = 0; s < 5; ++s) {
    values.emplace_back();
    for (int64_t i = 0; i < count; ++i) {
      float value =
          float(int64_t(hashOf(uint64_t(i) + s * 9999) % 2001) - 1000);
      uint32_t bits;
      value /= 77;
      memcpy(&bits, &value, 4);
      bits = dtype == TESSERA_RT_BF16 ? floatToBf16(value) : bits;
      for (int64_t b = 0; b < size; ++b)
        values.back().push_back(uint8_t(bits >> (8 * b)));
    }
    memory.push_back(std::make_unique<Memory>(bench, values.back()));
    sources.push_back(memory.back()->data<void>());
  }
  for (const std::vector<uint8_t> &v : values)
    host.push_back(v.data());
  std::vector<uint8_t> wanted(size_t(count * size));
  cpuKernels().reduce(dtype, TESSERA_RT_SUM, host.data(), 5, wanted.data(),
                      count);
  Memory result(bench, count * size);
  must(bench.kernels->reduce(bench.stream,
                             {dtype, TESSERA_RT_SUM, sources.data(), 5, 1,
                              count, count, result.data<void>()}));
  bench.report("reduce", result.fetch<uint8_t>() != wanted, 0);
}

void checkEmbedding(Bench &bench) {
  constexpr int64_t positions = 5000, rows = 700, width = 36;
  std::vector<float> grad, wanted(rows * width);
  std::vector<int32_t> ids;
  for (uint64_t i = 0; i < uint64_t(positions * width); ++i)
    grad.push_back(float(hashOf(i) % 1000) / 999 - 0.5f);
  // A few ids are frequent, as in text; some are outside of the table.
  for (uint64_t i = 0; i < uint64_t(positions); ++i)
    ids.push_back(int32_t(hashOf(i) % (i % 3 ? 7 : 720)));
  for (int64_t p = 0; p < positions; ++p)
    for (int64_t x = 0; ids[size_t(p)] < rows && x < width; ++x)
      wanted[size_t(ids[size_t(p)] * width + x)] += grad[size_t(p * width + x)];
  tessera_rt_embedding_desc d{TESSERA_RT_F32,
                              TESSERA_RT_F32,
                              TESSERA_RT_I32,
                              positions,
                              rows,
                              width,
                              0};
  Memory grads(bench, grad), places4(bench, ids), result(bench, wanted);
  Memory workspace(bench, bench.kernels->embeddingWorkspace(d));
  for (int repeat = 0; repeat < 2; ++repeat) {
    must(bench.kernels->embeddingBackward(
        bench.stream, d, grads.data<void>(), places4.data<void>(),
        result.data<void>(), 0, workspace.data<void>()));
    bench.report("embedding_backward", result.fetch<float>() != wanted, 0);
  }
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Operands and results of an attention call on the device.
struct Call {
  AttentionOperand q, k, v, grad;
  Memory dq, dk, dv, out, sums;
  Memory qMemory, kMemory, vMemory, gradMemory, startsMemory;

  static std::vector<uint8_t> bytes(AttentionOperand &operand, int64_t count,
                                    int64_t size) {
    auto *first = static_cast<uint8_t *>(operand.data());
    return std::vector<uint8_t>(first, first + count * size);
  }
  /// `wide`: results are f32.
  Call(Bench &bench, const AttentionCase &c, bool bf16, bool wide = false)
      : Call(bench, c, bf16, c.b * c.t * c.g, bf16 ? 2 : 4,
             bf16 && !wide ? 2 : 4) {}
  Call(Bench &bench, const AttentionCase &c, bool bf16, int64_t keys,
       int64_t size, int64_t resultSize)
      : q(c.rows() * c.k, 1, bf16), k(keys * c.k, 2, bf16),
        v(keys * c.kv, 3, bf16), grad(c.rows() * c.kv, 4, bf16),
        dq(bench, c.rows() * c.k * resultSize),
        dk(bench, keys * c.k * resultSize), dv(bench, keys * c.kv * resultSize),
        out(bench, c.rows() * c.kv * resultSize), sums(bench, c.rows() * 4),
        qMemory(bench, bytes(q, c.rows() * c.k, size)),
        kMemory(bench, bytes(k, keys * c.k, size)),
        vMemory(bench, bytes(v, keys * c.kv, size)),
        gradMemory(bench, bytes(grad, c.rows() * c.kv, size)),
        startsMemory(bench, c.starts()) {}

  AttentionCall describe(const AttentionCase &c,
                         const tessera_rt_attention_desc &d) {
    return {d,
            qMemory.data<void>(),
            kMemory.data<void>(),
            vMemory.data<void>(),
            c.qOffset,
            c.kOffset,
            d.has_starts ? startsMemory.data<int32_t>() : nullptr};
  }

  void forward(Bench &bench, Attention &attention, const AttentionCase &c,
               const tessera_rt_attention_desc &d, Memory &workspace) {
    AttentionCall call = describe(c, d);
    must(attention.forward(bench.stream, call, out.data<void>(),
                           sums.data<float>(), workspace.data<void>()));
  }
  /// `result`: the output of the forward call, in the type of the operands.
  void backward(Bench &bench, Attention &attention, const AttentionCase &c,
                const tessera_rt_attention_desc &d, Memory &result,
                Memory &workspace) {
    AttentionCall call = describe(c, d);
    must(attention.backward(bench.stream, call, gradMemory.data<void>(),
                            result.data<void>(), sums.data<float>(),
                            dq.data<void>(), dk.data<void>(), dv.data<void>(),
                            workspace.data<void>()));
  }
};

std::vector<uint16_t> roundToBf16(const std::vector<float> &values) {
  std::vector<uint16_t> rounded;
  for (float value : values)
    rounded.push_back(floatToBf16(value));
  return rounded;
}

/// The largest difference, relative to the largest expected value (at least 1).
double differenceOf(Memory &memory, bool bf16,
                    const std::vector<double> &wanted) {
  double largest = 1, worst = 0;
  for (double x : wanted)
    largest = std::max(largest, std::fabs(x));
  std::vector<uint16_t> half;
  std::vector<float> whole;
  if (bf16)
    half = memory.fetch<uint16_t>();
  else
    whole = memory.fetch<float>();
  for (size_t i = 0; i < wanted.size(); ++i) {
    double got = bf16 ? bf16ToFloat(half[i]) : whole[i];
    // A NaN counts as wrong.
    if (!(std::fabs(got - wanted[i]) <= worst))
      worst = std::isfinite(got) ? std::fabs(got - wanted[i]) : HUGE_VAL;
  }
  return worst / largest;
}

/// `wide`: results are f32.
void checkAttention(Bench &bench, Attention &attention, const AttentionCase &c,
                    bool bf16, bool wide = false) {
  tessera_rt_attention_desc d = c.desc(bf16, wide);
  int64_t bytes = 0;
  // cuDNN has f32 results for the forward call only.
  bool withBackward = !wide || &attention != bench.cudnn.get();
  std::string error =
      attention.prepare(d, c.qOffset, c.kOffset, withBackward, bytes);
  if (!error.empty()) {
    printf("{\"kernel\": \"%s\", \"case\": \"%s%s\", \"refused\": \"%s\"}\n",
           attention.name().c_str(), c.name().c_str(), wide ? " to f32" : "",
           plain(error).c_str());
    return;
  }
  Memory workspace(bench, bytes);
  Call call(bench, c, bf16, wide);
  bool isNarrow = bf16 && !wide;
  std::vector<double> out(size_t(c.rows() * c.kv));
  for (int64_t row = 0; row < c.rows(); ++row) {
    AttentionRow at(c, row);
    double sum;
    std::vector<double> weights =
        attentionWeights(c, call.q.exact.data(), call.k.exact.data(), row, sum);
    for (int64_t t = 0; t < c.t; ++t)
      for (int64_t x = 0; x < c.kv; ++x)
        out[size_t(row * c.kv + x)] +=
            weights[size_t(t)] *
            double(
                call.v
                    .exact[size_t(((at.b * c.t + t) * c.g + at.g) * c.kv + x)]);
  }
  call.forward(bench, attention, c, d, workspace);
  std::string name = attention.name() +
                     (bf16 ? " attention bf16 " : " attention f32 ") +
                     (wide ? "to f32 " : "") + c.name();
  double worst = differenceOf(call.out, isNarrow, out);
  double allowed = bf16 ? 0.012 : 2e-5;
  if (!withBackward)
    return bench.report(name.c_str(), worst, allowed);
  AttentionGradientsWanted wanted =
      attentionGradients(c, call.grad.exact.data(), call.q.exact.data(),
                         call.k.exact.data(), call.v.exact.data());
  std::optional<Memory> rounded;
  if (wide)
    rounded.emplace(bench, roundToBf16(call.out.fetch<float>()));
  Memory &result = rounded ? *rounded : call.out;
  call.backward(bench, attention, c, d, result, workspace);
  worst = std::max({worst, differenceOf(call.dq, isNarrow, wanted.dq),
                    differenceOf(call.dk, isNarrow, wanted.dk),
                    differenceOf(call.dv, isNarrow, wanted.dv)});
  bench.report(name.c_str(), worst, allowed);
  // A repeated call must return the same bits.
  std::vector<uint8_t> first = call.dk.fetch<uint8_t>();
  std::vector<uint8_t> firstQ = call.dq.fetch<uint8_t>();
  call.backward(bench, attention, c, d, result, workspace);
  bench.report((name + " repeated").c_str(),
               first != call.dk.fetch<uint8_t>() ||
                   firstQ != call.dq.fetch<uint8_t>(),
               0);
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

void timeAttention(Bench &bench, Attention &attention, const AttentionCase &c) {
  tessera_rt_attention_desc d = c.desc(true);
  int64_t bytes = 0;
  if (!attention.prepare(d, 0, 0, true, bytes).empty())
    return;
  Memory workspace(bench, bytes);
  Call call(bench, c, true);
  // A causal mask leaves half of the operations.
  double operations = 2.0 * double(c.rows()) * double(c.t) * double(c.k);
  double forward =
      bench.secondsOf([&] { call.forward(bench, attention, c, d, workspace); });
  double backward = bench.secondsOf(
      [&] { call.backward(bench, attention, c, d, call.out, workspace); });
  printf("{\"kernel\": \"%s attention\", \"case\": \"%s\", \"forward_ms\": "
         "%.3f, \"forward_tflops\": %.1f, \"backward_ms\": %.3f, "
         "\"backward_tflops\": %.1f}\n",
         attention.name().c_str(), c.name().c_str(), forward * 1e3,
         operations / forward / 1e12, backward * 1e3,
         2.5 * operations / backward / 1e12);
  fflush(stdout);
}

void printRate(const char *name, double seconds, double bytes) {
  printf("{\"kernel\": \"%s\", \"ms\": %.4f, \"gbytes_per_second\": %.1f}\n",
         name, seconds * 1e3, bytes / seconds / 1e9);
  fflush(stdout);
}

void timeMovement(Bench &bench) {
  constexpr int64_t bytes = int64_t(1) << 30;
  Memory from(bench, bytes), to(bench, bytes);
  printRate("fill", bench.secondsOf([&] {
    must(bench.kernels->fill(bench.stream, 2, to.data<void>(), bytes / 2, 0));
  }),
            double(bytes));
  auto copy = [&](const char *name, std::vector<int64_t> shape,
                  std::vector<int64_t> source, std::vector<int64_t> target) {
    printRate(name, bench.secondsOf([&] {
      must(bench.kernels->copyStrided(bench.stream,
                                      {2, int32_t(shape.size()), shape.data(),
                                       from.data<void>(), source.data(),
                                       to.data<void>(), target.data()}));
    }),
              2.0 * double(bytes));
  };
  constexpr int64_t count = bytes / 2;
  copy("copy", {count}, {1}, {1});
  // Rows of a head; a transposed matrix.
  copy("copy_heads", {count / (1024 * 16 * 64), 16, 1024, 64},
       {1024 * 1024, 64, 1024, 1}, {1024 * 1024, 64 * 1024, 64, 1});
  copy("transpose", {count / 32768, 32768}, {1, count / 32768}, {32768, 1});
}

void timeEmbedding(Bench &bench) {
  constexpr int64_t positions = 32768, rows = 50257, width = 768;
  std::vector<int32_t> ids;
  for (uint64_t i = 0; i < positions; ++i)
    ids.push_back(int32_t(hashOf(i) % rows));
  tessera_rt_embedding_desc d{TESSERA_RT_BF16,
                              TESSERA_RT_F32,
                              TESSERA_RT_I32,
                              positions,
                              rows,
                              width,
                              1};
  Memory grad(bench, positions * width * 2), result(bench, rows * width * 4);
  Memory idMemory(bench, ids);
  Memory workspace(bench, bench.kernels->embeddingWorkspace(d));
  must(bench.device->fillBytes(bench.stream, grad.data<void>(), 0,
                               positions * width * 2));
  double seconds = bench.secondsOf([&] {
    must(bench.kernels->embeddingBackward(
        bench.stream, d, grad.data<void>(), idMemory.data<void>(),
        result.data<void>(), 0, workspace.data<void>()));
  });
  printRate("embedding_backward", seconds,
            double(positions * width) * 2 + double(positions * width) * 8);
}
} // namespace

int main(int argc, char **argv) {
  Bench bench(argc, argv);
  std::string error;
  if (!bench.device->isEmulated()) {
    bench.cudnn =
        createCudnnAttention(*bench.device, {.deterministic = true}, error);
    if (!bench.cudnn)
      printf("{\"kernel\": \"cudnn attention\", \"refused\": \"%s\"}\n",
             plain(error).c_str());
  }
  checkFill(bench);
  checkCopy(bench);
  checkReduce(bench, TESSERA_RT_F32);
  checkReduce(bench, TESSERA_RT_BF16);
  checkEmbedding(bench);
  std::vector<AttentionCase> all(std::begin(attentionCases),
                                 std::end(attentionCases));
  all.push_back({1, 200, 200, 2, 2, 128, 128, true, 0, 0});
  // A step of ring attention: all keys are before all queries.
  all.push_back({1, 256, 256, 2, 2, 128, 128, true, 256, 0});
  for (const AttentionCase &c : all)
    checkAttention(bench, *bench.kernels, c, false);
  for (const AttentionCase &c : all)
    for (bool wide : {false, true}) {
      checkAttention(bench, *bench.kernels, c, true, wide);
      if (bench.cudnn)
        checkAttention(bench, *bench.cudnn, c, true, wide);
    }
  if (bench.has("--times")) {
    const AttentionCase models[] = {
        {32, 1024, 1024, 12, 1, 64, 64, true, 0, 0},
        {2, 4096, 4096, 8, 4, 128, 128, true, 0, 0}};
    for (const AttentionCase &c : models) {
      timeAttention(bench, *bench.kernels, c);
      if (bench.cudnn)
        timeAttention(bench, *bench.cudnn, c);
    }
    timeMovement(bench);
    timeEmbedding(bench);
  }
  return bench.isOff;
}
