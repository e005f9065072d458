//===- Safetensors.h - Files of weights -------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Headers of safetensors files (https://github.com/huggingface/safetensors,
// "Format"). A file has eight bytes with the length of a JSON object,
// little-endian; the object; and the elements of all tensors, without gaps, in
// row-major order and little-endian.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_SAFETENSORS_H
#define TESSERA_RT_SRC_SAFETENSORS_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tessera::rt {

/// A tensor of a file.
struct SafetensorsEntry {
  std::string name;
  /// The file's name of the type: "F32", "BF16", "F8_E4M3".
  std::string type;
  std::vector<int64_t> shape;
  /// Byte range, counted from the start of the elements.
  int64_t begin = 0, end = 0;
};

struct SafetensorsHeader {
  /// Tensors in the order of their bytes.
  std::vector<SafetensorsEntry> entries;
  std::vector<std::pair<std::string, std::string>> metadata;
  /// Offset of the elements in the file.
  int64_t elements = 0;
};

/// The runtime's type for "F32", "BF16" and "F16", -1 for any other.
int32_t dtypeFromSafetensors(const std::string &type);
/// The file's name of a type; null for an unknown one.
const char *safetensorsName(int32_t dtype);
/// True for the types that weights have: f32, bf16 and f16.
bool isWeightType(int32_t dtype);

/// Reads the header of a file of `size` bytes that begins with `data`. Returns
/// an error, or nothing. Refuses a header of more than 100 MB or of more bytes
/// than the file has, duplicate names, tensors that overlap, leave gaps or have
/// another number of bytes than their shape, and bytes after the last tensor.
std::string parseSafetensors(const uint8_t *data, int64_t size,
                             SafetensorsHeader &header);

/// Returns the bytes before the elements, a multiple of eight. Needs names,
/// types, shapes, begins and ends.
std::string describeSafetensors(const SafetensorsHeader &header);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_SAFETENSORS_H
