//===- Npy.cpp - Tensors as NumPy files -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The format is numpy.lib.format in NumPy's documentation.
//
//===----------------------------------------------------------------------===//

#include "tessera/Interpreter/Npy.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera::interp;
using llvm::StringRef;

/// Returns NumPy's name of the type in which elements are written; empty if
/// there is none.
static StringRef descriptorOf(const ElementType &type, bool isUnsigned) {
  if (type.isFloat()) {
    if (type.getWidth() == 64)
      return "<f8";
    return type.getType().isF16() ? "<f2" : "<f4";
  }
  switch (type.getWidth()) {
  case 1:
    return "|b1";
  case 8:
    return isUnsigned ? "|u1" : "|i1";
  case 16:
    return isUnsigned ? "<u2" : "<i2";
  case 32:
    return isUnsigned ? "<u4" : "<i4";
  case 64:
    return isUnsigned ? "<u8" : "<i8";
  default:
    return "";
  }
}

/// Returns the written bits of an element; `size` is the descriptor's.
static uint64_t bitsOf(const ElementType &type, Cell cell, unsigned size) {
  if (!type.isFloat())
    return static_cast<uint64_t>(cell.i);
  llvm::APFloat value(cell.f);
  bool ignored;
  value.convert(size == 8   ? llvm::APFloat::IEEEdouble()
                : size == 4 ? llvm::APFloat::IEEEsingle()
                            : llvm::APFloat::IEEEhalf(),
                llvm::APFloat::rmNearestTiesToEven, &ignored);
  return value.bitcastToAPInt().getZExtValue();
}

static std::string headerOf(StringRef descriptor,
                            llvm::ArrayRef<int64_t> shape) {
  std::string header = "{'descr': '" + descriptor.str() +
                       "', 'fortran_order': False, 'shape': (";
  for (int64_t size : shape)
    header += std::to_string(size) + ",";
  header += "), }";
  // Magic, version and length take 10 bytes; the data start at a multiple of
  // 64.
  constexpr size_t kPrefix = 10, kAlignment = 64;
  size_t total = llvm::alignTo(kPrefix + header.size() + 1, kAlignment);
  header.resize(total - kPrefix - 1, ' ');
  header += '\n';
  std::string prefix("\x93NUMPY\x01\x00", 8);
  prefix += static_cast<char>(header.size() & 0xff);
  prefix += static_cast<char>(header.size() >> 8);
  return prefix + header;
}

llvm::Error tessera::interp::writeNpy(StringRef path, const Tensor &tensor,
                                      bool isUnsigned) {
  const ElementType &type = tensor.getElementType();
  StringRef descriptor = descriptorOf(type, isUnsigned);
  if (descriptor.empty())
    return llvm::createStringError(path +
                                   ": expects integers of 1, 8, 16, 32 "
                                   "or 64 bits but got " +
                                   std::to_string(type.getWidth()));
  std::error_code code;
  llvm::raw_fd_ostream os(path, code);
  if (code)
    return llvm::createStringError(path +
                                   ": cannot be written: " + code.message());
  os << headerOf(descriptor, tensor.getShape());
  unsigned size = descriptor.back() - '0';
  for (int64_t i = 0, n = tensor.getNumElements(); i < n; ++i) {
    uint64_t bits = bitsOf(type, tensor[i], size);
    for (unsigned byte = 0; byte < size; ++byte)
      os << static_cast<char>(bits >> (8 * byte) & 0xff);
  }
  os.close();
  code = os.error();
  os.clear_error();
  if (code)
    return llvm::createStringError(path +
                                   ": cannot be written: " + code.message());
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static llvm::Error errorAt(StringRef path, const llvm::Twine &text) {
  return llvm::createStringError(path + ": " + text);
}

namespace {
/// The fields of a file's header, as views of its text.
struct Header {
  StringRef descriptor, order, shape;
  /// The bytes of the elements, and everything after them.
  StringRef elements;
};
} // namespace

/// Returns the text after `'key':` in a Python dictionary, up to `end`.
static StringRef fieldOf(StringRef dictionary, StringRef key, char end) {
  size_t at = dictionary.find(("'" + key + "'").str());
  if (at == StringRef::npos)
    return "";
  StringRef rest = dictionary.drop_front(at + key.size() + 2).ltrim();
  if (!rest.consume_front(":"))
    return "";
  size_t length = rest.find(end);
  return length == StringRef::npos ? "" : rest.take_front(length).trim();
}

static llvm::Expected<Header> readHeader(StringRef path, StringRef bytes) {
  StringRef rest = bytes;
  if (!rest.consume_front("\x93NUMPY") || rest.size() < 6)
    return errorAt(path, bytes.empty()
                             ? "expects a .npy file but got an empty one"
                             : "expects a .npy file");
  uint8_t version = rest[0];
  if (version < 1 || version > 3)
    return errorAt(path, "expects a .npy file of version 1 to 3 but got " +
                             llvm::Twine(version));
  size_t length = version == 1
                      ? llvm::support::endian::read16le(rest.data() + 2)
                      : llvm::support::endian::read32le(rest.data() + 2);
  rest = rest.drop_front(version == 1 ? 4 : 6);
  if (length > rest.size())
    return errorAt(path, "expects a header of " + llvm::Twine(length) +
                             " bytes but the file is truncated");
  StringRef dictionary = rest.take_front(length);
  Header header;
  header.descriptor = fieldOf(dictionary, "descr", ',').trim('\'');
  header.order = fieldOf(dictionary, "fortran_order", ',');
  header.shape = fieldOf(dictionary, "shape", ')');
  header.elements = rest.drop_front(length);
  if (header.descriptor.empty() || !header.shape.consume_front("("))
    return errorAt(path, "expects a header with 'descr', 'fortran_order' and "
                         "'shape'");
  return header;
}

/// Parses "2, 3" or "2,"; none if the text is no shape.
static std::optional<llvm::SmallVector<int64_t>> readShape(StringRef text) {
  llvm::SmallVector<int64_t> shape;
  while (!(text = text.ltrim()).empty()) {
    uint64_t size;
    if (text.consumeInteger(10, size) || size > INT64_MAX)
      return std::nullopt;
    shape.push_back(static_cast<int64_t>(size));
    text = text.ltrim();
    if (!text.empty() && !text.consume_front(","))
      return std::nullopt;
  }
  return shape;
}

/// Decodes an element from `size` bytes.
static Cell cellAt(const ElementType &type, const char *bytes, unsigned size) {
  uint64_t bits = 0;
  for (unsigned byte = 0; byte < size; ++byte)
    bits |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[byte]))
            << (8 * byte);
  if (!type.isFloat())
    return type.round(intCell(static_cast<int64_t>(bits)));
  llvm::APFloat value(size == 8   ? llvm::APFloat::IEEEdouble()
                      : size == 4 ? llvm::APFloat::IEEEsingle()
                                  : llvm::APFloat::IEEEhalf(),
                      llvm::APInt(8 * size, bits));
  bool ignored;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &ignored);
  return type.round(floatCell(value.convertToDouble()));
}

llvm::Expected<Tensor> tessera::interp::readNpy(StringRef path,
                                                const ElementType &type,
                                                llvm::ArrayRef<int64_t> shape,
                                                bool isUnsigned) {
  // Opening a pipe would wait for a writer.
  llvm::sys::fs::file_status status;
  std::error_code code = llvm::sys::fs::status(path, status);
  if (!code && !llvm::sys::fs::is_regular_file(status))
    return errorAt(path, "expects a file");
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return errorAt(path, "cannot be read: " + buffer.getError().message());
  auto header = readHeader(path, (*buffer)->getBuffer());
  if (!header)
    return header.takeError();
  StringRef descriptor = descriptorOf(type, isUnsigned);
  if (descriptor.empty() || header->descriptor != descriptor)
    return errorAt(path, "expects elements of type '" + descriptor +
                             "' but got '" + header->descriptor + "'");
  if (header->order != "False")
    return errorAt(path, "expects C order");
  auto found = readShape(header->shape);
  if (!found || llvm::ArrayRef(*found) != shape)
    return errorAt(path,
                   "expects shape (" +
                       llvm::join(llvm::map_range(shape,
                                                  [](int64_t size) {
                                                    return std::to_string(size);
                                                  }),
                                  ", ") +
                       ") but got (" + header->shape + ")");
  Tensor tensor(type, shape);
  unsigned size = descriptor.back() - '0';
  if (header->elements.size() / size <
      static_cast<size_t>(tensor.getNumElements()))
    return errorAt(path, "expects " + llvm::Twine(tensor.getNumElements()) +
                             " elements but the file is truncated");
  for (int64_t i = 0, n = tensor.getNumElements(); i < n; ++i)
    tensor[i] = cellAt(type, header->elements.data() + i * size, size);
  return tensor;
}
