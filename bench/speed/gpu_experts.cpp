//===- gpu_experts.cpp - Experts on a device ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the kernels of experts on the machine's device and compares their
// results with the host's, and with those of a second run, bit by bit.
// Measures their time at the sizes of models, too, with --times, and that of
// cuBLASLt's matmuls of as many rows, as if one expert had all of them. Prints
// one JSON line per case; exit status 1 if a result is wrong. --emulated: runs
// on the emulated device.
//
//===----------------------------------------------------------------------===//

#include "ExpertsCases.h"
#include "GpuBench.h"
#include "tessera_rt_cuda.h"

#include <memory>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

// The library expects the tables of a program's own kernels; this program has
// none.
const tessera_rt_device_image tessera_program_images[1] = {};
const int32_t tessera_program_num_images = 0;
const char *const tessera_program_kernels[1] = {};
const int32_t tessera_program_num_kernels = 0;
const tessera_rt_emulated_fn *const tessera_program_emulated_kernels = nullptr;

namespace {
constexpr ExpertsCall allCalls[] = {ExpertsCall::Forward, ExpertsCall::Backward,
                                    ExpertsCall::WeightGradient};

/// A routing on the device, with the counts that the kernel adds to.
struct Routing {
  DeviceMemory ids, routing, fault, workspace;
  tessera_rt_route_desc d;
  int64_t offset;

  Routing(GpuBench &bench, const ExpertsCase &c)
      : ids(bench, drawIds(c)),
        routing(bench, (c.experts + 1 + c.room() + c.count()) * 4),
        fault(bench, std::vector<int64_t>(3, 0)),
        workspace(bench, bench.kernels->routeWorkspace(
                             c.route(TESSERA_RT_I32, c.room()))),
        d(c.route(TESSERA_RT_I32, c.room())), offset(c.offset) {}

  void run(GpuBench &bench) {
    must(bench.kernels->route(
        bench.stream, d, ids.data<void>(), offset, routing.data<int32_t>(),
        {nullptr, fault.data<RoutingFault>()}, workspace.data<void>()));
  }
};

void report(GpuBench &bench, const ExpertsCase &c, int32_t dtype,
            const char *what, double difference, double allowed) {
  bool good = difference <= allowed;
  bench.isOff |= !good;
  printf("{\"experts\": \"%s\", \"dtype\": \"%s\", \"result\": \"%s\", "
         "\"difference\": %.3g, \"good\": %s}\n",
         c.name, dtypeName(dtype), what,
         std::isfinite(difference) ? difference : 1e30,
         good ? "true" : "false");
  fflush(stdout);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Runs the calls of a case on the device, from the operands, and fetches all
/// tensors.
std::vector<FloatTensor> runOnDevice(GpuBench &bench, ExpertsOperands &given,
                                     Routing &routing) {
  std::vector<std::unique_ptr<DeviceMemory>> memory;
  for (int i = 0; i < NumExpertsTensors; ++i) {
    auto *bytes = static_cast<uint8_t *>(given.tensors[size_t(i)].data());
    memory.push_back(std::make_unique<DeviceMemory>(
        bench, std::vector<uint8_t>(bytes, bytes + given.bytesOf(i))));
  }
  for (ExpertsCall call : allCalls) {
    DeviceMemory workspace(bench,
                           bench.kernels->expertsWorkspace(call, given.d));
    must(bench.kernels->experts(
        bench.stream, call, given.d,
        given.pointers(call, routing.routing.data<int32_t>(),
                       [&](int i) { return memory[size_t(i)]->data<void>(); }),
        workspace.data<void>()));
    must(bench.device->synchronize(bench.stream));
  }
  std::vector<FloatTensor> results = given.tensors;
  for (int i = 0; i < NumExpertsTensors; ++i) {
    std::vector<uint8_t> bytes = memory[size_t(i)]->fetch<uint8_t>();
    memcpy(results[size_t(i)].data(), bytes.data(), bytes.size());
  }
  return results;
}

void check(GpuBench &bench, const ExpertsCase &c, int32_t dtype) {
  ExpertsOperands wanted(c, dtype, TESSERA_RT_F32, TESSERA_RT_SILU, false);
  ExpertsOperands given = wanted;
  wanted.runOnHost();
  Routing routing(bench, c);
  routing.run(bench);
  report(bench, c, dtype, "routing",
         routing.routing.fetch<int32_t>() != wanted.routing, 0);
  std::vector<FloatTensor> got = runOnDevice(bench, given, routing);
  std::vector<FloatTensor> again = runOnDevice(bench, given, routing);
  double worst = 0;
  bool differs = false;
  for (int i = Y; i < NumExpertsTensors; ++i) {
    size_t at = size_t(i);
    double difference = differenceOf(got[at], wanted.tensors[at]);
    worst = difference <= worst ? worst : difference;
    differs |=
        memcmp(got[at].data(), again[at].data(), size_t(given.bytesOf(i))) != 0;
  }
  report(bench, c, dtype, "all", worst, boundOf(dtype));
  report(bench, c, dtype, "second run", differs, 0);
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

/// Fills a block with small numbers, in bf16 and in f32.
void fill(GpuBench &bench, DeviceMemory &memory, int64_t bytes) {
  must(bench.device->fillBytes(bench.stream, memory.data<void>(), 0x3C, bytes));
}

/// Seconds of cuBLASLt's fastest matmul of bf16, [m, k] times [k, n], or of the
/// transposes that are stored.
double secondsOfMatmul(GpuBench &bench, int64_t m, int64_t n, int64_t k,
                       bool transA, bool transB, int32_t resultType) {
  DeviceMemory a(bench, m * k * 2), b(bench, k * n * 2), c(bench, m * n * 4);
  fill(bench, a, m * k * 2);
  fill(bench, b, k * n * 2);
  MatmulCall call;
  call.desc = {TESSERA_RT_BF16, resultType,     1, m, n, k,
               transA ? m : k,  transB ? k : n, n, 0, 0, 0,
               transA,          transB,         0};
  call.a = a.data<void>();
  call.b = b.data<void>();
  call.c = c.data<void>();
  return tune(bench, call).seconds;
}

/// Seconds of the matmuls of a call, each of all rows at once.
double secondsOfMatmuls(GpuBench &bench, const ExpertsCase &c,
                        ExpertsCall call) {
  int64_t rows = c.room();
  auto seconds = [&](int64_t m, int64_t n, int64_t k, bool transA, bool transB,
                     int32_t type) {
    return secondsOfMatmul(bench, m, n, k, transA, transB, type);
  };
  constexpr int32_t bf16 = TESSERA_RT_BF16, f32 = TESSERA_RT_F32;
  switch (call) {
  case ExpertsCall::Forward:
    return 2 * seconds(rows, c.ffn, c.in, false, false, bf16) +
           seconds(rows, c.out, c.ffn, false, false, bf16);
  case ExpertsCall::Backward:
    return seconds(rows, c.ffn, c.out, false, true, bf16) +
           2 * seconds(rows, c.in, c.ffn, false, true, bf16);
  case ExpertsCall::WeightGradient:
    return 2 * seconds(c.in, c.ffn, rows, true, false, f32) +
           seconds(c.ffn, c.out, rows, true, false, f32);
  }
  return 0;
}

void time(GpuBench &bench, const ExpertsCase &c) {
  Routing routing(bench, c);
  double routed = bench.secondsOf([&] { routing.run(bench); });
  printf("{\"experts\": \"%s\", \"call\": \"route\", \"us\": %.1f}\n", c.name,
         routed * 1e6);
  tessera_rt_experts_desc d{TESSERA_RT_BF16,
                            TESSERA_RT_F32,
                            TESSERA_RT_SILU,
                            c.tokens,
                            c.choices,
                            c.experts,
                            c.room(),
                            c.in,
                            c.ffn,
                            c.out,
                            0,
                            0};
  int64_t tokens = c.tokens * std::max(c.in, c.out) * 2;
  int64_t rows = c.room() * c.ffn * 2;
  int64_t weights = c.experts * c.ffn * std::max(c.in, c.out);
  // Gradients of weights are f32.
  auto bytesOf = [&](int tensor) {
    return tensor == Gates || tensor == Dgates  ? c.count() * 4
           : tensor >= DwGate                   ? weights * 4
           : tensor >= WGate && tensor <= WDown ? weights * 2
           : tensor == G || tensor == U || tensor == Dg || tensor == Du
               ? rows
               : tokens;
  };
  std::vector<std::unique_ptr<DeviceMemory>> memory;
  for (int i = 0; i < NumExpertsTensors; ++i) {
    memory.push_back(std::make_unique<DeviceMemory>(bench, bytesOf(i)));
    fill(bench, *memory.back(), bytesOf(i));
  }
  const char *const names[] = {"forward", "backward", "weight gradient"};
  double flops = 6.0 * double(c.room()) * double(c.ffn) * double(c.in);
  for (ExpertsCall call : allCalls) {
    DeviceMemory workspace(bench, bench.kernels->expertsWorkspace(call, d));
    ExpertTensors tensors =
        expertTensors(routing.routing.data<int32_t>(), /*inRows=*/false,
                      [&](int i) { return memory[size_t(i)]->data<void>(); });
    double seconds = bench.secondsOf([&] {
      must(bench.kernels->experts(bench.stream, call, d, tensors,
                                  workspace.data<void>()));
    });
    double dense = secondsOfMatmuls(bench, c, call);
    printf("{\"experts\": \"%s\", \"call\": \"%s\", \"us\": %.1f, "
           "\"tflops\": %.1f, \"cublaslt_us\": %.1f, \"ratio\": %.3f}\n",
           c.name, names[int(call)], seconds * 1e6, flops / seconds * 1e-12,
           dense * 1e6, dense / seconds);
    fflush(stdout);
  }
}

/// Layers of models on a device that holds all, or some, experts.
const ExpertsCase models[] = {
    {"mixtral-8x7b", 8192, 2, 8, 8, 0, 4096, 14336, 4096, Choice::Any},
    {"qwen3-30b-a3b", 8192, 8, 128, 128, 0, 2048, 768, 2048, Choice::Any},
    {"deepseek-v3, 32 of its experts", 8192, 8, 32, 32, 0, 7168, 2048, 7168,
     Choice::Any},
};
} // namespace

int main(int argc, char **argv) {
  GpuBench bench(argc, argv);
  for (const ExpertsCase &c : expertsCases)
    for (int32_t dtype : {TESSERA_RT_F32, TESSERA_RT_BF16, TESSERA_RT_F16})
      check(bench, c, dtype);
  if (bench.has("--times"))
    for (const ExpertsCase &c : models)
      time(bench, c);
  return bench.isOff;
}
