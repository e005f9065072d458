//===- KnownSymbols.cpp - Functions that generated code may call ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KnownSymbols.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ObjectFile.h"

using namespace tessera;
using llvm::StringRef;

/// Functions of libc.
static constexpr StringRef kMemoryFunctions[] = {"memcpy", "memmove", "memset"};

/// Functions of libm for f64; the names for f32 end in f.
static constexpr StringRef kMathFunctions[] = {
    "acos",  "acosh", "asin",      "asinh", "atan",   "atan2",     "atanh",
    "cbrt",  "ceil",  "cos",       "cosh",  "erf",    "erfc",      "exp",
    "exp2",  "expm1", "floor",     "fma",   "fmax",   "fmin",      "fmod",
    "ldexp", "log",   "log10",     "log1p", "log2",   "nearbyint", "pow",
    "rint",  "round", "roundeven", "sin",   "sincos", "sinh",      "sqrt",
    "tan",   "tanh",  "trunc"};

/// Functions of the runtime, declared in tessera_rt.h, and of the emulator.
static constexpr StringRef kRuntimePrefixes[] = {"tessera_rt_", "tessera_emu_"};

bool tessera::isKnownSymbol(StringRef name) {
  if (llvm::is_contained(kMemoryFunctions, name) ||
      llvm::is_contained(kMathFunctions, name))
    return true;
  if (name.ends_with("f") &&
      llvm::is_contained(kMathFunctions, name.drop_back()))
    return true;
  return llvm::any_of(kRuntimePrefixes, [&](StringRef prefix) {
    return name.starts_with(prefix);
  });
}

llvm::Error tessera::checkSymbols(llvm::MemoryBufferRef object, StringRef cpu) {
  auto file = llvm::object::ObjectFile::createObjectFile(object);
  if (!file)
    return file.takeError();
  llvm::SmallVector<StringRef> unknown;
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    llvm::Expected<StringRef> name = symbol.getName();
    if (!flags || !name)
      return llvm::joinErrors(flags.takeError(), name.takeError());
    bool isUndefined = *flags & llvm::object::SymbolRef::SF_Undefined;
    if (isUndefined && !name->empty() && !isKnownSymbol(*name))
      unknown.push_back(*name);
  }
  if (unknown.empty())
    return llvm::Error::success();
  llvm::sort(unknown);
  return llvm::createStringError(
      "expects generated code to call only the runtime, libc and libm, but the "
      "code for cpu '" +
      cpu + "' calls " + llvm::join(unknown, ", "));
}
