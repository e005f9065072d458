//===- DeviceTiles.cpp - Tiles of device numbers --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/StableHLO/DeviceTiles.h"
#include "tessera/Interfaces/Limits.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace tessera;
using namespace tessera::stablehlo;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Reads `1,2,3` from the left; false if there is none.
static bool takeNumbers(StringRef &text, SmallVectorImpl<int64_t> &numbers) {
  do {
    int64_t number = 0;
    if (text.consumeInteger(10, number) || number < 0)
      return false;
    numbers.push_back(number);
  } while (text.consume_front(","));
  return true;
}

static bool takeNumbers(StringRef &text, StringRef open, StringRef close,
                        SmallVectorImpl<int64_t> &numbers) {
  return text.consume_front(open) && takeNumbers(text, numbers) &&
         text.consume_front(close);
}

/// The product of sizes; 0 if one is 0 or there are too many devices.
static int64_t count(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) {
    if (size < 1 || size > kMaxDevices / product)
      return 0;
    product *= size;
  }
  return product;
}

/// The numbers 0, 1, ... in the shape `sizes`, transposed, in row-major order.
static std::optional<SmallVector<int64_t>>
makeDevices(ArrayRef<int64_t> sizes, ArrayRef<int64_t> permutation) {
  size_t rank = sizes.size();
  SmallVector<int64_t> strides(rank, 1), shape, steps;
  for (size_t i = rank - 1; i-- > 0;)
    strides[i] = strides[i + 1] * sizes[i + 1];
  std::set<int64_t> seen;
  for (int64_t dim : permutation) {
    if (dim >= int64_t(rank) || !seen.insert(dim).second)
      return std::nullopt;
    shape.push_back(sizes[dim]);
    steps.push_back(strides[dim]);
  }
  if (shape.size() != rank)
    return std::nullopt;
  SmallVector<int64_t> devices{0};
  for (auto [size, step] : llvm::zip_equal(shape, steps)) {
    SmallVector<int64_t> next;
    for (int64_t device : devices)
      for (int64_t i = 0; i < size; ++i)
        next.push_back(device + i * step);
    devices = std::move(next);
  }
  return devices;
}

/// Reads the list of devices, or the form `<=[2,2]T(1,0)` of one.
static std::optional<SmallVector<int64_t>> takeDevices(StringRef &text,
                                                       int64_t expected) {
  SmallVector<int64_t> devices, sizes, permutation;
  if (!text.consume_front("<="))
    return takeNumbers(text, devices) && int64_t(devices.size()) == expected
               ? std::optional(devices)
               : std::nullopt;
  if (!takeNumbers(text, "[", "]", sizes) || count(sizes) != expected)
    return std::nullopt;
  if (!text.starts_with("T"))
    permutation.assign(llvm::seq<int64_t>(0, sizes.size()).begin(),
                       llvm::seq<int64_t>(0, sizes.size()).end());
  else if (!takeNumbers(text, "T(", ")", permutation))
    return std::nullopt;
  return makeDevices(sizes, permutation);
}

//===----------------------------------------------------------------------===//
// Strides
//===----------------------------------------------------------------------===//

/// Represents numbers from 0 on as sizes and strides, major to minor; none if
/// that is impossible.
static std::optional<SmallVector<AxisStride>>
findStrides(SmallVector<int64_t> numbers) {
  SmallVector<AxisStride> found;
  while (numbers.size() > 1) {
    int64_t stride = numbers[1] - numbers[0];
    size_t size = 2;
    while (size < numbers.size() && numbers[size] - numbers[size - 1] == stride)
      ++size;
    if (stride <= 0 || numbers.size() % size)
      return std::nullopt;
    for (size_t i = 0; i < numbers.size(); ++i)
      if (numbers[i] - numbers[i - i % size] != int64_t(i % size) * stride)
        return std::nullopt;
    found.push_back({stride, int64_t(size)});
    SmallVector<int64_t> next;
    for (size_t i = 0; i < numbers.size(); i += size)
      next.push_back(numbers[i]);
    numbers = std::move(next);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

/// The strides along each dimension of a grid of devices; none if a device is
/// not the sum of its coordinates' strides.
static std::optional<SmallVector<SmallVector<AxisStride>>>
findStrides(ArrayRef<int64_t> devices, ArrayRef<int64_t> shape) {
  SmallVector<SmallVector<AxisStride>> dims;
  SmallVector<int64_t> sums{0};
  int64_t step = devices.size();
  for (int64_t size : shape) {
    step /= size;
    SmallVector<int64_t> line, next;
    for (int64_t i = 0; i < size; ++i)
      line.push_back(devices[i * step]);
    auto strides = findStrides(line);
    if (!strides)
      return std::nullopt;
    dims.push_back(*strides);
    for (int64_t sum : sums)
      for (int64_t number : line)
        next.push_back(sum + number);
    sums = std::move(next);
  }
  return ArrayRef(sums) == devices ? std::optional(dims) : std::nullopt;
}

std::optional<DeviceTiles> tessera::stablehlo::parseTiles(StringRef text) {
  DeviceTiles tiles;
  if (text == "{replicated}")
    return tiles;
  SmallVector<int64_t> shape;
  if (!text.consume_front("{devices=") || !takeNumbers(text, "[", "]", shape) ||
      !(tiles.devices = count(shape)))
    return std::nullopt;
  auto devices = takeDevices(text, tiles.devices);
  bool isReplicated = text.consume_front(" last_tile_dim_replicate") ||
                      text.consume_front(" last_tile_dims={replicated}");
  if (!devices || text != "}" || devices->front() != 0)
    return std::nullopt;
  auto dims = findStrides(*devices, shape);
  if (!dims)
    return std::nullopt;
  tiles.dims = std::move(*dims);
  if (isReplicated)
    tiles.dims.pop_back();
  return tiles;
}

//===----------------------------------------------------------------------===//
// The mesh
//===----------------------------------------------------------------------===//

std::optional<Mesh>
tessera::stablehlo::refineTiles(ArrayRef<DeviceTiles> shardings,
                                int64_t devices) {
  std::set<int64_t> cuts{1, devices};
  for (const DeviceTiles &tiles : shardings)
    for (ArrayRef<AxisStride> dim : tiles.dims)
      for (AxisStride axis : dim)
        cuts.insert({axis.stride, axis.stride * axis.size});
  Mesh mesh;
  for (auto cut = std::next(cuts.begin()); cut != cuts.end(); ++cut) {
    if (*cut % *std::prev(cut))
      return std::nullopt;
    mesh.sizes.insert(mesh.sizes.begin(), *cut / *std::prev(cut));
    mesh.names.push_back("d" + std::to_string(mesh.names.size()));
  }
  return mesh;
}

AxisList tessera::stablehlo::findAxes(ArrayRef<AxisStride> strides,
                                      const Mesh &mesh) {
  AxisList axes;
  for (AxisStride stride : strides)
    for (unsigned i = 0; i < mesh.sizes.size(); ++i) {
      AxisStride own = mesh.axisStride(mesh.fullAxis(i));
      if (own.stride >= stride.stride &&
          own.stride < stride.stride * stride.size)
        axes.push_back(mesh.fullAxis(i));
    }
  return axes;
}
