//===- Errors.cpp - Several errors as one ---------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Errors.h"

using llvm::Error;

void tessera::addError(Error &errors, const llvm::Twine &message) {
  errors =
      llvm::joinErrors(std::move(errors), llvm::createStringError(message));
}

Error tessera::prefixError(const llvm::Twine &prefix, Error error) {
  if (!error)
    return error;
  return llvm::createStringError(prefix + llvm::toString(std::move(error)));
}

Error tessera::takeFirst(Error errors) {
  Error first = Error::success();
  llvm::handleAllErrors(std::move(errors),
                        [&](std::unique_ptr<llvm::ErrorInfoBase> error) {
                          if (!first)
                            first = Error(std::move(error));
                        });
  return first;
}
