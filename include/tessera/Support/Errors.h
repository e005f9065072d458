//===- Errors.h - Several errors as one -------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A check of a problem or of a solution returns llvm::Error. A check that finds
// several errors joins them: llvm::toString gives one line for each.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_ERRORS_H
#define TESSERA_SUPPORT_ERRORS_H

#include "llvm/Support/Error.h"

namespace tessera {

/// Joins an error with this message to `errors`.
void addError(llvm::Error &errors, const llvm::Twine &message);

/// The error with `prefix` before its message. Success stays success.
llvm::Error prefixError(const llvm::Twine &prefix, llvm::Error error);

/// The first of joined errors, alone. Success stays success.
llvm::Error takeFirst(llvm::Error errors);

} // namespace tessera

#endif // TESSERA_SUPPORT_ERRORS_H
