//===- Errors.h - Errors of the C API -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CAPI_ERRORS_H
#define TESSERA_LIB_CAPI_ERRORS_H

#include "mlir/CAPI/Support.h"
#include "llvm/Support/Error.h"

namespace tessera {

/// The function of a caller that takes the text of an error.
struct ErrorSink {
  MlirStringCallback onError;
  void *userData;

  /// Calls the function once, if there is one.
  void report(const llvm::Twine &text) const {
    std::string line = text.str();
    if (onError)
      onError(wrap(llvm::StringRef(line)), userData);
  }
  void report(llvm::Error error) const {
    report(llvm::toString(std::move(error)));
  }
};

} // namespace tessera

#endif // TESSERA_LIB_CAPI_ERRORS_H
