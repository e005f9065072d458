//===- KernelsTest.cpp - Hand-written kernels against the host's ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fills, copies, watched blocks, reductions and the gradient of an embedding on
// the emulator. They have the same bits as the host library, over odd sizes, in
// several orders of threads and blocks.
//
//===----------------------------------------------------------------------===//

#include "DeviceKernels.h"

#include "Ranks.h"
#include "runtime/cuda/Kernels.h"
#include "runtime/src/kernels/CpuKernels.h"

#include <cmath>
#include <cstring>

using namespace tessera::rt;
using namespace tessera::rt::cuda;

static uint64_t hashOf(uint64_t x) {
  x = (x ^ (x >> 31)) * 0x7fb5d329728ea185u;
  return x ^ (x >> 27);
}

//===----------------------------------------------------------------------===//
// Fills
//===----------------------------------------------------------------------===//

TEST(device_kernels, fill_all_sizes_and_alignments) {
  DeviceKernels device(3);
  for (int64_t size : {1, 2, 4, 8})
    for (int64_t skip : {0, 1, 3, 5})
      for (int64_t count : {0, 1, 2, 7, 33, 1000}) {
        SCOPED_TRACE(size * 10000 + skip * 1000 + count);
        size_t begin = size_t(skip * size);
        size_t end = size_t((skip + count) * size);
        // The pattern ends at the block's end, or three bytes before.
        for (size_t tail : {0, 3}) {
          std::vector<uint8_t> wanted(end + tail, 0x11);
          DeviceBlock<uint8_t> block(wanted, 1);
          uint8_t *first = block.data();
          while (reinterpret_cast<uintptr_t>(first + begin) % uintptr_t(size))
            ++begin, ++end;
          if (end > wanted.size())
            continue;
          int64_t bits = 0x1122334455667788;
          for (size_t i = begin; i < end; ++i)
            wanted[i] = uint8_t(bits >> (8 * ((i - begin) % size_t(size))));
          device.finish(launchFill(device.kernels, device.stream, size,
                                   first + begin, count, bits));
          ASSERT_EQ(block.values(), wanted);
        }
      }
}

TEST(device_kernels, widen_all_sizes) {
  DeviceKernels device(4);
  for (int64_t count : {0, 1, 7, 8, 9, 4096, 4100}) {
    SCOPED_TRACE(count);
    std::vector<uint16_t> narrow;
    std::vector<uint32_t> wanted;
    for (int64_t i = 0; i < count; ++i) {
      narrow.push_back(uint16_t(hashOf(uint64_t(i))));
      wanted.push_back(uint32_t(narrow.back()) << 16);
    }
    // The element after the last one does not change.
    wanted.push_back(0x5a5a5a5a);
    DeviceBlock<uint16_t> from(narrow);
    DeviceBlock<uint32_t> to(std::vector<uint32_t>(wanted.size(), 0x5a5a5a5a));
    device.finish(launchWiden(device.kernels, device.stream, from.data(),
                              to.data(), count));
    EXPECT_EQ(to.values(), wanted);
  }
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

namespace {
struct CopyCase {
  std::vector<int64_t> shape, from, to;
  int64_t fromStart = 0, toStart = 0;
};
const CopyCase copyCases[] = {
    {{}, {}, {}, 3, 1},
    {{100}, {1}, {1}},
    {{100}, {1}, {1}, 1, 3},
    {{7}, {3}, {2}},
    // Broadcast, reversal.
    {{5, 8}, {0, 1}, {8, 1}},
    {{5, 8}, {1, 0}, {8, 1}},
    {{9}, {-1}, {1}, 8, 0},
    // A slice, an insertion, and a dimension of 1.
    {{6, 1, 20}, {64, 64, 1}, {20, 20, 1}, 8, 0},
    {{6, 5}, {5, 1}, {17, 1}, 0, 2},
    // Transposes, also of partial tiles, and with dimensions before, between
    // and after.
    {{70, 130}, {1, 70}, {130, 1}},
    {{9, 8}, {1, 9}, {8, 1}},
    {{3, 65, 64}, {65 * 64, 1, 65}, {65 * 64, 64, 1}},
    {{10, 3, 12}, {1, 120, 10}, {36, 12, 1}},
    {{2, 5, 3, 8}, {120, 8, 40, 1}, {120, 24, 8, 1}},
    // Eight dimensions.
    {{2, 3, 2, 2, 3, 2, 2, 3},
     {1, 2, 6, 12, 24, 72, 144, 288},
     {432, 144, 72, 36, 12, 6, 3, 1}},
    {{3, 0, 4}, {4, 4, 1}, {4, 4, 1}},
};

/// The number of elements that the indices reach after the first one.
int64_t spanOf(const CopyCase &c, const std::vector<int64_t> &strides) {
  int64_t span = 1;
  for (size_t d = 0; d < c.shape.size(); ++d)
    span += std::max<int64_t>(0, (c.shape[d] - 1) * strides[d]);
  return span;
}

template <typename T> void checkCopy(const CopyCase &c) {
  std::vector<T> source;
  for (int64_t i = 0; i < spanOf(c, c.from) + c.fromStart; ++i)
    source.push_back(T(hashOf(uint64_t(i) + 77)));
  std::vector<T> wanted(size_t(spanOf(c, c.to) + c.toStart), T(0x5a));
  int64_t total = 1;
  for (int64_t extent : c.shape)
    total *= extent;
  for (int64_t i = 0; i < total; ++i) {
    int64_t rest = i, from = c.fromStart, to = c.toStart;
    for (size_t d = c.shape.size(); d-- > 0;) {
      from += rest % c.shape[d] * c.from[d];
      to += rest % c.shape[d] * c.to[d];
      rest /= c.shape[d];
    }
    wanted[size_t(to)] = source[size_t(from)];
  }
  for (uint64_t seed : {1, 2}) {
    DeviceKernels device(seed);
    DeviceBlock<T> from(source), to(std::vector<T>(wanted.size(), T(0x5a)));
    device.finish(launchCopy(device.kernels, device.stream, sizeof(T),
                             int32_t(c.shape.size()), c.shape.data(),
                             from.data() + c.fromStart, c.from.data(),
                             to.data() + c.toStart, c.to.data()));
    ASSERT_EQ(to.values(), wanted);
  }
}
} // namespace

TEST(device_kernels, copies) {
  int number = 0;
  for (const CopyCase &c : copyCases) {
    SCOPED_TRACE(number++);
    checkCopy<uint8_t>(c);
    checkCopy<uint16_t>(c);
    checkCopy<uint32_t>(c);
    checkCopy<uint64_t>(c);
  }
}

//===----------------------------------------------------------------------===//
// Watched blocks
//===----------------------------------------------------------------------===//

TEST(device_kernels, watched_blocks) {
  DeviceKernels device(2);
  DeviceBlock<uint8_t> memory(100 + 64, 1);
  DeviceBlock<int64_t> fault({0, 0, 0});
  uint8_t *block = memory.data();
  auto begin = [&](bool forget) {
    device.finish(
        launchBlockBegin(device.kernels, device.stream, block, 100, forget));
  };
  auto end = [&](int64_t offset) {
    device.finish(launchBlockEnd(device.kernels, device.stream, block, 100,
                                 offset, false, fault.data()));
    return describeBlockFault(fault.data());
  };
  memset(block, 1, 100);
  begin(false);
  EXPECT_EQ(block[99], 1);
  EXPECT_EQ(end(640), "");
  begin(true);
  EXPECT_EQ(block[0], 0xFF);
  EXPECT_EQ(block[99], 0xFF);
  block[99] = 3;
  EXPECT_EQ(end(640), "");
  block[100 + 63] = 0;
  block[100 + 5] = 0;
  EXPECT_EQ(end(640), "memory after the block of 100 bytes at offset 640 was "
                      "written, at byte 105 of it");
  // The first fault is kept.
  EXPECT_EQ(end(9999), "memory after the block of 100 bytes at offset 640 was "
                       "written, at byte 105 of it");
}

TEST(device_kernels, faults_of_blocks_are_kept_until_asked_for) {
  std::unique_ptr<Device> device = createEmulatedDevice({0, 6});
  std::string error;
  std::unique_ptr<Kernels> kernels = createDeviceKernels(*device, error);
  ASSERT_EQ(error, "");
  Stream stream;
  ASSERT_EQ(device->createStream(false, stream), "");
  DeviceBlock<uint8_t> memory(20 + 64, 1);
  EXPECT_EQ(kernels->beginBlock(stream, memory.data(), 8, 20, false), "");
  EXPECT_EQ(kernels->endBlock(stream, memory.data(), 8, 20, false), "");
  EXPECT_EQ(kernels->blockFault(stream), "");
  EXPECT_EQ(device->fillBytes(stream, memory.data(), 0, 21), "");
  EXPECT_EQ(kernels->endBlock(stream, memory.data(), 8, 20, false), "");
  EXPECT_EQ(kernels->blockFault(stream),
            "memory after the block of 20 bytes at offset 8 was written, at "
            "byte 20 of it");
  EXPECT_EQ(device->destroy(stream), "");
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {
/// An unusual but valid value of the type, with NaN and infinity among floats.
std::vector<uint8_t> operand(int32_t dtype, int64_t count, uint64_t salt) {
  int64_t size = dtypeSize(dtype);
  std::vector<uint8_t> bytes(size_t(count * size));
  for (int64_t i = 0; i < count; ++i) {
    uint64_t hash = hashOf(uint64_t(i) * 31 + salt);
    double value = double(int64_t(hash % 20001) - 10000) / 256;
    uint8_t *to = bytes.data() + i * size;
    if (dtype == TESSERA_RT_F32) {
      float x = hash % 37 == 0 ? NAN : hash % 41 == 0 ? INFINITY : float(value);
      memcpy(to, &x, 4);
    } else if (dtype == TESSERA_RT_F64) {
      memcpy(to, &value, 8);
    } else if (dtype == TESSERA_RT_BF16) {
      uint16_t x = floatToBf16(float(value));
      memcpy(to, &x, 2);
    } else if (dtype == TESSERA_RT_F16) {
      _Float16 x = _Float16(value);
      memcpy(to, &x, 2);
    } else if (dtype == TESSERA_RT_I1) {
      *to = hash & 1;
    } else {
      memcpy(to, &hash, size_t(size));
    }
  }
  return bytes;
}

void checkReduce(int32_t dtype, int32_t reduction, int members, int64_t outer,
                 int64_t inner, bool inPlace) {
  int64_t size = dtypeSize(dtype), count = outer * inner;
  // A reduce_scatter's layout: rows of `members` chunks, from which it takes
  // the second.
  int64_t stride = outer == 1 ? inner : inner * members;
  int64_t first = outer == 1 ? 0 : inner * (members > 1);
  std::vector<std::vector<uint8_t>> sources;
  std::vector<uint8_t> wanted(size_t(count * size));
  for (int s = 0; s < members; ++s)
    sources.push_back(operand(dtype, outer * stride, uint64_t(s + 1) * 1000));
  for (int64_t o = 0; o < outer; ++o) {
    std::vector<const void *> rows;
    for (const std::vector<uint8_t> &source : sources)
      rows.push_back(source.data() + (o * stride + first) * size);
    cpuKernels().reduce(dtype, reduction, rows.data(), members,
                        wanted.data() + o * inner * size, inner);
  }
  DeviceKernels device(4);
  std::vector<std::unique_ptr<DeviceBlock<uint8_t>>> from, to;
  LocalReduce reduce;
  reduce.dtype = dtype;
  reduce.reduction = reduction;
  reduce.outer = outer;
  reduce.inner = inner;
  reduce.sourceStride = stride;
  reduce.destinationStride = inner;
  for (int s = 0; s < members; ++s) {
    from.push_back(
        std::make_unique<DeviceBlock<uint8_t>>(sources[size_t(s)], size));
    reduce.sources.push_back(from.back()->data() + first * size);
    if (inPlace)
      reduce.destinations.push_back(from.back()->data());
  }
  while (!inPlace && to.size() < 2) {
    to.push_back(std::make_unique<DeviceBlock<uint8_t>>(wanted.size(), size));
    reduce.destinations.push_back(to.back()->data());
  }
  device.finish(launchLocalReduce(device.kernels, device.stream, reduce));
  for (auto &block : inPlace ? from : to)
    ASSERT_EQ(block->values(), wanted);
}
} // namespace

TEST(device_kernels, reductions_of_all_types_as_the_host) {
  for (int32_t dtype = TESSERA_RT_F32; dtype <= TESSERA_RT_I64; ++dtype)
    for (int32_t reduction : {0, 1, 2})
      for (int members : {1, 3}) {
        SCOPED_TRACE(std::string(dtypeName(dtype)) + " " +
                     std::to_string(reduction) + " of " +
                     std::to_string(members));
        checkReduce(dtype, reduction, members, 1, 67, false);
        checkReduce(dtype, reduction, members, 1, 640, true);
        checkReduce(dtype, reduction, members, 5, 16, false);
        checkReduce(dtype, reduction, members, 3, 7, false);
      }
  checkReduce(TESSERA_RT_BF16, 0, 64, 1, 20, true);
}

TEST(device_kernels, reductions_that_cannot_be_are_refused) {
  DeviceKernels device(0);
  LocalReduce reduce;
  EXPECT_NE(launchLocalReduce(device.kernels, device.stream, reduce), "");
  reduce.sources.resize(65);
  EXPECT_NE(launchLocalReduce(device.kernels, device.stream, reduce), "");
}

//===----------------------------------------------------------------------===//
// Embedding
//===----------------------------------------------------------------------===//

namespace {
template <typename T> T fromDouble(double x) { return T(x); }
template <> uint16_t fromDouble<uint16_t>(double x) {
  return floatToBf16(float(x));
}

template <typename In, typename Out, typename Id>
void checkEmbedding(const tessera_rt_embedding_desc &d, int64_t repeats) {
  constexpr int64_t offset = 5;
  std::vector<In> grad;
  std::vector<Id> ids;
  for (int64_t i = 0; i < d.positions * d.width; ++i)
    grad.push_back(
        fromDouble<In>(double(hashOf(uint64_t(i)) % 1000) / 999 - 0.5));
  // Some ids are outside the table on both sides; `repeats` limits the distinct
  // ids.
  for (int64_t i = 0; i < d.positions; ++i)
    ids.push_back(Id(
        int64_t(hashOf(uint64_t(i)) % uint64_t((d.rows + 12) / repeats + 1)) -
        1));
  std::vector<Out> before(size_t(d.rows * d.width), fromDouble<Out>(3.0));
  std::vector<Out> wanted = before;
  SingleRank rank(1, 4096);
  ASSERT_EQ(tessera_rt_embedding_backward(rank, &d, grad.data(), ids.data(),
                                          wanted.data(), offset),
            0);
  for (uint64_t seed : {1, 2}) {
    DeviceKernels device(seed);
    DeviceBlock<In> grads(grad);
    DeviceBlock<Id> positions(ids);
    DeviceBlock<Out> result(before);
    DeviceBlock<uint8_t> workspace(size_t(embeddingWorkspace(d)), 256);
    device.finish(launchEmbeddingBackward(
        device.kernels, device.stream, d, grads.data(), positions.data(),
        result.data(), offset, workspace.data()));
    ASSERT_EQ(result.values(), wanted);
  }
}

void checkEmbeddings(int64_t positions, int64_t rows, int64_t width,
                     int64_t repeats) {
  SCOPED_TRACE(positions);
  for (int64_t mode :
       {TESSERA_RT_ROWS_SUM, TESSERA_RT_ROWS_ADD, TESSERA_RT_ROWS_SET}) {
    auto desc = [&](int64_t in, int64_t out, int64_t id) {
      return tessera_rt_embedding_desc{in,   out,   id,   positions,
                                       rows, width, mode, /*limit=*/0};
    };
    checkEmbedding<float, float, int32_t>(
        desc(TESSERA_RT_F32, TESSERA_RT_F32, TESSERA_RT_I32), repeats);
    checkEmbedding<double, double, int64_t>(
        desc(TESSERA_RT_F64, TESSERA_RT_F64, TESSERA_RT_I64), repeats);
    checkEmbedding<uint16_t, uint16_t, int32_t>(
        desc(TESSERA_RT_BF16, TESSERA_RT_BF16, TESSERA_RT_I32), repeats);
    checkEmbedding<uint16_t, float, int64_t>(
        desc(TESSERA_RT_BF16, TESSERA_RT_F32, TESSERA_RT_I64), repeats);
  }
}
} // namespace

TEST(device_kernels, embedding_gradient_as_the_host) {
  checkEmbeddings(200, 37, 19, 1);
  checkEmbeddings(0, 3, 4, 1);
  checkEmbeddings(1, 1, 1, 1);
  // Several tiles of the sort, two bytes of keys, rows of whole packs; few rows
  // with many positions.
  checkEmbeddings(4500, 700, 12, 1);
  checkEmbeddings(2300, 300, 8, 100);
}

TEST(device_kernels, every_kernel_is_listed_once) {
  KernelImages images = builtinImages();
  for (int32_t i = 1; i < images.numKernels; ++i)
    EXPECT_LT(std::string(images.names[i - 1]), images.names[i]);
}
