//===- Npy.cpp - NumPy files ----------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Npy.h. Format: numpy.lib.format in NumPy's documentation.
//
//===----------------------------------------------------------------------===//

#include "Npy.h"

#include "Manifest.h"
#include "kernels/CpuKernels.h"
#include "support/Support.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tessera::rt;

MappedFile::~MappedFile() {
  if (bytes)
    munmap(bytes, size_t(length));
}

std::string MappedFile::open(const std::string &path, int folder,
                             const std::string &name) {
  // Opening a pipe would block.
  constexpr int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  int fd = folder < 0 ? ::open(path.c_str(), flags)
                      : openat(folder, name.c_str(), flags);
  if (fd < 0)
    return "cannot open '" + path + "': " + strerror(errno);
  struct stat info;
  std::string error;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    error = "expects '" + path + "' to be a file";
  } else if (info.st_size > 0) {
    void *address =
        mmap(nullptr, size_t(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (address == MAP_FAILED) {
      error = "cannot read '" + path + "': " + strerror(errno);
    } else {
      bytes = static_cast<uint8_t *>(address);
      length = info.st_size;
    }
  }
  close(fd);
  return error;
}

/// NumPy's names of our types; bf16 and the 8-bit floats have none.
static const char *const npyNames[] = {"<f4",   nullptr, "<f2", "<f8",
                                       "|b1",   "|i1",   "<i4", "<i8",
                                       nullptr, nullptr, "<i2"};

/// Returns NumPy's name of a type: '<u4' for an unsigned '<i4'.
static std::string npyName(int32_t dtype, bool isUnsigned) {
  std::string name = npyNames[dtype];
  if (isUnsigned)
    name[1] = 'u';
  return name;
}

static int32_t dtypeFromNpy(const std::string &descr) {
  for (int32_t i = 0; i < int32_t(std::size(npyNames)); ++i)
    if (npyNames[i] && descr == npyNames[i])
      return i;
  return -1;
}

/// Returns the text after 'key': in the header's dictionary, up to `close`.
static std::string headerField(const std::string &header, const char *key,
                               const char *open, const char *close) {
  size_t at = header.find(std::string("'") + key + "'");
  if (at == std::string::npos)
    return std::string();
  at = header.find(open, at + strlen(key) + 2);
  size_t end = at == std::string::npos ? at : header.find(close, at + 1);
  return end == std::string::npos ? std::string()
                                  : header.substr(at + 1, end - at - 1);
}

std::string NpyArray::open(const std::string &path, int folder,
                           const std::string &name) {
  std::string error = file.open(path, folder, name);
  if (!error.empty())
    return error;
  const uint8_t *p = file.data();
  if (file.size() < 12 || memcmp(p, "\x93NUMPY", 6) != 0 || p[6] < 1 ||
      p[6] > 3)
    return "expects '" + path + "' to be a .npy file" +
           (file.size() == 0 ? ", but it is empty" : "");
  int64_t prefix = p[6] == 1 ? 10 : 12;
  int64_t length = p[8] | p[9] << 8;
  if (p[6] > 1)
    length |= int64_t(p[10]) << 16 | int64_t(p[11]) << 24;
  if (prefix + length > file.size())
    return "expects '" + path +
           "' to be a .npy file, but its header is truncated";
  std::string header(reinterpret_cast<const char *>(p) + prefix,
                     size_t(length));
  std::string descr = headerField(header, "descr", "'", "'");
  if (header.find("'fortran_order': False") == std::string::npos)
    return "expects '" + path + "' in C order";
  isUnsigned = descr.size() == 3 && descr[1] == 'u';
  dtype =
      dtypeFromNpy(isUnsigned ? descr.substr(0, 1) + "i" + descr[2] : descr);
  if (dtype < 0)
    return "expects '" + path + "' of a known type, but got '" + descr + "'";
  std::string dims = headerField(header, "shape", "(", ")");
  for (const char *at = dims.c_str(); *at;) {
    char *end;
    long long extent = strtoll(at, &end, 10);
    if (end == at) {
      ++at;
      continue;
    }
    if (extent < 0)
      return "expects '" + path + "' of sizes from 0 on, but got (" + dims +
             ")";
    shape.push_back(extent);
    at = end;
  }
  bool isEmpty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  int64_t limit = file.size() / dtypeSize(dtype), count = isEmpty ? 0 : 1;
  for (int64_t extent : shape) {
    // A file with fewer bytes than elements is truncated. The check also
    // prevents overflow.
    if (extent > 0 && count > limit / extent)
      return "expects '" + path + "' of shape (" + dims +
             "), but the file is truncated";
    count *= extent;
  }
  int64_t expected = prefix + length + count * dtypeSize(dtype);
  if (file.size() < expected)
    return format(
        "expects '%s' of %lld bytes, but got %lld: the file is truncated",
        path.c_str(), (long long)expected, (long long)file.size());
  elements = p + prefix + length;
  return std::string();
}

bool tessera::rt::writeAll(int fd, const void *data, size_t bytes) {
  const char *p = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t done = write(fd, p, bytes < (1u << 30) ? bytes : (1u << 30));
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return false;
    p += done;
    bytes -= size_t(done);
  }
  return true;
}

std::string tessera::rt::writeSynced(const std::string &path,
                                     const std::string &text) {
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0)
    return "cannot create '" + path + "': " + strerror(errno);
  std::string error;
  if (!writeAll(fd, text.data(), text.size()) || fsync(fd) != 0)
    error = strerror(errno);
  if (close(fd) != 0 && error.empty())
    error = strerror(errno);
  return error.empty() ? error : "cannot write '" + path + "': " + error;
}

/// True if elements are written as f32.
static bool isWidened(int32_t dtype) {
  return dtype == TESSERA_RT_BF16 || dtype == TESSERA_RT_F8E4M3 ||
         dtype == TESSERA_RT_F8E5M2;
}

/// Writes elements of a type that NumPy lacks, widened chunk by chunk.
static bool writeWidened(int fd, int32_t dtype, const void *elements,
                         int64_t count) {
  constexpr int64_t chunk = 1 << 16;
  std::vector<float> wide(chunk);
  std::vector<uint16_t> decoded;
  for (int64_t begin = 0; begin < count; begin += chunk) {
    int64_t some = std::min(count - begin, chunk);
    const uint16_t *source = static_cast<const uint16_t *>(elements) + begin;
    if (dtype != TESSERA_RT_BF16) {
      const uint8_t *codes = static_cast<const uint8_t *>(elements) + begin;
      const uint16_t *table = f8Codes(dtype);
      decoded.resize(size_t(some));
      for (int64_t i = 0; i < some; ++i)
        decoded[size_t(i)] = table[codes[i]];
      source = decoded.data();
    }
    cpuKernels().bf16ToF32(source, wide.data(), some);
    if (!writeAll(fd, wide.data(), size_t(some) * 4))
      return false;
  }
  return true;
}

/// Returns everything before the elements.
static std::string describeHeader(int32_t dtype, bool isUnsigned,
                                  const std::vector<int64_t> &shape) {
  std::string dims;
  for (int64_t extent : shape)
    dims += format("%lld, ", (long long)extent);
  // NumPy writes (3,) for one dimension and (2, 3) for more.
  if (!dims.empty())
    dims.resize(dims.size() - (shape.size() == 1 ? 1 : 2));
  std::string type =
      npyName(isWidened(dtype) ? int32_t(TESSERA_RT_F32) : dtype, isUnsigned);
  std::string header =
      format("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
             type.c_str(), dims.c_str());
  size_t total = (10 + header.size() + 1 + 63) / 64 * 64;
  header.resize(total - 11, ' ');
  header += '\n';
  std::string prefix("\x93NUMPY\x01\x00", 8);
  prefix += char(header.size() & 0xff);
  prefix += char(header.size() >> 8);
  return prefix + header;
}

static int64_t countElements(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

int64_t tessera::rt::npyBytes(int32_t dtype,
                              const std::vector<int64_t> &shape) {
  return int64_t(describeHeader(dtype, /*isUnsigned=*/false, shape).size()) +
         countElements(shape) * (isWidened(dtype) ? 4 : dtypeSize(dtype));
}

std::string tessera::rt::writeNpy(const std::string &path, int32_t dtype,
                                  const std::vector<int64_t> &shape,
                                  const void *elements, bool isUnsigned) {
  std::string header = describeHeader(dtype, isUnsigned, shape);
  int64_t count = countElements(shape);
  int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0)
    return "cannot create '" + path + "': " + strerror(errno);
  bool good = writeAll(fd, header.data(), header.size());
  if (good && isWidened(dtype))
    good = writeWidened(fd, dtype, elements, count);
  else if (good)
    good = writeAll(fd, elements, size_t(count * dtypeSize(dtype)));
  good = good && fsync(fd) == 0;
  int saved = errno;
  if (close(fd) != 0 && good) {
    good = false;
    saved = errno;
  }
  if (good)
    return std::string();
  unlink(path.c_str());
  return "cannot write '" + path + "': " + strerror(saved);
}
