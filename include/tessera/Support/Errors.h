//===- Errors.h - Several errors as one -------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A check of a problem or of a solution returns llvm::Error. A check that finds
// several errors joins them: llvm::toString prints one line for each.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_ERRORS_H
#define TESSERA_SUPPORT_ERRORS_H

#include "llvm/Support/Error.h"

namespace tessera {

/// Joins an error with this message to `errors`.
void addError(llvm::Error &errors, const llvm::Twine &message);

/// Puts `prefix` before the message of an error. Success stays success.
llvm::Error prefixError(const llvm::Twine &prefix, llvm::Error error);

/// Returns the first of joined errors. Success stays success.
llvm::Error takeFirst(llvm::Error errors);

} // namespace tessera

#endif // TESSERA_SUPPORT_ERRORS_H
