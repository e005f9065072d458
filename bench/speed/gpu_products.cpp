//===- gpu_products.cpp - Matmuls with what follows them, on a device -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs matmuls with every kind of epilogue, in cuBLASLt and with the epilogue
// apart in the runtime's kernels, and compares both with the definition in f64.
// Measures the matmuls of a block of GPT-2 both ways, too, with --times,
// against their floor: operations over the device's peak, or bytes over the
// rate of a copy. Prints one JSON line per case; exit status 1 if a result is
// wrong.
// --emulated: runs the host's code on the emulated device.
//
//===----------------------------------------------------------------------===//

#include "EpilogueCases.h"
#include "GpuBench.h"
#include "Ranks.h"
#include "runtime/cuda/Peaks.h"
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
/// The device and its matmul implementation.
struct Bench : GpuBench {
  using GpuBench::GpuBench;
  SingleRank rank{1, 4096};

  std::unique_ptr<Matmul> open(const TuneOptions &options) {
    if (device->isEmulated())
      return createHostMatmul(*device, *kernels, rank);
    std::string error;
    auto matmul = createCublasLt(*device, *kernels, stream, options, error);
    must(error);
    return matmul;
  }
};

/// A block of device memory.
class Memory {
public:
  Memory(Bench &bench, int64_t bytes) : bench(bench), bytes(bytes) {
    must(bench.device->allocate(bytes, memory));
    must(bench.device->fillBytes(bench.stream, memory, 0, bytes));
  }
  Memory(const Memory &) = delete;
  ~Memory() { bench.device->release(memory); }

  void *send(FloatTensor &tensor) {
    must(bench.device->copyIn(bench.stream, memory, tensor.data(), bytes));
    must(bench.device->synchronize(bench.stream));
    return memory;
  }
  void fetch(FloatTensor &tensor) {
    must(bench.device->copyOut(bench.stream, tensor.data(), memory, bytes));
    must(bench.device->synchronize(bench.stream));
  }
  void *get() { return memory; }

private:
  Bench &bench;
  int64_t bytes;
  void *memory = nullptr;
};

int64_t bytesOf(const FloatTensor &tensor) {
  return tensor.size() * dtypeSize(tensor.dtype);
}

void check(Bench &bench, const EpilogueCase &t, MatmulSplit leastApart) {
  TuneOptions options;
  options.mode = TuneOptions::Off;
  options.leastApart = leastApart;
  options.remark = [](const std::string &) {};
  std::unique_ptr<Matmul> matmul = bench.open(options);
  if (!matmul->supports(t.dtype, t.cDtype))
    return;
  EpilogueOperands operands(t);
  FloatTensor *tensors[] = {&operands.a, &operands.b,    &operands.addend,
                            &operands.c, &operands.bias, &operands.aux};
  std::vector<std::unique_ptr<Memory>> memory;
  for (FloatTensor *tensor : tensors)
    memory.push_back(std::make_unique<Memory>(bench, bytesOf(*tensor)));
  auto send = [&] {
    for (size_t i = 0; i < 6; ++i)
      memory[i]->send(*tensors[i]);
  };
  MatmulCall call = operands.call(t);
  call.a = memory[0]->get();
  call.b = memory[1]->get();
  call.addend = call.addend ? memory[2]->get() : nullptr;
  call.c = memory[3]->get();
  call.bias = call.bias ? memory[4]->get() : nullptr;
  call.aux = call.aux ? memory[5]->get() : nullptr;
  send();
  must(matmul->prepare({call}));
  send();
  must(matmul->run(bench.stream, call));
  for (size_t i = 3; i < 6; ++i)
    memory[i]->fetch(*tensors[i]);
  double worst = worstEpilogueError(t, operands);
  bool good = worst <= 1;
  bench.isOff |= !good;
  printf("{\"matmul\": \"%s\", \"apart\": %d, \"difference\": %.3g, \"good\": "
         "%s}\n",
         call.describe().c_str(), int(leastApart),
         std::isfinite(worst) ? worst : 1e30, good ? "true" : "false");
  fflush(stdout);
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

/// Bytes per second of a copy of 1 GiB, counting reads and writes.
double copyRate(Bench &bench) {
  constexpr int64_t bytes = int64_t(1) << 30;
  Memory from(bench, bytes), to(bench, bytes);
  double seconds = bench.secondsOf([&] {
    must(bench.device->copy(bench.stream, to.get(), from.get(), bytes));
  });
  return 2.0 * double(bytes) / seconds;
}

void time(Bench &bench, const EpilogueCase &t, double bytesPerSecond) {
  auto size = [](int64_t rows, int64_t columns, int32_t dtype) {
    return rows * columns * dtypeSize(dtype);
  };
  Memory a(bench, size(t.m, t.k, t.dtype)), b(bench, size(t.k, t.n, t.dtype)),
      c(bench, size(t.m, t.n, t.cDtype)),
      addend(bench, size(t.m, t.n, t.cDtype)),
      aux(bench, size(t.m, t.n, t.cDtype)),
      bias(bench, size(1, std::max(t.m, t.n), t.biasDtype));
  MatmulCall call;
  call.desc = {t.dtype,
               t.cDtype,
               1,
               t.m,
               t.n,
               t.k,
               t.transA ? t.m : t.k,
               t.transB ? t.k : t.n,
               t.n,
               0,
               0,
               0,
               t.transA,
               t.transB,
               t.added != 0};
  call.fusion = {t.kind, t.biasDtype, t.n};
  call.a = a.get();
  call.b = b.get();
  call.c = c.get();
  call.addend = t.added == 2 ? addend.get() : nullptr;
  call.bias = t.hasBias ? bias.get() : nullptr;
  call.aux = t.hasAux ? aux.get() : nullptr;
  TuneEntry entry = tune(bench, call);
  double bytes =
      double(size(t.m, t.k, t.dtype) + size(t.k, t.n, t.dtype) +
             size(t.m, t.n, t.cDtype) * (1 + (t.added != 0) + t.hasAux));
  double peak =
      peakFlops(bench.device->properties().name, t.dtype, /*tf32=*/false);
  double floor = bytes / bytesPerSecond;
  if (peak > 0)
    floor = std::max(floor, call.flops() / peak);
  printf("{\"matmul\": \"%s\", \"us\": %.2f, \"split\": %d, \"whole_us\": "
         "%.2f, \"sums_apart_us\": %.2f, \"apart_us\": %.2f, \"floor_us\": "
         "%.2f}\n",
         call.describe().c_str(), entry.seconds * 1e6, int(entry.split),
         entry.bySplit[0] * 1e6, entry.bySplit[1] * 1e6, entry.bySplit[2] * 1e6,
         floor * 1e6);
  fflush(stdout);
}

/// The matmuls of a block of GPT-2, 32 sequences of 1024 tokens, in bf16.
std::vector<EpilogueCase> blockOfGpt2() {
  const int32_t bf16 = TESSERA_RT_BF16, f32 = TESSERA_RT_F32;
  constexpr int64_t tokens = 32768, width = 768, inner = 3072;
  auto make = [&](int64_t kind, int32_t cDtype, int32_t biasDtype, bool hasBias,
                  bool hasAux, int added, int64_t m, int64_t n, int64_t k,
                  int64_t transA, int64_t transB) {
    return EpilogueCase{kind,  bf16, cDtype, biasDtype, hasBias, hasAux,
                        added, m,    n,      k,         transA,  transB};
  };
  return {
      make(TESSERA_RT_FUSE_NONE, bf16, bf16, false, false, 0, tokens, width,
           width, 0, 0),
      make(TESSERA_RT_FUSE_BIAS, bf16, bf16, true, false, 0, tokens, width,
           width, 0, 0),
      make(TESSERA_RT_FUSE_BIAS, bf16, bf16, true, false, 2, tokens, width,
           width, 0, 0),
      make(TESSERA_RT_FUSE_BIAS, bf16, bf16, true, false, 2, tokens, width,
           inner, 0, 0),
      make(TESSERA_RT_FUSE_NONE, bf16, bf16, false, false, 2, tokens, width,
           width, 0, 1),
      make(TESSERA_RT_FUSE_GELU, bf16, bf16, true, true, 0, tokens, inner,
           width, 0, 0),
      make(TESSERA_RT_FUSE_GELU_GRADIENT, bf16, bf16, false, true, 0, tokens,
           inner, width, 0, 1),
      make(TESSERA_RT_FUSE_GELU_GRADIENT, bf16, f32, true, true, 0, tokens,
           inner, width, 0, 1),
      make(TESSERA_RT_FUSE_NONE, f32, f32, false, false, 0, width, inner,
           tokens, 1, 0),
      make(TESSERA_RT_FUSE_RHS_SUMS, f32, f32, true, false, 0, width, inner,
           tokens, 1, 0),
      make(TESSERA_RT_FUSE_RHS_SUMS, f32, f32, true, false, 0, width, width,
           tokens, 1, 0),
  };
}
} // namespace

int main(int argc, char **argv) {
  Bench bench(argc, argv);
  for (const EpilogueCase &t : epilogueCases())
    for (MatmulSplit leastApart : {MatmulSplit::Whole, MatmulSplit::Apart})
      // One case of each kind and type has a size that the library can run
      // whole.
      if (t.n % 8 == 0)
        check(bench, t, leastApart);
  if (bench.has("--times")) {
    double rate = copyRate(bench);
    printf("{\"copy_bytes_per_second\": %.4g}\n", rate);
    for (const EpilogueCase &t : blockOfGpt2())
      time(bench, t, rate);
  }
  return bench.isOff;
}
