//===- Npy.cpp - Tensors as NumPy files -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The format is that of numpy.lib.format in NumPy's documentation.
//
//===----------------------------------------------------------------------===//

#include "tessera/Interpreter/Npy.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace tessera::interp;
using llvm::StringRef;

/// NumPy's name of what elements of this type are written as; empty if there is
/// none.
static StringRef descriptorOf(const ElementType &type) {
  if (type.isFloat()) {
    if (type.getWidth() == 64)
      return "<f8";
    return type.getType().isF16() ? "<f2" : "<f4";
  }
  switch (type.getWidth()) {
  case 1:
    return "|b1";
  case 8:
    return "|i1";
  case 16:
    return "<i2";
  case 32:
    return "<i4";
  case 64:
    return "<i8";
  default:
    return "";
  }
}

/// The bits of an element as written; `size` is what the descriptor says.
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

llvm::Error tessera::interp::writeNpy(StringRef path, const Tensor &tensor) {
  const ElementType &type = tensor.getElementType();
  StringRef descriptor = descriptorOf(type);
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
