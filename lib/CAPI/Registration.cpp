//===- Registration.cpp - Dialects and passes, for C ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera-c/Registration.h"
#include "Errors.h"
#include "mlir/CAPI/IR.h"
#include "tessera/Conversion/Executable.h"
#include "tessera/Registration/Registration.h"
#include <mutex>

using namespace tessera;

int tesseraAbiVersion(void) { return TESSERA_ABI_VERSION; }

MlirLogicalResult tesseraCheckAbiVersion(int version,
                                         MlirStringCallback onError,
                                         void *userData) {
  if (version == TESSERA_ABI_VERSION)
    return mlirLogicalResultSuccess();
  ErrorSink{onError, userData}.report(
      "expects a program of ABI " + llvm::Twine(TESSERA_ABI_VERSION) +
      ", which libTesseraC.so has, but got one of ABI " + llvm::Twine(version));
  return mlirLogicalResultFailure();
}

void tesseraRegisterDialects(MlirDialectRegistry registry) {
  registerDialects(*unwrap(registry));
  registerExecutableTranslations(*unwrap(registry));
}

void tesseraRegisterPasses(void) {
  // MLIR's registry of passes is the process's and has no lock.
  static std::once_flag once;
  std::call_once(once, registerPasses);
}
