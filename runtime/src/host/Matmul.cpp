//===- Matmul.cpp - The matmul library call -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Splits matmuls into blocks for caches and threads. The split is either by
// columns of C, with all of A packed and shared by the threads, or by rows,
// with all of B packed; so nothing is packed twice. Row blocks finish whole
// rows of C, which an epilogue needs. The inner loops are in kernels/Gemm.cpp;
// test/runtime/MatmulTest.cpp tests both.
//
// The blocking of k is fixed, so results do not depend on threads or on m.
//
//===----------------------------------------------------------------------===//

#include "HostTarget.h"

#include "kernels/CpuKernels.h"

#include <algorithm>
#include <cstring>

using namespace tessera::rt;

namespace {
/// Columns of B that a thread packs and uses while they are in its second-level
/// cache.
constexpr int64_t blockColumns = 256;
/// Panels of rows in a block of rows; each block reads all of B once.
constexpr int64_t blockRowPanels = 28;

int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Number of blocks of at most `most` panels: a multiple of the threads, for
/// equal shares, but at most the number of panels.
int64_t evenBlocks(int64_t panels, int64_t most, int64_t threads) {
  int64_t blocks = (panels + most - 1) / most;
  return std::min(panels, roundUp(blocks, threads));
}

/// One matmul of the batch with its operands.
struct BatchItem {
  MatrixView a, b;
  uint8_t *c;
  int64_t batchIndex;
};

/// Converts a block of an 8-bit matrix to bf16, which represents each of its
/// numbers exactly. The copy is at `room`, in the stored order.
MatrixView widened(const MatrixView &view, int64_t rows, int64_t columns,
                   float *room) {
  const uint16_t *codes = f8Codes(view.dtype);
  bool byRows = view.columnStride == 1;
  int64_t lines = byRows ? rows : columns, length = byRows ? columns : rows;
  int64_t step = byRows ? view.rowStride : view.columnStride;
  int64_t within = byRows ? 1 : view.rowStride;
  uint16_t *to = reinterpret_cast<uint16_t *>(room);
  for (int64_t i = 0; i < lines; ++i) {
    const uint8_t *line = static_cast<const uint8_t *>(view.data) + i * step;
    for (int64_t j = 0; j < length; ++j)
      *to++ = codes[line[j * within]];
  }
  return {room, TESSERA_RT_BF16, byRows ? length : 1, byRows ? 1 : length};
}

/// A matmul call.
struct Matmul {
  tessera_rt_context *ctx;
  const tessera_rt_matmul_desc &d;
  const GemmKernels &kernels;
  /// kernels.packedDepth(d.k)
  int64_t depth;
  tessera_rt_kernel_fn epilogue;
  const int64_t *epilogueArgs;
  /// Factor of the sums of 8-bit operands.
  bool isScaled = false;
  float scale = 1;

  /// True if A is packed. A need not be packed if its rows are f32 and only one
  /// block of columns of B uses them: packing a row takes up to a third of the
  /// time to multiply it by a panel of B. A without elements counts as packed,
  /// since it may be null: nothing adds strides to it then.
  bool packsA() const {
    return !kernels.multiplyUnpacked || d.dtype != TESSERA_RT_F32 ||
           d.trans_a || d.n > blockColumns || d.k == 0;
  }

  int64_t sizeC() const { return dtypeSize(int32_t(d.c_dtype)); }

  /// Returns the same view from element (i, j) on.
  static MatrixView at(MatrixView view, int64_t i, int64_t j) {
    int64_t offset = i * view.rowStride + j * view.columnStride;
    view.data = static_cast<const uint8_t *>(view.data) +
                offset * dtypeSize(view.dtype);
    return view;
  }

  /// Floats needed to widen `rows` rows, or columns, of an operand.
  int64_t spareFloats(int64_t rows) const {
    return isScaled ? (rows * d.k + 1) / 2 + 16 : 0;
  }

  void packA(const MatrixView &a, int64_t rows, float *out,
             float *spare) const {
    kernels.packA(isScaled ? widened(a, rows, d.k, spare) : a, rows, d.k, out);
  }
  void packB(const MatrixView &b, int64_t columns, float *out,
             float *spare) const {
    kernels.packB(isScaled ? widened(b, d.k, columns, spare) : b, d.k, columns,
                  out);
  }

  /// True if sums go directly to C.
  bool isDirect() const { return d.c_dtype == TESSERA_RT_F32 && !isScaled; }

  /// Returns A from row `first` on for multiplyBlock: packed at `packed`, or
  /// unpacked.
  const float *readyA(const BatchItem &p, int64_t first, int64_t rows,
                      float *packed, float *spare) const {
    MatrixView a = at(p.a, first, 0);
    if (!packsA())
      return static_cast<const float *>(a.data);
    packA(a, rows, packed, spare);
    return packed;
  }

  /// C block [rows, columns] (+)= A * B over packed depths [begin, begin +
  /// some).
  void multiplyDepths(int64_t rows, int64_t columns, int64_t begin,
                      int64_t some, const float *a, const float *packedB,
                      float *c, int64_t ldc, bool accumulate) const {
    packedB += begin * kernels.tileColumns;
    int64_t panelStrideB = depth * kernels.tileColumns;
    if (packsA())
      kernels.multiply(rows, columns, some, a + begin * kernels.tileRows,
                       depth * kernels.tileRows, packedB, panelStrideB, c, ldc,
                       accumulate);
    else
      kernels.multiplyUnpacked(rows, columns, some, a + begin, d.lda, packedB,
                               panelStrideB, c, ldc, accumulate);
  }

  /// Computes a block [rows, columns] of C from A, as readyA returns it, and a
  /// packed B of full depth.
  void multiplyBlock(uint8_t *c, int64_t rows, int64_t columns, const float *a,
                     const float *packedB, float *wide) const {
    bool direct = isDirect();
    float *target = direct ? reinterpret_cast<float *>(c) : wide;
    int64_t ldc = direct ? d.ldc : columns;
    // The passes have equal depth, so that none is tiny.
    int64_t passes = std::max<int64_t>(1, (depth + kernels.blockDepth - 1) /
                                              kernels.blockDepth);
    int64_t step = roundUp((depth + passes - 1) / passes, 16);
    int64_t stepColumns = roundUp(blockColumns, kernels.tileColumns);
    for (int64_t j = 0; j < columns; j += stepColumns) {
      int64_t done = 0;
      do {
        multiplyDepths(rows, std::min(stepColumns, columns - j), done,
                       std::min(step, depth - done), a, packedB + j * depth,
                       target + j, ldc, done > 0 || (direct && d.accumulate));
        done += step;
      } while (done < depth);
    }
    if (!direct)
      finish(c, rows, columns, wide);
  }

  /// Rounds a row of an f32 block into an f16 C.
  void narrowRow(_Float16 *target, int64_t columns, float *row) const {
    if (d.accumulate)
      for (int64_t j = 0; j < columns; ++j)
        row[j] += float(target[j]);
    cpuKernels().f32ToF16(row, target, columns);
  }

  /// Scales an f32 block and stores it in C, rounded once.
  void finish(uint8_t *c, int64_t rows, int64_t columns, float *wide) const {
    uint16_t *target = reinterpret_cast<uint16_t *>(c);
    for (int64_t i = 0; i < rows; ++i) {
      float *row = wide + i * columns;
      if (isScaled)
        for (int64_t j = 0; j < columns; ++j)
          row[j] *= scale;
      if (d.c_dtype == TESSERA_RT_F32) {
        float *to = reinterpret_cast<float *>(c) + i * d.ldc;
        for (int64_t j = 0; j < columns; ++j)
          to[j] = d.accumulate ? to[j] + row[j] : row[j];
        continue;
      }
      if (d.c_dtype == TESSERA_RT_F16) {
        narrowRow(reinterpret_cast<_Float16 *>(c) + i * d.ldc, columns, row);
        continue;
      }
      if (d.accumulate)
        for (int64_t j = 0; j < columns; ++j)
          row[j] += bf16ToFloat(target[i * d.ldc + j]);
      cpuKernels().f32ToBf16(row, target + i * d.ldc, columns);
    }
  }

  void runEpilogue(int64_t begin, int64_t end) const {
    if (epilogue && begin < end)
      epilogue(epilogueArgs, begin, end);
  }

  /// Floats of an f32 copy of a block of C; 0 if C is f32.
  int64_t wideFloats(int64_t rows, int64_t columns) const {
    return isDirect() ? 0 : rows * columns;
  }

  float *packWholeA(const MatrixView &a) const;
  void byRows(const BatchItem &p) const;
  void byColumns(const BatchItem &p) const;
  void whole(const BatchItem &p, ScratchBuffer &scratch) const;
};
} // namespace

void Matmul::byRows(const BatchItem &p) const {
  int64_t threads = ctx->pool->size();
  int64_t panels = roundUp(d.n, kernels.tileColumns) / kernels.tileColumns;
  float *packedB = ctx->scratch.shared.getFloats(
      size_t(panels * kernels.tileColumns * depth + 1024));
  int64_t chunks = std::min<int64_t>(panels, threads * 4);
  ctx->pool->forEach(chunks, [&](int64_t chunk, int thread) {
    int64_t first = panels * chunk / chunks * kernels.tileColumns;
    int64_t last =
        std::min(panels * (chunk + 1) / chunks * kernels.tileColumns, d.n);
    float *spare = ctx->scratch.perThread[size_t(thread)].getFloats(
        size_t(spareFloats(last - first)));
    packB(at(p.b, 0, first), last - first, packedB + first * depth, spare);
  });
  int64_t rowPanels = (d.m + kernels.tileRows - 1) / kernels.tileRows;
  int64_t blocks = evenBlocks(rowPanels, blockRowPanels, threads);
  int64_t blockRows = (rowPanels + blocks - 1) / blocks * kernels.tileRows;
  size_t floatsA = packsA() ? size_t(blockRows * depth + 1024) : 0;
  size_t wide = size_t(wideFloats(blockRows, d.n));
  size_t floats = floatsA + wide + size_t(spareFloats(blockRows));
  ctx->pool->forEach(blocks, [&](int64_t block, int thread) {
    float *packedA = ctx->scratch.perThread[size_t(thread)].getFloats(floats);
    int64_t first = rowPanels * block / blocks * kernels.tileRows;
    int64_t last =
        std::min(rowPanels * (block + 1) / blocks * kernels.tileRows, d.m);
    int64_t rows = last - first;
    const float *a = readyA(p, first, rows, packedA, packedA + floatsA + wide);
    multiplyBlock(p.c + first * d.ldc * sizeC(), rows, d.n, a, packedB,
                  packedA + floatsA);
    runEpilogue(p.batchIndex * d.m + first, p.batchIndex * d.m + first + rows);
  });
}

/// Packs A with all threads, in memory that they share.
float *Matmul::packWholeA(const MatrixView &a) const {
  int64_t threads = ctx->pool->size();
  int64_t panels = (d.m + kernels.tileRows - 1) / kernels.tileRows;
  float *packedA = ctx->scratch.shared.getFloats(
      size_t(panels * kernels.tileRows * depth + 1024));
  int64_t chunks = std::min<int64_t>(panels, threads * 4);
  ctx->pool->forEach(chunks, [&](int64_t chunk, int thread) {
    int64_t first = panels * chunk / chunks * kernels.tileRows;
    int64_t last =
        std::min(panels * (chunk + 1) / chunks * kernels.tileRows, d.m);
    float *spare = ctx->scratch.perThread[size_t(thread)].getFloats(
        size_t(spareFloats(last - first)));
    packA(at(a, first, 0), last - first, packedA + first * depth, spare);
  });
  return packedA;
}

void Matmul::byColumns(const BatchItem &p) const {
  int64_t threads = ctx->pool->size();
  const float *a =
      packsA() ? packWholeA(p.a) : static_cast<const float *>(p.a.data);
  int64_t columnPanels =
      roundUp(d.n, kernels.tileColumns) / kernels.tileColumns;
  int64_t most = std::max<int64_t>(1, blockColumns / kernels.tileColumns);
  int64_t blocks = evenBlocks(columnPanels, most, threads);
  int64_t columns = (columnPanels + blocks - 1) / blocks * kernels.tileColumns;
  size_t floatsB = size_t(columns * depth + 1024);
  size_t wide = size_t(wideFloats(d.m, columns));
  size_t floats = floatsB + wide + size_t(spareFloats(columns));
  ctx->pool->forEach(blocks, [&](int64_t block, int thread) {
    float *packedB = ctx->scratch.perThread[size_t(thread)].getFloats(floats);
    int64_t first = columnPanels * block / blocks * kernels.tileColumns;
    int64_t last = std::min(
        columnPanels * (block + 1) / blocks * kernels.tileColumns, d.n);
    int64_t some = last - first;
    packB(at(p.b, 0, first), some, packedB, packedB + floatsB + wide);
    multiplyBlock(p.c + first * sizeC(), d.m, some, a, packedB,
                  packedB + floatsB);
  });
}

/// Runs one matmul on one thread; used for many small ones.
void Matmul::whole(const BatchItem &p, ScratchBuffer &scratch) const {
  size_t floatsA =
      packsA() ? size_t(roundUp(d.m, kernels.tileRows) * depth + 1024) : 0;
  size_t floatsB = size_t(roundUp(d.n, kernels.tileColumns) * depth + 1024);
  size_t wide = size_t(wideFloats(d.m, d.n));
  float *packedA = scratch.getFloats(floatsA + floatsB + wide +
                                     size_t(spareFloats(std::max(d.m, d.n))));
  float *packedB = packedA + floatsA, *spare = packedB + floatsB + wide;
  const float *a = readyA(p, 0, d.m, packedA, spare);
  packB(p.b, d.n, packedB, spare);
  multiplyBlock(p.c, d.m, d.n, a, packedB, packedB + floatsB);
  runEpilogue(p.batchIndex * d.m, (p.batchIndex + 1) * d.m);
}

/// Multiplies f64, for checks and not for speed.
static void multiplyF64(const tessera_rt_matmul_desc &d, const double *a,
                        const double *b, double *c, int64_t i) {
  double *row = c + i * d.ldc;
  if (!d.accumulate)
    std::fill(row, row + d.n, 0.0);
  for (int64_t k = 0; k < d.k; ++k) {
    double x = a[d.trans_a ? k * d.lda + i : i * d.lda + k];
    int64_t step = d.trans_b ? d.ldb : 1;
    const double *line = b + (d.trans_b ? k : k * d.ldb);
    for (int64_t j = 0; j < d.n; ++j)
      row[j] += x * line[j * step];
  }
}

bool tessera::rt::host::multiplies(int64_t dtype, int64_t cDtype) {
  return dtype == cDtype
             ? dtype == TESSERA_RT_F32 || dtype == TESSERA_RT_BF16 ||
                   dtype == TESSERA_RT_F16 || dtype == TESSERA_RT_F64
             : (dtype == TESSERA_RT_BF16 || dtype == TESSERA_RT_F16) &&
                   cDtype == TESSERA_RT_F32;
}

bool tessera::rt::isValid(const tessera_rt_matmul_desc &d) {
  return d.batch >= 0 && d.m >= 0 && d.n >= 0 && d.k >= 0 &&
         d.lda >= (d.trans_a ? d.m : d.k) && d.ldb >= (d.trans_b ? d.k : d.n) &&
         d.ldc >= d.n;
}

/// Runs the matmuls of a call whose B has elements of `dtypeB`.
static void runMatmul(const Matmul &call, int32_t dtypeB, const void *a,
                      const void *b, void *c) {
  tessera_rt_context *ctx = call.ctx;
  const tessera_rt_matmul_desc &d = call.d;
  int32_t dtype = int32_t(d.dtype);
  int64_t size = dtypeSize(dtype);
  // Operands without elements may be null; strides of 0 add nothing to them.
  int64_t lda = d.k ? d.lda : 0, ldb = d.k ? d.ldb : 0, one = d.k ? 1 : 0;
  auto item = [&](int64_t index) {
    int64_t step = index * one;
    return BatchItem{
        {static_cast<const uint8_t *>(a) + step * d.stride_a * size, dtype,
         d.trans_a ? one : lda, d.trans_a ? lda : one},
        {static_cast<const uint8_t *>(b) +
             step * d.stride_b * dtypeSize(dtypeB),
         dtypeB, d.trans_b ? one : ldb, d.trans_b ? ldb : one},
        static_cast<uint8_t *>(c) + index * d.stride_c * call.sizeC(),
        index};
  };
  if (dtype == TESSERA_RT_F64) {
    ctx->pool->forEach(d.batch * d.m, [&](int64_t row, int) {
      BatchItem p = item(row / d.m);
      multiplyF64(d, static_cast<const double *>(p.a.data),
                  static_cast<const double *>(p.b.data),
                  reinterpret_cast<double *>(p.c), row % d.m);
      call.runEpilogue(row, row + 1);
    });
    return;
  }
  // Each small matmul of a batch runs on one thread.
  if (d.batch >= ctx->pool->size() && d.m * d.n * d.k <= (int64_t(1) << 26)) {
    ctx->pool->forEach(d.batch, [&](int64_t index, int thread) {
      call.whole(item(index), ctx->scratch.perThread[size_t(thread)]);
    });
    return;
  }
  for (int64_t index = 0; index < d.batch; ++index) {
    BatchItem p = item(index);
    if (call.epilogue)
      call.byRows(p);
    else
      call.byColumns(p);
  }
}

void tessera::rt::host::matmul(tessera_rt_context *ctx,
                               const tessera_rt_matmul_desc &d, const void *a,
                               const void *b, void *c,
                               tessera_rt_kernel_fn epilogue,
                               const int64_t *epilogueArgs) {
  const GemmKernels &kernels = gemmKernels(int32_t(d.dtype));
  Matmul call{ctx,      d,           kernels, kernels.packedDepth(d.k),
              epilogue, epilogueArgs};
  runMatmul(call, int32_t(d.dtype), a, b, c);
}

void tessera::rt::host::scaledMatmul(tessera_rt_context *ctx,
                                     const ScaledMatmul &p) {
  const GemmKernels &kernels = gemmKernels(TESSERA_RT_BF16);
  Matmul call{ctx,     p.desc, kernels, kernels.packedDepth(p.desc.k),
              nullptr, nullptr};
  call.isScaled = true;
  call.scale = *p.scaleA * *p.scaleB;
  runMatmul(call, int32_t(p.dtypeB), p.a, p.b, p.c);
}

extern "C" int32_t tessera_rt_matmul(tessera_rt_context *ctx,
                                     const tessera_rt_matmul_desc *desc,
                                     const void *a, const void *b, void *c,
                                     tessera_rt_kernel_fn epilogue,
                                     const int64_t *epilogue_args) {
  const tessera_rt_matmul_desc &d = *desc;
  if (!isValid(d) || !ctx->target->multiplies(d.dtype, d.c_dtype))
    return fail(ctx, TESSERA_RT_INVALID,
                format("matmul expects operands of a type that the target "
                       "multiplies, with leading "
                       "dimensions no shorter than rows, but got %s to %s, "
                       "[%lld x %lld x %lld x %lld], ld %lld %lld %lld",
                       dtypeName(int32_t(d.dtype)),
                       dtypeName(int32_t(d.c_dtype)), (long long)d.batch,
                       (long long)d.m, (long long)d.n, (long long)d.k,
                       (long long)d.lda, (long long)d.ldb, (long long)d.ldc));
  if (d.batch == 0 || d.m == 0 || d.n == 0)
    return TESSERA_RT_OK;
  return ctx->target->matmul(d, a, b, c, epilogue, epilogue_args);
}

extern "C" int32_t tessera_rt_scaled_matmul(tessera_rt_context *ctx,
                                            const tessera_rt_matmul_desc *desc,
                                            int64_t b_dtype, const void *a,
                                            const void *b, const float *scale_a,
                                            const float *scale_b, void *c) {
  const tessera_rt_matmul_desc &d = *desc;
  bool hasTypes = isF8(d.dtype) && isF8(b_dtype) &&
                  (d.c_dtype == TESSERA_RT_BF16 || d.c_dtype == TESSERA_RT_F32);
  if (!isValid(d) || !hasTypes)
    return fail(
        ctx, TESSERA_RT_INVALID,
        format("a scaled matmul expects operands in 8 bits, a result of "
               "bf16 or f32 and leading dimensions no shorter than "
               "rows, but got %s and %s to %s, [%lld x %lld x %lld x "
               "%lld], ld %lld %lld %lld",
               dtypeName(int32_t(d.dtype)), dtypeName(int32_t(b_dtype)),
               dtypeName(int32_t(d.c_dtype)), (long long)d.batch,
               (long long)d.m, (long long)d.n, (long long)d.k, (long long)d.lda,
               (long long)d.ldb, (long long)d.ldc));
  if (d.batch == 0 || d.m == 0 || d.n == 0)
    return TESSERA_RT_OK;
  return ctx->target->scaledMatmul({d, b_dtype, a, b, scale_a, scale_b, c});
}
