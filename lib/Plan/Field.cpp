//===- Field.cpp - Numbers of fields as texts -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of FieldImpl.h that do not depend on a struct.
//
//===----------------------------------------------------------------------===//

#include "tessera/Plan/FieldImpl.h"

using namespace llvm;
using namespace tessera;

std::string tessera::printNumber(double number) {
  if (number == std::floor(number) && std::abs(number) < 1e6)
    return std::to_string(static_cast<int64_t>(number));
  std::string text;
  for (int digits = 1; digits <= 17; ++digits) {
    char buffer[40];
    snprintf(buffer, sizeof(buffer), "%.*g", digits, number);
    text = buffer;
    double again;
    if (!StringRef(text).getAsDouble(again) && again == number)
      break;
  }
  return text;
}

bool tessera::parseNumber(StringRef text, double &number) {
  return !text.getAsDouble(number) && std::isfinite(number);
}
