//===- Npy.h - NumPy files --------------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reading and writing .npy files (format 1.0 to 3.0, C order, little-endian).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_SRC_NPY_H
#define TESSERA_RT_SRC_NPY_H

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::rt {

/// A file mapped for reading.
class MappedFile {
public:
  MappedFile() = default;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();
  /// Opens `path`, or the file `name` of an open folder; messages then name it
  /// `path`. Returns a message, or nothing.
  std::string open(const std::string &path, int folder = -1,
                   const std::string &name = std::string());
  const uint8_t *data() const { return bytes; }
  int64_t size() const { return length; }

private:
  uint8_t *bytes = nullptr;
  int64_t length = 0;
};

/// A .npy file.
struct NpyArray {
  MappedFile file;
  int32_t dtype = -1;
  /// The file has integers of this type without a sign.
  bool isUnsigned = false;
  std::vector<int64_t> shape;
  const uint8_t *elements = nullptr;
  /// Opens a file as MappedFile does. Returns a message that names the path, or
  /// nothing. A file that is shorter than its header promises is an error.
  std::string open(const std::string &path, int folder = -1,
                   const std::string &name = std::string());
};

/// Bytes that writeNpy writes.
int64_t npyBytes(int32_t dtype, const std::vector<int64_t> &shape);

/// Writes all bytes. Returns false and sets errno on an error.
bool writeAll(int fd, const void *data, size_t bytes);

/// Writes a whole file and flushes it to disk. Returns a message, or nothing.
std::string writeSynced(const std::string &path, const std::string &text);

/// Writes an array to the file `path` and flushes it to disk. Returns a
/// message, or nothing; an incomplete file is removed. bf16 and 8-bit floats,
/// which NumPy lacks, are written as f32, integers with or without a sign.
std::string writeNpy(const std::string &path, int32_t dtype,
                     const std::vector<int64_t> &shape, const void *elements,
                     bool isUnsigned = false);

} // namespace tessera::rt

#endif // TESSERA_RT_SRC_NPY_H
